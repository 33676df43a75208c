from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from audit.releases import (
    MANY_VOTES,
    NET,
    PublicInputs,
    ReleaseReplay,
    Setting,
    as_read,
    audit_independence,
    audit_midsummer,
    audit_nights,
    make_replay,
    make_setting,
    neighbour_pairs,
    nights_told_from_midnight,
    public_of,
    run_audit,
    sums_in_16_bits,
)
from sunveil.fleet.blocks import power_on
from sunveil.meters import Record
from sunveil.privacy import Days, PermuteAndFlip, Readings, Score, System
from sunveil.privacy.mechanism_audit import audit_exact
from sunveil.privacy.mechanisms import Exponential
from sunveil.releases.candidate_frame import ReleaseFrame, frame_of
from sunveil.releases.prior_and_votes import PlanePrior
from sunveil.releases.score_kernels import Tolerance
from sunveil.releases.scores import day_score, levels_by_power, places, reading_score, unit_score

SELECTORS = [PermuteAndFlip, Exponential]


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


def scored(
    setting: Setting,
    unit: Readings | Days,
    score: Callable[[ReleaseFrame, Record], Score],
    pairs: int,
) -> list[tuple[Score, Score]]:
    frame = setting.frame.resolved(unit, 1.0)
    return [
        (score(frame, ours), score(frame, theirs))
        for ours, theirs in neighbour_pairs(setting, unit, pairs=pairs)
    ]


def test_releases_hold_over_pairs_of_every_unit_and_come_close_to_what_they_claim():
    found = run_audit(pairs=80, draws=200, seed=2)
    assert found.holds
    for each in found.exact:
        long_day = "a long day" in each.mechanism
        assert (0.3 if long_day else 0.7) * each.epsilon <= each.largest <= each.epsilon
    # nothing is required of the paper's, and its noise is that of chance
    assert 0.0 < found.paper.largest < 0.2
    assert all(each.cells > 1 for each in found.samplers)
    assert {each.unit for each in found.independence} == {
        str(unit) for unit in (Readings(1), Days(1), System())
    }
    for name in ("exact", "samplers", "independence"):
        (first, *rest) = getattr(found, name)
        key = {"exact": "largest", "samplers": "p_value", "independence": "refused"}[name]
        broken = replace(first, **{key: 0.0 if name == "samplers" else 2})
        assert not replace(found, **{name: (broken, *rest)}).holds


def test_sums_of_a_long_day_in_16_bits_are_caught():
    assert audit_midsummer(1.0).holds
    with sums_in_16_bits():
        found = audit_midsummer(1.0)
    assert found.largest > 100.0


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


@pytest.mark.parametrize("fault", [days_without_a_bound, nights_of_all_days])
def test_what_days_of_net_meters_take_from_others_is_caught(fault, net_meters):
    found = audit_exact(PermuteAndFlip(1.0), scored(net_meters, Days(1), fault, 99))
    assert not found.holds
    assert found.share > 1.2


def test_nights_that_civil_days_share_are_caught():
    """As when a base load was told from readings about midnight, too."""
    with nights_told_from_midnight():
        found = audit_nights(1.0)
    assert not found.holds
    assert found.share > 1.1


def test_votes_counted_as_one_are_caught(many_votes):
    pairs = scored(many_votes, Days(1), votes_for_one, 220)
    for mechanism in SELECTORS:
        found = audit_exact(mechanism(1.0), pairs)
        assert not found.holds
        assert found.share > 1.2


@pytest.mark.parametrize(
    ("unit", "fault"),
    [
        (Days(1), votes_by_energy),
        (Readings(1), prior_about_the_best),
        (Readings(1), sides_counted_apart),
        (Readings(1), counted_twice),
        (Readings(1), clearest_days),
        (Readings(1), scaled_to_largest),
        (Readings(1), tolerance_by_spread),
    ],
    ids=lambda value: getattr(value, "__name__", None) or type(value).__name__,
)
def test_a_score_that_moves_more_than_it_says_is_caught(unit, fault, hourly):
    pairs = scored(hourly, unit, fault, 220)
    for mechanism in SELECTORS:
        found = audit_exact(mechanism(1.0), pairs)
        assert not found.holds
        assert found.share > 1.2


@pytest.mark.parametrize("unit", [Readings(1), Readings(3), Days(2)], ids=str)
def test_honest_scores_hold_for_larger_units_too(unit, hourly):
    pairs = scored(hourly, unit, lambda frame, record: unit_score(frame, record, unit), 110)
    for mechanism in SELECTORS:
        found = audit_exact(mechanism(1.0), pairs)
        assert found.holds
        assert found.share > 0.5


