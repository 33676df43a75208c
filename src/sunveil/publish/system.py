"""One row per system: every system of a file or folder released under one promise.

All systems are charged at once and durably, before the first of them is drawn. What comes back is
kept, so that the same question costs nothing when it is asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sunveil.errors import ParameterError
from sunveil.ledger.ledger import Ledger, Question
from sunveil.meters.record import Record
from sunveil.privacy.guarantee import Guarantee, check_release_epsilon
from sunveil.privacy.units import Unit
from sunveil.publish.publication import Publication
from sunveil.publish.system_rows import (
    PROOFS,
    SystemsPlan,
    mean_errors,
    mechanism_name,
    row_of,
    systems_publication,
    systems_question,
)
from sunveil.releases.answer import ExpectedErrors
from sunveil.releases.choices import Choices
from sunveil.releases.frame import Calendar, Frame, make_frame, prepared
from sunveil.releases.release import Mechanism, release
from sunveil.releases.typical import typical_errors
from sunveil.weather import Weather, WeatherCache

__all__ = ["PROOFS", "SystemsPlan", "WeatherOf", "plan_systems", "publish_systems"]

WeatherOf = Callable[[Record], Weather]

# Planes of a frame that is only made to see whether it can be made. [degrees]
_COARSE = 30.0


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    """A record with its public weather and calendar."""

    record: Record
    weather: Weather
    calendar: Calendar

    @property
    def key(self) -> tuple[int, Calendar]:
        return id(self.weather), self.calendar

    def told(self) -> str:
        site = self.weather.site
        where = (site.latitude, site.longitude, site.altitude, self.weather.clear)
        return repr((self.record.system_id, where, self.calendar))


def publish_systems(
    ledger: Ledger,
    dataset: str,
    records: Iterable[Record],
    weather_of: WeatherOf,
    *,
    unit: Unit,
    epsilon: float,
    mechanism: Mechanism | str = Mechanism.DEFAULT,
    choices: Choices | None = None,
    analyst: str | None = None,
    cache: WeatherCache | None = None,
) -> Publication:
    """Release every system once, charged together beforehand, and return the rows.

    Rows come in the order of their random names, so that their order tells nothing.

    Parameters
    ----------
    ledger, dataset
        What is charged, and the name of the dataset in it.
    records
        The systems, read with ``cleaning="each"``.
    weather_of
        The public weather of a record. Give the same object for records of one place, so that
        their profiles are computed once.
    unit, epsilon
        What each release protects, and what it costs.
    mechanism
        ``default`` or ``exponential``, as for :func:`sunveil.releases.release.release`.
    choices
        The public choices; the defaults when left out.
    analyst
        Whose share is charged too; None for the curator.
    cache
        Where clear skies are kept.

    Privacy
    -------
    ``ε``-DP for the unit of every system: each row depends on one record. Everything else here
    depends on public things only. Charged before the first draw, which happens in this process.
    """
    cases, question, chosen = _asked(
        dataset,
        records,
        weather_of,
        unit=unit,
        epsilon=epsilon,
        mechanism=mechanism,
        choices=choices,
        analyst=analyst,
    )
    if ledger.kept(dataset, question) is None:
        _check(cases, question, chosen, cache)

    def draw() -> list[list[Any]]:
        return _draw(cases, question, chosen, cache)

    rows = ledger.ask(dataset, question, draw).value
    return systems_publication(rows, question, chosen)


def plan_systems(
    ledger: Ledger,
    dataset: str,
    records: Iterable[Record],
    weather_of: WeatherOf,
    *,
    unit: Unit,
    epsilon: float,
    mechanism: Mechanism | str = Mechanism.DEFAULT,
    choices: Choices | None = None,
    analyst: str | None = None,
    cache: WeatherCache | None = None,
) -> SystemsPlan:
    """Return what :func:`publish_systems` would cost, and the errors to expect; spend nothing."""
    cases, question, chosen = _asked(
        dataset,
        records,
        weather_of,
        unit=unit,
        epsilon=epsilon,
        mechanism=mechanism,
        choices=choices,
        analyst=analyst,
    )
    kept = ledger.kept(dataset, question) is not None
    cost = ledger.cost(dataset, question)
    return SystemsPlan(
        systems=len(cases),
        cost=0.0 if kept else cost,
        remaining=ledger.dataset(dataset).remaining,
        kept=kept,
        expected=mean_errors(_check(cases, question, chosen, cache)),
    )


def _asked(
    dataset: str,
    records: Iterable[Record],
    weather_of: WeatherOf,
    *,
    unit: Unit,
    epsilon: float,
    mechanism: Mechanism | str,
    choices: Choices | None,
    analyst: str | None,
) -> tuple[list[_Case], Question, Choices]:
    """Return the cases, and the question that they put to the ledger."""
    check_release_epsilon(epsilon)
    name = mechanism_name(mechanism, unit)
    chosen = choices or Choices()
    cases = [_case(record, weather_of(record)) for record in records]
    systems = tuple(case.record.system_id for case in cases)
    if not systems:
        raise ParameterError("there are no systems to publish; name at least one")
    if len(set(systems)) != len(systems):
        raise ParameterError("a system is named twice; each system is one row of a publication")
    about = [case.told() for case in cases]
    guarantee = Guarantee(unit, epsilon, 0.0, PROOFS[name])
    question = systems_question(
        systems, about, mechanism=name, guarantee=guarantee, choices=chosen, analyst=analyst
    )
    return cases, question, chosen


def _case(record: Record, weather: Weather) -> _Case:
    calendar = Calendar.of(prepared(record), longitude=weather.site.longitude)
    return _Case(record, weather, calendar)


def _groups(cases: Sequence[_Case]) -> list[list[_Case]]:
    """Return the cases that share a frame together, since frames are large and made one by one."""
    groups: dict[tuple[int, Calendar], list[_Case]] = {}
    for case in cases:
        groups.setdefault(case.key, []).append(case)
    return list(groups.values())


def _check(
    cases: Sequence[_Case], question: Question, choices: Choices, cache: WeatherCache | None
) -> list[ExpectedErrors]:
    """Refuse a record that could not be released, and return the errors to expect of the others."""
    coarse = replace(choices, step=_COARSE, clocks=choices.clocks[:1])
    found: list[ExpectedErrors] = []
    for group in _groups(cases):
        frame = make_frame(group[0].weather, group[0].calendar, coarse, cache=cache)
        for case in group:
            frame.readings(case.record)
        found += [_expected(replace(frame, choices=choices), question)] * len(group)
    return found


def _draw(
    cases: Sequence[_Case], question: Question, choices: Choices, cache: WeatherCache | None
) -> list[list[Any]]:
    rows: list[list[Any]] = []
    for group in _groups(cases):
        frame = make_frame(group[0].weather, group[0].calendar, choices, cache=cache)
        expected = _expected(frame, question)
        rows += [_row(case, frame, expected, question) for case in group]
    return sorted(rows)


def _row(case: _Case, frame: Frame, expected: ExpectedErrors, question: Question) -> list[Any]:
    drawn = release(
        case.record,
        case.weather,
        unit=question.guarantee.unit,
        epsilon=question.guarantee.epsilon,
        mechanism="exponential" if question.mechanism == "exponential" else "default",
        frame=frame,
        expected=expected,
    )
    return row_of(drawn, expected, question)


def _expected(frame: Frame, question: Question) -> ExpectedErrors:
    guarantee = question.guarantee
    return typical_errors(frame, unit=guarantee.unit, epsilon=guarantee.epsilon)
