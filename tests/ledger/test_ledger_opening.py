from __future__ import annotations

import hashlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from ledger_makers import TWO, execute, question
from sqlalchemy import text

from sunveil.errors import LedgerError, MissingExtra, ReleaseNotFound
from sunveil.ledger import Ledger, ledger_database
from sunveil.ledger.ledger_database import open_engine, use_wal
from sunveil.ledger.move_ledger import move_ledger

CHILDREN = Path(__file__).with_name("ledger_children.py")


def fingerprint(folder):
    """Return every file below a folder with its content."""
    return {
        each: hashlib.sha256(each.read_bytes()).hexdigest()
        for each in sorted(folder.rglob("*"))
        # SQLite may leave its log behind, empty
        if each.is_file() and each.stat().st_size and not each.name.endswith("-shm")
    }


def test_a_missing_ledger_is_refused_and_not_made(tmp_path, database):
    for place in (tmp_path / "ledger.db", tmp_path / "nowhere" / "ledger.db", tmp_path, database):
        with pytest.raises(ReleaseNotFound, match="there is no ledger at"):
            Ledger(place)
    for place, said in (
        (tmp_path / "nowhere" / "ledger.db", "no such file"),
        (tmp_path, "is a directory"),
    ):
        with pytest.raises(LedgerError, match=said):
            Ledger(place, create=True)
    assert {each.name for each in tmp_path.iterdir()} <= {"state"}


@pytest.mark.parametrize("create", [True, False])
def test_a_file_that_is_no_ledger_is_left_as_it_is(tmp_path, create):
    text, other = tmp_path / "text.db", tmp_path / "other.db"
    text.write_text("azimuth,tilt\n180,20\n" * 100)
    with closing(sqlite3.connect(other)) as made, made:
        made.execute("CREATE TABLE datasets (id INTEGER)")
    for path, said in ((text, "the file is no ledger"), (other, "tables of something else")):
        before = path.read_bytes()
        with pytest.raises(LedgerError, match=said):
            Ledger(path, create=create)
        assert path.read_bytes() == before


def test_a_server_of_something_else_is_left_as_it_is(database):
    with psycopg.connect(database, autocommit=True) as other:
        other.execute("CREATE TABLE datasets (id INTEGER)")
        with pytest.raises(LedgerError, match="tables of something else"):
            Ledger(database, create=True)
        found = other.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")
        assert found.fetchone() == (1,)


@pytest.mark.parametrize("url", ["mysql://host/db", "nonsense://x", "postgresql://h:port/x"])
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(LedgerError, match="name a file, or a URL"):
        Ledger(url)


def test_a_password_is_never_shown_and_a_changed_one_finds_the_same_marks(database):
    secret = database.replace("postgres@", "postgres:geheim@")
    with Ledger(secret, create=True) as ledger:
        ledger.create_dataset("d", TWO)
        assert "geheim" not in repr(ledger)
    with Ledger(database.replace("postgres@", "postgres:new@")) as again:
        assert again.verify("d").holds
    nowhere = "postgresql://me:geheim@127.0.0.1:1/x"
    with pytest.raises(LedgerError, match=r"127\.0\.0\.1:1/x: its database refused") as raised:
        Ledger(nowhere, create=True)
    assert "geheim" not in str(raised.value)
    assert raised.value.__suppress_context__


def test_a_path_with_odd_letters_is_a_path_for_its_owner_alone(tmp_path):
    odd = tmp_path / "50% a?b#c é.db"
    with Ledger(odd, create=True) as ledger:
        ledger.create_dataset("d", TWO)
    for each in (odd, odd.with_name(odd.name + ".mark")):
        assert each.stat().st_mode & 0o077 == 0
    with Ledger(odd) as again:
        assert again.dataset("d").promise == TWO


OTHER_VERSIONS = [
    ["UPDATE sunveil_ledger SET version = 2"],
    ["DELETE FROM sunveil_ledger"],
    ["INSERT INTO sunveil_ledger VALUES (2)"],
    # as steps of schemas were kept once
    [
        "DROP TABLE sunveil_ledger",
        "CREATE TABLE sunveil_ledger (version_num VARCHAR(32))",
        "INSERT INTO sunveil_ledger VALUES ('0001')",
    ],
]


