from __future__ import annotations

from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
from quick_makers import as_record, as_row

from sunveil import infer_record
from sunveil.cells import CellSky, cell_of, make_cell_sky
from sunveil.errors import ParameterError
from sunveil.estimate import Estimate, Flag
from sunveil.quick import SAVINGS, BlockFit, QuickOptions, fit_block, reason
from sunveil.quick.constants import constants_of
from sunveil.quick.groups import plane_profiles
from sunveil.quick.model import NO_LIMIT
from sunveil.quick.newton import FREE
from sunveil.quick.prepared import prepare
from sunveil.quick.suspicion import is_suspect, no_suspects, watch_room
from sunveil.simulate import (
    SimulatedSky,
    SystemTruth,
    clipped,
    daylight_saving_stamps,
    east_west,
    fast_clock,
    simulate_power,
    simulate_sky,
)
from sunveil.site import Plane
from sunveil.timegrid import TimeGrid
from sunveil.weather import clearsky

FIRST = int(pd.Timestamp("2019-01-01", tz="UTC").timestamp())
PLANES = ((180.0, 25.0), (105.0, 18.0), (262.0, 33.0), (215.0, 8.0))


def truth_of(sky: CellSky, azimuth: float, tilt: float) -> SystemTruth:
    return SystemTruth("one", sky.site, ((Plane(azimuth, tilt), 1.0),), 6.0, dc_ac_ratio=1.0)


@pytest.fixture(scope="module")
def powers(denver: CellSky, weathered: SimulatedSky) -> list[pd.Series]:
    return [
        simulate_power(truth_of(denver, *plane), weathered, seed=3 + n)
        for n, plane in enumerate(PLANES)
    ]


@pytest.fixture(scope="module")
def rows(denver: CellSky, powers: list[pd.Series]) -> np.ndarray:
    return np.stack([as_row(as_record(power), denver.axis) for power in powers])


def slow(power: pd.Series, sky: CellSky) -> Estimate:
    weather = clearsky(sky.site, "2018-12-28", "2020-01-04")
    return infer_record(as_record(power), weather)


def flags(fit: BlockFit, place: int) -> list[Flag]:
    return [flag for bit, flag in enumerate(Flag) if fit.flags[place] >> bit & 1]


def test_a_block_says_of_each_system_what_the_other_method_says(
    denver: CellSky, powers: list[pd.Series], rows: np.ndarray
) -> None:
    fit = fit_block(rows, denver)
    assert (fit.outcome == 0).all()
    for n, power in enumerate(powers):
        one = slow(power, denver)
        mine = Plane(float(fit.surface_azimuth[n]), float(fit.surface_tilt[n]))
        assert mine.angle_to(one.plane) < 0.4
        assert fit.dc_capacity_kw[n] == pytest.approx(one.dc_capacity_kw, rel=0.01)
        assert fit.agreement[n] == pytest.approx(one.agreement, abs=0.02)
        assert fit.tilt_low[n] == pytest.approx(one.tilt_interval.low, abs=0.6)
        assert fit.tilt_high[n] == pytest.approx(one.tilt_interval.high, abs=0.6)
        assert fit.capacity_high[n] == pytest.approx(one.capacity_interval.high, rel=0.02)
        assert fit.plane_error_degrees[n] == pytest.approx(one.plane_error_degrees, rel=0.25)
        width = (fit.azimuth_high[n] - fit.azimuth_low[n]) % 360.0
        other = (one.azimuth_interval.high - one.azimuth_interval.low) % 360.0
        assert width == pytest.approx(other, rel=0.3)
        assert flags(fit, n) == list(one.flags)
        assert Plane(*PLANES[n]).angle_to(mine) < 2.5


def test_a_system_does_not_depend_on_its_neighbours(denver: CellSky, rows: np.ndarray) -> None:
    together = fit_block(rows, denver)
    for n in range(len(rows)):
        alone = fit_block(rows[n : n + 1], denver)
        for one in fields(BlockFit):
            assert getattr(alone, one.name)[0] == pytest.approx(
                getattr(together, one.name)[n], nan_ok=True, abs=0.0, rel=0.0
            )


