from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from audit.releases import (
    ENORMOUS,
    MANY_VOTES,
    NET,
    SELECTORS,
    PublicInputs,
    ReleaseReplay,
    Setting,
    audit_independence,
    audit_nights,
    make_replay,
    make_setting,
    neighbour_pairs,
    public_of,
    run_audit,
    scored_pairs,
)
from sunveil.errors import MeterError
from sunveil.fleet.blocks import power_on
from sunveil.meters import Record
from sunveil.privacy import Days, Readings, Score, System
from sunveil.privacy.guarantees import Unit
from sunveil.privacy.mechanism_audit import ExactFinding, audit_exact
from sunveil.privacy.mechanisms import Axis, Placement
from sunveil.releases.candidate_frame import ReleaseFrame
from sunveil.releases.prior_and_votes import PlanePrior
from sunveil.releases.score_kernels import Tolerance
from sunveil.releases.scores import day_score, levels_by_power, places, reading_score, unit_score


@pytest.fixture(scope="module")
def hourly() -> Setting:
    return make_setting(epsilon=1.0, seed=2)


@pytest.fixture(scope="module")
def many_votes() -> Setting:
    """A setting whose days have four votes, as those of worthier releases."""
    return make_setting(epsilon=1.0, seed=2, choices=MANY_VOTES)


@pytest.fixture(scope="module")
def net_meters() -> Setting:
    return make_setting(epsilon=1.0, seed=2, choices=NET)


def test_releases_hold_over_pairs_of_every_unit_and_come_close_to_what_they_claim():
    found = run_audit(pairs=80, draws=200, seed=2)
    assert all(each.holds for each in (*found.exact, *found.samplers, *found.independence))
    for each in found.exact:
        long_day = "a long day" in each.mechanism
        assert (0.3 if long_day else 0.7) * each.epsilon <= each.largest <= each.epsilon
    # nothing is required of the paper's, and its noise is that of chance
    assert 0.0 < found.paper.largest < 0.2
    assert all(each.cells > 1 for each in found.samplers)
    units = {str(unit) for unit in (Readings(1), Days(1), System())}
    assert {each.unit for each in found.independence} == units
    assert audit_nights(1.0).holds


def whole(setting: Setting, record: Record) -> np.ndarray:
    """Return a record over its setting's times, with -1 where nothing was read."""
    power = np.full(len(setting.times), -1.0)
    power[np.searchsorted(setting.times, record.times)] = record.power_kw
    return power


@pytest.mark.parametrize("unit", [Readings(1), Days(1), System()], ids=str)
def test_readings_go_missing_to_zero_and_beyond_all_bounds(hourly, unit):
    seen, ends, sizes = set(), set(), set()
    for pair in neighbour_pairs(hourly, unit, pairs=200):
        ours, theirs = (whole(hourly, each) for each in pair)
        seen |= set(theirs[ours != theirs])
        ends.add((pair[1].times[0], pair[1].times[-1]))
        sizes.add(len(pair[1].times))
    assert {-1.0, 0.0, ENORMOUS} <= seen
    assert len(seen) > 30
    # some lose the first or the last day, and some all readings but one
    assert unit != Days(1) or min(map(len, map(set, zip(*ends, strict=True)))) > 1
    assert unit != System() or min(sizes) == 1


def test_only_the_readings_that_are_named_are_replaced(hourly):
    among = np.zeros(len(hourly.times), dtype=bool)
    among[[30, 40]] = True
    places = set()
    for pair in neighbour_pairs(hourly, Readings(1), pairs=100, among=among):
        ours, theirs = (whole(hourly, each) for each in pair)
        places |= set(np.flatnonzero(ours != theirs).tolist())
    assert places == {30, 40}


# Planted faults in scores: each must be caught by the exact audit.


def votes_for_one(frame: ReleaseFrame, record: Record) -> Score:
    """A day's votes as if it had but one."""
    honest = day_score(frame, record)
    return Score(honest.levels, 1, honest.unit, honest.proof)


def counted_twice(frame: ReleaseFrame, record: Record) -> Score:
    honest = reading_score(frame, record)
    return Score(2 * honest.levels, honest.sensitivity, honest.unit, honest.proof)


