"""Errors to expect under a promise, before it is made: from public things alone.

No estimate and no reading is looked at: errors are those of the noise, and of typical systems.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sunveil.ledger.amounts import from_nano
from sunveil.ledger.promise import Promise
from sunveil.privacy.units import Unit
from sunveil.publish.bins import Bins
from sunveil.publish.fleet import dry_fleet_tables
from sunveil.releases.answer import ExpectedErrors
from sunveil.releases.choices import Choices
from sunveil.releases.typical import typical_errors
from sunveil.service.figures.error_curves import ErrorCurve
from sunveil.timegrid import TimeGrid

# How many questions a budget may be divided among.
QUESTIONS = (1, 5, 20)
EPSILONS = tuple(float(f"{e:.4g}") for e in np.geomspace(0.02, 20.0, 31))
SMALLEST_EPSILON, LARGEST_EPSILON = 0.012, 20.0
HOURS = 8760


@dataclass(frozen=True, slots=True)
class AnswerErrors:
    """Errors to expect of each answer when a budget is divided evenly among several questions.

    Parameters
    ----------
    questions
        How many questions.
    epsilon
        What each of them costs.
    sector
        Standard error of the count of systems that face one of eight sectors. [systems]
    total
        Mean error of the total capacity of 300 systems, noise and what the clip cuts off. [%]
    azimuth, tilt
        Mean error of one system's plane. [degrees]
    capacity
        Mean error of one system's capacity. [%]
    """

    questions: int
    epsilon: float
    sector: float
    total: float
    azimuth: float
    tilt: float
    capacity: float


def answer_errors(promise: Promise, *, net: bool = False) -> list[AnswerErrors]:
    """Return the errors to expect under a promise, for a few numbers of questions.

    Those of single systems are of net meters, or of meters of generation.
    """
    return [_answer_errors(promise, questions, net=net) for questions in QUESTIONS]


def epsilon_each(promise: Promise, questions: int) -> float:
    """Return the ε of each of several equal questions that use a promise up."""
    if promise.delta == 0.0:
        each = promise.epsilon / questions
    else:
        # each costs ε²/2 of ρ
        each = math.sqrt(2.0 * from_nano(promise.total) / questions)
    return min(max(each, SMALLEST_EPSILON), LARGEST_EPSILON)


def table_curves(epsilons: Sequence[float] = EPSILONS) -> list[ErrorCurve]:
    """Return the standard errors of a fleet's counts against ε. [systems]"""
    names = {
        "sectors": "systems facing one of 8 sectors",
        "planes": "systems in one sector and band of tilt",
    }
    found = {name: [_table_errors(e)[name] for e in epsilons] for name in names}
    return [ErrorCurve(names[name], tuple(epsilons), tuple(found[name])) for name in names]


def system_curves(
    unit: Unit, epsilons: Sequence[float] = EPSILONS, *, net: bool = False
) -> list[ErrorCurve]:
    """Return the mean errors of one system's release against ε. [degrees, degrees]

    Parameters
    ----------
    unit, epsilons
        What is protected, and at which ε.
    net
        Whether its meter is declared net.
    """
    errors = [_system_errors(unit, e, net=net) for e in epsilons]
    return [
        ErrorCurve("azimuth", tuple(epsilons), tuple(each.azimuth.mean for each in errors)),
        ErrorCurve("tilt", tuple(epsilons), tuple(each.tilt.mean for each in errors)),
    ]


def _answer_errors(promise: Promise, questions: int, *, net: bool) -> AnswerErrors:
    epsilon = epsilon_each(promise, questions)
    tables = _table_errors(epsilon, tables=("counts", "totals"), concentrated=promise.delta > 0.0)
    system = _system_errors(promise.unit, epsilon, net=net)
    assert system.capacity is not None
    return AnswerErrors(
        questions=questions,
        epsilon=epsilon,
        sector=tables["sectors"],
        total=tables["totals"],
        azimuth=system.azimuth.mean,
        tilt=system.tilt.mean,
        capacity=system.capacity.mean,
    )


def _table_errors(
    epsilon: float, *, tables: Sequence[str] = ("counts",), concentrated: bool = False
) -> dict[str, float]:
    """Return the error of each table; the whole fleet is one group, or each group has as much."""
    found = dry_fleet_tables(bins=Bins(), epsilon=epsilon, tables=tables, concentrated=concentrated)
    return {each.table: each.error for each in found}


def _system_errors(unit: Unit, epsilon: float, *, net: bool) -> ExpectedErrors:
    year, choices = TimeGrid(0, 3600, HOURS), Choices().for_meter(net=net)
    return typical_errors(year, choices, clear=True, protect=unit, epsilon=epsilon)
