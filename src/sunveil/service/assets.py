"""Styles and scripts, all from this machine: our own, and plotly's from its wheel."""

from __future__ import annotations

import gzip
import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock

from starlette.requests import Request
from starlette.responses import Response

from sunveil.extras import require_extras
from sunveil.service.problems import Problem
from sunveil.service.routing import public_router

STATIC = Path(__file__).parent / "static"
PLOTLY = "plotly.min.js"
KINDS = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
HOUR = 3600
_packing = Lock()
_STYLE_ID = re.compile(r"getElementById\(\"([0-9a-f]{64})\"\)")
router = public_router("/static")


@dataclass(frozen=True, slots=True, eq=False)
class Asset:
    """A style, script or image as it is sent.

    Parameters
    ----------
    media_type
        Its MIME type.
    plain, packed
        Its bytes, and the same by gzip.
    etag
        HTTP entity tag: a digest of its bytes, by which a browser knows that it has it.
    """

    media_type: str
    plain: bytes
    packed: bytes
    etag: str


@cache
def asset_names() -> frozenset[str]:
    """Return the names of all files that are sent."""
    own = {path.name for path in STATIC.iterdir() if path.suffix in KINDS}
    return frozenset({*own, PLOTLY})


def load_asset(name: str) -> Asset:
    """Return a file by its name; it is read and packed once, however many ask at the same time."""
    with _packing:
        return _pack(name)


@cache
def _pack(name: str) -> Asset:
    path = plotly_path() if name == PLOTLY else STATIC / name
    content = path.read_bytes()
    etag = f'"{hashlib.sha256(content).hexdigest()[:24]}"'
    # a script of megabytes is packed once, and the first reader should not wait for long
    packed = gzip.compress(content, 5, mtime=0)
    return Asset(KINDS[path.suffix], content, packed, etag)


def plotly_path() -> Path:
    """Return where plotly's own wheel keeps its script, without importing it."""
    require_extras("service", purpose="the service")
    found = find_spec("plotly")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / "package_data" / PLOTLY


@cache
def plotly_style_ids() -> tuple[str, ...]:
    """Return the ids by which plotly's script knows that styles for maps are there.

    A page that has elements with these ids keeps it from putting them in, which the content policy
    forbids and no figure of ours needs.
    """
    text = plotly_path().read_text(encoding="utf-8")
    return tuple(dict.fromkeys(_STYLE_ID.findall(text)))


@router.get("/{name}")
def static_file(request: Request, name: str) -> Response:
    """Send a style or a script."""
    if name not in asset_names():
        raise Problem(404, "There is nothing here; check the address.")
    asset = load_asset(name)
    headers = {
        "ETag": asset.etag,
        "Cache-Control": f"public, max-age={HOUR if name == PLOTLY else 0}",
        "Vary": "Accept-Encoding",
    }
    if request.headers.get("if-none-match") == asset.etag:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
        return Response(asset.packed, media_type=asset.media_type, headers=headers)
    return Response(asset.plain, media_type=asset.media_type, headers=headers)
