"""The API's description of itself, as OpenAPI."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sunveil.service.analyst.models import Problem
from sunveil.service.routing import public_room

room = public_room("/api/v1")
REFERENCE = "#/components/schemas/{model}"


@room.get("/openapi.json")
def openapi(request: Request) -> Response:
    """Send the description."""
    return JSONResponse(describe(request.app))


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the description of all addresses for programs."""
    if app.openapi_schema is None:
        made = get_openapi(
            title=app.title,
            version=app.version,
            summary=app.summary,
            routes=app.routes,
        )
        schemas = made.setdefault("components", {}).setdefault("schemas", {})
        told = Problem.model_json_schema(ref_template=REFERENCE)
        schemas.update(told.pop("$defs", {}))
        schemas["Problem"] = told
        made["components"]["securitySchemes"] = {
            "token": {"type": "http", "scheme": "bearer", "description": "From the curator."}
        }
        made["security"] = [{"token": []}]
        app.openapi_schema = made
    return app.openapi_schema
