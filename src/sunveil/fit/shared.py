"""What the fit assumes, for itself and for the compiled fit of many systems.

Numbers that both need stand here, so that a fleet need not load the fit of one system.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from sunveil.site import Mount

# What is enough for an inference.
FEWEST_READINGS = 60
FEWEST_DAYS = 120
# An estimate that a smaller share of the bright readings agrees with is flagged.
LOW_AGREEMENT_CLEAR = 0.15
LOW_AGREEMENT_MEASURED = 0.35
# Standard deviation of an undeclared label: start, middle or end, as likely each. [intervals]
UNKNOWN_LABEL = 0.4
# Weather that was measured is right on average; monthly maps are hazier than clear hours are.
MEASURED_HAZE = (0.0, 0.4)

# Where searches start.
TYPICAL_HEAT = 1.25
TYPICAL_HAZE = -0.2

# Readings for which the model gives less than this share of the bright power have no say.
DIMMEST = 0.04
# Wider, heat takes up misfits of real systems that are not heat, and spoils their capacity.
HEAT_DEVIATION = 0.12
# Steps of the numerical derivatives: east, north, log capacity, haze, heat, log limit.
STEPS = np.array([0.25, 0.25, 0.005, 0.05, 0.05, 0.005])
# What lies beyond each end of an interval.
TAIL = 0.05

# First and last light: the share of a day's most power, and the days that are enough.
LIGHT_THRESHOLD = 0.01
LIGHT_FEWEST_DAYS = 10

# Patches of sky, and when something hides the sun from one. [degrees]
AZIMUTH_STEP = 12.0
ELEVATION_STEP = 5.0
SHADE_FEWEST = 8
SHADE_QUANTILE = 0.9
HIDDEN_BELOW = 0.72

# Bright powers that one plane and a mixture of planes are compared by.
MIXTURE_FEWEST = 4
MIXTURE_QUANTILE = 0.8
# Narrower than the fit's own errors, to see small misfits.
MIXTURE_SCALE = 0.6
NEAR_DEGREES = 8.0
# It is not one plane when a mixture explains so much more energy that the plane cannot be right.
CLEAR_GAIN = 0.08

# Less than this is within what light can tell of an unknown plane. [minutes]
SUSPICIOUS_MINUTES = 18.0
# An hour of daylight saving, within what light can tell. [minutes]
SAVING_MINUTES = (35.0, 85.0)
# Clocks whose agreement comes this close to the best are told apart by light alone.
AS_GOOD = 0.92
# A clock that leaves less than this of first and last light unexplained is right. [minutes]
EXPLAINED_MINUTES = 12.0
# What a rare fault must explain beyond a common one. [minutes]
RARE_MINUTES = 8.0
# One that leaves more than this cannot be right when another explains the light. [minutes]
DECISIVE_MINUTES = 35.0
# How many minutes more of first and last light it must explain. [minutes]
LEAST_LIGHT_MINUTES = 10.0


class Clock(StrEnum):
    """What is done about a clock that does not fit the sun."""

    REPAIR = "repair"
    GIVEN = "given"


@dataclass(frozen=True, slots=True)
class ErrorModel:
    """How far a reading that the plane explains may lie from the model.

    Parameters
    ----------
    relative
        Standard deviation as a fraction of the modelled power.
    absolute
        Standard deviation as a fraction of the record's bright power.
    reach
        Width of the Welsch weight, in standard deviations.
    haze_prior
        Mean and standard deviation of the haze: the Linke turbidity of clear hours less that of
        pvlib's monthly maps.
    heat_prior
        Mean and standard deviation of the modules' heat, over that of an open rack.
    cloud
        Extra standard deviation, as a fraction of the modelled power, where the weather says that
        all direct light is hidden; in proportion where it says that a part is.
    together
        How many readings err alike: what n readings tell is divided by it, since what is wrong
        with a model of the sky is wrong for hours and for months.
    """

    relative: float = 0.04
    absolute: float = 0.02
    reach: float = 2.0
    haze_prior: tuple[float, float] = (-0.2, 0.4)
    heat_prior: tuple[float, float] = (Mount.UNKNOWN.heat, HEAT_DEVIATION)
    cloud: float = 0.3
    together: float = 60.0

    @property
    def priors(self) -> dict[int, tuple[float, float]]:
        """Mean and standard deviation of each parameter that has a prior."""
        return {3: self.haze_prior, 4: self.heat_prior}


@dataclass(frozen=True, slots=True)
class Doubts:
    """What the fit cannot see.

    ``angle`` and ``capacity`` are wider than simulated fleets ask for: real systems differ from any
    model in more ways than a simulator draws, and an interval that holds only there is not honest.

    Parameters
    ----------
    clock_minutes
        Standard deviation of the clock. [minutes]
    capacity
        Standard deviation of losses, calibration and weather, as a fraction of the capacity.
    angle
        Standard deviation of the model's own bias in each of the plane's coordinates. [degrees]
    stretch
        Factor on the standard deviations that the fit states.
    """

    clock_minutes: float = 0.7
    capacity: float = 0.055
    angle: float = 1.0
    stretch: float = 0.9
