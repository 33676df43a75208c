"""What of a release's error is the model's own: ``python -m benchmarks.floor``.

Exact expected errors of releases with the tolerance, the hours of days and the hazes that version
0.1 had, and with each changed: on single years of the real systems, and on simulated single
planes with all that makes real ones hard (``--simulated N``). All of it is public and acts on each
reading or day alone, so that the sensitivity is the same.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks import real
from benchmarks.day_votes import years
from benchmarks.real_scores import SEEN
from benchmarks.realism import REAL_SINGLE
from sunveil.infer import record_span
from sunveil.meters import from_pandas
from sunveil.meters.coarsen import coarsen
from sunveil.meters.record import Record
from sunveil.privacy.mechanisms import PermuteAndFlip
from sunveil.privacy.score import Score
from sunveil.privacy.units import Days, Readings
from sunveil.releases.choices import Choices
from sunveil.releases.errors import framed_laws
from sunveil.releases.frame import Frame, make_frame, prepared, time_grid_of
from sunveil.scores import Tolerance, count_days, count_readings
from sunveil.simulate import FleetSpec, write_fleet
from sunveil.site import Plane, Site
from sunveil.weather import get_weather

SEED = 7_118
QUANTITIES = ("azimuth", "tilt", "capacity")
THRESHOLDS = (0.3, 0.5, 0.7, 0.9)
# The votes that small ε asks for.
FEW = (0.3,)
# Stamps that no release can repair say nothing of the model.
CLOCKS = ("hour_fast", "hour_slow", "half_hour_fast", "half_hour_slow", "daylight_saving")
CLOCKS += ("label_end", "label_middle", "clock_steps")


@dataclass(frozen=True, slots=True)
class Setting:
    """Public settings of a release.

    Parameters
    ----------
    tolerance
        As a fraction of the model.
    flat
        Whether a day has at least a flat plane's hours.
    hazes
        How many of the default hazes are tried.
    """

    tolerance: float
    flat: bool
    hazes: int


SETTINGS = {
    "8%, own hours, one haze": Setting(0.08, flat=False, hazes=1),
    "10%, own hours, one haze": Setting(0.10, flat=False, hazes=1),
    "10%, at least a flat plane's hours, one haze": Setting(0.10, flat=True, hazes=1),
    "10%, at least a flat plane's hours, three hazes": Setting(0.10, flat=True, hazes=3),
}


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """A year of readings whose plane is known.

    Parameters
    ----------
    system
        Whose.
    record
        The readings, hourly.
    site
        Where.
    plane, capacity_kw
        What errors are measured against. [kW]
    counts
        Which of the quantities are judged.
    """

    system: str
    record: Record
    site: Site
    plane: Plane
    capacity_kw: float
    counts: frozenset[str]


def real_years() -> Iterator[Labelled]:
    """Yield single years of the real systems that are here."""
    for case in real.load_all(names=SEEN)[0]:
        for year in years(case):
            read = from_pandas(year.power, system_id=year.name, label=year.label, cleaning="each")
            plane = Plane(year.azimuth, year.tilt)
            record = coarsen(read, 60.0)
            kw = year.dc_kw or np.nan
            yield Labelled(case.name, record, year.site, plane, kw, year.counts)


def simulated_years(count: int) -> Iterator[Labelled]:
    """Yield a year each of simulated systems."""
    rates = replace(REAL_SINGLE, short=0.0, late=0.0, **dict.fromkeys(CLOCKS, 0.0))
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "fleet"
        for _ in write_fleet(
            out, FleetSpec.of(count, seed=SEED, cells=min(30, count), rates=rates)
        ):
            pass
        truth, systems = (
            pd.read_parquet(out / f"{name}.parquet").set_index("system_id")
            for name in ("truth", "systems")
        )
        readings = dict(list(pd.read_parquet(out / "readings").groupby("system_id")))
    for name, rows in readings.items():
        known, place = truth.loc[name], systems.loc[name]
        power = rows.set_index("time")["power_kw"].astype(float)
        record = from_pandas(power, system_id=name, label="start", cleaning="each")
        site = Site(place["latitude"], place["longitude"], place["altitude"])
        plane = Plane(known["surface_azimuth"], known["surface_tilt"])
        kw = known["dc_capacity_kw"]
        yield Labelled(name, record, site, plane, kw, frozenset(QUANTITIES))


def scores(frame: Frame, record: Record, setting: Setting) -> Iterator[tuple[str, float, Score]]:
    """Yield the scores of a setting, with the unit and ε that each is judged at."""
    choices = replace(frame.choices, tolerance=Tolerance(setting.tolerance, floor=0.1))
    frame, skies = replace(frame, choices=choices), frame.skies[0][: setting.hazes]
    power, bins = frame.readings(record), frame.bins
    levels = np.maximum.reduce([count_readings(power, sky, bins) for sky in skies])
    found = Score(levels.ravel().astype(np.int64), 1, Readings(1), "docs/proofs/agreement.md")
    yield from (("any one reading", epsilon, found) for epsilon in (0.1, 1.0))
    for thresholds, epsilons in ((FEW, (0.2,)), (THRESHOLDS, (1.0, 3.0))):
        votes = [
            count_days(
                power,
                sky,
                bins,
                days=frame.days,
                least=frame.lit_flat(sky) if setting.flat else None,
                thresholds=thresholds,
                fewest=4,
            )
            for sky in skies
        ]
        levels = np.maximum.reduce(votes).ravel().astype(np.int64)
        found = Score(levels, len(thresholds), Days(1), "docs/proofs/day-votes.md")
        yield from (("any one day", epsilon, found) for epsilon in epsilons)


def errors(systems: Iterator[Labelled]) -> pd.DataFrame:
    """Return expected errors by unit, ε, setting and system, the mean of its years."""
    rows = []
    for one in systems:
        weather = get_weather("clearsky", one.site, *record_span(one.record))
        time_grid = time_grid_of(prepared(one.record), longitude=one.site.longitude)
        frame = make_frame(weather, time_grid, Choices())
        tilts = frame.grid.surface_tilt - one.plane.surface_tilt
        for name, setting in SETTINGS.items():
            for unit, epsilon, score in scores(frame, one.record, setting):
                chances = PermuteAndFlip(epsilon).probabilities(score)
                means = framed_laws(frame, chances, one.plane, one.capacity_kw).means
                told = dict(zip(QUANTITIES, means, strict=True))
                row = {name: error for name, error in told.items() if name in one.counts}
                row["lean"] = float(chances.reshape(frame.shape).sum(axis=(0, 2)) @ tilts)
                keys = {"unit": unit, "epsilon": epsilon, "setting": name, "system": one.system}
                rows.append(keys | row)
    keys = ["unit", "epsilon", "setting", "system"]
    return pd.DataFrame(rows).groupby(keys, sort=False).mean()


def table(found: pd.DataFrame) -> Iterator[str]:
    """Yield the table, mean and median over systems."""
    yield (
        "| unit | ε | readings within, hours of a day, hazes | azimuth, mean | median | tilt, mean"
        " | median | leans by | capacity, mean | median |"
    )
    yield "|---" * 10 + "|"
    for (unit, epsilon), part in found.groupby(["unit", "epsilon"], sort=False):
        for setting, one in part.groupby("setting", sort=False):
            mean, middle = one.mean(), one.median()
            angles = [f"{mean[a]:.2f}° | {middle[a]:.2f}°" for a in ("azimuth", "tilt")]
            capacity = f"{mean['capacity']:.1f}% | {middle['capacity']:.1f}%"
            cells = (unit, f"{epsilon:g}", setting, *angles, f"{mean['lean']:+.2f}°", capacity)
            yield f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table of real years, or of simulated ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulated", type=int, metavar="N", help="of N simulated systems instead")
    count = parser.parse_args().simulated
    for line in table(errors(simulated_years(count) if count else real_years())):
        print(line)


if __name__ == "__main__":
    main()
