"""Templates, static files, escaping."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

import jinja2
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from sunveil._extras import require_extras
from sunveil.ledger.ledger_database import is_url
from sunveil.service.authentication import Identity, guest_of, set_cookie
from sunveil.service.context import API, MEDIA_TYPE, Problem, as_problem, service_of
from sunveil.service.guarded_routes import public_router
from sunveil.service.promise_text import promise_line
from sunveil.service.settings import GUEST, ServiceSettings, home_of, side_of
from sunveil.service.store.accounts import set_flash

STATIC = Path(__file__).parent / "static"
PLOTLY = "plotly.min.js"

CONTENT_TYPES = {
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
    media_type: str  # its MIME type
    plain: bytes  # its bytes, and the same by gzip
    packed: bytes  # its bytes, and the same by gzip
    etag: str  # HTTP entity tag: a digest of its bytes, by which a browser knows that it has it


@cache
def asset_names() -> frozenset[str]:
    own = {path.name for path in STATIC.iterdir() if path.suffix in CONTENT_TYPES}
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
    return Asset(CONTENT_TYPES[path.suffix], content, packed, etag)


def plotly_path() -> Path:
    """Return where plotly's own wheel keeps its script, without importing it."""
    require_extras("service", purpose="the service")
    found = find_spec("plotly")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / "package_data" / PLOTLY


@cache
def plotly_style_ids() -> tuple[str, ...]:
    """Return the ids by which plotly's script knows that styles for maps are there."""
    # A page that has elements with these ids keeps it from putting them in, which the content
    # policy forbids and no figure of ours needs.
    text = plotly_path().read_text(encoding="utf-8")
    return tuple(dict.fromkeys(_STYLE_ID.findall(text)))


@router.get("/{name}")
def static_file(request: Request, name: str) -> Response:
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


# Many say that they are others too: the first that fits is the one.
BROWSERS = (("Edg", "Edge"), ("OPR", "Opera"), ("Firefox", "Firefox"), ("Chrome", "Chrome"),
            ("Safari", "Safari"))  # fmt: skip

SYSTEMS = (("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Windows", "Windows"),
           ("Mac OS", "macOS"), ("Linux", "Linux"))  # fmt: skip


def browser_name(agent: str) -> str:
    browser = next((name for mark, name in BROWSERS if f"{mark}/" in agent), "")
    system = next((name for mark, name in SYSTEMS if mark in agent), "")
    if browser:
        return f"{browser} on {system}" if system else browser
    return agent.partition(" ")[0][:60] or "a program without a name"


def without_server_paths(text: str, settings: ServiceSettings) -> str:
    """Return a text in which files of the service are named as from its data folder."""
    # Messages are shared with commands; a page must not show where the server keeps its files.
    return _pattern(settings.data, settings.where).sub("", text)


@cache
def _pattern(data: Path, where: str) -> re.Pattern[str]:
    folders = [data, Path(sys.prefix), Path.home() / ".local", Path(tempfile.gettempdir())]
    if not is_url(where):
        folders.append(Path(where).parent)
    named = {str(path) for folder in folders for path in (folder, Path(os.path.realpath(folder)))}
    written = {form for name in named for form in (name, str(escape(name)))}
    # the longest first: one may lie in another
    ordered = sorted(written - {"/", "."}, key=len, reverse=True)
    return re.compile("|".join(re.escape(name) + "/" for name in ordered))


def count_of(number: int, thing: str, plural: str = "") -> str:
    """Return a number with what it counts, such as ``1 system`` or ``2,400 systems``."""
    return f"{number:,} {thing if number == 1 else plural or thing + 's'}"


TEMPLATES = Path(__file__).parent / "templates"
REPORTS = Path(__file__).parents[1] / "plots" / "templates"  # sections of the library's reports
NOTICE_KINDS = ("good", "bad", "note")

# Characters that could end a script element, or that some parsers take for line ends.
_ESCAPES = {
    ord("<"): "\\u003c",
    ord(">"): "\\u003e",
    ord("&"): "\\u0026",
    0x2028: "\\u2028",
    0x2029: "\\u2029",
}


@cache
def environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader([TEMPLATES, REPORTS]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["amount"] = amount
    made.filters["browser"] = browser_name
    made.filters["cell"] = cell
    made.filters["figure_json"] = figure_json
    made.filters["count_of"] = count_of
    made.filters["promise_line"] = promise_line
    made.globals["plotly_style_ids"] = plotly_style_ids
    return made


def amount(value: float) -> str:
    return f"{value:.4g}"


def cell(value: Any) -> str:
    """Return a cell of a table as people read it: files have all of its digits."""
    if value is None:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def figure_json(figure: dict[str, Any]) -> Markup:
    text = json.dumps(figure, allow_nan=False, separators=(",", ":"))
    return Markup(text.translate(_ESCAPES))  # noqa: S704 - nothing in it can end its element


def identity_of(request: Request) -> Identity:
    """Return who is asking; the route's guard has admitted them."""
    found = request.state.identity
    assert isinstance(found, Identity)
    return found


def render(request: Request, template: str, /, *, status: int = 200, **values: Any) -> Response:
    identity = identity_of(request)
    if identity.flash:
        with service_of(request).store.changing() as db:
            set_flash(db, identity.cookie, [])
    text = _filled(template, request, identity, flashes=identity.flash, **values)
    return HTMLResponse(text, status_code=status)


def _filled(template: str, request: Request, identity: Identity, **values: Any) -> str:
    common = {
        "role": identity.role,
        "side": side_of(identity.role),
        "home": home_of(identity.role),
        "who": identity.who,
        "csrf": identity.csrf,
        "path": request.url.path,
    }
    text = environment().get_template(template).render({**common, **values})
    return without_server_paths(text, service_of(request).settings)


def render_part(request: Request, template: str, /, **values: Any) -> Response:
    """Return a part of a page, for a script that puts it in its place."""
    identity = identity_of(request)
    text = environment().get_template(template).render({"csrf": identity.csrf, **values})
    return HTMLResponse(without_server_paths(text, service_of(request).settings))


def redirect(request: Request, path: str, *, message: str = "", kind: str = "good") -> Response:
    assert path.startswith("/")
    assert not path.startswith("//")
    assert kind in NOTICE_KINDS
    if message:
        with service_of(request).store.changing() as db:
            set_flash(db, identity_of(request).cookie, [(kind, message)])
    return RedirectResponse(path, status_code=303)


async def problem_response(request: Request, error: Exception) -> Response:
    problem = as_problem(error)
    problem.detail = without_server_paths(problem.detail, service_of(request).settings)
    if request.url.path.startswith(API):
        return JSONResponse(
            problem.to_dict(),
            status_code=problem.status_code,
            headers=problem.headers,
            media_type=MEDIA_TYPE,
        )
    return problem_page(request, problem)


def problem_page(request: Request, problem: Problem) -> Response:
    identity = getattr(request.state, "identity", None) or guest_of(request)
    text = _filled("problem.html", request, identity, flashes=(), problem=problem)
    response = HTMLResponse(text, status_code=problem.status_code, headers=problem.headers)
    if identity.role == GUEST and identity.fresh:
        set_cookie(request, response, GUEST, identity.cookie)
    return response


def literal(text: str) -> str:
    """Return a text that plotly shows as it is."""
    # Plotly reads tags (`<b>`, `<br>`, `<a href>`) and entities in every text that it draws: names
    # of traces, categories, tick labels, hover texts. No tag is left in what is returned, and
    # plotly shows the entities as the characters that they stand for. In templates of hover texts a
    # name must come through `customdata`, `text` or an axis: `%{` would be read there.
    return str(escape(text))
