from __future__ import annotations

import pytest

from audit.datasets import THREE, meter_cells
from audit.entries import open_workplace


@pytest.fixture(scope="session")
def five_days():
    """Return three systems over five days."""
    return meter_cells(THREE, days=5)


@pytest.fixture(scope="module")
def place():
    """Return a folder of an audit's own."""
    with open_workplace() as made:
        yield made