@pytest.mark.parametrize("changes", OTHER_VERSIONS)
def test_a_ledger_of_another_version_is_refused_and_left_as_it_is(ledger, where, tmp_path, changes):
    ledger.create_dataset("d", TWO)
    before = ledger.entries("d")
    execute(where, *changes)
    for create in (False, True):
        with pytest.raises(LedgerError, match="another version of Sunveil made the ledger"):
            Ledger(where, create=create)
    with pytest.raises(LedgerError, match="another version"):
        move_ledger(where, tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()
    assert ledger.entries("d") == before


def test_many_make_a_ledger_at_once_and_use_the_one(where):
    """Each of eight threads makes the ledger and a dataset of its own in it."""
    names = [f"d{number}" for number in range(8)]
    start = threading.Barrier(len(names))

    def make(name):
        start.wait()
        with Ledger(where, create=True) as made:
            made.create_dataset(name, TWO)

    with ThreadPoolExecutor(len(names)) as threads:
        list(threads.map(make, names))
    with Ledger(where) as made:
        assert sorted(made.names()) == names
        assert all(made.verify(name).holds for name in names)


@pytest.fixture
def reachable(monkeypatch):
    """Return a folder that any user can reach, with the marks in it too."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.parametrize("limit", ["read-only", "full"])
def test_a_disk_that_refuses_leaves_the_ledger_as_it_was(limit, reachable, open_ledger):
    ledger = open_ledger(reachable / "ledger.db")
    ledger.create_dataset("d", TWO)
    ledger.charge("d", question())
    ledger.close()
    before = fingerprint(reachable)
    command = [sys.executable, CHILDREN, "refused", reachable / "ledger.db", limit]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"LedgerUnavailable: the ledger [^\n]*(rights|disk)[^\n]*\n", done.stdout)
    assert fingerprint(reachable) == before
    for each in (reachable, *reachable.rglob("*")):
        each.chmod(0o700)
    ledger.charge("d", question(2, epsilon=0.5))
    assert ledger.verify("d").holds
    assert ledger.dataset("d").spent == 1.5


def test_a_mark_that_cannot_be_written_stops_the_charge(small, tmp_path, marks_apart):
    small.create_dataset("d", TWO)
    shutil.rmtree(marks_apart)
    marks_apart.write_text("a file where a folder should be")
    before = small.entries("d")
    with pytest.raises(LedgerError, match=r"the high-water mark .* cannot be"):
        small.charge("d", question())
    assert small.entries("d") == before
    assert small.dataset("d").spent == 0.0
    assert [each.name for each in tmp_path.iterdir() if each.name.endswith(".part")] == []


def test_a_missing_driver_is_said_with_its_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"needs psycopg.*'sunveil\[postgres\]'"):
        Ledger("postgresql://host/x")


@pytest.fixture
def impatient(monkeypatch):
    """Let nobody wait long for a lock."""
    monkeypatch.setattr(ledger_database, "LOCK_TIMEOUT_SECONDS", 0.02)


def test_a_new_file_that_others_hold_is_waited_for(path, monkeypatch):
    holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN EXCLUSIVE")
    with monkeypatch.context() as patch:  # SQLite itself waits for less
        patch.setattr(ledger_database, "LOCK_TIMEOUT_SECONDS", 0.02)
        engine = open_engine(path, create=True)
    release = threading.Timer(0.2, holder.rollback)
    release.start()
    use_wal(engine)
    release.join()
    assert holder.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    holder.close()
    engine.dispose()


def test_a_new_file_that_others_never_let_go_is_refused(path, impatient):
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        engine = open_engine(path, create=True)
        with pytest.raises(LedgerError, match="cannot be written"):
            use_wal(engine)
        engine.dispose()


def test_a_ledger_that_another_never_lets_go_is_refused(small, path, impatient):
    small.create_dataset("d", TWO)
    with closing(sqlite3.connect(path, isolation_level=None)) as holder, Ledger(path) as other:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="did not let go"):
            other.charge("d", question())
        assert other.dataset("d").spent == 0.0  # readers do not wait


def test_a_servers_own_defaults_do_not_weaken_a_charge(database):
    with psycopg.connect(database, autocommit=True) as admin:
        name = admin.info.dbname
        admin.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
        admin.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'")
    engine = open_engine(database)
    with engine.begin() as connection:
        asked = ("synchronous_commit", "transaction_isolation", "lock_timeout")
        found = [connection.execute(text(f"SHOW {each}")).scalar() for each in asked]
    engine.dispose()
    assert found == ["on", "read committed", "1min"]
