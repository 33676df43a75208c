"""One row per system of a whole fleet: charged together, drawn part by part, kept together.

Scores are made by threads, which may do so as often as they like. The charge and the draws are
made by the one that calls, in this order. What was drawn is put aside part by part, so that a run
that was stopped goes on with the parts that are left, on the charge that it has paid.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sunveil.files import write_whole
from sunveil.ledger.ledger import Ledger, Question
from sunveil.privacy.guarantee import Guarantee, check_release_epsilon
from sunveil.privacy.units import Unit
from sunveil.publish.fleet_frames import Expectations, Frames, expect
from sunveil.publish.fleet_open import OpenFleet, silent
from sunveil.publish.fleet_roster import Member, Tell
from sunveil.publish.fleet_scores import score_part
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
from sunveil.releases.answer import Release
from sunveil.releases.choices import Choices
from sunveil.releases.drawing import Scored, draw_release
from sunveil.releases.frame import Frame
from sunveil.releases.release import Mechanism


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of every system: unit, ε, the mechanism's name and the public choices."""

    unit: Unit
    epsilon: float
    mechanism: str
    choices: Choices

    @classmethod
    def of(
        cls,
        unit: Unit,
        epsilon: float,
        *,
        mechanism: Mechanism | str = Mechanism.DEFAULT,
        choices: Choices | None = None,
    ) -> Asked:
        """Return what is asked, or refuse it."""
        check_release_epsilon(epsilon)
        return cls(unit, epsilon, mechanism_name(mechanism, unit), choices or Choices())

    @property
    def guarantee(self) -> Guarantee:
        """What every answer promises."""
        return Guarantee(self.unit, self.epsilon, 0.0, PROOFS[self.mechanism])


def check_promise(ledger: Ledger, dataset: str, asked: Asked) -> None:
    """Refuse what a dataset's promise does not cover, before a fleet is read for it."""
    ledger.dataset(dataset).promise.cost(asked.guarantee, mechanism=asked.mechanism)


def plan_fleet_systems(
    ledger: Ledger, dataset: str, fleet: OpenFleet, *, asked: Asked, analyst: str | None = None
) -> SystemsPlan:
    """Return what :func:`publish_fleet_systems` would cost; spend nothing.

    Parameters
    ----------
    ledger, dataset
        What would be charged, and the name of the dataset in it.
    fleet
        The fleet.
    asked
        What is asked of every system.
    analyst
        Whose share would be charged too.
    """
    question = _question(fleet, asked, analyst)
    kept = ledger.kept(dataset, question) is not None
    free = kept or _paid(ledger, dataset, question) is not None
    expected = _expect(fleet, asked)
    return SystemsPlan(
        systems=len(fleet.roster),
        cost=0.0 if free else ledger.cost(dataset, question),
        remaining=ledger.dataset(dataset).remaining,
        kept=kept,
        expected=mean_errors([expected[each] for each in fleet.roster.members.values()]),
    )


def publish_fleet_systems(
    ledger: Ledger,
    dataset: str,
    fleet: OpenFleet,
    *,
    asked: Asked,
    analyst: str | None = None,
    tell: Tell | None = None,
) -> Publication:
    """Release every system of a fleet once, charged together beforehand, and return the rows.

    A run that was stopped is taken up by the same call: it is charged once, and parts that were
    drawn before stay as they are.

    Parameters
    ----------
    ledger, dataset
        What is charged, and the name of the dataset in it.
    fleet
        The fleet.
    asked
        What is asked of every system.
    analyst
        Whose share is charged too; None for the curator.
    tell
        Told how many systems have been drawn, and of how many.

    Privacy
    -------
    ``ε``-DP for the unit of every system: each row depends on one record. The charge is durable
    before the first draw, and draws are made in the thread that calls. Whatever was drawn and not
    kept has been seen by nobody: one answer leaves for one charge, as
    :meth:`~sunveil.ledger.ledger.Ledger.keep` sees to.
    """
    question = _question(fleet, asked, analyst)
    answer = ledger.kept(dataset, question)
    if answer is None:
        expected = _expect(fleet, asked)
        charge = _paid(ledger, dataset, question)
        if charge is None:
            charge = ledger.charge(dataset, question)
        aside = _aside(fleet, question.digest(dataset), charge)
        drawn = _rows(fleet, asked, expected, question, aside=aside, tell=tell or silent)
        answer = ledger.keep(dataset, question, charge, sorted(drawn))
    return systems_publication(answer.value, question, asked.choices)


