from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import click
import pytest

import sunveil as package
from sunveil._files import progress
from sunveil.cli import Commands, cli, main
from sunveil.cli import infer as infer_options
from sunveil.engine import Clock
from sunveil.estimates.inference_options import DayGroup, Method
from sunveil.meters import Duplicates, Label, Unit, UnitSwitch
from sunveil.meters.reading_options import Register

SUNVEIL = (sys.executable, "-m", "sunveil")


def python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


def test_the_version_is_printed():
    done = subprocess.run([*SUNVEIL, "--version"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        f"sunveil {package.__version__}\n",
        "",
    )


def test_without_a_command_help_is_printed(sunveil):
    said = sunveil()
    assert said.code == 0
    assert "infer" in said.out
    assert "demo" in said.out


def test_help_brings_nothing_heavy():
    loaded = python(
        "import sys; from sunveil.cli import main; main(['--help']);"
        "print('LOADED', *{name.partition('.')[0] for name in sys.modules})"
    ).partition("LOADED")[2]
    heavy = {
        "numpy",
        "pandas",
        "pvlib",
        "matplotlib",
        "numba",
        "scipy",
        "duckdb",
        "tqdm",
        "sqlalchemy",
    }
    assert not heavy & set(loaded.split())


def test_a_command_is_loaded_without_the_others():
    loaded = python(
        "import sys; from sunveil.cli import cli, main; main(['infer', '--help']);"
        "print('LOADED', *(name for name in cli.commands if f'sunveil.cli.{name}' in sys.modules))"
    ).partition("LOADED")[2]
    assert loaded.split() == ["infer"]


@pytest.mark.parametrize("name", cli.commands)
def test_every_command_is_found_by_its_own_name(name):
    command = cli.commands[name]
    assert isinstance(command, click.Command)
    assert command.name == name
    assert cli.commands[name] is command


def test_help_shows_every_command_with_what_it_does(sunveil):
    told = re.findall(r"^  (\w+)  +(\w.*)$", sunveil("--help").out.partition("Commands:")[2], re.M)
    assert [name for name, _ in told] == sorted(cli.commands)
    for name, does in told:
        assert " ".join(cli.commands[name].help.split()).startswith(does.rstrip("."))


def test_commands_can_be_added_and_taken_away():
    commands = Commands("sunveil.cli", ("infer",))
    group = click.Group("group", commands=commands)
    group.add_command(click.Command("other"))
    assert sorted(group.commands) == ["infer", "other"]
    del commands["infer"]
    assert "infer" not in commands
    assert list(commands) == ["other"]
    assert commands.get("infer") is None


def test_the_console_script_is_the_command_line():
    project = Path(__file__).parents[2] / "pyproject.toml"
    scripts = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["scripts"]
    assert scripts == {"sunveil": f"{main.__module__}:{main.__name__}"}


def test_a_bad_file_gives_one_sentence_and_exit_code_2_from_the_shell(tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_text("no table at all")
    done = subprocess.run(
        [*SUNVEIL, "infer", str(bad), "--latitude", "40", "--longitude", "-105"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("sunveil: bad.csv ")


def test_a_reader_that_hangs_up_is_no_traceback():
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [*SUNVEIL, "infer", "--help"], stdout=writing, stderr=subprocess.PIPE, timeout=60
        )
    finally:
        os.close(writing)
    assert done.returncode == 1
    assert done.stderr == b""


def test_an_interrupt_ends_quietly_with_130(tmp_path: Path):
    folder = tmp_path / "demo"
    # A background job may have been started with interrupts ignored.
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from sunveil.cli import main;"
        f"sys.exit(main(['demo', '--systems', '500', '--out', {str(folder)!r}]))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        for _ in range(600):
            if folder.exists() or child.poll() is not None:
                break
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    assert child.returncode == 130
    assert out == b""
    assert err.strip() == b""
    assert list(folder.iterdir()) == []


def test_a_bar_is_shown_on_terminals_only(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream, shown in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        assert list(progress([1, 2, 3], "counting", total=3)) == [1, 2, 3]
        assert ("counting" in stream.getvalue()) == shown


def choices(option: str) -> list[str]:
    (found,) = (each for each in infer_options.infer_command.params if each.name == option)
    return list(found.type.choices)


@pytest.mark.parametrize(
    ("option", "kind", "auto"),
    [
        ("method", Method, False),
        ("clock", Clock, False),
        ("group", DayGroup, False),
        ("label", Label, True),
        ("power_unit", Unit, True),
        ("register", Register, True),
        ("duplicates", Duplicates, False),
        ("unit_switch", UnitSwitch, False),
    ],
)
def test_the_choices_are_the_library_s_own(option, kind, auto):
    expected = {member.value for member in kind} | ({"auto"} if auto else set())
    expected |= {"left", "right"} if kind is Label else set()
    assert set(choices(option)) == expected


def test_the_defaults_are_the_library_s_own():
    given = {each.name: each.default for each in infer_options.infer_command.params}
    losses = package.Losses()
    assert given["losses"] == losses.system
    assert given["inverter_efficiency"] == losses.inverter_efficiency
    assert given["albedo"] == 0.2
