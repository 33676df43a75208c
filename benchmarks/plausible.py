"""Is it PV at all, and here? What is refused, and what is refused wrongly.

``python -m benchmarks.plausible --cache DIR`` infers 25 series of each of eight kinds that are no
generation, 70 systems each at three wrong places, and against them every real series and each of
its years and winters, and 360 stressed simulated systems and winters of some of them. It
prints how many of each were refused, for which reason, and how many were inferred.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import sunveil
from benchmarks import real
from benchmarks.not_generation import KINDS, SEED, Generator, make
from benchmarks.stressed_systems import Cases, simulated_cases
from sunveil.errors import ParameterError, SunveilError
from sunveil.estimates.flags_and_quality import WORDS, Doubt, Flag
from sunveil.site import Site

# Systems at each wrong place, and days of a winter.
WRONG_PLACES, WINTER_DAYS = 70, 60
# Stressed systems whose records are shorter than a season say little of a latitude.
SHORT = ("45 days", "summer only")
# Its systems that others are made beside.
WHOLE = ("none", "6% noise", "clipping", "gaps and snow", "soiling and wear")
INFERRED, NET, OTHER = "inferred", "net meter", "other reason"
# What a household leaves over is generation behind a net meter, and told as such.
EXPORTED = "exported only"
COLUMNS = [each.name.lower() for each in Doubt if each] + [OTHER, NET, INFERRED]


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """One series, and what it is.

    Parameters
    ----------
    kind
        The row of the table that it belongs to.
    name
        What it is called.
    generation
        Whether it is generation at this place.
    power
        The readings. [kW]
    latitude, longitude, altitude
        Where it is said to stand; altitude may be None. [degrees, m]
    label
        How its stamps are declared.
    """

    kind: str
    name: str
    generation: bool
    power: pd.Series
    latitude: float
    longitude: float
    altitude: float | None
    label: str = "start"


def simulated_trials(cases: Cases) -> Iterator[Trial]:
    """Yield the stressed systems, winters, wrong places, and what is made beside them."""
    readings = {
        name: own.set_index("time")["power_kw"]
        for name, own in cases.readings().groupby("system_id")
    }
    fixed = cases.truth[cases.truth["group"] == "fixed"]
    for one in cases.truth.itertuples():
        place = one.latitude, one.longitude, one.altitude
        yield Trial(f"simulated: {one.group}", one.system_id, True, readings[one.system_id], *place)
    for one in fixed[fixed["stress"].isin(WHOLE)].head(50).itertuples():
        winter = _winter(readings[one.system_id], south=one.latitude < 0.0)
        place = one.latitude, one.longitude, one.altitude
        yield Trial("simulated: winters", one.system_id, True, winter, *place)
    for one in fixed[~fixed["stress"].isin(SHORT)].head(WRONG_PLACES).itertuples():
        power, name = readings[one.system_id], one.system_id
        yield Trial("wrong sign", name, False, power, -one.latitude, one.longitude, one.altitude)
        yield Trial("place 0,0", name, False, power, 0.0, 0.0, 0.0)
    valid = fixed[~fixed["stress"].isin(SHORT) & (fixed["longitude"].abs() <= 90.0)]
    for one in valid.head(WRONG_PLACES).itertuples():
        power, name = readings[one.system_id], one.system_id
        yield Trial("swapped", name, False, power, one.longitude, one.latitude, one.altitude)


def real_trials(data: Path | None) -> Iterator[Trial]:
    """Yield the real series that are here, their years and their winters."""
    found, missing = real.load_all(data)
    for name, reason in missing.items():
        print(f"{name} is left out: {reason}", file=sys.stderr)
    for case in found:
        place = case.site.latitude, case.site.longitude, case.site.altitude
        parts = [("real", case.name, case.power)]
        parts += [("real: years", one.name, one.power) for one in real.single_years(case, days=100)]
        winter = _winter(case.power, south=False)
        if len(winter):
            parts.append(("real: winters", case.name, winter))
        for kind, name, power in parts:
            yield Trial(kind, name, True, power, *place, label=case.label)


def other_trials(cases: Cases, data: Path | None, *, seed: int) -> Iterator[Trial]:
    """Yield the series that are no generation."""
    truth = cases.truth[(cases.truth["group"] == "fixed") & cases.truth["stress"].isin(WHOLE)]
    readings = dict(iter(cases.readings().groupby("system_id")))
    generators = [
        Generator(
            readings[one.system_id].set_index("time")["power_kw"],
            Site(one.latitude, one.longitude, one.altitude),
        )
        for one in truth.itertuples()
    ]
    homes, _ = real.load_all(data, [name for name in real.LOADERS if name.startswith("fontana")])
    measured = [
        Generator(home.power, home.site, home.load_kw)
        for home in homes
        if "follows its PV" not in home.note
    ]
    for kind in KINDS:
        for number, (power, site) in enumerate(make(kind, generators, measured, seed=seed)):
            place = site.latitude, site.longitude, site.altitude
            yield Trial(kind, f"{kind} {number}", False, power, *place)


def _winter(power: pd.Series, *, south: bool) -> pd.Series:
    """Return the first sixty days of a winter."""
    dark = power[power.index.month.isin((6, 7) if south else (12, 1, 2))]
    return dark[dark.index < dark.index[0] + pd.Timedelta(days=WINTER_DAYS)] if len(dark) else dark


def outcome(trial: Trial) -> str:
    """Return why a series was refused, or that it was inferred, as a net meter or as generation."""
    altitude = None if trial.altitude is None or np.isnan(trial.altitude) else trial.altitude
    try:
        place = {"latitude": trial.latitude, "longitude": trial.longitude, "altitude": altitude}
        found = sunveil.infer(trial.power, label=trial.label, power_unit="kW", **place)
    except ParameterError:
        raise
    except SunveilError as error:
        doubts = [doubt for doubt, words in WORDS.items() if words in str(error)]
        return doubts[0].name.lower() if doubts else OTHER
    return NET if Flag.NET_METER in found.flags else INFERRED


def is_missed(trial: Trial, found: str) -> bool:
    """Return whether a series was told wrongly: what is left over of generation is a net meter."""
    if trial.generation:
        return found != INFERRED
    return found == INFERRED or (found == NET and trial.kind != EXPORTED)


def table(trials: Iterator[Trial]) -> tuple[list[str], bool]:
    """Return the lines of the table, and whether the bars are met."""
    counts: dict[str, Counter[str]] = {}
    wrong: dict[bool, list[int]] = {True: [0, 0], False: [0, 0]}
    misses = []
    for trial in trials:
        found = outcome(trial)
        counts.setdefault(trial.kind, Counter())[found] += 1
        missed = is_missed(trial, found)
        wrong[trial.generation][0] += missed
        wrong[trial.generation][1] += 1
        if missed:
            misses.append(f"{trial.kind}: {trial.name}: {found}")
    lines = ["| series | n | " + " | ".join(COLUMNS) + " |", "|---" * (2 + len(COLUMNS)) + "|"]
    for kind, found in counts.items():
        cells = " | ".join(str(found[column]) for column in COLUMNS)
        lines.append(f"| {kind} | {found.total()} | {cells} |")
    (bad, of), (taken, others) = wrong[True], wrong[False]
    lines += ["", f"Generation refused: {bad} of {of}; the rest inferred: {taken} of {others}."]
    lines += [f"- {miss}" for miss in misses]
    every = all(
        found[INFERRED] + (kind != EXPORTED) * found[NET] <= 0.05 * found.total()
        for kind, found in counts.items()
        if not kind.startswith(("real", "simulated"))
    )
    return lines, every and bad <= 0.01 * of


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table; the exit code says whether the bars are met."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cache", type=Path, required=True, help="folder to keep readings in")
    parser.add_argument("--data", type=Path, help="folder of real data; SUNVEIL_DATA otherwise")
    parser.add_argument("--seed", type=int, default=SEED, help="of the series that are made")
    options = parser.parse_args(arguments)
    cases = simulated_cases(options.cache)

    def every() -> Iterator[Trial]:
        yield from other_trials(cases, options.data, seed=options.seed)
        yield from simulated_trials(cases)
        yield from real_trials(options.data)

    began = time.perf_counter()
    lines, met = table(every())
    print("\n".join(lines))
    print(f"{time.perf_counter() - began:.0f} s", file=sys.stderr)
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
