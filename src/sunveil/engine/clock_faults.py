"""Clock hypotheses: trial, weighing, repair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.coarse_search import Searched, search
from sunveil.engine.first_and_last_light import (
    MOST_STEPS,
    PRICE,
    ClockCalendar,
    Daylight,
    Season,
    light_against,
    may_have_steps,
    measured_daylight,
    modelled_daylight,
    moved_together,
    offsets_by_day,
    typical_leads,
    with_offsets,
)
from sunveil.engine.intervals import ANY_AZIMUTH
from sunveil.engine.one_or_two_planes import tracker_likeness
from sunveil.engine.power_model import EAST
from sunveil.engine.shading import PreparedSky
from sunveil.estimates.estimates_table import Estimate
from sunveil.estimates.flags_and_quality import INFERRED
from sunveil.estimates.planes_and_intervals import DECLARED, ClockHypothesis, DaylightSaving
from sunveil.meters.record import SHORT_INTERVAL, Record
from sunveil.site import Array, Site, normals

if TYPE_CHECKING:
    from sunveil.estimates.estimates_table import Estimates


def relaid(rows: Matrix, hypothesis: ClockHypothesis, calendar: ClockCalendar, step: int) -> Matrix:
    """Return readings moved to where a clock puts them; what leaves the grid is lost."""
    place = np.arange(rows.shape[1]) - hypothesis.ahead_seconds(calendar) // step
    inside = (place >= 0) & (place < rows.shape[1])
    out = np.full_like(rows, np.nan)
    out[:, place[inside]] = rows[:, inside]
    return out


# What steps must explain of the light beyond their price, over all days. [minutes]
LEAST_GAIN = 200.0

# Rounds of finding the days of steps: the first plane is one of days that do not fit together.
ROUNDS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Laid:
    """The readings of one system where a clock puts them, and what a search found: private."""

    hypothesis: ClockHypothesis  # the clock
    rows: Matrix  # [kW] the readings on the long grid, shape (1, intervals)
    prepared: PreparedSky  # the sky that they were laid onto
    searched: Searched  # what was found there
    half: bool  # whether that is the sky half an interval earlier than the declared one

    def leads(self) -> Array:
        """Return how far first and last light run ahead of the plane's, shape (2, days)."""
        # In minutes, NaN on days that do not show it.
        sky, bright = self.prepared, self.searched.readings.bright
        measured = measured_daylight(self.rows, bright, sky.days)
        own = modelled_daylight(self.searched.points, bright, sky.sky, sky.numbers, sky.days)
        return np.asarray((measured.bounds - own.bounds)[:, 0] * sky.minutes)

    def cost(self) -> float:
        """Return what of the light its clock leaves unexplained, with the price of its steps."""
        against = light_against(self.leads(), np.zeros(1)).sum()
        return float(against) + PRICE * len(self.hypothesis.steps)


def find_steps(declared: Laid, repaired: Laid | None, *, timezone: str) -> Laid | None:
    """Return a system with its clock's steps repaired, None where it shows none."""
    plain = repaired or declared
    cost = plain.cost()
    if cost < PRICE + LEAST_GAIN:
        return None
    # half of a record an hour off may look like all of it half an hour off, or like daylight saving
    bases = [declared] if repaired is None else [repaired, declared]
    found = [each for base in bases for each in _with_steps(base, declared, timezone)]
    if not found:
        return None
    best = min(found, key=Laid.cost)
    # days that fit together let a plane explain more of them: 2 to 25% on real systems
    explained = best.searched.explained[0] >= plain.searched.explained[0]
    return best if explained and best.cost() + LEAST_GAIN <= cost else None


def _with_steps(base: Laid, declared: Laid, timezone: str) -> list[Laid]:
    """Return clocks with steps that explain more than the one before, the last one the most."""
    step, clock = declared.prepared.sky.grid.long.step, base.hypothesis
    best, found = base, []
    for _ in range(ROUNDS):
        days = best.prepared.calendars(timezone)[0]
        ahead = best.hypothesis.ahead_seconds(days) - clock.ahead_seconds(days)
        clocks = set()
        for offsets in offsets_by_day(best.leads() + ahead / 60.0, step=step):
            # either end of the record, or neither, may be where the clock is right
            for shift in (0.0, offsets[0], offsets[-1]):
                clocks.add(with_offsets(clock, offsets - shift, days))
        tried = [
            _lay(each, declared, timezone) for each in clocks if 0 < len(each.steps) <= MOST_STEPS
        ]
        last, best = best, min([*tried, best], key=Laid.cost)
        if best is last:
            break
        found.append(best)
    return found


