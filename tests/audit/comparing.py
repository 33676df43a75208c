"""One case of the audit: many neighbours of one dataset, at one entry point.

Every neighbour is run once. Where what came out differs from first runs of the dataset itself, both
are run again, often and freshly, and only these runs count: the events (the same public part, the
same bin of what was drawn) were fixed by the first look. For an event, a promise of ε says that its
probabilities p and q satisfy p <= e^ε q. Clopper-Pearson bounds hold p from below and q from above,
so ln(p_low / q_high) is a lower bound of ε that is too high with a small, chosen probability only.
What never differs at a first look has a bound of 0.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from scipy.stats import beta

from audit.datasets import DAY, SYSTEM, CannotHold, Neighbour, PrivateCells
from audit.entries import Entry, Workplace
from audit.formats import Writer
from audit.outcomes import Outcome, Rule

# An audit of a right system comes out right with this probability.
CONFIDENCE = 0.999
# A bound from below and one from above of either share; the complement's are one less these.
BOUNDS_PER_EVENT = 4
# The public part, and the bin of what was drawn.
EVENTS = 2
# More runs than a difference that always shows needs, for one that shows nearly always.
MARGIN = 1.25
FIRST_RUNS = 3
DRAWN_DIFFERS = "what is drawn"


@dataclass(frozen=True, slots=True, eq=False)
class AuditCase:
    """A dataset and its neighbours, at one entry point."""

    entry: str
    source: str
    unit: str
    claim: float
    data: PrivateCells
    neighbours: tuple[Neighbour, ...]
    write: Writer
    run: Entry
    rule: Rule
    runs: int = 0  # of each of a pair, whatever a first look shows; 0: only where it differs
    # whether what comes out is readings, of which those that are replaced may differ
    readings: bool = False

    @property
    def name(self) -> str:
        """What the case is called."""
        return f"{self.entry}, {self.source}, {self.unit}"

    def replaced(self, neighbour: Neighbour) -> Callable[[str], bool]:
        """Return what says of the name of an outcome whether a neighbour may change it."""
        if not self.readings:
            return lambda name: False
        if self.unit == SYSTEM or neighbour.stamps:
            return lambda name: name.startswith(f"{neighbour.system} ")
        places, a_day = neighbour.places, self.data.per_day
        if self.unit == DAY:
            places = tuple(range(begin := places[0] // a_day * a_day, begin + a_day))
        times = [self.data.columns[place].replace(" ", "T") for place in places]
        return {f"{neighbour.system} at {time}" for time in times}.__contains__


@dataclass(frozen=True, slots=True)
class CaseFinding:
    """What was found of one case."""

    claim: float
    pairs: int
    runs: int
    answered: bool  # whether the dataset itself is; where it is refused, refusals are compared
    bound: float  # the largest lower bound of ε
    worst: str  # the pair that it is of, and what differed

    @property
    def holds(self) -> bool:
        """Whether nothing exceeds the claim."""
        return self.bound <= self.claim


class _Runner:
    """Runs of one case, and how many there were."""

    def __init__(self, case: AuditCase, place: Workplace) -> None:
        self.case, self._place = case, place
        self.runs = 0

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

    def run(self, path: Path) -> Outcome:
        self.runs += 1
        return self.case.run(path)

    def same(
        self, path: Path, reference: Outcome, runs: int, neighbour: Neighbour
    ) -> tuple[int, int]:
        """Return how often the public part, and the bin, are those of a reference."""
        bin_of, seen, may = self.case.rule, [0, 0], self.case.replaced(neighbour)
        for _ in range(runs):
            found = self.run(path)
            seen[0] += not reference.difference(found, may)
            seen[1] += bin_of(found.drawn) == bin_of(reference.drawn)
        return seen[0], seen[1]


def audit_case(case: AuditCase, place: Workplace, *, alpha: float) -> CaseFinding:
    """Look for a pair whose outcomes surely differ by more than is claimed.

    The first pair that does is enough, and the last that is run often. One event of one pair is
    judged wrongly with a probability of ``alpha`` at most.
    """
    runner = _Runner(case, place)
    own = runner.written(case.data)
    assert own is not None
    # one of a few runs of the dataset itself, of the bin that most of them have
    first = [runner.run(own) for _ in range(FIRST_RUNS)]
    bins = [case.rule(each.drawn) for each in first]
    reference = first[bins.index(max(bins, key=bins.count))]
    pairs, suspects = _look(runner, reference)
    runs = case.runs or math.ceil(MARGIN * runs_needed(case.claim, alpha=alpha))
    bound, worst = 0.0, ""
    for neighbour, path, told in suspects:
        ours, theirs = (runner.same(each, reference, runs, neighbour) for each in (own, path))
        counts = zip(ours, theirs, strict=True)
        found = max(epsilon_bound(a, b, runs, alpha=alpha) for a, b in counts)
        if found > bound:
            bound, worst = found, f"{neighbour}: {told or DRAWN_DIFFERS}"
        if bound > case.claim:
            break
    return CaseFinding(case.claim, pairs, runner.runs, bool(reference.drawn), bound, worst)


def _look(runner: _Runner, reference: Outcome) -> tuple[int, list[tuple[Neighbour, Path, str]]]:
    """Run every neighbour once; return how many there are, and those to be run often.

    Each of these comes with its files and what differed at this look.
    """
    case, pairs, suspects = runner.case, 0, []
    for neighbour in case.neighbours:
        path = runner.written(neighbour.of(case.data))
        if path is None:
            continue
        pairs += 1
        found = runner.run(path)
        ours, theirs = case.rule(reference.drawn), case.rule(found.drawn)
        drawn = "" if ours == theirs else f"{DRAWN_DIFFERS}: {ours} | {theirs}"
        told = reference.difference(found, case.replaced(neighbour)) or drawn
        if told or case.runs:
            suspects.append((neighbour, path, told))
        else:
            runner.remove(path)
    # what must not change at all tells most
    return pairs, sorted(suspects, key=lambda each: each[2].startswith(DRAWN_DIFFERS))


def epsilon_bound(first: int, second: int, runs: int, *, alpha: float) -> float:
    """Return a lower bound of ε from counts of one event of a pair, 0 where nothing can be said.

    Both directions count, since neighbours are neighbours both ways, and so does the event's
    complement.
    """
    each = alpha / BOUNDS_PER_EVENT
    counts = ((first, second), (second, first), (runs - first, runs - second))
    ways = (*counts, (runs - second, runs - first))
    return max(0.0, *(_one_way(more, less, runs, each) for more, less in ways))


def _one_way(more: int, less: int, runs: int, alpha: float) -> float:
    """Return the bound of two shares, each of which is wrong with probability ``alpha`` at most."""
    if more == 0:
        return -math.inf
    low = beta.ppf(alpha, more, runs - more + 1)
    high = 1.0 if less == runs else beta.isf(alpha, less + 1, runs - less)
    return math.log(low / high)


def runs_needed(claim: float, *, alpha: float) -> int:
    """Return how many runs of each make an event that always tells a pair apart exceed a claim."""
    # seen always and never: the bounds are x and 1 - x for x = alpha^(1 / runs)
    share = 1.0 / (1.0 + math.exp(-claim))
    runs = math.ceil(math.log(alpha / BOUNDS_PER_EVENT) / math.log(share))
    while epsilon_bound(runs, 0, runs, alpha=alpha) <= claim:
        runs += 1
    return runs
