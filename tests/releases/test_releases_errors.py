from __future__ import annotations

import itertools
import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from sunveil.privacy import Days, Readings, System
from sunveil.privacy.mechanisms import Axis
from sunveil.releases import Choices
from sunveil.releases.expected_errors import (
    ErrorLaws,
    Law,
    azimuth_errors,
    capacity_errors,
    framed_laws,
    typical_errors,
    typical_table,
    window_laws,
)
from sunveil.releases.score_kernels import Capacities
from sunveil.site import Plane, TimeGrid


def test_the_mean_and_what_nine_in_ten_stay_within():
    law = Law(np.array([5.0, 1.0, 3.0]), np.array([0.1, 0.6, 0.3]))
    assert law.mean == pytest.approx(2.0)
    assert law.spread.mean == pytest.approx(2.0)
    assert law.spread.within == 3.0
    assert Law(law.errors, 7.0 * law.probabilities).spread.mean == pytest.approx(2.0)
    assert Law(np.array([2.0]), np.array([1.0])).spread.within == 2.0


def test_pooled_laws_count_equally_whatever_their_totals_and_hide_what_they_were_made_of():
    one = Law(np.array([123.456]), np.array([10.0]))
    pooled = Law.pooled([one, Law(np.array([3.0, 5.0]), np.array([0.5, 0.5]))])
    assert pooled.mean == pytest.approx((123.456 + 4.0) / 2.0)
    assert "123" not in repr(one)
    assert "123" not in repr(ErrorLaws(one, one, one))


def test_azimuths_are_compared_the_short_way_round_and_capacities_as_shares():
    found = azimuth_errors(np.array([0.0, 350.0, 170.0, 190.0]), Plane(10.0, 20.0))
    assert found.tolist() == [10.0, 20.0, 160.0, 180.0]
    shares = capacity_errors(np.array([4.0, 5.0, 10.0]), 5.0)
    assert shares.tolist() == pytest.approx([20.0, 0.0, 100.0])


def test_the_laws_of_a_frame_are_the_margins_of_its_candidates(frame):
    probabilities = np.zeros(len(frame))
    place = np.ravel_multi_index((0, 40, 7), frame.shape)
    probabilities[place] = 0.75
    probabilities[0] = 0.25
    truth = Plane(frame.grid.surface_azimuth[40], frame.grid.surface_tilt[40])
    capacity = frame.choices.capacities.values
    laws = framed_laws(frame, probabilities, truth, capacity[7])
    azimuth, tilt, share = laws.means
    assert azimuth == pytest.approx(0.25 * azimuth_errors(np.array([180.0]), truth)[0])
    assert tilt == pytest.approx(0.25 * truth.surface_tilt)
    assert share == pytest.approx(25.0 * (1.0 - capacity[0] / capacity[7]))


def test_the_laws_of_a_window_are_the_margins_of_its_axes():
    axes = (Axis(4, 90.0, wraps=True), Axis(3, 45.0), Axis(2, np.log(2.0)))
    probabilities = np.zeros((4, 3, 2))
    probabilities[1, 2, 1] = 0.5
    probabilities[3, 0, 0] = 0.5
    laws = window_laws(axes, probabilities, Plane(90.0, 90.0), 2.0, lowest_kw=1.0)
    assert laws.means == pytest.approx((90.0, 45.0, 25.0))


CHOICES = Choices(step=30.0, capacities=Capacities(1.0, 40.0, 0.1))
YEAR = TimeGrid(1546326000, 3600, 365 * 24)


def errors(time_grid=YEAR, *, unit, epsilon, clear=True, **others):
    return typical_errors(time_grid, CHOICES, clear=clear, protect=unit, epsilon=epsilon, **others)


def test_the_table_is_looked_up_at_its_own_epsilons():
    """From chance at tiny ones to degrees at usual ones, made of real and simulated systems."""
    for kind, rows in ((kind, typical_table()[kind]) for kind in ("clear", "measured")):
        assert "real systems" in rows["basis"]
        assert "simulated by other physics" in rows["basis"]
        for name, unit in (("readings", Readings(1)), ("days", Days(1))):
            means = rows[name]["azimuth"]["mean"]
            assert max(means) > 20.0
            assert means[-1] < 7.0
            assert len(means) == len(rows["worth"])
            for place, epsilon in enumerate(rows["worth"]):
                found = errors(unit=unit, epsilon=epsilon, clear=kind == "clear")
                assert found.azimuth.mean == pytest.approx(means[place])
                assert found.tilt.within == pytest.approx(rows[name]["tilt"]["within"][place])
                assert found.basis == rows["basis"]


