from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sunveil.errors import ParameterError
from sunveil.meters import Record, read_meters
from sunveil.meters.record import prepared
from sunveil.privacy import Days, Readings, System
from sunveil.privacy.guarantees import reach
from sunveil.releases import Choices
from sunveil.releases.candidate_frame import ReleaseFrame, frame_of
from sunveil.releases.score_kernels import Capacities, Tolerance
from sunveil.releases.scores import day_score, placement, reading_score, unit_score
from sunveil.site import Site
from sunveil.weather import clearsky

# The frame and the record are made once: no example changes them.
ONCE = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


def test_scores_carry_their_unit_which_chooses_them_and_their_sensitivity(frame, record):
    for k in (1, 3):
        readings, days = reading_score(frame, record, k), day_score(frame, record, k)
        assert (readings.unit, readings.sensitivity) == (Readings(k), k)
        assert (days.unit, days.sensitivity) == (Days(k), 4 * k)
        assert readings.proof == "docs/proofs/agreement.md"
        assert days.proof == "docs/proofs/day-votes.md"
        assert len(readings) == len(days) == len(frame)
        for score in (readings, days):
            chosen = unit_score(frame, record, score.unit)
            assert chosen.unit == score.unit
            np.testing.assert_array_equal(chosen.levels, score.levels)


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
def test_a_number_below_one_is_refused(frame, record, k):
    for score in (reading_score, day_score):
        with pytest.raises(ParameterError, match=r"1 or more|a whole number"):
            score(frame, record, k)


@pytest.mark.parametrize("score", [reading_score, day_score])
def test_a_level_is_the_highest_under_any_haze(frame, record, score):
    alone = [score(replace(frame, profiles=((sky,),)), record).levels for sky in frame.profiles[0]]
    assert len(alone) == 3
    assert all((one != other).any() for one, other in itertools.combinations(alone, 2))
    np.testing.assert_array_equal(score(frame, record).levels, np.max(alone, axis=0))


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


def counts_of(record):
    """Return the counts of a register that measured a record, one more than it has intervals."""
    return np.concatenate([[0.0], np.cumsum(record.power_kw)])


def differenced(record, counts):
    """Return the differences of a register's neighbouring counts, none where a count is missing."""
    power = np.diff(counts)
    kept = np.isfinite(power)
    kept[[0, -1]] = True  # the frame spans rows, whether or not they have readings
    return replace(
        record, times=record.times[kept], power_kw=np.nan_to_num(power)[kept], differenced=True
    )


def test_a_count_of_a_register_is_two_readings_and_a_day_of_counts_three_days(frame, record):
    register = differenced(record, counts_of(record))
    for k in (1, 3):
        readings, days = (
            unit_score(frame, register, Readings(k)),
            unit_score(frame, register, Days(k)),
        )
        assert (readings.unit, readings.sensitivity) == (Readings(k), 2 * k)
        assert (days.unit, days.sensitivity) == (Days(k), 3 * 4 * k)
    assert reach(System(), differenced=True) == reach(Readings(1), differenced=False) == 1
    np.testing.assert_array_equal(placement(frame, register).place, placement(frame, record).place)


@ONCE
@given(
    replaced=st.dictionaries(
        st.integers(0, 1440), st.sampled_from([np.nan, 0.0, 50.0, 1e9]), min_size=1, max_size=5
    )
)
def test_k_replaced_counts_move_a_level_by_at_most_the_sensitivity(frame, record, replaced):
    counts, others = counts_of(record), counts_of(record)
    others[list(replaced)] = list(replaced.values())
    one, other = (
        reading_score(frame, differenced(record, each), len(replaced)) for each in (counts, others)
    )
    assert np.abs(one.levels - other.levels).max() <= one.sensitivity


def test_one_missing_count_moves_a_level_by_two(frame, record):
    counts, others = counts_of(record), counts_of(record)
    others[int(record.power_kw.argmax())] = np.nan
    one, other = (reading_score(frame, differenced(record, each)) for each in (counts, others))
    assert np.abs(one.levels - other.levels).max() == 2 == one.sensitivity


@ONCE
@given(
    days=st.sets(st.integers(1, 58), min_size=1, max_size=3),
    value=st.sampled_from([np.nan, 0.0, 1e9]),
)
def test_k_replaced_days_of_counts_move_a_level_by_at_most_the_sensitivity(
    frame, record, days, value
):
    counts, others = counts_of(record), counts_of(record)
    ends = record.times.astype(np.int64) + round(record.interval_minutes * 60.0)
    solar = (ends + round(frame.weather.site.longitude * 240.0)) // 86400
    others[1:][np.isin(solar - solar[0], list(days))] = value
    one, other = (
        day_score(frame, differenced(record, each), len(days)) for each in (counts, others)
    )
    assert np.abs(one.levels - other.levels).max() <= one.sensitivity


