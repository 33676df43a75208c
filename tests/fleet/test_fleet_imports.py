from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import sys
from pathlib import Path

import numba  # looks which scipy there is

before = {name for name in sys.modules if name.startswith("scipy")}
from sunveil.fleet import infer_fleet

infer_fleet(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), workers=1)
print(*(name for name in sys.modules if name not in before))
"""


@pytest.mark.parametrize("layout", ["files", "months", "lists"])
def test_a_whole_run_under_clear_skies_loads_nothing_heavy(
    layout: str, layouts: dict[str, Path], systems_file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-c", CODE, str(layouts[layout]), str(systems_file), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert list((out / "estimates").glob("*.parquet"))
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not {"matplotlib", "pandas", "pvlib", "requests", "scipy"} & loaded
    assert {"numba", "pyarrow", "sunveil"} <= loaded
