from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import sys
from pathlib import Path

from sunveil.fleet import infer_fleet

infer_fleet(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), workers=1)
print(*sys.modules)
"""

# What infers one system.
OF_ONE_SYSTEM = {
    "sunveil.fit.best",
    "sunveil.fit.clocks",
    "sunveil.fit.daylight",
    "sunveil.fit.intervals",
    "sunveil.fit.light",
    "sunveil.fit.planes",
    "sunveil.fit.refine",
    "sunveil.fit.shade",
    "sunveil.fit.start",
    "sunveil.infer",
    "sunveil.profiles",
    "sunveil.scores",
    "sunveil.search",
}


@pytest.mark.parametrize("layout", ["files", "months", "lists"])
def test_a_whole_run_under_clear_skies_loads_nothing_heavy(
    layout: str, layouts: dict[str, Path], systems_file: Path, tmp_path: Path
) -> None:
    # the first run compiles what no other test has called in this way
    for out in (tmp_path / "first", tmp_path / "second"):
        command = [sys.executable, "-c", CODE, str(layouts[layout]), str(systems_file), str(out)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        assert list((out / "estimates").glob("*.parquet"))
    loaded = set(done.stdout.split())
    assert ({"matplotlib", "numba"} | OF_ONE_SYSTEM) & loaded == set()
    assert {"llvmlite", "pyarrow", "sunveil"} <= loaded


PLAN = """
import sys
from pathlib import Path

from sunveil.fleet import FleetSettings
from sunveil.fleet.run import _opened

fleet, systems, out = map(Path, sys.argv[1:])
desk, plan = _opened(fleet, systems, out, FleetSettings(), server={}, workers=2)
print(len(plan.parts), *sys.modules)
"""


def test_a_fleet_is_planned_before_what_is_compiled_is_loaded(
    layouts: dict[str, Path], systems_file: Path, tmp_path: Path
) -> None:
    arguments = [str(layouts["files"]), str(systems_file), str(tmp_path / "out")]
    done = subprocess.run(
        [sys.executable, "-c", PLAN, *arguments], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    parts, *loaded = done.stdout.split()
    assert int(parts) >= 1
    heavy = {"numba", "sunveil.fit", "sunveil.infer", "sunveil.quick"}
    assert not heavy & set(loaded)
