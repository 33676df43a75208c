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


def test_the_version_is_printed():
    done = subprocess.run([*SUNVEIL, "--version"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"sunveil {package.__version__}\n"


@pytest.mark.parametrize(
    ("words", "shown", "loaded"),
    [
        (["--help"], "sys.modules", set()),
        (["infer", "--help"], "(n for n in cli.commands if f'sunveil.cli.{n}' in sys.modules)",
         {"infer"}),
    ],
    ids=["nothing heavy", "no other command"],
)  # fmt: skip
def test_help_loads_no_more_than_it_needs(words, shown, loaded):
    code = (
        f"import sys; from sunveil.cli import cli, main; main({words}); print('LOADED', *{shown})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    names = {name.partition(".")[0] for name in done.stdout.partition("LOADED")[2].split()}
    heavy = "numpy pandas pvlib matplotlib numba scipy duckdb tqdm sqlalchemy"
    assert names & {*cli.commands, *heavy.split()} == loaded


def test_help_shows_every_command_with_what_it_does(sunveil):
    assert "demo" in sunveil().out  # without a command, too
    told = re.findall(r"^  (\w+)  +(\w.*)$", sunveil("--help").out.partition("Commands:")[2], re.M)
    assert [name for name, _ in told] == sorted(cli.commands)
    for name, does in told:
        command = cli.commands[name]
        assert isinstance(command, click.Command)
        assert command is cli.commands[name]
        assert command.name == name
        assert " ".join(command.help.split()).startswith(does.rstrip("."))


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
    words = ("infer", str(bad), "--latitude", "40", "--longitude", "-105")
    done = subprocess.run([*SUNVEIL, *words], capture_output=True, text=True, timeout=60)
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


@pytest.mark.parametrize(
    ("command", "systems", "begun", "left"),
    [("demo", "500", "out", ["out"]), ("simulate", "20000", ".*/readings/*.parquet", [])],
)
def test_an_interrupt_ends_quietly_with_130_and_leaves_no_file(
    tmp_path, command, systems, begun, left
):
    words = [command, "--systems", systems, "--out", str(tmp_path / "out")]
    # A background job may have been started with interrupts ignored.
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
        f"from sunveil.cli import main; sys.exit(main({words}))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        for _ in range(1200):
            if any(tmp_path.glob(begun)) or child.poll() is not None:
                break
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    assert (child.returncode, out, err.strip()) == (130, b"", b"")
    assert [path.name for path in tmp_path.rglob("*")] == left


def test_a_bar_is_shown_on_terminals_only(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream, shown in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        assert list(progress([1, 2, 3], "counting", total=3)) == [1, 2, 3]
        assert ("counting" in stream.getvalue()) == shown


def test_the_choices_and_the_defaults_are_the_library_s_own():
    given = {each.name: each for each in infer_options.infer_command.params}
    kinds = {"method": Method, "clock": Clock, "group": DayGroup, "duplicates": Duplicates}
    kinds |= {"label": Label, "power_unit": Unit, "register": Register, "unit_switch": UnitSwitch}
    more = {"power_unit": {"auto"}, "register": {"auto"}, "label": {"auto", "left", "right"}}
    for name, kind in kinds.items():
        expected = {member.value for member in kind} | more.get(name, set())
        assert set(given[name].type.choices) == expected, name
    losses = package.Losses()
    assert given["losses"].default == losses.system
    assert given["inverter_efficiency"].default == losses.inverter_efficiency
    assert given["albedo"].default == 0.2
