"""One case of the audit: many neighbours of one dataset, at one door.

Every neighbour is run once. Where what came out differs from first runs of the dataset itself,
both are run again, often and freshly, and only these runs count: the events (the same public part,
the same bin of what was drawn) were fixed by the first look. What never differs at a first look has
a bound of 0.
"""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sunveil.endtoend.bounds import epsilon_bound, runs_needed
from sunveil.endtoend.cells import PrivateCells
from sunveil.endtoend.hostile import Neighbour
from sunveil.endtoend.inputs import CannotHold, Writer
from sunveil.endtoend.outcomes import Outcome
from sunveil.endtoend.rules import Rule
from sunveil.endtoend.workplace import Entry, Workplace

# The public part, and the bin of what was drawn.
EVENTS = 2
# More runs than a difference that always shows needs, for one that shows nearly always.
MARGIN = 1.25
FIRST_RUNS = 3
DRAWN_DIFFERS = "what is drawn"


@dataclass(frozen=True, slots=True, eq=False)
class AuditCase:
    """A dataset and its neighbours, at one door.

    Parameters
    ----------
    door
        Which door, in words.
    source
        Which files, in words.
    unit
        What the neighbours differ in, in words.
    claim
        The ε that is claimed there.
    data
        The dataset.
    neighbours
        Its neighbours.
    write
        Writes either as files.
    run
        Goes through the door.
    rule
        The bins of what is drawn.
    runs
        How often each of a pair is run whatever a first look shows; 0: only where it differs.
    """

    door: str
    source: str
    unit: str
    claim: float
    data: PrivateCells
    neighbours: tuple[Neighbour, ...]
    write: Writer
    run: Entry
    rule: Rule
    runs: int = 0


