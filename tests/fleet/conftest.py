from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from fleet_folders import PLANES, Inferred, inferred, long_frame, write_layouts, write_systems


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


@pytest.fixture
def run(systems_file: Path, tmp_path: Path) -> Callable[..., Inferred]:
    """Return what infers a fleet, or readings written as one file: estimates and refusals."""

    def infer(
        fleet: Path | pd.DataFrame, systems: Path = systems_file, **settings: Any
    ) -> Inferred:
        if isinstance(fleet, pd.DataFrame):
            fleet.to_parquet(tmp_path / "fleet.parquet", index=False)
            fleet = tmp_path / "fleet.parquet"
        return inferred(fleet, systems, tmp_path / "out", **settings)

    return infer
