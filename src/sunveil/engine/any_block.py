"""The engine for meters of any kind: of generation, of a household's net, or of its export.

Whether a meter is a net meter is said by whoever owns it. One that counts only what a household
leaves over looks like a meter of generation and is taken for one, until its many zeros under a high
sun betray it: then it is inferred as the net meter that it is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sunveil.cell import Places
from sunveil.checked import checked
from sunveil.engine.assumed import EngineOptions
from sunveil.engine.block import infer_block
from sunveil.engine.hypotheses import FAR_MINUTES
from sunveil.engine.net_block import infer_net_block
from sunveil.engine.outcomes import (
    EXPORTED_ONLY,
    INFERRED,
    WRONG_PLACE,
    BlockEstimates,
    flag_bits,
    not_inferred,
)
from sunveil.engine.skytable import SkyTable
from sunveil.estimate import Flag
from sunveil.meters.clock import FARTHEST, hours_apart

Matrix = NDArray[np.float32]


@checked
def infer_any_block(
    power: Matrix,
    sky: SkyTable,
    *,
    net: bool,
    options: EngineOptions | None = None,
    timezone: str = "UTC",
    label_known: bool = True,
    places: Places | None = None,
) -> BlockEstimates:
    """Infer every system of a block, and as net meters those that count only what is left over.

    Parameters
    ----------
    power
        Readings on ``sky.grid``, NaN where there is none, shape (systems, intervals). [kW]
    sky
        The sky that they saw.
    net
        Whether they are generation less a household's load, all of them.
    options
        What is assumed and done.
    timezone
        The clock that the stamps were declared to be on.
    label_known
        Whether somebody said which instant of its interval a stamp names.
    places
        Where the systems stand, when that is not the sky's own place.

    Privacy
    -------
    None: estimates are as private as the readings.
    """
    infer_all = infer_net_block if net else infer_block
    found = infer_all(
        power, sky, options=options, timezone=timezone, label_known=label_known, places=places
    )
    if net:
        # what is taken from the grid is nowhere in such readings
        unseen = (found.outcome == INFERRED) & ~np.any(power < 0.0, axis=1)
        found.flags[:] |= flag_bits(Flag.EXPORTED_ONLY, unseen)
    elif len(left_over := np.flatnonzero(_exports_only(found))):
        again = infer_net_block(
            power[left_over],
            sky,
            options=options,
            timezone=timezone,
            label_known=label_known,
            places=None if places is None else places.take(left_over),
        )
        told = again.outcome == INFERRED
        again.flags[:] |= flag_bits(Flag.EXPORTED_ONLY, told)
        found.put(left_over, again)
        refused = left_over[~told]
        found.put(refused, not_inferred(np.full(len(refused), EXPORTED_ONLY), found.lit[refused]))
    _refuse_far_clocks(found, timezone, sky, places, force=options is not None and options.force)
    return found


def _refuse_far_clocks(
    found: BlockEstimates, timezone: str, sky: SkyTable, places: Places | None, *, force: bool
) -> None:
    """Refuse repairs by hours of clocks that do not speak for the place, or flag them if forced.

    Stamps in UTC look the same as a system that stands elsewhere.
    """
    longitude = sky.site.longitude if places is None else places.longitude
    vouched = hours_apart(timezone, longitude) <= FARTHEST
    at_best = [
        min(abs(each) for each in (offset, *(step.offset_minutes for step in steps)))
        for offset, steps in zip(found.clock_offset_minutes, found.clock_steps, strict=True)
    ]
    far = (found.outcome == INFERRED) & ~vouched & (np.array(at_best) >= FAR_MINUTES)
    if force:
        found.flags[:] |= flag_bits(Flag.WRONG_PLACE, far)
    else:
        refused = np.flatnonzero(far)
        found.put(refused, not_inferred(np.full(len(refused), WRONG_PLACE), found.lit[refused]))


def _exports_only(found: BlockEstimates) -> NDArray[np.bool_]:
    """Return which systems count only what a household leaves over, refused or forced."""
    forced = flag_bits(Flag.EXPORTED_ONLY, np.ones(1, dtype=bool))[0]
    return np.asarray((found.outcome == EXPORTED_ONLY) | (found.flags & forced > 0))
