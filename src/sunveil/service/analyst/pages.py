"""The analyst's pages: datasets, and how a program asks."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from sunveil.service.addresses import own_address
from sunveil.service.analyst.access import list_releases, shared_dataset, shared_datasets
from sunveil.service.analyst.api import Name
from sunveil.service.analyst.asking import first_question
from sunveil.service.analyst.forms import form_query, question_words
from sunveil.service.analyst.words import ABOUT, net_sentence, promise_sentences
from sunveil.service.broker import TITLES
from sunveil.service.context import service_of
from sunveil.service.pages import identity_of, render
from sunveil.service.routing import analyst_router
from sunveil.service.verdicts import RULES

router = analyst_router()


@router.get("")
def home(request: Request) -> Response:
    """Show the datasets that may be asked about."""
    service = service_of(request)
    found = shared_datasets(service, identity_of(request).who)
    counts = {each.name: len(list_releases(service, each.name)) for each in found}
    return render(
        request, "analyst/datasets.html", datasets=found, counts=counts, words=promise_sentences
    )


@router.get("/help")
def help_page(request: Request) -> Response:
    """Show how a program asks, and what the words mean."""
    base = own_address(request)
    return render(request, "analyst/help.html", base=base, rules=RULES.values())


@router.get("/datasets/{name}")
def dataset(request: Request, name: Name) -> Response:
    """Show a dataset: its promise, what is left, what may be asked, and what was released."""
    service, who = service_of(request), identity_of(request).who
    found = shared_dataset(service, who, name)
    # just after a start, reading what was released does not wait for what plans
    first = first_question(service, who, found) if service.broker.at_hand() else None
    return render(
        request,
        "analyst/dataset.html",
        dataset=found,
        words=promise_sentences(found.promised.promise),
        net_words=net_sentence(found.served.net, found.served.systems),
        kinds=[(kind, TITLES[kind], ABOUT[kind]) for kind in found.served.kinds],
        releases=list_releases(service, name),
        first=first,
        first_title=None if first is None else TITLES[first.question.kind],
        first_words=[] if first is None else question_words(first.question),
        first_query="" if first is None else form_query(first.question),
    )
