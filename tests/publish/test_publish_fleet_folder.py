from __future__ import annotations

import json
import shutil

import numpy as np
import pandas as pd
import pytest

from sunveil.errors import SourceError
from sunveil.estimates.read_write import read_fleet
from sunveil.inference import infer_fleet
from sunveil.ledger import Ledger, Promise
from sunveil.ledger.hash_chain import HighWaterMarks
from sunveil.privacy import System
from sunveil.publication.published_tables import Bins
from sunveil.publish.fleet_tables import FleetTables, TableChoices
from sunveil.publish.publisher import Publisher
from sunveil.publish.synthetic_table import SyntheticTable
from sunveil.simulate import PLAIN_FLEET, FleetSpec, write_fleet
from sunveil.simulate.places import default_places


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    """A run over sixty simulated systems in three cells, two of which have no readings."""
    root = tmp_path_factory.mktemp("sixty")
    order = FleetSpec.of(60, places=default_places()[:3], cells=3, rates=PLAIN_FLEET)
    for _ in write_fleet(root / "fleet", order):
        pass
    table = pd.read_parquet(root / "fleet" / "systems.parquet")
    more = table.iloc[:2].assign(system_id=["ghost-1", "ghost-2"])
    pd.concat([table, more]).to_parquet(root / "systems.parquet", index=False)
    infer_fleet(root / "fleet" / "readings", root / "systems.parquet", root / "out")
    return root / "out"


def test_the_folder_of_a_run_is_a_fleet_in_which_refused_systems_stay(run):
    rows = read_fleet(run, keys=["feeder"])
    assert len(rows) == 62
    unknown = np.isnan(rows.surface_azimuth)
    assert {"ghost-1", "ghost-2"} <= set(np.asarray(rows.system_ids)[unknown])
    assert 50 <= np.count_nonzero(~unknown) <= 60
    table = pd.read_parquet(run.parent / "systems.parquet").set_index("system_id")["feeder"]
    assert rows.keys["feeder"].tolist() == table[list(rows.system_ids)].tolist()


def test_tables_of_a_folder_are_published_for_all_systems_that_the_table_names(run, tmp_path):
    rows = read_fleet(run)
    with Ledger(tmp_path / "l.db", create=True, marks=HighWaterMarks(tmp_path / "mark")) as ledger:
        ledger.create_dataset("d", Promise(System(), 50.0))
        choices = TableChoices(bins=Bins(), epsilon=40.0)
        found = Publisher(ledger, "d").publish(FleetTables(choices, rows))
        assert Publisher(ledger, "d").plan(SyntheticTable(1.0, size=len(rows))).remaining == 10.0
    counts = next(table for table in found.tables if table.name == "counts")
    assert abs(sum(counts.column("systems")) - 62) <= 10


def test_a_key_that_the_table_of_systems_lacks_is_named(run):
    with pytest.raises(SourceError, match="substation"):
        read_fleet(run, keys=["substation"])


def test_a_run_that_is_not_over_is_refused_in_one_sentence(run, tmp_path):
    stopped = tmp_path / "out"
    shutil.copytree(run, stopped)
    (stopped / "summary.json").unlink()
    with pytest.raises(SourceError, match="start the same command again") as refused:
        read_fleet(stopped)
    assert "\n" not in str(refused.value)
    with pytest.raises(SourceError, match="is not what sunveil infer"):
        read_fleet(tmp_path)


def test_nothing_that_was_inferred_is_told_by_an_error(run, tmp_path):
    torn = tmp_path / "out"
    shutil.copytree(run, torn)
    part = next((torn / "estimates").glob("*.parquet"))
    part.write_bytes(part.read_bytes()[:-20])
    with pytest.raises(SourceError, match="cannot be read") as refused:
        read_fleet(torn)
    summary = json.loads((run / "summary.json").read_text())
    assert str(summary["total_dc_capacity_kw"]) not in str(refused.value)
