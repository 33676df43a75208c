from __future__ import annotations

from urllib.parse import unquote

import pytest
import schemathesis
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from schemathesis.generation import GenerationMode
from service_makers import add_dataset, key

from sunveil.service.store.accounts import add_account, issue_token

OPERATIONS = (
    "GET /api/v1/me",
    "GET /api/v1/datasets",
    "GET /api/v1/datasets/{dataset}",
    "GET /api/v1/datasets/{dataset}/releases",
    "POST /api/v1/datasets/{dataset}/plans",
    "POST /api/v1/datasets/{dataset}/releases",
    "GET /api/v1/releases/{release}",
    "GET /api/v1/releases/{release}/files/{name}",
    "GET /api/v1/releases/{release}/bundle",
    "GET /api/v1/datasets/{dataset}/suggestions",
)
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


def test_the_list_of_operations_is_whole(described):
    _, schema, _, _ = described
    assert sorted(OPERATIONS) == sorted(each.ok().label for each in schema.get_all_operations())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("label", OPERATIONS)
def test_whatever_is_sent_is_answered_as_described(described, label, mode):
    running, schema, token, release = described
    (operation,) = [each.ok() for each in schema.get_all_operations() if each.ok().label == label]
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
        headers = {"Authorization": f"Bearer {token}"}
        # by itself it gives up after ten seconds, which a machine that does much else may take
        case.call_and_validate(base_url=running.base, headers=headers, timeout=180.0)

    check()


def test_without_a_token_everything_is_refused_as_described(described):
    running, schema, _, _ = described
    for each in schema.get_all_operations():
        operation = each.ok()

        @settings(max_examples=3, derandomize=True, database=None, deadline=None)
        @given(case=operation.as_strategy())
        def check(case):
            answer = case.call(base_url=running.base)
            assert answer.status_code == 401
            case.validate_response(answer)

        check()
