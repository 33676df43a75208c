from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest
from postgres_server import PROGRAMS, postgres_server

from sunveil.ledger import Ledger

NUMBERS = count()


@pytest.fixture(autouse=True)
def marks_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep high-water marks out of the user's own state folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """Start a PostgreSQL server from Debian's package, and return its URL."""
    if not any(PROGRAMS.glob("*/bin")) and "CI" not in os.environ:
        pytest.skip("there is no PostgreSQL here: apt-get install postgresql")
    with postgres_server(os.environ.get("PYTEST_DEBUG_TEMPROOT")) as url:
        yield url


@pytest.fixture
def database(server: str) -> str:
    """Return the URL of an empty database."""
    number = next(NUMBERS)
    name = f"test{number}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        # hundreds of them would fill the memory, and take minutes to remove from a busy disk
        if number:
            connection.execute(f"DROP DATABASE IF EXISTS test{number - 1} WITH (FORCE)")
        connection.execute(f"CREATE DATABASE {name}")
    return f"{server}/{name}"


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return where a new ledger may be, in each kind of database."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    return str(request.getfixturevalue("database"))


@pytest.fixture
def open_ledger() -> Iterator[Callable[..., Ledger]]:
    """Return what opens ledgers, which are closed at the end."""
    opened: list[Ledger] = []

    def make(where: str | Path, *, create: bool = True) -> Ledger:
        opened.append(Ledger(where, create=create))
        return opened[-1]

    yield make
    for ledger in opened:
        ledger.close()


@pytest.fixture
def ledger(where: str, open_ledger: Callable[..., Ledger]) -> Ledger:
    return open_ledger(where)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def small(path: Path, open_ledger: Callable[..., Ledger]) -> Ledger:
    """Return a ledger in SQLite."""
    return open_ledger(path)