def clearest_days(frame: ReleaseFrame, record: Record) -> Score:
    """Counts the readings of the three days with most energy only."""
    day = record.times.astype("datetime64[D]").astype(np.int64)
    day -= day.min()
    energy = np.bincount(day, weights=np.minimum(record.power_kw, 1e6))
    kept = np.isin(day, np.argsort(-energy)[:3])
    part = replace(record, times=record.times[kept], power_kw=record.power_kw[kept])
    return reading_score(frame, part)


def scaled_to_largest(frame: ReleaseFrame, record: Record) -> Score:
    """Brings the record's own largest reading to 5 kW first."""
    top = max(float(record.power_kw.max()), 1e-9)
    return reading_score(frame, replace(record, power_kw=5.0 * (record.power_kw / top)))


def tolerance_by_spread(frame: ReleaseFrame, record: Record) -> Score:
    """Widens the tolerance for noisy readings."""
    noisy = float(np.minimum(record.power_kw, 1e6).std()) > 100.0
    tolerance = Tolerance(relative=0.4 if noisy else 0.1, floor=0.1)
    choices = replace(frame.choices, tolerance=tolerance)
    return reading_score(replace(frame, choices=choices), record)


def votes_by_energy(frame: ReleaseFrame, record: Record) -> Score:
    """Chooses how days vote after it has looked at how bright the record is."""
    bright = float(np.minimum(record.power_kw, 1e3).mean()) > 5.0
    choices = replace(frame.choices, thresholds=(0.1,) if bright else (0.9,))
    return unit_score(replace(frame, choices=choices), record, Days(1))


def prior_about_the_best(frame: ReleaseFrame, record: Record) -> Score:
    """Offsets planes by how many readings they have, which is no prior."""
    honest = unit_score(frame, record, Readings(1))
    counts = reading_score(frame, record).levels.reshape(frame.shape)
    offsets = np.broadcast_to(counts.max(axis=(0, 2))[:, np.newaxis], frame.shape)
    return replace(honest, levels=honest.levels + offsets.ravel())


def sides_counted_apart(frame: ReleaseFrame, record: Record) -> Score:
    """Lets a reading count for a pair once for each of its planes: twice the sensitivity."""
    honest = unit_score(frame, record, Readings(1))
    levels = honest.levels.reshape(frame.shape).copy()
    counts = reading_score(frame, record).levels.reshape(frame.shape)
    singles, pairs, _ = frame.mounts.sizes
    levels[:, singles : singles + pairs] += counts[:, singles : singles + pairs]
    return replace(honest, levels=levels.ravel())


# Planted faults in scores of net meters.


def days_without_a_bound(frame: ReleaseFrame, record: Record) -> Score:
    """Adds up the levels of a day's readings however far they are behind the best."""
    honest, chosen = unit_score(frame, record, Days(1)), frame.choices.net
    assert chosen is not None
    table = levels_by_power(frame, power_on(frame.time_grid, record), chosen, by_day=True)
    place = places(frame, chosen)
    columns = np.arange(len(frame.choices.capacities))
    rows = table[np.arange(len(table))[:, None, None], place.T[:, :, None] + columns]
    levels = rows.sum(axis=0, dtype=np.int64).reshape(frame.shape)
    return replace(honest, levels=(levels + frame.offsets()[:, np.newaxis]).ravel())


def nights_of_all_days(frame: ReleaseFrame, record: Record) -> Score:
    """Scales every day by a base load from the nights of all days."""
    power = power_on(frame.time_grid, record)
    dark = np.clip(-power[frame.night & (power < 0.0)], 1e-3, 1e3)
    base = float(dark.mean()) if len(dark) else 0.4
    scaled = np.clip(record.power_kw, -1e6, 1e6) * (0.4 / base)
    return unit_score(frame, replace(record, power_kw=scaled), Days(1))


def audited(
    setting: Setting,
    unit: Unit,
    score: Callable[[ReleaseFrame, Record, Unit], Score],
    pairs: int = 220,
) -> list[ExactFinding]:
    made = list(scored_pairs(setting, unit, score, epsilon=1.0, pairs=pairs))
    return [audit_exact(mechanism(1.0), made) for mechanism in SELECTORS]


