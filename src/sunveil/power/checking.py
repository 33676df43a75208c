"""Power from a publication, held against totals of what the fleet really gave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from sunveil.checked import checked
from sunveil.errors import ParameterError
from sunveil.power.result import BAND, Banded, FleetPower, banded
from sunveil.publish.check_cells import PARTS_OF_DAY, SEASONS, cells_of_times

# Of a normal law, how many deviations nine in ten are within.
_NINE_IN_TEN = 1.6449


@dataclass(frozen=True, slots=True)
class CheckedCell:
    """One season and part of the day.

    Parameters
    ----------
    season, from_hour, to_hour
        Which.
    made
        The mean power that was made from the publication.
    metered_kw, deviation_kw
        The drawn total of the meters, and the deviation of its noise. [kW]
    agrees
        Whether the two are as near as their errors say nine in ten are.
    """

    season: str
    from_hour: int
    to_hour: int
    made: Banded
    metered_kw: float
    deviation_kw: float
    agrees: bool


@checked
def hold_against(power: FleetPower, check: pd.DataFrame) -> list[CheckedCell]:
    """Return power from a publication beside the published totals of the meters.

    The power must be of the whole fleet, over the span of the check, under the weather of that
    span: a clear sky is brighter than what meters saw.

    Parameters
    ----------
    power
        Made with ``by="all"``.
    check
        The table ``power-check``.

    Privacy
    -------
    Only published numbers are looked at: nothing is spent.
    """
    if power.groups != ("all",):
        raise ParameterError("the check is of the whole fleet; make power with by='all'")
    cells = cells_of_times(power.grid.starts, power.skies[0].light.site)
    draws = power.draws()
    found = []
    columns = ("season", "from_hour", "to_hour", "noisy_kw", "sd_kw")
    rows = zip(*(check[name].tolist() for name in columns), strict=True)
    for season, begin, end, drawn, noise in rows:
        part = (int(begin), int(end))
        cell = SEASONS.index(season) * len(PARTS_OF_DAY) + PARTS_OF_DAY.index(part)
        if not (cells == cell).any():
            continue
        means = draws[cells == cell].mean(axis=0)
        about = f"mean power from {part[0]} to {part[1]} h in {season}"
        made = banded(means, "kW", about)
        apart = np.hypot((made.high - made.low) / 2.0, _NINE_IN_TEN * noise)
        agrees = bool(abs(drawn - made.value) <= apart)
        found.append(CheckedCell(season, *part, made, drawn, noise, agrees))
    return found


def verdict(cells: list[CheckedCell]) -> str:
    """Return in a sentence whether power and meters agree."""
    agree = sum(cell.agrees for cell in cells)
    expected = f"about {100 * BAND:g}% of them would by chance alone"
    return f"{agree} of {len(cells)} totals agree within their errors; {expected}."
