"""The fit of one net meter: plane, capacity, load and clearness together, by its readings alone.

Plane, capacity and the load's means move by Gauss-Newton steps on the likelihood with clearness
summed out; the histogram of clearness, the chain of clear intervals and the load's widths by
expectation and maximisation. What is wrong with a model is wrong for hours and days, so that what
readings tell is divided by how many of them err alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.model import PARAMETERS
from sunveil.engine.net_load import LoadCells, load_from
from sunveil.engine.net_model import FOUND, NONE
from sunveil.engine.net_problem import NetProblem, NetReadings, NetState, read_net
from sunveil.engine.net_starts import net_starts
from sunveil.engine.net_steps import FREE, first_state, run
from sunveil.engine.prepared import PreparedSky
from sunveil.site import Array

# Starts take so many steps on one of so many days; the best few of them more, on more days; and
# the best of these as many as it needs on all days.
FIRST_STEPS, FIRST_DAYS = 4, 7
NEXT, NEXT_STEPS, NEXT_DAYS = 3, 8, 3
STEPS = 25
# Of longer records, and of shorter intervals, as many days are left out as leave so many readings.
ENOUGH_READINGS = 4500


@dataclass(frozen=True, slots=True, eq=False)
class NetFit:
    """What a net meter says of its system and of its household: private.

    Parameters
    ----------
    readings
        What was read.
    state
        Where the fit ended.
    likelihood
        Its log-likelihood of daylight, as of independent readings, prior left out.
    information
        What the readings tell of the point, the load's means taken out, priors included, divided
        by how many err alike, shape (FREE, FREE).
    model
        Clear power at the usable intervals. [kW]
    found
        What is expected of each usable interval; see :mod:`sunveil.engine.net_model`.
    cells
        The load's cell of each usable interval.
    """

    readings: NetReadings
    state: NetState
    likelihood: float
    information: Array
    model: Array
    found: Array
    cells: NDArray[np.int64]

    def __repr__(self) -> str:
        return "NetFit(private)"

    @property
    def covariance(self) -> Array:
        """Covariance of the point without what the fit cannot see, shape (PARAMETERS, same)."""
        out = np.zeros((PARAMETERS, PARAMETERS))
        out[:FREE, :FREE] = np.linalg.inv(self.information)
        return out

    @property
    def have(self) -> NDArray[np.bool_]:
        """Which usable intervals have a reading."""
        return np.asarray(self.readings.kind != NONE)

    @property
    def exporting(self) -> float:
        """Share of the daylight readings in which more was generated than used."""
        return float(np.mean(self.readings.power[self.have] > 0.0)) if self.have.any() else 0.0


def fit_net(row: NDArray[np.float32], prepared: PreparedSky, cells: LoadCells) -> NetFit:
    """Fit one net meter.

    Parameters
    ----------
    row
        Generation less load on the long grid, NaN where there is none. [kW]
    prepared
        The sky.
    cells
        The cells of its intervals.
    """
    readings = read_net(row, prepared, cells)
    load = load_from(readings.nights, readings.usual)
    points = net_starts(row, load, prepared)
    thin = max(1, round(np.count_nonzero(readings.kind) / ENOUGH_READINGS))
    few = NetProblem(readings, prepared, cells, thin * FIRST_DAYS)
    tried = [run(few, first_state(point, few), FIRST_STEPS)[:2] for point in points]
    tried.sort(key=lambda each: -each[1])
    some = NetProblem(readings, prepared, cells, thin * NEXT_DAYS)
    tried = [run(some, state, NEXT_STEPS)[:2] for state, _ in tried[:NEXT]]
    best = max(tried, key=lambda each: each[1])[0]
    state, _, matrix = run(NetProblem(readings, prepared, cells, thin), best, STEPS)
    return _fitted(readings, prepared, cells, state, matrix)


def _fitted(
    readings: NetReadings,
    prepared: PreparedSky,
    cells: LoadCells,
    state: NetState,
    matrix: Array,
) -> NetFit:
    """Return a fit by where it ended, with what is expected of every usable interval."""
    problem = NetProblem(readings, prepared, cells)
    model, _ = problem.lay(state.point)
    likelihood = problem.weigh(state, model)
    whole = np.zeros(len(readings.power))
    found = np.zeros((FOUND, len(whole)))
    whole[problem.places], found[:, problem.places] = model, problem.found
    crossed = matrix[:FREE, FREE:]
    information = matrix[:FREE, :FREE] - crossed @ np.linalg.solve(matrix[FREE:, FREE:], crossed.T)
    return NetFit(readings, state, likelihood, information, whole, found, cells.usable)
