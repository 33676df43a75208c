"""What an estimate says of the readings it came from: the repaired clock and the modelled power."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sunveil.engine import SkyTable
from sunveil.engine.assumed import numbers_of
from sunveil.engine.envelope import points_of, profiles_of
from sunveil.engine.prepared import PreparedSky
from sunveil.engine.readings import on_long_grid
from sunveil.engine.skytable import in_blocks
from sunveil.errors import WeatherError
from sunveil.estimate import Estimate
from sunveil.grids import Grid
from sunveil.infer import SiteSkies, grid_of, on_grid, repaired
from sunveil.meters.options import parse_timezone
from sunveil.meters.record import Record
from sunveil.plots.modelled import engine_options, modelled_parts
from sunveil.site import Array

_OF_READINGS = ("place", "day", "sun", "power", "modelled", "generated")


@dataclass(frozen=True, slots=True, eq=False)
class SeenReadings:
    """The daylight readings of a record on the clock that its estimate found: private.

    Parameters
    ----------
    sky
        The sky over the record.
    place
        Which of the sky's usable intervals each reading stands at.
    day
        Number of the solar day of each reading since 1970.
    sun
        The sun's vector at the middle of each interval, shape (readings, 3).
    power
        What was measured. [kW]
    modelled
        What the estimate gives. [kW]
    parts
        What each of its planes would give below no limit, shape (planes, readings); of a tracker
        there is one part. [kW]
    estimate
        The estimate.
    generated
        The same; of a net meter, with its household's usual load at that hour added, and NaN where
        that says nothing. [kW]
    """

    sky: SkyTable
    place: NDArray[np.intp]
    day: NDArray[np.int64]
    sun: Array
    power: Array
    modelled: Array
    parts: Array
    estimate: Estimate
    generated: Array

    def __repr__(self) -> str:
        return f"SeenReadings({len(self.power)} readings, private)"

    def __len__(self) -> int:
        return len(self.power)

    @property
    def starts(self) -> NDArray[np.datetime64]:
        """UTC start of each reading's interval, by the sun's clock."""
        return self.sky.grid.long.times[self.sky.slot[self.place]]

    def take(self, chosen: NDArray[np.bool_]) -> SeenReadings:
        """Return some of the readings."""
        chosen_ones = {name: getattr(self, name)[chosen] for name in _OF_READINGS}
        return replace(self, **chosen_ones, parts=self.parts[:, chosen])

    def profiles(self, grid: Grid, chosen: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return the power of planes per kW at some of the readings. [kW/kW]

        Parameters
        ----------
        grid
            The planes.
        chosen
            Which readings.
        """
        sheet = in_blocks(self.sky.rows[:, self.place[chosen]])
        numbers = numbers_of(engine_options(self.estimate), clear=self.sky.clear)
        return profiles_of(sheet, points_of(grid), numbers)[:, : len(chosen)]


def seen_readings(record: Record, skies: SiteSkies, estimate: Estimate) -> SeenReadings:
    """Return the daylight readings on the clock that the estimate found, with what it gives there.

    Parameters
    ----------
    record, skies
        What the estimate was inferred from.
    estimate
        The estimate.
    """
    fixed = repaired(record, estimate, skies.site)
    grid = grid_of(fixed)
    sky = skies.over(grid)
    prepared = PreparedSky(sky, engine_options(estimate))
    power = on_long_grid(on_grid([fixed], grid), grid)[0][prepared.slot].astype(np.float64)
    place = np.flatnonzero(np.isfinite(power))
    if not len(place):
        raise WeatherError(
            f"the weather from {sky.source} covers none of the daylight readings of system"
            f" {record.system_id}; give weather of the same dates"
        )
    parts = modelled_parts(estimate, sky, prepared.numbers)[:, place]
    limit = np.inf if estimate.ac_limit_kw is None else estimate.ac_limit_kw
    return SeenReadings(
        sky=sky,
        place=place,
        day=prepared.day[place].astype(np.int64),
        sun=sky.sun[place],
        power=power[place],
        generated=_with_load(power, grid.long.times[prepared.slot], estimate, record)[place],
        modelled=np.minimum(parts.sum(axis=0), limit),
        parts=parts,
        estimate=estimate,
    )


def _with_load(
    power: Array, starts: NDArray[np.datetime64], estimate: Estimate, record: Record
) -> Array:
    """Return readings, those of a net meter with the household's usual load added. [kW]

    Parameters
    ----------
    power, starts
        The readings, and the UTC starts of their intervals. [kW]
    estimate
        The estimate.
    record
        Whose clock the household lives by.
    """
    if estimate.household is None:
        return power
    local = local_times(starts, record.timezone)
    load = estimate.household.usual_load(local.month.to_numpy(), local.hour.to_numpy())
    # a reading of zero says no more than that it was at most zero
    return np.where(power == 0.0, np.nan, power + load)


def local_times(starts: NDArray[np.datetime64], timezone: str) -> pd.DatetimeIndex:
    """Return instants, given in UTC, on a declared clock."""
    return pd.DatetimeIndex(starts).tz_localize("UTC").tz_convert(parse_timezone(timezone)[0])
