from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from engine_makers import flags

from sunveil.engine import InferOptions, infer_net_block
from sunveil.engine.net_fit import NetFit, fit_net
from sunveil.engine.net_load import load_cells
from sunveil.engine.net_meters import (
    NetErrors,
    held_at_zero,
    is_net,
    is_strange,
    judge_net,
    with_systematic_errors,
)
from sunveil.engine.power_model import CAPACITY, HAZE
from sunveil.estimates import Flag
from sunveil.estimates.flags_and_quality import INFERRED, NOT_NET, POOR_FLAGS

LOCAL = (np.arange(8760) - 7) % 24
DENVER_CLOCK = "America/Denver"


def household(scale: float = 1.0) -> np.ndarray:
    """A household's load at Denver, hour by hour: a base, mornings and evenings. [kW]"""
    rng = np.random.default_rng(20)
    shape = 0.4 + 0.4 * np.exp(-(((LOCAL - 7.0) / 1.5) ** 2))
    shape = shape + 0.9 * np.exp(-(((LOCAL - 19.0) / 2.5) ** 2))
    return (scale * shape * rng.lognormal(0.0, 0.45, len(LOCAL))).astype(np.float32)


def with_battery(net: np.ndarray, kwh: float) -> np.ndarray:
    """What a meter sees of a household with a battery that takes up and gives what it can. [kW]"""
    stored, out = 0.5 * kwh, np.empty_like(net)
    for hour, power in enumerate(net):
        taken = min(power, kwh - stored) if power > 0.0 else -min(-power, stored)
        stored += taken
        out[hour] = power - taken
    return out


@pytest.fixture(scope="module")
def fit_of(prepared):
    """Return a maker of fits, each made once."""
    made: dict[bytes, NetFit] = {}

    def make(row: np.ndarray) -> NetFit:
        key = row.tobytes()
        if key not in made:
            made[key] = fit_net(row, prepared, load_cells(prepared, DENVER_CLOCK))
        return made[key]

    return make


def judged(row: np.ndarray, prepared, fit_of) -> set[Flag]:
    row = np.asarray(row, dtype=np.float32)
    return set(judge_net(fit_of(row), row, prepared).flags)


def test_a_plain_household_is_not_doubted(rows, prepared, fit_of):
    assert judged(rows[0] - household(), prepared, fit_of) == {Flag.NET_METER}


@pytest.mark.parametrize(("scale", "flag"), [(8.0, Flag.LITTLE_EXPORT), (8.0, Flag.HEAVY_LOAD)])
def test_a_household_that_takes_most_is_flagged(rows, prepared, fit_of, scale, flag):
    assert flag in judged(rows[0] - household(scale), prepared, fit_of)
    assert flag in POOR_FLAGS


@pytest.mark.parametrize("unsteady", [0.0, 0.01])
def test_a_battery_is_flagged(rows, prepared, fit_of, unsteady):
    held = with_battery(rows[0] - household(), 8.0)
    held = held + np.random.default_rng(4).normal(0.0, unsteady, len(held))
    assert Flag.STORAGE in judged(held, prepared, fit_of)


def test_the_zeros_of_a_meter_without_import_are_no_battery(rows, prepared, fit_of):
    left_over = np.maximum(rows[0] - household(), 0.0)
    assert judged(left_over, prepared, fit_of) == {Flag.NET_METER}


def test_crossing_zero_is_no_battery_and_neither_are_few_readings():
    slow = np.sin(np.linspace(0.0, 50.0, 2000))
    assert not held_at_zero(slow)
    assert held_at_zero(np.where(np.arange(2000) % 3 == 0, 1e-3 * slow, slow))
    assert not held_at_zero(np.zeros(0))


def test_a_load_that_is_there_with_the_sun_only_is_flagged(rows, prepared, fit_of):
    noon = np.maximum(np.sin(np.pi * (LOCAL - 6.0) / 12.0), 0.0)
    load = 0.02 * household() + 2.0 * noon * np.random.default_rng(1).lognormal(0.0, 0.6, 8760)
    assert Flag.LOAD_FOLLOWS_SUN in judged(rows[0] - load, prepared, fit_of)


def test_a_sky_that_no_place_has_is_strange(rows, prepared, fit_of):
    fit = fit_of(rows[0] - household())
    assert not is_strange(fit, prepared)
    point = fit.state.point.copy()
    point[HAZE] -= 2.0
    assert is_strange(replace(fit, state=replace(fit.state, point=point)), prepared)
    clouds = np.zeros_like(fit.state.clouds)
    clouds[-1] = 1.0
    assert is_strange(replace(fit, state=replace(fit.state, clouds=clouds)), prepared)
    assert is_strange(replace(fit, found=0.1 * fit.found), prepared)


def test_systematic_errors_add_along_the_tilt_across_it_and_to_capacity(rows, fit_of):
    fit = fit_of(rows[0] - household())  # faces south: north is along, east is across
    plain = with_systematic_errors(fit, NetErrors(0.0, 0.0, 0.0, stretch=2.0))
    np.testing.assert_allclose(plain, 4.0 * fit.covariance)
    more = with_systematic_errors(fit, NetErrors(3.0, 2.0, 0.1, stretch=2.0)) - plain
    assert more[1, 1] == pytest.approx(9.0, rel=0.02)
    assert more[0, 0] == pytest.approx(4.0, rel=0.02)
    assert more[CAPACITY, CAPACITY] == pytest.approx(0.01)


def test_an_unknown_label_of_short_intervals_widens_what_is_across(rows, prepared, fit_of):
    row = rows[0] - household()
    hourly = judge_net(fit_of(row), row, prepared, label_known=False)
    assert Flag.LABEL_UNKNOWN not in hourly.flags  # the convention of long intervals holds
    grid = replace(prepared.sky.grid, step=900)
    short = SimpleNamespace(
        sky=replace(prepared.sky, grid=grid), slot=prepared.slot, numbers=prepared.numbers
    )
    known, unknown = (
        judge_net(fit_of(row), row, short, label_known=said) for said in (True, False)
    )
    assert Flag.LABEL_UNKNOWN in unknown.flags
    more = unknown.covariance - known.covariance
    assert more[0, 0] == pytest.approx(1.8**2, rel=0.02)
    assert abs(more[1, 1]) < 0.1


@cache
def loads_alone() -> tuple[np.ndarray, ...]:
    load = household()
    return -load, load, np.roll(load, 12)


@pytest.mark.parametrize("which", range(3))
def test_a_load_alone_is_refused_whatever_its_sign_or_its_clock(denver, prepared, which):
    row = loads_alone()[which]
    assert not is_net(row, prepared)
    found = infer_net_block(row[None], denver, timezone=DENVER_CLOCK)
    assert found.outcome.tolist() == [NOT_NET]
    assert found.household[0] is None


def test_a_net_meter_with_the_other_sign_is_refused_and_flagged_if_forced(denver, rows):
    row = (household() - rows[0])[None]
    assert infer_net_block(row, denver).outcome.tolist() == [NOT_NET]
    forced = infer_net_block(row, denver, options=InferOptions(force=True))
    assert forced.outcome[0] != INFERRED or Flag.NOT_GENERATION in flags(forced, 0)


def test_no_reading_by_day_is_left_to_those_who_count(prepared):
    assert is_net(np.full(8760, np.nan, dtype=np.float32), prepared)


def test_a_judgement_keeps_to_itself(rows, prepared, fit_of):
    row = rows[0] - household()
    assert repr(judge_net(fit_of(row), row, prepared)) == "NetJudgement(private)"
