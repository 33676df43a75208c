"""What an interval's label does to the azimuth: ``python -m benchmarks.labels``.

Reads the same stamps of real systems as the start, the middle and the end of their intervals, and
shows where first and last light put them.
"""

from __future__ import annotations

import sys

import numpy as np

from benchmarks import real
from benchmarks.measure import Truth, number, ours
from sunveil.engine.assumed import EngineOptions, numbers_of
from sunveil.engine.envelope import points_of
from sunveil.engine.light import (
    Season,
    SolarDays,
    measured_daylight,
    modelled_daylight,
    typical_lead,
)
from sunveil.engine.readings import on_long_grid
from sunveil.errors import SunveilError
from sunveil.grids import Grid
from sunveil.infer import SiteSkies, grid_of, infer_records, on_grid
from sunveil.meters import from_pandas

NAMES = ("serf_east", "serf_2016", "serf_dst", "fsec", "garage")


def light_minutes(case: real.RealCase) -> float:
    """Return how far after the sun's clock first and last light put stamps read as starts."""
    record = from_pandas(case.power, system_id=case.name, label="start")
    skies = SiteSkies(case.site.latitude, case.site.longitude, case.site.altitude)
    found = next(infer_records([record], skies))
    if isinstance(found, SunveilError):
        raise found
    grid = grid_of(record)
    sky, rows = skies.over(grid), on_long_grid(on_grid([record], grid), grid)
    days = SolarDays.of(sky)
    plane = Grid(np.array([found.surface_azimuth]), np.array([found.surface_tilt]))
    lead = typical_lead(
        measured_daylight(rows, np.nanquantile(rows, [0.99], axis=1)[0], days),
        modelled_daylight(points_of(plane), sky, numbers_of(EngineOptions(), clear=True), days),
        np.zeros(days.count, dtype=bool),
        Season.ALL,
        minutes=grid.long.step / 60.0,
    )
    return float(lead[0]) - found.clock.offset_minutes


def main() -> None:
    """Print a row for each system."""
    cases, missing = real.load_all(names=NAMES)
    known = {case.name: case for case in cases}
    for name in set(NAMES) - set(known):
        print(f"{name} is left out: {missing.get(name, 'no data')}", file=sys.stderr)
    print("| system | start | middle | end | light after the start [minutes] |")
    print("|---|---|---|---|---|")
    for name in (one for one in NAMES if one in known):
        case = known[name]
        truth = Truth(case.azimuth, case.tilt, case.dc_kw)
        errors = [
            ours(case.power, case.site, truth, label=label).azimuth
            for label in ("start", "middle", "end")
        ]
        cells = " | ".join(f"{error:+.1f}" for error in errors)
        # daylight saving left in makes summer an hour, so its light says nothing of minutes
        light = "-" if name == "serf_dst" else number(light_minutes(case))
        print(f"| {name} | {cells} | {light} |")


if __name__ == "__main__":
    main()
