"""The doors of the command line: what it prints, how it ends, and the folders that it writes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from sunveil.endtoend.cells import SITE
from sunveil.endtoend.library import CAPACITIES
from sunveil.endtoend.outcomes import Outcome, folder_outcome, masked_json, masked_text
from sunveil.endtoend.workplace import Entry, Said, Workplace, run_command

_SITE = ("--latitude", str(SITE.latitude), "--longitude", str(SITE.longitude), "--timezone", "UTC")
_SIZES = ("--capacities", *map(str, CAPACITIES))


def command_release(
    place: Workplace,
    *,
    unit: str,
    epsilon: float,
    fleet: bool = False,
    options: Mapping[str, str | bool] | None = None,
) -> Entry:
    """Return ``sunveil release``, in this process, by what the console script calls.

    Parameters
    ----------
    place
        Where it is run.
    unit, epsilon
        What each release protects, and what it costs.
    fleet
        Whether the meters are those of a fleet, with a table of systems beside them.
    options
        What is said of the files.
    """
    asked = ("--protect", unit, "--epsilon", str(epsilon), "--json", *_SIZES)

    def run(path: Path) -> Outcome:
        where = (*_where(path, fleet), *_told(options))
        said = run_command(place, ["release", str(path), *where, *asked])
        return _released(said, path)

    return run


def subprocess_release(*, unit: str, epsilon: float) -> Entry:
    """Return ``sunveil release`` as a process of its own.

    Parameters
    ----------
    unit, epsilon
        What each release protects, and what it costs.
    """
    asked = ("--protect", unit, "--epsilon", str(epsilon), "--json", *_SIZES)

    def run(path: Path) -> Outcome:
        line = [sys.executable, "-m", "sunveil", "release", str(path), *_SITE, *asked]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        return _released(Said(done.returncode, done.stdout, done.stderr), path)

    return run


def publish_system(
    place: Workplace,
    *,
    unit: str,
    epsilon: float,
    fleet: bool = False,
    options: Mapping[str, str | bool] | None = None,
) -> Entry:
    """Return ``sunveil publish system``, with the folder that it writes.

    Parameters
    ----------
    place
        Where it is run.
    unit, epsilon
        What each release protects, and what it costs.
    fleet
        Whether the meters are those of a fleet, with a table of systems beside them.
    options
        What is said of the files.
    """

    def run(path: Path) -> Outcome:
        where = (*_where(path, fleet), *_told(options))
        asked = ["publish", "system", str(path), *where, "--protect", unit, *_SIZES]
        return _published(place, asked, path, epsilon=epsilon, unit=unit)

    return run


def publish_estimates(place: Workplace, what: str, *, epsilon: float) -> Entry:
    """Return ``sunveil publish fleet`` or ``publish synthetic``, with the folder that it writes.

    Parameters
    ----------
    place
        Where it is run.
    what
        ``"fleet"`` or ``"synthetic"``.
    epsilon
        What the publication costs.
    """

    def run(path: Path) -> Outcome:
        # held at public bounds, so that the total is near what it is in nearly every run
        held = ["--clip", "0", "25"] if what == "fleet" else []
        asked = ["publish", what, str(path), *held]
        return _published(place, asked, path, epsilon=epsilon, unit="system")

    return run


def _where(path: Path, fleet: bool) -> tuple[str, ...]:
    return ("--systems", str(path.with_name("systems.csv"))) if fleet else _SITE


def _told(options: Mapping[str, str | bool] | None) -> list[str]:
    """Return options of the reader as the command takes them."""
    return [
        f"--{name.replace('_', '-')}{'' if value is True else f'={value}'}"
        for name, value in (options or {}).items()
    ]


def _released(said: Said, path: Path) -> Outcome:
    public = {"exit code": str(said.code), "stderr": masked_text(said.err, path.parent)}
    try:
        made = json.loads(said.out)
    except ValueError:
        return Outcome({**public, "stdout": masked_text(said.out, path.parent)})
    return Outcome({**public, "stdout": json.dumps(masked_json(made))}, tuple(made))


def _published(
    place: Workplace, asked: list[str], path: Path, *, epsilon: float, unit: str
) -> Outcome:
    dataset, out = place.new_dataset(unit), place.folder / place.new_name()
    ledger = place.ledger_of(dataset)
    charged = ("--ledger", str(ledger), "--dataset", dataset, "--epsilon", str(epsilon))
    said = run_command(place, [*asked, *charged, "--out", str(out)])
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
