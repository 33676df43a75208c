from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
import pytest

from sunveil import infer_record
from sunveil.estimate import Estimate
from sunveil.fit.daylight import Daylight, daylight
from sunveil.meters import Record, from_pandas
from sunveil.simulate import (
    CITIES,
    SimulatedSky,
    SystemTruth,
    draw_systems,
    simulate_power,
    simulate_sky,
)
from sunveil.site import Plane, Site
from sunveil.weather import Weather, clearsky

GOLDEN = Site(39.742, -105.1727, 1795.0)
FLEET_CITIES = ("Phoenix", "Denver", "Atlanta", "London", "Munich", "Madrid")
FLEET_SIZE = 40


@pytest.fixture(scope="session")
def clear(apart_from_the_user: None) -> Weather:
    """A clear year at Golden."""
    return clearsky(GOLDEN, "2019-01-01", "2020-01-01")


@pytest.fixture(scope="session")
def sky() -> SimulatedSky:
    """A year of real weather at Golden, a little more than half of its days clear."""
    return simulate_sky(GOLDEN, 2019, seed=31, step_minutes=15, clear_days=0.55)


@pytest.fixture(scope="session")
def power_of(sky: SimulatedSky) -> Callable[..., pd.Series]:
    """Return a maker of simulated readings of one system at Golden."""

    def make(
        surface_azimuth: float = 180.0,
        surface_tilt: float = 30.0,
        *,
        capacity: float = 5.0,
        change: Callable[[SystemTruth], SystemTruth] | None = None,
        **settings: object,
    ) -> pd.Series:
        plane = Plane(surface_azimuth, surface_tilt)
        truth = SystemTruth("one", GOLDEN, ((plane, 1.0),), capacity, dc_ac_ratio=1.0)
        truth = truth if change is None else change(truth)
        return simulate_power(truth, sky, **{"seed": 5, "step_minutes": 60, **settings})

    return make


@pytest.fixture(scope="session")
def south(power_of: Callable[..., pd.Series]) -> Record:
    return from_pandas(power_of())


@pytest.fixture(scope="session")
def south_data(south: Record, clear: Weather) -> Daylight:
    return daylight(south, clear, clear)


@dataclass(frozen=True)
class Case:
    """A simulated system, and what was inferred of it under a clear sky alone."""

    truth: SystemTruth
    found: Estimate


@pytest.fixture(scope="session")
def fleet(apart_from_the_user: None) -> list[Case]:
    """Forty systems drawn like a real fleet at six cities, hourly for a year, all inferred."""
    sites = [city.site for city in CITIES if city.name in FLEET_CITIES]
    systems = [truth for truth in draw_systems(400, seed=8) if truth.site in sites][:FLEET_SIZE]
    skies = {
        site: simulate_sky(site, 2019, seed=place, step_minutes=10)
        for place, site in enumerate(sites)
    }
    years = {site: clearsky(site, "2019-01-01", "2020-01-01") for site in sites}
    out = []
    for number, truth in enumerate(systems):
        power = simulate_power(truth, skies[truth.site], seed=number, step_minutes=60)
        record = from_pandas(power, system_id=truth.system_id)
        out.append(Case(truth, infer_record(record, years[truth.site])))
    return out
