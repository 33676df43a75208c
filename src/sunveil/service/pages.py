"""Pages: templates, messages that are shown once, and figures."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from sunveil.service.assets import plotly_style_ids
from sunveil.service.browser_names import browser_name
from sunveil.service.context import service_of
from sunveil.service.identity import Identity, guest_of, set_cookie
from sunveil.service.problems import MEDIA_TYPE, Problem, as_problem, wants_json
from sunveil.service.roles import GUEST, home_of, side_of
from sunveil.service.shown_paths import without_server_paths
from sunveil.service.store.sessions import set_flash
from sunveil.service.wording import count_of

TEMPLATES = Path(__file__).parent / "templates"
KINDS = ("good", "bad", "note")
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
    """Return the environment of all pages; everything in them is escaped."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
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
    made.globals["plotly_style_ids"] = plotly_style_ids
    return made


def amount(value: float) -> str:
    """Return a number as people read it."""
    return f"{value:.4g}"


def cell(value: Any) -> str:
    """Return a cell of a table as people read it: files have all of its digits."""
    if value is None:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def figure_json(figure: dict[str, Any]) -> Markup:
    """Return a figure as JSON that may stand in a page."""
    text = json.dumps(figure, allow_nan=False, separators=(",", ":"))
    return Markup(text.translate(_ESCAPES))  # noqa: S704 - nothing in it can end its element


def identity_of(request: Request) -> Identity:
    """Return who is asking; the route's guard has admitted them."""
    found = request.state.identity
    assert isinstance(found, Identity)
    return found


def render(request: Request, template: str, /, *, status: int = 200, **values: Any) -> Response:
    """Return a page, with the messages that wait for this browser.

    Parameters
    ----------
    request
        What it answers.
    template
        Path below ``templates``.
    status
        HTTP status of the response.
    **values
        What the template is filled with.
    """
    identity = identity_of(request)
    if identity.flash:
        with service_of(request).store.changing() as connection:
            set_flash(connection, identity.cookie, [])
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
    """Return a part of a page, for a script that puts it in its place.

    Parameters
    ----------
    request
        What it answers.
    template
        Path below ``templates``.
    **values
        What the template is filled with.
    """
    identity = identity_of(request)
    text = environment().get_template(template).render({"csrf": identity.csrf, **values})
    return HTMLResponse(without_server_paths(text, service_of(request).settings))


def redirect(request: Request, path: str, *, message: str = "", kind: str = "good") -> Response:
    """Send a browser on to a page after a form, with a message for that page.

    Parameters
    ----------
    request
        What it answers.
    path
        Where to, on this host.
    message
        One sentence, shown once; none if empty.
    kind
        ``good``, ``bad`` or ``note``: how the message looks.
    """
    assert path.startswith("/")
    assert not path.startswith("//")
    assert kind in KINDS
    if message:
        with service_of(request).store.changing() as connection:
            set_flash(connection, identity_of(request).cookie, [(kind, message)])
    return RedirectResponse(path, status_code=303)


async def problem_response(request: Request, error: Exception) -> Response:
    """Return the response of a problem: JSON to programs, a page to people."""
    problem = as_problem(error)
    problem.detail = without_server_paths(problem.detail, service_of(request).settings)
    if wants_json(request):
        return JSONResponse(
            problem.to_dict(),
            status_code=problem.status_code,
            headers=problem.headers,
            media_type=MEDIA_TYPE,
        )
    return problem_page(request, problem)


def problem_page(request: Request, problem: Problem) -> Response:
    """Return the page of a problem."""
    identity = getattr(request.state, "identity", None) or guest_of(request)
    text = _filled("problem.html", request, identity, flashes=(), problem=problem)
    response = HTMLResponse(text, status_code=problem.status_code, headers=problem.headers)
    if identity.role == GUEST and identity.fresh:
        set_cookie(request, response, GUEST, identity.cookie)
    return response
