"""The entry points of the library and of the command line: files in, and all that comes out."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from audit.datasets import SITE, YEAR
from audit.outcomes import Outcome, folder_outcome, masked_json, masked_text, rows_of
from sunveil.cli import main
from sunveil.errors import SunveilError
from sunveil.estimates.read_write import read_fleet
from sunveil.ledger import Ledger, Promise
from sunveil.meters import read_meters
from sunveil.privacy.guarantees import parse_unit
from sunveil.publish.fleet_tables import TableChoices, fleet_tables
from sunveil.releases import Choices
from sunveil.releases.release import release
from sunveil.releases.score_kernels import Capacities
from sunveil.weather import clearsky

# Runs something over a dataset's files.
Entry = Callable[[Path], Outcome]
Told = Mapping[str, str | bool]

EPSILON = 1.0
# More than one question of one dataset can spend; every run asks of a dataset of its own.
PROMISED = 100.0
CAPACITIES = (1.0, 20.0)  # [kW] the public range in all releases
_PLACE = ("--latitude", str(SITE.latitude), "--longitude", str(SITE.longitude), "--timezone", "UTC")
_SIZES = ("--capacities", *map(str, CAPACITIES))


@dataclass(frozen=True, slots=True)
class Workplace:
    """A folder of an audit's own, with ledgers in it; nothing outside is read or written."""

    folder: Path
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(10_000))

    def ledger_of(self, dataset: str) -> Path:
        """Return the ledger of a dataset, of its own: the same ids come again in every run."""
        return self.folder / f"{dataset}.db"

    def new_name(self) -> str:
        """Return a name that was not used before, as long as all others."""
        return f"d{next(self._numbers)}"

    def new_folder(self) -> Path:
        """Return a new folder, whose name is as long as all others'."""
        made = self.folder / self.new_name()
        made.mkdir()
        return made

    def new_dataset(self, unit: str) -> str:
        """Return the name of a new dataset under a large promise."""
        name = self.new_name()
        with Ledger(str(self.ledger_of(name)), create=True) as ledger:
            ledger.create_dataset(name, Promise(parse_unit(unit), PROMISED))
        return name


@contextlib.contextmanager
def open_workplace() -> Iterator[Workplace]:
    """Yield a workplace in a temporary folder, which also holds caches and marks meanwhile."""
    with tempfile.TemporaryDirectory(prefix="sunveil-audit-") as name:
        folder = Path(os.path.realpath(name))
        # marks of ledgers would otherwise stay behind, and skies be taken from elsewhere
        own = {"XDG_STATE_HOME": str(folder / "state"), "XDG_CACHE_HOME": str(folder / "cache")}
        before = {name: os.environ.get(name) for name in own}
        os.environ.update(own)
        try:
            yield Workplace(folder)
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value


# Python


def python_reading(*, options: Told | None = None) -> Entry:
    """Return ``sunveil.read_meters`` for a release: every reading by its system and time.

    Nothing is drawn here, so nothing may change but the readings that a neighbour replaces.
    """

    def run(path: Path) -> Outcome:
        label = {} if options and "label" in options else {"label": "start"}
        refused: list[Any] = []
        given: dict[str, Any] = {"timezone": "UTC", **label, **(options or {})}
        records = read_meters(path, cleaning="each", refused=refused, **given)
        public = {f"{each.system_id} is refused": each.reason for each in refused}
        for record in records:
            facts = (record.unit, record.label, record.interval_minutes, record.net, record.notes)
            public[f"{record.system_id} is read"] = masked_text(repr(facts), path.parent)
            times = record.times.astype("datetime64[m]").astype(str)
            readings = zip(times, record.power_kw.tolist(), strict=True)
            public |= {f"{record.system_id} at {t}": repr(power) for t, power in readings}
        return Outcome(public, tuple({"system": record.system_id} for record in records))

    return _refusing(run)


def python_release(*, unit: str, epsilon: float, options: Told | None = None) -> Entry:
    """Return ``sunveil.read_meters`` and ``sunveil.release`` for each of the systems."""
    choices = Choices(capacities=Capacities(*CAPACITIES))
    weather = clearsky(SITE, f"{YEAR}-05-25", f"{YEAR}-07-31")
    protect = parse_unit(unit)

    def run(path: Path) -> Outcome:
        given: Mapping[str, Any] = {"timezone": "UTC", **(options or {})}
        records = read_meters(path, cleaning="each", **given)
        made = [
            release(record, weather, protect=protect, epsilon=epsilon, choices=choices).to_dict()
            for record in records
        ]
        public = {
            "systems": " ".join(record.system_id for record in records),
            "releases": json.dumps(masked_json(made), sort_keys=True),
        }
        return Outcome(public, tuple(made))

    return _refusing(run)


