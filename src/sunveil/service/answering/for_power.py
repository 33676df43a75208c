"""What power from an answer would be off by, and which question would make it better: public alone.

All numbers are looked up in what was measured on simulated homes (:mod:`sunveil.power.guidance`),
by the number of systems that a group has on average, ε and the way of publishing. No row is looked
at and nothing is spent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sunveil.power.guidance import expected_energy
from sunveil.service.broker import ExpectedError, FleetTableQuestion, PowerAdvice, SyntheticQuestion
from sunveil.service.store.datasets import Served

POWER_OFF = (
    "median error of a year's energy of a group, in power that is made from it, as measured on"
    " simulated homes"
)
# Energy that is off by no more is good enough to plan with; `sunveil utility --power` says so too.
WITHIN_PERCENT = 5.0
# No home that was measured on is larger: the noise of totals is as large as what is said. [kW]
HOMES_KW = 20.0
NOT_SAID = "largest not said"
FOR_POWER, USUAL = frozenset({"planes", "totals"}), frozenset({"counts", "totals", "quantiles"})
WAYS = {FOR_POWER: "tables for power", USUAL: "usual tables"}
MOST_POWER_ADVICE = 3


@dataclass(frozen=True, slots=True)
class PowerWorthOf:
    """What power from answers of a dataset would be off by.

    Parameters
    ----------
    dataset
        The dataset: its number of systems and its groups are public.
    concentrated
        Whether the promise has a δ.
    """

    dataset: Served
    concentrated: bool

    def way(self, question: Any) -> str | None:
        """Return which of the measured ways a question is, or None."""
        if isinstance(question, SyntheticQuestion):
            return None if self.concentrated else f"synthetic, {NOT_SAID}"
        name = WAYS.get(_bought(question))
        # with these the noise is divided, or what is cut off treated, otherwise than was measured
        if name is None or question.clip_kw is not None or question.shares is not None:
            return None
        if question.largest_kw is None:
            return None if self.concentrated else f"{name}, {NOT_SAID}"
        if question.largest_kw > HOMES_KW:
            return None
        if self.concentrated:
            return f"{name}, promise with δ" if _bought(question) == FOR_POWER else None
        return name

    def group_size(self, group_by: str | None) -> float | None:
        """Return how many systems a group has on average."""
        groups = self.dataset.keys.get(group_by or "", ())
        return None if self.dataset.systems is None else self.dataset.systems / max(len(groups), 1)

    def energy(self, question: Any) -> float | None:
        """Return what a year's energy would be off by; None where that was not measured. [%]"""
        way, group = self.way(question), self.group_size(getattr(question, "group_by", None))
        if way is None or group is None:
            return None
        return expected_energy(way, group, epsilon=question.epsilon)

    def least(self, question: Any, epsilons: Sequence[float]) -> tuple[Any, float] | None:
        """Return a question with the first ε that is enough, and what energy is off by then."""
        for epsilon in epsilons:
            tried = question.model_copy(update={"epsilon": epsilon})
            error = self.energy(tried)
            if error is not None and error <= WITHIN_PERCENT:
                return tried, error
        return None


def power_error(question: Any, worth: PowerWorthOf) -> tuple[ExpectedError, ...]:
    """Return what power from a release would be off by, where that was measured; it costs nothing.

    Parameters
    ----------
    question
        What would be asked.
    worth
        What is known of the dataset.
    """
    error = worth.energy(question)
    if error is None:
        return ()
    return (ExpectedError("power", "energy of a year", error, "%", POWER_OFF, 0.0, 100.0),)


def power_advice(
    question: Any, worth: PowerWorthOf, *, ladder: Sequence[float], left: float
) -> tuple[PowerAdvice, ...]:
    """Return questions whose power would be within 5%, where this one's is not known to be.

    Parameters
    ----------
    question
        What would be asked.
    worth
        What is known of the dataset.
    ladder
        Which ε may be proposed, rising.
    left
        What may still be spent, in the promise's measure.
    """
    if not _tells_power(question):
        return ()
    known = worth.energy(question)
    if known is not None and known <= WITHIN_PERCENT:
        return ()
    made = []
    for changed, error in _better(question, worth, ladder):
        epsilon = changed.epsilon
        cost = epsilon**2 / 2.0 if worth.concentrated else epsilon
        affordable = cost <= left + 5e-10
        made.append(PowerAdvice(_words(question, changed), changed, error, affordable))
    # what cannot be had is only told where nothing else can
    made = [each for each in made if each.affordable] or made
    made.sort(key=lambda each: (each.question.epsilon, each.energy_percent))
    return tuple(made[:MOST_POWER_ADVICE])


def _better(
    question: Any, worth: PowerWorthOf, ladder: Sequence[float]
) -> Iterator[tuple[Any, float]]:
    """Yield the same with a larger ε, the tables for power, and these of larger groups."""
    rising = sorted({question.epsilon, *ladder})
    larger = worth.least(question, [each for each in rising if each > question.epsilon])
    if larger is not None:
        yield larger
    if "fleet-table" not in worth.dataset.kinds:
        return
    group_by = getattr(question, "group_by", None)
    tables = FleetTableQuestion(
        kind="fleet-table",
        epsilon=question.epsilon,
        group_by=group_by,
        tables=["planes", "totals"],
        largest_kw=getattr(question, "largest_kw", None) or HOMES_KW,
    )
    other = worth.least(tables, rising)
    if other is not None and (larger is None or other[0] != larger[0]):
        yield other
    # of divisions into larger groups, the finest that is enough at the ε that was asked
    for key in _coarser(worth.dataset, group_by):
        whole = worth.least(tables.model_copy(update={"group_by": key}), rising)
        if whole is None or (other is not None and whole[0].epsilon >= other[0].epsilon):
            continue
        if key is None or whole[0].epsilon <= question.epsilon:
            yield whole
            return


def _coarser(dataset: Served, group_by: str | None) -> list[str | None]:
    """Return divisions of a fleet into larger groups, the finest first, the whole fleet last."""
    if group_by is None:
        return []
    now = len(dataset.keys[group_by])
    fewer = [key for key, groups in dataset.keys.items() if 1 < len(groups) < now]
    return [*sorted(fewer, key=lambda key: -len(dataset.keys[key])), None]


def _tells_power(question: Any) -> bool:
    """Return whether an answer tells how systems stand and how much there is of them."""
    bought = _bought(question)
    stands = bool(bought & {"counts", "planes"})
    return isinstance(question, SyntheticQuestion) or (stands and "totals" in bought)


def _bought(question: Any) -> frozenset[str]:
    return frozenset(getattr(question, "tables", ()))


def _words(question: Any, changed: Any) -> str:
    """Return what is changed of a question, in words."""
    said = []
    if _bought(question) != _bought(changed):
        said.append("only sectors with tilts and totals")
    if getattr(question, "largest_kw", None) != getattr(changed, "largest_kw", None):
        said.append(f"no system larger than {changed.largest_kw:g} kW")
    if getattr(question, "clip_kw", None) != getattr(changed, "clip_kw", None):
        said.append("no other limit on capacities")
    if getattr(question, "group_by", None) != getattr(changed, "group_by", None):
        whole = changed.group_by is None
        which = "the whole fleet" if whole else f"each {changed.group_by}"
        said.append(f"{which} instead of each {question.group_by}")
    if question.epsilon != changed.epsilon:
        said.append(f"ε = {changed.epsilon:g}")
    return f"with {', '.join(said)}"
