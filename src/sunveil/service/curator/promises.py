"""Promise and ledger pages."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Form, Query
from pydantic import BaseModel, Field
from sqlalchemy import select
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from sunveil.errors import ParameterError, SunveilError
from sunveil.ledger.hash_chain import Entry, HighWaterMark, actor_of
from sunveil.ledger.promises import Promise
from sunveil.ledger.statements import present_year
from sunveil.ledger.verify_chain import Verdict
from sunveil.ledger.yearly_schedule import YearlySchedule
from sunveil.privacy.guarantees import Unit, from_nano, parse_unit
from sunveil.service.context import Problem, Service, service_of
from sunveil.service.curator.datasets import public_groups
from sunveil.service.curator.inference import DatasetView, dataset_view, measure_sign, parse_number
from sunveil.service.curator.results import csv_lines
from sunveil.service.figures import ErrorCurve, Figure, error_figure
from sunveil.service.guarded_routes import console_router, curator_router
from sunveil.service.page_rendering import count_of, redirect, render
from sunveil.service.promise_text import promise_line, promise_sentences
from sunveil.service.questions import SMALLEST_EPSILON
from sunveil.service.store.database import ReleaseRow, Served
from sunveil.service.store.datasets import change_served

router = curator_router()
FieldText = Annotated[str, Field(max_length=60)]

UNITS = (
    ("system", "the whole record of a household"),
    ("days", "a number of days of a household"),
    ("readings", "a number of readings of a household"),
)

CONDITIONAL = "paper"


class PromiseForm(BaseModel):
    protect: FieldText = ""
    k: FieldText = "1"
    epsilon: FieldText = ""
    delta: FieldText = "0"
    allow: FieldText = ""
    meters: FieldText = "1"
    years: FieldText = ""
    start: FieldText = ""
    sure: FieldText = ""


class ConsideredPromise(PromiseForm):
    """The same form before it is filled in."""

    protect: FieldText = "system"
    epsilon: FieldText = "2"


@router.get("/datasets/{name}/promise")
def promise(request: Request, name: str, given: Annotated[ConsideredPromise, Query()]) -> Response:
    """Show the promise that was made, or one that is considered, with the errors to expect."""
    return _page(request, dataset_view(request, name), given.model_dump())


@router.post("/datasets/{name}/promise")
def make(request: Request, name: str, given: Annotated[PromiseForm, Form()]) -> Response:
    found, fields = dataset_view(request, name), given.model_dump()
    try:
        made = parse_promise(fields)
        _check_meant(found, sure=bool(given.sure))
        service_of(request).ledger.create_dataset(name, made)
    except ParameterError as error:
        return _page(request, found, fields, problem=str(error), status=422)
    message = f"{promise_line(made)} Invite analysts next. {_two_keys(request, found)}"
    return redirect(request, f"/curator/datasets/{name}/analysts", message=message)


@router.post("/datasets/{name}/groups")
async def groups(request: Request, name: str) -> Response:
    form = await request.form()
    chosen = [str(each) for each in form.getlist("group")]
    return await run_in_threadpool(_choose, request, name, chosen)


def parse_promise(given: dict[str, str]) -> Promise:
    try:
        epsilon = parse_number(given["epsilon"], "The total ε")
        delta = parse_number(given["delta"] or "0", "The δ")
        start = parse_number(given.get("start") or "0", "What may be spent at once")
    except Problem as problem:
        raise ParameterError(problem.detail) from None
    allowed = (CONDITIONAL,) if given["allow"] else ()
    meters = _whole(given.get("meters", "1"), "the largest number of meters of a household")
    years = given.get("years", "").strip()
    schedule = None
    if years:
        schedule = YearlySchedule(present_year(), _whole(years, "the number of years"), start)
    elif start:
        raise ParameterError("an amount available at the start needs a number of years")
    return Promise(_unit_of_form(given), epsilon, delta, allowed, meters=meters, schedule=schedule)


def _whole(text: str, what: str) -> int:
    if not (text.strip().isdecimal() and len(text.strip()) < 6):
        raise ParameterError(f"{what} is a whole number")
    return int(text)


def _check_meant(found: DatasetView, *, sure: bool) -> None:
    if found.promised is not None:
        raise ParameterError("this dataset has a promise, which can never be changed")
    if not sure:
        raise ParameterError("confirm that the promise can never be changed, then make it")


def _unit_of_form(given: dict[str, str]) -> Unit:
    kind = given["protect"]
    if kind not in {name for name, _ in UNITS}:
        raise ParameterError("choose what is protected: a whole record, days or readings")
    return parse_unit(kind if kind == "system" else f"{kind}:{given['k'].strip() or '1'}")


def _page(
    request: Request,
    found: DatasetView,
    given: dict[str, str],
    *,
    problem: str = "",
    status: int = 200,
) -> Response:
    values: dict[str, Any] = found.template_values() | {
        "units": UNITS,
        "given": given,
        "problem": problem,
    }
    values |= {"candidates": _candidates(request, found)}
    if found.promised is not None:
        values["words"] = promise_sentences(found.promised.promise)
        return render(request, "curator/promised.html", status=status, **values)
    try:
        preview: Promise | None = parse_promise(given)
    except ParameterError as error:
        preview = None
        values["problem"] = problem or str(error)
        status = 422
    values["preview"] = preview
    if preview is not None:
        values |= _previewed_errors(preview, found.served)
    return render(request, "curator/promise.html", status=status, **values)


def _previewed_errors(preview: Promise, served: Served) -> dict[str, Any]:
    from sunveil.publish.fleet_tables import SYSTEMS
    from sunveil.service.curator import promise_errors as errors

    systems, label_declared = served.systems, served.label_declared
    meters = errors.MeterFacts(
        net=2 * served.net > int(served.extra.get("listed", 0)),
        shifts=errors.DECLARED if label_declared else errors.UNDECLARED,
        latitude=errors.LATITUDE if served.latitude is None else served.latitude,
    )
    curves = errors.system_curves(preview.unit, meters=meters)
    counts = errors.table_curves(concentrated=preview.delta > 0.0)
    table, system = errors.epsilon_each(preview, 1), errors.system_epsilon_each(preview, 1)
    return {
        "words": promise_sentences(preview),
        "answer_errors": errors.answer_errors(preview, systems=systems, meters=meters),
        "fleet_size": systems or SYSTEMS,
        "smallest": SMALLEST_EPSILON,
        "label_declared": label_declared,
        "tables": _figure(counts, "Standard error [systems]", table),
        "systems": _figure(curves, "Mean error [°]", system),
    }


def _figure(curves: list[ErrorCurve], unit: str, epsilon: float) -> Figure:
    reach = curves[0].epsilons
    return error_figure(
        curves, unit=unit, marked=epsilon if reach[0] <= epsilon <= reach[-1] else None
    )


def _candidates(request: Request, found: DatasetView) -> dict[str, list[str]]:
    table = found.served.extra.get("systems_table")
    if table is None:
        return {}
    return public_groups(found.served.path(service_of(request).settings.datasets, str(table)))


def _two_keys(request: Request, found: DatasetView) -> str:
    """Return a warning of systems that the table makes another household than another dataset's."""
    from sunveil.publish.publisher import read_households
    from sunveil.service.upload_checks import meter_options

    service, table = service_of(request), found.served.extra.get("systems_table")
    if table is None:
        return ""
    path = found.served.path(service.settings.datasets, str(table))
    homes = read_households(path, meter_options(found.served).system_column)
    return service.ledger.two_keys_warning(found.served.name, homes)