def python_tables(
    *, epsilon: float, tables: Sequence[str] | None = None, regions: bool = False
) -> Entry:
    """Return ``read_fleet`` and ``fleet_tables``, which draw a fleet's tables, or some of them."""
    given: dict[str, Any] = {"key": "region", "keys": ("north", "south")} if regions else {}

    def run(path: Path) -> Outcome:
        # given bounds keep the noise of totals small, so that faults show; others draw them
        made = fleet_tables(
            read_fleet(path, keys=("region",) if regions else ()),
            TableChoices(
                epsilon=epsilon,
                clip_kw=(0.0, 25.0),
                tables=None if tables is None else tuple(tables),
                **given,
            ),
        )
        told = [table.to_dict() for table in made.tables]
        public = {"public": json.dumps(made.public), "tables": json.dumps(masked_json(told))}
        return Outcome(public, rows_of(told))

    return _refusing(run)


def _refusing(run: Entry) -> Entry:
    """Return a call whose exceptions are outcomes."""

    def tried(path: Path) -> Outcome:
        try:
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                found = run(path)
        except SunveilError as error:
            said = masked_text(str(error), path.parent)
            return Outcome({"refusal": f"{type(error).__name__}: {said}"})
        except Exception as error:  # a traceback is an output as well
            return Outcome({"refusal": f"traceback of {type(error).__name__}"})
        words = "\n".join(str(each.message) for each in warned)
        return Outcome({"refusal": "none", **found.public, "warnings": words}, found.drawn)

    return tried


# The command line


@dataclass(frozen=True, slots=True)
class Said:
    """A command's exit code, or what it broke off with, and what it wrote."""

    code: int | str
    out: str
    err: str


def run_command(arguments: Sequence[str], command: Callable[[list[str]], int] = main) -> Said:
    """Run the command line in this process, and return what it said."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(record=True) as warned,
    ):
        # each run is to say what a process of its own would
        warnings.simplefilter("always")
        try:
            code: int | str = command(list(arguments))
        except Exception as error:  # a traceback is an output as well
            code = f"traceback of {type(error).__name__}"
    words = "".join(f"{each.category.__name__}: {each.message}\n" for each in warned)
    return Said(code, out.getvalue(), err.getvalue() + words)


def command_release(
    *,
    unit: str,
    epsilon: float,
    fleet: bool = False,
    process: bool = False,
    options: Told | None = None,
) -> Entry:
    """Return ``sunveil release``, by what the console script calls or as a process of its own.

    A fleet has a table of systems beside its meters.
    """
    asked = ("--protect", unit, "--epsilon", str(epsilon), "--json", *_SIZES)

    def run(path: Path) -> Outcome:
        line = ["release", str(path), *_where(path, fleet), *_told(options), *asked]
        if process:
            whole = [sys.executable, "-m", "sunveil", *line]
            done = subprocess.run(whole, capture_output=True, text=True, check=False)
            said = Said(done.returncode, done.stdout, done.stderr)
        else:
            said = run_command(line)
        public = {"exit code": str(said.code), "stderr": masked_text(said.err, path.parent)}
        try:
            made = json.loads(said.out)
        except ValueError:
            return Outcome({**public, "stdout": masked_text(said.out, path.parent)})
        return Outcome({**public, "stdout": json.dumps(masked_json(made))}, tuple(made))

    return run


def publish_systems(
    place: Workplace, *, unit: str, epsilon: float, fleet: bool = False, options: Told | None = None
) -> Entry:
    """Return ``sunveil publish system``, with the folder that it writes."""

    def run(path: Path) -> Outcome:
        where = (*_where(path, fleet), *_told(options))
        asked = ["publish", "system", str(path), *where, "--protect", unit, *_SIZES]
        return _published(place, asked, path, epsilon=epsilon, unit=unit)

    return run


def publish_estimates(place: Workplace, what: str, *, epsilon: float) -> Entry:
    """Return ``sunveil publish fleet`` or ``synthetic``, with the folder that it writes."""

    def run(path: Path) -> Outcome:
        # held at public bounds, so that the total is near what it is in nearly every run
        held = ["--clip", "0", "25"] if what == "fleet" else []
        asked = ["publish", what, str(path), *held]
        return _published(place, asked, path, epsilon=epsilon, unit="system")

    return run


def _where(path: Path, fleet: bool) -> tuple[str, ...]:
    return ("--systems", str(path.with_name("systems.csv"))) if fleet else _PLACE


def _told(options: Told | None) -> list[str]:
    """Return options of the reader as the command takes them."""
    return [
        f"--{name.replace('_', '-')}{'' if value is True else f'={value}'}"
        for name, value in (options or {}).items()
    ]


def _published(
    place: Workplace, asked: list[str], path: Path, *, epsilon: float, unit: str
) -> Outcome:
    dataset, out = place.new_dataset(unit), place.folder / place.new_name()
    ledger = place.ledger_of(dataset)
    charged = ("--ledger", str(ledger), "--dataset", dataset, "--epsilon", str(epsilon))
    said = run_command([*asked, *charged, "--out", str(out)])
    hidden = (path.parent, out, ledger, dataset)
    public = {
        "exit code": str(said.code),
        "stderr": masked_text(said.err, *hidden),
        "stdout": masked_text(said.out, *hidden),
    }
    if not out.is_dir():
        return Outcome(public)
    found = folder_outcome(out, *hidden)
    shutil.rmtree(out)
    return Outcome({**public, **found.public}, found.drawn)
