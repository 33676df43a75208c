"""The fit of every system of a block, one after the other, in compiled code.

The stages are those of :mod:`sunveil.fit.best`: refine from the best starts on some readings, then
on all; find what hides the sun and refine without it; drop a limit that no model reaches. A system
whose clock is in doubt goes no further than its best start.
"""

from __future__ import annotations

import numpy as np

from sunveil.cells.tables import LANES
from sunveil.fit.shared import FEWEST_READINGS, HIDDEN_BELOW
from sunveil.fit.shared import SHADE_FEWEST as FEWEST
from sunveil.fit.shared import SHADE_QUANTILE as BRIGHT_QUANTILE
from sunveil.jit import compiled
from sunveil.quick.groups import PATCHES
from sunveil.quick.layout import find_limit, lay_out
from sunveil.quick.mixture import is_one_plane, mixing_room
from sunveil.quick.model import CAPACITY, LIMIT, NO_LIMIT, OUT, unit_profile
from sunveil.quick.newton import FREE, inform, newton_room, refine
from sunveil.quick.spread import fill_spread, spread_room
from sunveil.quick.starts import search, search_room
from sunveil.quick.suspicion import is_suspect, watch_room

# Starts that leave so much more unexplained than the best are not worth refining.
WORTH = 4.0
SLACK = 0.01
# Errors are widened by this much while the neighbourhood is looked for.
WIDE = 1.5
# What explains no more of the energy than this may be a wrong neighbourhood.
DOUBTFUL = 0.4
# Columns of what is told of a system beside its point and its intervals: its bright power [kW], how
# many readings have power, of how many days, the share of bright readings that agree, the share of
# all that is at the limit, and whether it looks like one plane.
BRIGHT, LIT, DAYS, AGREEMENT, CLIPPED, ALONE = range(6)
TOLD = 6
_AGREES, _LIT = np.float32(0.15), 0.2


@compiled
def thin(row, chosen, out):  # type: ignore[no-untyped-def]
    """Fill ``out`` with the chosen ones of a row; what is left over is zero."""
    for i in range(len(chosen)):
        out[i] = row[chosen[i]]
    out[len(chosen) :] = 0.0


@compiled
def fill_model(sheet, point, constants, model):  # type: ignore[no-untyped-def]
    """Fill ``model`` with the power of a point at every interval, its limit applied. [kW]"""
    unit_profile(sheet, point, constants, model)
    capacity = np.float32(np.exp(point[CAPACITY]))
    limit = np.float32(np.exp(point[LIMIT])) if point[LIMIT] < NO_LIMIT else np.float32(3e38)
    for k in range(len(model)):
        model[k] = min(capacity * model[k], limit)


@compiled
def hide(readings, model, dimmest, patch, counts, marks):  # type: ignore[no-untyped-def]
    """Mark lit readings, count them by patch, and return to how many of them the sun is hidden.

    The count of a patch that the sun is not hidden in becomes zero.
    """
    power, have = readings
    for k in range(len(model)):
        lit = (have[k] > 0.0) & (model[k] > dimmest)
        dark = lit & (power[k] < HIDDEN_BELOW * model[k])
        # counted together: the lit ones, and above them the dark ones
        marks[k] = np.int32(lit) + (np.int32(dark) << 16)
    counts[:] = 0
    for k in range(len(patch)):
        counts[patch[k]] += marks[k]
    hidden = 0
    for p in range(len(counts)):
        lit, dark = counts[p] & 0xFFFF, counts[p] >> 16
        enough = lit >= FEWEST and dark >= int(BRIGHT_QUANTILE * (lit - 1) + 0.5) + 1
        counts[p] = lit if enough else 0
        hidden += counts[p]
    return hidden


@compiled
def leave_out(have, patch, counts, marks, kept):  # type: ignore[no-untyped-def]
    """Fill ``kept`` with the readings there are, less those whose sun is hidden."""
    kept[:] = have
    for k in range(len(patch)):
        if marks[k] > 0 and counts[patch[k]] > 0:
            kept[k] = 0.0