def _lay(clock: ClockHypothesis, declared: Laid, timezone: str) -> Laid:
    """Lay readings where a clock puts them, and search for their plane."""
    prepared = declared.prepared
    step = prepared.sky.grid.long.step
    half = clock.needs_half_grid(step)
    sky = prepared.half if half else prepared
    moved = relaid(declared.rows, clock, prepared.calendars(timezone)[1], step)
    return Laid(clock, moved, sky, search(moved, sky), half=half)


# Clocks that explain less of the energy than this share of the best are out.
AS_GOOD = 0.85

# A clock that leaves less than this unexplained is right without looking further. [minutes]
EXPLAINED_MINUTES = 6.0

# A repair leaves so much less of first and last light unexplained, and at most this share of it:
# a clock that is a quarter of an hour off is not made one off to the other side. [minutes]
LEAST_MINUTES, MOST_LEFT = 4.0, 0.6

# Whole hours are common faults. Half an hour is half a long interval, a label's, but hardly ever a
# fault of short intervals: a start taken for an end is a quarter.
MOST_LEFT_SHORT = 0.25

# What half an hour may leave at most of what a whole one does.
MOST_LEFT_BESIDE = 0.5

# A repair leaves no more than this: of real systems with planted faults, what parts right clocks
# from wrong ones best came to 8 to 10 in leave-one-out over the systems. [minutes]
MOST_MINUTES = 10.0

# What the middle of a day's light counts beside what moves both its ends.
MIDDLE_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class ClockTrial:
    """A system with a questionable clock."""

    system: int  # which system of the block
    hypotheses: list[ClockHypothesis]  # its plausible clocks, the declared one first
    left: float  # minutes of first and last light that the declared one leaves unexplained
    share: float  # share of the energy that a plane explains under it


def leads_by_season(
    light: Daylight, modelled: Daylight, saving: NDArray[np.bool_], minutes: float
) -> Array:
    """Return how far light runs ahead in each season, shape (3, 2, systems). [minutes]"""
    return np.array(
        [typical_leads(light, modelled, saving, season, minutes=minutes) for season in Season]
    )


def planes_light(searched: Searched, prepared: PreparedSky) -> Daylight:
    """Return the light of the planes that a search found."""
    return modelled_daylight(
        searched.points, searched.readings.bright, prepared.sky, prepared.numbers, prepared.days
    )


def unexplained(leads: Array) -> Array:
    """Return how much of first and last light is unexplained, in the worst season. [minutes]"""
    each = [np.abs(moved_together(one)) + MIDDLE_SHARE * np.abs(one.mean(axis=0)) for one in leads]
    worst = np.max(np.nan_to_num(each, nan=0.0), axis=0)
    return np.where(np.isnan(leads[Season.ALL, 0]), np.inf, worst)


def decide(
    hypotheses: Sequence[ClockHypothesis], shares: Array, left: Array, *, short: bool
) -> int:
    """Return the place of the clock that the evidence is for."""
    good = np.flatnonzero((shares >= AS_GOOD * shares.max()) & (left <= MOST_MINUTES))
    half = np.array([each.offset_minutes % 60.0 != 0.0 for each in hypotheses])[good]
    chosen = 0
    most_half = MOST_LEFT_SHORT if short else MOST_LEFT
    for places, share in ((good[~half], MOST_LEFT), (good[half], most_half)):
        if len(places):
            best = int(places[left[places].argmin()])
            most = min(share * left[0], (MOST_LEFT_BESIDE if chosen else 1.0) * left[chosen])
            if left[best] <= min(left[chosen] - LEAST_MINUTES, most):
                chosen = best
    return chosen


