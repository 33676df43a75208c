"""Suggested questions, and cheaper or clearer variants of a question."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sunveil.errors import ParameterError
from sunveil.ledger.ledger import Ledger
from sunveil.ledger.statements import AnalystShare
from sunveil.publication.published_tables import ErrorVerdict, better, worst
from sunveil.service.question_data import AnalystQuestion, expected_errors, plan
from sunveil.service.questions import (
    LARGEST_EPSILON,
    SMALLEST_EPSILON,
    Advice,
    FleetTableQuestion,
    QuantilesQuestion,
    QuestionPlan,
    Suggestion,
    SyntheticQuestion,
    SystemsQuestion,
)

# Larger ε that are tried.
LADDER = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
MOST_ADVICE = 4
PART_OF_SHARE = 20.0

TABLE_NAMES = {
    "counts": "direction, tilt and capacity combined",
    "planes": "direction and tilt combined",
    "sectors": "direction",
    "tilts": "tilt",
    "capacities": "capacity class",
    "mounts": "mounting",
    "totals": "total capacity",
    "quantiles": "percentiles",
}

# Suggested questions of each kind, from the most detailed to the most exact.
FIRST: dict[str, tuple[dict[str, Any], ...]] = {
    "fleet-table": (
        {"tables": ["counts", "totals", "quantiles"]},
        {"tables": ["planes", "capacities", "totals"]},
        {"tables": ["sectors", "capacities", "totals"]},
        {"tables": ["sectors", "capacities"]},
        {"tables": ["sectors", "totals"]},
        {"tables": ["sectors"]},
        {"tables": ["sectors"], "sectors": 4},
    ),
    "totals": ({},),
    "quantiles": ({}, {"percents": [50]}),
    "synthetic": ({},),
    "systems": ({},),
}

# Cache of verdicts by the public facts that determine them.
_VERDICTS: dict[tuple[Any, ...], ErrorVerdict | None] = {}
MOST_VERDICTS = 5000


def advised_plan(case: AnalystQuestion, ledger: Ledger, *, share: AnalystShare) -> QuestionPlan:
    found = plan(case, ledger)
    if found.kept or found.verdict in (None, ErrorVerdict.USEFUL):
        return found
    left = min(share.remaining, ledger.dataset(case.dataset.name).remaining)
    return replace(found, advice=_advice(case, ledger, found, left))


def suggest_question(case: AnalystQuestion, ledger: Ledger, *, share: AnalystShare) -> Suggestion:
    """Suggest the first useful question of a kind for 5% of a share."""
    epsilon = first_epsilon(share, concentrated=_concentrated(case, ledger))
    kind = type(case.question)
    found: Suggestion | None = None
    for fields in FIRST[case.question.kind]:
        lowest = 0.05 if kind is SyntheticQuestion else SMALLEST_EPSILON
        question = kind(kind=case.question.kind, epsilon=max(epsilon, lowest), **fields)
        verdict = _verdict(replace(case, question=question), ledger)
        if found is None or (verdict and (not found.verdict or better(verdict, found.verdict))):
            found = Suggestion(question, verdict)
        if verdict is ErrorVerdict.USEFUL:
            break
    assert found is not None
    return found


def first_epsilon(share: AnalystShare, *, concentrated: bool) -> float:
    """Return the ε that costs 5% of a share, or what is left if that is less."""
    amount = min(share.share / PART_OF_SHARE, share.remaining)
    epsilon = math.sqrt(2.0 * amount) if concentrated else amount
    if epsilon <= SMALLEST_EPSILON:
        return SMALLEST_EPSILON
    # two digits, rounded down so that it does not cost more than said
    step = 10.0 ** (math.floor(math.log10(epsilon)) - 1)
    return min(float(f"{math.floor(epsilon / step + 1e-9) * step:.3g}"), LARGEST_EPSILON)


def _advice(
    case: AnalystQuestion, ledger: Ledger, found: QuestionPlan, left: float
) -> tuple[Advice, ...]:
    """Return changes that improve the worst verdict, best first."""
    assert found.verdict is not None
    concentrated = _concentrated(case, ledger)
    made: list[Advice] = []
    for words, question in dict(_tried(case, ledger)).items():
        verdict = _verdict(replace(case, question=question), ledger)
        if verdict is not None and better(verdict, found.verdict):
            epsilon = question.epsilon
            cost = epsilon**2 / 2.0 if concentrated else epsilon
            made.append(Advice(words, question, verdict, cost <= left + 5e-10))
    made.sort(key=lambda each: (not each.affordable, each.verdict is not ErrorVerdict.USEFUL))
    return tuple(made[:MOST_ADVICE])


def _tried(case: AnalystQuestion, ledger: Ledger) -> Iterator[tuple[str, Any]]:
    """Yield variants: each change alone, all together, and a larger ε."""
    singles = list(_plainer(case.question))
    yield from singles
    plainest = _plainest(case.question)
    if len(singles) > 1 and plainest not in [question for _, question in singles]:
        yield _words_of(case.question, plainest), plainest
    larger = _large_enough(case, ledger)
    if larger is not None:
        yield f"ε = {larger:g}", case.question.model_copy(update={"epsilon": larger})
    if singles and _verdict(replace(case, question=plainest), ledger) is not ErrorVerdict.USEFUL:
        enough = _large_enough(replace(case, question=plainest), ledger)
        if enough is not None and (larger is None or enough < larger):
            words = f"ε = {enough:g}, {_words_of(case.question, plainest)}"
            yield words, plainest.model_copy(update={"epsilon": enough})


def _plainer(question: Any) -> Iterator[tuple[str, Any]]:
    """Yield a question with one part fewer, for each part."""
    if isinstance(question, FleetTableQuestion) and len(question.tables) > 1:
        for name in question.tables:
            changed = question.model_copy(update={"tables": [name], "shares": None})
            yield f"{TABLE_NAMES[name]} only", changed
    if _faces(question) and question.sectors > 4:
        yield "4 sectors", question.model_copy(update={"sectors": 4})
    if getattr(question, "group_by", None) is not None:
        yield ("the whole fleet, no groups", question.model_copy(update={"group_by": None}))
    if len(_percents(question)) > 1:
        yield "the median only", question.model_copy(update={"percents": [50]})


def _plainest(question: Any) -> Any:
    changed: dict[str, Any] = {}
    if isinstance(question, FleetTableQuestion):
        # sectors have the least noise
        kept = "sectors" if _faces(question) else question.tables[0]
        changed = {"tables": [kept], "shares": None, "sectors": 4}
    if getattr(question, "group_by", None) is not None:
        changed["group_by"] = None
    if len(_percents(question)) > 1:
        changed["percents"] = [50]
    return question.model_copy(update=changed)


def _words_of(question: Any, plainest: Any) -> str:
    said = []
    if isinstance(question, FleetTableQuestion):
        (name,) = plainest.tables
        if list(question.tables) != [name]:
            said.append(f"{TABLE_NAMES[name]} only")
        if name == "sectors" and question.sectors > 4:
            said.append("4 sectors")
    if getattr(question, "group_by", None) is not None:
        said.append("the whole fleet, no groups")
    if isinstance(question, QuantilesQuestion) and len(question.percents) > 1:
        said.append("the median only")
    return ", ".join(said)


def _faces(question: Any) -> bool:
    return bool({"counts", "planes", "sectors"} & set(getattr(question, "tables", ())))


def _percents(question: Any) -> list[int]:
    bought = getattr(question, "tables", ["quantiles"])
    return list(getattr(question, "percents", [])) if "quantiles" in bought else []


def _large_enough(case: AnalystQuestion, ledger: Ledger) -> float | None:
    """Return the smallest ε that makes a question useful, or None: errors fall as ε grows."""
    steps = [each for each in LADDER if each > case.question.epsilon]
    low, high = 0, len(steps)
    while low < high:
        middle = (low + high) // 2
        tried = case.question.model_copy(update={"epsilon": steps[middle]})
        useful = _verdict(replace(case, question=tried), ledger) is ErrorVerdict.USEFUL
        low, high = (low, middle) if useful else (middle + 1, high)
    return steps[low] if low < len(steps) else None


def _verdict(case: AnalystQuestion, ledger: Ledger) -> ErrorVerdict | None:
    """Return the worst verdict on a question; None if it would be refused."""
    # It follows from a few public facts, and is computed once for the same ones.
    if isinstance(case.question, SystemsQuestion):  # follows from when meters were read, too
        return _computed_verdict(case, ledger)
    group = getattr(case.question, "group_by", None) or ""
    facts = (
        case.question.model_dump_json(),
        case.dataset.systems,
        len(case.dataset.keys.get(group, ())),
        _concentrated(case, ledger),
    )
    if facts not in _VERDICTS:
        if len(_VERDICTS) >= MOST_VERDICTS:
            _VERDICTS.clear()
        _VERDICTS[facts] = _computed_verdict(case, ledger)
    return _VERDICTS[facts]


def _computed_verdict(case: AnalystQuestion, ledger: Ledger) -> ErrorVerdict | None:
    try:
        found = expected_errors(case, ledger)
    except ParameterError:  # an ε too small to be divided
        return None
    return worst(each.verdict for each in found if each.cost != 0.0)


def _concentrated(case: AnalystQuestion, ledger: Ledger) -> bool:
    return ledger.dataset(case.dataset.name).promise.delta > 0.0
