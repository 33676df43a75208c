from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright
from service_makers import Running, add_dataset, quick_settings, running

# The ledger's tests start a PostgreSQL server; it is the same here.
sys.path.append(str(Path(__file__).parents[1] / "ledger"))
_SPEC = importlib.util.spec_from_file_location(
    "ledger_conftest", Path(__file__).parents[1] / "ledger" / "conftest.py"
)
_LEDGER = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_LEDGER)
server, database, marks_apart = _LEDGER.server, _LEDGER.database, _LEDGER.marks_apart


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start the browser of Debian's package."""
    chromium = Path("/usr/bin/chromium")
    if not chromium.exists() and "CI" not in os.environ:
        pytest.skip("there is no browser here: apt-get install chromium")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--enable-unsafe-swiftshader"]
        )
        yield found
        found.close()


@pytest.fixture(scope="module")
def quick_hashes() -> Iterator[None]:
    """Let passwords be hashed quickly where many people sign in; a hash says how it was made."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sunveil.service.passwords_and_tokens.COST", 2**4)
        yield


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Return what starts services, which end with the test."""
    started: list[Running] = []

    def one(folder: Path | None = None, **changes: Any) -> Running:
        started.append(running(quick_settings(folder or tmp_path / "data", **changes)))
        return started[-1]

    yield one
    for each in started:
        each.stop()


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Running]]:
    """Return what starts services that several tests of a file use."""
    started: list[Running] = []

    def one(**changes: Any) -> Running:
        folder = tmp_path_factory.mktemp("service")
        started.append(running(quick_settings(folder, **changes)))
        return started[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("marks")))
        yield one
        for each in started:
            each.stop()


@pytest.fixture(scope="module")
def shared(start: Callable[..., Running]) -> Running:
    """Return a service for tests that leave its budget alone."""
    found = start()
    add_dataset(found.service, epsilon=500.0)
    return found


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request: pytest.FixtureRequest) -> str:
    """Return what names each kind of database: nothing, or an empty one of PostgreSQL."""
    return "" if request.param == "sqlite" else str(request.getfixturevalue("database"))


@pytest.fixture
def served(serve: Callable[..., Running]) -> Running:
    """Return a service with a dataset, of its own."""
    found = serve()
    add_dataset(found.service)
    return found
