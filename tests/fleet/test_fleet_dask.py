from __future__ import annotations

import os
import signal
import sys

import distributed
import pytest
from fleet_folders import contents

from sunveil.errors import MissingExtra, ParameterError
from sunveil.inference import infer_fleet

SMALL = {"part_rows": 1}


@pytest.fixture(scope="module")
def local(layouts, systems_file, tmp_path_factory):
    out = tmp_path_factory.mktemp("local") / "out"
    infer_fleet(layouts["files"], systems_file, out, **SMALL)
    return out


def test_a_killed_worker_costs_its_part_and_no_more(layouts, systems_file, local, tmp_path):
    out = tmp_path / "out"
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        workers = list(client.run(os.getpid).values())
        killed = []

        def tell(progress):
            if not killed:
                os.kill(workers[0], signal.SIGKILL)
                killed.append(progress.done)

        given = {"engine": "dask", "scheduler": cluster.scheduler_address, "tell": tell}
        infer_fleet(layouts["files"], systems_file, out, **SMALL, **given)
        assert killed == [1]
    assert contents(out) == contents(local)


def test_a_cluster_of_its_own_gives_the_same_bytes(layouts, systems_file, local, tmp_path):
    out = tmp_path / "out"
    infer_fleet(layouts["files"], systems_file, out, **SMALL, engine="dask", workers=1)
    assert contents(out) == contents(local)


def test_without_dask_or_its_scheduler_the_engine_is_refused_with_the_remedy(
    layouts, systems_file, tmp_path, monkeypatch
):
    given = {"engine": "dask", "scheduler": "nonsense://nowhere"}
    with pytest.raises(ParameterError, match="no Dask scheduler at"):
        infer_fleet(layouts["file"], systems_file, tmp_path / "out", **given)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtra, match=r"pip install 'sunveil\[dask\]'"):
        infer_fleet(layouts["file"], systems_file, tmp_path / "out", engine="dask")
