"""The map of a dataset: its systems, and areas that the curator brings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from sunveil.errors import ParameterError, SourceError
from sunveil.service.context import Service, service_of
from sunveil.service.curator.add_pages import UploadPage, check_token
from sunveil.service.curator.estimates import QueryText, results_or_404
from sunveil.service.curator.forms import dataset_view
from sunveil.service.curator.results import MOST_DRAWN, FleetResults
from sunveil.service.figures.maps import area_map, system_map
from sunveil.service.pages import identity_of, redirect, render
from sunveil.service.routing import curator_router, takes_uploads
from sunveil.service.store.datasets import Served
from sunveil.service.uploads import Staging, UploadLimits, UploadRefused, receive
from sunveil.service.uploads.areas import FILE, LARGEST, take_areas
from sunveil.service.uploads.guarded import run_guarded
from sunveil.service.wording import count_of

router = curator_router()
upload_router = APIRouter(prefix="/curator", route_class=UploadPage, include_in_schema=False)
COLOURS = (("azimuth", "where they face"), ("quality", "quality of the estimate"))
MEASURES = (("systems", "number of systems"), ("capacity", "DC capacity"))


@router.get("/datasets/{name}/map")
def fleet_map(
    request: Request,
    name: str,
    colour: QueryText = "azimuth",
    measure: QueryText = "systems",
    column: QueryText = "",
) -> Response:
    """Show where the systems are, and how many there are in each area."""
    values, results = results_or_404(request, name)
    areas = read_areas(service_of(request), values["dataset"])
    keys = results.key_columns()
    chosen = column if column in keys else _guess(keys, areas)
    values |= {
        "summary": results.summary(),
        "points": _points(results, by_quality=colour == "quality", areas=areas),
        "most": MOST_DRAWN,
        "colours": COLOURS,
        "colour": colour,
        "measures": MEASURES,
        "measure": measure,
        "columns": [(each, each) for each in keys],
        "column": chosen,
        "areas": areas,
        "largest": LARGEST >> 20,
        **_by_area(results, areas, column=chosen, capacity=measure == "capacity"),
    }
    return render(request, "curator/map.html", **values)


@upload_router.post("/datasets/{name}/map/areas")
@takes_uploads
async def bring_areas(request: Request, name: str) -> Response:
    """Take a GeoJSON file of areas for the map."""
    service, found = service_of(request), await run_in_threadpool(dataset_view, request, name)
    identity, path = identity_of(request), f"/curator/datasets/{name}/map"
    try:
        with Staging(service.settings.datasets).open() as staging:
            files = staging.folder / "files"
            files.mkdir()
            received = await receive(
                request.stream(),
                request.headers.get("content-type", ""),
                into=files,
                limits=UploadLimits(body=LARGEST + 4096, files=1),
                check=lambda fields: check_token(request, identity, fields.get("csrf", "")),
            )
            if not received.files:
                raise UploadRefused("choose a GeoJSON file of areas")
            made = await run_in_threadpool(
                _take,
                service,
                received.files[0].path,
                areas_path(service, found.served),
                received.fields.get("property", "").strip(),
            )
    except (SourceError, ParameterError) as error:
        message = str(error)[:1].upper() + str(error)[1:] + "."
        return await run_in_threadpool(redirect, request, path, message=message, kind="bad")
    message = f"{count_of(made['areas'], 'area')} named by {made['property']} can be seen now."
    return await run_in_threadpool(redirect, request, path, message=message)


@router.post("/datasets/{name}/map/forget")
def forget_areas(request: Request, name: str) -> Response:
    """Remove the areas of the map."""
    found = dataset_view(request, name)
    areas_path(service_of(request), found.served).unlink(missing_ok=True)
    return redirect(request, f"/curator/datasets/{name}/map", message="The areas were removed.")


def areas_path(service: Service, served: Served) -> Path:
    """Return where the areas of a dataset are kept."""
    return service.settings.datasets / served.name / FILE


def read_areas(service: Service, served: Served) -> dict[str, Any] | None:
    """Return the areas that a curator brought for a dataset, or None."""
    try:
        text = areas_path(service, served).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    found: dict[str, Any] = json.loads(text)
    return found


def _take(service: Service, source: Path, target: Path, wanted: str) -> dict[str, Any]:
    target.parent.mkdir(mode=0o700, exist_ok=True)
    limits = service.settings.reading
    made: dict[str, Any] = run_guarded(take_areas, source, target, wanted, limits=limits)
    return made


def _points(
    results: FleetResults, *, by_quality: bool, areas: dict[str, Any] | None
) -> dict[str, Any]:
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
        areas=None if areas is None else areas["areas"],
    )


def _guess(keys: list[str], areas: dict[str, Any] | None) -> str:
    """Return the column that the areas are most likely named by."""
    named = "" if areas is None else str(areas["property"]).lower()
    return next((key for key in keys if key.lower() == named), keys[0] if keys else "")


def _by_area(
    results: FleetResults, areas: dict[str, Any] | None, *, column: str, capacity: bool
) -> dict[str, Any]:
    """Return the map and the table of areas; none where there are no areas or no groups."""
    if areas is None or not column:
        return {"choropleth": None, "rows": [], "unmatched": 0}
    found = results.by_group(column)
    names = [each["properties"]["name"] for each in areas["areas"]["features"]]
    rows = [(name, *found.get(name, (0, 0.0))) for name in names]
    numbers = {name: kw if capacity else float(count) for name, count, kw in rows}
    drawn = area_map(
        areas["areas"],
        numbers,
        title="DC capacity [kW]" if capacity else "Systems",
        unit=" kW" if capacity else " systems",
    )
    inside = set(names)
    left = sum(count for name, (count, _) in found.items() if name not in inside)
    return {"choropleth": drawn, "rows": rows, "unmatched": left}
