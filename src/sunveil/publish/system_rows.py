"""The published table of single systems: what is asked, its rows, and the publication of them."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sunveil.fleet.fleet_planes import MOUNTS
from sunveil.ledger.records import Question
from sunveil.privacy.guarantee import Guarantee
from sunveil.privacy.units import unit_name
from sunveil.publish.publication import Column, Publication, PublishedTable
from sunveil.publish.terms import ReleaseTerms
from sunveil.releases.answer import ExpectedErrors, Release, Spread
from sunveil.site import Site
from sunveil.timegrid import TimeGrid

COLUMNS = (
    Column("release_id", "string", "Random name of the release; it is not the system's own."),
    Column("surface_azimuth", "number", "Azimuth of the plane, clockwise from north. [degrees]"),
    Column("surface_tilt", "number", "Tilt of the plane from the horizontal. [degrees]"),
    Column("dc_capacity_kw", "number", "DC nameplate capacity. [kW]"),
)
ONE_PLANE, TWO_PLANES, TURNING = MOUNTS
# What is told besides where pairs of planes and trackers were candidates.
MOUNT_COLUMNS = (
    Column("mount", "string", f"{ONE_PLANE}, {TWO_PLANES}, or {TURNING}."),
    Column("axis_azimuth", "number", "Where a tracker's axis points, 90 to below 270. [degrees]"),
    Column("gcr", "number", "A tracker's ground coverage ratio; empty if it does not turn back."),
    Column("planes", "array", "The planes, larger first: azimuth, tilt, and share of capacity."),
)
PLANE_COLUMNS = (
    Column("release_id", "string", "The row of the table systems that the plane belongs to."),
    Column("plane", "integer", "1 for the larger plane of a system, 2 for the other."),
    Column("surface_azimuth", "number", "Azimuth of the plane, clockwise from north. [degrees]"),
    Column("surface_tilt", "number", "Tilt of the plane from the horizontal. [degrees]"),
    Column("share", "number", "Share of the system's capacity."),
    Column("dc_capacity_kw", "number", "DC nameplate capacity of the plane. [kW]"),
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


def about_system(
    name: str, site: Site, weather: bool | str, time_grid: TimeGrid, *, net: bool = False
) -> str:
    """Return what is public of a system, as text: its name, its place, its weather and its days.

    Ledgers hold digests of these texts: another wording is another question.

    Parameters
    ----------
    name, site
        The system and where it is.
    weather
        Whether it is a clear sky, or the name of a source of weather.
    time_grid
        The intervals of its release.
    net
        Whether its meter is declared net.
    """
    where = (site.latitude, site.longitude, site.altitude, weather)
    minutes = time_grid.step / 60.0
    days = f"start={time_grid.first}, interval_minutes={minutes!r}, count={time_grid.count}"
    return f"({name!r}, {where!r}, Calendar({days}){', net' * net})"


def systems_question(
    about: Mapping[str, str],
    terms: ReleaseTerms,
    *,
    net: bool = False,
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
    net
        Whether meters of some of them are declared net.
    analyst
        Who asks; None for the curator.
    edition
        Public name of the readings, where there are others of the same days; None for the first.
    """
    digest = hashlib.sha256("\n".join(sorted(about.values())).encode()).hexdigest()
    parameters: dict[str, Any] = {"choices": terms.choices.to_dict(), "about": digest}
    if net:
        parameters["net_choices"] = terms.net_choices
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
    row = [drawn.release_id, drawn.surface_azimuth, drawn.surface_tilt, drawn.dc_capacity_kw]
    if not drawn.planes and drawn.tracker is None:
        return row
    tracker = None if drawn.tracker is None else drawn.tracker.to_dict()
    return [*row, [each.to_dict() for each in drawn.planes], tracker]


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
    basis = "; ".join(dict.fromkeys(each.basis for each in errors))
    return ExpectedErrors(azimuth, tilt, capacity, basis)


