"""The JSON API on power from releases: order a run, look how far it is, and load its files."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from sunveil.service.analyst import models
from sunveil.service.analyst.access import cached_release
from sunveil.service.analyst.api import ALWAYS, FileName, Id
from sunveil.service.analyst.models import problems
from sunveil.service.analyst.power_runs import known_run, order_power
from sunveil.service.context import service_of
from sunveil.service.power_orders import FILES, MEDIA, PowerOrder, PowerRun
from sunveil.service.problems import Problem
from sunveil.service.routing import api_router

router = api_router()
Run = Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="Of a run of power.")]
SENT: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file.",
        "content": {
            kind.partition(";")[0]: {"schema": {"type": "string", "format": "binary"}}
            for kind in MEDIA.values()
        },
    }
}


@router.post(
    "/releases/{release}/power",
    status_code=202,
    responses=problems(*ALWAYS, 403, 404, 415),
    tags=["reading"],
)
async def order(request: Request, release: Id, order: PowerOrder) -> models.PowerRunBody:
    """Order power from a release; it is made in the background, and charges nothing.

    The same order gives the same run.
    """
    cached = await cached_release(request, release)
    return run_body(await run_in_threadpool(order_power, request, cached, order))


@router.get("/releases/{release}/power/{run}", responses=problems(*ALWAYS, 404), tags=["reading"])
async def run(request: Request, release: Id, run: Run) -> models.PowerRunBody:
    """Tell how far a run of power is; once it is done, its answers and its files."""
    await cached_release(request, release)
    return run_body(await run_in_threadpool(known_run, request, release, run))


@router.get(
    "/releases/{release}/power/{run}/files/{name}",
    response_class=Response,
    responses={**problems(*ALWAYS, 404), **SENT},
    tags=["reading"],
)
async def file(request: Request, release: Id, run: Run, name: FileName) -> Response:
    """Send a file of a run: power.csv, power.parquet, power.json, or opendss.zip."""
    await cached_release(request, release)
    return await run_in_threadpool(send_run_file, request, release, run, name)


def send_run_file(request: Request, release: str, run: str, name: str) -> Response:
    """Return the response with a file of a run; the right to read it was checked before.

    Parameters
    ----------
    request
        What it answers.
    release, run
        Of which run.
    name
        The file's name.
    """
    path = service_of(request).power.file(release, run, name)
    if path is None:
        raise Problem(404, "The run has no such file, or is not done yet.")
    return FileResponse(path, media_type=MEDIA[name], filename=f"{run[:8]}-{name}")


def run_body(found: PowerRun) -> models.PowerRunBody:
    """Return a run as the API sends it."""
    place = f"/api/v1/releases/{found.release}/power/{found.id}"
    told = found.found or {}
    answers = [
        models.PowerAnswerBody(group=group["name"], **each)
        for group in told.get("groups", ())
        for each in group["answers"]
    ]
    return models.PowerRunBody(
        id=found.id,
        release=found.release,
        order=found.order,
        state=found.state,
        words=found.words,
        url=place,
        summary=told.get("summary"),
        answers=answers,
        files=[f"{place}/files/{name}" for name in FILES] if found.found else [],
    )
