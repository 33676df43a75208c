"""Continuous refinement of a plane, a capacity and the haze by robust least squares.

The residual of a reading is weighed by a model of its error, and readings that do not agree
(clouds, shade, snow, outages) lose their say smoothly: iteratively reweighted Gauss-Newton with
Welsch's weights, the error's scale narrowing as the fit closes in.

A plane is carried as the vector ``tilt · (sin azimuth, cos azimuth)``: unlike the azimuth itself,
it has no seam at north and does not lose its meaning when the plane is flat.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sunveil.fit.daylight import Daylight
from sunveil.fit.shared import DIMMEST, STEPS, ErrorModel
from sunveil.site import Array, Losses, Plane, normals
from sunveil.sky import Sky, unit_power

STEEPEST = 89.9
NAMES = ("east", "north", "log_capacity", "haze", "heat", "log_limit")


@dataclass(frozen=True, slots=True)
class Point:
    """A plane, a capacity, the haze and the inverter's limit, as the fit carries them."""

    east: float
    north: float
    log_capacity: float
    haze: float = 0.0
    heat: float = 1.0
    log_limit: float = float("inf")

    @classmethod
    def of(
        cls,
        plane: Plane,
        capacity: float,
        *,
        haze: float = 0.0,
        heat: float = 1.0,
        limit: float = float("inf"),
    ) -> Point:
        """Return the point of a plane and a capacity."""
        azimuth = np.radians(plane.surface_azimuth)
        return cls(
            east=plane.surface_tilt * float(np.sin(azimuth)),
            north=plane.surface_tilt * float(np.cos(azimuth)),
            log_capacity=float(np.log(capacity)),
            haze=haze,
            heat=heat,
            log_limit=float(np.log(limit)),
        )

    @property
    def plane(self) -> Plane:
        """The plane of the point."""
        tilt = min(float(np.hypot(self.east, self.north)), 90.0)
        return Plane(float(np.degrees(np.arctan2(self.east, self.north))), tilt)

    @property
    def capacity(self) -> float:
        """DC capacity [kW]."""
        return float(np.exp(self.log_capacity))

    @property
    def limit(self) -> float:
        """The inverter's limit, infinite when there is none [kW]."""
        return float(np.exp(self.log_limit))

    def to_array(self) -> Array:
        """Return the six numbers in the order of ``NAMES``."""
        return np.array([getattr(self, name) for name in NAMES])

    @classmethod
    def from_array(cls, values: Array) -> Point:
        """Return the point of six numbers, its tilt brought below the vertical."""
        east, north, *rest = (float(v) for v in values)
        tilt = float(np.hypot(east, north))
        if tilt > STEEPEST:
            east, north = east * STEEPEST / tilt, north * STEEPEST / tilt
        return cls(east, north, *rest)


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """Where a refinement ended.

    Parameters
    ----------
    point
        The best point.
    power
        Measured power of each reading. [kW]
    modelled
        Modelled power of each reading. [kW]
    scale
        Standard deviation of each reading's error. [kW]
    weight
        The say that each reading has left, in [0, 1].
    residual
        Residual of each reading, in standard deviations.
    jacobian
        Derivative of the residuals' model by the free parameters.
    information
        The matrix of the last normal equations, prior included.
    free
        Which parameters were free.
    """

    point: Point
    power: Array
    modelled: Array
    scale: Array
    weight: Array
    residual: Array
    jacobian: Array
    information: Array
    free: tuple[int, ...]

    @property
    def objective(self) -> float:
        """Share of the measured energy that the point explains: higher is better."""
        return float(self.weight @ self.power / self.power.sum())


def hazy_nodes(data: Daylight, haze: float) -> tuple[Sky, ...]:
    """Return the skies at the nodes of the intervals under some haze."""
    return tuple(sky.hazier(haze) for sky in data.nodes)


def modelled_power(
    data: Daylight,
    point: Point,
    *,
    losses: Losses,
    albedo: float,
    skies: tuple[Sky, ...] | None = None,
) -> Array:
    """Return the mean power that a point would give over each interval. [kW]

    Parameters
    ----------
    data
        The readings and the sky they saw.
    point
        The point.
    losses, albedo
        What is assumed.
    skies
        The skies under the point's haze, where they are known already.
    """
    plane = point.plane
    normal = normals(np.array([plane.surface_azimuth]), np.array([plane.surface_tilt]))
    total = np.zeros(len(data))
    skies = skies if skies is not None else hazy_nodes(data, point.haze)
    for sky, weight in zip(skies, data.weights, strict=True):
        power = unit_power(sky, normal, losses=losses, albedo=albedo, heat=point.heat)
        total += weight * power[0]
    total *= point.capacity
    return np.minimum(total, point.limit)


