from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest

from sunveil.cli import main
from sunveil.site import Site
from sunveil.weather import clearsky

PLACE = ("--latitude", "39.742", "--longitude", "-105.1727", "--altitude", "1795")
PLANES = {"east": (110.0, 25.0), "south": (180.0, 35.0), "west": (250.0, 20.0)}


@dataclass(frozen=True)
class Said:
    """What a command said, and how it ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def sunveil(capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """Return the command line, run in this process."""

    def run(*arguments: object) -> Said:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return Said(code, said.out, said.err)

    return run


@pytest.fixture(scope="session")
def place() -> tuple[str, ...]:
    return PLACE


@pytest.fixture(scope="session")
def planes() -> dict[str, tuple[float, float]]:
    return PLANES


@pytest.fixture(scope="session", name="write_long")
def _write_long() -> Callable[..., Path]:
    return write_long


def write_long(path: Path, systems: dict[str, pd.Series]) -> Path:
    """Write systems in long form, in UTC."""
    rows = [
        f"{name},{when:%Y-%m-%dT%H:%MZ},{value:.5f}"
        for name, power in systems.items()
        for when, value in power.items()
    ]
    path.write_text("\n".join(["system_id,time,power_kw", *rows]) + "\n")
    return path


@pytest.fixture(scope="session")
def three_roofs(clear_power: Callable[..., pd.Series]) -> dict[str, pd.Series]:
    return {name: clear_power(*plane) for name, plane in PLANES.items()}


@pytest.fixture(scope="session")
def three_systems(
    three_roofs: dict[str, pd.Series], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Return a long file of three systems."""
    return write_long(tmp_path_factory.mktemp("long") / "meters.csv", three_roofs)


@pytest.fixture(scope="session")
def one_system(three_roofs: dict[str, pd.Series], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_long(tmp_path_factory.mktemp("one") / "south.csv", {"south": three_roofs["south"]})


@pytest.fixture(scope="session")
def weather_file(
    golden_site: Site, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[int], Path]:
    """Return a maker of weather files of one year."""
    folder = tmp_path_factory.mktemp("weather")

    def make(year: int) -> Path:
        path = folder / f"sky{year}.csv"
        sky = clearsky(golden_site, f"{year}-01-01", f"{year + 1}-01-01", step_minutes=30)
        sky.to_frame().round(2).to_csv(path, index_label="time")
        return path

    return make
