"""Estimate pages, one system with its fit."""

from __future__ import annotations

import io
from functools import cache
from typing import Annotated, Any

import pyarrow.parquet as pq
from fastapi import Depends, Query
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from sunveil.errors import ParameterError
from sunveil.service.context import Problem, service_of
from sunveil.service.curator.inference import dataset_view, parse_number, results_of
from sunveil.service.curator.results import (
    CAPACITY_EDGES_KW,
    COLUMNS,
    MOST_DRAWN,
    NUMBERS,
    TILT_EDGES,
    USUAL,
    EstimateFilter,
    FleetResults,
    csv_lines,
)
from sunveil.service.figures import bars, plane_map, rose, system_map
from sunveil.service.guarded_routes import curator_router
from sunveil.service.page_rendering import render

router = curator_router()
QueryText = Annotated[str, Query(max_length=200)]
COLOURS = (("azimuth", "where they face"), ("quality", "quality of the estimate"))


@router.get("/datasets/{name}/estimates")
def estimates(request: Request, name: str) -> Response:
    values, results = results_or_404(request, name)
    planes = results.sample_planes()
    values |= {
        "summary": results.summary(),
        "qualities": qualities(),
        "meanings": meanings(),
        "drawn": len(set(planes["system_id"])),
        "most": MOST_DRAWN,
        "planes": plane_map(
            planes["surface_azimuth"], planes["surface_tilt"], names=planes["system_id"]
        ),
        "rose": rose(results.sectors()),
        "tilts": bars(TILT_EDGES, results.tilts(), title="Tilt", unit="°"),
        "capacities": bars(CAPACITY_EDGES_KW, results.capacities(), title="DC capacity", unit="kW"),
    }
    return render(request, "curator/estimates.html", **values)


@router.get("/datasets/{name}/map")
def fleet_map(request: Request, name: str, colour: QueryText = "azimuth") -> Response:
    values, results = results_or_404(request, name)
    values |= {
        "summary": results.summary(),
        "points": _points(results, by_quality=colour == "quality"),
        "most": MOST_DRAWN,
        "colours": COLOURS,
        "colour": colour,
    }
    return render(request, "curator/map.html", **values)


@router.get("/datasets/{name}/system")
def system(request: Request, name: str, system_id: QueryText = "") -> Response:
    values, results = results_or_404(request, name)
    row = results.find_system(system_id)
    reason = results.why_refused(system_id) if row is None else None
    if row is None and reason is None:
        raise Problem(404, "There is no such system in this dataset; look in the list.")
    values |= {"system_id": system_id, "row": row, "reason": reason, "meanings": meanings()}
    if row is not None:
        # with plots, pvlib and the readers of meters, which take a while to load
        from sunveil.service.curator.system_report import system_report

        values |= system_report(service_of(request), values["dataset"], row)
    return render(request, "curator/system.html", **values)


@cache
def qualities() -> tuple[str, ...]:
    """Return the words for how far an estimate can be relied on, the best first."""
    from sunveil.estimates.flags_and_quality import Quality

    return tuple(quality.value for quality in Quality)


@cache
def meanings() -> dict[str, str]:
    from sunveil.estimates.flags_and_quality import FLAG_MEANINGS

    return {flag.value: meaning for flag, meaning in FLAG_MEANINGS.items()}


def results_or_404(request: Request, name: str) -> tuple[dict[str, Any], FleetResults]:
    found = dataset_view(request, name)
    results = results_of(service_of(request), found.served)
    if not results.exist:
        raise Problem(
            404, "There are no estimates yet. They appear when the inference has finished a part."
        )
    return found.template_values(), results


def _points(results: FleetResults, *, by_quality: bool) -> dict[str, Any]:
    drawn = results.sample()
    facing = [
        f"faces {faced:.0f}°" if axis is None else f"tracker, axis {axis:.0f}°"
        for faced, axis in zip(drawn["surface_azimuth"], drawn["axis"], strict=True)
    ]
    labels = [
        f"{name}: {words}, {quality or 'quality unknown'}"
        for name, words, quality in zip(drawn["system_id"], facing, drawn["quality"], strict=True)
    ]
    return system_map(
        drawn["longitude"],
        drawn["latitude"],
        azimuth=drawn["surface_azimuth"],
        qualities=drawn["quality"],
        labels=labels,
        by_quality=by_quality,
    )


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
    if not text.strip():
        return None
    return parse_number(text, "A limit")
