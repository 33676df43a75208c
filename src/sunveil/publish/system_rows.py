"""SystemRows: one row per system, drawn once and kept."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from sunveil._files import write_whole
from sunveil._options import check_fields
from sunveil.errors import ParameterError
from sunveil.estimates.read_write import MOUNTS
from sunveil.ledger.hash_chain import canonical, digest_of
from sunveil.ledger.promises import Answer, Dataset, Question, account_of
from sunveil.ledger.statements import present_year
from sunveil.privacy.guarantees import unit_name
from sunveil.publication.published_tables import (
    CHOOSER,
    Column,
    HowMade,
    Publication,
    PublishedTable,
)
from sunveil.publication.readme_and_card import DRAWN
from sunveil.publish.publisher import Product
from sunveil.releases.expected_errors import mean_errors
from sunveil.releases.fleet_releases import (
    OnProgress,
    ReleaseTerms,
    SystemsPart,
    SystemsToRelease,
    draw_row,
    ignore_progress,
)
from sunveil.releases.release_answer import ExpectedErrors, Release, Spread
from sunveil.releases.release_choices import Choices

COLUMNS = (
    Column("release_id", "string", "Random name of the release; it is not the system's own."),
    Column("surface_azimuth", "number", "Azimuth of the plane, clockwise from north. [degrees]"),
    Column("surface_tilt", "number", "Tilt of the plane from the horizontal. [degrees]"),
    Column("dc_capacity_kw", "number", "DC nameplate capacity. [kW]"),
)

ONE_PLANE, TWO_PLANES, TURNING = MOUNTS

# Further columns where pairs of planes and trackers were candidates.
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

KIND = "standing"
# The public choices that standing rows were drawn with, for meters of generation and net meters.
CHOSEN = ("choices", "net_choices")


@dataclass(frozen=True, slots=True)
class StandingRow:
    """A row that was drawn and kept."""

    row: list[Any]  # as it was published
    changed: str  # day of the redraw that it was drawn for; empty for the first draw
    charge: int  # place of its charge


@dataclass(frozen=True, slots=True)
class _StandingPlan:
    """Rows that a publication gives again, and systems that it draws."""

    given: dict[str, StandingRow]  # by account
    changed: dict[str, str]  # day of the change, or nothing for a new system, by name


@dataclass(frozen=True, slots=True, eq=False)
class SystemRows(Product[ExpectedErrors]):
    """One row per system, in the order of random names, so that the order says nothing.

    Parameters
    ----------
    systems
        Records in memory, or an open fleet.
    terms
        What is asked of every system.
    edition
        Public name of the readings, where there are others of the same days.
    standing
        Give rows that stand from earlier years again, and draw and charge new systems alone. Unit,
        ε and mechanism identify them; a system with a standing row needs no readings.
    redraw
        Standing rows to draw again, since the system's roof is publicly known to have changed: the
        day of the change, such as ``2028-05-01``, by system. Each is charged again, once for every
        later day.
    keep_gone
        Also give standing rows of systems that are no longer listed.
    on_progress
        Called with the numbers of systems drawn and of all systems to draw.

    Privacy
    -------
    ε-DP for the unit of every system: each row depends on one record, all else on public things. A
    row is one draw, however often it is given; a redraw is another, and is charged. The systems
    listed and the roofs that have changed are taken to be public, and must not come from readings.
    Standing rows keep their random names, so that two years' rows of a system are known to be one
    system's: they are the same draw. Proof: ``docs/proofs/standing.md``.
    """

    systems: SystemsToRelease
    terms: ReleaseTerms
    edition: str | None = None
    standing: bool = False
    redraw: Mapping[str, str] = field(default_factory=dict)
    keep_gone: bool = False
    on_progress: OnProgress = ignore_progress

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.standing and (self.redraw or self.keep_gone):
            raise ParameterError("--redraw and --keep-gone are for standing rows; add --standing")

    @property
    def series(self) -> str | None:
        """Digest of unit, ε and mechanism, for standing rows."""
        if not self.standing:
            return None
        body = {
            "kind": KIND,
            "unit": unit_name(self.terms.unit),
            "epsilon": self.terms.epsilon,
            "mechanism": self.terms.mechanism,
        }
        return digest_of(canonical(body))

    def question(
        self, dataset: Dataset, kept: Sequence[Answer] = (), *, analyst: str | None = None
    ) -> Question | None:
        """Return the question for all systems, or for those without a standing row."""
        if self.standing:
            changed = self._plan(dataset, kept, self.redraw).changed
            if not changed:
                return None
            days = {account_of(dataset.name, name): day for name, day in changed.items() if day}
            chosen: dict[str, Any] = {"changed": days}
            kind, names = KIND, tuple(changed)
        else:
            about = self.systems.about()
            digest = hashlib.sha256("\n".join(sorted(about.values())).encode()).hexdigest()
            chosen = {"about": digest}
            kind, names = "system", tuple(about)
        terms = self.terms
        parameters: dict[str, Any] = {"choices": terms.choices.to_dict(), **chosen}
        if self._some(names).net:
            parameters["net_choices"] = terms.net_choices
        if self.edition is not None and not self.standing:
            parameters["edition"] = self.edition
        if terms.mechanism == "window":
            # what another shape of window has drawn answers another question
            parameters["window_candidates"] = terms.choices.window(terms.epsilon).inside
        return Question(
            kind, parameters, terms.mechanism, terms.guarantee, names, analyst, series=self.series
        )

    def expected(self, dataset: Dataset, question: Question | None = None) -> ExpectedErrors:
        """Return the errors to expect, averaged over the systems that are drawn."""
        return self._drawn(question).expected(self.terms)

    def rows_given_again(self, dataset: Dataset, kept: Sequence[Answer]) -> int:
        """Return the number of standing rows that are given again."""
        return len(self._plan(dataset, kept, self.redraw).given) if self.standing else 0

    def check(self, question: Question) -> None:
        """Refuse systems that cannot be released."""
        self._drawn(question).check()

    def draw(self, dataset: Dataset, question: Question, *, digest: str) -> Any:
        """Draw the rows: private."""
        systems, terms = self._drawn(question), self.terms
        folder = _folder_of_question(systems, digest)
        rows: list[list[Any]] = []
        for part in systems.parts(terms):
            rows += self._rows_of_part(part, dataset, question, folder=folder)
            self.on_progress(len(rows), len(systems))
        if not self.standing:
            return sorted(rows)
        return {
            **question.parameters,
            "year": present_year(),
            "expected": asdict(systems.expected(terms)),
            "rows": {account: row for account, *row in sorted(rows)},
        }

    def publication(
        self, dataset: Dataset, answers: Sequence[Answer], question: Question | None
    ) -> Publication:
        """Return the rows that were drawn, or that stand, with the errors to expect."""
        if not self.standing:
            rows, expected = answers[0].value, self.systems.expected(self.terms)
            public = self._public(rows)
            return self._published(rows, public, expected, question)
        given = list(self._plan(dataset, answers, {}).given.values())
        if not given:
            raise ParameterError("none of the systems has a row, or readings to draw one from")
        counted = Counter(each.charge for each in given)
        errors = Counter[ExpectedErrors]()
        for answer in answers:
            errors[_expected_of(answer)] += counted[answer.charge]
        rows = sorted(each.row for each in given)
        public = {key: value for key, value in self._public(rows).items() if key not in CHOSEN}
        public[DRAWN] = [
            {
                "year": answer.value["year"],
                "systems": counted[answer.charge],
                **{name: answer.value[name] for name in CHOSEN if name in answer.value},
            }
            for answer in answers
            if counted[answer.charge]
        ]
        return self._published(rows, public, mean_errors(+errors), question)

    def _published(
        self,
        rows: Sequence[Sequence[Any]],
        public: dict[str, Any],
        expected: ExpectedErrors,
        question: Question | None,
    ) -> Publication:
        mechanism = f"One draw per system by the mechanism {self.terms.mechanism}"
        if self.standing:
            mechanism += "; rows that were drawn in earlier years are given again"
        return Publication(
            title="Solar PV systems",
            tables=(*systems_tables(rows), errors_table(expected)),
            guarantee=self.terms.guarantee,
            mechanism=mechanism,
            public=public,
            how=_how(public),
            question=question,
        )

    def _public(self, rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
        guarantee, net = self.terms.guarantee, self.systems.net
        public: dict[str, Any] = {
            "systems": len(rows),
            "unit": unit_name(guarantee.unit),
            "epsilon": guarantee.epsilon,
            "choices": self.terms.choices.to_dict(),
            "cautions": [FLAT],
        }
        if net:
            public |= {"net_systems": net, "net_choices": self.terms.net_choices}
            public["cautions"].append(net_caution(net, len(rows)))
        if self.terms.mechanism == "window":
            public["window_candidates"] = self.terms.choices.window(guarantee.epsilon).inside
        return public

    def _drawn(self, question: Question | None) -> SystemsToRelease:
        return self._some(() if question is None else question.systems or ())

    def _some(self, names: Collection[str]) -> SystemsToRelease:
        """Return the systems that are drawn: new ones alone where rows stand."""
        some = self.standing and names
        return self.systems.only(names) if some else self.systems

    def _plan(
        self, dataset: Dataset, kept: Sequence[Answer], redraw: Mapping[str, str]
    ) -> _StandingPlan:
        """Return rows given again and systems drawn: public, by no reading."""
        rows, able = _rows_of(kept), self.systems.about().keys()
        _check_redraw(redraw, able)
        given = dict(rows) if self.keep_gone else {}
        changed: dict[str, str] = {}
        for name in self.systems.listed():
            account = account_of(dataset.name, name)
            stands, asked = rows.get(account), redraw.get(name, "")
            if stands is not None and asked <= stands.changed:
                given[account] = stands
            elif name in able:
                given.pop(account, None)
                changed[name] = asked
        return _StandingPlan(given, changed)

    def _rows_of_part(
        self, part: SystemsPart, dataset: Dataset, question: Question, *, folder: Path | None
    ) -> list[list[Any]]:
        """Return the rows of a part, as they were drawn and put aside before, or drawn now."""
        path = None if folder is None else folder / f"part-{part.number:05d}.json"
        rows = None if path is None else _drawn_before(path, part.size)
        if rows is None:
            rows = []
            for name, frame, scored in part.scores():
                row = row_of(draw_row(scored, frame, self.terms), question)
                # the ledger keeps standing rows by the accounts of their systems
                account = [account_of(dataset.name, name)] if self.standing else []
                rows.append([*account, *row])
            if path is not None:
                write_whole(path, json.dumps(sorted(rows)), private=True)
        return rows


def _how(public: Mapping[str, Any]) -> HowMade:
    return HowMade(
        covers="Each row",
        data="Meter readings of solar PV systems, one record per system.",
        unprotected=f"Public: which systems are in the data, how many ({public['systems']}), their"
        " places, the weather there, and the times of their readings.",
        preprocessing="Each reading is used by itself: no rule looks at a record as a whole."
        f" {_choices_made(public.get('choices'))}",
        post_processing="None: rows are as they were drawn, in the order of their random names.",
        composition="Each row depends on the record of one system alone, so that a household loses"
        " what its own rows cost.",
        product_type="Dataset",
    )


def _choices_made(choices: Mapping[str, Any] | None) -> str:
    """Return which choices of releases differ from the defaults, and who made them."""
    own = "Sunveil's own, constants of the program that are the same for all data"
    if choices is None:
        return (
            "The choices that rows were drawn with stand in the README, under its public choices."
        )
    usual = {name: json.dumps(value) for name, value in Choices().to_dict().items()}
    other = sorted(name for name, value in choices.items() if json.dumps(value) != usual.get(name))
    if not other:
        return f"Grid, tolerance and votes are {own}."
    return f"Chosen for it: {', '.join(other)}; {CHOOSER}. All other choices are {own}."


def row_of(drawn: Release, question: Question) -> list[Any]:
    """Return a release as a row of the published table, if it is what was charged."""
    if (drawn.guarantee, drawn.mechanism) != (question.guarantee, question.mechanism):
        raise AssertionError("a release was drawn otherwise than it was charged")
    row = [drawn.release_id, drawn.surface_azimuth, drawn.surface_tilt, drawn.dc_capacity_kw]
    if not drawn.planes and drawn.tracker is None:
        return row
    tracker = None if drawn.tracker is None else drawn.tracker.to_dict()
    return [*row, [each.to_dict() for each in drawn.planes], tracker]


def net_caution(net: int, systems: int) -> str:
    """Return what to bear in mind of rows that come from net meters."""
    which = "All" if net >= systems else f"{net:,}"
    said = (
        f"{which} of the systems have net meters, which read generation less a household's load:"
        " only single planes are released for them"
    )
    larger = ", and their errors are larger than those of all rows together"
    return f"{said}{'' if net >= systems else larger}."


def systems_tables(rows: Sequence[Sequence[Any]]) -> tuple[PublishedTable, ...]:
    """Return the table of systems, and one of their planes where any row has them."""
    about = (
        "Azimuth, tilt and DC capacity of single systems, each drawn under the promise; the errors"
        " to expect stand in the table errors."
    )
    if not any(map(_has_planes, rows)):
        return (PublishedTable("systems", about, COLUMNS, tuple(map(tuple, rows))),)
    planes = PublishedTable(
        name="planes",
        about="The planes of the systems, one row each; trackers have none, and those rows of the"
        " table systems that say no mount were drawn among single planes alone.",
        columns=PLANE_COLUMNS,
        rows=tuple(itertools.chain.from_iterable(map(_plane_rows, rows))),
    )
    full = tuple((*row[: len(COLUMNS)], *_mount(row)) for row in rows)
    about += (
        " Azimuth and tilt of two planes are those of their summed normal, of a tracker at rest."
    )
    return PublishedTable("systems", about, (*COLUMNS, *MOUNT_COLUMNS), full), planes


def _has_planes(row: Sequence[Any]) -> bool:
    """Return whether a row has planes and a tracker."""
    return len(row) > len(COLUMNS)


def _mount(row: Sequence[Any]) -> tuple[Any, ...]:
    """Return what a row says in the columns of mounts."""
    if not _has_planes(row):
        return None, None, None, None
    planes, tracker = row[len(COLUMNS) :]
    if tracker is not None:
        return TURNING, tracker["axis_azimuth"], tracker["gcr"], planes
    return ONE_PLANE if len(planes) == 1 else TWO_PLANES, None, None, planes


def _plane_rows(row: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    if _has_planes(row):
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


def _folder_of_question(systems: SystemsToRelease, digest: str) -> Path | None:
    """Return the folder for what is drawn for a question, from the readings as they are."""
    if systems.draws_folder is None:
        return None
    folder = systems.draws_folder / f"drawn-{digest[:32]}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _drawn_before(path: Path, count: int) -> list[list[Any]] | None:
    try:
        rows: list[list[Any]] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return rows if len(rows) == count else None


def _check_redraw(redraw: Mapping[str, str], able: Collection[str]) -> None:
    for day in redraw.values():
        try:
            known = date.fromisoformat(day).isoformat() == day
        except ValueError:
            known = False
        if not known:
            raise ParameterError(
                "a system is drawn again for the day on which its roof changed, such as 2028-05-01"
            )
    missing = sum(name not in able for name in redraw)
    if missing:
        raise ParameterError(
            f"{missing} of the systems to draw again have no readings here; check their names"
        )


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