def test_stated_errors_never_rise_with_epsilon():
    for unit in (Readings(1), Days(1), System()):
        for clear in (True, False):
            found = [
                errors(unit=unit, epsilon=epsilon, clear=clear)
                for epsilon in np.geomspace(0.001, 20.0, 40)
            ]
            for name in ("azimuth", "tilt", "capacity"):
                for part in ("mean", "within"):
                    values = [getattr(getattr(each, name), part) for each in found]
                    # a window is chosen for all axes at once, and one may give way to another
                    slack = 1.0 if unit != System() else 1.1
                    pairs = pairwise(values)
                    assert all(after <= slack * before + 1e-9 for before, after in pairs)


def test_net_meters_have_errors_of_their_own():
    net = CHOICES.for_meter(net=True)
    for clear, unit in itertools.product((True, False), (Readings(1), Days(1), System())):
        found = typical_errors(YEAR, net, clear=clear, protect=unit, epsilon=1.0)
        gross = errors(unit=unit, epsilon=1.0, clear=clear)
        assert "net meters" in found.basis
        assert "net meters" not in gross.basis
        # the household adds to what the sky and the draw leave open
        assert found.azimuth.within > gross.azimuth.within
        assert found.azimuth.mean < 90.0


def test_another_table_can_be_looked_up():
    table = json.loads(json.dumps(typical_table()))
    table["clear"]["days"]["tilt"]["within"] = [7.0] * len(table["clear"]["worth"])
    assert errors(unit=Days(1), epsilon=1.0, table=table).tilt.within == 7.0
    assert errors(unit=Days(1), epsilon=1.0).tilt.within != 7.0


def test_a_whole_record_errs_by_the_window_and_by_the_model():
    sharp = json.loads(json.dumps(typical_table()))
    sharp["clear"]["model"] = {name: [0.0] for name in ("azimuth", "tilt", "capacity")}
    for epsilon in (2.0, 8.0, 20.0):
        alone = errors(unit=System(), epsilon=epsilon, table=sharp)
        both = errors(unit=System(), epsilon=epsilon)
        assert both.azimuth.mean >= alone.azimuth.mean
        assert both.tilt.mean >= alone.tilt.mean
        # errors of a coarse grid's answers step by 5°, and the model's own move them by a degree
        assert both.tilt.within >= alone.tilt.within - 1.0
    assert both.tilt.mean > 1.0 > alone.tilt.mean


QUARTERS = TimeGrid(0, 900, 365 * 96)
HALF = replace(YEAR, count=365 * 12)


@pytest.mark.parametrize(
    ("grid", "unit", "epsilon", "differenced", "equal"),
    [
        # two readings, as one at half the epsilon
        (YEAR, Readings(2), 0.1, False, (Readings(1), 0.05)),
        # a register, at a part of it
        (YEAR, Readings(1), 0.6, True, (Readings(1), 0.3)),
        (YEAR, Days(1), 0.6, True, (Days(1), 0.6 / 3.0)),
        (YEAR, System(), 0.6, True, (System(), 0.6)),
        # shorter intervals give more readings, but not more days
        (QUARTERS, Readings(1), 0.025, False, (Readings(1), 0.1)),
        (QUARTERS, Days(1), 1.0, False, (Days(1), 1.0)),
    ],
)
def test_releases_that_are_worth_as_much_err_as_much(grid, unit, epsilon, differenced, equal):
    found = errors(grid, unit=unit, epsilon=epsilon, differenced=differenced)
    assert found.to_dict() == errors(unit=equal[0], epsilon=equal[1]).to_dict()


def test_half_a_year_is_worth_half_the_epsilon():
    found, whole = errors(HALF, unit=Days(1), epsilon=1.0), errors(unit=Days(1), epsilon=0.5)
    assert found.tilt.mean == pytest.approx(whole.tilt.mean, rel=0.01)


def test_a_whole_record_is_told_by_the_windows_law():
    poor, good = (errors(unit=System(), epsilon=e) for e in (0.5, 8.0))
    assert poor.azimuth.mean > 80.0
    assert good.azimuth.mean < 25.0
    assert good.capacity.mean < poor.capacity.mean
    assert "window" in good.basis


def test_a_public_prior_narrows_the_window():
    azimuth, tilt, capacity = CHOICES.axes()
    south = tuple(1.0 for _ in range(azimuth.size))
    steep = tuple(1.0 if place < 10 else 0.0 for place in range(tilt.size))
    small = tuple(1.0 if place < 5 else 0.0 for place in range(capacity.size))
    choices = replace(CHOICES, prior=(south, steep, small))
    assert choices.window(2.0).inside != CHOICES.window(2.0).inside
    assert choices.fingerprint() != CHOICES.fingerprint()
