"""What is not known besides the fleet: the model's error, and what weather does not say.

Each is a factor on the power, drawn once for every draw of the fleet or for every interval of it.
The numbers are stated here and on the page of the method.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.arguments import check_fields
from sunveil.power.mixture import SIZE_SPREAD
from sunveil.power.skies import DaylightSky
from sunveil.site import Array

# Of one system: what labelled real systems give against the model (releases/typical.json, model).
SYSTEM_ERROR = 0.07
# Of all systems together: 2% is the same over the root of the 14 real systems it was found on; 3%
# is what chains of physics scatter by that engineers use alike. Two of them, which share nothing
# but the weather, differ by 4% in energy (benchmarks/power_other.py), which is √2 deviations.
COMMON_ERROR = 0.035
# Of satellite or typical weather over a whole span: biases are said to be within 5%, taken for two
# deviations. Sengupta et al., "The National Solar Radiation Data Base (NSRDB)", Renewable and
# Sustainable Energy Reviews 89, 2018. DOI 10.1016/j.rser.2018.03.003
WEATHER_BIAS = 0.025
# Of single intervals, under a clear sky and under a closed one, and how long it lasts. [h]
CLEAR_ERROR, CLOUD_ERROR, LASTING = 0.04, 0.20, 1.0
# How far a year is from the typical one.
YEAR_ERROR = 0.04


@dataclass(frozen=True, slots=True)
class Unknowns:
    """Which errors beyond the publication's noise a band holds.

    Parameters
    ----------
    model
        Errors of the model of power.
    weather
        Errors of weather; none under a clear sky, where the band is of a day without clouds.
    """

    model: bool = True
    weather: bool = True

    def __post_init__(self) -> None:
        check_fields(self)

    def model_factors(self, draws: int, systems: Array, rng: np.random.Generator) -> Array:
        """Return the factor of every draw and group.

        Parameters
        ----------
        draws
            How many draws.
        systems
            How many systems each group has.
        rng
            Source of randomness.
        """
        if not self.model:
            return np.ones((draws, len(systems)))
        common = COMMON_ERROR * rng.standard_normal((draws, 1))
        counted = np.maximum(systems, 1.0) / (1.0 + SIZE_SPREAD**2)
        own = SYSTEM_ERROR / np.sqrt(counted) * rng.standard_normal((draws, len(systems)))
        return np.exp(common + own)

    def weather_factors(
        self, light: DaylightSky, draws: int, rng: np.random.Generator
    ) -> NDArray[np.float32] | None:
        """Return the factor of every daylight interval and draw; None where it is 1.

        Parameters
        ----------
        light
            The sky.
        draws
            How many draws.
        rng
            Source of randomness.
        """
        if not self.weather or light.weather.clear:
            return None
        slow = np.hypot(WEATHER_BIAS, YEAR_ERROR if light.weather.typical else 0.0)
        out = np.empty((len(light.lit), draws), dtype=np.float32)
        steps = np.diff(light.lit, prepend=light.lit[:1]) * light.grid.step / 3600.0
        kept = np.exp(-steps / LASTING)
        now = rng.standard_normal(draws)
        for place, share in enumerate(kept):
            now = share * now + np.sqrt(1.0 - share**2) * rng.standard_normal(draws)
            out[place] = now
        clearness = np.clip(light.sky.clearness, 0.0, 1.0)[:, None]
        out *= CLOUD_ERROR + (CLEAR_ERROR - CLOUD_ERROR) * clearness
        out += slow * rng.standard_normal(draws).astype(np.float32)
        # above and below alike, so that the middle stays
        return np.asarray(np.exp(out), dtype=np.float32)