@dataclass(frozen=True, slots=True)
class CaseFinding:
    """What was found at one door.

    Parameters
    ----------
    door, source, unit, claim
        As of the case.
    pairs, runs
        How many pairs there were, and how many runs in all.
    differing
        What kinds of pairs differed at a first look.
    answered
        Whether the dataset itself is answered: where it is refused, only refusals are compared.
    bound
        The largest lower bound of ε.
    worst
        The pair that it is of, and what differed, in words.
    seconds, seconds_apart
        Mean time of a run, and of the neighbours' less the dataset's own: for information. [s]
    """

    door: str
    source: str
    unit: str
    claim: float
    pairs: int
    runs: int
    differing: tuple[str, ...]
    answered: bool
    bound: float
    worst: str
    seconds: float
    seconds_apart: float

    @property
    def holds(self) -> bool:
        """Whether nothing exceeds the claim."""
        return self.bound <= self.claim

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain JSON types."""
        return {**asdict(self), "holds": self.holds}


# A neighbour, its files, and what differed at a first look.
_Suspect = tuple[Neighbour, Path, str]


class _Runner:
    """Runs of one case, with their times."""

    def __init__(self, case: AuditCase, place: Workplace) -> None:
        self.case, self._place = case, place
        self.seconds: dict[bool, list[float]] = {True: [], False: []}

    def written(self, data: PrivateCells) -> Path | None:
        """Return the files of a dataset; None where the format cannot hold it."""
        folder = self._place.new_folder()
        try:
            return self.case.write(folder, data)
        except CannotHold:
            shutil.rmtree(folder)
            return None

    def remove(self, path: Path) -> None:
        """Remove the files of a dataset that is not needed again."""
        within = path.relative_to(self._place.folder).parts[0]
        shutil.rmtree(self._place.folder / within)

    def run(self, path: Path, *, own: bool) -> Outcome:
        begun = time.monotonic()
        found = self.case.run(path)
        self.seconds[own].append(time.monotonic() - begun)
        return found

    def reference(self, path: Path) -> Outcome:
        """Return one of a few runs of the dataset itself, of the bin that most of them have."""
        found = [self.run(path, own=True) for _ in range(FIRST_RUNS)]
        bins = [self.case.rule(each.drawn) for each in found]
        return found[bins.index(max(bins, key=bins.count))]

    def same(self, path: Path, reference: Outcome, runs: int, *, own: bool) -> tuple[int, int]:
        """Return how often the public part, and the bin, are those of a reference."""
        bin_of, seen = self.case.rule, [0, 0]
        for _ in range(runs):
            found = self.run(path, own=own)
            seen[0] += found.public == reference.public
            seen[1] += bin_of(found.drawn) == bin_of(reference.drawn)
        return seen[0], seen[1]

    def finding(
        self, suspects: Sequence[_Suspect], *, pairs: int, answered: bool, bound: float, worst: str
    ) -> CaseFinding:
        mean = {own: sum(each) / max(len(each), 1) for own, each in self.seconds.items()}
        total = [*self.seconds[True], *self.seconds[False]]
        return CaseFinding(
            door=self.case.door,
            source=self.case.source,
            unit=self.case.unit,
            claim=self.case.claim,
            pairs=pairs,
            runs=len(total),
            differing=tuple(dict.fromkeys(each.kind for each, _, told in suspects if told)),
            answered=answered,
            bound=bound,
            worst=worst,
            seconds=sum(total) / len(total),
            seconds_apart=mean[False] - mean[True],
        )


def audit_case(case: AuditCase, place: Workplace, *, alpha: float) -> CaseFinding:
    """Look for a pair whose outcomes surely differ by more than is claimed.

    The first pair that does is enough, and the last that is run often.

    Parameters
    ----------
    case
        What is audited.
    place
        Where its files are written.
    alpha
        How often one event of one pair may be judged wrongly.
    """
    runner = _Runner(case, place)
    own = runner.written(case.data)
    assert own is not None
    reference = runner.reference(own)
    pairs, suspects = _look(runner, reference)
    runs = case.runs or math.ceil(MARGIN * runs_needed(case.claim, alpha=alpha))
    bound, worst = 0.0, ""
    for neighbour, path, told in suspects:
        found = _bound(runner, own, path, reference, runs=runs, alpha=alpha)
        if found > bound:
            bound, worst = found, f"{neighbour}: {told or DRAWN_DIFFERS}"
        if bound > case.claim:
            break
    answered = bool(reference.drawn)
    return runner.finding(suspects, pairs=pairs, answered=answered, bound=bound, worst=worst)


def _look(runner: _Runner, reference: Outcome) -> tuple[int, list[_Suspect]]:
    """Run every neighbour once; return how many there are, and those to be run often."""
    case, pairs, suspects = runner.case, 0, []
    for neighbour in case.neighbours:
        path = runner.written(neighbour.of(case.data))
        if path is None:
            continue
        pairs += 1
        told = _difference(case, reference, runner.run(path, own=False))
        if told or case.runs:
            suspects.append((neighbour, path, told))
        else:
            runner.remove(path)
    # what must not change at all tells most
    return pairs, sorted(suspects, key=lambda each: each[2].startswith(DRAWN_DIFFERS))


def pairs_of(cases: Iterable[AuditCase]) -> int:
    """Return how many pairs cases have at most."""
    return sum(len(case.neighbours) for case in cases)


def _difference(case: AuditCase, reference: Outcome, found: Outcome) -> str:
    ours, theirs = case.rule(reference.drawn), case.rule(found.drawn)
    drawn = "" if ours == theirs else f"{DRAWN_DIFFERS}: {ours} | {theirs}"
    return reference.difference(found) or drawn


def _bound(
    runner: _Runner, own: Path, other: Path, reference: Outcome, *, runs: int, alpha: float
) -> float:
    first = runner.same(own, reference, runs, own=True)
    second = runner.same(other, reference, runs, own=False)
    counts = zip(first, second, strict=True)
    return max(epsilon_bound(a, b, runs, alpha=alpha) for a, b in counts)
