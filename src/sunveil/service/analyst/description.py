"""The API's description of itself, as OpenAPI."""

from __future__ import annotations

import json
import re
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sunveil.service.analyst.models import ProblemBody
from sunveil.service.routing import public_router

router = public_router("/api/v1")
REFERENCE = "#/components/schemas/{model}"


@router.get("/openapi.json")
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
        schema = ProblemBody.model_json_schema(ref_template=REFERENCE)
        schemas.update(schema.pop("$defs", {}))
        schemas["ProblemBody"] = schema
        made["components"]["securitySchemes"] = {
            "token": {"type": "http", "scheme": "bearer", "description": "From the curator."}
        }
        made["security"] = [{"token": []}]
        app.openapi_schema = _without_suffixes(made)
    return app.openapi_schema


def _without_suffixes(description: dict[str, Any]) -> dict[str, Any]:
    """Return the description with schemas named as programs know them: Promise, not PromiseBody."""
    names = "|".join(description["components"]["schemas"])
    text = re.sub(rf"\b({names})\b", lambda name: _short(name[0]), json.dumps(description))
    found: dict[str, Any] = json.loads(text)
    return found


def _short(name: str) -> str:
    return name.removesuffix("Body").removesuffix("Question")
