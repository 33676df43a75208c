"""How hard simulated systems are beside real ones, one difficulty at a time.

``python -m benchmarks --only realism`` measures this part alone;
``python -m benchmarks.realism`` prints it.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pvlib

from benchmarks import real
from benchmarks.measure import Outcome, Truth, coverage, middle, number, ours, tail
from benchmarks.real_case import PLANE
from benchmarks.real_scores import SEEN
from sunveil.errors import SunveilError
from sunveil.simulate import FaultRates, FleetSpec, write_fleet
from sunveil.simulate.fault_rates import CLEAN_FLEET, REAL_FLEET
from sunveil.simulate.places import Place, default_places
from sunveil.site import Site
from sunveil.weather import Weather, read_weather

SEED = 2026
COUNT = 40
# As many systems again are drawn, since not every one of them meets what it is drawn for.
DRAWN = 3
CELLS = 25
COLD = ("Minneapolis", "Chicago", "Boston", "New York", "Denver", "Munich", "Berlin", "Turin")
PLAIN = replace(CLEAN_FLEET, loss_spread=REAL_FLEET.loss_spread)
WEATHER = Path(pvlib.__file__).parent / "data" / "723170TYA.CSV"


@dataclass(frozen=True, slots=True)
class Difficulty:
    """One thing that makes systems hard.

    Parameters
    ----------
    name
        What the table calls it.
    rates
        How often what befalls the systems that are drawn.
    meets
        Which of them met it, by their rows of the truth.
    cold
        Whether they stand where it freezes.
    weather
        Whether they stand under the real weather of a file.
    count
        How many systems are measured, in hundredths of the usual number.
    """

    name: str
    rates: FaultRates
    meets: Callable[[pd.DataFrame], pd.Series] = lambda truth: truth["readings"] > 0
    cold: bool = False
    weather: bool = False
    count: int = 100


Job = tuple[pd.Series, Site, Truth, str]
REAL_SINGLE = replace(REAL_FLEET, east_west=0.0, hipped=0.0, trackers=0.0)
DIFFICULTIES = (
    Difficulty("none", PLAIN),
    Difficulty("real weather (a typical year of a file)", PLAIN, weather=True),
    Difficulty(
        "snow",
        replace(PLAIN, snowfall=REAL_FLEET.snowfall, climate=REAL_FLEET.climate),
        lambda truth: truth["snow_days"] >= 7,
        cold=True,
    ),
    Difficulty(
        "dirt",
        replace(PLAIN, soiling=0.0005, soiling_spread=0.86, dry_seasons=0.3),
        lambda truth: truth["soiling_loss"] >= 0.02,
    ),
    Difficulty(
        "age",
        replace(PLAIN, degradation=0.0072, degradation_spread=0.004, oldest_years=10.0),
    ),
    Difficulty("skyline", replace(PLAIN, skylines=1.0)),
    Difficulty(
        "seasons of turbidity other than the maps'",
        replace(PLAIN, turbidity_season=REAL_FLEET.turbidity_season),
    ),
    Difficulty("seasons of warmth other than usual", replace(PLAIN, climate=REAL_FLEET.climate)),
    Difficulty("winter smog", replace(PLAIN, smog=1.0)),
    Difficulty("dead string", replace(PLAIN, dead_strings=1.0)),
    Difficulty(
        "faults of loggers",
        replace(
            PLAIN,
            sentinels=0.5,
            negative=0.5,
            stuck=0.5,
            wrong_scale=0.5,
            hour_gaps=REAL_FLEET.hour_gaps,
            day_gaps=REAL_FLEET.day_gaps,
        ),
    ),
    Difficulty(
        "label (middle or end, declared as start)",
        replace(PLAIN, label_middle=0.5, label_end=0.5),
    ),
    Difficulty("clock steps by an hour", replace(PLAIN, clock_steps=1.0)),
    Difficulty("all of these, as often as in a real fleet", REAL_SINGLE, count=400),
)


def say(text: str) -> None:
    """Tell the person who waits how far the benchmark is."""
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def simulated_jobs(difficulty: Difficulty, count: int) -> list[Job]:
    """Return systems that meet a difficulty, with their readings and their truth."""
    count = count * difficulty.count // 100
    weather: Weather | None = read_weather(WEATHER) if difficulty.weather else None
    places: list[Place] | None = None
    if difficulty.cold:
        places = [place for place in default_places() if place.name in COLD]
    spec = FleetSpec.of(
        DRAWN * count,
        seed=SEED,
        places=places,
        cells=None if weather is not None else CELLS,
        rates=difficulty.rates,
        weather=weather,
    )
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "fleet"
        for _ in write_fleet(out, spec):
            pass
        truth = pd.read_parquet(out / "truth.parquet").set_index("system_id")
        systems = pd.read_parquet(out / "systems.parquet").set_index("system_id")
        met = truth.index[difficulty.meets(truth)]
        chosen = np.random.default_rng(SEED).permutation(met)[:count]
        kept = [("system_id", "in", list(chosen))]
        readings = dict(list(pd.read_parquet(out / "readings", filters=kept).groupby("system_id")))
    jobs = []
    for name in sorted(chosen):
        row, place = truth.loc[name], systems.loc[name]
        power = readings[name].set_index("time")["power_kw"].astype(float)
        site = Site(place["latitude"], place["longitude"], place["altitude"])
        known = Truth(row["surface_azimuth"], row["surface_tilt"], row["dc_capacity_kw"])
        jobs.append((power, site, known, "start"))
    return jobs


def real_jobs(data: Path | None) -> list[Job]:
    """Return the real, labelled series that can be had here."""
    cases, missing = real.load_all(data)
    for name, reason in missing.items():
        say(f"{name} is left out: {reason}")
    jobs: list[Job] = []
    for case in cases:
        if case.name in SEEN and case.counts >= PLANE:
            dc_kw = case.dc_kw if "capacity" in case.counts else None
            jobs.append((case.power, case.site, Truth(case.azimuth, case.tilt, dc_kw), case.label))
    return jobs


def _infer(job: Job) -> Outcome | None:
    power, site, truth, label = job
    try:
        return ours(power, site, truth, label=label)
    except SunveilError:
        return None


def measure(jobs: Iterable[Job], *, workers: int = 2) -> list[Outcome | None]:
    """Infer systems under the clear sky; None for those that are refused."""
    with ProcessPoolExecutor(workers) as pool:
        return list(pool.map(_infer, jobs))


def row(name: str, outcomes: Sequence[Outcome | None]) -> str:
    """Return one row of the table."""
    told = [one for one in outcomes if one is not None]
    refused = len(outcomes) - len(told)
    if not told:
        return f"| {name} | {len(outcomes)} | {refused} | | | | | | |"
    flagged = sum(bool(one.flags) for one in told)
    errors = [
        f"{number(middle(told, quantity))} / {number(tail(told, quantity))}"
        for quantity in ("angle", "azimuth", "tilt", "capacity")
    ]
    bias = float(np.nanmedian([one.capacity for one in told]))
    # a label without a capacity says nothing of its interval
    held = coverage(told)
    held_kw = coverage([one for one in told if not math.isnan(one.capacity)])
    covered = f"{held[0]:.0f}, {held[1]:.0f}, {held_kw[2]:.0f}, {held[3]:.0f}"
    cells = [name, str(len(outcomes)), str(refused), str(flagged), *errors[:3]]
    cells += [f"{errors[3]} ({bias:+.1f})", covered]
    return "| " + " | ".join(cells) + " |"


def difference(simulated: Sequence[Outcome | None], found: Sequence[Outcome | None]) -> str:
    """Return a sentence on how far the simulator's errors are from the real ones."""
    ours_, theirs = ([one for one in each if one is not None] for each in (simulated, found))
    parts = []
    for quantity, name in (("angle", "plane"), ("tilt", "tilt"), ("capacity", "capacity")):
        ratios = [pick(theirs, quantity) / pick(ours_, quantity) for pick in (middle, tail)]
        parts.append(f"{name} {ratios[0]:.1f} and {ratios[1]:.1f} times")
    return (
        "Errors of the real systems over those of the simulated ones with all difficulties, median"
        f" and 95th percentile: {', '.join(parts)}. 1 would be a simulator as hard as reality."
        f" Of {len(theirs)} real systems the 95th percentile is little less than the worst."
    )