@pytest.mark.parametrize(
    ("setting", "unit", "fault"),
    [
        ("net_meters", Days(1), days_without_a_bound),
        ("net_meters", Days(1), nights_of_all_days),
        ("many_votes", Days(1), votes_for_one),
        ("hourly", Days(1), votes_by_energy),
        ("hourly", Readings(1), prior_about_the_best),
        ("hourly", Readings(1), sides_counted_apart),
        ("hourly", Readings(1), counted_twice),
        ("hourly", Readings(1), clearest_days),
        ("hourly", Readings(1), scaled_to_largest),
        ("hourly", Readings(1), tolerance_by_spread),
    ],
    ids=lambda value: getattr(value, "__name__", None) or str(value),
)
def test_a_score_that_moves_more_than_it_says_is_caught(setting, unit, fault, request):
    pairs = 99 if setting == "net_meters" else 220
    made = request.getfixturevalue(setting)
    for found in audited(made, unit, lambda frame, record, _: fault(frame, record), pairs):
        assert not found.holds
        assert found.share > 1.2


@pytest.mark.parametrize("unit", [Readings(1), Readings(3), Days(2)], ids=str)
def test_honest_scores_hold_for_larger_units_too(unit, hourly):
    for found in audited(hourly, unit, unit_score, 110):
        assert found.holds
        assert found.share > 0.5


# Planted faults in what is chosen before a score: each must be caught by replaying it.


def own_capacities(frame: ReleaseFrame, record: Record) -> ReleaseFrame:
    """Takes the grid of capacities from the largest reading."""
    high = float(np.clip(record.power_kw.max(), 2.0, 100.0))
    capacities = replace(frame.choices.capacities, high=high)
    return replace(frame, choices=replace(frame.choices, capacities=capacities))


def own_tolerance(frame: ReleaseFrame, record: Record) -> ReleaseFrame:
    noisy = float(np.clip(record.power_kw, 0.0, 1e3).std()) > 1.0
    tolerance = Tolerance(relative=0.3 if noisy else 0.1, floor=0.1)
    return replace(frame, choices=replace(frame.choices, tolerance=tolerance))


def own_clear_days(frame: ReleaseFrame, record: Record) -> ReleaseFrame:
    """Keeps the half of the days that the record has most energy on."""
    power = np.exp(np.minimum(frame.readings(record), 10.0))
    energy = np.add.reduceat(power, frame.days[:-1])
    lengths = np.diff(frame.days)
    dim = np.repeat(energy < np.median(energy), lengths)
    profiles = tuple(
        tuple(np.where(dim, np.float32(np.inf), each) for each in hazes) for hazes in frame.profiles
    )
    return replace(frame, profiles=profiles)


def own_votes(frame: ReleaseFrame, record: Record) -> ReleaseFrame:
    """Settles how days vote by how many readings there are."""
    few = float(np.minimum(record.power_kw, 1e3).mean()) < 3.0
    choices = replace(frame.choices, thresholds=(0.1,) if few else (0.2,), fewest=1)
    return replace(frame, choices=choices)


def own_prior(frame: ReleaseFrame, record: Record) -> ReleaseFrame:
    """Takes the prior's middle of tilts from the record."""
    steep = float(np.minimum(record.power_kw, 1e3).mean()) < 3.0
    prior = replace(PlanePrior(), tilt=60.0 if steep else 20.0)
    return replace(frame, choices=replace(frame.choices, planes=prior))


def own_pairs(frame: ReleaseFrame, record: Record) -> ReleaseFrame:
    """Says how likely two planes are by how bright the record is."""
    bright = float(np.minimum(record.power_kw, 1e3).mean()) > 3.0
    mounts = replace(frame.choices.mounts, pairs=0.9 if bright else 0.1)
    return replace(frame, choices=replace(frame.choices, mounts=mounts))


@pytest.fixture(scope="module")
def by_days(hourly) -> list[tuple[Record, Record]]:
    return list(neighbour_pairs(hourly, Days(1), pairs=33))


