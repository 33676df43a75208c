from __future__ import annotations

import pytest

from sunveil.cli import main
from sunveil.endtoend.cells import THREE, meter_cells
from sunveil.endtoend.workplace import open_workplace


@pytest.fixture(scope="session")
def five_days():
    """Return three systems over five days."""
    return meter_cells(THREE, days=5)


@pytest.fixture(scope="session")
def feed():
    """Return the same in whole Wh."""
    return meter_cells(THREE, days=5, scale=1000.0, digits=0)


@pytest.fixture(scope="module")
def place():
    """Return a folder of an audit's own."""
    with open_workplace(main) as made:
        yield made
