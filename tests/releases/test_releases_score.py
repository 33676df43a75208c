from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sunveil.errors import ParameterError
from sunveil.privacy.units import Days, Readings
from sunveil.releases.score import day_score, placement, reading_score, unit_score

# The frame and the record are made once: no example changes them.
ONCE = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
VALUES = st.sampled_from([0.0, 0.3, 2.0, 4.5, 1e6, 1e300])


def test_scores_carry_their_unit_and_sensitivity(frame, record):
    for k in (1, 3):
        readings, days = reading_score(frame, record, k), day_score(frame, record, k)
        assert (readings.unit, readings.sensitivity) == (Readings(k), k)
        assert (days.unit, days.sensitivity) == (Days(k), 4 * k)
        assert readings.proof == "docs/proofs/agreement.md"
        assert days.proof == "docs/proofs/day-votes.md"
        assert len(readings) == len(days) == len(frame)


def test_the_unit_chooses_the_score(frame, record):
    one, other = unit_score(frame, record, Readings(2)), unit_score(frame, record, Days(5))
    assert one.unit == Readings(2)
    assert other.unit == Days(5)
    np.testing.assert_array_equal(one.levels, reading_score(frame, record).levels)
    np.testing.assert_array_equal(other.levels, day_score(frame, record).levels)


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
def test_a_number_below_one_is_refused(frame, record, k):
    for score in (reading_score, day_score):
        with pytest.raises(ParameterError, match="1 or more"):
            score(frame, record, k)


@ONCE
@given(replaced=st.dictionaries(st.integers(0, 1439), VALUES, min_size=1, max_size=5))
def test_k_replaced_readings_move_a_level_by_at_most_k(frame, changed, record, replaced):
    one, other = (reading_score(frame, each).levels for each in (record, changed(replaced)))
    assert np.abs(one - other).max() <= len(replaced)


@ONCE
@given(missing=st.sets(st.integers(1, 1438), min_size=1, max_size=5))
def test_k_missing_readings_move_a_level_by_at_most_k(frame, changed, record, missing):
    kept = np.ones(1440, dtype=bool)
    kept[list(missing)] = False
    one, other = (reading_score(frame, each).levels for each in (record, changed(keep=kept)))
    assert np.abs(one - other).max() <= len(missing)


@ONCE
@given(
    days=st.sets(st.integers(1, 59), min_size=1, max_size=3),
    factor=st.sampled_from([0.0, 1.07, 3.0, 1e9]),
)
def test_k_replaced_solar_days_move_a_level_by_at_most_k_times_the_votes(
    frame, record, days, factor
):
    turn = round(frame.weather.site.longitude * 240.0)
    solar = (record.times.astype(np.int64) + turn) // 86400
    other = np.isin(solar - solar[0], list(days))
    replaced = replace(record, power_kw=np.where(other, factor * record.power_kw, record.power_kw))
    one, two = (day_score(frame, each).levels for each in (record, replaced))
    assert np.abs(one - two).max() <= 4 * len(days)


def test_the_best_explained_candidate_is_near_the_truth(frame, record):
    for score in (reading_score, day_score):
        best = int(score(frame, record).levels.argmax())
        _, plane, capacity = np.unravel_index(best, frame.shape)
        assert abs(frame.grid.surface_azimuth[plane] - 200.0) <= 10.0
        assert abs(frame.grid.surface_tilt[plane] - 30.0) <= 10.0
        assert frame.choices.capacities.values[capacity] == pytest.approx(5.0, rel=0.1)


def test_a_placement_is_the_best_candidate_rounded_to_the_axes(frame, record):
    placed = placement(frame, record)
    best = int(reading_score(frame, record).levels.argmax())
    _, plane, capacity = np.unravel_index(best, frame.shape)
    azimuth, tilt, log_capacity = placed.axes
    assert placed.axes == frame.choices.axes()
    assert placed.place[0] * azimuth.step == frame.grid.surface_azimuth[plane]
    assert placed.place[1] * tilt.step == frame.grid.surface_tilt[plane]
    low = frame.choices.capacities.low
    found = low * np.exp(placed.place[2] * log_capacity.step)
    assert abs(np.log(found / frame.choices.capacities.values[capacity])) <= 0.05 + 1e-9


def test_a_record_that_agrees_with_nothing_is_placed_all_the_same(frame, changed):
    placed = placement(frame, changed(dict.fromkeys(range(1440), 0.0)))
    assert placed.place == (36, 0, 0)