@compiled
def fit_one(power, have, point, bright, skies, patch, constants, room):  # type: ignore[no-untyped-def]
    """Refine a point, with what hides the sun left out.

    ``room`` is what is worked in: the linearisation, what steps need, readings and which of them
    there are, what is left of all readings, the model of all, which is that of the point in the
    end, marks, and counts of patches.
    """
    sheet, some, chosen = skies
    out, stepping, few_power, few_have, kept, model, marks, counts = room
    thin(power, chosen, few_power)
    thin(have, chosen, few_have)
    readings = (some, few_power, few_have, bright)
    refine(readings, point, 1.0, True, 10, constants, out, stepping)
    there = have.sum()
    for again in range(3):
        fill_model(sheet, point, constants, model)
        if again == 2:
            break
        dimmest = np.float32(constants.dimmest * bright)
        if hide((power, have), model, dimmest, patch, counts, marks) < 0.01 * there:
            break
        leave_out(have, patch, counts, marks, kept)
        thin(kept, chosen, few_have)
        refine(readings, point, 1.0, True, 10, constants, out, stepping)
    inform(point, constants, out, stepping)


@compiled
def start_room(known):  # type: ignore[no-untyped-def]
    """Return what the choice among starts is worked in."""
    few, probe = known.few.shape[0], known.mixture.probe.shape[0]
    return (
        np.empty((probe, OUT, LANES), dtype=np.float32),
        np.empty(probe * LANES, dtype=np.float32),
        np.empty(probe * LANES, dtype=np.float32),
        np.empty((few, OUT, LANES), dtype=np.float32),
        np.zeros(few * LANES, dtype=np.float32),
        np.zeros(few * LANES, dtype=np.float32),
        newton_room(),
        np.empty((2, FREE)),
    )


@compiled
def thin_row(row, known, room):  # type: ignore[no-untyped-def]
    """Lay few readings of a row on the long axis into the room that starts are chosen in."""
    power, have = room[4], room[5]
    for i in range(len(known.few_at)):
        value = row[known.slot[known.few_at[i]]]
        there = value == value
        power[i] = value if there else np.float32(0.0)
        have[i] = np.float32(1.0) if there else np.float32(0.0)


@compiled
def try_starts(readings, found, limit, coarse, out, room, point):  # type: ignore[no-untyped-def]
    """Fill ``point`` with the start that explains most, each refined with widened errors."""
    starts, left = found[1], found[2]
    stepping, trial = room
    best = np.float32(-1.0)
    for start in range(len(left)):
        if left[start] > WORTH * left[0] + SLACK:
            continue
        trial[:] = starts[start]
        trial[LIMIT] = limit
        seen = refine(readings, trial, WIDE, False, 8, coarse, out, stepping)
        if seen > best:
            best = seen
            point[:] = trial


@compiled
def best_start(found, bright, limit, known, coarse, room, point):  # type: ignore[no-untyped-def]
    """Fill ``point`` with the best of the starts, refined on bright powers, then few readings.

    Returns the share of energy that it explains. ``found`` is the room of the search; the few
    readings are in ``room`` already.
    """
    glow = found[0]
    group_out, group_power, group_have, few_out, few_power, few_have, stepping, points = room
    trial, other = points[0], points[1]
    group_power[:] = 0.0
    group_have[:] = 0.0
    places = known.mixture.places
    for i in range(len(places)):
        here = glow[places[i]]
        there = here == here
        group_power[i] = here if there else np.float32(0.0)
        group_have[i] = np.float32(1.0) if there else np.float32(0.0)
    groups = (known.mixture.probe, group_power, group_have, bright)
    thinned = (known.few, few_power, few_have, bright)
    try_starts(groups, found, limit, coarse, group_out, (stepping, trial), point)
    best = refine(thinned, point, 1.0, True, 8, coarse, few_out, stepping)
    if best <= DOUBTFUL:
        # where it is always cloudy, bright powers are not those of a clear sky
        try_starts(thinned, found, limit, coarse, few_out, (stepping, trial), other)
        seen = refine(thinned, other, 1.0, True, 8, coarse, few_out, stepping)
        if seen > best:
            best = seen
            point[:] = other
    return best


