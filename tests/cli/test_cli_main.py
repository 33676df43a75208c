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
import pandas as pd
import pytest
from click.testing import CliRunner

import sunveil as package
from sunveil._files import progress
from sunveil.cli import Commands, cli, main
from sunveil.cli import infer as infer_options
from sunveil.cli._options import (
    METERS,
    NO_OPTION,
    RELEASED_METERS,
    command,
    declared_options,
    pointing_to_schema,
    taking,
)
from sunveil.cli.release import meter_options
from sunveil.engine import Clock
from sunveil.errors import SourceError
from sunveil.estimates.inference_options import DayGroup, Method
from sunveil.meters import Duplicates, Label, MeterOptions, Unit, UnitSwitch, from_pandas
from sunveil.meters.reading_options import Register
from sunveil.meters.schema_files import options_from

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


METER = set(MeterOptions.__dataclass_fields__) - set(NO_OPTION)
SCHEMA = "power_unit: kWh\nduplicates: mean\ntimezone: UTC\ninterval_minutes: 30\nregister: daily\n"


@pytest.fixture
def declared(tmp_path):
    """Return the options that a command line declares."""
    (tmp_path / "s.yaml").write_text(SCHEMA)

    def read(*words: str, options=METERS, make=declared_options) -> MeterOptions:
        found: list[MeterOptions] = []

        @command("read")
        @taking(options)
        def read_command(**given: object) -> None:
            found.append(make(given))

        said = CliRunner().invoke(read_command, [word.format(tmp_path) for word in words])
        assert said.exit_code == 0, said.output
        return found[0]

    return read


def test_every_field_has_an_option_unless_only_a_schema_declares_it():
    for name in ("infer", "check", "schema", "release", "utility"):
        params = {each.name: each for each in cli.commands[name].params}
        assert METER - {"unit_switch"} <= set(params)
        assert not set(NO_OPTION) & set(params)
        # described once, by the command that proposes a schema
        assert params["label"].hidden == (name != "schema")


def test_help_is_in_groups_and_names_what_another_command_describes():
    said = CliRunner().invoke(cli, ["infer", "--help"]).output
    titles = [line[:-1] for line in said.splitlines() if line.endswith(":") and line[0] != " "]
    assert titles == ["Place", "Meter files", "Weather", "Method", "Fleet", "Output", "Other"]
    assert "Described by sunveil schema --help: --skip-rows, --separator" in said
    assert "Instant of its interval" not in said
    assert "Instant of its interval" in CliRunner().invoke(cli, ["schema", "--help"]).output


def test_every_option_fills_its_field(declared):
    words = [
        "--time-column", "t", "--date-column", "d", "--power-column", "3", "--system-column", "s",
        "--time-format", "%H", "--skip-rows", "4", "--separator", ";", "--decimal", ",",
        "--power-unit", "mwh", "--register", "cumulative", "--timezone", "UTC", "--label", "end",
        "--duplicates", "last", "--unit-switch", "ignore", "--negate", "--net",
    ]  # fmt: skip
    fields = {
        "time_column": "t", "date_column": "d", "power_column": "3", "system_column": "s",
        "time_format": "%H", "skip_rows": 4, "separator": ";", "decimal": ",",
        "power_unit": "MWh", "register": "cumulative", "timezone": "UTC", "label": "end",
        "duplicates": "last", "unit_switch": "ignore", "negate": True, "net": True,
    }  # fmt: skip
    assert declared() == MeterOptions()
    assert set(fields) == set(METER) - {"export_column", "import_column"}
    assert declared(*words) == MeterOptions(**fields)
    found = declared("--export-column", "b", "--import-column", "a")
    assert found == MeterOptions(export_column="b", import_column="a", net=True)
    several = declared("--export-column", "b", "--export-column", "c", "--import-column", "4")
    assert several == MeterOptions(export_column="b + c", import_column="4")


@pytest.mark.parametrize(("given", "label"), [("left", "start"), ("right", "end")])
def test_a_label_may_be_given_as_pandas_calls_it(declared, tmp_path, given, label):
    assert declared("--label", given) == MeterOptions(label=label)
    (tmp_path / "s.yaml").write_text(f"label: {given}\n")
    assert options_from(tmp_path / "s.yaml") == MeterOptions(label=label)
    times = pd.date_range("2024-06-01", periods=96, freq="15min", tz="UTC")
    record = from_pandas(pd.Series(1.0, times), label=given)
    assert (record.label, record.label_known) == (label, True)


def test_a_schema_is_taken_and_options_beside_it_win(declared):
    found = declared("--schema", "{}/s.yaml")
    assert found == MeterOptions(
        power_unit="kWh", duplicates="mean", timezone="UTC", interval_minutes=30.0, register="daily"
    )
    told = declared("--schema", "{}/s.yaml", "--power-unit", "auto", "--duplicates", "refuse")
    assert (told.power_unit, told.duplicates, told.register) == ("auto", "refuse", "daily")


def test_a_release_takes_each_reading_alone(declared):
    release = {"options": RELEASED_METERS, "make": meter_options}
    assert declared(**release) == MeterOptions(cleaning="each")
    assert declared("--power-unit", "MW", **release) == MeterOptions(
        power_unit="MW", cleaning="each"
    )
    found = declared("--schema", "{}/s.yaml", "--power-unit", "W", "--decimal", ",", **release)
    assert (found.power_unit, found.decimal, found.register) == ("W", ",", "daily")
    assert found.cleaning == "each"


def test_a_refusal_that_asks_for_an_option_points_to_the_schema(tmp_path):
    meters, schema = tmp_path / "my meters.csv", tmp_path / "s.yaml"
    hint = f"; or declare it with --schema FILE, which sunveil schema '{meters}' proposes"
    for reason, given, told in (
        ("set option `timezone` to UTC", None, hint),
        ("set option `timezone` to UTC", schema, ""),
        ("there is no file", None, ""),
    ):
        with pytest.raises(SourceError) as refused, pointing_to_schema(meters, given):
            raise SourceError(reason)
        assert str(refused.value) == reason + told


TEXT = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")


def section(command: str) -> str:
    """Return what the reference says of a command."""
    parts = re.split(r"^## `sunveil ([\w-]+)`$", TEXT, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True)).get(command, "")


def options_of(command: click.Command) -> set[str]:
    """Return the long options of a command, and of the commands below it."""
    own = {
        name
        for parameter in command.params
        for name in (*parameter.opts, *parameter.secondary_opts)
        if name.startswith("--")
    }
    below = command.commands.values() if isinstance(command, click.Group) else ()
    return own.union(*map(options_of, below))


@pytest.mark.parametrize("command", cli.commands)
def test_every_command_and_option_is_documented(command):
    told = set(re.findall(r"`(--[\w-]+)`", section(command)))
    options = options_of(cli.commands[command])
    assert options
    assert told == options
    # of a group's commands each has its part, and what stands before the first is said of all
    parts = re.split(rf"^### `sunveil {command} ([\w-]+)`$", section(command), flags=re.MULTILINE)
    below = dict(zip(parts[1::2], parts[2::2], strict=True))
    for name, each in getattr(cli.commands[command], "commands", {}).items():
        assert options_of(each) <= set(re.findall(r"`(--[\w-]+)`", parts[0] + below[name]))


def test_the_number_of_commands_is_told():
    words = ["six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen"]
    words += ["fourteen", "fifteen", "sixteen"]
    assert f"`sunveil` has {words[len(cli.commands) - 6]} commands." in TEXT


def test_every_general_option_is_documented():
    for parameter in cli.params:
        assert any(name in TEXT for name in parameter.opts)
