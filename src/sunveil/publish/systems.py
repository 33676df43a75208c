"""One row per system under a promise: charged together, drawn part by part, kept together.

The systems may be records in memory or a whole fleet on disk. All of them are charged at once and
durably before the first is drawn, and draws are made by the thread that calls, in this order. What
is drawn of a fleet is put aside part by part, so that a run that was stopped goes on with the parts
that are left, on the charge that it has paid. The same question asked again costs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sunveil.checked import checked
from sunveil.files import write_whole
from sunveil.ledger.amounts import from_nano
from sunveil.ledger.households import SystemHome
from sunveil.publish.households import published_homes
from sunveil.publish.publication import Publication
from sunveil.publish.system_rows import (
    SystemsPlan,
    row_of,
    systems_publication,
    systems_question,
)
from sunveil.publish.terms import (
    OnProgress,
    ReleaseTerms,
    SystemsPart,
    SystemsToRelease,
    ignore_progress,
)
from sunveil.releases.answer import Release
from sunveil.releases.drawing import Scored, draw_release
from sunveil.releases.frame import Frame

# Draws the row of a system from its name, its frame and its score.
RowOf = Callable[[str, Frame, Scored], list[Any]]

if TYPE_CHECKING:  # releases without a ledger need no database
    from sunveil.ledger.ledger import Ledger


def cost_of_systems(ledger: Ledger, dataset: str, terms: ReleaseTerms) -> float:
    """Return what each system would be charged, or refuse it, before any system is read for it.

    Parameters
    ----------
    ledger, dataset
        What would be charged, and the name of the dataset in it.
    terms
        What is asked of every system.
    """
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
    """Draw the release of one system.

    Parameters
    ----------
    scored, frame
        Its scores, which are private, and the frame that they were made in.
    terms
        What is asked.
    """
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
    """Draw every system once, part by part, in the thread that calls, and return the rows sorted.

    Parameters
    ----------
    systems, terms
        Whose rows, and what is asked of them.
    row
        Draws one of them.
    digest
        Of the question that was charged: what was drawn for it before is taken as it is.
    on_progress
        Called with how many systems have been drawn, and of how many.
    """
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
