from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from fleet_folders import PLANES, long_frame, write_layouts, write_systems


@pytest.fixture(scope="session")
def readings(clear_power: Callable[..., pd.Series]) -> pd.DataFrame:
    """Return the readings of six systems, in long form."""
    return long_frame({name: clear_power(*plane) for name, plane in PLANES.items()})


@pytest.fixture(scope="session")
def layouts(readings: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_layouts(tmp_path_factory.mktemp("layouts"), readings)


@pytest.fixture(scope="session")
def systems_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_systems(tmp_path_factory.mktemp("systems") / "systems.csv")
