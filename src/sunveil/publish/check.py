"""Totals of what a fleet really gave, by season and part of the day: to hold power against.

Each system adds its mean metered power of every cell, held between zero and a public bound: the
largest capacity that a system may have, times what the best plane gives there under a clear sky. So
a replaced record moves no cell by more than its bound. An analyst who makes power from a
publication can hold it against these.

Proof: ``docs/proofs/check.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil.arguments import check_fields
from sunveil.checked import checked
from sunveil.errors import ParameterError
from sunveil.ledger.households import SystemHome
from sunveil.ledger.ledger import Ledger
from sunveil.ledger.records import Question
from sunveil.meters.record import Cleaning, Record
from sunveil.privacy.counting import Counts, Sensitivity
from sunveil.privacy.units import System, unit_name
from sunveil.publish.clip import check_largest
from sunveil.publish.households import published_homes
from sunveil.publish.publication import Column, Publication, PublishedTable
from sunveil.publish.spending import Spending
from sunveil.site import Array, Site, normals
from sunveil.sky import LOWEST_SUN, sky_at, unit_power
from sunveil.weather import get_weather
from sunveil.weather.base import span

Whole = NDArray[np.int64]

PROOF = "docs/proofs/check.md"
SEASONS = ("winter", "spring", "summer", "autumn")
# Parts of the day, by the place's mean solar time in whole hours. [h]
PARTS_OF_DAY = ((6, 10), (10, 14), (14, 18), (18, 22))
CELLS = len(SEASONS) * len(PARTS_OF_DAY)
# What the best plane gives under a clear sky is exceeded by bright clouds and cold air.
_MARGIN = 1.15
# The least that any cell is held at, as a share of the largest capacity.
_LEAST = 0.01


@dataclass(frozen=True, slots=True)
class CheckChoices:
    """What is chosen in public for a check.

    Parameters
    ----------
    site
        Where the fleet is.
    start, end
        Half-open span of the readings, in UTC: ISO dates or instants.
    epsilon
        What the check costs. Under a promise with δ it means ρ = ε²/2.
    largest_kw
        The largest capacity that a system may have: public. [kW]
    edition
        A public name of the data: another edition is another question.
    """

    site: Site
    start: str
    end: str
    epsilon: float
    largest_kw: float = 25.0
    edition: str = "1"

    def __post_init__(self) -> None:
        check_fields(self)
        check_largest(self.largest_kw)
        span(self.start, self.end)

    @property
    def seconds(self) -> tuple[int, int]:
        """Both ends of the span. [s since 1970]"""
        first, last = span(self.start, self.end)
        return int(first.timestamp()), int(last.timestamp())


@dataclass(frozen=True, slots=True)
class CheckPlan:
    """What a check would cost and how noisy it would be.

    Parameters
    ----------
    cost, remaining
        What it would spend now, and what is left before, in the promise's measure.
    kept
        Whether it was drawn before, and costs nothing.
    deviation_kw
        Standard deviation of the noise of every total. [kW]
    """

    cost: float
    remaining: float
    kept: bool
    deviation_kw: float


def cells_of_times(seconds: NDArray[np.int64], site: Site) -> NDArray[np.int64]:
    """Return the cell of every instant by the place's mean solar time; -1 at night: public.

    Parameters
    ----------
    seconds
        Instants. [s since 1970, UTC]
    site
        Where.
    """
    local = seconds + 3600 * round(site.longitude / 15.0)
    hour = local // 3600 % 24
    months = local.astype("datetime64[s]").astype("datetime64[M]").astype(np.int64) % 12
    season = (months + 1) % 12 // 3
    if site.latitude < 0.0:
        season = (season + 2) % 4
    found = np.full(len(seconds), -1, dtype=np.int64)
    for place, (low, high) in enumerate(PARTS_OF_DAY):
        inside = (hour >= low) & (hour < high)
        found[inside] = season[inside] * len(PARTS_OF_DAY) + place
    return found


@lru_cache(maxsize=4)
def check_bounds(choices: CheckChoices) -> Whole:
    """Return what a system's mean power of every cell is held at: public. [W]

    Parameters
    ----------
    choices
        The public choices.
    """
    first, last = choices.seconds
    middles = np.arange(first + 1800, last, 3600, dtype=np.int64)
    times = middles.astype("datetime64[s]")
    hour = np.timedelta64(3600, "s")
    weather = get_weather("clearsky", choices.site, times[0] - hour, times[-1] + hour)
    sky = sky_at(weather, times)
    lit = sky.sun[:, 2] > LOWEST_SUN
    azimuth, tilt = (each.ravel() for each in np.meshgrid(np.arange(0.0, 360.0, 15.0),
                                                         np.arange(0.0, 91.0, 15.0)))  # fmt: skip
    best = np.zeros((len(azimuth), len(middles)))
    best[:, lit] = unit_power(sky.take(lit), normals(azimuth, tilt))
    cells = cells_of_times(middles, choices.site)
    shares = np.zeros(CELLS)
    for cell in np.unique(cells[cells >= 0]):
        shares[cell] = max(float(best[:, cells == cell].mean(axis=1).max()) * _MARGIN, _LEAST)
    bounds = np.rint(1e3 * choices.largest_kw * np.minimum(shares, 1.0)).astype(np.int64)
    bounds.setflags(write=False)
    return bounds


def system_means(record: Record, choices: CheckChoices) -> Array:
    """Return a system's mean power of every cell: private. [W]

    Every reading is taken alone, between zero and the largest capacity; one that is missing counts
    as zero, so that the number of readings plays no part.

    Parameters
    ----------
    record
        Its readings.
    choices
        The public choices.
    """
    first, last = choices.seconds
    step = round(60.0 * record.interval_minutes)
    whole = cells_of_times(np.arange(first, last, step, dtype=np.int64), choices.site)
    intervals = np.bincount(whole[whole >= 0], minlength=CELLS)
    starts = record.times.astype("datetime64[s]").astype(np.int64)
    cells = cells_of_times(starts, choices.site)
    inside = (starts >= first) & (starts < last) & (cells >= 0)
    held = np.clip(record.power_kw[inside], 0.0, choices.largest_kw)
    sums = np.bincount(cells[inside], weights=held, minlength=CELLS)
    return np.asarray(1e3 * sums / np.maximum(intervals, 1))


def check_counts(records: Sequence[Record], choices: CheckChoices) -> Counts:
    """Return the totals of all cells in watts: private.

    Parameters
    ----------
    records
        The fleet's readings, each taken alone.
    choices
        The public choices.

    Privacy
    -------
    Neighbours replace the whole record of one system, which moves every cell by at most its bound:
    ``docs/proofs/check.md``.
    """
    bounds = check_bounds(choices)
    totals = np.zeros(CELLS, dtype=np.int64)
    for record in records:
        held = np.clip(system_means(record, choices), 0.0, bounds)
        totals += np.rint(held).astype(np.int64)
    return Counts(totals, check_sensitivity(bounds), System(), PROOF)


def check_sensitivity(bounds: Whole) -> Sensitivity:
    """Return how far a replaced record moves all cells together."""
    each = [int(bound) for bound in bounds]
    return Sensitivity(sum(each), sum(bound**2 for bound in each))


def check_question(
    choices: CheckChoices, *, concentrated: bool, analyst: str | None = None
) -> Question:
    """Return the question that a check answers.

    Parameters
    ----------
    choices
        The public choices.
    concentrated
        Whether ε means ρ = ε²/2, as under a promise with δ.
    analyst
        Whose share is charged too; None for the curator.
    """
    return Question(
        kind="power-check",
        parameters={
            "place": [choices.site.latitude, choices.site.longitude],
            "span": list(choices.seconds),
            "epsilon": choices.epsilon,
            "largest_kw": choices.largest_kw,
            "edition": choices.edition,
        },
        mechanism="power-check",
        guarantee=Spending.asked(choices.epsilon, concentrated=concentrated).guarantee(PROOF),
        analyst=analyst,
    )


def plan_check(
    ledger: Ledger, dataset: str, *, choices: CheckChoices, analyst: str | None = None
) -> CheckPlan:
    """Return what a check would cost and its noise; spend nothing, and look at no reading.

    Parameters
    ----------
    ledger, dataset
        What would be charged.
    choices
        The public choices.
    analyst
        Whose share would be charged too.
    """
    concentrated = ledger.dataset(dataset).promise.delta > 0.0
    question = check_question(choices, concentrated=concentrated, analyst=analyst)
    noise = Spending.asked(choices.epsilon, concentrated=concentrated).noise
    return CheckPlan(
        cost=ledger.due(dataset, question),
        remaining=ledger.dataset(dataset).remaining,
        kept=ledger.kept(dataset, question) is not None,
        deviation_kw=noise.deviation(check_sensitivity(check_bounds(choices))) / 1e3,
    )


@checked
def publish_check(
    ledger: Ledger,
    dataset: str,
    records: Sequence[Record],
    *,
    choices: CheckChoices,
    analyst: str | None = None,
    homes: Sequence[SystemHome] = (),
) -> Publication:
    """Return the totals of a check: charged first and drawn, or those that were drawn before.

    Parameters
    ----------
    ledger, dataset
        What is charged.
    records
        The fleet's readings, read with ``cleaning="each"``: private.
    choices
        The public choices.
    analyst
        Whose share is charged too; None for the curator.
    homes
        What is known of the systems' households; without, each system is one by its name.

    Privacy
    -------
    ε-DP for ``System()``, or ρ-zCDP where the promise has a δ, charged durably before the draw.
    Proof: ``docs/proofs/check.md``.
    """
    if any(record.cleaning is not Cleaning.EACH for record in records):
        raise ParameterError('a check takes records that were read with cleaning="each"')
    if any(record.net for record in records):
        raise ParameterError(
            "a check adds generation up, and some meters read the net of generation and load; leave"
            " these out"
        )
    concentrated = ledger.dataset(dataset).promise.delta > 0.0
    question = check_question(choices, concentrated=concentrated, analyst=analyst)
    plan_check(ledger, dataset, choices=choices, analyst=analyst)
    if ledger.kept(dataset, question) is None:
        names = [record.system_id for record in records]
        question = replace(question, homes=published_homes(names, homes))
    spending = Spending.asked(choices.epsilon, concentrated=concentrated)

    def draw() -> dict[str, Any]:
        counts = check_counts(records, choices)
        drawn = spending.noise.draw(counts)
        deviation = spending.noise.deviation(counts.sensitivity)
        return {"totals": drawn.tolist(), "deviation": deviation, "systems": len(records)}

    answer = ledger.ask(dataset, question, draw).value
    return Publication(
        title="Check of power against meters",
        tables=(_table(answer, choices),),
        guarantee=question.guarantee,
        mechanism=f"discrete {'Gaussian' if concentrated else 'Laplace'} noise (totals of mean"
        " power by season and part of the day)",
        public={
            "unit": unit_name(System()),
            "epsilon": choices.epsilon,
            "systems": answer["systems"],
            "start": choices.start,
            "end": choices.end,
            "latitude": choices.site.latitude,
            "longitude": choices.site.longitude,
            "largest_kw": choices.largest_kw,
        },
        question=question,
    )


def _table(answer: dict[str, Any], choices: CheckChoices) -> PublishedTable:
    deviation = round(answer["deviation"] / 1e3, 4)
    rows = [
        (season, low, high, total / 1e3, deviation)
        for (season, (low, high)), total, bound in zip(
            ((season, part) for season in SEASONS for part in PARTS_OF_DAY),
            answer["totals"],
            check_bounds(choices),
            strict=True,
        )
        if bound  # a season that the span does not have has no total
    ]
    return PublishedTable(
        "power-check",
        "Mean power of all systems together by season and part of the day, as metered, each"
        " system's held between zero and a public bound. To hold power against that was made from"
        " a publication of the same systems.",
        (
            Column("season", "string", "Winter is December to February; of the south, June on."),
            Column("from_hour", "integer", "Begin of the part of the day, mean solar time [h]."),
            Column("to_hour", "integer", "Its end [h]."),
            Column("noisy_kw", "number", "Mean power of all systems as drawn: unbiased [kW]."),
            Column("sd_kw", "number", "Standard deviation of its noise [kW]."),
        ),
        tuple(rows),
    )
