"""Whether day votes gain by telling clear days within the day: ``python -m benchmarks.day_votes``.

Exact expected errors of releases on single years of the real systems, averaged to hours under a
clear sky: with every day, with days that rise and fall once, with readings near their neighbours.
All of these look at one day alone, so that their sensitivity is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd

from benchmarks import real
from benchmarks.real_systems import SEEN
from sunveil.infer import record_span
from sunveil.meters import from_pandas
from sunveil.meters.coarsen import coarsen
from sunveil.meters.record import Record
from sunveil.privacy.mechanisms import PermuteAndFlip
from sunveil.privacy.score import Score
from sunveil.privacy.units import Days
from sunveil.releases.choices import Choices
from sunveil.releases.errors import framed_laws
from sunveil.releases.frame import Frame, frame_of
from sunveil.releases.score import reading_score
from sunveil.scores import Logs, count_days
from sunveil.site import Array, Plane
from sunveil.weather import get_weather

# Per m² of module, and beyond the public capacities: put among them, which turns no plane.
SCALES = {"heggelbach": 100.0, "almeria": 0.1}
# A year with power on fewer days is one of outages. [days]
FEWEST_DAYS = 120
USUAL = Choices().thresholds
EPSILONS = (0.3, 1.0, 3.0)
NOTE = """\
Single years of the twelve real systems, averaged to hours, on their true clocks, under a clear sky;
mean and median over systems. Rules that look at one day alone keep the sensitivity. None makes the
release better: the tilts lean as they did, and votes are lost. Other thresholds help where ε is
small and days are cloudy; without the last one simulated systems lose azimuth at ε = 1, and eight
differ from four at ε = 0.3 alone."""
Rule = Callable[[Array], np.ndarray]


def on_true_clock(case: real.RealCase) -> real.RealCase:
    """Return a case on the clock that the sun shows, since releases repair none."""
    if case.name == "fsec":
        return real.reclock(case, -5.0)
    if case.name != "serf_dst":
        return case
    wall = case.power.index.tz_localize(None)
    index = wall.tz_localize("America/Denver", ambiguous="NaT", nonexistent="NaT")
    power = pd.Series(case.power.to_numpy(), index=index)[~index.isna()]
    return replace(case, power=power.tz_convert(case.power.index.tz))


def years(declared: real.RealCase) -> Iterator[real.RealCase]:
    """Yield the years of a system that have power on enough days."""
    case = on_true_clock(declared)
    scale = SCALES.get(case.name, 1.0)
    kw = None if case.dc_kw is None else case.dc_kw * scale
    case = replace(case, power=case.power * scale, dc_kw=kw)
    bright = 0.1 * case.power.quantile(0.999)
    for year in real.single_years(case) or [case]:
        tops = year.power.groupby(year.power.index.date).max()
        if (tops > bright).sum() >= FEWEST_DAYS:
            yield year


def rises_once(bound: float) -> Rule:
    """Return a rule that keeps a day whose rises and falls are at most so many times two tops.

    Readings that are missing or zero are passed over.
    """

    def kept(power: Array) -> np.ndarray:
        read = power[power > 0.0]
        moves = np.abs(np.diff(read, prepend=0.0, append=0.0)).sum()
        return np.full(len(power), moves <= 2.0 * bound * read.max(initial=0.0))

    return kept


def near_neighbours(share: float) -> Rule:
    """Return a rule that keeps readings so near their neighbours' mean, as a share of the top."""

    def kept(power: Array) -> np.ndarray:
        around = np.convolve(power, [0.5, 0.0, 0.5], mode="same")
        near: np.ndarray = np.abs(power - around) <= share * power.max(initial=0.0)
        near[[0, -1]] = True
        return near

    return kept


def masked(power: Logs, days: np.ndarray, rule: Rule) -> Logs:
    """Return readings with those that a rule leaves out made to agree with nothing."""
    out = power.copy()
    for first, end in pairwise(days):
        out[first:end][~rule(np.exp(power[first:end].astype(float)))] = -np.inf
    return out


VARIANTS: dict[str, tuple[tuple[float, ...], Rule | None]] = {
    "every day (the default)": (USUAL, None),
    "days that rise and fall once, within 5%": (USUAL, rises_once(1.05)),
    "the same within 20%": (USUAL, rises_once(1.2)),
    "readings within 10% of their neighbours": (USUAL, near_neighbours(0.1)),
    "every day, without the last threshold": (USUAL[:-1], None),
    "every day, eight thresholds from 0.2": ((0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9), None),
}


def votes(frame: Frame, power: Logs, thresholds: tuple[float, ...]) -> Score:
    """Return the votes of days under other thresholds."""
    fewest = frame.choices.fewest
    counts = [
        count_days(
            power,
            profiles,
            frame.bins,
            days=frame.days,
            least=frame.lit_flat(profiles),
            thresholds=thresholds,
            fewest=fewest,
        )
        for profiles in frame.skies[0]
    ]
    levels = np.maximum.reduce(counts).ravel().astype(np.int64)
    return Score(levels, len(thresholds), Days(1), "docs/proofs/day-votes.md")


def scores(frame: Frame, record: Record) -> Iterator[tuple[str, float, Score]]:
    """Yield every variant, the ε that it is tried at, and its score."""
    power = frame.readings(record)
    for name, (thresholds, rule) in VARIANTS.items():
        kept = power if rule is None else masked(power, frame.days, rule)
        score = votes(frame, kept, thresholds)
        yield from ((name, epsilon, score) for epsilon in EPSILONS)
    yield "any one reading", 0.1, reading_score(frame, record)


def errors(systems: Sequence[real.RealCase]) -> pd.DataFrame:
    """Return expected errors by variant, ε and system, the mean of its years."""
    rows = []
    for system, case in ((each.name, year) for each in systems for year in years(each)):
        read = from_pandas(case.power, system_id=case.name, label=case.label, cleaning="each")
        record = coarsen(read, 60.0)
        frame = frame_of(record, get_weather("clearsky", case.site, *record_span(record)))
        for name, epsilon, score in scores(frame, record):
            chances = PermuteAndFlip(epsilon).probabilities(score)
            plane = Plane(case.azimuth, case.tilt)
            means = framed_laws(frame, chances, plane, case.dc_kw or np.nan).means
            told = zip(("azimuth", "tilt", "capacity"), means, strict=True)
            counted = {each: error for each, error in told if each in case.counts}
            rows.append({"variant": name, "epsilon": epsilon, "system": system} | counted)
    keys = ["variant", "epsilon", "system"]
    return pd.DataFrame(rows).groupby(keys, sort=False).mean()


def table() -> Iterator[str]:
    """Yield the table, mean and median over systems; nothing where there are no real series."""
    systems, _ = real.load_all(names=SEEN)
    if not systems:
        return
    yield from (*NOTE.splitlines(), "")
    yield "| votes | ε | azimuth, mean | median | tilt, mean | median | capacity, median |"
    yield "|---|---|---|---|---|---|---|"
    for (name, epsilon), part in errors(systems).groupby(["variant", "epsilon"], sort=False):
        mean, middle = part.mean(), part.median()
        angles = [f"{mean[a]:.1f}° | {middle[a]:.1f}°" for a in ("azimuth", "tilt")]
        yield f"| {name} | {epsilon:g} | {' | '.join(angles)} | {middle['capacity']:.1f}% |"


if __name__ == "__main__":
    for line in table():
        print(line)