def realism_part(data: Path | None, *, count: int = COUNT, workers: int = 2) -> list[str]:
    """Measure simulated systems by what makes them hard, and the real ones beside them."""
    lines = [
        "## As hard as real ones",
        "",
        f"Simulated single planes, hourly, one year, up to {count} each ({4 * count} with"
        " everything), by what makes them hard, and the real systems, under the clear sky alone."
        " Median / 95th percentile of the absolute error, of capacity also the median error itself;"
        " how many were refused or flagged; and how often the 90% intervals of azimuth, tilt,"
        " capacity and plane hold the truth.",
        "",
        "| what | n | refused | flagged | plane [°] | azimuth [°] | tilt [°] | capacity [%] |"
        " 90% hold [%] |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    found: list[Outcome | None] = []
    for difficulty in DIFFICULTIES:
        say(difficulty.name)
        found = measure(simulated_jobs(difficulty, count), workers=workers)
        lines.append(row(difficulty.name, found))
    say("real systems")
    jobs = real_jobs(data)
    if not jobs:
        return [*lines, "", "No real system is here to compare with."]
    outcomes = measure(jobs, workers=workers)
    lines.append(row("real systems", outcomes))
    return [*lines, "", difference(found, outcomes)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of real data; SUNVEIL_DATA otherwise")
    parser.add_argument("--count", type=int, default=COUNT, help="systems of each kind")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args(arguments)
    print("\n".join(realism_part(options.data, count=options.count, workers=options.workers)))


if __name__ == "__main__":
    main()
