"""The generation of a net meter, told from its household's load in every interval."""

from __future__ import annotations

import datetime as dt
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sunveil.arguments import instance, without_unit
from sunveil.engine import EngineOptions, SkyTable
from sunveil.engine.net_separate import Separated
from sunveil.engine.net_separate import separate as separate_on_grid
from sunveil.errors import MeterError
from sunveil.estimate import ClockFinding, Estimate
from sunveil.gridded import grid_of, on_grid, repaired
from sunveil.meters.record import Record
from sunveil.site import Site
from sunveil.site_skies import SiteSkies

if TYPE_CHECKING:
    import pandas as pd

    from sunveil.meters.given import ReadingsLike
    from sunveil.weather import Weather, WeatherCache

COLUMNS = ("generation_kw", "generation_low_kw", "generation_high_kw", "load_kw")


@without_unit
def separate(
    power: ReadingsLike,
    estimate: Estimate,
    *,
    site: Site | Any | None = None,
    latitude: float | None = None,
    longitude: float | None = None,
    altitude: float | None = None,
    times: Any = None,
    weather: str | os.PathLike[str] | Weather | pd.DataFrame = "clearsky",
    timezone: str | dt.tzinfo | None = None,
    power_unit: str = "auto",
    label: str = "auto",
    cache: WeatherCache | None = None,
) -> pd.DataFrame:
    """Tell the generation of a net meter from its household's load, with a 90% band.

    Parameters
    ----------
    power
        What the estimate was inferred from, generation less load: whatever
        :func:`sunveil.infer` takes.
    estimate
        What :func:`sunveil.infer` said of it.
    site, latitude, longitude, altitude, times, weather, timezone, power_unit, label, cache
        As they were for :func:`sunveil.infer`.

    Returns
    -------
    pandas.DataFrame
        By the UTC start of each interval that has a reading, on the clock that the estimate found:
        ``generation_kw``, ``generation_low_kw``, ``generation_high_kw`` and ``load_kw``; generation
        less load is the reading, except that where a reading is zero, the load is what is expected
        of at most zero. [kW]

    Raises
    ------
    MeterError
        When the estimate is not of a net meter: its generation is what it reads.

    Privacy
    -------
    None: what a household uses by the hour is more private than anything else here.
    """
    from sunveil.meters.given import record_of

    instance("estimate", estimate, Estimate, give="an Estimate, as sunveil.infer returns it")
    place = Site.of(site, latitude=latitude, longitude=longitude, altitude=altitude)
    skies = SiteSkies.at(place, weather=weather, cache=cache)
    record = record_of(
        power,
        times=times,
        system_id=estimate.system_id,
        power_unit=power_unit,
        timezone=timezone,
        label=label,
        net=True,
    )
    return separate_record(record, skies, estimate)


def separate_record(record: Record, skies: SiteSkies, estimate: Estimate) -> pd.DataFrame:
    """Return :func:`separate` of a record under the skies of its site.

    Parameters
    ----------
    record, skies
        What the estimate was inferred from.
    estimate
        The estimate.
    """
    import pandas as pd

    if estimate.household is None:
        raise MeterError(
            f"system {estimate.system_id} is no net meter: it reads its generation, and there is no"
            " load to tell it from"
        )
    fixed = repaired(record, estimate, skies.site)
    sky, found = separate_repaired(fixed, skies, estimate)
    read = np.isfinite(found.generation)
    values: dict[str, Any] = dict(
        zip(COLUMNS, (found.generation, found.low, found.high, found.load), strict=True)
    )
    times = pd.DatetimeIndex(sky.grid.times[read], name="time").tz_localize("UTC")
    return pd.DataFrame({name: each[read] for name, each in values.items()}, index=times)


def separate_repaired(
    fixed: Record, skies: SiteSkies, estimate: Estimate
) -> tuple[SkyTable, Separated]:
    """Return the sky over a record on the clock that was found, and what was told apart there.

    Parameters
    ----------
    fixed
        The readings, on the clock that the estimate found.
    skies
        The skies of their site.
    estimate
        The estimate, of a net meter.
    """
    grid = grid_of(fixed)
    sky = skies.over(grid)
    assumed = estimate.assumptions
    options = EngineOptions(losses=assumed.losses, albedo=assumed.albedo, mount=assumed.mount)
    # what the clock had wrong is out of these readings, and is not to be taken out twice
    right = replace(estimate, clock=ClockFinding(0.0, fixed.label))
    power = on_grid([fixed], grid)[0]
    return sky, separate_on_grid(power, sky, right, options=options, timezone=fixed.timezone)
