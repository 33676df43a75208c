"""From meters to a publication by the commands: what ``make lowest`` runs with old dependencies."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request

import numpy as np
import pyarrow.parquet as pq
import pytest

from sunveil.cli import main
from sunveil.ledger.ledger_database import open_engine
from sunveil.publish.fit_synthetic import Marginal, sample_model

LEDGER = ("--dataset", "d", "--epsilon", "1")


def done(*words) -> None:
    assert main([str(word) for word in words]) == 0


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """Return a folder with a simulated fleet, and what was inferred of it."""
    folder = tmp_path_factory.mktemp("lowest") / "fleet"
    done("simulate", "--systems", 6, "--cells", 1, "--no-faults", "--out", folder)
    systems = folder / "systems.parquet"
    done("infer", folder / "readings", "--systems", systems, "--out", folder / "inferred")
    return folder


def test_a_fleet_is_inferred(fleet):
    found = pq.read_table(fleet / "inferred" / "estimates").to_pylist()
    truth = {row["system_id"]: row for row in pq.read_table(fleet / "truth.parquet").to_pylist()}
    assert len(found) == len(truth) == 6
    for row in found:
        assert abs(row["surface_tilt"] - truth[row["system_id"]]["surface_tilt"]) < 5.0


def test_a_fleet_is_inferred_by_dask(fleet, tmp_path):
    words = ("infer", fleet / "readings", "--systems", fleet / "systems.parquet")
    done(*words, "--out", tmp_path / "out", "--engine", "dask", "--workers", 1)
    ours, theirs = (
        pq.read_table(folder / "estimates").to_pylist()
        for folder in (fleet / "inferred", tmp_path / "out")
    )
    assert ours == theirs


def test_the_demo_reports_and_publishes(tmp_path):
    done("demo", "--systems", 2, "--out", tmp_path / "demo")
    written = {path.name for path in (tmp_path / "demo" / "publication").iterdir()}
    assert {"README.md", "release-card.yaml", "datapackage.json", "systems.parquet"} <= written
    assert "data:image/svg+xml" in (tmp_path / "demo" / "report.html").read_text()
    done("ledger", "verify", "--ledger", tmp_path / "demo" / "ledger.db")


def test_a_file_is_inferred_and_released(tmp_path, clear_power, capsys):
    file = tmp_path / "meters.csv"
    clear_power(200.0, 30.0, days=60).to_csv(file, index_label="time")
    place = ("--latitude", 39.742, "--longitude", -105.1727, "--altitude", 1795)
    done("infer", file, *place, "--json")
    (found,) = json.loads(capsys.readouterr().out)
    assert abs(found["surface_azimuth"] - 200.0) < 3.0
    ledger = ("--ledger", tmp_path / "l.db")
    done("dataset", "create", "d", *ledger, "--protect", "days:1", "--epsilon", 2)
    done("release", file, *place, "--protect", "days:1", "--epsilon", 1, "--json")
    done("publish", "system", file, *place, *ledger, *LEDGER, "--protect", "days:1",
         "--out", tmp_path / "out")  # fmt: skip
    done("ledger", "verify", *ledger)


def test_tables_of_a_fleet_are_published(fleet, tmp_path):
    ledger = ("--ledger", tmp_path / "l.db")
    done("dataset", "create", "d", *ledger, "--protect", "system", "--epsilon", 2)
    done("publish", "fleet", fleet / "inferred", *ledger, *LEDGER, "--out", tmp_path / "out")
    assert (tmp_path / "out" / "map-of-planes.svg").exists()


def test_a_model_of_counts_is_sampled():
    counts = [Marginal((axis,), np.full(4, 5.0), 1.0) for axis in range(3)]
    assert sample_model(counts, 20, shape=(4, 4, 4)).shape == (3, 20)


def test_the_driver_of_postgresql_loads():
    assert open_engine("postgresql://nobody@127.0.0.1:1/none").dialect.driver == "psycopg"


def test_the_service_answers(tmp_path):
    command = [sys.executable, "-u", "-m", "sunveil", "serve", "--port", "0"]
    command += ["--data", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            said = "".join(process.stdout.readline() for _ in range(3))
            link = re.search(r"http://\S+/setup/\S+", said)[0]
            with urllib.request.urlopen(link, timeout=60.0) as answer:
                assert answer.status == 200
        finally:
            process.send_signal(signal.SIGINT)
