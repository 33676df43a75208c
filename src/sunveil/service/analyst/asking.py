"""Plan and submit questions, answered in padded time; questions to HTML forms and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from sunveil.errors import LedgerError
from sunveil.ledger.hash_chain import canonical
from sunveil.publication.published_tables import ErrorVerdict, worst
from sunveil.service.analyst.releases import SharedDataset
from sunveil.service.answer_padding import draws_held, pad_duration
from sunveil.service.authentication import check_rate, require_scope
from sunveil.service.context import Problem, Service, service_of
from sunveil.service.page_rendering import identity_of
from sunveil.service.questions import (
    QUESTIONS,
    Answered,
    ExpectedError,
    KeyReused,
    NotServed,
    OverBudget,
    Question,
    QuestionPlan,
    QuestionRefused,
    Suggestion,
)
from sunveil.service.settings import ASK

# Kinds of question with errors that follow from a few public numbers.
QUICK_KINDS = ("fleet-table", "totals", "quantiles")


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except (QuestionRefused, LedgerError) as error:
        raise refusal(error) from None


async def make_plan(request: Request, dataset: str, question: Question) -> QuestionPlan:
    """Plan a question, or refuse it; spend nothing."""
    service, analyst = service_of(request), identity_of(request).who
    require_scope(identity_of(request), ASK)
    check_rate(service.limits.asks.take(analyst))
    with _refusals():
        return await run_in_threadpool(service.broker.plan, dataset, question, analyst=analyst)


async def make_suggestion(request: Request, dataset: str, kind: str) -> Suggestion:
    service, analyst = service_of(request), identity_of(request).who
    with _refusals():
        return await run_in_threadpool(service.broker.suggest, dataset, kind, analyst=analyst)


def first_questions(service: Service, analyst: str, found: SharedDataset) -> list[Suggestion]:
    """Suggest a question of each kind with errors known without reading meters."""
    kinds = [kind for kind in found.served.kinds if kind in QUICK_KINDS]
    with _refusals():
        return [service.broker.suggest(found.name, kind, analyst=analyst) for kind in kinds]


def first_question(service: Service, analyst: str, found: SharedDataset) -> Suggestion | None:
    """Return the suggestion with the best verdict, or None."""
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

    From here on, every response takes a whole multiple of the time set for its kind, counted from
    the arrival of the request, whether it is drawn, kept, recovered, refused or failed. The draw
    itself is held as well, so that others who wait for it learn nothing (``answer_padding``).
    """
    service, analyst = service_of(request), identity_of(request).who
    require_scope(identity_of(request), ASK)
    check_rate(service.limits.asks.take(analyst))
    pad, started = service.settings.answer_seconds[question.kind], request.state.started
    try:
        with _refusals():
            async with service.ask_slots:
                with draws_held(started, pad):
                    found = await run_in_threadpool(
                        service.broker.ask, dataset, question, analyst=analyst, key=key
                    )
            return await respond(found)
    finally:
        await pad_duration(started, pad)


def refusal(error: QuestionRefused | LedgerError) -> Problem:
    words = f"{str(error)[:1].upper()}{str(error)[1:]}."
    if isinstance(error, OverBudget):
        return Problem(
            403,
            words,
            slug="over-budget",
            title="Privacy budget exceeded",
            requested=error.requested,
            remaining=error.remaining,
        )
    if isinstance(error, NotServed):
        return Problem(404, words)
    if isinstance(error, KeyReused):
        return Problem(409, words, slug="key-reused")
    if isinstance(error, QuestionRefused):
        return Problem(422, words)
    return Problem(503, "The ledger cannot be written at present. Ask again later.")


ABOUT = {
    "fleet-table": "Counts of systems by direction, tilt and capacity, and totals. ε is divided"
    " among the tables you choose.",
    "totals": "Total and mean DC capacity of the fleet or of each public group.",
    "quantiles": "Percentiles of capacity and tilt, such as the median.",
    "synthetic": "A table of invented systems with the same statistics as the fleet.",
    "systems": "One row per system under a random name: azimuth, tilt and capacity, with noise.",
}

# Fields of a question on pages.
FIELD_WORDS = {
    "group_by": "Groups",
    "tables": "Tables",
    "shares": "Shares of ε",
    "sectors": "Compass sectors",
    "clip_kw": "Cap on capacity in totals",
    "largest_kw": "Largest system",
    "percents": "Percentiles",
}

# Median errors of estimates from net meters of real homes with neighbours' loads: docs/measured.md,
# `python -m benchmarks.net`, rounded up. [degrees, degrees, %]
NET_AZIMUTH, NET_TILT, NET_CAPACITY = 5, 2, 4

MOST_PERCENT = 1000  # larger errors are shown as "more than"

# Tables of a fleet, in the order of the form.
TABLE_WORDS = {
    "counts": "Direction, tilt and capacity combined, with the sums of each",
    "planes": "Direction and tilt combined",
    "sectors": "Direction",
    "tilts": "Tilt",
    "capacities": "Capacity class",
    "mounts": "Mounting: one plane, two planes, tracker",
    "totals": "Total and mean capacity",
    "quantiles": "Percentiles of capacity and tilt",
}

COLUMN_WORDS = {
    "total_kw": "Total capacity",
    "cut_kw": "Capacity above the cap, excluded",
    "surface_azimuth": "Azimuth",
    "surface_tilt": "Tilt",
    "dc_capacity_kw": "Capacity",
}