def test_clocks_are_repaired_as_the_other_method_repairs_them(
    denver: CellSky, powers: list[pd.Series]
) -> None:
    fast = fast_clock(powers[0], 60)
    saved = daylight_saving_stamps(powers[2], "America/Denver")
    given = [as_record(power) for power in (fast, saved)]
    fit = fit_block(np.stack([as_row(one, denver.axis) for one in given]), denver)
    for n, power in enumerate((fast, saved)):
        one = slow(power, denver)
        assert Flag.CLOCK_REPAIRED in flags(fit, n)
        assert SAVINGS[fit.clock_saving[n]] is one.clock.daylight_saving
        mine = Plane(float(fit.surface_azimuth[n]), float(fit.surface_tilt[n]))
        assert mine.angle_to(one.plane) < 0.5
    assert list(fit.clock_offset_minutes) == [60.0, 0.0]


def test_half_an_interval_of_clock_is_repaired_under_the_sky_between(
    denver: CellSky, powers: list[pd.Series]
) -> None:
    # where the plane can turn to explain as much, half an hour stays hidden
    early = denver.again(denver.axis.moved(-1800))
    given = [as_record(fast_clock(power, -30)) for power in powers]
    fit = fit_block(np.stack([as_row(one, early.axis) for one in given]), early)
    repaired = np.flatnonzero(fit.clock_offset_minutes)
    assert len(repaired) > 0
    for n in repaired:
        assert fit.clock_offset_minutes[n] == -30.0
        mine = Plane(float(fit.surface_azimuth[n]), float(fit.surface_tilt[n]))
        assert mine.angle_to(Plane(*PLANES[n])) < 2.5


def test_a_clock_may_be_taken_as_given(denver: CellSky, powers: list[pd.Series]) -> None:
    row = as_row(as_record(fast_clock(powers[0], 60)), denver.axis)[None]
    fit = fit_block(row, denver, options=QuickOptions(clock="given"))
    assert fit.clock_offset_minutes[0] == 0.0
    assert abs(fit.surface_azimuth[0] - 180.0) > 8.0


def test_only_clocks_that_a_plane_cannot_explain_are_doubted(
    denver: CellSky, powers: list[pd.Series]
) -> None:
    given = [*powers, fast_clock(powers[1], 60), fast_clock(powers[2], -60)]
    rows = np.stack([as_row(as_record(power), denver.axis) for power in given])
    prepared = prepare(denver, QuickOptions())
    watch, suspects = prepared.watch("UTC"), no_suspects(len(rows), prepared.days)
    points = np.zeros((len(rows), FREE))
    for n, (azimuth, tilt) in enumerate([*PLANES, PLANES[1], PLANES[2]]):
        east, north = np.sin(np.radians(azimuth)), np.cos(np.radians(azimuth))
        points[n] = tilt * east, tilt * north, np.log(6.0), 0.0, 1.0, 2.0 * NO_LIMIT
    room, bright = watch_room(prepared.days), np.nanquantile(rows, 0.98, axis=1)
    doubted = [
        is_suspect(rows[n], bright[n], points[n], watch, suspects, n, room)
        for n in range(len(rows))
    ]
    assert doubted == [False] * len(PLANES) + [True, True]
    # the planes that face sunrise and sunset look suspicious until their own light is looked at
    flat = points[1] * [0.0, 0.0, 1.0, 1.0, 1.0, 1.0]
    assert is_suspect(rows[1], bright[1], flat, watch, suspects, 1, room)
    assert (60.0, 0.0) in {tuple(option) for option in suspects.options[4]}
    assert (-60.0, 0.0) in {tuple(option) for option in suspects.options[5]}


