from __future__ import annotations

import re
from urllib.parse import unquote

import pytest
import schemathesis
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from schemathesis.generation import GenerationMode
from service_makers import add_dataset, csrf, key

from sunveil.service.app import create_app
from sunveil.service.guarded_routes import Audience, GuardedRoute, add_routers, public_router
from sunveil.service.settings import ServiceSettings
from sunveil.service.store.accounts import add_account, issue_token

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


# What only reads: fewer examples find what is wrong.
PLAIN = ("bundle", "suggestions")
MODES = {"as described": GenerationMode.POSITIVE, "against it": GenerationMode.NEGATIVE}


@pytest.fixture(scope="module")
def described(start):
    """Return a service with a release, its description, and a token of a local account."""
    found = start()
    add_dataset(found.service, epsilon=900.0)
    with found.service.store.changing() as connection:
        account = add_account(connection, "tess", role="analyst", analyst="ann")
        token = issue_token(connection, "ann", account_id=account.id).text
    question = {"kind": "totals", "epsilon": 1.0}
    release = found.client(token).post("/datasets/roofs/releases", json=question, headers=key())
    description = found.client().get("/api/v1/openapi.json").json()
    return found, schemathesis.openapi.from_dict(description), token, release.json()["id"]


@pytest.mark.parametrize("mode", MODES)
def test_whatever_is_sent_is_answered_as_described(described, mode):
    schema = described[1]
    for each in schema.get_all_operations():
        send(described, each.ok(), mode)


def send(described, operation, mode):
    """Send what fits an operation's description or does not, and hold the answers against it."""
    (running, _, token, release), label = described, operation.label
    known = {"dataset": "roofs", "release": release, "name": "totals.csv"}

    @settings(
        max_examples=12 if label.endswith(PLAIN) else 40,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=MODES[mode]), real=st.booleans())
    def check(case, real):
        # drawn by a process of its own, in seconds: it has a test of its own
        body = case.body if isinstance(case.body, dict) else {}
        assume(not (label.endswith("releases") and body.get("kind") == "synthetic"))
        if body.get("shares") and mode == "as described":
            # what is said in words alone: the tables that are bought have shares, and no others
            shares = dict.fromkeys(body.get("tables") or (), 1.0)
            case.body = {**body, "shares": shares or None}
        if real and mode == "as described":
            # what is put in by hand is held against its pattern as it stands, so not in quotes
            case.path_parameters = {
                name: known.get(name) or unquote(value)
                for name, value in case.path_parameters.items()
            }
        if mode == "as described":
            refused = case.call(base_url=running.base, timeout=180.0)
            assert refused.status_code == 401
            case.validate_response(refused)
        headers = {"Authorization": f"Bearer {token}"}
        # by itself it gives up after ten seconds, which a machine that does much else may take
        case.call_and_validate(base_url=running.base, headers=headers, timeout=180.0)

    check()
