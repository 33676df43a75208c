from __future__ import annotations

import re

import pytest
from service_makers import PASSWORD, key, new_curator, post
from sqlalchemy import event

from sunveil.errors import LedgerUnavailable
from sunveil.service import health_and_metrics
from sunveil.service.settings import parse_network
from sunveil.service.store.accounts import begin_session


def test_head_is_answered_as_get_without_a_body_on_every_page(shared):
    page, api = shared.analyst(), shared.api()
    seen = 0
    for route in shared.app.routes:
        if "GET" not in route.methods or "{" in route.path:
            continue
        client = api if route.path.startswith("/api") else page
        got, head = (
            client.get(f"{shared.base}{route.path}"),
            client.head(f"{shared.base}{route.path}"),
        )
        assert (head.status_code, head.content) == (got.status_code, b""), route.path
        assert head.headers["content-type"] == got.headers["content-type"]
        seen += 1
    assert seen > 8
    assert page.head("/analyst/logout").status_code == 405


def test_a_service_that_works_is_alive_and_ready(shared):
    client = shared.client()
    assert client.get("/livez").text == "ok\n"
    for path in ("/readyz", "/healthz"):
        answer = client.get(path)
        assert (answer.status_code, answer.text) == (200, "ledger: ok\njob runner: ok\n")
        assert "set-cookie" not in answer.headers


@pytest.fixture(params=["full", "read-only"])
def unwritable(request, served, monkeypatch):
    """Return a service whose database can be read and not be written any more."""
    monkeypatch.setattr(health_and_metrics, "BELIEVED_SECONDS", 0.0)
    new_curator(served.service)
    store = served.service.store
    with store.reading() as connection:
        pages = connection.connection().exec_driver_sql("PRAGMA page_count").scalar_one()
    limit = f"max_page_count = {pages}" if request.param == "full" else "query_only = ON"

    @event.listens_for(store.engine, "checkout")
    def spoil(connection, *_):
        connection.execute(f"PRAGMA {limit}")

    for size in (4000, 200, 1):  # until the pages that there are hold nothing more
        with pytest.raises(LedgerUnavailable):
            _add_sessions(store, "x" * size)
    return served


def _add_sessions(store, who):
    for _ in range(10_000):
        with store.changing() as connection:
            begin_session(connection, role="analyst", who=who, hours=1.0)


def test_what_cannot_be_written_is_answered_with_503_and_a_sentence(unwritable, caplog):
    client = unwritable.client()
    answer = client.get("/readyz")
    assert (answer.status_code, answer.text) == (503, "ledger: not ready\njob runner: ok\n")
    refused = post(client, "/curator/login", name="cora", password=PASSWORD)
    assert refused.status_code == 503
    assert "its disk may be full" in refused.text
    assert int(refused.headers["retry-after"]) > 0
    assert "the service cannot write: the" in caplog.text
    # what needs no writing goes on
    assert client.get("/livez").status_code == 200
    assert client.get("/api/v1/openapi.json").status_code in (200, 401)


def test_a_job_runner_that_ended_is_not_ready(served):
    served.service.checks["job runner"] = lambda: False
    answer = served.client().get("/readyz")
    assert (answer.status_code, answer.text) == (503, "ledger: ok\njob runner: not ready\n")


def test_metrics_count_requests_charges_and_budgets_and_name_nobody(served):
    api = served.api("ann")
    question = {"kind": "totals", "epsilon": 3.8, "group_by": "feeder"}
    assert api.post("/datasets/roofs/releases", json=question, headers=key()).status_code == 201
    served.client().get("/setup/" + "s" * 43)
    text = served.client().get("/metrics").text
    found = dict(re.findall(r"^(sunveil_\S+(?:\{.*\})?) (\S+)$", text, re.MULTILINE))
    assert found["sunveil_charges_total"] == "1.0"
    assert found['sunveil_datasets{left="less than a tenth"}'] == "1.0"
    assert found['sunveil_datasets{left="none"}'] == "0.0"
    asked = 'method="POST",route="/api/v1/datasets/{dataset}/releases",status="2xx"'
    assert found[f"sunveil_request_seconds_count{{{asked}}}"] == "1.0"
    assert 'route="/setup/{secret}"' in text
    for private in ("ann", "roofs", "sss", "secret-"):
        assert not re.search(rf"\b{private}", text.replace("/setup/{secret}", ""))


def test_metrics_are_for_addresses_that_may_have_them(serve):
    proxy = {"trusted_proxies": (parse_network("127.0.0.3"),), "address": "http://sunveil.example"}
    running = serve(**proxy)
    client = running.client()
    assert client.get("/metrics").status_code == 200
    for sign in ({"X-Forwarded-For": "127.0.0.1"}, {"Via": "1.1 proxy"}, {"Forwarded": "for=x"}):
        assert client.get("/metrics", headers=sign).status_code == 404
    elsewhere = serve(
        running.service.settings.data.parent / "other",
        metrics_from=(parse_network("192.0.2.0/24"),),
    )
    assert elsewhere.client().get("/metrics").status_code == 404
