"""What meters gave by season and part of the day, each system's held at a public bound.

Each system adds its mean metered power of every cell, held between zero and the largest capacity
that a system may have, times what the best plane gives there under a clear sky. So a replaced
record moves no cell by more than its bound.

Proof: ``docs/proofs/check.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sunveil.arguments import check_fields
from sunveil.meters.record import Record
from sunveil.privacy.counting import Counts, Sensitivity
from sunveil.privacy.units import System
from sunveil.publish.clip import check_largest
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
