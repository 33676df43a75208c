"""What an interval's label does to the azimuth: ``python -m benchmarks.labels``.

Reads the same stamps of real systems as the start, the middle and the end of their intervals, and
shows where first and last light put them.
"""

from __future__ import annotations

import sys

from benchmarks import real
from benchmarks.measure import Truth, number, ours
from sunveil.fit.light import day_ends
from sunveil.infer import infer_record, record_span
from sunveil.meters import from_pandas
from sunveil.weather import get_weather

NAMES = ("serf_east", "serf_2016", "serf_dst", "fsec", "garage")


def light_minutes(case: real.RealCase) -> float:
    """Return how far after the sun's clock first and last light put stamps read as starts."""
    record = from_pandas(case.power, system_id=case.name, label="start")
    clear = get_weather("clearsky", case.site, *record_span(record))
    found = infer_record(record, clear)
    ends = day_ends(record, clear, normal=found.plane.normal)
    return ends.typical() - found.clock.offset_minutes


def main() -> None:
    """Print a row for each system."""
    cases, missing = real.load_all()
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
