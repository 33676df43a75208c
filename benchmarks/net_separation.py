"""Contextually supervised source separation of a net meter, as its papers have it.

Wytock and Kolter (AAAI 2014, arXiv 1312.5023) split a signal into sources: each has features, its
values are to be close to a linear function of them, and both are found together by one convex
problem,

    minimise  sum_i  l_i(y_i, X_i theta_i) + g_i(y_i) + h_i(theta_i)   with   sum_i y_i = signal.

Kara et al. (2016, arXiv 1607.02919) and Tabone, Kiliccote and Kara (BuildSys 2018, doi
10.1145/3276774.3276776) apply it to solar generation, the latter behind single meters: two sources,
squared losses weighted by how well each source follows its features, load and generation at least
zero; features of the generation are metered systems or irradiance of the same region, those of the
load are hours of the day and temperature.

What they leave open was chosen so, before it was tried, and never by a label:

- features of the load: each hour of the day, by itself and times bumps over temperature, which is
  Sunveil's climate, for none was measured here;
- features of the generation, in two ways: the metered PV of all *other* homes, which the papers ask
  for and Sunveil is not given; or, as where nobody meters any, the clear sky's power on planes of
  eight azimuths and two tilts, the sky that Sunveil has. Their coefficients are at least zero;
- weights: one over the variance of what each source's features leave, of the load at night, where
  nothing is generated, and of the generation what daylight leaves beyond that, at least 1% of the
  mean reading squared, as in Tabone et al.'s code; settled in three rounds;
- nothing is generated while the sun is down; and of g and h there is only the ridge that keeps the
  linear systems solvable.

With squared losses the generation that is best for given coefficients is known in closed form, and
the coefficients for given generation are two least squares: they are solved in turns, which for a
convex problem ends at its minimum. Plane and capacity are what Sunveil's engine for gross meters
finds in the separated generation.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.optimize import nnls

from sunveil.pv_model import ac_power, sky_at
from sunveil.site import Array, Plane, Site
from sunveil.weather import get_weather
from sunveil.weather.climate_normals import climate_temperature

HALF_HOUR = pd.Timedelta(minutes=30)
AZIMUTHS, TILTS = np.arange(0.0, 360.0, 45.0), (15.0, 35.0)
BUMPS = 3
ROUNDS, TURNS = 3, 200
RIDGE = 1e-6
LEAST_DEVIATION = 0.01
SUN_UP = 90.0


def separate_by_context(net: pd.Series, site: Site, features: Array) -> pd.Series:
    """Return the generation that contextually supervised separation finds in a net meter. [kW]

    Parameters
    ----------
    net
        Generation less load, hourly, stamped at the start on the household's clock. [kW]
    site
        Where it is.
    features
        Of the generation, shape (readings, features).
    """
    middles = (net.index + HALF_HOUR).tz_convert("UTC")
    up = (site.sun(middles)["apparent_zenith"] < SUN_UP).to_numpy()
    read = net.to_numpy(dtype=float)
    load_features = _load_features(net.index, climate_temperature(site, middles))
    solver = _LoadSolver(load_features)
    least = (LEAST_DEVIATION * np.abs(read).mean()) ** 2
    weights = (1.0, 1.0)
    made = np.where(up, np.maximum(read, 0.0), 0.0)
    for _ in range(ROUNDS):
        for _ in range(TURNS):
            solar = _solar(features[up], made[up])
            taken = solver.fitted(made - read)
            best = (weights[0] * solar + weights[1] * (read + taken)[up]) / sum(weights)
            made[up] = np.maximum(best, np.maximum(read[up], 0.0))
        left = np.zeros(len(read))
        left[up] = solar
        left = read - (left - taken)
        of_load = max(float(np.var(left[~up])), least)
        of_solar = max(float(np.var(left[up])) - of_load, least)
        weights = (1.0 / of_solar, 1.0 / of_load)
    return pd.Series(made, index=net.index)


def clear_sky_features(net: pd.Series, site: Site) -> Array:
    """Return what a kilowatt on each of some planes gives under the clear sky, by reading."""
    middles = (net.index + HALF_HOUR).tz_convert("UTC")
    day = pd.Timedelta(days=1)
    sky = sky_at(
        get_weather("clearsky", site, middles[0] - day, middles[-1] + day),
        middles.tz_localize(None).to_numpy(),
    )
    planes = [Plane(float(azimuth), tilt) for azimuth in AZIMUTHS for tilt in TILTS]
    return ac_power(sky, np.array([each.normal for each in planes])).T


class _LoadSolver:
    """The least squares of a load on its features, whose matrix is factored once."""

    def __init__(self, features: Array) -> None:
        self.features = features
        gram = features.T @ features
        ridge = RIDGE * np.trace(gram) / len(gram) * np.eye(len(gram))
        self.solve = np.linalg.inv(gram + ridge) @ features.T

    def fitted(self, load: Array) -> Array:
        """Return what the features say of a load."""
        return np.asarray(self.features @ (self.solve @ load))


def _load_features(times: pd.DatetimeIndex, warmth: Array) -> Array:
    """Return each hour of the day, alone and times bumps over temperature."""
    hours = np.eye(24)[times.hour.to_numpy()]
    low, high = np.quantile(warmth, [0.02, 0.98])
    centres = np.linspace(low, high, BUMPS)
    width = (high - low) / (BUMPS - 1)
    bumps = np.exp(-0.5 * ((warmth[:, None] - centres) / width) ** 2)
    return np.hstack([hours, *(hours * bump[:, None] for bump in bumps.T)])


def _solar(features: Array, made: Array) -> Array:
    """Return what features with coefficients of at least zero say of a generation."""
    gram, right = features.T @ features, features.T @ made
    root = np.linalg.cholesky(gram + RIDGE * np.trace(gram) / len(gram) * np.eye(len(gram)))
    theta, _ = nnls(root.T, np.linalg.solve(root, right))
    return np.asarray(features @ theta)
