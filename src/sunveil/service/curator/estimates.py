"""Estimates in figures and on a map, and each system with its fit."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from sunveil.errors import SunveilError
from sunveil.household import SEASONS
from sunveil.service.context import service_of
from sunveil.service.curator.forms import dataset_view
from sunveil.service.curator.inference import results_of
from sunveil.service.curator.results import CAPACITY_EDGES_KW, MOST_DRAWN, TILT_EDGES, FleetResults
from sunveil.service.figures.days import DayCurve, day_curve
from sunveil.service.figures.fleet import bars, plane_map, rose
from sunveil.service.figures.maps import system_map
from sunveil.service.pages import render
from sunveil.service.problems import Problem
from sunveil.service.routing import curator_router

router = curator_router()
QueryText = Annotated[str, Query(max_length=200)]
COLOURS = (("azimuth", "where they face"), ("quality", "quality of the estimate"))
TRACKER = (
    ("axis_azimuth", "Axis", "°"),
    ("max_angle", "Turns as far as", "°"),
    ("gcr", "Ground coverage ratio", ""),
)
INTERVALS = (
    ("surface_azimuth", "Azimuth", "°"),
    ("surface_tilt", "Tilt", "°"),
    ("dc_capacity_kw", "DC capacity", " kW"),
)


@router.get("/datasets/{name}/estimates")
def estimates(request: Request, name: str) -> Response:
    """Show a fleet's estimates in figures."""
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
    """Show where the systems are."""
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
    """Show a system with its fit, computed from its readings."""
    values, results = results_or_404(request, name)
    row = results.find_system(system_id)
    reason = results.why_refused(system_id) if row is None else None
    if row is None and reason is None:
        raise Problem(404, "There is no such system in this dataset; look in the list.")
    findings: list[tuple[str, str]] = []
    days: list[dict[str, Any]] = []
    problem = ""
    if row is not None:
        try:
            findings = _findings(request, values, row)
            days = _days(request, values, row)
        except SunveilError as error:
            problem = str(error)
    values |= {
        "system_id": system_id,
        "row": row,
        "reason": reason,
        "days": days,
        "problem": problem,
        "intervals": [] if row is None else _intervals(row),
        "findings": findings,
        "seasons": SEASONS,
        "meanings": meanings(),
    }
    return render(request, "curator/system.html", **values)


@cache
def qualities() -> tuple[str, ...]:
    """Return the words for how far an estimate can be relied on, the best first."""
    from sunveil.estimate import Quality

    return tuple(quality.value for quality in Quality)


@cache
def meanings() -> dict[str, str]:
    """Return what each flag means."""
    from sunveil.estimate import FLAG_MEANINGS

    return {flag.value: meaning for flag, meaning in FLAG_MEANINGS.items()}


def results_or_404(request: Request, name: str) -> tuple[dict[str, Any], FleetResults]:
    """Return what pages about estimates need, or refuse where there are none yet."""
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


def _intervals(row: dict[str, Any]) -> list[tuple[str, float, float, str]]:
    """Return the 90% intervals that a row has: words, both ends and the unit."""
    tracker = row.get("tracker")
    columns = [(row, each) for each in INTERVALS]
    if tracker is not None:
        columns = [*((tracker, each) for each in TRACKER), columns[-1]]
    found = []
    for values, (name, words, unit) in columns:
        low, high = values.get(f"{name}_low"), values.get(f"{name}_high")
        if low is not None and high is not None:
            found.append((words, float(low), float(high), unit))
    return found


def _findings(
    request: Request, values: dict[str, Any], row: dict[str, Any]
) -> list[tuple[str, str]]:
    from sunveil.service.curator.fits import row_findings

    return row_findings(service_of(request), values["dataset"], row)


def _days(request: Request, values: dict[str, Any], row: dict[str, Any]) -> list[dict[str, Any]]:
    from sunveil.service.curator.fits import fit_days

    curves: list[DayCurve] = fit_days(service_of(request), values["dataset"], row)
    top = 1.12 * max(max((*day.measured, *day.modelled)) for day in curves)
    # only a net meter has readings below zero
    bottom = 1.12 * min(0.0, *(min(day.measured) for day in curves))
    return [{"name": day.name, "figure": day_curve(day, top=top, bottom=bottom)} for day in curves]