def try_clocks(
    trials: Sequence[ClockTrial], rows: Matrix, prepared: PreparedSky, timezone: str
) -> tuple[dict[int, Laid], dict[int, Laid]]:
    """Search for a plane under each plausible clock, and weigh them."""
    step = prepared.sky.grid.long.step
    pairs = [(t, h) for t in trials for h in t.hypotheses[1:]]
    halves = np.array([h.needs_half_grid(step) for _, h in pairs], dtype=bool)
    systems = np.array([t.system for t, _ in pairs], dtype=np.intp)
    shares, left = np.full(len(pairs), -1.0), np.full(len(pairs), np.inf)
    laid: dict[int, Laid] = {}
    explained = np.zeros(len(pairs), dtype=bool)
    for half in (False, True):
        # the sky half an interval earlier is made only for whom no whole one explains the light
        chosen = np.flatnonzero((halves == half) & ~explained)
        if not len(chosen):
            continue
        sky = prepared.half if half else prepared
        days, stamps = sky.calendars(timezone)
        moved = np.concatenate(
            [relaid(rows[systems[i], None], pairs[i][1], stamps, step) for i in chosen]
        )
        found = search(moved, sky)
        # light again, now that each clock has its plane: the right one explains the day's bounds
        light = measured_daylight(moved, found.readings.bright, sky.days)
        left[chosen] = unexplained(
            leads_by_season(light, planes_light(found, sky), days.saving, sky.minutes)
        )
        shares[chosen] = found.explained
        for place, i in enumerate(chosen.tolist()):
            own = found.take(np.array([place]))
            laid[i] = Laid(pairs[i][1], moved[place : place + 1], sky, own, half=half)
        explained = np.isin(systems, systems[left < EXPLAINED_MINUTES])
    short = prepared.sky.grid.step < SHORT_INTERVAL
    return _winners(trials, shares, left, laid, short=short)


def _winners(
    trials: Sequence[ClockTrial], shares: Array, left: Array, laid: dict[int, Laid], *, short: bool
) -> tuple[dict[int, Laid], dict[int, Laid]]:
    """Return the clocks that the evidence is for, and those of systems it is for none of."""
    winners, doubtful, first = {}, {}, 0
    for trial in trials:
        last = first + len(trial.hypotheses) - 1
        best = decide(
            trial.hypotheses,
            np.r_[trial.share, shares[first:last]],
            np.r_[trial.left, left[first:last]],
            short=short,
        )
        if best:
            winners[trial.system] = laid[first + best - 1]
        elif trial.left > MOST_MINUTES:
            doubtful[trial.system] = laid[first + int(left[first:last].argmin())]
        first = last
    return winners, doubtful


Matrix = NDArray[np.float32]

# A plane moves the middle of its light by up to so much for each degree that it leans to the east
# or west; what shows beyond that is unusual from here on. [minutes]
LEAN_MINUTES, USUAL_MINUTES = 1.3, 6.0

# What leans more may hide half an hour. [degrees]
MOST_LEAN = 20.0

# First and last light of right clocks are hardly ever off together by more than this: 0 to 7
# minutes on real systems, under the planes that fit them; half an hour makes 3 to 30. [minutes]
TOGETHER_MINUTES = 4.0

# An hour of daylight saving, within what light can tell of an unknown plane. [minutes]
SAVING_MINUTES = (35.0, 85.0)

# Half of that shows where a plane takes up the rest. [minutes]
LEAST_SEASONAL_MINUTES = 20.0

# Clocks are plausible so close to what light says of a flat plane. [minutes]
PLAUSIBLE_MINUTES = 45.0

# A clock is not moved where a tracker under it leaves less of the bright envelope than this share
# of what plane and trackers leave under another: trackers and steep roofs with right clocks
# came to 0.7, single planes with wrong clocks to 0.98 (systems of benchmarks.planes).
FAR_LESS = 0.8

# An undeclared label is known where light is off by less than this share of the interval: half an
# interval moves it by a fifth to a half of one under the plane that fits then.
TOLD_SHARE = 1.0 / 12.0


@dataclass(frozen=True, slots=True, eq=False)
class BlockClocks:
    """What light says of the clocks of a block: private."""

    repaired: dict[int, Laid]  # the clocks of the systems with a wrong declared clock
    doubtful: dict[int, Laid]
    unchecked: NDArray[np.bool_]  # which systems have too few days that show first and last light
    off_label: NDArray[np.bool_]


def propose(
    base: float, winter: float, summer: float, *, more: Sequence[float] = ()
) -> list[ClockHypothesis]:
    """Return the clocks that first and last light make plausible, the declared one first."""
    kind = DaylightSaving.AS_DECLARED
    if SAVING_MINUTES[0] < abs(summer - winter) < SAVING_MINUTES[1]:
        kind = DaylightSaving.LEFT_IN if summer > winter else DaylightSaving.APPLIED_TWICE
        base = winter
    out = [DECLARED]
    if kind is not DaylightSaving.AS_DECLARED:
        out.append(ClockHypothesis(0.0, kind))
    offsets = (*(30.0 * np.arange(-26, 27)), *more)
    out += [
        ClockHypothesis(float(offset), kind)
        for offset in offsets
        if offset != 0.0 and abs(offset - base) <= PLAUSIBLE_MINUTES
    ]
    return out


