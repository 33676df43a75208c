"""Rows of systems: each drawn once and kept, or drawn again by name."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sunveil._files import write_whole
from sunveil._options import checked
from sunveil.errors import ParameterError
from sunveil.estimates.read_write import MOUNTS
from sunveil.ledger.hash_chain import canonical, digest_of
from sunveil.ledger.promises import Answer, Question, SystemHome, account_of
from sunveil.ledger.statements import present_year
from sunveil.privacy.guarantees import Guarantee, from_nano, unit_name
from sunveil.publication.published_tables import Column, Publication, PublishedTable
from sunveil.publish.publisher import published_homes
from sunveil.releases.candidate_frame import Frame
from sunveil.releases.expected_errors import mean_errors
from sunveil.releases.fleet_releases import (
    OnProgress,
    ReleaseTerms,
    SystemsPart,
    SystemsToRelease,
    ignore_progress,
)
from sunveil.releases.release import Scored, draw_release
from sunveil.releases.release_answer import ExpectedErrors, Release, Spread

if TYPE_CHECKING:
    from sunveil.ledger.ledger import Ledger

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
    """What a publication of systems would cost and give, before anything is spent."""

    systems: int  # how many systems there are
    cost: float
    remaining: float
    kept: bool  # whether the same was asked before
    expected: ExpectedErrors  # the errors to expect, averaged over the systems: public
    again: int | None = None
    new: int = 0  # how many systems are drawn for standing rows


def systems_question(
    about: Mapping[str, str],
    terms: ReleaseTerms,
    *,
    net: bool = False,
    analyst: str | None = None,
    edition: str | None = None,
) -> Question:
    """Return the question that a publication of systems puts to the ledger."""
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
    """Return a release as a row of the published table, if it is what was charged."""
    if (drawn.guarantee, drawn.mechanism) != (question.guarantee, question.mechanism):
        raise AssertionError("a release was drawn otherwise than it was charged")
    row = [drawn.release_id, drawn.surface_azimuth, drawn.surface_tilt, drawn.dc_capacity_kw]
    if not drawn.planes and drawn.tracker is None:
        return row
    tracker = None if drawn.tracker is None else drawn.tracker.to_dict()
    return [*row, [each.to_dict() for each in drawn.planes], tracker]


def systems_publication(
    rows: Sequence[Sequence[Any]],
    question: Question,
    terms: ReleaseTerms,
    *,
    expected: ExpectedErrors,
    net: int = 0,
) -> Publication:
    """Return rows that were drawn for a question as a publication."""
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
    """Return what to bear in mind of rows that come from net meters."""
    which = "All" if net >= systems else f"{net:,}"
    said = (
        f"{which} of the systems have net meters, which read generation less a household's load:"
        " single planes alone are told of them"
    )
    larger = ", and their errors are larger than those of all rows together"
    return f"{said}{'' if net >= systems else larger}."


def systems_tables(rows: Sequence[Sequence[Any]]) -> tuple[PublishedTable, ...]:
    """Return the table of systems, and one of their planes where any row tells them."""
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


# Draws the row of a system from its name, its frame and its score.
RowOf = Callable[[str, Frame, Scored], list[Any]]


def cost_of_systems(ledger: Ledger, dataset: str, terms: ReleaseTerms) -> float:
    """Return what each system would be charged, or refuse it, before any system is read for it."""
    promise = ledger.dataset(dataset).promise
    return from_nano(promise.cost(terms.guarantee, mechanism=terms.mechanism))


@checked
def plan_systems(
    ledger: Ledger,
    dataset: str,
    systems: SystemsToRelease,
    *,
    terms: ReleaseTerms,
    analyst: str | None = None,
    edition: str | None = None,
) -> SystemsPlan:
    """Return what :func:`publish_systems` would cost, and the errors to expect; spend nothing.

    Parameters
    ----------
    ledger, dataset
        What would be charged, and the name of the dataset in it.
    systems
        Records in memory, or a fleet that is held open.
    terms
        What is asked of every system.
    analyst
        Whose share would be charged too; None for the curator.
    edition
        Public name of the readings, where there are others of the same days.
    """
    cost_of_systems(ledger, dataset, terms)  # refused before any system is looked at
    systems.check()
    question = systems_question(
        systems.about(), terms, net=systems.net > 0, analyst=analyst, edition=edition
    )
    return SystemsPlan(
        systems=len(systems),
        cost=ledger.due(dataset, question),
        remaining=ledger.dataset(dataset).remaining,
        kept=ledger.kept(dataset, question) is not None,
        expected=systems.expected(terms),
    )


@checked
def publish_systems(
    ledger: Ledger,
    dataset: str,
    systems: SystemsToRelease,
    *,
    terms: ReleaseTerms,
    analyst: str | None = None,
    edition: str | None = None,
    homes: Sequence[SystemHome] = (),
    on_progress: OnProgress = ignore_progress,
) -> Publication:
    """Release every system once, charged together beforehand, and return the rows.

    Rows come in the order of their random names, so that their order tells nothing. A call that
    was stopped is taken up by the same call: it is charged once, and parts that were put aside
    stay as they were drawn.

    Parameters
    ----------
    ledger, dataset
        What is charged, and the name of the dataset in it.
    systems
        Records in memory, or a fleet that is held open.
    terms
        What is asked of every system.
    analyst
        Whose share is charged too; None for the curator.
    edition
        Public name of the readings, where there are others of the same days.
    homes
        What is known of the systems' households; without, each system is one by its name.
    on_progress
        Called with how many systems have been drawn, and of how many.

    Privacy
    -------
    ``ε``-DP for the unit of every system: each row depends on one record, and everything else here
    on public things only. The charge is durable before the first draw, and draws are made in the
    thread that calls. Whatever was drawn and not kept has been seen by nobody: one answer leaves
    for one charge, as :meth:`~sunveil.ledger.ledger.Ledger.keep` sees to.
    """
    question = systems_question(
        systems.about(), terms, net=systems.net > 0, analyst=analyst, edition=edition
    )
    if ledger.kept(dataset, question) is None:
        # what cannot be released is refused before anything is spent
        systems.check()
        question = replace(question, homes=published_homes(systems.about(), homes))

    def row(_: str, frame: Frame, scored: Scored) -> list[Any]:
        return row_of(draw_row(scored, frame, terms), question)

    def draw() -> list[list[Any]]:
        digest = question.digest(dataset)
        return draw_rows(systems, terms, row, digest=digest, on_progress=on_progress)

    answer = ledger.ask(dataset, question, draw)
    return systems_publication(
        answer.value, question, terms, expected=systems.expected(terms), net=systems.net
    )


@checked
def release_systems(
    systems: SystemsToRelease, *, terms: ReleaseTerms, on_progress: OnProgress = ignore_progress
) -> list[Release]:
    """Release every system once, in an order that says nothing of theirs.

    Nothing is recorded: each call is a release of its own, and releases of one system add up.

    Parameters
    ----------
    systems
        Records in memory, or a fleet that is held open.
    terms
        What is asked of every system.
    on_progress
        Called with how many systems have been drawn, and of how many.

    Privacy
    -------
    ``ε``-DP for the unit of every system. Draws are made in the thread that calls.
    """
    systems.check()
    expected = systems.expected(terms)
    # held once, and true of all: how days vote is settled by each record's own days, by this rule
    public = terms.choices.to_dict()
    if terms.mechanism == "window":
        public["window_candidates"] = terms.choices.window(terms.epsilon).inside
    found: list[Release] = []
    for part in systems.parts(terms):
        for _, frame, scored in part.scores():
            drawn = draw_row(scored, frame, terms)
            found.append(replace(drawn, public=public, expected=expected))
        on_progress(len(found), len(systems))
    return sorted(found, key=lambda each: each.release_id)


def draw_row(scored: Scored, frame: Frame, terms: ReleaseTerms) -> Release:
    """Draw the release of one system."""
    exponential = terms.mechanism == "exponential"
    return draw_release(scored, frame, epsilon=terms.epsilon, exponential=exponential)


def draw_rows(
    systems: SystemsToRelease,
    terms: ReleaseTerms,
    row: RowOf,
    *,
    digest: str,
    on_progress: OnProgress = ignore_progress,
) -> list[list[Any]]:
    folder = _folder_of_question(systems, digest)
    rows: list[list[Any]] = []
    for part in systems.parts(terms):
        rows += _rows(part, row, folder=folder)
        on_progress(len(rows), len(systems))
    return sorted(rows)


def _folder_of_question(systems: SystemsToRelease, digest: str) -> Path | None:
    """Return the folder for what is drawn for a question, from the readings as they are."""
    if systems.draws_folder is None:
        return None
    folder = systems.draws_folder / f"drawn-{digest[:32]}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _rows(part: SystemsPart, row: RowOf, *, folder: Path | None) -> list[list[Any]]:
    """Return the rows of a part: those that were put aside before, or drawn now and put aside."""
    path = None if folder is None else folder / f"part-{part.number:05d}.json"
    rows = None if path is None else _drawn_before(path, part.size)
    if rows is None:
        rows = [row(*each) for each in part.scores()]
        if path is not None:
            write_whole(path, json.dumps(sorted(rows)), private=True)
    return rows


def _drawn_before(path: Path, count: int) -> list[list[Any]] | None:
    try:
        rows: list[list[Any]] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return rows if len(rows) == count else None


KIND = "standing"


# What was chosen when rows were drawn, of meters of generation and of net meters.
CHOSEN = ("choices", "net_choices")


@dataclass(frozen=True, slots=True)
class StandingRow:
    """A row that was drawn, of a system that the ledger knows by a digest."""

    row: list[Any]  # as it was published
    changed: str
    charge: int  # the place of its charge


@dataclass(frozen=True, slots=True)
class _Turn:
    """What one publication gives again, and what it draws."""

    given: dict[str, StandingRow]  # rows that stand and are given again
    changed: dict[str, str]


def series_of(terms: ReleaseTerms) -> str:
    """Return the digest that standing rows of the same unit, ε and mechanism have in common."""
    body = {
        "kind": KIND,
        "unit": unit_name(terms.unit),
        "epsilon": terms.epsilon,
        "mechanism": terms.mechanism,
    }
    return digest_of(canonical(body))


@checked
def plan_standing(
    ledger: Ledger,
    dataset: str,
    systems: SystemsToRelease,
    *,
    terms: ReleaseTerms,
    analyst: str | None = None,
    redraw: Mapping[str, str] | None = None,
    keep_gone: bool = False,
) -> SystemsPlan:
    """Return what :func:`publish_standing` would give again, draw and cost; spend nothing.

    Parameters
    ----------
    ledger, dataset, systems, terms, analyst, redraw, keep_gone
        As for :func:`publish_standing`.
    """
    cost = cost_of_systems(ledger, dataset, terms)
    held = _rows_of(ledger.kept_series(dataset, series_of(terms)))
    turn = _turn(dataset, systems, held, redraw or {}, keep_gone=keep_gone)
    looked_at = systems.only(turn.changed) if turn.changed else systems
    question = _question(dataset, terms, turn.changed, analyst, net=looked_at.net > 0)
    paid = not turn.changed or ledger.pending(dataset, question) is not None
    looked_at.check()
    return SystemsPlan(
        systems=len(turn.given) + len(turn.changed),
        cost=0.0 if paid else cost,
        remaining=ledger.dataset(dataset).remaining,
        kept=not turn.changed,
        expected=looked_at.expected(terms),
        again=len(turn.given),
        new=len(turn.changed),
    )


@checked
def publish_standing(
    ledger: Ledger,
    dataset: str,
    systems: SystemsToRelease,
    *,
    terms: ReleaseTerms,
    analyst: str | None = None,
    homes: Sequence[SystemHome] = (),
    redraw: Mapping[str, str] | None = None,
    keep_gone: bool = False,
    on_progress: OnProgress = ignore_progress,
) -> Publication:
    """Give the rows that stand again, draw those of new systems, and return all of them.

    Only new systems are charged, all at once, and only their readings are scored. The same call
    takes up one that was stopped, and gives what was published before at no cost.

    Parameters
    ----------
    ledger, dataset
        What is charged, and the name of the dataset in it.
    systems
        Records in memory, or a fleet that is held open. Who is listed and was drawn before needs no
        readings.
    terms
        What is asked of every system. Unit, ε and mechanism say which rows stand; the choices count
        for what is drawn now.
    analyst
        Whose share is charged too; None for the curator.
    homes
        What is known of the systems' households; without, each system is one by its name.
    redraw
        Systems whose roof is publicly known to have changed, each with the day of the change, such
        as ``2028-05-01``: drawn anew, once for every later day, and charged again.
    keep_gone
        Whether rows of systems that are no longer listed are given, too.
    on_progress
        Called with how many systems have been drawn, and of how many.

    Privacy
    -------
    A system's row is one draw, however often it is given: ``ε``-DP for its unit, and once more for
    every redraw, which is charged. Which systems are listed, and which roofs have changed, is taken
    to be public, and must not come from readings. Rows keep their random names, so that two years'
    rows of a system are known to be one system's: they are the same draw. Proof:
    ``docs/proofs/standing.md``.
    """
    series = series_of(terms)
    # two publications at once would draw a system that is new to both twice
    with ledger.turn(dataset, series):
        held = _rows_of(ledger.kept_series(dataset, series))
        turn = _turn(dataset, systems, held, redraw or {}, keep_gone=keep_gone)
        some = systems.only(turn.changed) if turn.changed else systems
        question = _question(dataset, terms, turn.changed, analyst, net=some.net > 0)
        if turn.changed:
            some.check()  # what cannot be released is refused before anything is spent
            question = replace(question, homes=published_homes(turn.changed, homes))

            def row(name: str, frame: Frame, scored: Scored) -> list[Any]:
                drawn = row_of(draw_row(scored, frame, terms), question)
                return [account_of(dataset, name), *drawn]

            def draw() -> dict[str, Any]:
                digest = question.digest(dataset)
                rows = draw_rows(some, terms, row, digest=digest, on_progress=on_progress)
                return _kept_value(rows, question, some.expected(terms))

            ledger.ask(dataset, question, draw)
        answers = ledger.kept_series(dataset, series)
    turn = _turn(dataset, systems, _rows_of(answers), {}, keep_gone=keep_gone)
    return _publication(turn.given.values(), answers, question, terms, net=systems.net)


def _turn(
    dataset: str,
    systems: SystemsToRelease,
    held: Mapping[str, StandingRow],
    redraw: Mapping[str, str],
    *,
    keep_gone: bool,
) -> _Turn:
    """Return which rows are given again, and which systems are drawn: public, by no reading."""
    able = systems.about().keys()
    _check_redraw(redraw, able)
    given = dict(held) if keep_gone else {}
    changed: dict[str, str] = {}
    for name in systems.listed():
        account = account_of(dataset, name)
        stands, asked = held.get(account), redraw.get(name, "")
        if stands is not None and asked <= stands.changed:
            given[account] = stands
        elif name in able:
            given.pop(account, None)
            changed[name] = asked
    return _Turn(given, changed)


def _check_redraw(redraw: Mapping[str, str], able: Collection[str]) -> None:
    for day in redraw.values():
        try:
            known = date.fromisoformat(day).isoformat() == day
        except ValueError:
            known = False
        if not known:
            raise ParameterError(
                "a system is drawn anew for the day on which its roof changed, such as 2028-05-01"
            )
    strange = sum(name not in able for name in redraw)
    if strange:
        raise ParameterError(
            f"{strange} of the systems to be drawn anew have no readings here; check their names"
        )


def _question(
    dataset: str,
    terms: ReleaseTerms,
    changed: Mapping[str, str],
    analyst: str | None,
    *,
    net: bool,
) -> Question:
    """Return what the ledger is asked for the systems to be drawn."""
    days = {account_of(dataset, name): day for name, day in changed.items() if day}
    parameters: dict[str, Any] = {"choices": terms.choices.to_dict(), "changed": days}
    if net:
        parameters["net_choices"] = terms.net_choices
    if terms.mechanism == "window":
        parameters["window_candidates"] = terms.choices.window(terms.epsilon).inside
    return Question(
        KIND,
        parameters,
        terms.mechanism,
        terms.guarantee,
        systems=tuple(changed),
        analyst=analyst,
        series=series_of(terms),
    )


def _kept_value(
    rows: Sequence[Sequence[Any]], question: Question, expected: ExpectedErrors
) -> dict[str, Any]:
    """Return rows that were drawn as the ledger keeps them: by the digests of their systems."""
    return {
        **question.parameters,
        "year": present_year(),
        "expected": asdict(expected),
        "rows": {account: rest for account, *rest in rows},
    }


def _expected_of(answer: Answer) -> ExpectedErrors:
    """Return the errors to expect of rows that were drawn together, as they were stated then."""
    kept = answer.value["expected"]
    azimuth, tilt, capacity = (Spread(**kept[name]) for name in ("azimuth", "tilt", "capacity"))
    return ExpectedErrors(azimuth, tilt, capacity, kept["basis"])


def _rows_of(answers: Sequence[Answer]) -> dict[str, StandingRow]:
    """Return the rows that stand by the digests of their systems: of each the newest."""
    found: dict[str, StandingRow] = {}
    for answer in answers:
        days = answer.value["changed"]
        for account, row in answer.value["rows"].items():
            found[account] = StandingRow(row, days.get(account, ""), answer.charge)
    return found


def _publication(
    given: Iterable[StandingRow],
    answers: Sequence[Answer],
    question: Question,
    terms: ReleaseTerms,
    *,
    net: int,
) -> Publication:
    """Return rows that stand as a publication, which says when they were drawn, and how."""
    rows = list(given)
    if not rows:
        raise ParameterError("none of the systems has a row, or readings to draw one from")
    counted = Counter(each.charge for each in rows)
    errors = Counter[ExpectedErrors]()
    for answer in answers:
        errors[_expected_of(answer)] += counted[answer.charge]
    made = systems_publication(
        sorted(each.row for each in rows),
        question,
        terms,
        expected=mean_errors(+errors),
        net=net,
    )
    drawn = [
        {
            "year": answer.value["year"],
            "systems": counted[answer.charge],
            **{name: answer.value[name] for name in CHOSEN if name in answer.value},
        }
        for answer in answers
        if counted[answer.charge]
    ]
    public = {key: value for key, value in made.public.items() if key not in CHOSEN}
    return replace(
        made,
        mechanism=f"{made.mechanism}; rows that were drawn in earlier years are given again",
        public={**public, "drawn": drawn},
    )
