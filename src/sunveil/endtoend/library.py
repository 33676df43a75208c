"""The doors of the library: files in, releases and tables out."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sunveil.endtoend.cells import SITE, YEAR
from sunveil.endtoend.outcomes import Outcome, masked_json, masked_text, rows_of
from sunveil.endtoend.workplace import Entry
from sunveil.errors import SunveilError
from sunveil.fleet.results import read_fleet
from sunveil.meters import read_meters
from sunveil.privacy.units import parse_unit
from sunveil.publish.bins import Bins
from sunveil.publish.fleet import fleet_tables
from sunveil.releases.choices import Choices
from sunveil.releases.release import release
from sunveil.scores import Capacities
from sunveil.weather import clearsky

# The public range of capacities in all releases. [kW]
CAPACITIES = (1.0, 20.0)


def python_release(*, unit: str, epsilon: float, options: Mapping[str, Any] | None = None) -> Entry:
    """Return ``sunveil.read_meters`` and ``sunveil.release`` for each of the systems.

    Parameters
    ----------
    unit, epsilon
        What each release protects, and what it costs.
    options
        What is said of the files.
    """
    choices = Choices(capacities=Capacities(*CAPACITIES))
    weather = clearsky(SITE, f"{YEAR}-05-25", f"{YEAR}-07-31")

    def run(path: Path) -> Outcome:
        records = read_meters(path, cleaning="each", timezone="UTC", **(options or {}))
        made = [
            release(
                record, weather, protect=parse_unit(unit), epsilon=epsilon, choices=choices
            ).to_dict()
            for record in records
        ]
        public = {
            "systems": " ".join(record.system_id for record in records),
            "releases": json.dumps(masked_json(made), sort_keys=True),
        }
        return Outcome(public, tuple(made))

    return _refusing(run)


def python_tables(*, epsilon: float, tables: Sequence[str] | None = None) -> Entry:
    """Return ``read_fleet`` and ``fleet_tables``, which draw a fleet's tables, or some of them."""

    def run(path: Path) -> Outcome:
        # given bounds keep the noise of totals small, so that faults show; other doors draw them
        made = fleet_tables(
            read_fleet(path), bins=Bins(), epsilon=epsilon, clip_kw=(0.0, 25.0), tables=tables
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
