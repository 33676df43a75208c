"""Power per kW of planes; model and weather uncertainty."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil._options import check_fields
from sunveil.errors import ParameterError, WeatherError
from sunveil.power.posterior import MIXTURE_SIZE_SPREAD, RATIOS
from sunveil.pv_model import LOWEST_SUN, Sky, ac_power, covered, sky_at
from sunveil.site import DAY, Array, Losses, Mount, Site, TimeGrid, normals
from sunveil.weather.sources import get_weather
from sunveil.weather.weather_data import TimeLike, Weather, span

Profiles = NDArray[np.float32]

# So many planes and instants at a time.
_CHUNK = 2_000_000


@dataclass(frozen=True, slots=True)
class PowerChain:
    """What stands between light and meter, the same for all systems: assumed, and stated."""

    # system losses, inverter and temperature coefficient
    losses: Losses = Losses()  # noqa: RUF009
    mount: Mount = Mount.UNKNOWN  # how modules are mounted, which decides how hot they run
    albedo: float = 0.2  # fraction of global light that the ground sends back
    # least and largest DC capacity over the inverter's limit, evenly between; None for inverters
    # without a limit
    ratios: tuple[float, float] | None = RATIOS

    def __post_init__(self) -> None:
        check_fields(self)
        if self.ratios is not None and not 0.5 <= self.ratios[0] <= self.ratios[1] <= 5.0:
            raise ParameterError(
                "ratios are the least and the largest DC to AC ratio, between 0.5 and 5"
            )


@dataclass(frozen=True, slots=True, eq=False)
class DaylightSky:
    """The sky of one place at the daylight intervals of a time grid."""

    site: Site  # where
    grid: TimeGrid  # all intervals, day and night
    daylight: NDArray[np.intp]  # places of the daylight ones among them
    sky: Sky  # the light in their middles
    weather: Weather  # where the light comes from


def power_grid(start: TimeLike, end: TimeLike, step_minutes: int = 15) -> TimeGrid:
    """Return the intervals of a span."""
    first, last = span(start, end)
    seconds = 60 * step_minutes
    if step_minutes < 1 or DAY % seconds:
        raise ParameterError(f"a step of {step_minutes} minutes does not divide a day")
    count = math.ceil((last - first).total_seconds() / seconds)
    return TimeGrid(int(first.timestamp()), seconds, count)


def daylight_sky(what: Any, site: Site, grid: TimeGrid, **options: Any) -> DaylightSky:
    """Return the sky of a place over a time grid."""
    margin = np.timedelta64(3600, "s")
    start, end = grid.times[0] - margin, grid.times[-1] + margin + np.timedelta64(grid.step, "s")
    weather = get_weather(what, site, start, end, **options)
    clear = None if weather.clear else get_weather("clearsky", site, start, end)
    middles = grid.times + np.timedelta64(grid.step // 2, "s")
    sky = sky_at(weather, middles, clear)
    daylight = np.flatnonzero(sky.sun[:, 2] > LOWEST_SUN)
    missing = ~covered(weather, middles[daylight])
    if missing.any():
        day = np.datetime_as_string(middles[daylight][missing][0], unit="D")
        raise WeatherError(
            f"the weather from {weather.source} has nothing for {int(missing.sum()):,} daylight"
            f" intervals, the first on {day}; give weather of the whole span"
        )
    return DaylightSky(site, grid, daylight, sky.take(daylight).single(), weather)


def plane_profiles(
    sky: Sky, surface_azimuth: Array, surface_tilt: Array, chain: PowerChain
) -> Profiles:
    """Return the AC power of planes per kW of DC capacity, shape (planes, instants). [kW/kW]"""
    out = np.empty((len(surface_azimuth), len(sky)), dtype=np.float32)
    facing = normals(surface_azimuth, surface_tilt)
    many = max(1, _CHUNK // max(len(sky), 1))
    for low in range(0, len(out), many):
        power = ac_power(
            sky, facing[low : low + many], losses=chain.losses, albedo=chain.albedo,
            heat=chain.mount.heat,
        )  # fmt: skip
        out[low : low + many] = held_at_limits(power, chain.ratios)
    return out


def held_at_limits(power: Array, ratios: tuple[float, float] | None) -> Array:
    """Return the mean power of systems with inverter limits between two values. [kW/kW]"""
    if ratios is None:
        return power
    low, high = ratios
    if high - low < 1e-9:
        return np.minimum(power, 1.0 / low)
    # systems with a ratio above 1/p are held at their limit, the others give p
    turn = np.clip(1.0 / np.maximum(power, 1e-6), low, high)
    return np.asarray((power * (turn - low) + np.log(high / turn)) / (high - low))


# Of one system: what labelled real systems give against the model (releases/typical.json, model).
SYSTEM_ERROR = 0.07

# Of all systems together: 2% is the same over the root of the 14 real systems it was found on; 3%
# is what chains of physics scatter by that engineers use alike. Two of them, which share nothing
# but the weather, differ by 4% in energy (benchmarks/power_other.py), which is √2 deviations.
COMMON_ERROR = 0.035

# Of satellite or typical weather over a whole span: biases are said to be within 5%, taken for two
# deviations. Sengupta et al., "The National Solar Radiation Data Base (NSRDB)", Renewable and
# Sustainable Energy Reviews 89, 2018. DOI 10.1016/j.rser.2018.03.003
WEATHER_BIAS = 0.025

# Of single intervals, under a clear sky and under a closed one, and how long it lasts. [h]
CLEAR_ERROR, CLOUD_ERROR, LASTING = 0.04, 0.20, 1.0

# How far a year is from the typical one.
YEAR_ERROR = 0.04


@dataclass(frozen=True, slots=True)
class Unknowns:
    """Which errors beyond the publication's noise a band holds."""

    model: bool = True  # errors of the model of power
    # errors of weather; none under a clear sky, where the band is of a day without clouds
    weather: bool = True

    def __post_init__(self) -> None:
        check_fields(self)

    def model_factors(self, draws: int, systems: Array, rng: np.random.Generator) -> Array:
        """Return the factor of every draw and group."""
        if not self.model:
            return np.ones((draws, len(systems)))
        common = COMMON_ERROR * rng.standard_normal((draws, 1))
        counted = np.maximum(systems, 1.0) / (1.0 + MIXTURE_SIZE_SPREAD**2)
        own = SYSTEM_ERROR / np.sqrt(counted) * rng.standard_normal((draws, len(systems)))
        return np.exp(common + own)

    def weather_factors(
        self, light: DaylightSky, draws: int, rng: np.random.Generator
    ) -> NDArray[np.float32] | None:
        """Return the factor of every daylight interval and draw; None where it is 1."""
        if not self.weather or light.weather.clear:
            return None
        slow = np.hypot(WEATHER_BIAS, YEAR_ERROR if light.weather.typical else 0.0)
        out = np.empty((len(light.daylight), draws), dtype=np.float32)
        steps = np.diff(light.daylight, prepend=light.daylight[:1]) * light.grid.step / 3600.0
        kept = np.exp(-steps / LASTING)
        now = rng.standard_normal(draws)
        for place, share in enumerate(kept):
            now = share * now + np.sqrt(1.0 - share**2) * rng.standard_normal(draws)
            out[place] = now
        clearness = np.clip(light.sky.clearness, 0.0, 1.0)[:, None]
        out *= CLOUD_ERROR + (CLEAR_ERROR - CLOUD_ERROR) * clearness
        out += slow * rng.standard_normal(draws).astype(np.float32)
        # above and below alike, so that the middle stays
        return np.asarray(np.exp(out), dtype=np.float32)
