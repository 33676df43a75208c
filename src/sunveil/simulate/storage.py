"""Batteries between generation and load, and what of both flows over a meter: compiled."""

from __future__ import annotations

import numba
import numpy as np

from sunveil.simulate.blocks import FAST_MATH, Single
from sunveil.simulate.stamps import Index
from sunveil.site import Array


@numba.njit(cache=True, nogil=True, fastmath=FAST_MATH)
def balance(
    flows: tuple[Single, Single],
    sums: Array,
    generated: Single,
    loads: Single,
    batteries: Single,
    clocks: tuple[Index, Index, Index, int],
) -> None:
    """Fill in what flows to the grid and from it.

    A battery takes what is left of the generation and gives what is lacking, at once and as far as
    its power and its charge allow; it is never charged from the grid.

    Parameters
    ----------
    flows
        Export and import, shape (systems, readings); filled in place. [kW]
    sums
        Sums of generation, load and export over the instants, shape (systems, 3). [kW]
    generated, loads
        What systems give and what households use, shape (systems, instants). [kW]
    batteries
        Usable capacity in kW times instants, power [kW], and efficiency of one way, shape
        (systems, 3).
    clocks
        Sources, halves, clocks of the systems and instants in a reading, as for
        :func:`~sunveil.simulate.blocks.meter`.
    """
    exported, imported = flows
    sources, before, by, per_reading = clocks
    nothing, half, missing = np.float32(0.0), np.float32(0.5), np.float32(np.nan)
    out, taken = np.empty(loads.shape[1], np.float32), np.empty(loads.shape[1], np.float32)
    for s in range(loads.shape[0]):
        capacity, most, efficiency = batteries[s]
        charge = nothing
        for j in range(loads.shape[1]):
            sums[s, 0] += generated[s, j]
            sums[s, 1] += loads[s, j]
            left = generated[s, j] - loads[s, j]
            if left > nothing:
                stored = min(left, most, (capacity - charge) / efficiency)
                charge += stored * efficiency
                left -= stored
            elif capacity > nothing:
                given = min(-left, most, charge * efficiency)
                charge -= given / efficiency
                left += given
            out[j] = max(left, nothing)
            taken[j] = max(-left, nothing)
            sums[s, 2] += out[j]
        for r in range(exported.shape[1]):
            clock = by[s, 0] if r < by[s, 2] else by[s, 1]
            gave, took = nothing, nothing
            for j in range(r * per_reading, (r + 1) * per_reading):
                one = sources[clock, j]
                other = max(one - before[clock], 0)
                gave += half * (out[one] + out[other]) if one >= 0 else missing
                took += half * (taken[one] + taken[other]) if one >= 0 else missing
            exported[s, r] = gave / np.float32(per_reading)
            imported[s, r] = took / np.float32(per_reading)