def find_clocks(
    rows: Matrix,
    searched: Searched,
    prepared: PreparedSky,
    *,
    timezone: str,
    label_known: bool = True,
) -> BlockClocks:
    """Return the systems with a declared clock that does not fit the sun, repaired."""
    off_label = np.full(len(rows), not label_known)
    if prepared.days.count == 0 or not len(rows):
        return BlockClocks({}, {}, searched.enough, off_label)
    saving = prepared.calendars(timezone)[0].saving
    light, flat = _light_of(rows, searched, prepared, saving)
    unchecked = np.isnan(flat[Season.ALL]) & searched.enough
    looked_at = (_suspicious(flat, searched.points) | off_label) & searched.enough
    suspects = np.flatnonzero(looked_at)
    # most suspicions are only a plane that faces the rising or the setting sun
    both = light.take(suspects), planes_light(searched.take(suspects), prepared)
    own = typical_leads(*both, saving, Season.ALL, minutes=prepared.minutes)
    if not label_known:
        off_label[suspects] = ~(np.abs(own.mean(axis=0)) <= TOLD_SHARE * prepared.minutes)
    together = np.abs(moved_together(own)) > TOGETHER_MINUTES
    unsure = np.flatnonzero(together | _seasonal(flat)[suspects])
    leads = leads_by_season(both[0].take(unsure), both[1].take(unsure), saving, prepared.minutes)
    swing = np.abs(moved_together(leads[Season.SUMMER] - leads[Season.WINTER]))
    questionable = together[unsure] | (swing > LEAST_SEASONAL_MINUTES)
    left = unexplained(leads)
    trials = [
        ClockTrial(s, _plausible(flat[:, s], prepared, label_known), left[k], searched.explained[s])
        for k, s in enumerate(suspects[unsure].tolist())
        if questionable[k]
    ]
    won, doubtful = (
        {
            s: laid
            for s, laid in found.items()
            if not _tracked_as_declared(searched.take(np.array([s])), laid, prepared)
        }
        for found in try_clocks(trials, rows, prepared, timezone)
    )
    stepping = may_have_steps(light, prepared.flat, minutes=prepared.minutes) & searched.enough
    for s in np.flatnonzero(stepping).tolist():
        alone = searched.take(np.array([s]))
        declared = Laid(DECLARED, rows[s : s + 1], prepared, alone, half=False)
        stepped = find_steps(declared, won.get(s), timezone=timezone)
        if stepped is None:
            continue
        found, sky = stepped.searched, stepped.prepared
        stepped_light = measured_daylight(stepped.rows, found.readings.bright, sky.days)
        # a sky half an interval earlier may have one day more
        own_saving = sky.calendars(timezone)[0].saving
        its = leads_by_season(stepped_light, planes_light(found, sky), own_saving, sky.minutes)
        if unexplained(its)[0] <= MOST_MINUTES:
            won[s] = stepped
            doubtful.pop(s, None)
        elif s not in won:
            doubtful[s] = stepped
    off_label[list(won)] = False
    return BlockClocks(won, doubtful, unchecked, off_label)


def _tracked_as_declared(declared: Searched, moved: Laid, prepared: PreparedSky) -> bool:
    # No plane has the light of a tracker: the one that was found may have it half an hour off.
    before = tracker_likeness(declared, declared.points, prepared)
    after = tracker_likeness(moved.searched, moved.searched.points, moved.prepared)
    left = min(after.by_plane[0], after.by_trackers[0].min())
    return bool(before.enough[0] and before.by_trackers[0].min() < FAR_LESS * left)


