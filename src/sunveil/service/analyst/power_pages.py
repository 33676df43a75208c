"""The pages of power from a release: the order, how far a run is, and what came out."""

from __future__ import annotations

import datetime
from typing import Any

from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from sunveil.service.analyst.access import CachedRelease, cached_release
from sunveil.service.analyst.api import FileName, Id
from sunveil.service.analyst.api_power import Run, send_run_file
from sunveil.service.analyst.power_runs import WITHOUT_POWER, known_run, order_power
from sunveil.service.context import service_of
from sunveil.service.pages import redirect, render
from sunveil.service.power_orders import CLEAR_SKY, FILES, PowerOrder, PowerRun
from sunveil.service.problems import Problem
from sunveil.service.routing import analyst_router

router = analyst_router()
FIELDS = ("latitude", "longitude", "start", "end", "step_minutes", "weather", "zone")


@router.get("/releases/{release}/power")
async def order_page(request: Request, release: Id) -> Response:
    """Show what can be ordered, and what was."""
    cached = await cached_release(request, release)
    if cached.row.kind in WITHOUT_POWER:
        raise Problem(404, "No power can be made of quantiles; take a release of tables or totals.")
    year = datetime.datetime.now(datetime.UTC).year
    usual = {
        **dict.fromkeys(FIELDS, ""),
        "start": f"{year - 1}-01-01",
        "end": f"{year}-01-01",
        "step_minutes": "15",
        "weather": CLEAR_SKY,
        "zone": "UTC",
    }
    return await run_in_threadpool(_order_page, request, cached, usual)


@router.post("/releases/{release}/power")
async def order(request: Request, release: Id) -> Response:
    """Start a run, and show how far it is."""
    cached = await cached_release(request, release)
    form = await request.form()
    given = {name: str(form.get(name, "")).strip()[:100] for name in FIELDS}
    try:
        known: dict[str, Any] = {name: text for name, text in given.items() if text}
        known["step_minutes"] = int(given["step_minutes"] or 15)
        asked = PowerOrder.model_validate({**known, "whole": "whole" in form})
    except (ValidationError, ValueError) as error:
        return await run_in_threadpool(_order_page, request, cached, given, _wrong(error))
    found = await run_in_threadpool(order_power, request, cached, asked)
    place = f"/analyst/releases/{release}/power/{found.id}"
    return await run_in_threadpool(lambda: redirect(request, place))


@router.get("/releases/{release}/power/{run}")
async def run_page(request: Request, release: Id, run: Run) -> Response:
    """Show how far a run is, or what came out."""
    cached = await cached_release(request, release)
    found = await run_in_threadpool(known_run, request, release, run)
    return await run_in_threadpool(
        lambda: render(
            request,
            "analyst/power_run.html",
            row=cached.row,
            run=found,
            words=order_words(found),
            files=FILES,
        )
    )


@router.get("/releases/{release}/power/{run}/files/{name}")
async def run_file(request: Request, release: Id, run: Run, name: FileName) -> Response:
    """Send a file of a run."""
    await cached_release(request, release)
    return await run_in_threadpool(send_run_file, request, release, run, name)


def order_words(found: PowerRun) -> list[tuple[str, str]]:
    """Return what was ordered, as labels and words."""
    order = found.order
    sky = "clear sky" if order.weather == CLEAR_SKY else order.weather
    return [
        ("Place", f"{order.latitude:g}°, {order.longitude:g}°"),
        ("From", f"{order.start} to before {order.end}, in UTC"),
        ("Intervals", f"{order.step_minutes} minutes"),
        ("Weather", sky),
        ("Days and seasons by", order.zone),
    ]


def _order_page(
    request: Request, cached: CachedRelease, given: dict[str, Any], wrong: str = ""
) -> Response:
    power = service_of(request).power
    return render(
        request,
        "analyst/power.html",
        status=422 if wrong else 200,
        row=cached.row,
        given=given,
        wrong=wrong,
        grouped=cached.body["asked"].get("group_by"),
        weathers=power.weathers(),
        runs=[(each, order_words(each)) for each in power.runs_of(cached.row.id)[:10]],
    )


def _wrong(error: ValueError) -> str:
    """Return what is wrong with a form, in a sentence."""
    if not isinstance(error, ValidationError):
        return "Choose 15, 30 or 60 minutes."
    first = error.errors()[0]
    where = str(first["loc"][0]) if first["loc"] else ""
    said = str(first["msg"]).removeprefix("Value error, ")
    return f"{where}: {said}." if where else f"{said[:1].upper()}{said[1:]}."