# Planted faults in what is chosen before a score: each must be caught by replaying it.


@dataclass(frozen=True, eq=False)
class Pairs:
    """Neighbours, and the honest frames of their records, made once for all planted faults."""

    setting: Setting
    pairs: list[tuple[Record, Record]]
    made: dict[int, tuple[Record, ReleaseFrame]] = field(default_factory=dict)

    def frame(self, record: Record) -> tuple[Record, ReleaseFrame]:
        if id(record) not in self.made:
            read = as_read(self.setting, record)
            bare = frame_of(read, self.setting.frame.weather, self.setting.frame.choices)
            self.made[id(record)] = read, bare.resolved(Days(1), 1.0)
        return self.made[id(record)]

    def replaying(
        self, choose: Callable[[ReleaseFrame, Record], ReleaseFrame], *, tell: bool
    ) -> Callable[[Record], ReleaseReplay[Record]]:
        """Return a replay that changes its frame by the record, and tells it by digests or not."""

        def replay(record: Record) -> ReleaseReplay[Record]:
            read, honest = self.frame(record)
            frame = choose(honest, read)
            public = public_of(frame if tell else honest, read, epsilon=1.0)
            return ReleaseReplay(
                public, lambda other: unit_score(frame, self.frame(other)[0], Days(1))
            )

        return replay


@pytest.fixture(scope="module")
def by_days(hourly) -> Pairs:
    return Pairs(hourly, list(neighbour_pairs(hourly, Days(1), pairs=33)))


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


@pytest.mark.parametrize("tell", [True, False], ids=["told", "hidden"])
@pytest.mark.parametrize(
    "choose", [own_capacities, own_tolerance, own_clear_days, own_votes, own_prior, own_pairs]
)
def test_a_frame_that_is_taken_from_the_data_is_caught(choose, tell, by_days):
    replay = by_days.replaying(choose, tell=tell)
    found = audit_independence(replay, by_days.pairs, unit=Days(1), name="planted")
    assert not found.holds
    assert found.scores_changed > 0
    assert (found.choices_changed + found.frames_changed > 0) is tell


def test_an_honest_frame_is_not_called_one(by_days):
    replay = by_days.replaying(lambda frame, record: frame, tell=True)
    assert audit_independence(replay, by_days.pairs, unit=Days(1), name="honest").holds


def test_a_replay_reads_rows_as_a_curator_has_them(hourly):
    power = hourly.bases[0].copy()
    power[[5, 70]] = np.nan
    record = hourly.record(power)
    read = as_read(hourly, record)
    assert np.array_equal(read.times, record.times)
    assert np.array_equal(read.power_kw, record.power_kw)
    replay = make_replay(hourly, Readings(1), epsilon=1.0)(record)
    assert isinstance(replay.public, PublicInputs)
    settled = hourly.frame.resolved(Readings(1), 1.0)
    honest = unit_score(settled, record, Readings(1))
    assert np.array_equal(replay.score(record).levels, honest.levels)
    assert replay.public.frame == settled.fingerprint() != hourly.frame.fingerprint()


def test_a_replay_makes_the_frame_of_the_record_it_is_given(hourly):
    power = np.where(np.arange(len(hourly.times)) < 48, hourly.bases[0], np.nan)
    public = make_replay(hourly, Days(1), epsilon=1.0)(hourly.record(power)).public
    whole = make_replay(hourly, Days(1), epsilon=1.0)(hourly.record(hourly.bases[0])).public
    assert whole.calendar == repr(hourly.frame.time_grid)
    assert public.choices == whole.choices
    # that all days but two are missing is private: nothing public may tell it
    assert public == whole


def test_the_digest_of_the_choices_changes_with_any_of_them(hourly):
    frame = hourly.frame
    record = hourly.record(hourly.bases[0])
    first = public_of(frame, record, epsilon=1.0)
    assert len(first.choices) == len(hashlib.sha256().hexdigest())
    wider = replace(frame.choices, tolerance=Tolerance(relative=0.2, floor=0.1))
    assert public_of(replace(frame, choices=wider), record, epsilon=1.0).choices != first.choices
    assert public_of(frame, record, epsilon=9.0).choices != first.choices
    other = replace(record, interval_minutes=30.0)
    assert public_of(frame, other, epsilon=1.0).choices != first.choices
    assert public_of(frame, record, epsilon=1.0) == first
