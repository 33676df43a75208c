"""What an interval's label does to the azimuth, and whether light tells it.

``python -m benchmarks.labels`` reads the same stamps of real systems as the start, the middle and
the end of their intervals. It shows the azimuth of each reading, the interval that is given where
nobody says which is meant, and how far first and last light are from those of the plane that is
found when stamps are read as the source declares them, or else as starts.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from benchmarks import real
from sunveil.engine.clock_faults import planes_light
from sunveil.engine.coarse_search import on_long_grid, search
from sunveil.engine.first_and_last_light import Season, measured_daylight, typical_leads
from sunveil.engine.shading import prepare
from sunveil.errors import SunveilError
from sunveil.estimates.estimates_table import Estimate
from sunveil.estimates.flags_and_quality import Flag
from sunveil.estimates.inference_options import InferOptions
from sunveil.fleet.blocks import grid_of, on_grid
from sunveil.inference.fleet_part import SiteSkies
from sunveil.inference.infer import infer_records
from sunveil.meters import from_pandas
from sunveil.meters.record import Record

LABELS = ("start", "middle", "end")
# Their light says nothing of minutes, or another case has it.
LEFT_OUT = ("turin_clock_step",)


def light_ahead(record: Record, skies: SiteSkies) -> tuple[float, float]:
    """Return how far first and last light run ahead of the fitted plane's. [minutes]"""
    grid = grid_of(record)
    prepared = prepare(skies.over(grid), InferOptions())
    rows = on_long_grid(on_grid([record], grid), grid)
    found = search(rows, prepared)
    first, last = typical_leads(
        measured_daylight(rows, found.readings.bright, prepared.days),
        planes_light(found, prepared),
        np.zeros(prepared.days.count, dtype=bool),
        Season.ALL,
        minutes=prepared.minutes,
    )
    return float(first[0]), float(last[0])


def inferred(record: Record, skies: SiteSkies) -> Estimate:
    """Return the estimate, or raise why there is none."""
    found = next(infer_records([record], skies))
    if isinstance(found, SunveilError):
        raise found
    return found


def holds(estimate: Estimate, azimuth: float) -> bool:
    """Whether the interval of an estimate holds an azimuth."""
    low, high = estimate.azimuth_interval.low, estimate.azimuth_interval.high
    return (azimuth - low) % 360.0 <= (high - low) % 360.0 or high - low >= 360.0


def line(case: real.RealCase) -> str:
    """Return a system's row of the table."""
    skies = SiteSkies(case.site.latitude, case.site.longitude, case.site.altitude)

    def read(label: str) -> Record:
        return from_pandas(case.power, system_id=case.name, label=label, power_unit="kW")

    azimuths = [inferred(read(label), skies).surface_azimuth for label in LABELS]
    undeclared = inferred(read("auto"), skies)
    open_ = Flag.LABEL_UNKNOWN in undeclared.flags
    told = "no" if open_ else undeclared.clock.label.value
    kept = sum(holds(undeclared, each) for each in azimuths) if open_ else "-"
    interval = undeclared.azimuth_interval
    declared = read("start" if case.label == "auto" else case.label)
    light = "- | -"
    if Flag.CLOCK_REPAIRED not in inferred(declared, skies).flags:
        light = " | ".join(f"{each:+.1f}" for each in light_ahead(declared, skies))
    cells = " | ".join(f"{each:.1f}" for each in azimuths)
    return (
        f"| {case.name} | {case.interval_minutes:.0f} | {cells} | {told}"
        f" | {interval.low:.0f} to {interval.high:.0f} | {kept} | {case.label} | {light} |"
    )


def main() -> None:
    """Print a row for each system."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="folder of real data; SUNVEIL_DATA otherwise")
    cases, _ = real.load_all(parser.parse_args().data)
    print(
        "| system | minutes | start [°] | middle [°] | end [°] | label told"
        " | interval, undeclared [°] | of 3 in it | declared | first light ahead [min]"
        " | last light ahead [min] |"
    )
    print("|---" * 11 + "|")
    for case in (each for each in cases if each.name not in LEFT_OUT):
        try:
            print(line(case), flush=True)
        except SunveilError as error:
            print(f"{case.name} is left out: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
