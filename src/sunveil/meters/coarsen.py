"""Short intervals, averaged to longer ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sunveil.meters.record import Record


def coarsen(record: Record, minutes: float) -> Record:
    """Average short intervals to longer ones; incomplete ones are left out.

    A record whose interval does not divide ``minutes``, or exceeds half of it, stays as it is.
    """
    ratio = minutes / record.interval_minutes
    count = round(ratio)
    if count < 2 or abs(ratio - count) > 1e-9:
        return record
    seconds = record.times.astype("datetime64[s]").astype(np.int64)
    step = int(minutes * 60)
    # align the long intervals with the short ones, not with the hour: stamps may stand anywhere
    ends = [int(end.astype("datetime64[s]").astype(np.int64)) for end in record.extent]
    origin = ends[0] % int(record.interval_minutes * 60)
    block = (seconds - origin) // step
    starts = np.flatnonzero(np.diff(block, prepend=ends[0] // step - 2))
    sizes = np.diff(np.append(starts, len(block)))
    sums = np.add.reduceat(record.power_kw, starts)
    whole = sizes == count

    def held(second: int) -> np.datetime64:
        return np.datetime64(int((second - origin) // step * step + origin), "s")

    return replace(
        record,
        times=(block[starts][whole] * step + origin).astype("datetime64[s]"),
        power_kw=sums[whole] / count,
        interval_minutes=minutes,
        stamped_minutes=record.stamped_minutes or record.interval_minutes,
        rows_span=None if record.rows_span is None else (held(ends[0]), held(ends[1])),
    )