def _choose(request: Request, name: str, chosen: list[str]) -> Response:
    found = dataset_view(request, name)
    candidates = _candidates(request, found)
    if not set(chosen) <= set(candidates):
        raise Problem(422, "A chosen column is not in the table of systems. Load the page again.")
    keys = {each: candidates[each] for each in chosen}
    with service_of(request).store.changing() as db:
        change_served(db, name, keys=keys)
    message = f"Public groups: {', '.join(keys) or 'none'}."
    return redirect(request, f"/curator/datasets/{name}/promise", message=message)


CURATOR = "the curator"

COLUMNS = (
    "entry", "at", "kind", "analyst", "question", "mechanism", "systems", "cost", "digest",
    "account",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class EntryText:
    place: int  # its number within the dataset's chain, from 1
    at: str  # when it was made, in UTC
    kind: str  # `promise`, `households`, `charge`, `answer` or `analyst`
    who: str  # the curator, or the analyst who asked
    what: str  # one sentence
    cost: float | None  # what it cost, in the promise's measure; None where it is no charge
    digest: str  # what binds the next entry to it
    question: str | None = None  # digest of the question, where it is a charge
    account: str | None = None


def describe_entry(entry: Entry) -> EntryText:
    try:
        facts = entry.facts()
        at, who, what = str(facts["at"]), *_words(entry.kind, facts)
        charged = entry.kind == "charge"
        cost = from_nano(int(facts["cost"]) * int(facts["meters"])) if charged else None
        question = str(facts["question"]) if charged else None
        account = actor_of(facts)
    except (KeyError, TypeError, ValueError):
        at, who, what, cost = "–", "–", "damaged entry", None
        question = account = None
    shown = at.replace("T", " ").removesuffix("+00:00")
    return EntryText(
        entry.place, shown, entry.kind, who, what, cost, entry.digest, question, account
    )


def asker_totals(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return who asked how much and when last, the dearest first."""
    charges: dict[str, list[EntryText]] = defaultdict(list)
    for text in map(describe_entry, entries):
        if text.kind == "charge":
            charges[text.who].append(text)
    found = [
        {"who": who, "questions": len(texts), "last": texts[-1].at,
         "cost": sum(each.cost or 0.0 for each in texts)}
        for who, texts in charges.items()
    ]  # fmt: skip
    return sorted(found, key=lambda each: (-each["cost"], each["who"]))


def as_csv(entries: Sequence[Entry]) -> str:
    return "".join(csv_lines(COLUMNS, map(_cells, entries)))


def _words(kind: str, facts: dict[str, Any]) -> tuple[str, str]:
    if kind == "promise":
        delta = f", δ = {facts['delta']:g}" if facts["delta"] else ""
        return (
            CURATOR,
            f"promised ε = {facts['epsilon']:g}{delta} per {_unit_words(str(facts['unit']))}",
        )
    if kind == "analyst":
        return CURATOR, f"gave {facts['analyst']} a share of {from_nano(facts['share']):.6g}"
    if kind == "households":
        systems = count_of(facts["systems"], "system")
        keys = count_of(facts["keys"], "household") if facts["keys"] else ""
        return CURATOR, f"registered {systems}" + (
            f" with the keys of {keys}" if keys else ", each as a household (no household column)"
        )
    if kind == "answer":
        return "", f"answer to entry {facts['charge']}"
    if kind == "withdrawn":
        return CURATOR, "withdrew the promise before any charge"
    if kind == "moved":
        return CURATOR, f"moved the ledger to {facts['to']}"
    if kind == "arrived":
        return CURATOR, f"moved the ledger here from {facts['from']}"
    if kind != "charge":
        raise ValueError(kind)
    about = "all systems" if facts["systems"] is None else count_of(len(facts["systems"]), "system")
    who = CURATOR if facts["analyst"] is None else str(facts["analyst"])
    epsilon = facts["guarantee"]["epsilon"]
    by = "" if facts["mechanism"] == facts["kind"] else f", by {facts['mechanism']}"
    return who, f"{facts['kind']} about {about} at ε = {epsilon:g}{by}"


def _unit_words(unit: str) -> str:
    """Return what a promise protects in words, such as ``2 days of a household``."""
    kind, _, many = unit.partition(":")
    if kind == "system":
        return "the whole record of a household"
    return f"{count_of(int(many), kind.removesuffix('s'))} of a household"


def _cells(entry: Entry) -> list[Any]:
    text = describe_entry(entry)
    try:
        facts = entry.facts()
    except ValueError:
        facts = {}
    systems = facts.get("systems")
    many = "" if entry.kind != "charge" else "all" if systems is None else len(systems)
    analyst = facts.get("analyst") or ""
    cost = "" if text.cost is None else f"{text.cost:.9f}"
    question = facts.get("kind", "") if entry.kind == "charge" else text.what
    return [
        entry.place, facts.get("at", ""), entry.kind, analyst, question,
        facts.get("mechanism", ""), many, cost, entry.digest, text.account or "",
    ]  # fmt: skip


ledgers_router = console_router()
PAGE = 50


@ledgers_router.get("/ledger")
def ledgers(request: Request) -> Response:
    ledger = service_of(request).ledger
    withdrawn = ledger.withdrawn()
    names = [name for name in ledger.names() if name not in withdrawn]
    found = [_verified(service_of(request), name) for name in names]
    forgotten = ledger.forgotten()
    return render(
        request, "curator/ledgers.html", found=found, forgotten=forgotten, withdrawn=withdrawn
    )


@ledgers_router.get("/datasets/{name}/ledger")
def ledger(request: Request, name: str, page: int = 1, mark: str = "") -> Response:
    service, found = service_of(request), dataset_view(request, name)
    if found.promised is None:
        raise Problem(404, "This dataset has no promise and so no ledger.")
    entries = service.ledger.entries(name)
    problem = ""
    try:
        verdict = service.ledger.verify(name, mark=_mark(mark) if mark.strip() else None)
    except ParameterError as error:
        problem, verdict = str(error), service.ledger.verify(name)
    last = max(1, -(-len(entries) // PAGE))
    number = min(max(1, page), last)
    newest = list(reversed(entries))[PAGE * (number - 1) : PAGE * number]
    values: dict[str, Any] = found.template_values() | {
        "verdict": verdict,
        "two_keys": service.ledger.two_keys_warning(name),
        "mark": mark,
        "problem": problem,
        "sign": measure_sign(found.promised),
        "askers": asker_totals(entries),
        "entries": [describe_entry(entry) for entry in newest],
        "titles": _titles(service, name),
        "total": len(entries),
        "number": number,
        "last": last,
    }
    return render(request, "curator/ledger.html", **values)


@ledgers_router.get("/datasets/{name}/ledger.json")
def as_json_file(request: Request, name: str) -> Response:
    ledger = service_of(request).ledger
    dataset_view(request, name)
    values = {
        **ledger.dataset(name).to_dict(),
        "verdict": ledger.verify(name).to_dict(),
        "entries": [entry.to_dict() for entry in ledger.entries(name)],
    }
    text = json.dumps({"datasets": [values]}, indent=2, ensure_ascii=False)
    return _download(text, f"{name}-ledger.json", "application/json")


@ledgers_router.get("/datasets/{name}/ledger.csv")
def as_csv_file(request: Request, name: str) -> Response:
    dataset_view(request, name)
    entries = service_of(request).ledger.entries(name)
    return _download(as_csv(entries), f"{name}-ledger.csv", "text/csv; charset=utf-8")


def _titles(service: Service, name: str) -> dict[str, str]:
    """Return what was published, by the digest of the question that it answers."""
    query = select(ReleaseRow.question, ReleaseRow.title).where(ReleaseRow.dataset == name)
    with service.store.reading() as db:
        return {row.question: row.title for row in db.execute(query)}


def _verified(service: Service, name: str) -> dict[str, Any]:
    try:
        verdict: Verdict | None = service.ledger.verify(name)
        problem = ""
    except SunveilError as error:
        verdict, problem = None, str(error)
    return {"name": name, "verdict": verdict, "problem": problem}


def _mark(text: str) -> HighWaterMark:
    found = HighWaterMark.parse(text)
    if found is None:
        raise ParameterError("a checkpoint is a number of entries, a colon and a digest")
    return found


def _download(text: str, name: str, media_type: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=media_type, headers=headers)
