from __future__ import annotations

import io
import json
import logging
import re
import shutil
import sys
import tarfile
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from curator_makers import write_fleet
from service_makers import (
    CLIENTS,
    PASSWORD,
    Load,
    add_dataset,
    key,
    new_curator,
    new_token,
    post,
    quick_settings,
    wait_for,
)
from sqlalchemy import event, select, text

from sunveil.cli import main
from sunveil.errors import LedgerConflict, LedgerError, LedgerUnavailable, SunveilError
from sunveil.ledger import Ledger
from sunveil.service import health_and_metrics
from sunveil.service.app import open_service
from sunveil.service.authentication import record_event
from sunveil.service.backup import back_up_service, restore_service
from sunveil.service.context import Metrics
from sunveil.service.curator.datasets import DatasetForm, add_folder
from sunveil.service.curator.inference import infer_now, job_id, jobs_of
from sunveil.service.page_rendering import without_server_paths
from sunveil.service.settings import ServiceSettings, parse_network
from sunveil.service.store.accounts import (
    begin_session,
    find_link,
    new_link,
    new_setup_secret,
    setup_digest,
    token_rows,
)
from sunveil.service.store.database import Session
from sunveil.service.store.datasets import change_served, find_served


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


def test_a_curator_is_told_of_a_file_without_where_the_server_keeps_it(served):
    settings = ServiceSettings(data=Path("/srv/cust & co/data"), database="/srv/ledger/sunveil.db")
    shown = without_server_paths(
        "/srv/cust & co/data/datasets/roofs/a.csv, /srv/cust &amp; co/data/b.csv and"
        " /srv/ledger/sunveil.db lack a column; see /curator/add",
        settings,
    )
    assert shown == "datasets/roofs/a.csv, b.csv and sunveil.db lack a column; see /curator/add"
    page, data = served.curator(), served.service.settings.data
    assert (data / "sunveil.db.mark").exists()
    (data / "sunveil.db.mark").write_text("changed by hand")
    shown = page.get("/curator/datasets/roofs/ledger").text
    assert "the high-water mark sunveil.db.mark is not as it was written" in shown
    refused = post(page, "/curator/datasets/roofs/analysts", analyst="bob", share="1")
    assert str(data) not in shown + refused.text