@pytest.mark.parametrize("hidden", [False, True], ids=["told", "hidden"])
@pytest.mark.parametrize(
    "choose", [own_capacities, own_tolerance, own_clear_days, own_votes, own_prior, own_pairs]
)
def test_a_frame_that_is_taken_from_the_data_is_caught(choose, hidden, hourly, by_days):
    replay = make_replay(hourly, Days(1), epsilon=1.0, choose=choose, hidden=hidden)
    found = audit_independence(replay, by_days, unit=Days(1), name="planted")
    assert not found.holds
    assert found.scores_changed > 0
    assert (found.choices_changed + found.frames_changed > 0) is not hidden


NUMBERS = [((1, 2, 3), (1, 2, 4)), ((1, 2, 3), (9, 2, 3))]
PUBLIC = PublicInputs("choices", "calendar", "frame")
AXES = (Axis(5),)


def levels_of(*levels: int, sensitivity: int = 1, k: int = 1) -> Score:
    return Score(np.array(levels, dtype=np.int64), sensitivity, Readings(k), "none")


def refused(*_: object) -> Score:
    raise MeterError("no")


@pytest.mark.parametrize(
    ("public", "score", "changed"),
    [
        (lambda own: PUBLIC, lambda own, data: levels_of(*data), (0, 0, 0, 0)),
        (lambda own: PUBLIC, lambda own, data: Placement((data[0] % 5,), AXES), (0, 0, 0, 0)),
        (lambda own: replace(PUBLIC, choices=own), lambda own, data: levels_of(1), (2, 0, 0, 0)),
        (lambda own: replace(PUBLIC, calendar=own), lambda own, data: levels_of(1), (0, 2, 0, 0)),
        (lambda own: replace(PUBLIC, frame=own), lambda own, data: levels_of(1), (0, 2, 0, 0)),
        *(
            (lambda own: PUBLIC, score, (0, 0, 1, 0))
            for score in (
                lambda own, data: levels_of(*data, sensitivity=own[0]),
                lambda own, data: levels_of(*data, k=own[0]),
                lambda own, data: levels_of(*(each + own[0] for each in data)),
                lambda own, data: Placement((min(own[0], 4),), AXES),
                lambda own, data: Placement((0,), (Axis(own[0] + 1),)),
                lambda own, data: levels_of(*data) if own[0] == 1 else Placement((0,), AXES),
            )
        ),
        (
            lambda own: PUBLIC,
            lambda own, data: refused() if own[0] == 9 else levels_of(*data),
            (0, 0, 0, 1),
        ),
    ],
)
def test_everything_public_and_every_part_of_a_score_is_compared(public, score, changed):
    def replay(own: tuple[int, ...]) -> ReleaseReplay:
        return ReleaseReplay(public(own), lambda data: score(own, data))

    found = audit_independence(replay, NUMBERS, unit=Readings(1), name="numbers")
    counts = (found.choices_changed, found.frames_changed, found.scores_changed, found.refused)
    assert counts == changed
    assert found.holds is (sum(changed) == 0)


def test_a_replay_makes_the_frame_of_the_record_it_is_given(hourly):
    record = hourly.record(hourly.bases[0])
    made = make_replay(hourly, Days(1), epsilon=1.0)
    settled, first = hourly.frame.resolved(Days(1), 1.0), made(record).public
    assert first.calendar == repr(hourly.frame.time_grid)
    assert first.frame == settled.fingerprint() != hourly.frame.fingerprint()
    honest = unit_score(settled, record, Days(1))
    np.testing.assert_array_equal(made(record).score(record).levels, honest.levels)
    # that all days but two are missing is private: nothing public may tell it
    kept = np.where(np.arange(len(hourly.times)) < 48, hourly.bases[0], np.nan)
    assert made(hourly.record(kept)).public == first
    # and the choices tell of every one of them
    wider = replace(settled.choices, tolerance=Tolerance(relative=0.2, floor=0.1))
    others = [
        public_of(replace(settled, choices=wider), record, epsilon=1.0),
        public_of(settled, record, epsilon=9.0),
        public_of(settled, replace(record, interval_minutes=30.0), epsilon=1.0),
    ]
    assert first.choices not in {each.choices for each in others}