def release_fleet(fleet: OpenFleet, *, asked: Asked, tell: Tell | None = None) -> list[Release]:
    """Release every system of a fleet once, in an order that says nothing of theirs.

    Nothing is recorded: each call is a release of its own, and releases of one system add up.

    Parameters
    ----------
    fleet
        The fleet.
    asked
        What is asked of every system.
    tell
        Told how many systems have been drawn, and of how many.

    Privacy
    -------
    ``ε``-DP for the unit of every system. Draws are made in the thread that calls.
    """
    expected = _expect(fleet, asked)
    frames = Frames(fleet.roster, fleet.skies, asked.choices)
    found: list[Release] = []
    for part in fleet.records.plan.parts:
        for member, frame, scored in score_part(fleet, part, frames, asked.unit):
            drawn = _draw(scored, frame, asked)
            # what all of them have in common is held once
            public = found[0].public if found else drawn.public
            found.append(replace(drawn, public=public, expected=expected[member]))
        (tell or silent)(len(found), len(fleet.roster))
    return sorted(found, key=lambda each: each.release_id)


def _question(fleet: OpenFleet, asked: Asked, analyst: str | None) -> Question:
    cells = fleet.skies.cells

    def told(name: str, member: Member) -> str:
        site = cells[member.frame.cell].site
        where = (site.latitude, site.longitude, site.altitude, fleet.skies.weather)
        return repr((name, where, member.calendar))

    return systems_question(
        tuple(fleet.roster.members),
        (told(*each) for each in fleet.roster.members.items()),
        mechanism=asked.mechanism,
        guarantee=asked.guarantee,
        choices=asked.choices,
        analyst=analyst,
    )


def _paid(ledger: Ledger, dataset: str, question: Question) -> int | None:
    """Return the charge of a question that no answer was kept for: a run was stopped after it."""
    digest = question.digest(dataset)
    for entry in ledger.entries(dataset):
        if entry.kind == "charge" and digest in entry.body and entry.facts()["question"] == digest:
            return entry.place
    return None


def _expect(fleet: OpenFleet, asked: Asked) -> Expectations:
    return expect(fleet.roster, fleet.skies, asked.choices, unit=asked.unit, epsilon=asked.epsilon)


def _draw(scored: Scored, frame: Frame, asked: Asked) -> Release:
    exponential = asked.mechanism == "exponential"
    return draw_release(scored, frame, epsilon=asked.epsilon, exponential=exponential)


def _aside(fleet: OpenFleet, digest: str, charge: int) -> Path:
    """Return the folder for what is drawn on a charge, from the readings as they are."""
    folder = Path(fleet.records.desk.job.out) / f"drawn-{digest[:16]}-{charge}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _rows(
    fleet: OpenFleet,
    asked: Asked,
    expected: Expectations,
    question: Question,
    *,
    aside: Path,
    tell: Tell,
) -> list[list[Any]]:
    """Return the rows of all parts: those that were drawn before, and the others drawn now."""
    frames = Frames(fleet.roster, fleet.skies, asked.choices)
    found: list[list[Any]] = []
    for part in fleet.records.plan.parts:
        path = aside / f"part-{part.number:05d}.json"
        rows = _drawn_before(path, fleet.roster.sizes.get(part.number, 0))
        if rows is None:
            rows = [
                row_of(_draw(scored, frame, asked), expected[member], question)
                for member, frame, scored in score_part(fleet, part, frames, asked.unit)
            ]
            write_whole(path, json.dumps(sorted(rows)), private=True)
        found += rows
        tell(len(found), len(fleet.roster))
    return found


def _drawn_before(path: Path, count: int) -> list[list[Any]] | None:
    try:
        rows: list[list[Any]] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return rows if len(rows) == count else None
