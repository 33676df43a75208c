"""The oracle of the engine's kernels: model and fit, stated plainly in numpy.

The power of a point is :func:`sunveil.pv_model.ac_power` at the two instants that stand for each
interval; derivatives are differences; a fit is Gauss-Newton with Welsch's weights and three priors.
Nothing of it is compiled, thinned, or laid out in blocks, and no skill of the kernels is used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from engine_makers import point_of
from numpy.typing import NDArray

from sunveil.engine import InferOptions, SkyTable
from sunveil.engine.constants import ERRORS, numbers_of
from sunveil.engine.power_model import (
    CAPACITY,
    HAZE,
    HAZE_SEASON,
    HEAT,
    LIMIT,
    NO_LIMIT,
    PARAMETERS,
)
from sunveil.engine.sky_tables import NODES, _clear_nodes, _clear_over
from sunveil.pv_model import LOWEST_SUN, Sky, ac_power, sky_at
from sunveil.site import Array, Losses, normals

# Differences by which derivatives are told: degrees, logarithm, turbidity, heat, turbidity again,
# logarithm.
DIFFERENCES = np.array([0.02, 0.02, 1e-4, 0.05, 0.01, 0.05, 1e-4])


@dataclass(frozen=True)
class Oracle:
    """The sky at the two instants of each usable interval of a table."""

    nodes: tuple[Sky, Sky]
    clear: bool
    season: Array

    @cached_property
    def hazy(self) -> tuple[Sky, Sky]:
        """The same, hazier by a turbidity of 1: asked for thousands of times in a fit."""
        early, late = (sky.hazier(1.0) for sky in self.nodes)
        return early, late

    def take(self, chosen: NDArray[np.intp]) -> Oracle:
        """Return the oracle of some of the intervals."""
        early, late = (sky.take(chosen) for sky in self.nodes)
        return Oracle((early, late), self.clear, self.season[chosen])

    def power(self, point: Array) -> Array:
        """Return the mean power of a point over each interval, its limit applied. [kW]"""
        tilt = np.hypot(point[0], point[1])
        normal = normals(np.array([np.degrees(np.arctan2(point[0], point[1]))]), np.array([tilt]))
        haze = point[HAZE] + point[HAZE_SEASON] * self.season
        free = np.mean(
            [
                ac_power(hazier(sky, one, haze), normal, losses=Losses(), heat=point[HEAT])[0]
                for sky, one in zip(self.nodes, self.hazy, strict=True)
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
        """Return the derivatives of the power by the parameters, shape (PARAMETERS, n). [kW]"""
        out = []
        for place in range(PARAMETERS):
            step = DIFFERENCES * (np.arange(PARAMETERS) == place)
            out.append((self.power(point + step) - self.power(point - step)) / (2.0 * step[place]))
        return np.array(out)

    def fit(
        self,
        power: Array,
        start: Array,
        *,
        say: Array | float = 1.0,
        widen: float = 1.0,
        steps: int = 60,
    ) -> Array:
        """Return the point that fits readings best near a start; NaN where there is no reading.

        ``say`` is how much each reading counts.
        """
        have = np.isfinite(power)
        readings = np.where(have, power, 0.0)
        bright = float(np.quantile(power[have], 0.98))
        priors = numbers_of(InferOptions(), clear=self.clear)
        free = np.arange(PARAMETERS if start[LIMIT] < NO_LIMIT else PARAMETERS - 1)
        point = start.copy()
        for _ in range(steps):
            model = self.power(point)
            scale = self.deviation(model, bright, widen)
            residual = (readings - model) / scale
            weight = say * have * np.exp(-0.5 * (residual / ERRORS.reach) ** 2)
            weight[model < priors.dimmest * bright] = 0.0
            jacobian = (self.slopes(point) / scale)[free].T
            information = (jacobian * weight[:, None]).T @ jacobian / ERRORS.correlated
            gradient = jacobian.T @ (weight * residual) / ERRORS.correlated
            for place, mean, deviation in (
                (HAZE, priors.haze_mean, priors.haze_deviation),
                (HEAT, priors.heat_mean, priors.heat_deviation),
                (HAZE_SEASON, 0.0, priors.season_deviation),
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


def hazier(sky: Sky, one: Sky, turbidity: Array) -> Sky:
    """Return a sky whose Linke turbidity is raised by an amount of its own at every instant.

    By Beer's law, from what :meth:`Sky.hazier` does for an amount of 1, which is ``one``.
    """
    dni, ghi = (
        now * np.divide(then, now, out=np.ones_like(now), where=now > 0.0) ** turbidity
        for now, then in ((sky.dni, one.dni), (sky.ghi, one.ghi))
    )
    up = np.maximum(sky.sun[:, 2], LOWEST_SUN)
    return replace(sky, dni=dni, ghi=ghi, dhi=np.maximum(ghi - dni * up, 0.3 * sky.dhi))


def northern_winter(starts: NDArray[np.int64]) -> Array:
    """Return 1 in the middle of January and -1 in that of July, for seconds since 1970."""
    stamps = pd.to_datetime(starts, unit="s")
    return np.cos(2.0 * np.pi * (stamps.day_of_year - 16 + stamps.hour / 24.0) / 365.25).to_numpy()


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
    return Oracle((early, late), table.clear, northern_winter(starts))


def angle_between(one: Array, other: Array) -> float:
    """Return the angle between the planes of two points. [degrees]"""
    both = np.array([one, other])
    azimuth = np.degrees(np.arctan2(both[:, 0], both[:, 1]))
    first, second = normals(azimuth, np.hypot(both[:, 0], both[:, 1]))
    return float(np.degrees(np.arccos(np.clip(first @ second, -1.0, 1.0))))


def best_plane(oracle: Oracle, power: Array, *, widen: float = 1.5) -> Array:
    """Return the best fit whatever the start: from planes all around, on every seventh reading."""
    some = np.arange(0, len(power), 7)
    capacity = float(np.nanquantile(power, 0.98)) / 0.75
    best, most = None, -1.0
    for azimuth in (90.0, 180.0, 270.0):
        start = point_of(azimuth, 25.0, capacity, haze=-0.2, heat=1.25)
        point = oracle.take(some).fit(power[some], start, widen=widen)
        model = oracle.power(point)
        far = (power - model) / oracle.deviation(model, float(np.nanquantile(power, 0.98)))
        explained = np.nansum(np.exp(-0.5 * (far / ERRORS.reach) ** 2) * power)
        if explained > most:
            best, most = point, float(explained)
    assert best is not None
    return oracle.fit(power, oracle.fit(power, best, widen=widen))
