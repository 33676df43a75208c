"""Power of a fleet from its publication, draw by draw."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from sunveil._options import instance, text, whole
from sunveil.errors import ParameterError
from sunveil.power.from_tables import read_source
from sunveil.power.plane_power import PowerChain, Unknowns, daylight_sky, plane_profiles, power_grid
from sunveil.power.posterior import FleetMixture
from sunveil.power.power_result import FleetPower, GroupSky, band_of, daylight_draws
from sunveil.publication.published_tables import Publication
from sunveil.site import Site, TimeGrid
from sunveil.weather.weather_data import TimeLike, Weather

DRAWS = 200

WHOLE = "all"


def fleet_power(
    publication: str | os.PathLike[str] | Publication | pd.DataFrame | FleetMixture,
    site: Site | Mapping[str, Site],
    *,
    start: TimeLike,
    end: TimeLike,
    weather: str | os.PathLike[str] | Weather | pd.DataFrame = "clearsky",
    by: str | None = None,
    step_minutes: int = 15,
    draws: int = DRAWS,
    seed: int = 0,
    chain: PowerChain | None = None,
    unknowns: Unknowns | None = None,
    **options: Any,
) -> FleetPower:
    """Return the power of a published fleet by time and group, with a band.

    ``power_kw`` is the median of the draws, ``low`` and ``high`` their 90% band. A draw is a fleet
    that agrees with the published numbers and their noise, with errors of model and weather.

    Parameters
    ----------
    publication
        A publication's folder or one in memory, a table of planes (a CSV or Parquet file, or a
        frame with ``surface_azimuth``, ``surface_tilt`` and ``dc_capacity_kw``), or a mixture.
    site
        Where the fleet is, or where each group is, by its name.
    start, end
        Half-open span; naive times are in UTC.
    weather
        As for :func:`sunveil.get_weather`.
    by
        The public column that divides the fleet, or ``all`` for one sum; default: as published.
    step_minutes
        Length of the intervals. [minutes]
    draws, seed
        How many draws, and which: the same seed gives the same band.
    chain
        What is assumed between light and meter.
    unknowns
        Which errors the band holds beyond the noise of the publication.
    **options
        Handed to the source of the weather.

    Privacy
    -------
    Uses published numbers alone; spends nothing.

    Examples
    --------
    >>> import pandas as pd
    >>> from sunveil import Site, fleet_power
    >>> planes = pd.DataFrame({"surface_azimuth": [180.0, 270.0], "surface_tilt": [25.0, 20.0],
    ...                        "dc_capacity_kw": [5.0, 8.0]})
    >>> start, end = "2023-06-21T07:00", "2023-06-22T07:00"
    >>> day = fleet_power(planes, Site(39.74, -105.17), start=start, end=end)
    >>> day.power_kw.shape
    (1, 96)
    """
    _check_source(publication, site, weather)
    for name, given, kind in (("chain", chain, PowerChain), ("unknowns", unknowns, Unknowns)):
        if given is not None:
            instance(name, given, kind, give=f"{kind.__name__}, or None")
    if by is not None:
        text("by", by, give="a public column, all, or None")
    # a band of nine in ten needs twenty draws or more
    whole("draws", draws, low=20, high=100_000)
    whole("step_minutes", step_minutes, low=1, high=1440)
    rng = np.random.default_rng(whole("seed", seed, low=0, high=2**63 - 1))
    mixture = (
        publication
        if isinstance(publication, FleetMixture)
        else read_source(publication, by=by, draws=draws, rng=rng)
    )
    mixture = divided(mixture, by)
    grid = power_grid(start, end, step_minutes)
    return power_of(
        mixture, site, grid, weather=weather, rng=rng, chain=chain or PowerChain(),
        unknowns=unknowns or Unknowns(), **options,
    )  # fmt: skip


def _check_source(publication: Any, site: Any, weather: Any) -> None:
    """Refuse what is no publication, no site or no weather."""
    paths: tuple[type[object], ...] = (str, os.PathLike, pd.DataFrame)
    give = "a publication's folder, a table of planes as a file or a frame, or a mixture"
    instance("publication", publication, (*paths, Publication, FleetMixture), give=give)
    places = list(site.values()) if isinstance(site, Mapping) else [site]
    for each in places:
        instance("site", each, Site, give="a Site, or one for each group by its name")
    give = "clearsky, nsrdb, pvgis, a weather file, or Weather"
    instance("weather", weather, (*paths, Weather), give=give)


def divided(mixture: FleetMixture, by: str | None) -> FleetMixture:
    """Return a mixture by the groups that are asked for."""
    if by == WHOLE and (mixture.key is not None or mixture.groups != (WHOLE,)):
        return mixture.together()
    if by not in (None, WHOLE, mixture.key):
        known = "is not divided" if mixture.key is None else f"is divided by {mixture.key}"
        raise ParameterError(
            f"the fleet cannot be divided by {by}: what was published {known}; leave it out or ask"
            " for all"
        )
    return mixture


def power_of(
    mixture: FleetMixture,
    site: Site | Mapping[str, Site],
    grid: TimeGrid,
    *,
    weather: Any,
    rng: np.random.Generator,
    chain: PowerChain,
    unknowns: Unknowns,
    **options: Any,
) -> FleetPower:
    """Return the power of a mixture: what a job of the service calls."""
    skies: dict[Site, GroupSky] = {}
    places = [_site_of(site, name) for name in mixture.groups]
    model = unknowns.model_factors(mixture.draws, mixture.systems, rng)
    found = np.zeros((3, len(places), grid.count), dtype=np.float32)
    for place, where in enumerate(places):
        if where not in skies:
            light = daylight_sky(weather, where, grid, **options)
            skies[where] = GroupSky(
                light,
                plane_profiles(light.sky, mixture.surface_azimuth, mixture.surface_tilt, chain),
                unknowns.weather_factors(light, mixture.draws, rng),
            )
        sky = skies[where]
        found[:, place, sky.light.daylight] = band_of(daylight_draws(mixture, place, sky, model))
    return FleetPower(
        grid=grid,
        power_kw=found[0],
        low_kw=found[1],
        high_kw=found[2],
        mixture=mixture,
        skies=tuple(skies[where] for where in places),
        model=model,
        chain=chain,
    )


def _site_of(site: Site | Mapping[str, Site], group: str) -> Site:
    if isinstance(site, Site):
        return site
    if group not in site:
        raise ParameterError(f"no place is given for the group {group}")
    return site[group]
