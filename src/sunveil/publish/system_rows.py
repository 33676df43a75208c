"""The published table of single systems: what is asked, its rows, and the publication of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sunveil.ledger.records import Question
from sunveil.privacy.guarantee import Guarantee
from sunveil.privacy.units import unit_name
from sunveil.publish.publication import Column, Publication, PublishedTable
from sunveil.publish.terms import ReleaseTerms
from sunveil.releases.answer import ExpectedErrors, Release, Spread
from sunveil.releases.choices import Choices
from sunveil.site import Site
from sunveil.timegrid import TimeGrid

COLUMNS = (
    Column("release_id", "string", "Random name of the release; it is not the system's own."),
    Column("surface_azimuth", "number", "Azimuth of the plane, clockwise from north. [degrees]"),
    Column("surface_tilt", "number", "Tilt of the plane from the horizontal. [degrees]"),
    Column("dc_capacity_kw", "number", "DC nameplate capacity. [kW]"),
)
# Errors are stated once for all systems: what a record's own days would say of it beside its row
# would tell which rows of two publications are the same system's.
ERROR_COLUMNS = (
    Column("quantity", "string", "A column of the table systems."),
    Column("mean", "number", "Mean absolute error to expect, mechanism and model together."),
    Column("within_90_percent", "number", "What nine in ten releases are expected to stay within."),
    Column("unit", "string", "Unit of the errors."),
    Column("basis", "string", "What they were computed from."),
)
FLAT = (
    "The errors are those of all planes together: the azimuth of one that is flatter than 15"
    " degrees is less certain than they say."
)


@dataclass(frozen=True, slots=True)
class SystemsPlan:
    """What a publication of systems would cost and give, before anything is spent.

    Parameters
    ----------
    systems
        How many systems there are.
    cost, remaining
        What a household would be charged at most, and what the ledger could still spend on all
        systems, in the promise's measure. The cost is 0 where the answer has been kept.
    kept
        Whether the same was asked before.
    expected
        The errors to expect, averaged over the systems: public.
    again
        How many rows of earlier years are given again at no cost; None where rows do not stand.
    new
        How many systems are drawn for standing rows.
    """

    systems: int
    cost: float
    remaining: float
    kept: bool
    expected: ExpectedErrors
    again: int | None = None
    new: int = 0


def about_system(name: str, site: Site, weather: bool | str, time_grid: TimeGrid) -> str:
    """Return what is public of a system, as text: its name, its place, its weather and its days.

    Ledgers hold digests of these texts, so that they are written as version 0.1 wrote them.

    Parameters
    ----------
    name, site
        The system and where it is.
    weather
        Whether it is a clear sky, or the name of a source of weather.
    time_grid
        The intervals of its release.
    """
    where = (site.latitude, site.longitude, site.altitude, weather)
    minutes = time_grid.step / 60.0
    days = f"start={time_grid.first}, interval_minutes={minutes!r}, count={time_grid.count}"
    return f"({name!r}, {where!r}, Calendar({days}))"


def systems_question(
    about: Mapping[str, str],
    terms: ReleaseTerms,
    *,
    analyst: str | None = None,
    edition: str | None = None,
) -> Question:
    """Return the question that a publication of systems puts to the ledger.

    Parameters
    ----------
    about
        What is public of each system, by its name.
    terms
        What is asked of every system.
    analyst
        Who asks; None for the curator.
    edition
        Public name of the readings, where there are others of the same days; None for the first.
    """
    digest = hashlib.sha256("\n".join(sorted(about.values())).encode()).hexdigest()
    parameters: dict[str, Any] = {"choices": terms.choices.to_dict(), "about": digest}
    if edition is not None:
        parameters["edition"] = edition
    if terms.mechanism == "window":
        # what another shape of window has drawn answers another question
        parameters["window_candidates"] = terms.choices.window(terms.epsilon).inside
    return Question("system", parameters, terms.mechanism, terms.guarantee, tuple(about), analyst)


def row_of(drawn: Release, question: Question) -> list[Any]:
    """Return a release as a row of the published table, if it is what was charged.

    Parameters
    ----------
    drawn
        The release.
    question
        What was charged.
    """
    if (drawn.guarantee, drawn.mechanism) != (question.guarantee, question.mechanism):
        raise AssertionError("a release was drawn otherwise than it was charged")
    return [drawn.release_id, drawn.surface_azimuth, drawn.surface_tilt, drawn.dc_capacity_kw]


def mean_errors(errors: Mapping[ExpectedErrors, int]) -> ExpectedErrors:
    """Return the errors to expect of several systems, averaged over them.

    Parameters
    ----------
    errors
        How many systems have which errors.
    """
    count = sum(errors.values())

    def mean(name: str, part: str) -> float:
        own = ((getattr(getattr(each, name), part), times) for each, times in errors.items())
        return float(sum(error * times for error, times in own)) / count

    azimuth, tilt, capacity = (
        Spread(mean(name, "mean"), mean(name, "within")) for name in ("azimuth", "tilt", "capacity")
    )
    return ExpectedErrors(azimuth, tilt, capacity, next(iter(errors)).basis)


def systems_publication(
    rows: Sequence[Sequence[Any]],
    question: Question,
    choices: Choices,
    *,
    expected: ExpectedErrors,
) -> Publication:
    """Return rows that were drawn for a question as a publication.

    Parameters
    ----------
    rows
        As :func:`row_of` made them; those that version 0.1 kept have errors at their ends, which
        are left away.
    question
        What was charged for them.
    choices
        The public choices that they were drawn with.
    expected
        The errors to expect of them, the same for all.
    """
    guarantee = question.guarantee
    assert isinstance(guarantee, Guarantee)  # as the terms of releases have it
    public: dict[str, Any] = {
        "systems": len(rows),
        "unit": unit_name(guarantee.unit),
        "epsilon": guarantee.epsilon,
        "choices": choices.to_dict(),
        "cautions": [FLAT],
    }
    if question.mechanism == "window":
        public["window_candidates"] = choices.window(guarantee.epsilon).inside
    table = PublishedTable(
        name="systems",
        about="Azimuth, tilt and DC capacity of single systems, each drawn under the promise; the"
        " errors to expect stand in the table errors.",
        columns=COLUMNS,
        rows=tuple(tuple(row[: len(COLUMNS)]) for row in rows),
    )
    return Publication(
        title="Solar PV systems",
        tables=(table, errors_table(expected)),
        guarantee=guarantee,
        mechanism=f"One draw per system by the mechanism {question.mechanism}",
        public=public,
        question=question,
    )


def errors_table(expected: ExpectedErrors) -> PublishedTable:
    """Return the errors to expect of a publication's systems as a table of their own."""
    assert expected.capacity is not None
    spreads = (
        ("surface_azimuth", expected.azimuth, "degrees"),
        ("surface_tilt", expected.tilt, "degrees"),
        ("dc_capacity_kw", expected.capacity, "%"),
    )
    return PublishedTable(
        name="errors",
        about="The errors to expect of the systems' rows, the same for all of them.",
        columns=ERROR_COLUMNS,
        rows=tuple(
            (name, round(each.mean, 3), round(each.within, 3), unit, expected.basis)
            for name, each, unit in spreads
        ),
    )
