"""Rows that stand: each system is drawn once, and given again year after year.

A series is all rows of a dataset for one unit, ε and mechanism. Which of them were drawn is kept in
the ledger by digests of the systems, each row bound by its entry. Public choices that change from
year to year, or from version to version, count for what is drawn then: what stands stays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any

from sunveil.checked import checked
from sunveil.errors import ParameterError
from sunveil.ledger.chain import canonical, digest_of
from sunveil.ledger.households import SystemHome
from sunveil.ledger.records import Answer, Question, account_of
from sunveil.ledger.rows import present_year
from sunveil.privacy.units import unit_name
from sunveil.publish.households import published_homes
from sunveil.publish.publication import Publication
from sunveil.publish.system_rows import SystemsPlan, mean_errors, row_of, systems_publication
from sunveil.publish.systems import cost_of_systems, draw_row, draw_rows
from sunveil.publish.terms import OnProgress, ReleaseTerms, SystemsToRelease, ignore_progress
from sunveil.releases.answer import ExpectedErrors, Spread
from sunveil.releases.drawing import Scored
from sunveil.releases.frame import Frame

if TYPE_CHECKING:
    from sunveil.ledger.ledger import Ledger

KIND = "standing"
# What was chosen when rows were drawn, of meters of generation and of net meters.
CHOSEN = ("choices", "net_choices")


@dataclass(frozen=True, slots=True)
class StandingRow:
    """A row that was drawn, of a system that the ledger knows by a digest.

    Parameters
    ----------
    row
        As it was published.
    changed
        Day of the public change of the roof that it was drawn anew for; empty for the first draw.
    charge
        The place of its charge.
    """

    row: list[Any]
    changed: str
    charge: int


@dataclass(frozen=True, slots=True)
class _Turn:
    """What one publication gives again, and what it draws.

    Parameters
    ----------
    given
        Rows that stand and are given again.
    changed
        Names of the systems to be drawn, each with the day of its change, or an empty text.
    """

    given: dict[str, StandingRow]
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
