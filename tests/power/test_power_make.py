from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pvlib_chain import pvlib_ac_power, pvlib_dc_power, pvlib_irradiance
from sunveil import Site
from sunveil.errors import ParameterError, WeatherError
from sunveil.power.compute_power import fleet_power as power
from sunveil.power.plane_power import PowerChain, Unknowns, held_at_limits
from sunveil.power.posterior import lay_planes
from sunveil.site import Losses, Mount, Plane
from sunveil.weather import clearsky
from sunveil.weather.weather_data import utc_seconds

SITE = Site(39.74, -105.17)
DAY = {"start": "2023-06-20T06:00", "end": "2023-06-21T06:00"}
NOTHING = Unknowns(model=False, weather=False)


def table(many: int, seed: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "surface_azimuth": rng.uniform(0.0, 360.0, many),
            "surface_tilt": rng.uniform(0.0, 60.0, many),
            "dc_capacity_kw": rng.uniform(2.0, 10.0, many),
            "feeder": rng.choice(["F1", "F2"], many),
        }
    )


def seconds(times: pd.DatetimeIndex) -> np.ndarray:
    return utc_seconds(times).astype(np.float64)


def by_pvlib(planes: pd.DataFrame, times: pd.DatetimeIndex) -> np.ndarray:
    """Return the sum of systems, plane by plane through pvlib."""
    weather = clearsky(SITE, times[0] - pd.Timedelta("2h"), times[-1] + pd.Timedelta("2h"))
    frame = pd.DataFrame(
        {name: np.interp(seconds(times), seconds(weather.times), getattr(weather, name)) for name in
         ("ghi", "dni", "dhi", "temp_air", "wind_speed")}, index=times,
    )  # fmt: skip
    sun, total = SITE.sun(times), np.zeros(len(times))
    for row in planes.itertuples():
        plane = Plane(row.surface_azimuth, row.surface_tilt)
        light = pvlib_irradiance(plane, frame, sun)
        air, wind = (frame[name].to_numpy() for name in ("temp_air", "wind_speed"))
        dc = row.dc_capacity_kw * pvlib_dc_power(light, air, wind, Losses())
        total += pvlib_ac_power(dc, row.dc_capacity_kw, Losses())
    total[sun["apparent_zenith"].to_numpy() > 89.0] = 0.0
    return total


def test_power_is_pvlib_s_plane_by_plane():
    planes = table(40)
    chain = PowerChain(mount=Mount.RACK, ratios=None)
    found = power(planes, SITE, **DAY, chain=chain, draws=20, unknowns=NOTHING)
    middles = found.times + pd.Timedelta(seconds=found.grid.step / 2)
    beside = by_pvlib(planes, middles)
    assert np.abs(found.power_kw[0] - beside).max() < 0.005 * planes["dc_capacity_kw"].sum()


def test_groups_add_up_to_the_whole():
    planes = table(50)
    options = {"draws": 20, "unknowns": NOTHING}
    parts = power(planes, SITE, **DAY, by="feeder", **options)
    whole = power(planes, SITE, **DAY, by="all", **options)
    assert parts.groups == ("F1", "F2")
    assert parts.power_kw.sum(axis=0) == pytest.approx(whole.power_kw[0], rel=1e-4, abs=1e-3)
    assert list(parts.frame().columns) == ["time", "group", "power_kw", "low", "high"]


def test_many_planes_on_a_grid_give_what_they_give_one_by_one():
    planes = table(3000)
    columns = [planes[name].to_numpy() for name in planes.columns[:3]]
    _, _, weights = lay_planes(*columns, np.zeros(3000, dtype=np.int64), 1)
    assert weights.shape[1] < 3000
    assert weights.sum() == pytest.approx(columns[2].sum())
    chain = {"chain": PowerChain(ratios=None), "draws": 20, "unknowns": NOTHING}
    laid = power(planes, SITE, **DAY, **chain).power_kw[0]
    exact = sum(
        power(planes[low : low + 1000], SITE, **DAY, **chain).power_kw[0]
        for low in range(0, 3000, 1000)
    )
    assert np.abs(laid - exact).max() < 0.002 * columns[2].sum()


def test_the_band_of_a_plain_table_is_the_model_s_error_alone():
    planes = table(100)
    found = power(planes, SITE, **DAY, draws=400)
    noon = found.power_kw[0].argmax()
    width = (found.high_kw[0, noon] - found.low_kw[0, noon]) / found.power_kw[0, noon]
    # 3.5% for all, and 7% of each of a hundred systems of unequal size
    assert width == pytest.approx(2 * 1.645 * np.hypot(0.035, 0.07 / np.sqrt(100 / 1.25)), rel=0.15)


def test_inverters_hold_power_at_their_limits_on_average():
    ratios = np.linspace(1.0, 1.3, 20_001)
    for value in (0.2, 0.8, 0.95, 1.1):
        mean = np.minimum(value, 1.0 / ratios).mean()
        assert held_at_limits(np.array([value]), (1.0, 1.3))[0] == pytest.approx(mean, abs=1e-4)


def test_what_cannot_be_done_is_refused_in_a_sentence():
    with pytest.raises(ParameterError, match="no column surface_tilt"):
        power(table(3).drop(columns="surface_tilt"), SITE, **DAY)
    with pytest.raises(ParameterError, match="no column 'town'"):
        power(table(3), SITE, **DAY, by="town")
    with pytest.raises(ParameterError, match="draws must be a whole number between 20 and"):
        power(table(3), SITE, **DAY, draws=5)
    with pytest.raises(ParameterError, match="no place is given for the group F2"):
        power(table(9), {"F1": SITE}, **DAY, by="feeder", draws=20)
    part = clearsky(SITE, "2023-06-20", "2023-06-20T20:00")
    with pytest.raises(WeatherError):
        power(table(3), SITE, **DAY, weather=part, draws=20)
