"""Final fit on clear days."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.clear_days import ClearDays, find_clear_days
from sunveil.engine.coarse_search import BlockReadings, Searched, modelled_power, padded, run_refine
from sunveil.engine.constants import (
    AGREEING_ABOVE,
    AGREES_WITHIN,
    DIMMEST,
    ERRORS,
    SystematicErrors,
)
from sunveil.engine.intervals import covariances
from sunveil.engine.one_or_two_planes import BEYOND_DOUBT, ENOUGH, screen, several_planes
from sunveil.engine.power_model import LIMIT, NO_LIMIT, PARAMETERS, UNLIMITED, Sheet, inform
from sunveil.engine.shading import WORTH_LEAVING_OUT, PreparedSky, Shade, find_shade, shares_for
from sunveil.estimates.planes_and_intervals import COLUMNS
from sunveil.site import Array

Matrix = NDArray[np.float32]

# Most steps of a fit.
STEPS = 10

# Rounds of looking for what hides the sun.
ROUNDS = 2

# Whether it is one plane is asked of readings that count at least so much.
CLEAR_ENOUGH = 0.1

# A limit that no model comes this close to is none.
REACHED = 0.98


@dataclass(frozen=True, slots=True, eq=False)
class FinalFit:
    """Where the fits of a block ended: private."""

    searched: Searched  # where they began
    prepared: PreparedSky  # the sky
    points: Array  # where they ended, shape (systems, PARAMETERS)
    model: Matrix  # [kW] modelled power at all usable intervals, padded, shape (systems, padded)
    days: ClearDays  # how much each reading counts by how clear its day is
    kept: Matrix  # the same without readings with a hidden sun, shape (systems, padded)
    skyline: Matrix  # [degrees]

    def agreement(self) -> Array:
        """Return the share of each system's bright readings within 15% of the model."""
        readings, model = self.searched.readings, self.model
        floor = (AGREEING_ABOVE * readings.bright).astype(np.float32)[:, None]
        bright = (readings.have > 0.0) & (model > floor)
        close = bright & (np.abs(readings.power - model) <= np.float32(AGREES_WITHIN) * model)
        return np.asarray(close.sum(axis=1) / np.maximum(bright.sum(axis=1), 1))

    def clipped(self) -> Array:
        """Return the share of each system's readings that are at its limit."""
        ceiling = 0.99 * np.exp(np.minimum(self.points[:, LIMIT], NO_LIMIT))
        at = (self.model >= ceiling[:, None]) & (self.searched.readings.have > 0.0)
        return np.asarray(at.sum(axis=1) / np.maximum(self.searched.readings.count, 1))

    def suspects(self) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Return the systems that may not be one fixed plane, and which of them cannot be one."""
        readings, numbers = self.searched.readings, self.prepared.numbers
        groups, probe = self.prepared.probe
        suspect, shares = screen(
            self.searched.envelope[:, groups],
            readings.bright,
            self.points,
            sheet=probe,
            numbers=numbers,
        )
        counts, gain = shares_for(ENOUGH, readings.count), np.zeros(len(suspect))
        for share in np.unique(counts[suspect]):
            here = np.flatnonzero(suspect & (counts == share))
            power, _, sheet = self.clear_readings(here, self.kept[here], float(share))
            suspect[here], gain[here] = several_planes(
                power,
                readings.bright[here],
                self.points[here],
                shares[here],
                sheet=sheet,
                numbers=numbers,
            )
        systems = np.flatnonzero(suspect)
        return systems, gain[systems] >= BEYOND_DOUBT

    def clear_readings(
        self, systems: NDArray[np.intp], kept: Matrix, share: float
    ) -> tuple[Matrix, NDArray[np.int32], Sheet]:
        """Return readings of clear days, zero for the others, with their places and their sky."""
        places, sheet = self.prepared.part(share)
        power = self.searched.readings.thinned(places, systems)[0]
        return power * (padded(kept[:, places]) >= CLEAR_ENOUGH), places, sheet

    def covariances(self, errors: SystematicErrors) -> Array:
        """Return the covariance of each system's parameters, without what its years show."""
        size = len(self.points)
        before, after, minutes = self.prepared.neighbours
        shifts = (self.model[:, after] - self.model[:, before]) / minutes
        found = (
            np.empty((size, PARAMETERS, PARAMETERS)),
            np.empty((size, PARAMETERS, PARAMETERS)),
            np.empty((size, PARAMETERS)),
        )
        inform(
            self.prepared.sky.sheet,
            self.searched.readings.power,
            self.kept,
            self.searched.readings.bright,
            self.points,
            self.prepared.numbers,
            ERRORS.correlated,
            padded(shifts),
            self.prepared.spans,
            found,
        )
        return covariances(self.points, *found, correlated=ERRORS.correlated, errors=errors)


def fit_finally(searched: Searched, prepared: PreparedSky) -> FinalFit:
    """Refine what a search found."""
    readings = searched.readings
    model = modelled_power(searched.points, prepared)
    days = find_clear_days(readings, model, prepared)
    skyline = np.zeros((len(model), COLUMNS), dtype=np.float32)
    kept = days.weights.copy()
    fit = FinalFit(searched, prepared, searched.points.copy(), model, days, kept, skyline)
    _refine_unhidden(fit, np.arange(len(fit.points)))
    # a pile of readings that no model reaches is not a limit
    most = (fit.model * readings.have).max(axis=1)
    limit = fit.points[:, LIMIT]
    idle = np.flatnonzero(
        (limit < NO_LIMIT) & (most < REACHED * np.exp(np.minimum(limit, NO_LIMIT)))
    )
    if len(idle):
        fit.points[idle, LIMIT] = UNLIMITED
        _refine_unhidden(fit, idle)
    return fit


def _refine_unhidden(fit: FinalFit, systems: NDArray[np.intp]) -> None:
    """Refine some systems, find what hides the sun from each, and refine again without it."""
    fit.kept[systems] = fit.days.weights[systems]
    for again in range(ROUNDS + 1):
        every = len(systems) == len(fit.points)
        readings = fit.searched.readings if every else fit.searched.readings.take(systems)
        points = fit.points[systems]
        run_refine(
            fit.prepared,
            fit.prepared.sky.sheet,
            (readings.power, fit.kept if every else fit.kept[systems]),
            readings.bright,
            points,
            share=1.0,
            most=STEPS,
        )
        model = modelled_power(points, fit.prepared)
        fit.points[systems], fit.model[systems] = points, model
        if again == ROUNDS:
            break
        shade, worth = _shade(readings, model, fit.prepared)
        systems = systems[worth]
        if not len(systems):
            break
        fit.kept[systems] = fit.days.weights[systems] * shade.kept[worth]
        fit.skyline[systems] = shade.skyline[worth]


def unhidden(
    readings: BlockReadings, model: Matrix, prepared: PreparedSky
) -> tuple[Matrix, Matrix]:
    """Return how much readings count by a model's own clear days and shade, and that skyline."""
    say = find_clear_days(readings, model, prepared).weights
    shade, worth = _shade(readings, model, prepared)
    say[worth] *= shade.kept[worth]
    return say, np.where(worth[:, None], shade.skyline, np.float32(0.0))


def _shade(
    readings: BlockReadings, model: Matrix, prepared: PreparedSky
) -> tuple[Shade, NDArray[np.bool_]]:
    """Return what hides the sun by a model, and which systems have enough of it to leave out."""
    shade = find_shade(
        readings.power,
        readings.have,
        model,
        dimmest=DIMMEST * readings.bright,
        patch=prepared.patch,
    )
    return shade, shade.share >= WORTH_LEAVING_OUT
