"""Compiling the kernels before they are needed: once on a machine, and before workers start."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np

from sunveil.checked import checked
from sunveil.engine.assumed import EngineOptions
from sunveil.engine.block import infer_block
from sunveil.engine.envelope import points_of, profiles_of
from sunveil.engine.net_block import infer_net_block
from sunveil.engine.pair_fit import PAIR_PARAMETERS, linearised
from sunveil.engine.prepared import prepare
from sunveil.engine.robust import FittedReadings
from sunveil.engine.skytable import make_sky_table
from sunveil.grids import Grid
from sunveil.site import Site
from sunveil.timegrid import TimeGrid

NOTICE = "Compiling the engine: this takes about half a minute, once on this machine."
# Kernels that were compiled before are loaded within this time. [s]
_PATIENCE = 3.0
_GRID = TimeGrid(1559347200, 3600, 40 * 24)


@checked
def compile_kernels(say: Callable[[str], None] | None = None, *, net: bool = True) -> None:
    """Compile the kernels of the engine, or load them where this was done before.

    Two made-up systems are inferred, one of them with a wrong clock, one also behind a net meter,
    and two planes are modelled.

    Parameters
    ----------
    say
        Told :data:`NOTICE` when it takes long, which means that kernels are really compiled.
    net
        Whether there are net meters, whose kernels take as long again.
    """
    timer = threading.Timer(_PATIENCE, say or (lambda _: None), (NOTICE,))
    timer.daemon = True
    timer.start()
    try:
        options = EngineOptions()
        sky = make_sky_table(Site(40.0, 0.0, 0.0), _GRID)
        plane = points_of(Grid(np.array([180.0]), np.array([30.0])))
        power = np.zeros((2, _GRID.count), dtype=np.float32)
        numbers = prepare(sky, options).numbers
        power[:, sky.slot[: sky.usable]] = profiles_of(sky.sheet, plane, numbers)[0, : sky.usable]
        power[1] = np.roll(power[1], 2)
        infer_block(power, sky, options=options)
        if net:
            infer_net_block(power[:1] - np.float32(0.1), sky, options=options)
        nothing = np.zeros(sky.sheet.shape[0] * sky.sheet.shape[2], dtype=np.float32)
        silent = FittedReadings(sky.sheet, nothing, nothing, 1.0, 1.0, numbers)
        linearised(np.zeros(PAIR_PARAMETERS), silent)
    finally:
        timer.cancel()
