from __future__ import annotations

import re

import pytest
from service_makers import csrf

from sunveil.service.app import create_app
from sunveil.service.guarded_routes import Audience, GuardedRoute, add_routers, public_router
from sunveil.service.settings import ServiceSettings

FILLED = {"secret": "x" * 43, "name": "roofs", "kind": "totals", "release": "0" * 32}


def fill(path: str) -> str:
    return re.sub(r"{(\w+)(?::\w+)?}", lambda found: FILLED.get(found[1], "roofs"), path)


def routes(app):
    return [(route, method) for route in app.routes for method in sorted(route.methods)]


def test_every_route_says_whom_it_is_for(shared):
    assert len(routes(shared.app)) > 20
    for route in shared.app.routes:
        assert isinstance(route, GuardedRoute), route.path
        assert route.audience in Audience
        beginning = route.path.split("/")[1]
        console = (Audience.CURATOR, Audience.CONSOLE)
        assert (beginning == "curator") == (
            route.audience in console or route.path == "/curator/login"
        )


def test_a_route_without_a_guard_is_refused_at_the_start(tmp_path):
    app = create_app(ServiceSettings(data=tmp_path))
    router = public_router()
    router.route_class = type(router).__init__.__kwdefaults__["route_class"]
    router.get("/open")(lambda: "anybody")
    with pytest.raises(TypeError, match="has no guard"):
        add_routers(app, router)
    app.state.service.close()


def test_no_analyst_gets_past_a_curators_guard(shared):
    token, page = shared.api(), shared.analyst()
    seen = 0
    for route, method in routes(shared.app):
        if route.audience not in (Audience.CURATOR, Audience.CONSOLE):
            continue
        path = fill(route.path)
        for answer in (
            token.request(method, f"{shared.base}{path}"),
            page.request(
                method, path, data={"csrf": csrf(page, "/analyst")} if method == "POST" else None
            ),
        ):
            assert answer.status_code in (403, 404), (method, path, answer.status_code)
        seen += 1
    assert seen >= 10


def test_nobody_gets_past_any_guard_but_the_public_ones(shared):
    stranger = shared.client()
    for route, method in routes(shared.app):
        if route.audience is Audience.PUBLIC:
            continue
        answer = stranger.request(method, fill(route.path))
        if answer.status_code == 303:
            assert method == "GET"
            side = "analyst" if route.audience is Audience.ANALYST else "curator"
            assert answer.headers["location"] == f"/{side}/login"
        else:
            assert answer.status_code == 401, (method, route.path)


def test_a_curator_is_no_analyst(shared):
    curator = shared.curator()
    assert curator.get("/analyst").headers["location"] == "/analyst/login"
    assert curator.get("/api/v1/me").status_code == 401


def test_every_address_for_programs_is_described_and_nothing_else_is(shared):
    description = shared.client().get("/api/v1/openapi.json").json()
    described = {
        (method.upper(), path)
        for path, methods in description["paths"].items()
        for method in methods
    }
    declared = {
        (method, route.path)
        for route, method in routes(shared.app)
        if route.path.startswith("/api/") and route.path != "/api/v1/openapi.json"
    }
    assert described == declared
