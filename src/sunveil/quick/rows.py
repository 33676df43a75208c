"""The fit of every system of a block, one after the other, in compiled code.

The stages are those of :mod:`sunveil.fit.best`: refine from the best starts on some readings, then
on all; find what hides the sun and refine without it; drop a limit that no model reaches.
"""

from __future__ import annotations

import numpy as np

from sunveil.cells.tables import LANES
from sunveil.fit.shade import BRIGHT_QUANTILE, FEWEST, HIDDEN_BELOW
from sunveil.jit import compiled
from sunveil.quick.model import CAPACITY, LIMIT, NO_LIMIT, OUT, unit_profile
from sunveil.quick.newton import FREE, refine
from sunveil.quick.spread import fill_spread

# Starts that leave so much more unexplained than the best are not worth refining.
WORTH = 4.0
SLACK = 0.01
_WIDE, _NARROW = np.array([1.5, 1.0]), np.array([1.0])
# Columns of what is told of a system beside its point and its intervals.
EXPLAINED, AGREEMENT, CLIPPED, HIDDEN, HIGHEST = range(5)
TOLD = 5
_AGREES, _BRIGHT = np.float32(0.15), 0.2


@compiled
def thin(row, every, out):  # type: ignore[no-untyped-def]
    """Fill ``out`` with every so many of a row; what is left over is zero."""
    out[:] = 0.0
    for i in range(min(len(out), (len(row) + every - 1) // every)):
        out[i] = row[i * every]


@compiled
def fill_model(sheet, point, constants, model):  # type: ignore[no-untyped-def]
    """Fill ``model`` with the power of a point at every interval, its limit applied. [kW]"""
    unit_profile(sheet, point, constants, model)
    capacity = np.float32(np.exp(point[CAPACITY]))
    limit = np.float32(np.exp(point[LIMIT])) if point[LIMIT] < NO_LIMIT else np.float32(3e38)
    for k in range(len(model)):
        model[k] = min(capacity * model[k], limit)


@compiled
def hide(power, have, model, dimmest, order, first, kept):  # type: ignore[no-untyped-def]
    """Fill ``kept`` with the readings less those whose sun is hidden; return how many are."""
    kept[:] = have
    count = 0
    for p in range(len(first) - 1):
        lit, dark = 0, 0
        for i in range(first[p], first[p + 1]):
            k = order[i]
            if have[k] > 0.0 and model[k] > dimmest:
                lit += 1
                dark += power[k] < HIDDEN_BELOW * model[k]
        if lit >= FEWEST and dark >= int(BRIGHT_QUANTILE * (lit - 1) + 0.5) + 1:
            for i in range(first[p], first[p + 1]):
                k = order[i]
                if have[k] > 0.0 and model[k] > dimmest:
                    kept[k] = 0.0
                    count += 1
    return count


@compiled
def fit_one(power, have, point, bright, skies, patches, constants, room):  # type: ignore[no-untyped-def]
    """Refine a point, with what hides the sun left out; return what it explains.

    ``room`` is what is worked in: the linearisation, the information, readings and which of them
    there are, what is left of all readings, and the model of all.
    """
    sheet, some, each = skies
    order, first = patches
    out, information, few_power, few_have, kept, model = room
    kept[:] = have
    thin(power, each, few_power)
    thin(have, each, few_have)
    seen = refine(
        some, few_power, few_have, point, bright, _NARROW, 10, constants, out, information
    )
    there = have.sum()
    for _ in range(2):
        fill_model(sheet, point, constants, model)
        hidden = hide(power, have, model, constants.dimmest * bright, order, first, kept)
        if hidden < 0.01 * there:
            break
        thin(kept, each, few_have)
        seen = refine(
            some, few_power, few_have, point, bright, _NARROW, 10, constants, out, information
        )
    return seen


@compiled
def fit_rows(laid, starts, skies, patches, days, weights, both, found):  # type: ignore[no-untyped-def]
    """Fit every system of a block.

    ``laid`` is the readings, which there are, the bright powers and the logarithms of limits;
    ``starts`` the points to start from and what each leaves; ``skies`` the sheets of all usable
    intervals, of some and of few, and how many make one of some and of few; ``days`` the solar day
    and the place on the axis of each usable interval; ``weights`` what the spreads need; ``both``
    the constants for some and for few. ``found`` is filled, a row for each system: points, spreads,
    and what is told beside them.
    """
    power, have, bright, limits = laid
    begins, left = starts
    points, spreads, told = found
    sheet, some, few, each, every = skies
    constants, coarse = both
    part = few.shape[0]
    few_out = np.empty((part, OUT, LANES), dtype=np.float32)
    few_power = np.empty(part * LANES, dtype=np.float32)
    few_have = np.empty(part * LANES, dtype=np.float32)
    information = np.zeros((FREE, FREE))
    out = np.empty((some.shape[0], OUT, LANES), dtype=np.float32)
    kept = np.empty(sheet.shape[0] * LANES, dtype=np.float32)
    model = np.empty(sheet.shape[0] * LANES, dtype=np.float32)
    some_power = np.empty(some.shape[0] * LANES, dtype=np.float32)
    room = (out, information, some_power, np.empty_like(some_power), kept, model)
    here = (sheet, some, each)
    trial = np.empty(FREE)
    for s in range(power.shape[0]):
        thin(power[s], every, few_power)
        thin(have[s], every, few_have)
        best = -1.0
        for start in range(begins.shape[1]):
            if left[s, start] > WORTH * left[s, 0] + SLACK:
                continue
            trial[:] = begins[s, start]
            trial[LIMIT] = limits[s]
            seen = refine(
                few, few_power, few_have, trial, bright[s], _WIDE, 8, coarse, few_out, information
            )
            if seen > best:
                best = seen
                points[s] = trial
        point = points[s]
        seen = fit_one(power[s], have[s], point, bright[s], here, patches, constants, room)
        fill_model(sheet, point, constants, model)
        top = highest(model, have[s])
        if point[LIMIT] < NO_LIMIT and top < 0.98 * np.exp(point[LIMIT]):
            # a pile of readings that no model reaches is not a limit
            point[LIMIT] = 2.0 * NO_LIMIT
            seen = fit_one(power[s], have[s], point, bright[s], here, patches, constants, room)
            fill_model(sheet, point, constants, model)
        told[s, EXPLAINED] = seen
        told[s, HIGHEST] = top
        told[s, HIDDEN] = have[s].sum() - kept.sum()
        judge(power[s], have[s], model, point, bright[s], told[s])
        fill_spread(point, out, information, model, days, each, weights, constants, spreads[s])


@compiled
def highest(model, have):  # type: ignore[no-untyped-def]
    """Return the highest model of any reading."""
    top = np.float32(0.0)
    for k in range(len(have)):
        top = max(top, model[k] * have[k])
    return top


@compiled
def judge(power, have, model, point, bright, told):  # type: ignore[no-untyped-def]
    """Fill the share of bright readings that agree, and how many are at the limit."""
    seen, close, clipped = np.float32(0.0), np.float32(0.0), np.float32(0.0)
    limit = np.exp(point[LIMIT]) if point[LIMIT] < NO_LIMIT else 3e38
    ceiling, floor = np.float32(0.99 * limit), np.float32(_BRIGHT * bright)
    for k in range(len(power)):
        here = model[k]
        clipped += have[k] if here >= ceiling else np.float32(0.0)
        lit = have[k] if here > floor else np.float32(0.0)
        seen += lit
        close += lit if abs(power[k] - here) <= _AGREES * here else np.float32(0.0)
    told[AGREEMENT] = close / seen if seen > 0.0 else 0.0
    told[CLIPPED] = clipped
