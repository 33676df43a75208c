"""What the fits of two planes and of trackers share: readings, their errors, robust weights.

The errors and the weights are those of one plane's fit, whose compiled form is in
:mod:`sunveil.engine.model`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.assumed import SystematicErrors
from sunveil.engine.model import Numbers
from sunveil.site import Array

Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class FittedReadings:
    """The readings of one system that two planes or a tracker are fitted to: private.

    Parameters
    ----------
    sky
        The sky at the readings, as the model takes it.
    power, say
        Power [kW], and how much each reading counts.
    bright
        The record's bright power. [kW]
    correlated
        How many readings err alike.
    numbers
        What is assumed.
    """

    sky: Matrix
    power: Matrix
    say: Matrix
    bright: float
    correlated: float
    numbers: Numbers

    def __repr__(self) -> str:
        return f"FittedReadings({len(self.power)} readings, private)"


@dataclass(frozen=True, slots=True, eq=False)
class LinearModel:
    """A model at the readings it is fitted to, and how it changes with its parameters: private.

    Parameters
    ----------
    model, deviation
        Power, and its standard deviation. [kW]
    residual
        Readings less the model, in standard deviations.
    weight
        What each reading counts.
    slopes
        Derivatives of the model over its standard deviation, shape (parameters, readings).
    correlated
        How many readings err alike.
    worth
        The robust log likelihood of the readings.
    """

    model: Matrix
    deviation: Matrix
    residual: Matrix
    weight: Matrix
    slopes: Matrix
    correlated: float
    worth: float

    def __repr__(self) -> str:
        return f"LinearModel({len(self.model)} readings, private)"

    def information(self) -> Array:
        """Return what the readings say of the parameters, as an information matrix."""
        told = (self.slopes * self.weight) @ self.slopes.T
        return np.asarray(told.astype(np.float64) / self.correlated)

    def pull(self) -> Array:
        """Return where the readings pull the parameters: the gradient of the log likelihood."""
        return np.asarray(self.slopes @ (self.weight * self.residual) / self.correlated)

    def covariance(
        self,
        information: Array,
        *,
        shifts: Matrix,
        spans: NDArray[np.intp],
        errors: SystematicErrors,
        stretch: float = 1.0,
    ) -> Array:
        """Return the covariance of the parameters: by scatter, by the model, and by the clock.

        Parameters
        ----------
        information
            That of readings and priors together.
        shifts
            Change of the model with a minute of clock, at each reading. [kW/minute]
        spans
            Where each span of some days begins among the readings: within one, errors go together.
        errors
            What the fit cannot see.
        stretch
            A factor on what the fit states, besides that of ``errors``.
        """
        inverse = np.linalg.inv(information)
        weighed = (self.slopes * self.weight).astype(np.float64)
        pulls = np.add.reduceat(weighed * self.residual, spans, axis=1) / self.correlated
        spread = inverse @ pulls @ pulls.T @ inverse
        moved = inverse @ (weighed @ (shifts / self.deviation)) / self.correlated
        out = (stretch * errors.stretch) ** 2 * (spread + inverse)
        return np.asarray(out + errors.clock_minutes**2 * np.outer(moved, moved))


def linear_model(
    model: Matrix, slopes: Matrix, clouds: Matrix, readings: FittedReadings
) -> LinearModel:
    """Return a model with its residuals and weights.

    Parameters
    ----------
    model
        Power at the readings. [kW]
    slopes
        Its derivatives, shape (parameters, readings); changed in place. [kW]
    clouds
        How much clouds hide at each reading.
    readings
        The readings.
    """
    numbers = readings.numbers
    deviation = deviations(model, clouds, np.float32(readings.bright), numbers)
    slopes /= deviation
    residual = (readings.power - model) / deviation
    lit = model >= np.float32(numbers.dimmest * readings.bright)
    weight = readings.say * robust_weights(residual, numbers) * lit
    worth = log_likelihood(residual, readings.say, numbers, correlated=readings.correlated)
    return LinearModel(
        model, deviation, residual, weight, slopes, readings.correlated, float(worth)
    )


def deviations(
    model: Matrix, clouds: Matrix, bright: np.float32 | Matrix, numbers: Numbers
) -> Matrix:
    """Return the standard deviations of readings about a model. [kW]

    Parameters
    ----------
    model
        Power. [kW]
    clouds
        How much clouds hide at each reading.
    bright
        Bright power of the records, as a column where there are several. [kW]
    numbers
        What is assumed.
    """
    relative = np.float32(numbers.relative**2) + np.float32(numbers.cloud**2) * clouds * clouds
    dim = np.float32(numbers.absolute) * bright
    return np.asarray(np.sqrt(relative * model * model + dim * dim))


def robust_weights(residual: Matrix, numbers: Numbers) -> Matrix:
    """Return what readings count by how many standard deviations they are from a model."""
    return np.asarray(np.exp(np.float32(-0.5 / numbers.reach**2) * residual * residual))


def log_likelihood(residual: Matrix, say: Matrix, numbers: Numbers, *, correlated: float) -> Array:
    """Return the robust log likelihood of each record's readings: what misfits take from zero.

    Parameters
    ----------
    residual, say
        Readings less the model, in standard deviations, and how much each counts.
    numbers
        What is assumed.
    correlated
        How many readings err alike.
    """
    lost = say * (robust_weights(residual, numbers) - np.float32(1.0))
    return np.asarray(numbers.reach**2 * lost.sum(axis=-1, dtype=np.float64) / correlated)
