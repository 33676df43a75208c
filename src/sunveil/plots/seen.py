"""What an estimate says of the readings it came from: the repaired clock and the modelled power."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sunveil.errors import WeatherError
from sunveil.estimate import Estimate
from sunveil.fit.clocks import Hypothesis, reading_saving
from sunveil.fit.daylight import Daylight, coarsen, daylight
from sunveil.fit.refine import Point, modelled_power, refine
from sunveil.fit.shared import HEAT_DEVIATION, MEASURED_HAZE, ErrorModel
from sunveil.infer import record_span
from sunveil.meters.record import Record
from sunveil.site import Array
from sunveil.weather import Weather, WeatherCache, clearsky


def repaired_daylight(
    record: Record, weather: Weather, estimate: Estimate, *, cache: WeatherCache | None = None
) -> Daylight:
    """Return the daylight readings on the clock that the estimate found.

    Parameters
    ----------
    record, weather
        What the estimate was inferred from.
    estimate
        The estimate.
    cache
        Where clear skies are kept.
    """
    first, last = weather.times[0], weather.times[-1]
    span = record_span(record)
    if span[1] < first or span[0] > last:
        raise _uncovered(record, weather)
    clear = weather if weather.clear else clearsky(weather.site, *span, cache=cache)
    clock, short = estimate.clock, coarsen(record)
    # a label found to be another one is half an interval or a whole one of offset
    moved = (clock.label.fraction - record.label.fraction) * record.interval_minutes
    hypothesis = Hypothesis(clock.offset_minutes + moved, clock.daylight_saving)
    ahead = hypothesis.ahead_seconds(reading_saving(short, weather.site))
    data = daylight(short, weather, clear, ahead_seconds=ahead)
    if len(data) == 0:
        raise _uncovered(record, weather)
    return data


def _uncovered(record: Record, weather: Weather) -> WeatherError:
    return WeatherError(
        f"the weather from {weather.source} covers none of the daylight readings of system"
        f" {record.system_id}; give weather of the same dates"
    )


def estimated_power(data: Daylight, estimate: Estimate, *, clear: bool) -> Array:
    """Return the power that an estimate gives over each interval. [kW]

    An estimate does not carry the haze and the heat of the modules that were fitted along with
    it, so they are found again; its plane, capacity and limit stay as they are.

    Parameters
    ----------
    data
        The readings and their skies.
    estimate
        The estimate.
    clear
        True when the weather is a clear sky from monthly maps, which are hazier than clear days.
    """
    errors = ErrorModel(heat_prior=(estimate.assumptions.mount.heat, HEAT_DEVIATION))
    if not clear:
        errors = replace(errors, haze_prior=MEASURED_HAZE)
    point = Point.of(
        estimate.plane,
        estimate.dc_capacity_kw,
        haze=errors.haze_prior[0],
        heat=errors.heat_prior[0],
        limit=np.inf if estimate.ac_limit_kw is None else estimate.ac_limit_kw,
    )
    assumed = estimate.assumptions
    losses, albedo = assumed.losses, assumed.albedo
    fit = refine(data, point, losses=losses, albedo=albedo, errors=errors, scales=(1.0,))
    point = replace(point, haze=fit.point.haze, heat=fit.point.heat)
    return modelled_power(data, point, losses=losses, albedo=albedo)