@pytest.fixture
def written(capsys):
    """Return what sets the logs up and returns what reads them; put them back as they were."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level

    def begin(*given, **named):
        root.handlers = []  # those of the tests are put back, and not closed
        health_and_metrics.set_up_logs(*given, **named)
        return lambda: capsys.readouterr().err

    yield begin
    root.handlers, root.level = before, level
    for name in (health_and_metrics.ACCESS, health_and_metrics.AUDIT):
        logging.getLogger(name).setLevel(logging.NOTSET)


def record_of(name, message, *given):
    return logging.LogRecord(name, logging.ERROR, "f", 1, message, given, None)


def test_a_log_cannot_be_flooded_and_says_how_much_is_missing():
    now, counts = [0.0], Metrics()
    measured = health_and_metrics.Measured(counts.left_out, clock=lambda: now[0])
    passed = [measured.filter(record_of("asyncio", "no file for %d", n)) for n in range(5000)]
    assert passed == [True] * 20 + [False] * 4980
    sample = "sunveil_log_lines_left_out_total"
    assert counts.registry.get_sample_value(sample, {"logger": "asyncio"}) == 4980
    assert measured.filter(record_of("asyncio", "another"))
    now[0] = 60.0
    later = record_of("asyncio", "no file for %d", 7)
    assert measured.filter(later)
    assert (
        health_and_metrics.TextLines()
        .format(later)
        .endswith("no file for 7 (… 4,980 more like this)")
    )
    assert json.loads(health_and_metrics.JsonLines().format(later))["more_like_this"] == 4980
    # many different lines are a flood too
    other = health_and_metrics.Measured()
    assert sum(other.filter(record_of("x", f"broken {number}")) for number in range(3000)) < 300


def test_lines_are_text_or_json_and_no_fact_can_break_out_of_them():
    record = logging.LogRecord("sunveil.audit", 20, "f", 1, "signed-in", None, None)
    record.facts = {"who": 'x" role="curator\n2026 forged', "count": 2}
    text = health_and_metrics.TextLines().format(record)
    assert text.endswith(r'who="x\" role=\"curator\n2026 forged" count=2')
    assert "\n" not in text
    found = json.loads(health_and_metrics.JsonLines().format(record))
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
    found = [
        (line["route"], line["status"])
        for line in lines
        if line["logger"] == health_and_metrics.ACCESS
    ]
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
    record_event(served.service, "token-issued", analyst="ann", token=None)
    served.client().get("/")
    logging.getLogger("asyncio").error("it broke\ntask: <Task exception=ValueError('3.4 kWh')>")
    lines = [json.loads(line) for line in said().splitlines()]
    names = ("who", "role", "action", "dataset")
    changed = [tuple(map(line.get, names)) for line in lines if line["message"] == "changed"]
    assert changed == [
        ("cora", "curator", "POST /curator/datasets/{name}/groups", "roofs"),
        ("ann", "analyst", "POST /api/v1/datasets/{dataset}/releases", "roofs"),
    ]
    (issued,) = [line for line in lines if line["message"] == "token-issued"]
    assert (issued["analyst"], "token" in issued) == ("ann", False)
    counted = served.client().get("/metrics").text
    assert 'sunveil_audit_events_total{event="token-issued"} 1.0' in counted
    # nothing of the objects that asyncio shows
    assert (lines[-1]["logger"], lines[-1]["message"]) == ("asyncio", "it broke")
    assert "3.4" not in str(lines)


def test_a_service_that_works_is_alive_and_ready_and_not_without_its_job_runner(served):
    client = served.client()
    assert client.get("/livez").text == "ok\n"
    for path in ("/readyz", "/healthz"):
        answer = client.get(path)
        assert (answer.status_code, answer.text) == (200, "ledger: ok\njob runner: ok\n")
        assert "set-cookie" not in answer.headers
    served.service.checks["job runner"] = lambda: False
    answer = client.get("/readyz")
    assert (answer.status_code, answer.text) == (503, "ledger: ok\njob runner: not ready\n")


QUESTION = {"kind": "totals", "epsilon": 0.5}
ASK = "/datasets/roofs/releases"


def test_a_backup_under_load_comes_back_with_every_charge_and_no_token(serve, tmp_path, where):
    other = _another(where) if where else ""
    running = serve(database=where)
    add_dataset(running.service, epsilon=100.0)
    new_curator(running.service)
    settings, token = running.service.settings, new_token(running.service)
    browser = running.curator()
    with running.service.store.changing() as connection:
        link = new_link(connection, "a")
        new_setup_secret(connection, "one")
    (settings.data / "own").mkdir()
    (settings.data / "own" / "meters.csv").write_text("kept as it is")
    with running.service.store.changing() as connection:
        change_served(connection, "roofs", meters="../../own/meters.csv")
    load = Load(running.base, token)
    load.start()
    wait_for(lambda: len(load.answers) >= 5)
    before = list(load.answers)
    out = tmp_path / "backup.tar"
    command = ["service", "backup", "--data", str(settings.data), "--out", str(out)]
    assert main([*command, *(["--database", where] if where else [])]) == 0
    more = len(load.answers) + 2 * CLIENTS
    wait_for(lambda: len(load.answers) >= more)
    load.finish()
    assert load.strange == []
    assert out.stat().st_mode & 0o077 == 0
    new = quick_settings(tmp_path / "new", database=other)
    command = ["service", "restore", str(out), "--data", str(new.data)]
    assert main([*command, *(["--database", other] if other else [])]) == 0
    with Ledger(new.where) as ledger:
        verdict = ledger.verify("roofs")
        assert verdict.holds, verdict.faults
        assert len(before) <= verdict.charges < len(load.answers)
    again = serve(new.data, database=other)
    assert again.client(token).get("/me").status_code == 401
    assert again.client(cookies=browser.cookies).get("/curator").status_code != 200
    api = again.api()
    assert all(api.get(f"/releases/{each}").status_code == 200 for each in before)
    assert api.post(ASK, json={"kind": "totals", "epsilon": 0.5}, headers=key()).status_code == 201
    with again.service.store.reading() as connection:
        assert connection.scalars(select(Session)).all() == []
        assert (find_link(connection, link), setup_digest(connection)) == (None, None)
        assert sum(row.revoked is None for row in token_rows(connection)) == 1
        meters = find_served(connection, "roofs")
    found = meters.path(again.service.settings.datasets) / str(meters.meters)
    assert found.resolve() == (new.data / "own" / "meters.csv").resolve()
    assert found.read_text() == "kept as it is"
    assert all(each.stat().st_mode & 0o077 == 0 for each in new.data.rglob("*"))


def _another(where):
    with psycopg.connect(where, autocommit=True) as connection:
        connection.execute("CREATE DATABASE another")
    return where.rpartition("/")[0] + "/another"


@pytest.fixture
def backed_up(tmp_path):
    """Return the settings of a service, its backup, and what asks a question of it."""
    settings = quick_settings(tmp_path / "data")
    service = open_service(settings)
    add_dataset(service)
    out = tmp_path / "backup.tar"
    back_up_service(settings, out)
    yield service, out
    service.close()


def test_a_backup_of_another_version_is_refused(backed_up, tmp_path):
    service, _ = backed_up
    with service.store.changing() as connection:
        connection.execute(text("UPDATE sunveil_ledger SET version = 2"))
    out = tmp_path / "other.tar"
    back_up_service(service.settings, out)
    elsewhere = quick_settings(tmp_path / "new")
    with pytest.raises(LedgerError, match="another version of Sunveil made the ledger"):
        restore_service(out, elsewhere)
    assert list(elsewhere.data.iterdir()) == []


def test_a_backup_behind_its_mark_is_refused_at_its_old_place_and_by_a_mark(backed_up, tmp_path):
    service, out = backed_up
    service.ledger.set_share("roofs", "bob", 1.0)
    mark = tmp_path / "kept-apart.mark"
    shutil.copy(service.settings.data / "sunveil.db.mark", mark)
    elsewhere = quick_settings(tmp_path / "new")
    with pytest.raises(LedgerConflict, match="older than what was spent of roofs"):
        restore_service(out, elsewhere, mark=mark)
    assert list(elsewhere.data.iterdir()) == []
    # at the same place, the mark in the user's own folder is found
    shutil.rmtree(service.settings.data)
    with pytest.raises(LedgerConflict, match="newest backup"):
        restore_service(out, service.settings)
    assert restore_service(out, elsewhere).verdicts[0].holds


def test_a_restore_overwrites_nothing_and_takes_no_damaged_backup(backed_up, tmp_path):
    service, out = backed_up
    with pytest.raises(SunveilError, match="not empty"):
        restore_service(out, service.settings)
    with pytest.raises(SunveilError, match="overwrites nothing"):
        back_up_service(service.settings, out)
    body = bytearray(out.read_bytes())
    with tarfile.open(out) as archive:
        inside = archive.getmembers()[0]
    body[inside.offset_data + inside.size // 2] ^= 1
    (tmp_path / "damaged.tar").write_bytes(body)
    (tmp_path / "short.tar").write_bytes(out.read_bytes()[: len(body) // 2])
    (tmp_path / "other.tar").write_text("something else")
    with tarfile.open(tmp_path / "outside.tar", "w") as archive:
        for name, text in (("data/../../evil", b"x"), ("manifest.json", b"{}")):
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text))
    for name in ("damaged.tar", "short.tar", "other.tar", "outside.tar"):
        with pytest.raises(SunveilError, match="no backup of a service, or it was damaged"):
            restore_service(tmp_path / name, quick_settings(tmp_path / "new"))
        assert list((tmp_path / "new").iterdir()) == []
    assert not (tmp_path / "evil").exists()


def test_a_folder_on_the_server_and_its_inference_go_on_in_the_new_folder(tmp_path):
    """The store names files from the data folder, and a job's command is made when it is run."""
    settings = quick_settings(tmp_path / "data")
    service = open_service(settings)
    write_fleet(settings.data / "utility", 3, days=40)
    form = DatasetForm("Roofs", "", {})
    add_folder(service, form, meters="utility/readings.parquet", systems="utility/systems.csv")
    jobs_of(service).start(
        job_id("roofs"), [sys.executable, "-c", "raise SystemExit(1)"], kind="infer", about="roofs"
    )
    wait_for(lambda: jobs_of(service).get(job_id("roofs")).state.over)
    out = tmp_path / "backup.tar"
    back_up_service(settings, out)
    service.close()
    shutil.rmtree(settings.data)
    new = quick_settings(tmp_path / "new")
    restore_service(out, new)
    with closing(open_service(new)) as moved:
        assert str(settings.data) not in (new.data / "sunveil.db").read_bytes().decode("latin-1")
        assert (infer_now(moved, "roofs").state, infer_now(moved, "roofs").systems) == ("ready", 3)


def test_a_service_goes_on_in_postgresql_with_its_tokens_releases_and_spending(serve, database):
    running = serve()
    add_dataset(running.service, epsilon=1.0)
    token = new_token(running.service)
    first = running.client(token).post(ASK, json=QUESTION, headers=key())
    assert first.status_code == 201
    settings = running.service.settings
    running.stop()
    assert main(["ledger", "move", "--ledger", settings.where, "--to", database]) == 0
    moved = serve(settings.data, database=database)
    api = moved.client(token)
    again = api.post(ASK, json=QUESTION, headers=key())
    assert (again.status_code, again.content) == (200, first.content)
    assert api.post(ASK, json={**QUESTION, "epsilon": 0.6}, headers=key()).status_code == 403
    assert api.post(ASK, json={**QUESTION, "epsilon": 0.4}, headers=key()).status_code == 201
    # the old database shows what there was, and charges nothing
    old = serve(settings.data)
    assert old.client(token).post(ASK, json=QUESTION, headers=key()).status_code == 200
    refused = old.client(token).post(ASK, json={**QUESTION, "epsilon": 0.1}, headers=key())
    assert refused.status_code == 503