def error_lines(expected: Sequence[ExpectedError]) -> list[dict[str, Any]]:
    """Return the expected errors of a plan as a page shows them: name, error and verdict."""
    return [
        {
            "name": _result_name(each.table, each.value),
            "error": _error_words(each),
            "verdict": each.verdict,
            "cost": each.cost,
            "meaning": each.meaning[:1].upper() + each.meaning[1:],
        }
        for each in expected
    ]


def _result_name(table: str, value: str) -> str:
    if value == "systems":
        return TABLE_WORDS[table]
    name = COLUMN_WORDS.get(value, value.replace("_", " ").capitalize())
    return f"Percentiles of {name[:1].lower()}{name[1:]}" if table == "quantiles" else name


def _error_words(each: ExpectedError) -> str:
    error, unit, of = each.error, each.unit, each.compared_with
    if unit == "places":
        words = f"Rank error: {error:,.3g}"
        return words if of is None else f"{words} of {of:,.0f} systems"
    if unit.startswith("%") and error > MOST_PERCENT:
        return f"more than {MOST_PERCENT}%"
    if each.value == "cut_kw":
        return f"{error:.2g}%"
    number = f"±{error:,.0f}" if error >= 100.0 else f"±{error:.3g}"
    words = number + (unit if unit in ("%", "°") else f" {unit}")
    return f"{words}, average count {of:,.3g}" if unit == "systems" and of else words


def part_verdicts(expected: Sequence[ExpectedError]) -> list[tuple[str, ErrorVerdict]]:
    """Return the verdict on each table or column that a question pays for."""
    parts: dict[str, list[ErrorVerdict | None]] = {}
    for each in expected:
        if each.cost != 0.0:
            parts.setdefault(_result_name(each.table, each.value), []).append(each.verdict)
    found = [(name, worst(verdicts)) for name, verdicts in parts.items()]
    return [(name, verdict) for name, verdict in found if verdict is not None]


def net_sentence(net: int, systems: int | None) -> str:
    """Explain in a sentence what net meters mean for answers; empty without any."""
    if not net:
        return ""
    which = "All systems" if net == systems else f"{net:,} of the systems"
    meters = f"{which} have net meters, which measure"
    if net == 1:
        meters = "One of the systems has a net meter, which measures"
    errors = f"{NET_AZIMUTH}° in azimuth, {NET_TILT}° in tilt and {NET_CAPACITY}% in capacity"
    return (
        f"{meters} generation minus household consumption. Their estimates describe a single plane"
        f" and are less exact: the typical error is {errors}, in addition to the privacy noise."
        " Household consumption is never published."
    )


def guarantee_words(body: dict[str, Any]) -> str:
    """Return the guarantee of a release, such as `ε = 1, pure differential privacy, per system`."""
    given = body["guarantee"]
    if given["kind"] == "concentrated":
        amount = f"ρ = {given['rho']:g}, zero-concentrated differential privacy"
    elif given["delta"]:
        amount = f"ε = {given['epsilon']:g}, δ = {given['delta']:g}, differential privacy"
    else:
        amount = f"ε = {given['epsilon']:g}, pure differential privacy"
    kind, _, count = body["unit"].partition(":")
    unit = "system" if kind == "system" else f"{count} {kind} of a system"
    return f"{amount}, per {unit.replace('1 days', 'day').replace('1 readings', 'reading')}."


def cut_sentences(tables: list[dict[str, Any]]) -> list[str]:
    """Explain the capacity that the cap excludes from totals."""
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
    said = f"Totals count at most {held} of each system; capacity above this cap is excluded."
    if "cut_kw" in sums:
        missing = f"about {sums['cut_kw']:,.0f} kW"
        return [
            said,
            f"For typical fleets this lowers the total by {missing}; the stated error includes it.",
        ]
    if "cut_at_most_kw" in sums:
        most = f"{sums['cut_at_most_kw']:,.0f} kW"
        return [said, f"Judged by the noisy capacity classes, at most {most} are excluded."]
    return [said, "The cap was set in the question; the excluded capacity is not estimated."]


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
    """Return the fields of a form as texts, with defaults for missing ones."""
    # checkboxes arrive one by one; a submitted form without any means none
    ticked = ",".join(map(str, form.getlist("tables")))
    given = {name: str(form.get(name, usual[name]))[:200] for name in EMPTY}
    return {**given, "tables": ticked[:200]} if ticked or "epsilon" in form else given


def question_of(kind: str, given: dict[str, str]) -> Question:
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
    try:
        found = QUESTIONS.validate_json(text)
    except ValidationError:
        raise broken_form() from None
    if found.kind != kind:
        raise broken_form()
    return found


def broken_form() -> Problem:
    return Problem(
        422, "The confirmation is incomplete. Go back to the question and confirm it again."
    )


def text_of(question: Question) -> str:
    return canonical(question.model_dump(mode="json"))


def digest_of(dataset: str, edition: str, question: Question, *, noisy: bool) -> str:
    """Return the digest that binds a confirmation to one question and version of a dataset.

    What a question costs follows from it and from the promise, which never changes. Of an answer
    that is only noise, it was shown to be ``noisy``.
    """
    text = json.dumps([dataset, edition, text_of(question), noisy])
    return hashlib.sha256(text.encode()).hexdigest()


def form_query(question: Question) -> str:
    given = fields_of(question)
    tables = [("tables", name) for name in given.pop("tables").split(",") if name]
    return urlencode([*given.items(), *tables])


def question_words(question: Question) -> list[tuple[str, str]]:
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
        return "none: the whole fleet" if value is None else f"by {value}"
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
