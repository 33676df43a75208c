"""Faults that the audit must catch, each planted around a door for the audit alone.

A faulty reader is played by handing a door the file that it would have made of the one given: what
Sunveil itself does is never changed. That the audit catches each of them shows that it would have
noticed; an audit that lets one pass is no evidence for anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sunveil.endtoend.cases import (
    DAYS,
    SHORT_DAYS,
    Scope,
    rule_of_estimates,
    sector_draws,
    window_draws,
)
from sunveil.endtoend.cells import THREE, estimate_cells, meter_cells
from sunveil.endtoend.commands import command_release
from sunveil.endtoend.comparing import AuditCase, CaseFinding
from sunveil.endtoend.doors import EPSILON, PYTHON, UNITS
from sunveil.endtoend.hostile import DAY, READING, SYSTEM, neighbours
from sunveil.endtoend.inputs import comma_csv, estimates_csv
from sunveil.endtoend.library import python_tables
from sunveil.endtoend.outcomes import Outcome
from sunveil.endtoend.rules import each_near
from sunveil.endtoend.workplace import Entry
from sunveil.publish.bins import PARTS

# How many of the first cells a reader looks at that guesses.
HEAD = 100
# How often what is drawn with too little noise is drawn: more than one that always shows needs,
# and for one that shows nearly always.
FAULTY_DRAWS, MORE_DRAWS = 60, 100
# So many estimates that rounding most of them moves a total that is drawn alone beyond its noise.
ROWS, WHOLE_ROWS, TOTAL_REACH = 900, 110, 170.0

Lines = list[list[bytes]]


@dataclass(frozen=True, slots=True, eq=False)
class PlantedFault:
    """A fault, and the case that must show it.

    Parameters
    ----------
    name
        What is wrong, in a few words.
    case
        A case with the fault in it.
    """

    name: str
    case: AuditCase


@dataclass(frozen=True, slots=True)
class FaultFinding:
    """Whether a planted fault was caught.

    Parameters
    ----------
    name
        What was wrong.
    finding
        What was found of it.
    """

    name: str
    finding: CaseFinding

    @property
    def caught(self) -> bool:
        """Whether the audit noticed."""
        return not self.finding.holds

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain JSON types."""
        return {**asdict(self), "caught": self.caught}


def planted_faults(scope: Scope) -> Iterator[PlantedFault]:
    """Yield every fault, at a door where the code itself holds."""
    rows = estimate_cells(ROWS, whole=WHOLE_ROWS)
    tables = AuditCase(
        door=PYTHON,
        source="estimates, CSV",
        unit=SYSTEM,
        claim=EPSILON,
        data=rows,
        neighbours=tuple(neighbours(rows, READING, kinds=["5.25"], spots=2)),
        write=estimates_csv,
        run=python_tables(epsilon=EPSILON, tables=("totals",)),
        rule=rule_of_estimates(rows, TOTAL_REACH),
    )
    yield PlantedFault(
        "types told from the first rows", replace(tables, run=reading_as(sniffed, tables.run))
    )
    yield PlantedFault(
        "a decimal mark for all from the first readings",
        _meters(scope, READING, "decimal comma", lambda run: reading_as(one_mark, run), sharp=True),
    )
    yield PlantedFault(
        "a batch aborted by one system",
        _meters(scope, SYSTEM, "blank", lambda run: reading_as(aborted, run)),
    )
    yield PlantedFault(
        "net meters told by readings below zero",
        _meters(
            scope,
            READING,
            "-1e30",
            lambda run: told_net(run, _released(scope, DAY, net=True)),
            asked=DAY,
        ),
    )
    yield PlantedFault(
        "a note that counts what cannot be read", _meters(scope, READING, "nan", noting)
    )
    yield PlantedFault(
        "drawn at twenty times the ε that is claimed",
        window_draws(runs=FAULTY_DRAWS, drawn_at=20.0 * EPSILON),
    )
    yield PlantedFault(
        "parts of systems drawn with the noise of as many systems",
        sector_draws(runs=MORE_DRAWS, drawn_at=PARTS * EPSILON),
    )


def reading_as(change: Callable[[Lines], Lines], run: Entry) -> Entry:
    """Return a door before which a CSV file is read, and made into another, by a faulty reader."""

    def spoilt(path: Path) -> Outcome:
        lines = [line.split(b",") for line in path.read_bytes().split(b"\n")[:-1]]
        made = path.parent / "read" / path.name
        made.parent.mkdir(exist_ok=True)
        made.write_bytes(b"".join(b",".join(line) + b"\n" for line in change(lines)))
        return run(made)

    return spoilt


def sniffed(lines: Lines) -> Lines:
    """Round the last column if its head is whole numbers, as a reader does that tells types."""
    head, *rows = lines
    if not all(row[-1].isdigit() for row in rows[:HEAD]):
        return lines
    return [head, *([*row[:-1], b"%.0f" % float(row[-1])] for row in rows)]


def one_mark(lines: Lines) -> Lines:
    """Leave out readings with a point if one of the first has a comma."""
    head, *rows = lines
    # a decimal comma has made one cell more of its line
    if all(len(row) == len(head) for row in rows[:HEAD]):
        return lines
    return [head, *([*row[: len(head) - 1], b""] for row in rows)]


def aborted(lines: Lines) -> Lines:
    """End the file at a system that has no reading."""
    head, *rows = lines
    known = {row[0] for row in rows if row[-1]}
    place = next((at for at, row in enumerate(rows) if row[0] not in known), len(rows))
    return [head, *rows[:place]]


def told_net(run: Entry, run_net: Entry) -> Entry:
    """Return a door that takes a file for one of net meters if any reading is below zero.

    Parameters
    ----------
    run, run_net
        The door for meters of generation, and the one for net meters.
    """

    def told(path: Path) -> Outcome:
        return (run_net if b",-" in path.read_bytes() else run)(path)

    return told


def noting(run: Entry) -> Entry:
    """Return a command that says on stderr how many cells are no finite numbers."""

    def noted(path: Path) -> Outcome:
        found = run(path)
        count = path.read_bytes().count(b",nan\n")
        said = f"{found.public['stderr']}{count} readings were left out" if count else None
        return found if said is None else replace(found, public={**found.public, "stderr": said})

    return noted


def _released(
    scope: Scope, unit: str, *, epsilon: float = EPSILON / 10.0, net: bool = False
) -> Entry:
    """Return the command that releases systems of one file."""
    options = {"net": True} if net else {}
    return command_release(scope.place, unit=UNITS[unit], epsilon=epsilon, options=options)


def _meters(
    scope: Scope,
    unit: str,
    kind: str,
    plant: Callable[[Entry], Entry],
    *,
    asked: str = READING,
    sharp: bool = False,
) -> AuditCase:
    """Return the command over a CSV file, with a fault planted around it.

    A fault of what is drawn needs answers that are sharp; one of what must not change shows the
    same beside a small ε, which fewer runs exceed. Releases are those of readings, whatever the
    neighbours differ in, so that the fault is what shows; of days where these are quicker.
    """
    truths, days = (THREE[1:], DAYS) if sharp else (THREE[:2], SHORT_DAYS)
    data = meter_cells(truths, days=days)
    epsilon = EPSILON if sharp else EPSILON / 10.0
    return AuditCase(
        door="command",
        source="CSV",
        unit=unit,
        claim=epsilon,
        data=data,
        neighbours=tuple(neighbours(data, unit, kinds=[kind], spots=1)),
        write=comma_csv,
        run=plant(_released(scope, asked, epsilon=epsilon)),
        rule=each_near(data.truths),
    )
