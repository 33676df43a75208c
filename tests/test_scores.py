from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sunveil.errors import ParameterError
from sunveil.paper.fit import fit_score
from sunveil.releases.score_kernels import (
    LANES,
    Capacities,
    RatioBins,
    Tolerance,
    count_days,
    count_readings,
    log_power,
    log_profiles,
)

CAPACITIES = Capacities(0.5, 20.0, 0.05)
TOLERANCE = Tolerance(relative=0.15, floor=0.1)
BINS = RatioBins.of(CAPACITIES, TOLERANCE)
THRESHOLDS, FEWEST = (0.3, 0.5, 0.7, 0.9), 2
PLANES, DAYS, PER_DAY = 4, 6, 7
READINGS = DAYS * PER_DAY
STARTS = np.arange(0, READINGS + 1, PER_DAY)
LEAST = np.array([0, 2, 6, 7, 6, 0])


def world(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return readings that partly agree with the first plane, and profiles with some darkness."""
    rng = np.random.default_rng(seed)
    profiles = rng.uniform(0.0, 1.0, (PLANES, READINGS))
    power = 4.0 * profiles[0] * rng.choice([1.0, 1.05, 0.9, 0.2], READINGS)
    return power, profiles


def plain_agreement(power, profiles, capacities=CAPACITIES, tolerance=TOLERANCE) -> np.ndarray:
    """Return which readings agree, shape (planes, readings, capacities), by the definition.

    A reading agrees with a capacity when it lies within so many whole steps of the capacities.
    """
    below = round(-math.log(1.0 - tolerance.relative) / capacities.step)
    above = round(math.log(1.0 + tolerance.relative) / capacities.step)
    lit = (profiles >= tolerance.floor) & (power > 0.0) & (power < math.inf)
    with np.errstate(all="ignore"):
        ratio = np.log(power / profiles)[..., None] - np.log(capacities.values)
        steps = ratio / capacities.step
        return lit[..., None] & (-below - 0.5 <= steps) & (steps < above + 0.5)


def plain_votes(power: np.ndarray, profiles: np.ndarray, least=None) -> np.ndarray:
    """Return the votes from their definition: a share of the lit intervals of one day."""
    agreeing = np.add.reduceat(plain_agreement(power, profiles), STARTS[:-1], axis=1, dtype=int)
    lit = np.add.reduceat(profiles >= TOLERANCE.floor, STARTS[:-1], axis=1, dtype=int)[..., None]
    lit = np.maximum(lit, 0 if least is None else least[:, None])
    needed = [np.maximum(np.ceil(share * lit), FEWEST) for share in THRESHOLDS]
    return sum((agreeing >= each).sum(axis=1) for each in needed)


def counted(power, profiles, capacities=CAPACITIES, tolerance=TOLERANCE) -> np.ndarray:
    logs = log_profiles(profiles.astype(np.float32), tolerance.floor)
    return count_readings(log_power(power), logs, RatioBins.of(capacities, tolerance))


def voted(
    power: np.ndarray, profiles: np.ndarray, days=STARTS, fewest=FEWEST, least=None
) -> np.ndarray:
    return count_days(
        log_power(power),
        log_profiles(profiles.astype(np.float32), TOLERANCE.floor),
        BINS,
        days=days,
        least=least,
        thresholds=THRESHOLDS,
        fewest=fewest,
    )


# In single precision from the start, so that the definitions see the same numbers.
def single(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float32).astype(np.float64)


@pytest.mark.parametrize("tolerance", [TOLERANCE, Tolerance(0.3, 0.05), Tolerance(0.05, 0.4)])
@pytest.mark.parametrize("seed", range(3))
def test_counts_are_their_definition(seed, tolerance):
    power, profiles = (single(each) for each in world(seed))
    power[:5] = [0.0, -1.0, 1e-9, 500.0, 0.3]
    found = counted(power, profiles, tolerance=tolerance)
    plain = plain_agreement(power, profiles, tolerance=tolerance).sum(axis=1)
    assert plain.max() > READINGS // 6
    # a logarithm's last bit may move a reading over the edge of a bin
    assert (found != plain).mean() < 0.01
    assert np.abs(found - plain).max() <= 1


@pytest.mark.parametrize("least", [None, LEAST], ids=["own", "least"])
@pytest.mark.parametrize("seed", range(3))
def test_votes_are_their_definition(seed, least):
    power, profiles = (single(each) for each in world(seed))
    found = voted(power, profiles, least=least)
    plain = plain_votes(power, profiles, least)
    assert plain.max() > 2 * DAYS
    assert len(np.unique(plain)) > 5
    assert (found != plain).mean() < 0.01


def test_a_plane_gains_no_votes_by_being_dark():
    profiles = np.full((2, READINGS), 0.5)
    profiles[1].reshape(DAYS, PER_DAY)[:, 3:] = 0.0
    power = 4.0 * profiles[1]
    own = voted(power, profiles, fewest=1).max(axis=1)
    least = voted(power, profiles, fewest=1, least=np.full(DAYS, PER_DAY)).max(axis=1)
    # three readings of seven agree with both: all that the second has light for
    np.testing.assert_array_equal(own, [DAYS, 4 * DAYS])
    np.testing.assert_array_equal(least, [DAYS, DAYS])


def exact_places(power: np.ndarray, profiles: np.ndarray, bins: RatioBins) -> np.ndarray:
    """Return the bin of each reading in single precision, -1 where it has none."""
    lowest, per_step, width, capacities = bins.numbers
    with np.errstate(invalid="ignore"):
        places = (power - profiles - lowest) * per_step
        within = (places >= 0.0) & (places < capacities + width - 1)
    return np.where(within, places, -1.0).astype(np.int64)


def exact_agreement(places: np.ndarray, bins: RatioBins) -> np.ndarray:
    """Return which readings agree, shape (planes, readings, capacities), by their bins."""
    first = np.arange(bins.capacities)
    of_reading = places[..., None]
    return (of_reading >= 0) & (first <= of_reading) & (of_reading < first + bins.width)


def long_world(planes: int, readings: int) -> tuple[np.ndarray, np.ndarray]:
    """Return logarithms of readings and profiles, with the dark and all that is no power."""
    rng = np.random.default_rng(planes + readings)
    profiles = rng.uniform(0.0, 1.0, (planes, readings)).astype(np.float32)
    power = 4.0 * profiles[0] * rng.choice([1.0, 1.05, 0.9, 0.2, 40.0], readings)
    odd = np.array([0.0, -1.0, np.nan, np.inf, -np.inf, 1e30, 1e-30, 1e300, 0.3, 500.0])
    power = np.where(rng.random(readings) < 0.1, rng.choice(odd, readings), power)
    return log_power(power), log_profiles(profiles, TOLERANCE.floor)


# more planes than are taken side by side, and no whole number of turns
@pytest.mark.parametrize(("planes", "readings"), [(LANES + 3, 8 * 70 + 5), (2, 3), (1, 1)])
def test_counts_are_exact(planes, readings):
    power, profiles = long_world(planes, readings)
    plain = exact_agreement(exact_places(power, profiles, BINS), BINS).sum(axis=1)
    np.testing.assert_array_equal(count_readings(power, profiles, BINS), plain)


@pytest.mark.parametrize("thresholds", [(0.3,), THRESHOLDS, (0.1, 0.2, 0.3, 0.5, 0.7, 0.9)])
@pytest.mark.parametrize(
    ("planes", "days", "per_day"),
    # many days, whose votes must not run over; days of more readings than a byte can count
    [(LANES + 3, 70, 6), (2, 300, 4), (2, 2, 254), (2, 2, 255), (2, 3, 700)],
)
def test_votes_are_exact(planes, days, per_day, thresholds):
    power, profiles = long_world(planes, days * per_day)
    starts = np.arange(0, days * per_day + 1, per_day)
    agreeing = exact_agreement(exact_places(power, profiles, BINS), BINS)
    agreeing = np.add.reduceat(agreeing, starts[:-1], axis=1, dtype=int)
    lit = np.add.reduceat(profiles < np.inf, starts[:-1], axis=1, dtype=int)[..., None]
    plain = sum(
        (agreeing >= np.maximum(np.ceil(share * lit), 1)).sum(axis=1) for share in thresholds
    )
    found = count_days(power, profiles, BINS, days=starts, thresholds=thresholds, fewest=1)
    np.testing.assert_array_equal(found, plain)
    assert plain.any()


@pytest.mark.parametrize("thresholds", [(0.3,), THRESHOLDS])
def test_counts_and_votes_made_before_are_raised_where_these_are_higher(thresholds):
    power, hazy = long_world(LANES + 3, 60)
    clear = np.roll(hazy, 1, axis=0)
    ballot = {"days": np.arange(0, 61, 6), "thresholds": thresholds, "fewest": 1}
    for count in (count_readings, functools.partial(count_days, **ballot)):
        one, other = (count(power, profiles, BINS) for profiles in (hazy, clear))
        assert (one > other).any()
        assert (one < other).any()
        found = one.copy()
        assert count(power, clear, BINS, highest=found) is found
        np.testing.assert_array_equal(found, np.maximum(one, other))


def test_more_thresholds_than_can_be_counted_are_refused():
    power, profiles = long_world(1, 9)
    shares = tuple(np.arange(1, 65) / 64.0)
    with pytest.raises(ParameterError, match="thresholds"):
        count_days(power, profiles, BINS, days=np.array([0, 9]), thresholds=shares, fewest=1)


@settings(max_examples=100, deadline=None)
@given(steps=st.integers(1, 20), seed=st.integers(0, 2**32 - 1))
def test_more_power_in_whole_steps_moves_the_counts_along_the_capacities(steps, seed):
    rng = np.random.default_rng(seed)
    # in the middle of bins, so that no last bit moves a reading over an edge
    profiles = np.exp(0.05 * rng.integers(-20, 0, (3, 30)))
    power = np.exp(0.05 * rng.integers(0, 20, 30))
    one = counted(power, profiles)
    scaled = counted(power * math.exp(0.05 * steps), profiles)
    assert one.any()
    np.testing.assert_array_equal(scaled[:, steps:], one[:, :-steps])


@pytest.mark.parametrize("nothing", [0.0, -1.0, -1e300, math.nan, math.inf, -math.inf, 1e300])
def test_what_is_no_power_agrees_with_nothing(nothing):
    power = np.full(READINGS, nothing)
    assert not counted(power, world(1)[1]).any()
    assert not voted(power, world(1)[1]).any()


@pytest.mark.parametrize("value", [0.4, 0.0, math.inf])
def test_no_reading_agrees_below_the_floor_not_even_the_dark(value):
    power, profiles = np.full(READINGS, value), np.full((1, READINGS), 0.0999)
    assert not counted(power, profiles).any()
    assert not voted(power, profiles).any()


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
@given(seed=st.integers(0, 50), where=st.integers(0, READINGS - 1), reading=ANY)
def test_a_reading_more_adds_at_most_one_and_takes_nothing(seed, where, reading):
    power, profiles = world(seed)
    power[where] = reading
    fewer = counted(np.delete(power, where), np.delete(profiles, where, axis=1))
    assert set(np.unique(counted(power, profiles) - fewer)) <= {0, 1}


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


def test_days_of_unequal_length_and_empty_ones_are_counted():
    power, profiles = world(2)
    starts = np.array([0, 0, 3, 20, 20, READINGS])
    whole = voted(power, profiles, starts, 1)
    alone = sum(voted(power, profiles, starts[i : i + 2], 1) for i in range(len(starts) - 1))
    np.testing.assert_array_equal(whole, alone)
    assert whole.max() > 0


def test_capacities_are_geometric_and_reach_their_end():
    grid = Capacities(0.5, 2000.0, 0.03)
    values = grid.values
    assert len(values) == len(grid) == 278
    assert values[0] == 0.5
    assert values[-2] < 2000.0 <= values[-1]
    np.testing.assert_allclose(np.diff(np.log(values)), 0.03, rtol=1e-9)
    assert len(Capacities(1.0, math.exp(0.3), 0.1)) == 4


@pytest.mark.parametrize(
    ("make", "given", "said"),
    [
        *(
            (Capacities, given, "capacities")
            for given in ((0.0, 1.0, 0.1), (-1.0, 1.0, 0.1), (2.0, 1.0, 0.1), (1.0, math.inf, 0.1),
                          (math.nan, 1.0, 0.1), (1.0, 2.0, 0.0), (1.0, 2.0, 1.0),
                          (1.0, 2.0, math.nan))
        ),
        *((Tolerance, (given,), "relative tolerance") for given in (0.0, 1.0, math.nan)),
        *((Tolerance, (0.15, floor), "floor of modelled power") for floor in (0.0, 1.0, -0.1)),
    ],
)  # fmt: skip
def test_capacities_and_tolerances_out_of_range_are_refused(make, given, said):
    with pytest.raises(ParameterError, match=said):
        make(*given)


def test_the_fit_score_is_less_the_mean_square():
    measured = np.array([0.0, 0.5, 1.0, 0.25])
    profiles = np.array([[0.0, 0.5, 1.0, 0.25], [0.0, 0.0, 1.0, 0.25], [1.0, 0.5, 0.0, 0.25]])
    np.testing.assert_allclose(fit_score(measured, profiles), [0.0, -0.0625, -0.5])
