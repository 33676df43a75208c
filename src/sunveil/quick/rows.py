"""The fit of every system of a block, one after the other, in compiled code.

The stages are those of :mod:`sunveil.fit.best`: refine from the best starts on some readings, then
on all; find what hides the sun and refine without it; drop a limit that no model reaches.
"""

from __future__ import annotations

import numpy as np

from sunveil.cells.tables import LANES
from sunveil.fit.shade import BRIGHT_QUANTILE, FEWEST, HIDDEN_BELOW
from sunveil.quick.jit import compiled
from sunveil.quick.model import LIMIT, MODEL, NO_LIMIT, OUT
from sunveil.quick.newton import FREE, refine
from sunveil.quick.spread import fill_spread

# Starts that leave so much more unexplained than the best are not worth refining.
WORTH = 4.0
SLACK = 0.01
_WIDE, _NARROW, _AGAIN = np.array([1.5, 1.0]), np.array([1.0]), np.array([1.3, 1.0])
# Columns of what is told of a system beside its point and its intervals.
EXPLAINED, AGREEMENT, CLIPPED, HIDDEN, HIGHEST = range(5)
TOLD = 5
_AGREES, _BRIGHT = 0.15, 0.2


@compiled
def thin(row, every, out):  # type: ignore[no-untyped-def]
    """Fill ``out`` with every so many of a row; what is left over is zero."""
    out[:] = 0.0
    for i in range(min(len(out), (len(row) + every - 1) // every)):
        out[i] = row[i * every]


@compiled
def model_at(out, k):  # type: ignore[no-untyped-def]
    """Return the model of the k-th interval of a linearisation."""
    return out[k // LANES, MODEL, k % LANES]


@compiled
def hide(power, have, out, dimmest, order, first, kept):  # type: ignore[no-untyped-def]
    """Fill ``kept`` with the readings less those whose sun is hidden; return how many are."""
    kept[:] = have
    count = 0
    for p in range(len(first) - 1):
        lit, dark = 0, 0
        for i in range(first[p], first[p + 1]):
            k = order[i]
            model = model_at(out, k)
            if have[k] > 0.0 and model > dimmest:
                lit += 1
                dark += power[k] < HIDDEN_BELOW * model
        if lit >= FEWEST and dark >= int(BRIGHT_QUANTILE * (lit - 1) + 0.5) + 1:
            for i in range(first[p], first[p + 1]):
                k = order[i]
                if have[k] > 0.0 and model_at(out, k) > dimmest:
                    kept[k] = 0.0
                    count += 1
    return count


@compiled
def fit_all(power, have, point, bright, patches, sheet, constants, out, information, kept):  # type: ignore[no-untyped-def]
    """Refine a point on all readings, with what hides the sun left out; return what it explains."""
    order, first = patches
    kept[:] = have
    found = refine(sheet, power, kept, point, bright, _NARROW, 10, constants, out, information)
    there = have.sum()
    for _ in range(2):
        hidden = hide(power, have, out, constants.dimmest * bright, order, first, kept)
        if hidden < 0.01 * there:
            break
        found = refine(sheet, power, kept, point, bright, _AGAIN, 10, constants, out, information)
    return found


@compiled
def fit_rows(laid, starts, sky, patches, days, weights, constants, found):  # type: ignore[no-untyped-def]
    """Fit every system of a block.

    ``laid`` is the readings, which there are, the bright powers and the logarithms of limits;
    ``starts`` the points to start from and what each leaves; ``sky`` the sheet of all usable
    intervals, that of few, and how many make one of few; ``days`` the solar day and the place on
    the axis of each usable interval; ``weights`` what the spreads need. ``found`` is filled, a row
    for each system: points, spreads, and what is told beside them.
    """
    power, have, bright, limits = laid
    begins, left = starts
    points, spreads, told = found
    sheet, few, every = sky
    day, slot = days
    whole, part = sheet.shape[0], few.shape[0]
    out = np.empty((whole, OUT, LANES), dtype=np.float32)
    few_out = np.empty((part, OUT, LANES), dtype=np.float32)
    few_power = np.empty(part * LANES, dtype=np.float32)
    few_have = np.empty(part * LANES, dtype=np.float32)
    kept = np.empty(whole * LANES, dtype=np.float32)
    information = np.zeros((FREE, FREE))
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
                few,
                few_power,
                few_have,
                trial,
                bright[s],
                _WIDE,
                8,
                constants,
                few_out,
                information,
            )
            if seen > best:
                best = seen
                points[s] = trial
        point = points[s]
        seen = fit_all(
            power[s], have[s], point, bright[s], patches, sheet, constants, out, information, kept
        )
        top = highest(out, have[s])
        if point[LIMIT] < NO_LIMIT and top < 0.98 * np.exp(point[LIMIT]):
            # a pile of readings that no model reaches is not a limit
            point[LIMIT] = 2.0 * NO_LIMIT
            seen = fit_all(
                power[s],
                have[s],
                point,
                bright[s],
                patches,
                sheet,
                constants,
                out,
                information,
                kept,
            )
        told[s, EXPLAINED] = seen
        told[s, HIGHEST] = top
        told[s, HIDDEN] = have[s].sum() - kept.sum()
        judge(power[s], have[s], out, point, bright[s], told[s])
        fill_spread(point, out, information, day, slot, weights, constants, spreads[s])


@compiled
def highest(out, have):  # type: ignore[no-untyped-def]
    """Return the highest model of any reading."""
    top = np.float32(0.0)
    for k in range(len(have)):
        if have[k] > 0.0:
            top = max(top, model_at(out, k))
    return top


@compiled
def judge(power, have, out, point, bright, told):  # type: ignore[no-untyped-def]
    """Fill the share of bright readings that agree, and how many are at the limit."""
    seen, close, clipped = 0, 0, 0
    limit = np.exp(point[LIMIT]) if point[LIMIT] < NO_LIMIT else np.inf
    for k in range(len(power)):
        if have[k] > 0.0:
            model = model_at(out, k)
            clipped += model >= 0.99 * limit
            if model > _BRIGHT * bright:
                seen += 1
                close += abs(power[k] - model) <= _AGREES * model
    told[AGREEMENT] = close / seen if seen > 0 else 0.0
    told[CLIPPED] = clipped