@compiled
def fit_room(known):  # type: ignore[no-untyped-def]
    """Return what :func:`fit_one` is worked in."""
    some, padded = known.some.shape[0], known.sheet.shape[0] * LANES
    return (
        np.empty((some, OUT, LANES), dtype=np.float32),
        newton_room(),
        np.empty(some * LANES, dtype=np.float32),
        np.empty(some * LANES, dtype=np.float32),
        np.empty(padded, dtype=np.float32),
        np.empty(padded, dtype=np.float32),
        np.empty(padded, dtype=np.int32),
        np.empty(PATCHES, dtype=np.int32),
    )


@compiled
def fit_rows(rows, known, weights, both, clocks, found):  # type: ignore[no-untyped-def]
    """Fit every system of a block, but those whose clock is in doubt.

    ``rows`` are readings on the long axis, ``known`` is the sky, ``weights`` what the spreads need,
    ``both`` the constants for some and for few readings. ``clocks`` says whether clocks are looked
    at, what light is compared with, and is filled with who is suspect. ``found`` is filled, a row
    for each system: points, spreads, and what is told beside them.
    """
    points, spreads, told = found
    watched, watch, suspects = clocks
    constants, coarse = both
    padded = known.sheet.shape[0] * LANES
    power, have = np.empty(padded, dtype=np.float32), np.empty(padded, dtype=np.float32)
    above = np.empty(padded, dtype=np.float32)
    searching, choosing, mixing = search_room(known), start_room(known), mixing_room(known.mixture)
    fitting, watching, spreading = fit_room(known), watch_room(watch.days), spread_room(weights)
    out, stepping, model = fitting[0], fitting[1], fitting[5]
    glow = searching[0]
    skies = (known.sheet, known.some, known.some_at)
    for s in range(len(rows)):
        bright, top, count, lit, days = lay_out(
            rows[s], known.slot, known.begins, power, have, above
        )
        mine = told[s]
        mine[BRIGHT], mine[LIT], mine[DAYS], mine[ALONE] = bright, lit, days, 1.0
        if lit < FEWEST_READINGS:
            continue
        search(rows[s], known, searching)
        limit = min(find_limit(power, have, top, known.day, known.hours), 2.0 * NO_LIMIT)
        point = points[s]
        thin_row(rows[s], known, choosing)
        share = best_start(searching, bright, limit, known, coarse, choosing, point)
        if watched and is_suspect(rows[s], bright, point, watch, suspects, s, watching):
            suspects.share[s], suspects.limit[s] = share, limit
            continue
        fit_one(power, have, point, bright, skies, known.patch, constants, fitting)
        if point[LIMIT] < NO_LIMIT and highest(model, have) < 0.98 * np.exp(point[LIMIT]):
            # a pile of readings that no model reaches is not a limit
            point[LIMIT] = 2.0 * NO_LIMIT
            fit_one(power, have, point, bright, skies, known.patch, constants, fitting)
        mine[AGREEMENT], clipped = judge(power, have, model, point, bright)
        mine[CLIPPED] = clipped / max(count, 1)
        fit = (point, out, stepping[0], model)
        fill_spread(fit, known.neighbours, weights, constants, spreading, spreads[s])
        mine[ALONE] = is_one_plane(glow, bright, point, known.mixture, constants, mixing)


@compiled
def highest(model, have):  # type: ignore[no-untyped-def]
    """Return the highest model of any reading."""
    top = np.float32(0.0)
    for k in range(len(have)):
        top = max(top, model[k] * have[k])
    return top


@compiled
def judge(power, have, model, point, bright):  # type: ignore[no-untyped-def]
    """Return the share of bright readings that agree, and how many are at the limit."""
    seen, close, clipped = np.float32(0.0), np.float32(0.0), np.float32(0.0)
    limit = np.exp(point[LIMIT]) if point[LIMIT] < NO_LIMIT else 3e38
    ceiling, floor = np.float32(0.99 * limit), np.float32(_LIT * bright)
    for k in range(len(power)):
        here = model[k]
        clipped += have[k] if here >= ceiling else np.float32(0.0)
        lit = have[k] if here > floor else np.float32(0.0)
        seen += lit
        close += lit if abs(power[k] - here) <= _AGREES * here else np.float32(0.0)
    return (close / seen if seen > 0.0 else np.float32(0.0)), clipped
