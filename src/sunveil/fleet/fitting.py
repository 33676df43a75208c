"""Fitting matrices, cell by cell; one system that cannot be fitted leaves the others alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sunveil.engine import (
    BlockEstimates,
    Clock,
    EngineOptions,
    SkyTable,
    infer_any_block,
    reason,
)
from sunveil.engine.metering import flag_units
from sunveil.engine.outcomes import NO_WEATHER
from sunveil.errors import SunveilError, in_words
from sunveil.fleet.blocks import BlockFrame, Matrix
from sunveil.fleet.job import RunContext
from sunveil.fleet.scatter import Power
from sunveil.fleet.systems import RefusedSystem
from sunveil.meters.read import failed


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """Inferred systems of one frame: their numbers in the table, and their estimates."""

    frame: BlockFrame
    systems: NDArray[np.int32]
    fit: BlockEstimates


def fit_matrix(matrix: Matrix, context: RunContext) -> Iterator[Fitted | RefusedSystem]:
    """Yield the estimates of a matrix, cell by cell, and the systems that have none."""
    settings = context.job.settings
    options = EngineOptions(
        clock=Clock(settings.clock),
        losses=settings.losses,
        albedo=settings.albedo,
        mount=settings.mount,
        force=settings.force,
    )
    code = context.cells.of[matrix.systems]
    if not len(code):
        return
    edges = np.flatnonzero(np.r_[True, code[1:] != code[:-1], True])
    for start, end in pairwise(edges.tolist()):
        numbers = matrix.systems[start:end]
        try:
            cell = int(code[start])
            # servers are asked for the centres of cells, whose answers other runs share
            clear = settings.weather == "clearsky"
            site = context.cells.sites[cell] if clear else context.cells.cells[cell].site
            sky = context.skies.over(site, matrix.frame.axis)
        except SunveilError as error:
            for number in numbers:
                yield RefusedSystem(context.names[number], "weather", str(error))
            continue
        for fitted in _fits(matrix.power[start:end], numbers, sky, matrix.frame, options, context):
            yield from _told(fitted, sky, context) if isinstance(fitted, Fitted) else [fitted]


def _fits(
    power: Power,
    numbers: NDArray[np.int32],
    sky: SkyTable,
    frame: BlockFrame,
    options: EngineOptions,
    context: RunContext,
) -> Iterator[Fitted | RefusedSystem]:
    try:
        fit = infer_any_block(
            power,
            sky,
            net=frame.net,
            options=options,
            timezone=frame.timezone,
            label_known=frame.label_known,
            places=context.systems.places(numbers),
        )
    except Exception as error:  # one bad system never stops a fleet: find out which it is
        if len(numbers) == 1:
            name = context.names[numbers[0]]
            told = isinstance(error, SunveilError)
            yield RefusedSystem(name, "failed", str(error)) if told else failed(name, error)
            return
        for row in range(len(numbers)):
            alone = slice(row, row + 1)
            yield from _fits(power[alone], numbers[alone], sky, frame, options, context)
    else:
        flag_units(fit)
        yield Fitted(frame, numbers, fit)


def _told(fitted: Fitted, sky: SkyTable, context: RunContext) -> Iterator[Fitted | RefusedSystem]:
    """Part the systems that were inferred from those that could not be."""
    fit = fitted.fit
    good = fit.outcome == 0
    for row in np.flatnonzero(~good):
        name = context.names[fitted.systems[row]]
        told = in_words(reason(int(fit.outcome[row]), int(fit.lit[row]), source=sky.source))
        kind = "weather" if fit.outcome[row] == NO_WEATHER else "too little data"
        yield RefusedSystem(name, kind, f"system {name}: {told}")
    if good.all():
        yield fitted
    elif good.any():
        kept = fit.take(good)
        yield Fitted(fitted.frame, fitted.systems[good], kept)
