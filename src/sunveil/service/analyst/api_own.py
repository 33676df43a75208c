"""The JSON API on what analysts keep for themselves: names of releases and saved questions."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from sunveil.service.analyst import models, own
from sunveil.service.analyst.access import cached_release, shared_dataset
from sunveil.service.analyst.api import ALWAYS, Id, Name, QuestionInBody
from sunveil.service.analyst.models import problems
from sunveil.service.context import service_of
from sunveil.service.pages import identity_of
from sunveil.service.routing import api_router

router = api_router()
SavedName = Annotated[
    str,
    Path(
        min_length=1,
        max_length=models.LONGEST_NAME,
        pattern=r"^[A-Za-z0-9]([A-Za-z0-9 ._-]*[A-Za-z0-9])?$",
        description="Your own name for a question: letters, digits, spaces, dots and hyphens.",
    ),
]


@router.put(
    "/releases/{release}/name", responses=problems(*ALWAYS, 403, 404, 415), tags=["your own"]
)
async def name_release(request: Request, release: Id, given: models.NameBody) -> models.NameBody:
    """Keep what you call a release; nobody else sees it."""
    await cached_release(request, release)
    service, who = service_of(request), identity_of(request).who
    kept = await run_in_threadpool(own.set_name, service, who, release, name=given.name)
    return models.NameBody(name=kept)


@router.get("/datasets/{dataset}/questions", responses=problems(*ALWAYS, 404), tags=["your own"])
def saved(request: Request, dataset: Name) -> models.SavedQuestionsBody:
    """List the questions that you have saved for a dataset."""
    service, who = service_of(request), identity_of(request).who
    shared_dataset(service, who, dataset)
    found = own.saved(service, who, dataset)
    return models.SavedQuestionsBody(
        questions=[models.SavedQuestionBody(name=name, question=asked) for name, asked in found]
    )


@router.put(
    "/datasets/{dataset}/questions/{saved}",
    responses=problems(*ALWAYS, 403, 404, 415),
    tags=["your own"],
)
def save(
    request: Request, dataset: Name, saved: SavedName, question: QuestionInBody
) -> models.SavedQuestionBody:
    """Save a question under a name, in place of what was there. It spends nothing."""
    service, who = service_of(request), identity_of(request).who
    shared_dataset(service, who, dataset)
    kept = own.save(service, who, dataset, name=saved, question=question)
    return models.SavedQuestionBody(name=kept, question=question)


@router.delete(
    "/datasets/{dataset}/questions/{saved}",
    status_code=204,
    response_class=Response,
    responses=problems(*ALWAYS, 403, 404),
    tags=["your own"],
)
def forget(request: Request, dataset: Name, saved: SavedName) -> Response:
    """Forget a saved question."""
    service, who = service_of(request), identity_of(request).who
    shared_dataset(service, who, dataset)
    own.drop(service, who, dataset, name=saved)
    return Response(status_code=204)
