"""How much of a system's clear energy different explanations of it explain: a tracker, planes.

By the same weights as :mod:`sunveil.engine.mixture` has, narrower than those of a fit, to see small
misfits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from sunveil.engine.envelope import points_of, profiles_of
from sunveil.engine.final import CLEAR_ENOUGH, FinalFit
from sunveil.engine.mixture import BELOW_LIMIT, ENOUGH, NARROW, mixture_grid
from sunveil.engine.model import CAPACITY, NO_LIMIT, Numbers
from sunveil.engine.prepared import shares_for
from sunveil.engine.skytable import in_blocks
from sunveil.site import Array

Matrix = NDArray[np.float32]

# Times that the weights of a mixture are found anew.
ROUNDS = 4


@dataclass(frozen=True, slots=True, eq=False)
class ComparedReadings:
    """Clear readings below the limit that explanations of a system are compared on: private.

    Parameters
    ----------
    places
        Where they stand among the usable intervals.
    value
        The readings. [kW]
    bright
        The record's bright power. [kW]
    numbers
        What is assumed.
    """

    places: NDArray[np.intp]
    value: Array
    bright: float
    numbers: Numbers

    @classmethod
    def of(cls, fit: FinalFit, s: int, limit: float) -> ComparedReadings:
        """Return those of a system.

        Parameters
        ----------
        fit
            The fits of a block.
        s
            Which of its systems.
        limit
            Logarithm of its inverter's limit. [kW]
        """
        readings = fit.searched.readings
        share = float(shares_for(ENOUGH, readings.count[s : s + 1])[0])
        places = fit.prepared.part(share)[0].astype(np.intp)
        value = readings.power[s, places]
        most = BELOW_LIMIT * np.exp(min(limit, NO_LIMIT))
        used = (fit.kept[s, places] >= CLEAR_ENOUGH) & (value > 0.0) & (value < most)
        return cls(
            places[used],
            value[used].astype(np.float64),
            float(readings.bright[s]),
            fit.prepared.numbers,
        )

    def __repr__(self) -> str:
        return f"ComparedReadings({len(self.value)} readings, private)"

    def weigh(self, model: Array) -> tuple[float, Array]:
        """Return the share of energy that a model explains, and each reading's weight."""
        relative, absolute = self.numbers.relative * model, self.numbers.absolute * self.bright
        variance = NARROW**2 * (relative**2 + absolute**2)
        say = np.exp(-0.5 * (self.value - model) ** 2 / (variance * self.numbers.reach**2))
        return float(say @ self.value / self.value.sum()), say / variance

    def explained(self, model: Matrix) -> float:
        """Return the share of energy that a model [kW] explains."""
        return self.weigh(model.astype(np.float64))[0]

    def by_mixture(self, fit: FinalFit, s: int) -> float:
        """Return the share of energy that the best mixture of fixed planes explains.

        From the weights of the plane that was found, and from those of the readings themselves,
        which know nothing of it.
        """
        planes = np.repeat(fit.points[s][None], 1 + len(mixture_grid()), axis=0)
        planes[1:, :CAPACITY] = points_of(mixture_grid())[:, :CAPACITY]
        sheet = in_blocks(fit.prepared.sky.rows[:, self.places])
        rows = profiles_of(sheet, planes, self.numbers)[:, : len(self.places)].astype(np.float64)
        best = 0.0
        for model in (fit.model[s, self.places].astype(np.float64), self.value):
            for _ in range(ROUNDS):
                _, weight = self.weigh(model)
                gram = (rows * weight) @ rows.T
                gram += 1e-6 * np.diag(gram.diagonal() + 1e-12)
                lower = np.linalg.cholesky(gram)
                right = np.linalg.solve(lower, rows @ (weight * self.value))
                model = nnls(lower.T, right)[0] @ rows
            best = max(best, self.weigh(model)[0])
        return best
