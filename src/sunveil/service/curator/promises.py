"""Making the promise, with the errors to expect under it shown before."""

from __future__ import annotations

import math
from functools import cache
from typing import Annotated, Any

from fastapi import Query
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from sunveil.errors import ParameterError
from sunveil.ledger.promise import Promise
from sunveil.ledger.rows import present_year
from sunveil.ledger.schedule import YearlySchedule
from sunveil.privacy.units import Days, Readings, System, Unit, parse_unit
from sunveil.service.context import service_of
from sunveil.service.curator.forms import DatasetView, ShortText, dataset_view, parse_number
from sunveil.service.figures.base import Figure
from sunveil.service.figures.error_curves import ErrorCurve, error_figure
from sunveil.service.pages import redirect, render
from sunveil.service.problems import Problem
from sunveil.service.routing import curator_router
from sunveil.service.store.datasets import change_served

router = curator_router()
QueryText = Annotated[str, Query(max_length=60)]
UNITS = (
    ("system", "the whole record of a household"),
    ("days", "a number of days of a household"),
    ("readings", "a number of readings of a household"),
)
CONDITIONAL = "paper"


@router.get("/datasets/{name}/promise")
def promise(
    request: Request,
    name: str,
    protect: QueryText = "system",
    k: QueryText = "1",
    epsilon: QueryText = "2",
    delta: QueryText = "0",
    allow: QueryText = "",
    meters: QueryText = "1",
    years: QueryText = "",
    start: QueryText = "",
) -> Response:
    """Show the promise that was made, or one that is considered, with the errors to expect."""
    found = dataset_view(request, name)
    given = {"protect": protect, "k": k, "epsilon": epsilon, "delta": delta, "allow": allow}
    given |= {"meters": meters, "years": years, "start": start}
    return _page(request, found, given)


@router.post("/datasets/{name}/promise")
def make(
    request: Request,
    name: str,
    protect: ShortText = "",
    k: ShortText = "1",
    epsilon: ShortText = "",
    delta: ShortText = "0",
    allow: ShortText = "",
    meters: ShortText = "1",
    years: ShortText = "",
    start: ShortText = "",
    sure: ShortText = "",
) -> Response:
    """Make the promise, for ever."""
    found = dataset_view(request, name)
    given = {"protect": protect, "k": k, "epsilon": epsilon, "delta": delta, "allow": allow}
    given |= {"meters": meters, "years": years, "start": start}
    try:
        made = parse_promise(given)
        _check_meant(found, sure=bool(sure))
        service_of(request).ledger.create_dataset(name, made)
    except ParameterError as error:
        return _page(request, found, given, problem=str(error), status=422)
    message = f"The promise is made: {made}. Invite analysts next. {_two_keys(request, found)}"
    return redirect(request, f"/curator/datasets/{name}/analysts", message=message)


@router.post("/datasets/{name}/groups")
async def groups(request: Request, name: str) -> Response:
    """Choose the public columns that analysts may divide the fleet by."""
    form = await request.form()
    chosen = [str(each) for each in form.getlist("group")]
    return await run_in_threadpool(_choose, request, name, chosen)


def parse_promise(given: dict[str, str]) -> Promise:
    """Return the promise that a form describes."""
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
        raise ParameterError("what may be spent at once is for a promise over some years")
    return Promise(_unit(given), epsilon, delta, allowed, meters=meters, schedule=schedule)


def _whole(text: str, what: str) -> int:
    if not (text.strip().isdecimal() and len(text.strip()) < 6):
        raise ParameterError(f"{what} is a whole number")
    return int(text)


def _check_meant(found: DatasetView, *, sure: bool) -> None:
    if found.promised is not None:
        raise ParameterError("a promise was made for this dataset, and is never changed")
    if not sure:
        raise ParameterError(
            "tick that you understand that the promise can never be changed, then make it"
        )


def _unit(given: dict[str, str]) -> Unit:
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
        served = found.served
        # those of the meters that most of the systems have
        net = 2 * served.net > int(served.extra.get("listed", 0))
        values |= _previewed_errors(preview, systems=served.systems, net=net)
    return render(request, "curator/promise.html", status=status, **values)


