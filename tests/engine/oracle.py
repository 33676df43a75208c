"""The oracle of the engine's kernels: model and fit, stated plainly in numpy.

The power of a point is :func:`sunveil.sky.unit_power` at the two instants that stand for each
interval; derivatives are differences; a fit is Gauss-Newton with Welsch's weights and two priors.
Nothing of it is compiled, thinned, or laid out in blocks, and no skill of the kernels is used.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from engine_makers import point_of

from sunveil.engine.assumed import ERRORS, EngineOptions, numbers_of
from sunveil.engine.model import CAPACITY, HAZE, HEAT, LIMIT, NO_LIMIT, PARAMETERS
from sunveil.engine.skytable import NODES, SkyTable, _clear_nodes, _clear_over
from sunveil.site import Array, Losses, normals
from sunveil.sky import Sky, sky_at, unit_power

# Differences by which derivatives are told: degrees, logarithms, turbidity, heat.
DIFFERENCES = np.array([0.02, 0.02, 1e-4, 0.01, 0.01, 1e-4])


@dataclass(frozen=True)
class Oracle:
    """The sky at the two instants of each usable interval of a table."""

    nodes: tuple[Sky, Sky]
    clear: bool

    def power(self, point: Array) -> Array:
        """Return the mean power of a point over each interval, its limit applied. [kW]"""
        tilt = np.hypot(point[0], point[1])
        normal = normals(np.array([np.degrees(np.arctan2(point[0], point[1]))]), np.array([tilt]))
        free = np.mean(
            [
                unit_power(sky.hazier(point[HAZE]), normal, losses=Losses(), heat=point[HEAT])[0]
                for sky in self.nodes
            ],
            axis=0,
        )
        return np.minimum(np.exp(point[CAPACITY]) * free, np.exp(point[LIMIT]))

    def deviation(self, model: Array, bright: float, widen: float = 1.0) -> Array:
        """Return the standard deviation of each reading's error. [kW]"""
        hidden = np.maximum(1.0 - np.mean([sky.clearness for sky in self.nodes], axis=0), 0.0)
        relative = np.hypot(ERRORS.relative * widen, ERRORS.cloud * hidden)
        return np.hypot(relative * model, ERRORS.absolute * widen * bright)

    def slopes(self, point: Array) -> Array:
        """Return the derivatives of the power by the six parameters, shape (6, n). [kW]"""
        out = []
        for place in range(PARAMETERS):
            step = DIFFERENCES * (np.arange(PARAMETERS) == place)
            out.append((self.power(point + step) - self.power(point - step)) / (2.0 * step[place]))
        return np.array(out)

    def fit(self, power: Array, start: Array, *, widen: float = 1.0, steps: int = 60) -> Array:
        """Return the point that fits readings best near a start; NaN where there is no reading."""
        have = np.isfinite(power)
        readings = np.where(have, power, 0.0)
        bright = float(np.quantile(power[have], 0.98))
        priors = numbers_of(EngineOptions(), clear=self.clear)
        free = np.arange(PARAMETERS if start[LIMIT] < NO_LIMIT else PARAMETERS - 1)
        point = start.copy()
        for _ in range(steps):
            model = self.power(point)
            scale = self.deviation(model, bright, widen)
            residual = (readings - model) / scale
            weight = have * np.exp(-0.5 * (residual / ERRORS.reach) ** 2)
            weight[model < priors.dimmest * bright] = 0.0
            jacobian = (self.slopes(point) / scale)[free].T
            information = (jacobian * weight[:, None]).T @ jacobian / ERRORS.correlated
            gradient = jacobian.T @ (weight * residual) / ERRORS.correlated
            for place, mean, deviation in (
                (HAZE, priors.haze_mean, priors.haze_deviation),
                (HEAT, priors.heat_mean, priors.heat_deviation),
            ):
                information[place, place] += deviation**-2
                gradient[place] -= (point[place] - mean) / deviation**2
            if len(free) == PARAMETERS:
                information[LIMIT, LIMIT] += 1e-3
            step = np.linalg.solve(information, gradient)
            step *= min(1.0, 8.0 / max(float(np.hypot(step[0], step[1])), 1e-9))
            point[free] += step
            if np.abs(step).max() < 1e-4:
                break
        return point


def oracle_of(table: SkyTable) -> Oracle:
    """Return the oracle of a table, under the clear sky or under its weather."""
    starts, step = table.grid.long.starts[table.slot[: table.usable]], table.grid.long.step
    instants = [starts + round(node * step) for node in NODES]
    if table.weather is None:
        early, late = _clear_nodes(table.site, starts, step)
    else:
        clear = _clear_over(table.weather, starts, step)
        early, late = (
            sky_at(table.weather, each.astype("datetime64[s]"), clear) for each in instants
        )
    return Oracle((early, late), table.clear)


def angle_between(one: Array, other: Array) -> float:
    """Return the angle between the planes of two points. [degrees]"""
    both = np.array([one, other])
    azimuth = np.degrees(np.arctan2(both[:, 0], both[:, 1]))
    first, second = normals(azimuth, np.hypot(both[:, 0], both[:, 1]))
    return float(np.degrees(np.arccos(np.clip(first @ second, -1.0, 1.0))))


def best_plane(oracle: Oracle, power: Array, *, widen: float = 1.5) -> Array:
    """Return the best fit whatever the start: from planes all around, on every seventh reading."""
    some = np.where(np.arange(len(power)) % 7 == 0, power, np.nan)
    capacity = float(np.nanquantile(power, 0.98)) / 0.75
    best, most = None, -1.0
    for azimuth in (90.0, 180.0, 270.0):
        point = oracle.fit(
            some, point_of(azimuth, 25.0, capacity, haze=-0.2, heat=1.25), widen=widen
        )
        model = oracle.power(point)
        far = (power - model) / oracle.deviation(model, float(np.nanquantile(power, 0.98)))
        explained = np.nansum(np.exp(-0.5 * (far / ERRORS.reach) ** 2) * power)
        if explained > most:
            best, most = point, float(explained)
    assert best is not None
    return oracle.fit(power, oracle.fit(power, best, widen=widen))
