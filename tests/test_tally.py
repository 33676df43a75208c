from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sunveil.errors import ParameterError
from sunveil.scores import Tolerance, agreement_counts
from sunveil.tally import (
    Bins,
    Capacities,
    count_days,
    count_readings,
    log_power,
    log_profiles,
)

CAPACITIES = Capacities(0.5, 20.0, 0.05)
TOLERANCE = Tolerance(relative=0.15, floor=0.1)
BINS = Bins.of(CAPACITIES, TOLERANCE)
THRESHOLDS, FEWEST = (0.3, 0.5, 0.7, 0.9), 2
PLANES, DAYS, PER_DAY = 4, 6, 7
READINGS = DAYS * PER_DAY
STARTS = np.arange(0, READINGS + 1, PER_DAY)


def world(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return readings that partly agree with the first plane, and profiles with some darkness."""
    rng = np.random.default_rng(seed)
    profiles = rng.uniform(0.0, 1.0, (PLANES, READINGS))
    power = 4.0 * profiles[0] * rng.choice([1.0, 1.05, 0.9, 0.2], READINGS)
    return power, profiles


def agrees(power: float, profile: float, capacity: int) -> bool:
    """Return whether a reading agrees with a capacity, by the definition of the bins."""
    if not (power > 0.0 and profile >= TOLERANCE.floor):
        return False
    place = float(
        (np.float32(math.log(power)) - np.float32(math.log(profile)) - np.float32(BINS.lowest))
        * np.float32(1.0 / BINS.step)
    )
    return capacity <= math.floor(place) <= capacity + BINS.width - 1


def slow_counts(power: np.ndarray, profiles: np.ndarray) -> np.ndarray:
    return np.array(
        [
            [sum(agrees(p, m, c) for p, m in zip(power, row, strict=True)) for c in capacities()]
            for row in profiles
        ]
    )


def slow_votes(power: np.ndarray, profiles: np.ndarray) -> np.ndarray:
    """Return the votes from their definition: a share of the lit intervals of one day."""
    votes = np.zeros((len(profiles), BINS.capacities), dtype=int)
    for plane, row in enumerate(profiles):
        for start in STARTS[:-1]:
            day = list(zip(power, row, strict=True))[start : start + PER_DAY]
            lit = sum(m >= TOLERANCE.floor for _, m in day)
            for c in capacities():
                agreeing = sum(agrees(p, m, c) for p, m in day)
                votes[plane, c] += sum(
                    agreeing >= max(math.ceil(share * lit), FEWEST) for share in THRESHOLDS
                )
    return votes


def capacities() -> range:
    return range(BINS.capacities)


def counted(power: np.ndarray, profiles: np.ndarray) -> np.ndarray:
    return count_readings(log_power(power), logs_of(profiles), BINS)


def voted(power: np.ndarray, profiles: np.ndarray) -> np.ndarray:
    return count_days(
        log_power(power),
        logs_of(profiles),
        BINS,
        days=STARTS,
        thresholds=THRESHOLDS,
        fewest=FEWEST,
    )


def logs_of(profiles: np.ndarray) -> np.ndarray:
    return log_profiles(profiles.astype(np.float32), TOLERANCE.floor)


# In single precision from the start, so that the slow definitions see the same numbers.
def single(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float32).astype(np.float64)


@pytest.mark.parametrize("seed", range(3))
def test_counts_are_their_definition(seed):
    power, profiles = (single(each) for each in world(seed))
    found = counted(power, profiles)
    slow = slow_counts(power, profiles)
    assert slow.max() > READINGS // 3
    # a logarithm's last bit may move a reading over the edge of a bin
    assert (found != slow).mean() < 0.01
    assert np.abs(found - slow).max() <= 1


@pytest.mark.parametrize("seed", range(3))
def test_votes_are_their_definition(seed):
    power, profiles = (single(each) for each in world(seed))
    found = voted(power, profiles)
    slow = slow_votes(power, profiles)
    assert slow.max() > 2 * DAYS
    assert len(np.unique(slow)) > 5
    assert (found != slow).mean() < 0.01


def test_counts_are_those_of_the_inference_where_both_are_defined():
    power, profiles = world(3)
    found = agreement_counts(
        power, profiles, capacities=CAPACITIES.values, tolerance=TOLERANCE
    ).counts
    assert (counted(power, profiles) != found).mean() < 0.01


@pytest.mark.parametrize("nothing", [0.0, -1.0, -1e300, math.nan, math.inf, -math.inf, 1e300])
def test_what_is_no_power_agrees_with_nothing(nothing):
    _, profiles = world(1)
    power = np.full(READINGS, nothing)
    assert not counted(power, profiles).any()
    assert not voted(power, profiles).any()


def test_no_reading_agrees_below_the_floor_not_even_the_dark():
    profiles = np.full((1, READINGS), 0.0999)
    for power in (np.full(READINGS, 0.4), np.zeros(READINGS), np.full(READINGS, math.inf)):
        assert not counted(power, profiles).any()
        assert not voted(power, profiles).any()


def test_a_perfect_record_agrees_everywhere_and_has_all_votes():
    profiles = np.full((1, READINGS), 0.5)
    capacity = 30
    power = 0.5 * np.full(READINGS, CAPACITIES.values[capacity])
    assert counted(power, profiles)[0, capacity] == READINGS
    assert voted(power, profiles)[0, capacity] == DAYS * len(THRESHOLDS)
    assert counted(power, profiles)[0, capacity + BINS.width] == 0


ANY = st.one_of(
    st.floats(0.01, 30.0),
    st.sampled_from([0.0, -3.0, math.nan, math.inf, -math.inf, 1e300, 5e-324]),
)


@settings(max_examples=80)
@given(
    seed=st.integers(0, 50),
    replaced=st.dictionaries(st.integers(0, READINGS - 1), ANY, min_size=1, max_size=10),
)
def test_replacing_k_readings_moves_no_count_by_more_than_k(seed, replaced):
    power, profiles = world(seed)
    other = power.copy()
    other[list(replaced)] = list(replaced.values())
    moved = np.abs(counted(power, profiles) - counted(other, profiles))
    assert moved.max() <= len(replaced)


@settings(max_examples=80)
@given(
    seed=st.integers(0, 50),
    replaced=st.dictionaries(
        st.integers(0, DAYS - 1),
        st.lists(ANY, min_size=PER_DAY, max_size=PER_DAY),
        min_size=1,
        max_size=DAYS,
    ),
)
def test_replacing_k_days_moves_no_votes_by_more_than_k_times_their_number(seed, replaced):
    power, profiles = world(seed)
    other = power.copy()
    for day, readings in replaced.items():
        other[day * PER_DAY : (day + 1) * PER_DAY] = readings
    moved = np.abs(voted(power, profiles) - voted(other, profiles))
    assert moved.max() <= len(replaced) * len(THRESHOLDS)


def test_the_sensitivities_are_reached_so_they_could_not_be_smaller():
    profiles = np.full((1, READINGS), 0.5)
    power = 0.5 * np.full(READINGS, CAPACITIES.values[30])
    other = power.copy()
    other[0] = math.nan
    assert np.abs(counted(power, profiles) - counted(other, profiles)).max() == 1
    other[:PER_DAY] = 0.0
    assert np.abs(voted(power, profiles) - voted(other, profiles)).max() == len(THRESHOLDS)


def test_the_order_of_readings_within_a_day_makes_no_difference():
    power, profiles = world(7)
    order = np.concatenate(
        [np.random.default_rng(d).permutation(PER_DAY) + d * PER_DAY for d in range(DAYS)]
    )
    np.testing.assert_array_equal(voted(power, profiles), voted(power[order], profiles[:, order]))


def test_days_of_unequal_length_and_empty_ones_are_counted():
    power, profiles = world(2)
    starts = np.array([0, 0, 3, 20, 20, READINGS])
    together = count_days(
        log_power(power), logs_of(profiles), BINS, days=starts, thresholds=THRESHOLDS, fewest=1
    )
    alone = sum(
        count_days(
            log_power(power),
            logs_of(profiles),
            BINS,
            days=starts[i : i + 2],
            thresholds=THRESHOLDS,
            fewest=1,
        )
        for i in range(len(starts) - 1)
    )
    np.testing.assert_array_equal(together, alone)
    assert together.max() > 0


def test_capacities_are_geometric_and_reach_their_end():
    grid = Capacities(0.5, 2000.0, 0.03)
    values = grid.values
    assert len(values) == len(grid) == 278
    assert values[0] == 0.5
    assert values[-2] < 2000.0 <= values[-1]
    np.testing.assert_allclose(np.diff(np.log(values)), 0.03, rtol=1e-9)
    assert len(Capacities(1.0, math.exp(0.3), 0.1)) == 4


@pytest.mark.parametrize(
    ("low", "high", "step"),
    [
        (0.0, 1.0, 0.1),
        (-1.0, 1.0, 0.1),
        (2.0, 1.0, 0.1),
        (1.0, math.inf, 0.1),
        (math.nan, 1.0, 0.1),
        (1.0, 2.0, 0.0),
        (1.0, 2.0, 1.0),
        (1.0, 2.0, math.nan),
    ],
)
def test_capacities_that_are_no_grid_are_refused(low, high, step):
    with pytest.raises(ParameterError, match="capacities"):
        Capacities(low, high, step)
