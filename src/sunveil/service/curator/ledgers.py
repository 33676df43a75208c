"""The ledger: what was spent, by whom, and whether it holds."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import select
from starlette.requests import Request
from starlette.responses import Response

from sunveil.errors import ParameterError, SunveilError
from sunveil.ledger.high_water import HighWaterMark
from sunveil.ledger.verify import Verdict
from sunveil.service.context import Service, service_of
from sunveil.service.curator.forms import dataset_view, measure_sign
from sunveil.service.curator.ledger_text import as_csv, asker_totals, describe_entry, entry_fields
from sunveil.service.pages import render
from sunveil.service.problems import Problem
from sunveil.service.routing import console_router
from sunveil.service.store.schema import releases

router = console_router()
PAGE = 50


@router.get("/ledger")
def ledgers(request: Request) -> Response:
    """Show every dataset of the ledger, verified."""
    ledger = service_of(request).ledger
    withdrawn = ledger.withdrawn()
    names = [name for name in ledger.names() if name not in withdrawn]
    found = [_verified(service_of(request), name) for name in names]
    forgotten = ledger.forgotten()
    return render(
        request, "curator/ledgers.html", found=found, forgotten=forgotten, withdrawn=withdrawn
    )


@router.get("/datasets/{name}/ledger")
def ledger(request: Request, name: str, page: int = 1, mark: str = "") -> Response:
    """Show a dataset's entries, verified, and who asked what."""
    service, found = service_of(request), dataset_view(request, name)
    if found.promised is None:
        raise Problem(404, "There is no promise yet, and so nothing in the ledger.")
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


@router.get("/datasets/{name}/ledger.json")
def as_json_file(request: Request, name: str) -> Response:
    """Send everything that a verification needs, as JSON."""
    ledger = service_of(request).ledger
    dataset_view(request, name)
    values = {
        **ledger.dataset(name).to_dict(),
        "verdict": ledger.verify(name).to_dict(),
        "entries": [entry_fields(entry) for entry in ledger.entries(name)],
    }
    text = json.dumps({"datasets": [values]}, indent=2, ensure_ascii=False)
    return _download(text, f"{name}-ledger.json", "application/json")


@router.get("/datasets/{name}/ledger.csv")
def as_csv_file(request: Request, name: str) -> Response:
    """Send the entries as a table."""
    dataset_view(request, name)
    entries = service_of(request).ledger.entries(name)
    return _download(as_csv(entries), f"{name}-ledger.csv", "text/csv; charset=utf-8")


def _titles(service: Service, name: str) -> dict[str, str]:
    """Return what was published, by the digest of the question that it answers."""
    query = select(releases.c.question, releases.c.title).where(releases.c.dataset == name)
    with service.store.reading() as connection:
        return {row.question: row.title for row in connection.execute(query)}


def _verified(service: Service, name: str) -> dict[str, Any]:
    try:
        verdict: Verdict | None = service.ledger.verify(name)
        problem = ""
    except SunveilError as error:
        verdict, problem = None, str(error)
    return {"name": name, "verdict": verdict, "problem": problem}


def _mark(text: str) -> HighWaterMark:
    length, _, head = text.strip().partition(":")
    if not (length.isdecimal() and int(length) > 0 and head):
        raise ParameterError("a checkpoint is a number of entries, a colon and a digest")
    return HighWaterMark(int(length), head)


def _download(text: str, name: str, media_type: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=media_type, headers=headers)
