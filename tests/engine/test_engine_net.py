from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from engine_makers import flags, row_of
from net_makers import ZONE, cells_of, load_of

from sunveil import infer
from sunveil.engine import SAVINGS, Clock, InferOptions, infer_net_block, make_sky_table
from sunveil.engine.clock_faults import relaid
from sunveil.engine.net_fit import NetFit, fit_net
from sunveil.engine.net_load import load_cells
from sunveil.engine.net_meters import (
    held_at_zero,
    household_of,
    is_net,
    is_strange,
    judge_net,
    likelihood_by_week,
    separate,
    tell_apart,
    whole_days,
)
from sunveil.engine.net_model import CLEARNESS
from sunveil.engine.power_model import CAPACITY, EAST, HAZE, NORTH
from sunveil.errors import SunveilError
from sunveil.estimates import Flag
from sunveil.estimates.flags_and_quality import INFERRED, NO_WEATHER, NOT_NET, POOR_FLAGS, flags_of
from sunveil.estimates.planes_and_intervals import HOURS, ClockHypothesis, DaylightSaving
from sunveil.grids import Places
from sunveil.site import Site, TimeGrid


@pytest.fixture(scope="module")
def nets(rows, prepared):
    """Two systems behind the meters of households, and one meter without any PV."""
    load = load_of(prepared)
    return np.stack([rows[0] - load, rows[2] - 0.7 * load, 0.0 * rows[0] - load]).astype(np.float32)


@pytest.fixture(scope="module")
def found(nets, denver):
    return infer_net_block(nets, denver, timezone=ZONE)


def test_each_system_of_a_block_is_inferred(found):
    assert found.outcome.tolist() == [INFERRED, INFERRED, NOT_NET]
    assert found.surface_azimuth[:2] == pytest.approx([180.0, 262.0], abs=8.0)
    assert found.surface_tilt[:2] == pytest.approx([25.0, 33.0], abs=5.0)
    assert found.dc_capacity_kw[:2] == pytest.approx(6.0, rel=0.12)
    assert (found.dc_capacity_kw_low[:2] < 6.0).all()
    assert (found.dc_capacity_kw_high[:2] > 6.0).all()
    assert all(Flag.NET_METER in flags_of(int(bits)) for bits in found.flags[:2])
    assert found.household[0].exporting > 0.4
    assert found.household[2] is None


def test_no_answer_depends_on_the_others(nets, found, denver):
    alone = infer_net_block(nets[1:2], denver, timezone=ZONE)
    assert alone.surface_azimuth[0] == found.surface_azimuth[1]
    assert alone.dc_capacity_kw[0] == found.dc_capacity_kw[1]


def test_systems_stand_where_their_places_are(nets, found, denver):
    places = Places(np.array([39.7]), np.array([-105.0]), np.array([2600.0]))
    higher = infer_net_block(nets[:1], denver, timezone=ZONE, places=places)
    assert higher.surface_azimuth[0] == pytest.approx(found.surface_azimuth[0], abs=0.01)
    assert higher.dc_capacity_kw[0] < found.dc_capacity_kw[0]


def test_without_light_nothing_is_inferred():
    polar = make_sky_table(Site(80.0, 0.0, 0.0), TimeGrid(1577836800, 3600, 240))
    found = infer_net_block(np.ones((2, 240), np.float32), polar)
    assert found.outcome.tolist() == [NO_WEATHER, NO_WEATHER]


@pytest.fixture(scope="module")
def net(rows, prepared):
    return (rows[0] - load_of(prepared)).astype(np.float32)


def stamped(net, prepared, undone):
    """Return readings on the clock that a hypothesis would undo the opposite of."""
    return relaid(net[None, :], undone, prepared.calendars(ZONE)[1], 3600)


def test_an_hour_is_found_and_repaired(net, denver, prepared):
    late = stamped(net, prepared, ClockHypothesis(-60.0))
    given = infer_net_block(late, denver, options=InferOptions(clock=Clock.GIVEN), timezone=ZONE)
    assert given.surface_azimuth[0] > 200.0
    assert Flag.CLOCK_REPAIRED not in flags_of(int(given.flags[0]))
    found = infer_net_block(late, denver, timezone=ZONE)
    assert found.clock_offset_minutes[0] == 60.0
    assert found.surface_azimuth[0] == pytest.approx(180.0, abs=8.0)
    assert Flag.CLOCK_REPAIRED in flags_of(int(found.flags[0]))
    assert found.clock_gain[0] > 0.0