def _light_of(
    rows: Matrix, searched: Searched, prepared: PreparedSky, saving: NDArray[np.bool_]
) -> tuple[Daylight, Array]:
    """Return the light of systems, and how far its middle is ahead of a flat plane's by season."""
    bright, minutes = searched.readings.bright, prepared.minutes
    light, flat = measured_daylight(rows, bright, prepared.days), prepared.flat.middle()
    leads = leads_by_season(light.middle(), flat, saving, minutes)[:, 0]
    far_off = np.flatnonzero(np.isnan(leads[Season.ALL]) & searched.enough)
    if len(far_off):
        # light about midnight: such days are counted from noon to noon
        half = prepared.days.per_day // 2
        late = measured_daylight(
            np.roll(rows[far_off], half, axis=1), bright[far_off], prepared.days
        )
        behind = leads_by_season(late.middle(), flat, saving, minutes)[Season.ALL, 0] < 0.0
        # within half a day of noon, whichever side
        late.bounds[:] += np.where(behind, half, -half)[:, None]
        light.bounds[:, far_off], light.energy[far_off] = late.bounds, late.energy
        leads[:, far_off] = leads_by_season(late.middle(), flat, saving, minutes)[:, 0]
    return light, leads


def _suspicious(flat: Array, points: Array) -> NDArray[np.bool_]:
    """Return which systems' light is not plainly that of a right clock."""
    # light of what leans to the west is late, to the east early
    west = -np.sign(points[:, EAST]) * flat[Season.ALL]
    lean = np.abs(points[:, EAST])
    plain = (west > -USUAL_MINUTES) & (west < LEAN_MINUTES * lean + USUAL_MINUTES)
    return np.asarray(~plain | (lean > MOST_LEAN) | _seasonal(flat))


def _seasonal(flat: Array) -> NDArray[np.bool_]:
    """Return which systems' light moves by about an hour with daylight saving."""
    swing = np.abs(flat[Season.SUMMER] - flat[Season.WINTER])
    return np.asarray((swing > SAVING_MINUTES[0]) & (swing < SAVING_MINUTES[1]))


def _plausible(flat: Array, prepared: PreparedSky, label_known: bool) -> list[ClockHypothesis]:
    """Return the plausible clocks of a system; half of half an hour is one of unknown labels."""
    more = () if label_known or prepared.minutes != 30.0 else (15.0,)
    return propose(*flat.tolist(), more=more)


def hold_both(out: Estimates, other: Estimates, systems: NDArray[np.intp]) -> None:
    """Widen the intervals of some systems so that they hold other answers and theirs too."""
    here = systems[(out.outcome[systems] == INFERRED) & (other.outcome[systems] == INFERRED)]
    centre, its = out.surface_azimuth[here], other.surface_azimuth[here]
    turn = (its - centre + 180.0) % 360.0 - 180.0
    below = np.maximum(
        (centre - out.surface_azimuth_low[here]) % 360.0,
        (its - other.surface_azimuth_low[here]) % 360.0 - turn,
    )
    above = np.maximum(
        (out.surface_azimuth_high[here] - centre) % 360.0,
        (other.surface_azimuth_high[here] - its) % 360.0 + turn,
    )
    every = below + above > ANY_AZIMUTH
    out.surface_azimuth_low[here] = np.where(every, 0.0, (centre - below) % 360.0)
    out.surface_azimuth_high[here] = np.where(every, 360.0, (centre + above) % 360.0)
    for low, high in (
        ("surface_tilt_low", "surface_tilt_high"),
        ("dc_capacity_kw_low", "dc_capacity_kw_high"),
    ):
        getattr(out, low)[here] = np.minimum(getattr(out, low), getattr(other, low))[here]
        getattr(out, high)[here] = np.maximum(getattr(out, high), getattr(other, high))[here]
    own, theirs = (
        normals(each.surface_azimuth[here], each.surface_tilt[here]) for each in (out, other)
    )
    apart = np.degrees(np.arccos(np.clip((own * theirs).sum(axis=1), -1.0, 1.0)))
    out.plane_error_degrees[here] = np.maximum(
        out.plane_error_degrees[here], apart + other.plane_error_degrees[here]
    )


def repaired(record: Record, estimate: Estimate, site: Site) -> Record:
    """Return a record on the clock that an estimate found."""
    clock = estimate.clock
    # a label found to be another one is half an interval or a whole one of offset
    moved = (clock.label.fraction - record.label.fraction) * record.interval_minutes
    hypothesis = ClockHypothesis(clock.offset_minutes + moved, clock.daylight_saving, clock.steps)
    seconds = record.times.astype("datetime64[s]").astype(np.int64)
    calendar = ClockCalendar.of(seconds, site, record.timezone)
    times = record.times - hypothesis.ahead_seconds(calendar).astype("timedelta64[s]")
    # where an hour is put back, the last readings before and the first ones after it meet
    times, first = np.unique(times, return_index=True)
    return replace(record, times=times, power_kw=record.power_kw[first], rows_span=None)
