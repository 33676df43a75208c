from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pandas as pd
import pytest

from sunveil.meters import Record, from_pandas
from sunveil.releases import Choices
from sunveil.releases.candidate_frame import ReleaseFrame, frame_of
from sunveil.releases.score_kernels import Capacities
from sunveil.site import Site
from sunveil.weather import Weather, clearsky


@pytest.fixture(scope="session")
def choices() -> Choices:
    return Choices(
        step=10.0,
        capacities=Capacities(1.0, 30.0, 0.05),
        thresholds=(0.3, 0.5, 0.7, 0.9),
        fewest=4,
        mounts=None,
    )


@pytest.fixture(scope="session")
def weather(golden_site: Site) -> Weather:
    return clearsky(golden_site, "2019-02-20", "2019-07-15")


@pytest.fixture(scope="session")
def power(clear_power: Callable[..., pd.Series]) -> pd.Series:
    """A cloudless system of 5 kW at (200, 30), whole UTC days."""
    return clear_power(200.0, 30.0, dc_capacity_kw=5.0, start="2019-03-10", days=60)


@pytest.fixture(scope="session")
def record(power: pd.Series) -> Record:
    return from_pandas(power, label="start", cleaning="each", power_unit="kW")


@pytest.fixture(scope="session")
def frame(record: Record, weather: Weather, choices: Choices) -> ReleaseFrame:
    return frame_of(record, weather, choices)


@pytest.fixture
def changed(record: Record) -> Callable[..., Record]:
    """Return a maker of the record with some readings replaced, or left out by a mask."""

    def make(values: dict[int, float] | None = None, keep: object = slice(None)) -> Record:
        power = record.power_kw.copy()
        for place, value in (values or {}).items():
            power[place] = value
        return replace(record, times=record.times[keep], power_kw=power[keep])

    return make