def test_clocks_are_left_alone_where_intervals_do_not_divide_a_day() -> None:
    axis = TimeGrid(FIRST, 3000, 365 * 86400 // 3000)
    sky = make_cell_sky(cell_of(39.7, -105.0, 1609.0), axis)
    azimuth = np.radians(200.0)
    point = np.array(
        [30.0 * np.sin(azimuth), 30.0 * np.cos(azimuth), np.log(5.0), -0.2, 1.25, 2.0 * NO_LIMIT]
    )
    truth = (
        5.0 * plane_profiles(sky.sheet, point[None], constants_of(QuickOptions(), clear=True))[0]
    )
    row = np.zeros(axis.count, dtype=np.float32)
    row[sky.slot[: sky.usable]] = truth[: sky.usable]
    fit = fit_block(np.roll(row, 2)[None], sky)
    assert fit.clock_offset_minutes[0] == 0.0
    assert Flag.CLOCK_REPAIRED not in flags(fit, 0)
    assert abs(fit_block(row[None], sky).surface_azimuth[0] - 200.0) < 1.0


def test_clipping_shows_its_limit(denver: CellSky, weathered: SimulatedSky) -> None:
    truth = clipped(truth_of(denver, 180.0, 25.0), 1.6)
    power = simulate_power(truth, weathered, seed=4)
    fit = fit_block(as_row(as_record(power), denver.axis)[None], denver)
    assert Flag.CLIPPING in flags(fit, 0)
    assert fit.ac_limit_kw[0] == pytest.approx(truth.ac_limit_kw, rel=0.03)
    assert np.isnan(fit_block(np.zeros((1, 8760), dtype=np.float32), denver).ac_limit_kw[0])


def test_two_planes_are_told_from_one(denver: CellSky, weathered: SimulatedSky) -> None:
    pair = east_west(truth_of(denver, 92.0, 28.0))
    power = simulate_power(pair, weathered, seed=5)
    fit = fit_block(as_row(as_record(power), denver.axis)[None], denver)
    assert Flag.NOT_ONE_PLANE in flags(fit, 0)


def test_readings_every_quarter_of_an_hour_are_inferred_too(
    denver: CellSky, weathered: SimulatedSky
) -> None:
    power = simulate_power(truth_of(denver, 200.0, 30.0), weathered, seed=6, step_minutes=15)
    axis = TimeGrid(denver.axis.first, 900, 4 * 8760)
    sky = make_cell_sky(denver.cell, axis)
    fit = fit_block(as_row(as_record(power), axis)[None], sky)
    mine = Plane(float(fit.surface_azimuth[0]), float(fit.surface_tilt[0]))
    assert mine.angle_to(Plane(200.0, 30.0)) < 2.0


def test_an_unknown_label_of_short_intervals_widens_the_azimuth(
    denver: CellSky, weathered: SimulatedSky
) -> None:
    power = simulate_power(truth_of(denver, 200.0, 30.0), weathered, seed=6, step_minutes=15)
    axis = TimeGrid(denver.axis.first, 900, 4 * 8760)
    row = as_row(as_record(power), axis)[None]
    sky = make_cell_sky(denver.cell, axis)
    widths = []
    for known in (True, False):
        fit = fit_block(row, sky, label_known=known)
        widths.append((fit.azimuth_high[0] - fit.azimuth_low[0]) % 360.0)
    assert widths[1] > 1.2 * widths[0]


def test_what_cannot_be_inferred_says_why_and_stops_nobody(
    denver: CellSky, rows: np.ndarray
) -> None:
    empty, dark = np.full(8760, np.nan, dtype=np.float32), np.zeros(8760, dtype=np.float32)
    short = np.full(8760, np.nan, dtype=np.float32)
    short[:48] = rows[0, :48]
    fit = fit_block(np.stack([empty, rows[0], dark, short]), denver)
    assert list(fit.outcome) == [1, 0, 1, 1]
    told = reason(int(fit.outcome[3]), int(fit.lit[3]), source=denver.source)
    assert told.startswith(f"there are {fit.lit[3]} daylight readings")
    alone = fit_block(rows[:1], denver)
    assert fit.surface_azimuth[1] == alone.surface_azimuth[0]


def test_few_days_are_flagged(denver: CellSky, rows: np.ndarray) -> None:
    part = rows[:1].copy()
    part[:, 90 * 24 :] = np.nan
    assert Flag.TOO_LITTLE_DATA in flags(fit_block(part, denver), 0)


def test_nothing_private_is_shown(denver: CellSky, rows: np.ndarray) -> None:
    assert repr(fit_block(rows, denver)) == "BlockFit(4 systems, private)"


def test_options_that_cannot_be_are_refused() -> None:
    with pytest.raises(ParameterError, match="albedo"):
        QuickOptions(albedo=2.0)


def test_a_place_that_is_always_cloudy_is_inferred_too(denver: CellSky) -> None:
    weather = simulate_sky(denver.site, 2019, seed=4, step_minutes=15, clear_days=0.05)
    planes = ((180.0, 30.0), (105.0, 40.0), (262.0, 33.0))
    powers = [simulate_power(truth_of(denver, *plane), weather, seed=3) for plane in planes]
    fit = fit_block(np.stack([as_row(as_record(power), denver.axis) for power in powers]), denver)
    for place, (azimuth, tilt) in enumerate(planes):
        assert fit.surface_azimuth[place] == pytest.approx(azimuth, abs=6.0)
        assert fit.surface_tilt[place] == pytest.approx(tilt, abs=5.0)
