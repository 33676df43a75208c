"""Constants that several engine modules share, with unit and source."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pvlib
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

from sunveil.pv_model import MODIFIERS
from sunveil.site import Array

if TYPE_CHECKING:
    from sunveil.estimates.inference_options import InferOptions


class Numbers(NamedTuple):
    """What the kernels take from the public assumptions."""

    entering: NDArray[np.float32]
    sky_modifier: NDArray[np.float64]  # marion's modifiers at whole degrees of tilt, shape (91,)
    ground_modifier: NDArray[np.float64]  # marion's modifiers at whole degrees of tilt, shape (91,)
    albedo: float  # ground, losses, inverter and temperature coefficient [1/°C]
    system: float  # ground, losses, inverter and temperature coefficient [1/°C]
    efficiency: float  # ground, losses, inverter and temperature coefficient [1/°C]
    gamma: float  # ground, losses, inverter and temperature coefficient [1/°C]
    relative: float  # the model of errors; see ErrorModel
    absolute: float  # the model of errors; see ErrorModel
    reach: float  # the model of errors; see ErrorModel
    cloud: float  # the model of errors; see ErrorModel
    dimmest: float  # the model of errors; see ErrorModel
    haze_mean: float  # the priors; that of the haze's season is about zero
    haze_deviation: float  # the priors; that of the haze's season is about zero
    heat_mean: float  # the priors; that of the haze's season is about zero
    heat_deviation: float  # the priors; that of the haze's season is about zero
    season_deviation: float  # the priors; that of the haze's season is about zero


FEWEST_DAYS = 120

# With fewer hours of clear days, a plane is not sure. [h]
FEWEST_CLEAR_HOURS = 60.0

# An estimate that a larger share of the bright readings agrees with is not questioned.
AGREEING = 0.3

# An estimate that a smaller share of the bright readings agrees with is flagged.
LOW_AGREEMENT_CLEAR = 0.15

LOW_AGREEMENT_MEASURED = 0.35

# A reading agrees when it is so close to the model; bright ones are modelled above this share of
# the record's bright power.
AGREES_WITHIN = 0.15

AGREEING_ABOVE = 0.2

# Clipping is flagged where so large a share of the readings is at the limit.
CLIPPED_SHARE = 0.005

# Standard deviation of an undeclared label: start, middle or end, as likely each. [intervals]
UNKNOWN_LABEL = 0.4

# That of a clock which was moved by a label, half an hour or less: 90% within a quarter. [minutes]
REPAIRED_LABEL = 15.0 / 1.645

# Where searches start.
TYPICAL_HEAT = 1.25

TYPICAL_HAZE = -0.2

# Weather that was measured is right on average; monthly maps are hazier than clear hours are.
CLEAR_HAZE = (-0.3, 0.4)

MEASURED_HAZE = (0.0, 0.4)

# How much hazier winter may be than the maps say: less would read smog as a flat plane, more would
# read a plane as smog. [Linke turbidity]
SEASON_DEVIATION = 0.3

# Wider, heat takes up misfits of real systems that are not heat, and spoils their capacity.
HEAT_DEVIATION = 0.12

# Readings for which the model gives less than this share of the bright power have no say.
DIMMEST = 0.04

# Bright power is what this share of the daylight readings stays below, the top what this one does.
BRIGHT_QUANTILE = 0.98

TOP_QUANTILE = 0.999

# Steps of a fit that are as good as none: east, north, log capacity, haze, heat, season, log limit.
SMALL_STEPS = np.array([0.25, 0.25, 0.005, 0.05, 0.05, 0.05, 0.005])

# The longest step of the plane, and the one below which Newton's method is trusted. [degrees]
LONGEST_STEP, TRUSTED_STEP = 8.0, 2.0

# What lies beyond each end of an interval.
TAIL = 0.05


@dataclass(frozen=True, slots=True)
class ErrorModel:
    """How far a reading that the plane explains may lie from the model."""

    relative: float = 0.04  # standard deviation as a fraction of the modelled power
    absolute: float = 0.02  # standard deviation as a fraction of the record's bright power
    reach: float = 2.0  # width of the Welsch weight, in standard deviations
    cloud: float = 0.3
    correlated: float = 60.0


ERRORS = ErrorModel()


@dataclass(frozen=True, slots=True)
class SystematicErrors:
    """What the fit cannot see, by what real, labelled systems show."""

    # Wider than simulated fleets ask for: real systems differ from any model in more ways than a
    # simulator draws, and an interval that holds only there is not honest.

    clock_minutes: float = 0.7  # [minutes] standard deviation of the clock
    tilt: float = 1.6  # [degrees]
    across: float = 1.2  # [degrees]
    capacity: float = 0.055
    year_tilt: float = 2.0  # by how much single years of a system differ, in the same units
    year_across: float = 0.5  # by how much single years of a system differ, in the same units
    year_capacity: float = 0.02  # by how much single years of a system differ, in the same units
    stretch: float = 0.9  # factor on the standard deviations that the fit states


@functools.lru_cache(maxsize=1)
def entering_light() -> NDArray[np.float32]:
    """Return pvlib's glass as a polynomial: cosine times modifier in powers of ``2 cosine - 1``."""
    # Right to 2e-5 of the beam, and a computation that a processor does sixteen at a time.
    cosine = 0.5 - 0.5 * np.cos(np.pi * (np.arange(400) + 0.5) / 400)
    light = cosine * pvlib.iam.physical(np.degrees(np.arccos(cosine)))
    fitted = np.polynomial.Polynomial.fit(cosine, light, 10, domain=[0.0, 1.0])
    return fitted.coef.astype(np.float32)


@functools.lru_cache(maxsize=1)
def modifiers_by_degree() -> tuple[Array, Array]:
    """Return Marion's modifiers of sky and ground light at whole degrees of tilt."""
    # Curves through the known tilts, where straight lines would be off by up to 5e-4.
    tilts, sky, ground = MODIFIERS.T
    degrees = np.arange(91.0)
    return PchipInterpolator(tilts, sky)(degrees), PchipInterpolator(tilts, ground)(degrees)


def numbers_of(options: InferOptions, *, clear: bool) -> Numbers:
    """Return what kernels take from the options, under a clear sky or under measured weather."""
    haze = CLEAR_HAZE if clear else MEASURED_HAZE
    sky, ground = modifiers_by_degree()
    return Numbers(
        entering=entering_light(),
        sky_modifier=sky,
        ground_modifier=ground,
        albedo=options.albedo,
        system=options.losses.system,
        efficiency=options.losses.inverter_efficiency,
        gamma=options.losses.gamma_pdc,
        relative=ERRORS.relative,
        absolute=ERRORS.absolute,
        reach=ERRORS.reach,
        cloud=ERRORS.cloud,
        dimmest=DIMMEST,
        haze_mean=haze[0],
        haze_deviation=haze[1],
        heat_mean=options.mount.heat,
        heat_deviation=HEAT_DEVIATION,
        season_deviation=SEASON_DEVIATION,
    )


# Readings of a block that are worked on at once. [numbers]
CHUNK = 1_500_000
