"""The paper's statements on real systems: ``python -m benchmarks.reproduction``.

Real series are read from the folder that ``SUNVEIL_DATA`` names, as ``benchmarks/real.py`` has it.
NREL's SERF East array and its parking garage have NSRDB weather of 2016, by hours and grouped by
month and by week as in the paper, and SERF East every 15 minutes; a home in Fontana, close to
Chino, has the clear sky alone. With ``--page FILE`` what was found is written there as JSON, with
numbers and without any reading.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from benchmarks import real
from reproduction.conjectures import conjectures
from reproduction.experiment import run_experiment
from reproduction.guarantees import guarantees
from reproduction.statements import statements
from reproduction.subject import Subject
from sunveil.fleet.blocks import record_span
from sunveil.meters import from_pandas
from sunveil.meters.record import coarsen
from sunveil.site import Plane, Site
from sunveil.weather import get_weather

DRAWS = 10_000
FONTANA = Site(34.10, -117.44, 380.0)


def subjects(folder: Path, label: str = "auto") -> Iterator[Subject]:
    """Yield the real systems, by hours and month, by hours and week, and by 15 minutes."""
    cases, _ = real.load_all(names=("serf_east", "garage"))
    weather_file = folder / "serf_east" / "nsrdb_2016_30min.csv"
    for case in cases:
        power = case.power[: pd.Timestamp("2017-01-01", tz="UTC")]
        quarters = from_pandas(power, label=label, power_unit="kW")
        hours = coarsen(quarters, 60.0)
        weather = get_weather(weather_file, case.site, *record_span(hours))
        hourly = Subject(
            hours, weather, Plane(case.azimuth, case.tilt), case.name, True, f"{case.name}, hourly"
        )
        yield hourly
        yield hourly.by_week()
        if case.name == "serf_east":
            yield Subject(
                quarters, weather, hourly.reported, case.name, True, f"{case.name}, 15 minutes"
            )
    table = pd.read_csv(folder / "fontana" / "home_01.csv", index_col=0, parse_dates=True)
    record = from_pandas(table["pv_kw"], label="start", power_unit="kW")
    clear = get_weather("clearsky", FONTANA, *record_span(record))
    yield Subject(record, clear, None, "fontana", True, "fontana, clear sky")


def main() -> None:
    """Run every statement on every real system and tell it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path, help="write what was found there as JSON")
    parser.add_argument("--label", default="auto", help="where in their intervals stamps stand")
    given = parser.parse_args()
    folder = Path(os.environ["SUNVEIL_DATA"])
    found = []
    for subject in subjects(folder, given.label):
        print(subject.name, file=sys.stderr, flush=True)
        one = [run_experiment(subject)]
        told = [*conjectures(one), *guarantees(one), *statements(one, draws=DRAWS)]
        for each in told:
            print(f"{subject.name} | {each.verdict} | {each.paper} | {each.measured}", flush=True)
        found.append(
            {
                "subject": subject.name,
                "statements": [
                    {
                        "paper": each.paper,
                        "verdict": each.verdict,
                        "numbers": each.subjects[0][1].numbers,
                    }
                    for each in told
                ],
            }
        )
    if given.page is not None:
        given.page.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
