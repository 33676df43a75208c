from __future__ import annotations

import json
import subprocess
import sys

import pytest

from sunveil import example_publication
from sunveil.publication import write_publication

FORBIDDEN = ("meters", "fleet", "estimates", "engine", "inference", "releases", "publish", "ledger")
COMPUTE = """
import sunveil
site = sunveil.Site(39.74, -105.17)
day = sunveil.fleet_power(sys.argv[1], site, start="2023-06-21", end="2023-06-22", draws=20)
assert day.power_kw.max() > 0.0
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    target = tmp_path_factory.mktemp("power") / "published"
    write_publication(target, example_publication.example_tables(60))
    return target


@pytest.mark.parametrize("steps", ["import sunveil.power", COMPUTE])
def test_power_loads_publications_alone(folder, steps):
    program = f"import json, sys\n{steps}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)], capture_output=True, text=True, check=True
    )
    loaded = json.loads(done.stdout)
    private = [name for name in loaded if name.split(".")[:1] == ["sunveil"] and
               name.split(".")[1:2] and name.split(".")[1] in FORBIDDEN]  # fmt: skip
    assert private == []
    assert not {"numba", "sqlalchemy", "opendp", "matplotlib"} & set(loaded)
    assert "sunveil.power" in loaded
