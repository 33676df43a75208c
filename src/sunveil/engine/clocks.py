"""Clocks: find stamps that do not fit the sun, and say how to repair them.

A clock left free to the minute is nearly confounded with the azimuth, so only plausible faults
are considered: whole and half hours, half an interval (a stamp that names another instant of its
interval than declared), an hour of daylight saving left in or taken out twice, and each of these
from some day on. First and last light decide, compared with those of the plane that is found under
each clock: real planes explain nearly as much energy under a clock that is half an hour off, so
energy has a say only where a clock explains far less of it than another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.hypotheses import DECLARED, ClockHypothesis
from sunveil.engine.light import (
    Daylight,
    Season,
    measured_daylight,
    moved_together,
    typical_leads,
)
from sunveil.engine.model import EAST
from sunveil.engine.prepared import PreparedSky
from sunveil.engine.search import Searched
from sunveil.engine.stepping import Laid, find_steps
from sunveil.engine.steps import may_have_steps
from sunveil.engine.tracker_search import tracker_likeness
from sunveil.engine.trials import (
    MOST_MINUTES,
    ClockTrial,
    leads_by_season,
    planes_light,
    settle,
    unexplained,
)
from sunveil.estimate import DaylightSaving
from sunveil.site import Array

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
# of what plane and trackers leave under another: trackers and steep roofs whose clocks were right
# came to 0.7, single planes whose clocks were wrong to 0.98 (systems of benchmarks.planes).
FAR_LESS = 0.8
# An undeclared label is told where light is off by less than this share of the interval: half an
# interval moves it by a fifth to a half of one under the plane that fits then.
TOLD_SHARE = 1.0 / 12.0


@dataclass(frozen=True, slots=True, eq=False)
class BlockClocks:
    """What light says of the clocks of a block: private.

    Parameters
    ----------
    repaired
        The clocks of the systems whose declared one is wrong.
    doubtful
        The best of the other clocks of systems whose light no clock explains.
    unchecked
        Which systems have too few days that show first and last light.
    off_label
        Which systems' light is too far from what the declared clock says for an undeclared label
        to be told by it.
    """

    repaired: dict[int, Laid]
    doubtful: dict[int, Laid]
    unchecked: NDArray[np.bool_]
    off_label: NDArray[np.bool_]


def propose(
    base: float, winter: float, summer: float, *, more: Sequence[float] = ()
) -> list[ClockHypothesis]:
    """Return the clocks that first and last light make plausible, the declared one first.

    Parameters
    ----------
    base, winter, summer
        How far light runs ahead of a flat plane's over the year, outside daylight saving, and
        within. [minutes]
    more
        Offsets that are plausible besides whole and half hours. [minutes]
    """
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
    """Return the systems whose declared clock does not fit the sun, repaired.

    Parameters
    ----------
    rows
        Readings on the long grid, NaN where there is none, shape (systems, intervals). [kW]
    searched
        What a search found under the declared clock.
    prepared
        The sky.
    timezone
        The declared clock, whose daylight saving counts.
    label_known
        Whether somebody said which instant of its interval a stamp names.
    """
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
    doubt = np.flatnonzero(together | _seasonal(flat)[suspects])
    leads = leads_by_season(both[0].take(doubt), both[1].take(doubt), saving, prepared.minutes)
    swing = np.abs(moved_together(leads[Season.SUMMER] - leads[Season.WINTER]))
    in_doubt = together[doubt] | (swing > LEAST_SEASONAL_MINUTES)
    left = unexplained(leads)
    trials = [
        ClockTrial(s, _plausible(flat[:, s], prepared, label_known), left[k], searched.explained[s])
        for k, s in enumerate(suspects[doubt].tolist())
        if in_doubt[k]
    ]
    won, doubtful = (
        {
            s: laid
            for s, laid in found.items()
            if not _tracked_as_declared(searched.take(np.array([s])), laid, prepared)
        }
        for found in settle(trials, rows, prepared, timezone)
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
        its = leads_by_season(stepped_light, planes_light(found, sky), saving, sky.minutes)
        if unexplained(its)[0] <= MOST_MINUTES:
            won[s] = stepped
            doubtful.pop(s, None)
        elif s not in won:
            doubtful[s] = stepped
    off_label[list(won)] = False
    return BlockClocks(won, doubtful, unchecked, off_label)


def _tracked_as_declared(declared: Searched, moved: Laid, prepared: PreparedSky) -> bool:
    """Return whether a tracker on the declared clock explains more than anything on another does.

    No plane has the light of a tracker: the one that was found may have it half an hour off.
    """
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