def systems_publication(
    rows: Sequence[Sequence[Any]],
    question: Question,
    terms: ReleaseTerms,
    *,
    expected: ExpectedErrors,
    net: int = 0,
) -> Publication:
    """Return rows that were drawn for a question as a publication.

    Parameters
    ----------
    rows
        As :func:`row_of` made them, with planes and tracker or without.
    question
        What was charged for them.
    terms
        What was asked of every system, with the public choices.
    expected
        The errors to expect of them, the same for all.
    net
        How many of the systems have meters that are declared net: public.
    """
    guarantee = question.guarantee
    assert isinstance(guarantee, Guarantee)  # as the terms of releases have it
    public: dict[str, Any] = {
        "systems": len(rows),
        "unit": unit_name(guarantee.unit),
        "epsilon": guarantee.epsilon,
        "choices": terms.choices.to_dict(),
        "cautions": [FLAT],
    }
    if net:
        public |= {"net_systems": net, "net_choices": terms.net_choices}
        public["cautions"].append(net_caution(net, len(rows)))
    if question.mechanism == "window":
        public["window_candidates"] = terms.choices.window(guarantee.epsilon).inside
    return Publication(
        title="Solar PV systems",
        tables=(*systems_tables(rows), errors_table(expected)),
        guarantee=guarantee,
        mechanism=f"One draw per system by the mechanism {question.mechanism}",
        public=public,
        question=question,
    )


def net_caution(net: int, systems: int) -> str:
    """Return what to bear in mind of rows that come from net meters.

    Parameters
    ----------
    net, systems
        How many systems have meters that are declared net, and how many there are.
    """
    which = "All" if net >= systems else f"{net:,}"
    said = (
        f"{which} of the systems have net meters, which read generation less a household's load:"
        " single planes alone are told of them"
    )
    larger = ", and their errors are larger than those of all rows together"
    return f"{said}{'' if net >= systems else larger}."


def systems_tables(rows: Sequence[Sequence[Any]]) -> tuple[PublishedTable, ...]:
    """Return the table of systems, and one of their planes where any row tells them.

    Parameters
    ----------
    rows
        As for :func:`systems_publication`.
    """
    about = (
        "Azimuth, tilt and DC capacity of single systems, each drawn under the promise; the errors"
        " to expect stand in the table errors."
    )
    if not any(map(_tells_planes, rows)):
        return (PublishedTable("systems", about, COLUMNS, tuple(map(tuple, rows))),)
    planes = PublishedTable(
        name="planes",
        about="The planes of the systems, one row each; trackers have none, and those rows of the"
        " table systems that say no mount were drawn among single planes alone.",
        columns=PLANE_COLUMNS,
        rows=tuple(itertools.chain.from_iterable(map(_plane_rows, rows))),
    )
    told = tuple((*row[: len(COLUMNS)], *_mount(row)) for row in rows)
    about += (
        " Azimuth and tilt of two planes are those of their summed normal, of a tracker at rest."
    )
    return PublishedTable("systems", about, (*COLUMNS, *MOUNT_COLUMNS), told), planes


def _tells_planes(row: Sequence[Any]) -> bool:
    """Return whether a row has planes and a tracker."""
    return len(row) > len(COLUMNS)


def _mount(row: Sequence[Any]) -> tuple[Any, ...]:
    """Return what a row says in the columns of mounts."""
    if not _tells_planes(row):
        return None, None, None, None
    planes, tracker = row[len(COLUMNS) :]
    if tracker is not None:
        return TURNING, tracker["axis_azimuth"], tracker["gcr"], planes
    return ONE_PLANE if len(planes) == 1 else TWO_PLANES, None, None, planes


def _plane_rows(row: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    if _tells_planes(row):
        name, _, _, capacity, planes, _ = row
        for number, plane in enumerate(planes, 1):
            where = plane["surface_azimuth"], plane["surface_tilt"], plane["share"]
            yield name, number, *where, round(plane["share"] * capacity, 6)


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
