from __future__ import annotations

import pytest
from fleet_folders import contents

from sunveil.fleet import FleetSettings, infer_fleet


@pytest.mark.parametrize("layout", ["files", "months", "lists"])
def test_one_worker_and_two_write_the_same_bytes(layout, layouts, systems_file, tmp_path):
    settings = FleetSettings(part_rows=1)
    for workers in (1, 2):
        out = tmp_path / str(workers)
        infer_fleet(layouts[layout], systems_file, out, settings=settings, workers=workers)
    assert contents(tmp_path / "1") == contents(tmp_path / "2")