def refine(
    data: Daylight,
    start: Point,
    *,
    losses: Losses,
    albedo: float = 0.2,
    errors: ErrorModel | None = None,
    scales: tuple[float, ...] = (1.5, 1.0),
    iterations: int = 10,
    bright: float | None = None,
    hidden: NDArray[np.bool_] | None = None,
) -> Fit:
    """Refine a point against all readings at once.

    Parameters
    ----------
    data
        The readings and their skies.
    start
        Where to start; the limit is free when it is finite.
    losses, albedo
        What is assumed.
    errors
        The model of errors.
    scales
        Multiples of the errors' scale, from wide to narrow.
    iterations
        Most steps at each scale.
    bright
        The record's bright power, which the absolute error refers to. [kW]
    hidden
        Readings that have no say: something hides the sun from the plane.
    """
    errors = errors or ErrorModel()
    bright = bright if bright is not None else bright_power(data.power)
    free = (0, 1, 2, 3, 4, 5) if np.isfinite(start.log_limit) else (0, 1, 2, 3, 4)
    point = start
    for scale in scales:
        for _ in range(iterations):
            fit = linearise(
                data,
                point,
                losses=losses,
                albedo=albedo,
                errors=replace(
                    errors,
                    relative=errors.relative * scale,
                    absolute=errors.absolute * scale,
                ),
                bright=bright,
                free=free,
                hidden=hidden,
            )
            step = _step(fit, errors)
            point = Point.from_array(point.to_array() + step)
            if np.abs(step / STEPS).max() < 0.1:
                break
    return replace(fit, point=point)


def bright_power(power: Array) -> float:
    """Return the power that only bright readings reach: the 98th percentile of daylight. [kW]"""
    return float(np.quantile(power, 0.98))


def linearise(
    data: Daylight,
    point: Point,
    *,
    losses: Losses,
    albedo: float,
    errors: ErrorModel,
    bright: float,
    free: tuple[int, ...],
    hidden: NDArray[np.bool_] | None = None,
) -> Fit:
    """Return residuals, weights and derivatives at a point."""
    skies = hazy_nodes(data, point.haze)
    modelled = modelled_power(data, point, losses=losses, albedo=albedo, skies=skies)
    cloud = errors.cloud * np.maximum(1.0 - data.middle.clearness, 0.0)
    scale = np.hypot(np.hypot(errors.relative, cloud) * modelled, errors.absolute * bright)
    residual = (data.power - modelled) / scale
    weight = np.exp(-0.5 * (residual / errors.reach) ** 2)
    weight[modelled < DIMMEST * bright] = 0.0
    if hidden is not None:
        weight[hidden] = 0.0
    values = point.to_array()
    jacobian = np.empty((len(data), len(free)))
    for column, index in enumerate(free):
        if index == 2:
            jacobian[:, column] = np.where(modelled < point.limit, modelled, 0.0) / scale
            continue
        if index == 5:
            jacobian[:, column] = np.where(modelled < point.limit, 0.0, modelled) / scale
            continue
        moved = values.copy()
        moved[index] += STEPS[index]
        other = modelled_power(
            data,
            Point(*moved),
            losses=losses,
            albedo=albedo,
            skies=None if NAMES[index] == "haze" else skies,
        )
        jacobian[:, column] = (other - modelled) / (STEPS[index] * scale)
    information = (jacobian * weight[:, None]).T @ jacobian / errors.together
    for index, (_, deviation) in errors.priors.items():
        if index in free:
            information[free.index(index), free.index(index)] += deviation**-2
    if 5 in free:
        # the limit has no prior, but nothing may reach it on the way there
        information[free.index(5), free.index(5)] += 1e-3
    return Fit(point, data.power, modelled, scale, weight, residual, jacobian, information, free)


def _step(fit: Fit, errors: ErrorModel) -> Array:
    """Return the damped Gauss-Newton step, zero for fixed parameters."""
    gradient = fit.jacobian.T @ (fit.weight * fit.residual) / errors.together
    values = fit.point.to_array()
    for index, (mean, deviation) in errors.priors.items():
        if index in fit.free:
            gradient[fit.free.index(index)] -= (values[index] - mean) / deviation**2
    damped = fit.information + 1e-6 * np.diag(np.diag(fit.information) + 1e-12)
    step = np.linalg.solve(damped, gradient)
    length = float(np.hypot(step[0], step[1])) if fit.free[:2] == (0, 1) else 0.0
    if length > 8.0:
        step *= 8.0 / length
    out = np.zeros(len(STEPS))
    out[list(fit.free)] = step
    return out
