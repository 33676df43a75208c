"""The systems of a dataset as a table: sorted, filtered, page by page, and as a file."""

from __future__ import annotations

import io
from typing import Annotated, Any

import pyarrow.parquet as pq
from fastapi import Depends, Query
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from sunveil.errors import ParameterError
from sunveil.service.curator.estimate_table import (
    COLUMNS,
    NUMBERS,
    USUAL,
    EstimateFilter,
    csv_lines,
)
from sunveil.service.curator.estimates import (
    QueryText,
    meanings,
    qualities,
    results_or_404,
)
from sunveil.service.curator.forms import parse_number
from sunveil.service.pages import render
from sunveil.service.problems import Problem
from sunveil.service.routing import curator_router

router = curator_router()
SHOWS = ("all", "flagged", "refused")
EXPORTS = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}


def wanted_of(
    show: QueryText = "all",
    text: QueryText = "",
    flag: QueryText = "",
    quality: QueryText = "",
    column: QueryText = "",
    low: QueryText = "",
    high: QueryText = "",
    sort: QueryText = "system_id",
    descending: QueryText = "",
    shown: Annotated[list[str] | None, Query(max_length=20)] = None,
) -> EstimateFilter:
    """Return which systems a link or a form asks for.

    Parameters
    ----------
    show, text, flag, quality
        All systems or those with a flag; a part of a name; one flag; one quality.
    column, low, high
        A column whose numbers lie between two bounds.
    sort, descending
        The column that they are sorted by, and whether the largest come first.
    shown
        The columns that are shown.
    """
    some = "any" if show == "flagged" else ""
    try:
        return EstimateFilter(
            text=text,
            flag=flag if flag in ("any", *meanings()) else some,
            quality=quality if quality in qualities() else "",
            column=column,
            low=_bound(low),
            high=_bound(high),
            sort=sort or "system_id",
            descending=bool(descending),
            shown=tuple(shown) if shown else USUAL,
        )
    except ParameterError as error:
        raise Problem(422, f"{str(error).capitalize()}.") from None


Wanted = Annotated[EstimateFilter, Depends(wanted_of)]


@router.get("/datasets/{name}/systems")
def systems(
    request: Request, name: str, wanted: Wanted, show: QueryText = "all", page: int = 1
) -> Response:
    """Show systems page by page: all, flagged or refused."""
    values, results = results_or_404(request, name)
    if show not in SHOWS:
        raise Problem(404, "There is no such list; choose all, flagged or refused.")
    refused = show == "refused"
    values |= {
        "summary": results.summary(),
        "show": show,
        "wanted": wanted,
        "qualities": [("", "any"), *((each, each) for each in qualities())],
        "flags": [("", "any or none"), ("any", "any flag"), *_flag_words()],
        "numbers": [("", "no limit"), *((each.name, _titled(each)) for each in NUMBERS)],
        "columns": COLUMNS[1:],
        "meanings": meanings(),
        "page": results.refused(text=wanted.text, number=page)
        if refused
        else results.estimates(wanted, number=page),
        "reasons": results.refusals() if refused else [],
    }
    return render(request, "curator/systems.html", **values)


@router.get("/datasets/{name}/systems.{kind}")
def export(request: Request, name: str, kind: str, wanted: Wanted) -> Response:
    """Send the systems of a filter as a file: CSV without formulas, or Parquet."""
    _, results = results_or_404(request, name)
    if kind not in EXPORTS:
        raise Problem(404, "The table is exported as CSV or Parquet; choose one of these.")
    table = results.export(wanted)
    headers = {"content-disposition": f'attachment; filename="{name}-systems.{kind}"'}
    if kind == "csv":
        rows = (row.values() for batch in table.to_batches() for row in batch.to_pylist())
        lines = csv_lines(table.column_names, (list(row) for row in rows))
        return StreamingResponse(lines, media_type=EXPORTS[kind], headers=headers)
    file = io.BytesIO()
    pq.write_table(table, file)
    return Response(file.getvalue(), media_type=EXPORTS[kind], headers=headers)


def _flag_words() -> list[tuple[str, str]]:
    return [(each, each.replace("_", " ")) for each in meanings()]


def _titled(column: Any) -> str:
    unit = column.unit.strip()
    return f"{column.title} [{unit}]" if unit else str(column.title)


def _bound(text: str) -> float | None:
    """Return a bound from a form; none where nothing was written."""
    if not text.strip():
        return None
    return parse_number(text, "A limit")
