"""Fleets in memory, system by system, with one sky for each site."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

import numpy as np
import pandas as pd

from sunveil.checked import checked
from sunveil.simulate.power import Horizon, simulate_power
from sunveil.simulate.satellite import SatelliteErrors
from sunveil.simulate.sky import simulate_sky
from sunveil.simulate.systems import SystemTruth, draw_systems
from sunveil.site import Site
from sunveil.weather.base import Weather


@checked
def simulate_fleet(
    n: int,
    *,
    seed: int,
    year: int = 2019,
    step_minutes: int = 60,
    noise: float = 0.02,
    loss_spread: float = 0.0,
    change: Callable[[SystemTruth], SystemTruth] | None = None,
    horizon: Horizon | None = None,
    sky_minutes: int = 5,
    satellite_minutes: int = 30,
    errors: SatelliteErrors | None = None,
) -> Iterator[tuple[SystemTruth, pd.Series, Weather]]:
    """Yield systems drawn like a real fleet, their readings, and a satellite's weather.

    Systems come site by site, so that one sky at a time is kept; systems of a site share it.

    Parameters
    ----------
    n
        How many systems.
    seed
        The same seed gives the same fleet, and a larger fleet holds the smaller one's systems
        under the same skies.
    year
        Calendar year, in UTC.
    step_minutes, noise, horizon
        As for :func:`~sunveil.simulate.power.simulate_power`.
    loss_spread
        As for :func:`~sunveil.simulate.systems.draw_systems`.
    change
        Applied to each system before it makes power: a fault, a second plane, a tracker.
    sky_minutes
        Spacing of the true sky. [minutes]
    satellite_minutes, errors
        As for :func:`~sunveil.simulate.sky.simulate_sky`.

    Yields
    ------
    truth, power, satellite
        The system, its readings in kW labelled at interval start in UTC, and the weather that an
        inference is given. Systems of one site are given the same object.
    """
    systems = draw_systems(n, seed=seed, loss_spread=loss_spread)
    places = _places([truth.site for truth in systems])
    order = sorted(range(n), key=lambda i: places[systems[i].site])
    for site, members in groupby(order, key=lambda i: systems[i].site):
        sky = simulate_sky(
            site,
            year,
            seed=_seed(seed, 1, *_whole(site)),
            step_minutes=sky_minutes,
            satellite_minutes=satellite_minutes,
            errors=errors,
        )
        for i in members:
            truth = systems[i] if change is None else change(systems[i])
            power = simulate_power(
                truth,
                sky,
                seed=_seed(seed, 2, i),
                step_minutes=step_minutes,
                noise=noise,
                horizon=horizon,
            )
            yield truth, power, sky.satellite


def _places(sites: Sequence[Site]) -> dict[Site, int]:
    return {site: place for place, site in enumerate(dict.fromkeys(sites))}


def _whole(site: Site) -> tuple[int, int]:
    # a site's sky depends on where it is, not on when it was drawn
    return round((site.latitude + 90.0) * 1e4), round((site.longitude + 180.0) * 1e4)


def _seed(*numbers: int) -> int:
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])
