"""Promises in words, for pages of curators and analysts."""

from __future__ import annotations

import math

from sunveil.ledger.promises import Promise
from sunveil.privacy.guarantees import Days, System, unit_name


def promise_line(promise: Promise, *, short: bool = False) -> str:
    unit = unit_name(promise.unit)
    household = f"household ({_meters(promise)})"
    if unit != "system":
        kind, _, count = unit.partition(":")
        household = (
            f"{kind.removesuffix('s') if count == '1' else f'{count} {kind}'} of a {household}"
        )
    amount = f"ε = {promise.epsilon:g}" + (f", δ = {promise.delta:g}" if promise.delta else "")
    if short:
        return f"{amount} per {household}"
    line = (
        f"Privacy guarantee: differential privacy per {household}, total budget {amount}, for"
        " everything ever published"
    )
    if promise.schedule is not None:
        line += f", spent {promise.schedule}"
    return f"{line}."


def promise_sentences(promise: Promise) -> list[str]:
    unit, factor = promise.unit, _factor(promise.epsilon)
    if isinstance(unit, System):
        data = "The entire record of one household changes"
    elif isinstance(unit, Days):
        days = "any one day" if unit.k == 1 else f"any {unit.k} days"
        data = f"The data of one household on {days} change"
    else:
        data = "Any one reading" if unit.k == 1 else f"Any {unit.k} readings"
        data += " of one household " + ("changes" if unit.k == 1 else "change")
    changes = (
        f"{data} the probability of any published result by a factor of at most {factor}"
        f" (ε = {promise.epsilon:g}), all answers together."
    )
    if promise.delta > 0.0:
        changes = (
            f"{data} the probability of any set of answers to at most {factor} times"
            f" (ε = {promise.epsilon:g}) its value without them, plus {promise.delta:g}. In return,"
            " many small questions cost less together."
        )
    sentences = [
        changes,
        f"This holds for ever, whatever else anyone knows, for households with {_meters(promise)}.",
        "When the budget is spent, no further question is answered. It is never raised.",
    ]
    if promise.schedule is not None:
        sentences.append(f"The budget becomes available {promise.schedule}.")
    if not isinstance(unit, System):
        sentences.append(
            "Orientation and size of a household's panels are not protected, because they show in"
            " all of its readings; only a promise for the whole record protects them."
        )
    if promise.conditional:
        sentences.append(
            "For these methods the guarantee depends on an assumption about the data:"
            f" {', '.join(promise.conditional)}."
        )
    return sentences


def _meters(promise: Promise) -> str:
    return "one meter" if promise.meters == 1 else f"up to {promise.meters} meters"


def _factor(epsilon: float) -> str:
    factor = math.exp(min(epsilon, 30.0))
    return f"{factor:.3g}" if factor < 1000.0 else f"{float(f'{factor:.3g}'):,.0f}"
