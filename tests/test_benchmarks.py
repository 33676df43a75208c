"""What the benchmark of real systems says of them, on cases made by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from benchmarks import labelled, real_scores
from benchmarks.coverage import share_held, stated
from benchmarks.expected import WORTHS, make_table, real_share, weights
from benchmarks.independent import independent_fleet
from benchmarks.labelled import EDGES, QUANTITIES, SeriesErrors, measured, simulated_series
from benchmarks.net_answers import NetAnswer
from benchmarks.net_scores import Honesty, net_errors
from benchmarks.net_separation import separate_by_context
from benchmarks.net_systems import KnownNet
from benchmarks.peers_apart import PeerResult
from benchmarks.planes_scores import nearest_order, pair_errors, tracker_errors
from benchmarks.planes_systems import KnownMounts
from benchmarks.real_bars import bar_lines
from benchmarks.real_case import RealCase
from benchmarks.real_clocks import clock_lines
from benchmarks.real_scores import (
    DECLARED,
    PEERS,
    REPAIRED,
    TOOLS,
    RealAnswer,
    answers,
    coverage,
    errors,
)
from benchmarks.real_tables import interval_lines, summary_lines
from plot_makers import CAPACITY, GOLDEN, estimate_of, pair_of, sunny, tracker_of
from sunveil.estimates import Flag, Interval
from sunveil.releases.expected_errors import typical_table
from sunveil.simulate import Tracker
from sunveil.site import Plane, Site

HOUR = pd.Timedelta("1h")


def case_of(**changes) -> RealCase:
    index = pd.date_range("2019-01-01", periods=48, freq=HOUR, tz="UTC")
    made = RealCase(
        name="case", power=pd.Series(1.0, index=index), site=GOLDEN, weather=None, azimuth=2.0,
        tilt=30.0, dc_kw=CAPACITY, note="", declared_timezone="UTC",
    )  # fmt: skip
    return replace(made, **changes)


def test_errors_of_azimuth_wrap_at_north():
    found = estimate_of(Plane(358.0, 33.0))
    peers = {DECLARED: PeerResult(azimuth=10.0, tilt=25.0), TOOLS: PeerResult(reason="none")}
    one = RealAnswer(case_of(), found, peers=peers)
    assert errors(one) == pytest.approx({"azimuth": -4.0, "tilt": 3.0, "capacity": 0.0})
    assert errors(one, DECLARED) == pytest.approx({"azimuth": 8.0, "tilt": -5.0})
    assert errors(one, TOOLS) == {}


def test_coverage_counts_intervals_that_pass_north_and_leaves_refusals_out():
    across = estimate_of(Plane(359.0, 33.0), azimuth_interval=Interval(355.0, 3.0))
    beside = across.replaced(azimuth_interval=Interval(350.0, 1.0))
    found = coverage([across, beside, None], [case_of()] * 3)
    assert (found["azimuth"].held, found["azimuth"].count) == (1, 2)
    assert found["azimuth"].median_width == pytest.approx(9.5)
    assert (found["tilt"].held, found["tilt"].median_width) == (0, 4.0)
    assert found["capacity"].median_width == pytest.approx(100.0 * 0.6 / CAPACITY)


def test_the_second_answer_of_pvanalytics_is_on_the_clock_that_was_found(monkeypatch):
    record, _ = sunny()
    index = pd.DatetimeIndex(record.times, tz="UTC") + HOUR  # an hour fast
    fast = case_of(azimuth=200.0, power=pd.Series(record.power_kw, index=index), label="start")
    asked = []
    for name in ("clear_days", "solar_data_tools"):
        monkeypatch.setattr(
            real_scores, name, lambda power, *_, **__: asked.append(power) or PeerResult()
        )
    (one,) = answers([fast], PEERS)
    assert Flag.CLOCK_REPAIRED in one.estimate.flags
    assert set(one.peers) == set(PEERS)
    declared, moved, tools = asked
    assert moved.index[0] == declared.index[0] - HOUR
    assert tools.index.equals(declared.index)


def test_tables_and_bars_say_what_was_missed():
    found = estimate_of(Plane(2.0, 33.0))
    good = {DECLARED: PeerResult(2.0, 30.0), REPAIRED: PeerResult(2.0, 30.0)}
    one = RealAnswer(case_of(), found, peers=good)
    flagged = RealAnswer(case_of(), found.replaced(flags=(Flag.SEASONAL_HAZE,)))
    assert "| Sunveil | 0.0 / 0.0 | 3.0 / 3.0 | 0.0 / 0.0 |" in "\n".join(
        summary_lines({"all": [one]})
    )
    shipped = coverage([found], [one.case])
    assert "| tilt [°] | 0 of 1 (0%) | 4.0 |" in interval_lines({"shipped": shipped})
    missed = [line for line in bar_lines([one], [flagged]) if "MISSED" in line]
    assert len(missed) == 3  # mean tilt, tilt against the peer, coverage of tilt
    assert all("tilt" in line for line in missed)
    assert "MISSED" in bar_lines([one], [one])[-1]


def test_an_answer_that_a_wrong_clock_turned_needs_a_flag():
    near, far = (estimate_of(Plane(azimuth, 30.0)) for azimuth in (8.0, 30.0))
    flagged = far.replaced(flags=(Flag.CLOCK_DOUBTFUL,))
    for found, mean, silent in (
        (near, "| 6.0 | 6 | met |", "none | none | met"),
        (far, "| 28.0 | 6 | MISSED |", "case | none | MISSED"),
        (flagged, "| 28.0 | 6 | MISSED |", "none | none | met"),
    ):
        page = "\n".join(clock_lines([RealAnswer(case_of(), found)]))
        assert mean in page
        assert f"without a flag on the clock | {silent} |" in page


HERE = Site(40.0, 0.0, 0.0)
HOURS = pd.date_range("2019-01-01", periods=365 * 24, freq="h", tz="Europe/Paris")
GIVEN = NetAnswer(
    azimuth=355.0, tilt=22.0, capacity=4.4, azimuth_interval=(345.0, 5.0),
    tilt_interval=(21.0, 30.0), capacity_interval=(4.2, 4.6), flags=(Flag.NET_METER,),
    quality="good", self_consumption=0.4, mean_load=1.1,
)  # fmt: skip


def known(**changes) -> KnownNet:
    sun = np.maximum(np.cos(2.0 * np.pi * (HOURS.hour - 12) / 24.0), 0.0)
    system = KnownNet(
        name="one",
        generation=pd.Series(4.0 * sun, index=HOURS),
        load=pd.Series(1.0, index=HOURS),
        site=HERE,
        plane=Plane(3.0, 20.0),
        dc_capacity_kw=4.0,
    )
    return replace(system, **changes)


def test_errors_pass_north_and_intervals_hold_or_do_not():
    one = known()
    errors = net_errors(one, GIVEN)
    used = np.minimum(one.generation, one.load).sum() / one.generation.sum()
    assert errors.self_consumption == pytest.approx(abs(0.4 - used), abs=1e-6)
    found = (errors.azimuth, errors.tilt, errors.capacity, errors.load)
    assert found == pytest.approx((8.0, 2.0, 10.0, 10.0))
    assert errors.held == (True, False, False)
    assert not errors.wrong
    for changes in ({"azimuth": 30.0}, {"capacity": 5.1}):
        assert net_errors(one, replace(GIVEN, **changes)).wrong


def test_a_refusal_is_judged_by_what_would_have_been_told():
    wrong, flagged = replace(GIVEN, azimuth=90.0), replace(GIVEN, flags=(Flag.LITTLE_EXPORT,))
    answers = [GIVEN, wrong, NetAnswer(), NetAnswer(), NetAnswer(), flagged]
    forced = [GIVEN, wrong, wrong, GIVEN, NetAnswer(), flagged]
    given = [(known(), answer) for answer in answers]
    assert Honesty.of(given, forced) == Honesty(wrong=3, said=2, right=3, cried=2)


def test_separation_by_context_finds_generation_that_its_features_span():
    rng = np.random.default_rng(1)
    days = np.repeat(rng.uniform(0.2, 1.0, 365), 24)
    up = np.maximum(np.cos(2.0 * np.pi * (HOURS.hour.to_numpy() - 12) / 24.0), 0.0)
    east, west = np.roll(up, -2) * days, np.roll(up, 2) * days
    made = 1.0 * east + 3.0 * west
    load = 0.3 + 0.4 * (HOURS.hour.to_numpy() > 17) + rng.exponential(0.5, len(HOURS))
    dark = HERE.sun((HOURS + pd.Timedelta(minutes=30)).tz_convert("UTC"))["apparent_zenith"] > 90.0
    made[dark.to_numpy()] = 0.0
    net = pd.Series(made - load, index=HOURS)
    found = separate_by_context(net, HERE, np.column_stack([east, west]))
    assert np.abs(found - made).mean() < 0.04 * np.abs(net - net.mean()).mean()
    assert (found >= net.clip(lower=0.0).where(~dark.to_numpy(), 0.0) - 1e-9).all()


def known_mounts(**changes) -> KnownMounts:
    system = KnownMounts(
        name="one",
        power=pd.Series(dtype=float),
        site=HERE,
        planes=((Plane(92.0, 30.0), 0.6), (Plane(270.0, 28.0), 0.4)),
        dc_capacity_kw=10.0,
    )
    return replace(system, **changes)


def test_planes_are_matched_to_the_true_ones_whatever_their_order():
    west, east = Plane(273.0, 30.0), Plane(102.0, 30.0)
    found = pair_of(west, east, share=0.55).replaced(dc_capacity_kw=11.0)
    true = known_mounts()
    assert nearest_order([west, east], [plane for plane, _ in true.planes]) == (1, 0)
    errors = pair_errors(true, found)
    assert errors.azimuth == pytest.approx((10.0, 3.0))
    assert errors.tilt == pytest.approx((0.0, 2.0))
    assert errors.share == pytest.approx(0.15)
    assert errors.capacity == pytest.approx(10.0)
    assert errors.held == pytest.approx((0.5, 1.0, 0.0, 0.0))
    # what is given as one plane has no errors of two
    assert pair_errors(true, estimate_of()) is None
    assert pair_errors(true, None) is None


@pytest.mark.parametrize(("backtrack", "gcr"), [(True, 0.1), (False, math.nan)])
def test_an_axis_has_two_ends_and_coverage_shows_by_backtracking_alone(backtrack, gcr):
    true = Tracker(axis_azimuth=359.0, backtrack=backtrack, gcr=0.48, max_angle=60.0)
    errors = tracker_errors(known_mounts(tracker=true, planes=()), tracker_of())
    assert errors.axis == pytest.approx(1.0)
    assert errors.backtrack is backtrack
    assert errors.gcr == pytest.approx(gcr, nan_ok=True)
    assert errors.held[:3] == (True, False if backtrack else None, True)
    assert errors.capacity == pytest.approx(50.0)


SEED = 3
ASKED = {"readings": (0.1, 1.0), "days": (1.0,), "system": (8.0,)}


@pytest.fixture(scope="module")
def fleet():
    return list(independent_fleet(5, seed=SEED))


@pytest.fixture(scope="module")
def found(fleet):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(labelled, "independent_fleet", lambda count, *, seed: fleet[:count])
        return list(measured(simulated_series(5, seed=SEED), epsilons=ASKED))


def series(system: str, *, real: bool, error: float, name: str = "") -> SeriesErrors:
    """Return a series whose every error is the same."""
    shares, means = {}, {}
    for unit in ("readings", "days"):
        for worth in WORTHS:
            for quantity in QUANTITIES:
                law = np.zeros(len(EDGES[quantity]) - 1)
                law[np.searchsorted(EDGES[quantity], error) - 1] = 1.0
                shares[unit, -worth, quantity] = law
                means[unit, -worth, quantity] = error
    placed = dict.fromkeys(QUANTITIES, error)
    counts = frozenset(QUANTITIES)
    return SeriesErrors(system, name or system, "clear", counts, real, 365, placed, shares, means)


def both_kinds(found):
    """Return series under either weather, since a table has both."""
    return [*found, *(replace(one, kind="measured") for one in found)]


def test_systems_of_other_physics_give_power_like_real_ones(fleet):
    for one in fleet:
        power = one.power / one.dc_capacity_kw
        assert len(power) == 8760
        assert 0.5 < power.max() < 1.1
        assert 500.0 < power.sum() / power.notna().mean() < 2500.0
        # night tare, as inverters have
        assert -0.05 < power.min() <= 0.0


def test_stated_errors_hold_for_systems_that_the_table_does_not_know(found):
    """Few systems, so that the bounds are wide; ``benchmarks.coverage`` has 300."""
    held = [
        share_held(own, {one.system: typical_table() for one in own}, unit, epsilon)
        for own in ([one for one in found if one.kind == kind] for kind in ("clear", "measured"))
        for unit, epsilons in ASKED.items()
        for epsilon in epsilons
    ]
    by_quantity = np.mean(held, axis=0)
    assert (by_quantity > 0.75).all()
    # a quarter of them would not hold
    small = {one.system: _quarter(typical_table()) for one in found}
    clear = [one for one in found if one.kind == "clear"]
    assert np.mean(share_held(clear, small, "days", 1.0)) < 0.8


def _quarter(table):
    rows = table["clear"]
    days = {q: {part: [v / 4.0 for v in c[part]] for part in c} for q, c in rows["days"].items()}
    return table | {"clear": rows | {"days": days}}


def test_real_and_simulated_systems_have_half_of_the_weight_each():
    real = [series(f"r{n}", real=True, error=9.9) for n in range(10)]
    simulated = [series(f"s{n}", real=False, error=0.9) for n in range(90)]
    assert weights([*real, *simulated])[:10].sum() == pytest.approx(0.5)
    table = make_table(both_kinds([*real, *simulated]))
    assert table["clear"]["days"]["tilt"]["mean"][0] == pytest.approx(5.4)
    assert table["clear"]["days"]["tilt"]["within"][0] == pytest.approx(10.0)
    assert "10 labelled real systems and 90 simulated" in table["clear"]["basis"]
    assert real_share(2) == pytest.approx(0.1)


def test_a_system_can_be_left_out_of_the_table_that_judges_it():
    real = [series(f"r{n}", real=True, error=2.0) for n in range(8)]
    real.append(series("odd", real=True, error=80.0))
    whole = make_table(both_kinds(real))
    without = make_table(both_kinds(real), without="odd")
    assert stated(whole, "clear", "days", 1.0)[1] > stated(without, "clear", "days", 1.0)[1]
