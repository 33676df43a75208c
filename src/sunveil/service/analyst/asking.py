"""Plan and ask with padding; forms."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlencode

from pydantic import TypeAdapter, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from sunveil.errors import LedgerError
from sunveil.ledger.hash_chain import canonical
from sunveil.ledger.promises import Promise
from sunveil.privacy.guarantees import Days, System
from sunveil.publication.published_tables import ErrorVerdict
from sunveil.service.analyst.releases import SharedDataset
from sunveil.service.answer_padding import draws_held, pad_duration
from sunveil.service.authentication import check_rate, require_scope
from sunveil.service.context import Problem, Service, service_of
from sunveil.service.page_rendering import identity_of
from sunveil.service.questions import (
    Answered,
    KeyReused,
    NotServed,
    OverBudget,
    Question,
    QuestionPlan,
    QuestionRefused,
    Suggestion,
)
from sunveil.service.settings import ASK

# Kinds of question whose errors follow from a few public numbers.
QUICK_KINDS = ("fleet-table", "totals", "quantiles")


async def make_plan(request: Request, dataset: str, question: Question) -> QuestionPlan:
    """Return what a question would cost, or refuse it; spend nothing.

    Parameters
    ----------
    request
        What asks, with the analyst who has logged in.
    dataset
        The dataset's name.
    question
        What would be asked.
    """
    service, analyst = service_of(request), identity_of(request).who
    require_scope(identity_of(request), ASK)
    check_rate(service.limits.asks.take(analyst))
    try:
        return await run_in_threadpool(service.broker.plan, dataset, question, analyst=analyst)
    except (QuestionRefused, LedgerError) as error:
        raise refusal(error) from None


async def make_suggestion(request: Request, dataset: str, kind: str) -> Suggestion:
    """Return a first question of a kind that tells something for a twentieth of the share.

    Parameters
    ----------
    request
        What asks, with the analyst who has logged in.
    dataset, kind
        The dataset's name, and the kind of question.
    """
    service, analyst = service_of(request), identity_of(request).who
    try:
        return await run_in_threadpool(service.broker.suggest, dataset, kind, analyst=analyst)
    except (QuestionRefused, LedgerError) as error:
        raise refusal(error) from None


def first_questions(service: Service, analyst: str, found: SharedDataset) -> list[Suggestion]:
    """Return a first question for each kind whose errors are known without reading meters.

    Parameters
    ----------
    service
        The running service.
    analyst
        Who would ask.
    found
        The dataset.
    """
    kinds = [kind for kind in found.served.kinds if kind in QUICK_KINDS]
    try:
        return [service.broker.suggest(found.name, kind, analyst=analyst) for kind in kinds]
    except (QuestionRefused, LedgerError) as error:
        raise refusal(error) from None


def first_question(service: Service, analyst: str, found: SharedDataset) -> Suggestion | None:
    """Return the best of the first questions, or None where none is offered.

    Parameters
    ----------
    service, analyst, found
        As for :func:`first_questions`.
    """
    suggested = [each for each in first_questions(service, analyst, found) if each.verdict]
    order = list(ErrorVerdict)
    return min(
        suggested, key=lambda each: order.index(each.verdict or ErrorVerdict.NOISE), default=None
    )


async def put_question(
    request: Request,
    dataset: str,
    question: Question,
    *,
    key: str,
    respond: Callable[[Answered], Awaitable[Response]],
) -> Response:
    """Have a question answered, in a time that does not depend on what is drawn.

    From here on, every response takes whole multiples of its kind's time, from when the request
    came in until the response is ready: drawn, kept, taken up, refused, or gone wrong. The draw
    itself is held too, so that whoever waits for it learns no more (``security/padding.py`` has the
    rule). What was refused before has waited for nothing.

    Parameters
    ----------
    request
        What asks.
    dataset, question, key
        As for :meth:`~sunveil.service.questions.Broker.ask`.
    respond
        Makes the response from the answer.
    """
    service, analyst = service_of(request), identity_of(request).who
    require_scope(identity_of(request), ASK)
    check_rate(service.limits.asks.take(analyst))
    pad, started = service.settings.answer_seconds[question.kind], request.state.started
    try:
        async with service.ask_slots:
            with draws_held(started, pad):
                found = await run_in_threadpool(
                    service.broker.ask, dataset, question, analyst=analyst, key=key
                )
        return await respond(found)
    except (QuestionRefused, LedgerError) as error:
        raise refusal(error) from None
    finally:
        await pad_duration(started, pad)


def refusal(error: QuestionRefused | LedgerError) -> Problem:
    """Return the HTTP problem by which a refusal is answered."""
    words = f"{str(error)[:1].upper()}{str(error)[1:]}."
    if isinstance(error, OverBudget):
        return Problem(
            403,
            words,
            slug="over-budget",
            title="The budget does not hold this",
            requested=error.requested,
            remaining=error.remaining,
        )
    if isinstance(error, NotServed):
        return Problem(404, words)
    if isinstance(error, KeyReused):
        return Problem(409, words, slug="key-reused")
    if isinstance(error, QuestionRefused):
        return Problem(422, words)
    return Problem(503, "The ledger cannot be written at the moment; ask again later.")


ABOUT = {
    "fleet-table": "How many systems face which way, how steep they are and how large. You choose"
    " the tables, and the whole ε goes to these.",
    "totals": "Total and mean capacity of the fleet, or of each public group.",
    "quantiles": "The capacity and the tilt that a quarter, half or any other share of the systems"
    " stay below.",
    "synthetic": "A table of invented systems that, taken together, resemble the fleet.",
    "systems": "One row for each system under a random name, with the error to expect.",
}


# How pages call the fields of a question.
FIELD_WORDS = {
    "group_by": "Divided by",
    "tables": "Tables",
    "shares": "Shares of ε",
    "sectors": "Sectors of the compass",
    "clip_kw": "Largest capacity counted in totals",
    "largest_kw": "No system larger than",
    "percents": "Percentiles",
}


# Median errors of net meters of real homes with neighbours' loads, from docs/measured.md
# (`python -m benchmarks.net`), rounded up. [degrees, degrees, %]
NET_AZIMUTH, NET_TILT, NET_CAPACITY = 5, 2, 4


# What can be bought of a fleet, in the order that it is offered in.
TABLE_WORDS = {
    "counts": "Sector, tilt and capacity together, and the tables below it added up",
    "planes": "Sector and tilt",
    "sectors": "Sectors alone",
    "tilts": "Tilts alone",
    "capacities": "Capacities alone",
    "mounts": "What modules stand on: one plane, two planes or a tracker",
    "totals": "Total and mean capacity",
    "quantiles": "Quantiles of capacity and tilt",
}


def net_sentence(net: int, systems: int | None) -> str:
    """Return what net meters mean for answers, as a sentence; nothing where there are none.

    Parameters
    ----------
    net, systems
        How many systems are declared to have net meters, and how many there are: public.
    """
    if not net:
        return ""
    which = "All systems" if net == systems else f"{net:,} of the systems"
    meters = f"{which} have net meters, which read"
    if net == 1:
        meters = "One of the systems has a net meter, which reads"
    errors = f"{NET_AZIMUTH}° of azimuth, {NET_TILT}° of tilt and {NET_CAPACITY}% of capacity"
    return (
        f"{meters} generation less a household’s load. What is inferred from a net meter is one"
        f" plane, and errs more than from a meter of the generation: typically by {errors}, beside"
        " the noise of an answer. What households use is never told."
    )


def promise_sentences(promise: Promise) -> list[str]:
    """Return a promise as sentences for an analyst."""
    unit = promise.unit
    if isinstance(unit, System):
        whom = "Everything that one household’s meter has ever recorded"
    elif isinstance(unit, Days):
        days = "any one day" if unit.k == 1 else f"any {unit.k} days"
        whom = f"What one household’s meter has recorded on {days}"
    else:
        readings = "any one reading" if unit.k == 1 else f"any {unit.k} readings"
        whom = f"What one household’s meter has recorded in {readings}"
    factor = float(f"{math.exp(promise.epsilon):.3g}")
    changes = (
        f"{whom} changes the probability of anything that is published here by a factor of at most"
        f" {factor:,.7g} (ε = {promise.epsilon:g}), over all answers together."
    )
    if promise.delta:
        changes = (
            f"{whom} changes the probability of any set of answers, all answers together, to at"
            f" most {factor:,.7g} times (ε = {promise.epsilon:g}) what it would be otherwise, plus"
            f" {promise.delta:g}."
        )
    said = [
        changes,
        "Once this much is spent, no further question is answered: the promise is never raised.",
    ]
    if promise.conditional:
        said.append(
            "For these methods it depends on an assumption about the data:"
            f" {', '.join(promise.conditional)}."
        )
    return said


def cut_sentences(tables: list[dict[str, Any]]) -> list[str]:
    """Return what holding capacities at a limit leaves out of totals, as sentences.

    Parameters
    ----------
    tables
        The tables of a release, as it holds them: published.
    """
    totals = next((table for table in tables if table["name"] == "totals"), None)
    if totals is None or not totals["rows"]:
        return []
    names = [column[0] for column in totals["columns"]]
    sums = {
        name: sum(row[names.index(name)] or 0.0 for row in totals["rows"])
        for name in ("cut_kw", "cut_at_most_kw")
        if name in names
    }
    held = f"{totals['rows'][0][names.index('held_at_kw')]:g} kW"
    said = f"In totals, each system counts with at most {held}; what it has above is left out."
    if "cut_kw" in sums:
        missing = f"about {sums['cut_kw']:,.0f} kW in all"
        return [
            said,
            f"In public mixes of systems this makes totals too low by {missing} on average; the"
            " stated errors include it.",
        ]
    if "cut_at_most_kw" in sums:
        most = f"{sums['cut_at_most_kw']:,.0f} kW"
        return [said, f"By the drawn classes of capacity this is at most {most} in all."]
    return [said, "How much that is, is not known: this limit was given, and not chosen."]


QUESTIONS: TypeAdapter[Question] = TypeAdapter(Question)


FIELDS = ("epsilon", "group_by", "sectors", "clip_kw", "largest_kw", "percents", "tables")


EMPTY = {
    "epsilon": "",
    "group_by": "",
    "sectors": "8",
    "clip_kw": "",
    "largest_kw": "",
    "percents": "25, 50, 75",
    "tables": "",
}


def fields_of(question: Question) -> dict[str, str]:
    """Return the fields of the form that means a question."""
    asked = question.model_dump(mode="json")
    given = {**EMPTY, "epsilon": f"{asked['epsilon']:g}"}
    for name in ("group_by", "clip_kw", "largest_kw", "sectors"):
        value = asked.get(name)
        if value is not None:
            given[name] = f"{value:g}" if isinstance(value, float) else str(value)
    if "percents" in asked:
        given["percents"] = ", ".join(map(str, asked["percents"]))
    given["tables"] = ",".join(asked.get("tables", ()))
    return given


def given_fields(form: Any, usual: dict[str, str]) -> dict[str, str]:
    """Return the fields of a form as texts, with what is meant when they are left out.

    Parameters
    ----------
    form
        Query or body, as starlette has it.
    usual
        What is meant where nothing was sent.
    """
    # boxes that are ticked come one by one; where the form was sent, none is none
    ticked = ",".join(map(str, form.getlist("tables")))
    given = {name: str(form.get(name, usual[name]))[:200] for name in FIELDS}
    return {**given, "tables": ticked[:200]} if ticked or "epsilon" in form else given


def question_of(kind: str, given: dict[str, str]) -> Question:
    """Return the question that a form means, or say what is wrong with it.

    Parameters
    ----------
    kind
        Which kind of question.
    given
        The fields of its form.
    """
    fields: dict[str, Any] = {"kind": kind, "epsilon": given["epsilon"]}
    if kind in ("fleet-table", "totals", "quantiles"):
        fields |= {"group_by": given["group_by"] or None, "clip_kw": given["clip_kw"] or None}
    if kind == "fleet-table":
        fields["tables"] = [each for each in given["tables"].split(",") if each]
        fields["largest_kw"] = given["largest_kw"] or None
        if given["sectors"].isdecimal():
            fields["sectors"] = int(given["sectors"])
        if not fields["tables"]:
            raise Problem(422, "Choose at least one table.")
    if kind == "quantiles" or "quantiles" in fields.get("tables", ()):
        fields["percents"] = [each.strip() for each in given["percents"].split(",")]
    try:
        # fields of a form are texts
        return QUESTIONS.validate_python(fields, strict=False)
    except ValidationError as error:
        raise _wrong(error) from None


def sent_question(text: str, *, kind: str) -> Question:
    """Return the question that a confirmation carries as JSON, or refuse it.

    Parameters
    ----------
    text
        The question.
    kind
        Which kind it must be of.
    """
    try:
        found = QUESTIONS.validate_json(text)
    except ValidationError:
        raise broken_form() from None
    if found.kind != kind:
        raise broken_form()
    return found


def broken_form() -> Problem:
    """Return the problem of a confirmation that is not as it was sent."""
    return Problem(
        422, "The confirmation is not complete; go back to the question and confirm it again."
    )


def text_of(question: Question) -> str:
    """Return a question as canonical JSON."""
    return canonical(question.model_dump(mode="json"))


def digest_of(dataset: str, edition: str, question: Question) -> str:
    """Return what binds a confirmation to one question about one edition of a dataset.

    What a question costs follows from it and from the promise, which never changes.

    Parameters
    ----------
    dataset, edition
        Its name, and the public name of its data.
    question
        What was shown.
    """
    text = json.dumps([dataset, edition, text_of(question)])
    return hashlib.sha256(text.encode()).hexdigest()


def form_query(question: Question) -> str:
    """Return the query of the page whose form means a question."""
    given = fields_of(question)
    tables = [("tables", name) for name in given.pop("tables").split(",") if name]
    return urlencode([*given.items(), *tables])


def question_words(question: Question) -> list[tuple[str, str]]:
    """Return what a question asks for, as pairs of a name and words."""
    asked = question.model_dump(mode="json")
    said = [("Privacy loss ε", f"{asked['epsilon']:g}")]
    bought = asked.get("tables", ())
    for name, words in FIELD_WORDS.items():
        if name not in asked:
            continue
        if name == "percents" and asked["kind"] == "fleet-table" and "quantiles" not in bought:
            continue
        if name == "sectors" and not {"counts", "planes", "sectors"} & set(bought):
            continue
        if name == "clip_kw" and bought and "totals" not in bought:
            continue
        if name == "largest_kw" and not {"totals", "quantiles"} & set(bought):
            continue
        said.append((words, _value_words(name, asked[name])))
    return [each for each in said if each[1]]


def _value_words(name: str, value: Any) -> str:
    if name == "group_by":
        return "the whole fleet" if value is None else f"each {value} by itself"
    if name == "clip_kw":
        return "chosen privately" if value is None else f"{value:g} kW"
    if name == "largest_kw":
        return "" if value is None else f"{value:g} kW"
    if name == "tables":
        return "; ".join(TABLE_WORDS[each] for each in value)
    if name == "shares":
        return "" if value is None else ", ".join(f"{k} {v:g}" for k, v in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _wrong(error: ValidationError) -> Problem:
    first = error.errors()[0]
    where = str(first["loc"][1]) if len(first["loc"]) > 1 else ""
    field = FIELD_WORDS.get(where, {"epsilon": "Privacy loss ε"}.get(where, "The question"))
    return Problem(422, f"{field}: {first['msg']}.")