def test_daylight_saving_left_in_is_found(net, denver, prepared):
    undone = ClockHypothesis(0.0, DaylightSaving.APPLIED_TWICE)
    found = infer_net_block(stamped(net, prepared, undone), denver, timezone=ZONE)
    assert SAVINGS[found.clock_daylight_saving[0]] is DaylightSaving.LEFT_IN
    assert found.clock_offset_minutes[0] == 0.0
    assert found.surface_azimuth[0] == pytest.approx(180.0, abs=8.0)


def test_a_right_clock_stays(net, denver):
    found = infer_net_block(net[None, :], denver, timezone=ZONE)
    assert found.clock_offset_minutes[0] == 0.0
    assert found.clock_daylight_saving[0] == 0
    assert Flag.CLOCK_REPAIRED not in flags_of(int(found.flags[0]))


def test_all_readings_count_day_and_night(net, prepared):
    cells = cells_of(prepared)
    fit = fit_net(net, prepared, cells)
    before = likelihood_by_week(net, fit.readings, fit.state, prepared, cells)
    changed = net.copy()
    # export at midnight, which nothing explains
    night = cells.night[len(cells.night) // 2]
    changed[night] = 3.0
    lost = before - likelihood_by_week(changed, fit.readings, fit.state, prepared, cells)
    assert np.count_nonzero(lost) == 1
    assert lost.max() > 2.0
    # of some days as many are looked at
    assert len(whole_days(prepared, 6).places) < len(net) / 5


AZIMUTH, TILT, CAPACITY_KW = 215.0, 25.0, 6.0


@pytest.fixture(scope="module")
def turned(power_of, prepared):
    return row_of(power_of(AZIMUTH, TILT), prepared.sky.grid)


@pytest.fixture(scope="module")
def turned_net(turned, prepared):
    return (turned - load_of(prepared)).astype(np.float32)


@pytest.fixture(scope="module")
def fit(turned_net, prepared):
    return fit_net(turned_net, prepared, cells_of(prepared))


def is_right(fit):
    point = fit.state.point
    assert np.degrees(np.arctan2(point[EAST], point[NORTH])) % 360.0 == pytest.approx(
        AZIMUTH, abs=8.0
    )
    assert np.hypot(point[EAST], point[NORTH]) == pytest.approx(TILT, abs=4.0)
    assert np.exp(point[CAPACITY]) == pytest.approx(CAPACITY_KW, rel=0.1)


def test_the_plane_is_told_from_the_net(fit):
    is_right(fit)
    assert (np.linalg.eigvalsh(fit.information) > 0.0).all()


def test_exports_alone_tell_it_too(turned_net, prepared):
    is_right(fit_net(np.maximum(turned_net, 0.0), prepared, cells_of(prepared)))


def test_what_is_expected_goes_with_the_generation(turned, turned_net, fit, prepared):
    told, true = fit.found[CLEARNESS] * fit.model, turned[prepared.slot]
    clipped = np.maximum(turned_net[prepared.slot], 0.0)
    assert np.corrcoef(told, true)[0, 1] > 0.9
    assert np.abs(told - true).mean() < 0.7 * np.abs(clipped - true).mean()


def test_days_without_readings_do_not_count(turned_net, prepared):
    gap = turned_net.copy()
    gap[3000:5000] = np.nan
    found = fit_net(gap, prepared, cells_of(prepared))
    is_right(found)
    assert not found.model[(prepared.slot > 3024) & (prepared.slot < 4976)].any()


LOCAL = (np.arange(8760) - 7) % 24


def household(scale=1.0):
    """A household's load at Denver, hour by hour: a base, mornings and evenings. [kW]"""
    rng = np.random.default_rng(20)
    shape = 0.4 + 0.4 * np.exp(-(((LOCAL - 7.0) / 1.5) ** 2))
    shape = shape + 0.9 * np.exp(-(((LOCAL - 19.0) / 2.5) ** 2))
    return (scale * shape * rng.lognormal(0.0, 0.45, len(LOCAL))).astype(np.float32)


def with_battery(net, kwh):
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
            made[key] = fit_net(row, prepared, load_cells(prepared, ZONE))
        return made[key]

    return make


def following_the_sun():
    noon = np.maximum(np.sin(np.pi * (LOCAL - 6.0) / 12.0), 0.0)
    return 0.02 * household() + 2.0 * noon * np.random.default_rng(1).lognormal(0.0, 0.6, 8760)


def unsteady_battery(net):
    return with_battery(net, 8.0) + np.random.default_rng(4).normal(0.0, 0.01, len(net))


@pytest.mark.parametrize(
    ("meter", "among", "exactly"),
    [
        (lambda pv: pv - household(), {Flag.NET_METER}, True),
        (lambda pv: np.maximum(pv - household(), 0.0), {Flag.NET_METER}, True),
        (lambda pv: pv - household(8.0), {Flag.LITTLE_EXPORT, Flag.HEAVY_LOAD}, False),
        (lambda pv: with_battery(pv - household(), 8.0), {Flag.STORAGE}, False),
        (lambda pv: unsteady_battery(pv - household()), {Flag.STORAGE}, False),
        (lambda pv: pv - following_the_sun(), {Flag.LOAD_FOLLOWS_SUN}, False),
    ],
    ids=["plain", "no import", "takes most", "battery", "unsteady battery", "with the sun"],
)
def test_what_a_household_does_is_flagged(rows, prepared, fit_of, meter, among, exactly):
    row = np.asarray(meter(rows[0]), dtype=np.float32)
    judgement = judge_net(fit_of(row), row, prepared)
    assert set(judgement.flags) == among if exactly else among <= set(judgement.flags)
    assert {Flag.LITTLE_EXPORT, Flag.HEAVY_LOAD} <= set(POOR_FLAGS)
    assert repr(judgement) == "NetJudgement(private)"


def test_crossing_zero_is_no_battery_and_neither_are_few_readings():
    slow = np.sin(np.linspace(0.0, 50.0, 2000))
    assert not held_at_zero(slow)
    assert held_at_zero(np.where(np.arange(2000) % 3 == 0, 1e-3 * slow, slow))
    assert not held_at_zero(np.zeros(0))


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


def test_an_unknown_label_of_short_intervals_widens_what_is_across(rows, prepared, fit_of):
    row = rows[0] - household()
    fit = fit_of(row)
    # the convention of long intervals holds
    assert Flag.LABEL_UNKNOWN not in judge_net(fit, row, prepared, label_known=False).flags
    sky = replace(prepared.sky, grid=replace(prepared.sky.grid, step=900))
    short = SimpleNamespace(sky=sky, slot=prepared.slot, numbers=prepared.numbers)
    known, unknown = (judge_net(fit, row, short, label_known=said) for said in (True, False))
    assert Flag.LABEL_UNKNOWN in unknown.flags
    more = unknown.covariance - known.covariance
    assert more[0, 0] == pytest.approx(1.8**2, rel=0.02)
    assert abs(more[1, 1]) < 0.1


@pytest.mark.parametrize(("sign", "hours"), [(-1, 0), (1, 0), (1, 12)])
def test_a_load_alone_is_refused_whatever_its_sign_or_its_clock(denver, prepared, sign, hours):
    row = np.roll(sign * household(), hours)
    assert not is_net(row, prepared)
    found = infer_net_block(row[None], denver, timezone=ZONE)
    assert found.outcome.tolist() == [NOT_NET]
    assert found.household[0] is None


def test_a_net_meter_with_the_other_sign_is_refused_and_flagged_if_forced(denver, rows):
    row = (household() - rows[0])[None]
    assert infer_net_block(row, denver).outcome.tolist() == [NOT_NET]
    forced = infer_net_block(row, denver, options=InferOptions(force=True))
    assert forced.outcome[0] != INFERRED or Flag.NOT_GENERATION in flags(forced, 0)


def test_no_reading_by_day_is_left_to_those_who_count(prepared):
    assert is_net(np.full(8760, np.nan, dtype=np.float32), prepared)


@pytest.fixture(scope="module")
def generation(rows):
    return rows[0].astype(np.float64)


@pytest.fixture(scope="module")
def point(net, prepared):
    return fit_net(net, prepared, cells_of(prepared)).state.point


def told(generation, load, prepared, point):
    net = (generation - load).astype(np.float32)
    return tell_apart(net, prepared, cells_of(prepared), point)


def test_the_household_is_told(generation, prepared, point):
    load = load_of(prepared)
    hours = told(generation, load, prepared, point)
    household = household_of(hours, 0.4)
    assert household.mean_load_kw == pytest.approx(load.mean(), rel=0.1)
    used = np.minimum(generation, load).sum() / generation.sum()
    assert household.self_consumption == pytest.approx(used, abs=0.06)
    assert household.exporting == 0.4
    # evenings are higher than nights
    assert household.load_kw[0][19] > 1.2 * household.load_kw[0][3]
    assert "private" in repr(household)
    assert "private" in repr(hours)


def test_a_load_that_comes_every_day_is_no_cloud(generation, prepared, point):
    load = load_of(prepared)
    quiet = told(generation, load, prepared, point)
    ten = quiet.by_day & (quiet.cell % HOURS == 10)
    extra = 0.4 * generation[ten].max()
    hours = told(generation, load + extra * ten, prepared, point)
    assert np.mean((hours.load - quiet.load)[ten]) > 0.93 * extra
    assert hours.generation[ten].sum() == pytest.approx(generation[ten].sum(), rel=0.05)


def test_a_battery_that_holds_the_meter_hides_no_sun(generation, prepared, point):
    load, noise = load_of(prepared), np.random.default_rng(4).normal(0.0, 0.02, len(generation))
    quiet = told(generation, load, prepared, point)
    morning = quiet.by_day & np.isin(quiet.cell % HOURS, (9, 10)) & (generation > load)
    held = np.where(morning, np.maximum(generation - np.abs(noise), load), load)
    hours = told(generation, held, prepared, point)
    share = hours.generation[morning].sum() / generation[morning].sum()
    assert share == pytest.approx(1.0, abs=0.05)


def test_exports_alone_leave_the_load_to_expectation(generation, prepared, point):
    load, cells = load_of(prepared), cells_of(prepared)
    exports = np.maximum(generation - load, 0.0).astype(np.float32)
    hours = tell_apart(exports, prepared, cells, point)
    hidden = hours.by_day & (exports == 0.0)
    # what was not seen is at least what was generated, by expectation, and more than that
    assert (hours.load[hidden] > hours.generation[hidden]).mean() > 0.95
    assert hours.load[hidden].mean() == pytest.approx(load[hidden].mean(), rel=0.35)
    assert not hours.said[cells.night].any()
    assert (hours.load[cells.night] > 0.0).all()
    # what a household takes at night is not known, and so is not its mean
    assert np.isnan(household_of(hours, 0.4).mean_load_kw)


def test_nothing_is_told_where_nothing_was_read(generation, prepared, point):
    load = load_of(prepared)
    load[3000:5000] = np.nan
    hours = told(generation, load, prepared, point)
    assert np.isnan(hours.load[3000:5000]).all()
    assert not (hours.by_day | hours.said)[3000:5000].any()
    assert np.isfinite(household_of(hours, 0.4).mean_load_kw)


@pytest.fixture(scope="module")
def series(net, denver):
    index = pd.DatetimeIndex(denver.grid.times, tz="UTC")
    return pd.Series(net.astype(float), index=index, name="power_kw")


@pytest.fixture(scope="module")
def parts(net, series, denver):
    estimate = infer(series, latitude=39.7, longitude=-105.0, altitude=1600.0, net=True)
    return separate(net, denver, estimate, timezone=ZONE)


def test_nothing_is_generated_at_night(parts, prepared):
    dark = np.ones(len(parts.generation), dtype=bool)
    dark[prepared.sky.slot] = False
    assert not parts.generation[dark].any()


def test_a_net_meter_whose_fit_has_no_solution_is_refused_with_its_reason(series, monkeypatch):
    def singular(*_: object) -> None:
        raise np.linalg.LinAlgError("Singular matrix")

    monkeypatch.setattr(np.linalg, "solve", singular)
    with pytest.raises(SunveilError, match="no plane explains its readings"):
        infer(series, latitude=39.7, longitude=-105.0, altitude=1600.0, net=True)