def _previewed_errors(preview: Promise, *, systems: int | None, net: bool) -> dict[str, Any]:
    from sunveil.publish.fleet import SYSTEMS
    from sunveil.service.broker import SMALLEST_EPSILON
    from sunveil.service.curator import promise_errors as errors

    counts = errors.table_curves(concentrated=preview.delta > 0.0)
    table, system = errors.epsilon_each(preview, 1), errors.system_epsilon_each(preview, 1)
    return {
        "words": promise_sentences(preview),
        "answer_errors": errors.answer_errors(preview, systems=systems, net=net),
        "fleet_size": systems or SYSTEMS,
        "smallest": SMALLEST_EPSILON,
        "tables": _figure(counts, "Standard error [systems]", table),
        "systems": _figure(_system_curves(preview.unit, net), "Mean error [°]", system),
    }


def _figure(curves: list[ErrorCurve], unit: str, epsilon: float) -> Figure:
    reach = curves[0].epsilons
    return error_figure(
        curves, unit=unit, marked=epsilon if reach[0] <= epsilon <= reach[-1] else None
    )


@cache
def _system_curves(unit: Unit, net: bool) -> list[ErrorCurve]:
    from sunveil.service.curator.promise_errors import system_curves

    return system_curves(unit, net=net)


def _most_meters(meters: int) -> str:
    return "one meter" if meters == 1 else f"up to {meters} meters"


def promise_sentences(promise: Promise) -> list[str]:
    """Return a promise as sentences for a curator."""
    unit = promise.unit
    if isinstance(unit, System):
        kept = "Everything that a household's meters recorded"
    elif isinstance(unit, Days):
        kept = (
            "What a household did on any one day"
            if unit.k == 1
            else f"What a household did on any {unit.k} days"
        )
    else:
        assert isinstance(unit, Readings)
        kept = (
            "Any one reading of a household"
            if unit.k == 1
            else f"The values of any {unit.k} readings of a household"
        )
    changes = (
        f"{kept} changes the probability of any answer, and of all answers together, by at most a"
        f" factor of {_times(promise.epsilon)}."
    )
    if promise.delta > 0.0:
        changes = (
            f"{kept} changes the probability of any set of answers, all answers together, to at"
            f" most {_times(promise.epsilon)} times what it would be otherwise, plus"
            f" {promise.delta:g}. In exchange, many small questions cost less together."
        )
    sentences = [
        changes,
        "This holds for ever and against anybody, whatever else they know, for households with"
        f" {_most_meters(promise.meters)}; all meters of a household are protected as one.",
    ]
    if promise.schedule is not None:
        sentences.append(f"It is spent {promise.schedule}, and not before.")
    if not isinstance(unit, System):
        sentences.append(
            "It does not hide how a household's panels face and how large they are: that shows in"
            " all of its readings. Protect the whole record to hide it."
        )
    if promise.conditional:
        sentences.append(
            "Answers of the paper's mechanism are allowed, whose guarantee holds only if its"
            " assumption about the data does."
        )
    return sentences


def _times(epsilon: float) -> str:
    factor = math.exp(min(epsilon, 30.0))
    return f"{factor:.3g}" if factor < 1000.0 else f"{factor:,.0f}"


def _candidates(request: Request, found: DatasetView) -> dict[str, list[str]]:
    from sunveil.service.curator.dataset_files import public_groups

    table = found.served.extra.get("systems_table")
    if table is None:
        return {}
    return public_groups(found.served.path(service_of(request).settings.datasets) / str(table))


def _two_keys(request: Request, found: DatasetView) -> str:
    """Return a warning of systems that the table makes another household than another dataset's."""
    from sunveil.publish.households import read_households
    from sunveil.service.reading import meter_options

    service, table = service_of(request), found.served.extra.get("systems_table")
    if table is None:
        return ""
    path = found.served.path(service.settings.datasets) / str(table)
    homes = read_households(path, meter_options(found.served).system_column)
    return service.ledger.two_keys_warning(found.served.name, homes)


def _choose(request: Request, name: str, chosen: list[str]) -> Response:
    found = dataset_view(request, name)
    candidates = _candidates(request, found)
    strange = [each for each in chosen if each not in candidates]
    if strange:
        raise Problem(422, "One of these columns is not in the table of systems; load the page.")
    keys = {each: candidates[each] for each in chosen}
    with service_of(request).store.changing() as connection:
        change_served(connection, name, keys=keys)
    message = "Analysts may divide the fleet by " + (", ".join(keys) if keys else "nothing") + "."
    return redirect(request, f"/curator/datasets/{name}/promise", message=message)
