"""Totals of what a fleet really gave, by season and part of the day: to hold power against.

What every system adds is in :mod:`sunveil.publish.check_cells`; here it is charged, drawn and
published. An analyst who makes power from a publication can hold it against these.

Proof: ``docs/proofs/check.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sunveil.checked import checked
from sunveil.errors import ParameterError
from sunveil.ledger.households import SystemHome
from sunveil.ledger.ledger import Ledger
from sunveil.ledger.records import Question
from sunveil.meters.record import Cleaning, Record
from sunveil.privacy.units import System, unit_name
from sunveil.publish.check_cells import (
    PARTS_OF_DAY,
    PROOF,
    SEASONS,
    CheckChoices,
    check_bounds,
    check_counts,
    check_sensitivity,
)
from sunveil.publish.households import published_homes
from sunveil.publish.publication import Column, Publication, PublishedTable
from sunveil.publish.spending import Spending


@dataclass(frozen=True, slots=True)
class CheckPlan:
    """What a check would cost and how noisy it would be.

    Parameters
    ----------
    cost, remaining
        What it would spend now, and what is left before, in the promise's measure.
    kept
        Whether it was drawn before, and costs nothing.
    deviation_kw
        Standard deviation of the noise of every total. [kW]
    """

    cost: float
    remaining: float
    kept: bool
    deviation_kw: float


def check_question(
    choices: CheckChoices, *, concentrated: bool, analyst: str | None = None
) -> Question:
    """Return the question that a check answers.

    Parameters
    ----------
    choices
        The public choices.
    concentrated
        Whether ε means ρ = ε²/2, as under a promise with δ.
    analyst
        Whose share is charged too; None for the curator.
    """
    return Question(
        kind="power-check",
        parameters={
            "place": [choices.site.latitude, choices.site.longitude],
            "span": list(choices.seconds),
            "epsilon": choices.epsilon,
            "largest_kw": choices.largest_kw,
            "edition": choices.edition,
        },
        mechanism="power-check",
        guarantee=Spending.asked(choices.epsilon, concentrated=concentrated).guarantee(PROOF),
        analyst=analyst,
    )


def plan_check(
    ledger: Ledger, dataset: str, *, choices: CheckChoices, analyst: str | None = None
) -> CheckPlan:
    """Return what a check would cost and its noise; spend nothing, and look at no reading.

    Parameters
    ----------
    ledger, dataset
        What would be charged.
    choices
        The public choices.
    analyst
        Whose share would be charged too.
    """
    concentrated = ledger.dataset(dataset).promise.delta > 0.0
    question = check_question(choices, concentrated=concentrated, analyst=analyst)
    noise = Spending.asked(choices.epsilon, concentrated=concentrated).noise
    return CheckPlan(
        cost=ledger.due(dataset, question),
        remaining=ledger.dataset(dataset).remaining,
        kept=ledger.kept(dataset, question) is not None,
        deviation_kw=noise.deviation(check_sensitivity(check_bounds(choices))) / 1e3,
    )


@checked
def publish_check(
    ledger: Ledger,
    dataset: str,
    records: Sequence[Record],
    *,
    choices: CheckChoices,
    analyst: str | None = None,
    homes: Sequence[SystemHome] = (),
) -> Publication:
    """Return the totals of a check: charged first and drawn, or those that were drawn before.

    Parameters
    ----------
    ledger, dataset
        What is charged.
    records
        The fleet's readings, read with ``cleaning="each"``: private.
    choices
        The public choices.
    analyst
        Whose share is charged too; None for the curator.
    homes
        What is known of the systems' households; without, each system is one by its name.

    Privacy
    -------
    ε-DP for ``System()``, or ρ-zCDP where the promise has a δ, charged durably before the draw.
    Proof: ``docs/proofs/check.md``.
    """
    _refuse_others(records)
    concentrated = ledger.dataset(dataset).promise.delta > 0.0
    question = check_question(choices, concentrated=concentrated, analyst=analyst)
    plan_check(ledger, dataset, choices=choices, analyst=analyst)
    if ledger.kept(dataset, question) is None:
        names = [record.system_id for record in records]
        question = replace(question, homes=published_homes(names, homes))
    answer = ledger.ask(
        dataset, question, lambda: draw_check(records, choices, concentrated=concentrated)
    ).value
    return Publication(
        title="Check of power against meters",
        tables=(check_table(answer, choices),),
        guarantee=question.guarantee,
        mechanism=f"discrete {'Gaussian' if concentrated else 'Laplace'} noise (totals of mean"
        " power by season and part of the day)",
        public={
            "unit": unit_name(System()),
            "epsilon": choices.epsilon,
            "systems": answer["systems"],
            "start": choices.start,
            "end": choices.end,
            "latitude": choices.site.latitude,
            "longitude": choices.site.longitude,
            "largest_kw": choices.largest_kw,
        },
        question=question,
    )


def draw_check(
    records: Sequence[Record], choices: CheckChoices, *, concentrated: bool = False
) -> dict[str, Any]:
    """Return what is drawn of a check, as a ledger keeps it: charge it before, and draw it once.

    Parameters
    ----------
    records
        The fleet's readings: private.
    choices
        The public choices.
    concentrated
        Whether ε means ρ = ε²/2, as under a promise with δ.

    Privacy
    -------
    As :func:`publish_check`, which charges it.
    """
    _refuse_others(records)
    counts = check_counts(records, choices)
    noise = Spending.asked(choices.epsilon, concentrated=concentrated).noise
    deviation = noise.deviation(counts.sensitivity)
    return {
        "totals": noise.draw(counts).tolist(),
        "deviation": deviation,
        "systems": len(records),
    }


def check_table(answer: dict[str, Any], choices: CheckChoices) -> PublishedTable:
    """Return the table of what was drawn.

    Parameters
    ----------
    answer
        What :func:`draw_check` returned.
    choices
        The public choices.
    """
    deviation = round(answer["deviation"] / 1e3, 4)
    rows = [
        (season, low, high, total / 1e3, deviation)
        for (season, (low, high)), total, bound in zip(
            ((season, part) for season in SEASONS for part in PARTS_OF_DAY),
            answer["totals"],
            check_bounds(choices),
            strict=True,
        )
        if bound  # a season that the span does not have has no total
    ]
    return PublishedTable(
        "power-check",
        "Mean power of all systems together by season and part of the day, as metered, each"
        " system's held between zero and a public bound. To hold power against that was made from"
        " a publication of the same systems.",
        (
            Column("season", "string", "Winter is December to February; of the south, June on."),
            Column("from_hour", "integer", "Begin of the part of the day, mean solar time [h]."),
            Column("to_hour", "integer", "Its end [h]."),
            Column("noisy_kw", "number", "Mean power of all systems as drawn: unbiased [kW]."),
            Column("sd_kw", "number", "Standard deviation of its noise [kW]."),
        ),
        tuple(rows),
    )


def _refuse_others(records: Sequence[Record]) -> None:
    """Refuse records that were cleaned as a whole or are net, by what is declared of them."""
    if any(record.cleaning is not Cleaning.EACH for record in records):
        raise ParameterError('a check takes records that were read with cleaning="each"')
    if any(record.net for record in records):
        raise ParameterError(
            "a check adds generation up, and some meters read the net of generation and load; leave"
            " these out"
        )
