from __future__ import annotations

import json
import logging
import re

import pytest
from service_makers import PASSWORD, key, new_curator, post

from sunveil.service.authentication import record_event
from sunveil.service.context import Metrics
from sunveil.service.health_and_metrics import (
    ACCESS,
    AUDIT,
    JsonLines,
    Measured,
    TextLines,
    set_up_logs,
)


@pytest.fixture
def written(capsys):
    """Return what sets the logs up and returns what reads them; put them back as they were."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level

    def begin(*given, **named):
        root.handlers = []  # those of the tests are put back, and not closed
        set_up_logs(*given, **named)
        return lambda: capsys.readouterr().err

    yield begin
    root.handlers, root.level = before, level
    for name in (ACCESS, AUDIT):
        logging.getLogger(name).setLevel(logging.NOTSET)


def record_of(name, message, *given):
    return logging.LogRecord(name, logging.ERROR, "f", 1, message, given, None)


def test_a_log_cannot_be_flooded_and_says_how_much_is_missing():
    now = [0.0]
    counts = Metrics()
    measured = Measured(counts.left_out, clock=lambda: now[0])
    passed = [measured.filter(record_of("asyncio", "no file for %d", n)) for n in range(5000)]
    assert passed == [True] * 20 + [False] * 4980
    sample = "sunveil_log_lines_left_out_total"
    assert counts.registry.get_sample_value(sample, {"logger": "asyncio"}) == 4980
    assert measured.filter(record_of("asyncio", "another"))
    now[0] = 60.0
    later = record_of("asyncio", "no file for %d", 7)
    assert measured.filter(later)
    assert TextLines().format(later).endswith("no file for 7 (… 4,980 more like this)")
    assert json.loads(JsonLines().format(later))["more_like_this"] == 4980


def test_a_log_holds_nothing_of_the_objects_that_asyncio_shows(written):
    said = written()
    logging.getLogger("asyncio").error("it broke\ntask: <Task exception=ValueError('3.4 kWh')>")
    assert said().endswith("ERROR asyncio it broke\n")


def test_many_different_lines_are_a_flood_too():
    measured = Measured()
    passed = [measured.filter(record_of("x", f"broken {number}")) for number in range(3000)]
    assert sum(passed) < 300


def test_lines_are_text_or_json_and_no_fact_can_break_out_of_them():
    record = logging.LogRecord("sunveil.audit", 20, "f", 1, "signed-in", None, None)
    record.facts = {"who": 'x" role="curator\n2026 forged', "count": 2}
    text = TextLines().format(record)
    assert text.endswith(r'who="x\" role=\"curator\n2026 forged" count=2')
    assert "\n" not in text
    found = json.loads(JsonLines().format(record))
    assert (found["message"], found["who"]) == ("signed-in", record.facts["who"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00", found["time"])


def test_requests_are_logged_by_pattern_without_anything_secret(served, written):
    said = written("json", access=True)
    new_curator(served.service)
    page = served.client()
    post(page, "/curator/login", name="cora", password=PASSWORD)
    page.get("/curator?secret=query")
    page.get("/setup/" + "s" * 43)
    page.get("/nothing/here")
    page.get("/livez")
    text = said()
    lines = [json.loads(line) for line in text.splitlines()]
    found = [(line["route"], line["status"]) for line in lines if line["logger"] == ACCESS]
    assert found == [
        ("/curator/login", 200),
        ("/curator/login", 303),
        ("/curator", 200),
        ("/setup/{secret}", 404),
        ("unmatched", 404),
    ]
    assert {line["address"] for line in lines} == {"127.0.0.1"}
    assert [line["who"] for line in lines if line.get("route") == "/curator"] == ["cora"]
    for secret in (PASSWORD, "query", "sss", *page.cookies.values()):
        assert secret not in text


def test_whatever_is_changed_or_drawn_is_in_the_audit_log(served, written):
    said = written("json")
    curator, api = served.curator(), served.api()
    post(curator, "/curator/datasets/roofs/groups", page="/curator/datasets/roofs/promise")
    question = {"kind": "totals", "epsilon": 0.5}
    api.post("/datasets/roofs/plans", json=question)
    api.post("/datasets/roofs/releases", json=question, headers=key())
    lines = [json.loads(line) for line in said().splitlines()]
    assert [
        (line["who"], line["role"], line["action"], line["dataset"])
        for line in lines
        if line["message"] == "changed"
    ] == [
        ("cora", "curator", "POST /curator/datasets/{name}/groups", "roofs"),
        ("ann", "analyst", "POST /api/v1/datasets/{dataset}/releases", "roofs"),
    ]


def test_events_of_the_audit_log_say_what_and_by_whom(served, written):
    said = written("json")
    record_event(served.service, "token-issued", analyst="ann", token=None)
    served.client().get("/")
    (line,) = [json.loads(each) for each in said().splitlines()]
    assert (line["message"], line["analyst"], "token" in line) == ("token-issued", "ann", False)
    counted = served.client().get("/metrics").text
    assert 'sunveil_audit_events_total{event="token-issued"} 1.0' in counted
