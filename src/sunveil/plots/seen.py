"""What an estimate says of the readings it came from: the repaired clock and the modelled power."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sunveil.engine import EngineOptions, SkyTable
from sunveil.engine.assumed import CLEAR_HAZE, MEASURED_HAZE, numbers_of
from sunveil.engine.envelope import points_of, profiles_of
from sunveil.engine.model import HAZE_SEASON
from sunveil.engine.prepared import PreparedSky
from sunveil.engine.readings import on_long_grid
from sunveil.engine.skytable import in_blocks
from sunveil.errors import WeatherError
from sunveil.estimate import Estimate
from sunveil.grids import Grid
from sunveil.infer import SiteSkies, grid_of, on_grid, repaired
from sunveil.meters.record import Record
from sunveil.site import Array

_OF_READINGS = ("place", "day", "sun", "power", "modelled")


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
    estimate
        The estimate.
    """

    sky: SkyTable
    place: NDArray[np.intp]
    day: NDArray[np.int64]
    sun: Array
    power: Array
    modelled: Array
    estimate: Estimate

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
        parts = {name: getattr(self, name)[chosen] for name in _OF_READINGS}
        return replace(self, **parts)

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
        numbers = numbers_of(_options(self.estimate), clear=self.sky.clear)
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
    prepared = PreparedSky(sky, _options(estimate))
    power = on_long_grid(on_grid([fixed], grid), grid)[0][prepared.slot]
    place = np.flatnonzero(np.isfinite(power))
    if not len(place):
        raise WeatherError(
            f"the weather from {sky.source} covers none of the daylight readings of system"
            f" {record.system_id}; give weather of the same dates"
        )
    modelled = profiles_of(sky.sheet, _point(estimate, clear=sky.clear), prepared.numbers)[0]
    limit = np.inf if estimate.ac_limit_kw is None else estimate.ac_limit_kw
    return SeenReadings(
        sky=sky,
        place=place,
        day=prepared.day[place].astype(np.int64),
        sun=sky.sun[place],
        power=power[place].astype(np.float64),
        modelled=np.minimum(estimate.dc_capacity_kw * modelled[place].astype(np.float64), limit),
        estimate=estimate,
    )


def _options(estimate: Estimate) -> EngineOptions:
    assumed = estimate.assumptions
    return EngineOptions(losses=assumed.losses, albedo=assumed.albedo, mount=assumed.mount)


def _point(estimate: Estimate, *, clear: bool) -> Array:
    """Return an estimate as a point; what it does not know of haze and heat is as usual."""
    usual = (CLEAR_HAZE if clear else MEASURED_HAZE)[0]
    grid = Grid(np.array([estimate.surface_azimuth]), np.array([estimate.surface_tilt]))
    point = points_of(
        grid,
        haze=usual if estimate.haze is None else estimate.haze,
        heat=estimate.assumptions.mount.heat if estimate.heat is None else estimate.heat,
    )
    if estimate.haze_summer is not None and estimate.haze_winter is not None:
        point[:, HAZE_SEASON] = 0.5 * (estimate.haze_winter - estimate.haze_summer)
    return point