def test_short_intervals_of_a_register_stay_differences(record):
    short = replace(record, interval_minutes=5.0, times=record.times[0] + 300 * np.arange(1440))
    assert prepared(replace(short, differenced=True)).differenced
    assert prepared(replace(short, differenced=True)).interval_minutes == 15.0
    assert not prepared(short).differenced


@pytest.fixture(scope="module")
def bright_night() -> ReleaseFrame:
    """Hours under a sun that never sets, whose civil day begins three hours before midnight."""
    times = np.arange("2019-06-18", "2019-06-25", dtype="datetime64[h]").astype("datetime64[s]")
    choices = Choices(
        step=30.0,
        capacities=Capacities(1.0, 30.0, 0.05),
        tolerance=Tolerance(0.15, 0.01),
        thresholds=(0.3, 0.5, 0.7, 0.9),
        fewest=4,
    )
    weather = clearsky(Site(80.0, 0.0, 0.0), "2019-06-12", "2019-06-30")
    return frame_of(Record("a", times, np.zeros(len(times)), 60.0), weather, choices)


@pytest.mark.parametrize("ahead", [-1, 0, 3])
@pytest.mark.parametrize("hours", [23, 24, 25])
@pytest.mark.parametrize("stamped", [0, 1])
@pytest.mark.parametrize("counts", [False, True])
def test_where_the_sun_shines_at_midnight_a_civil_day_moves_no_votes_but_its_own(
    bright_night, ahead, hours, stamped, counts
):
    """Clocks ahead of the sun and behind it, as they change, and stamps taken for the start."""
    frame = bright_night
    if (ahead == -1 and hours == 25) or (ahead == 3 and hours == 23):
        ahead += 1 if hours == 25 else -1  # no clock is set beyond
    flat = int(np.argmin(frame.grid.surface_tilt))
    full = 5.0 * np.exp(np.where(frame.daylight, 0.0, -np.inf))
    full[frame.daylight] *= np.exp(frame.profiles[0][0][flat].astype(np.float64))
    base = Record("a", frame.time_grid.times, full, 60.0)
    begin = 3 * 24 - ahead + stamped
    moves = []
    for value in (np.nan, 0.0, 1e9):
        # the day before holds as many readings as a threshold asks for
        for kept in range(4, 25, 3):
            ours = counts_of(base) if counts else full.copy()
            ours[2 * 24 + kept : 3 * 24 - 3] = np.nan
            theirs = ours.copy()
            theirs[begin : begin + hours] = value
            one, other = (
                day_score(
                    frame,
                    differenced(base, each)
                    if counts
                    else replace(base, power_kw=np.nan_to_num(each)),
                )
                for each in (ours, theirs)
            )
            moves.append(int(np.abs(one.levels - other.levels).max()))
    assert max(moves) == frame.choices.votes


CELLS = ["", "x", "nan", "-inf", "1e308", "-5", "0", "900", '"', "1,2,3", "00:00"]


@pytest.fixture(scope="module")
def register_frame(record, weather, choices):
    """The frame of counts at the record's stamps, the first of which ends an interval before."""
    hour = np.timedelta64(1, "h")
    early = replace(record, rows_span=(record.times[0] - hour, record.times[-1]))
    return frame_of(early, weather, choices)


@pytest.mark.parametrize("register", ["cumulative", "daily"])
@settings(ONCE, max_examples=10)
@given(replaced=st.dictionaries(st.integers(0, 1439), st.sampled_from(CELLS), max_size=4))
def test_k_cells_of_a_register_s_file_move_a_level_by_at_most_the_sensitivity(
    tmp_path_factory, register_frame, record, register, replaced
):
    # counted anew every day, as a daily register does; another takes that as a fault of the count
    counts = np.cumsum(record.power_kw.reshape(60, 24), axis=1).ravel()
    if register == "cumulative":
        counts = counts_of(record)[1:]
    cells = [f"{count:.3f}" for count in counts]
    others = [replaced.get(place, cell) for place, cell in enumerate(cells)]
    folder = tmp_path_factory.mktemp("register")
    scores = []
    for written in (cells, others):
        lines = [f"{when}Z,{cell}" for when, cell in zip(record.times, written, strict=True)]
        path = folder / "meter.csv"
        path.write_text("\n".join(["time,count_kwh", *lines]))
        (read,) = read_meters(path, register=register, cleaning="each")
        assert read.differenced
        scores.append(reading_score(register_frame, read, max(len(replaced), 1)))
    one, other = scores
    assert np.abs(one.levels - other.levels).max() <= 2 * len(replaced) <= one.sensitivity
    assert one.levels.max() > 300
