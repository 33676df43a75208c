"""Errors that a promise would allow, for its page."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from sunveil.ledger.promises import Promise
from sunveil.meters.record import Label
from sunveil.privacy.guarantees import Unit, from_nano
from sunveil.publish.fleet_tables import TableChoices, expected_tables
from sunveil.releases.expected_errors import typical_errors
from sunveil.releases.fleet_releases import ReleaseTerms
from sunveil.releases.release_answer import ExpectedErrors
from sunveil.releases.release_choices import Choices
from sunveil.service.figures import ErrorCurve
from sunveil.service.questions import LARGEST_EPSILON, SMALLEST_EPSILON
from sunveil.site import TimeGrid

# How many questions a budget may be divided among.
QUESTIONS = (1, 5, 20)
EPSILONS = tuple(float(f"{e:.4g}") for e in np.geomspace(0.02, 20.0, 31))
# A year of hourly readings is assumed of every system.
HOURS, MINUTES = 8760, 60.0
# [minutes] of its clock where it is declared what timestamps mark, and where it is not
DECLARED = (0.0,)
UNDECLARED = tuple(MINUTES * label.fraction for label in Label)
LATITUDE = 40.0  # [degrees] assumed where systems have places of their own


@dataclass(frozen=True, slots=True)
class MeterFacts:
    net: bool = False  # whether most are net meters
    shifts: tuple[float, ...] = DECLARED  # [minutes] how far clocks may be off
    latitude: float = LATITUDE  # [degrees]


METERS = MeterFacts()


@dataclass(frozen=True, slots=True)
class AnswerErrors:
    """Errors to expect of each answer when a budget is divided evenly among several questions."""

    # Each error is that of an answer that buys this alone, as a plan of the question states it.

    questions: int  # how many questions
    epsilon: float  # the ε that a table, or each row of a release of single systems, is asked at
    system_epsilon: float
    sector: float  # [systems] standard error of the count of systems that face one of eight sectors
    total: float  # [%] mean error of the total capacity, noise and what the clip cuts off
    azimuth: float  # [degrees] mean error of one system's plane
    tilt: float  # [degrees] mean error of one system's plane
    capacity: float  # [%] mean error of one system's capacity


def answer_errors(
    promise: Promise, *, systems: int | None = None, meters: MeterFacts = METERS
) -> list[AnswerErrors]:
    return [
        _answer_errors(promise, questions, systems=systems, meters=meters)
        for questions in QUESTIONS
        if epsilon_each(promise, questions) >= SMALLEST_EPSILON
    ]


def epsilon_each(promise: Promise, questions: int, mechanism: str = "fleet-tables") -> float:
    # A household pays for all of its meters.
    if promise.delta == 0.0:
        each = promise.epsilon / questions
    else:
        # each costs ε²/2 of ρ, or a quarter of it (Promise.cost)
        ratio = 8.0 if mechanism == "exponential" else 2.0
        each = math.sqrt(ratio * from_nano(promise.total) / questions)
    return min(each / promise.meters, LARGEST_EPSILON)


def system_epsilon_each(promise: Promise, questions: int) -> float:
    """Return the same for releases of single systems, by their mechanism under the promise."""
    terms = ReleaseTerms.of(promise.unit, 1.0, promise=promise)
    return epsilon_each(promise, questions, terms.mechanism)


def table_curves(*, concentrated: bool = False) -> list[ErrorCurve]:
    """Return the standard errors of counts against ε, of tables bought alone. [systems]"""
    names = {
        "sectors": "systems facing one of 8 sectors",
        "planes": "systems in one sector and band of tilt",
    }
    return [
        ErrorCurve(
            words,
            EPSILONS,
            tuple(_table_error(table, e, concentrated=concentrated) for e in EPSILONS),
        )
        for table, words in names.items()
    ]


@cache
def system_curves(
    unit: Unit, epsilons: tuple[float, ...] = EPSILONS, *, meters: MeterFacts = METERS
) -> list[ErrorCurve]:
    """Return the mean errors of one system's release against ε. [degrees, degrees]"""
    errors = [_system_errors(unit, e, meters) for e in epsilons]
    return [
        ErrorCurve("azimuth", tuple(epsilons), tuple(each.azimuth.mean for each in errors)),
        ErrorCurve("tilt", tuple(epsilons), tuple(each.tilt.mean for each in errors)),
    ]


def _answer_errors(
    promise: Promise, questions: int, *, systems: int | None, meters: MeterFacts
) -> AnswerErrors:
    epsilon = epsilon_each(promise, questions)
    system_epsilon = system_epsilon_each(promise, questions)
    concentrated = promise.delta > 0.0
    system = _system_errors(promise.unit, system_epsilon, meters)
    assert system.capacity is not None
    return AnswerErrors(
        questions=questions,
        epsilon=epsilon,
        system_epsilon=system_epsilon,
        sector=_table_error("sectors", epsilon, concentrated=concentrated),
        total=_table_error("totals", epsilon, concentrated=concentrated, systems=systems),
        azimuth=system.azimuth.mean,
        tilt=system.tilt.mean,
        capacity=system.capacity.mean,
    )


def _table_error(
    table: str, epsilon: float, *, concentrated: bool, systems: int | None = None
) -> float:
    """Return the error of a table that is bought alone, over the whole fleet."""
    (found,) = (
        each
        for each in expected_tables(
            TableChoices(epsilon=epsilon, tables=(table,)),
            concentrated=concentrated,
            systems=systems,
        )
        if each.table == table
    )
    return found.error


def _system_errors(unit: Unit, epsilon: float, meters: MeterFacts) -> ExpectedErrors:
    return typical_errors(
        TimeGrid(0, 3600, HOURS),
        Choices().for_meter(net=meters.net),
        clear=True,
        protect=unit,
        epsilon=epsilon,
        shifts=meters.shifts,
        latitude=meters.latitude,
    )
