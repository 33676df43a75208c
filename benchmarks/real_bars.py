"""What Sunveil must reach on real systems, and whether it does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.real_scores import (
    REPAIRED,
    SUNVEIL,
    RealAnswer,
    counted,
    coverage,
    errors,
    held,
)
from benchmarks.real_tables import table
from sunveil.estimates.flags_and_quality import Flag

MEANS = {"azimuth": 2.4, "tilt": 2.0}
CAPACITY, TILT, COVERED = 8.0, 6.0, 80.0
# Flags that say nothing against an angle.
HARMLESS = {Flag.CLIPPING, Flag.CLOCK_REPAIRED, Flag.LABEL_UNKNOWN}

Row = tuple[str, str, str, bool]


def bar_lines(seen: Sequence[RealAnswer], smog: Sequence[RealAnswer]) -> list[str]:
    """Return the table of bars.

    Parameters
    ----------
    seen
        The systems whose errors are averaged.
    smog
        Systems of which an interval or a flag must say that their tilt is unsure.
    """
    rows = [*_error_rows(seen), *_peer_rows(seen), *_interval_rows(seen), _smog_row(smog)]
    cells = [[*row[:3], "met" if row[3] else "MISSED"] for row in rows]
    return table(["what", "reached", "bar", ""], cells)


def _error_rows(seen: Sequence[RealAnswer]) -> Iterator[Row]:
    for name, bar in MEANS.items():
        mean = counted(seen, SUNVEIL, name).mean()
        yield f"mean error of {name} [°]", f"{mean:.1f}", f"{bar}", mean <= bar
    middle = np.median(counted(seen, SUNVEIL, "capacity"))
    yield "median error of capacity [%]", f"{middle:.1f}", f"{CAPACITY:g}", middle <= CAPACITY
    refused = [one.case.name for one in seen if one.estimate is None]
    yield "refused", ", ".join(refused) or "none", "none", not refused
    astray = [one.case.name for one in seen if _astray(one)]
    what = f"tilt beyond {TILT:g}° with an interval that excludes the label"
    yield what, ", ".join(astray) or "none", "none", not astray


def _peer_rows(seen: Sequence[RealAnswer]) -> Iterator[Row]:
    both = [one for one in seen if errors(one) and errors(one, REPAIRED)]
    for name in MEANS if both else ():
        pair = [counted(both, tool, name) for tool in (SUNVEIL, REPAIRED)]
        (mean, middle), (its_mean, its_middle) = ((e.mean(), np.median(e)) for e in pair)
        yield (
            f"mean / median of {name} against {REPAIRED}, {len(pair[0])} systems [°]",
            f"{mean:.1f} / {middle:.1f}",
            f"{its_mean:.1f} / {its_middle:.1f}",
            bool(mean <= its_mean and middle <= its_middle),
        )


def _interval_rows(seen: Sequence[RealAnswer]) -> Iterator[Row]:
    found = coverage([one.estimate for one in seen], [one.case for one in seen])
    for name, one in found.items():
        share = 100.0 * one.held / max(one.count, 1)
        bar = f"at least {COVERED:g}"
        yield f"labels in the 90% intervals, {name} [%]", f"{share:.0f}", bar, share >= COVERED


def _smog_row(smog: Sequence[RealAnswer]) -> Row:
    silent = [one.case.name for one in smog if _unwarned(one)]
    what = "under smog: interval of tilt excludes the label, and no flag"
    return what, ", ".join(silent) or "none", "none", not silent


def _astray(one: RealAnswer) -> bool:
    if one.estimate is None or "tilt" not in one.case.counts:
        return False
    return abs(errors(one)["tilt"]) > TILT and not held(one.case, one.estimate)["tilt"]


def _unwarned(one: RealAnswer) -> bool:
    if one.estimate is None or held(one.case, one.estimate)["tilt"]:
        return False
    return not set(one.estimate.flags) - HARMLESS
