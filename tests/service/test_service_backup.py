from __future__ import annotations

import io
import shutil
import sys
import tarfile
from contextlib import closing

import pytest
from curator_makers import write_fleet
from service_makers import (
    CLIENTS,
    Load,
    add_dataset,
    key,
    new_curator,
    new_token,
    quick_settings,
    wait_for,
)
from sqlalchemy import select, text

from sunveil.cli import main
from sunveil.errors import LedgerConflict, LedgerError, SunveilError
from sunveil.ledger import Ledger
from sunveil.service.app import open_service
from sunveil.service.backup import back_up_service, restore_service
from sunveil.service.curator.datasets import DatasetForm, add_folder
from sunveil.service.curator.inference import infer_now, job_id, jobs_of
from sunveil.service.store.accounts import token_rows
from sunveil.service.store.database import Session
from sunveil.service.store.datasets import change_served, find_served

QUESTION = {"kind": "totals", "epsilon": 0.5}
ASK = "/datasets/roofs/releases"


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_backup_under_load_comes_back_with_every_charge_and_no_token(
    serve, tmp_path, request, kind
):
    where, other = "", ""
    if kind == "postgresql":
        where = request.getfixturevalue("database")
        other = _another(where)
    running = serve(database=where)
    add_dataset(running.service, epsilon=100.0)
    new_curator(running.service)
    settings, token = running.service.settings, new_token(running.service)
    browser = running.curator()
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
        assert sum(row.revoked is None for row in token_rows(connection)) == 1
        meters = find_served(connection, "roofs")
    found = meters.path(again.service.settings.datasets) / str(meters.meters)
    assert found.resolve() == (new.data / "own" / "meters.csv").resolve()
    assert found.read_text() == "kept as it is"
    assert all(each.stat().st_mode & 0o077 == 0 for each in new.data.rglob("*"))


def _another(where):
    import psycopg

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
