"""What runs where there is no Unix: everything but the service."""

from __future__ import annotations

import subprocess
import sys

# Modules and functions that Windows lacks.
WITHOUT = """
import os, signal, sys
import duckdb, filelock, numba, pandas, pvlib, pyarrow, scipy.optimize, sqlalchemy, tqdm
import h5py, openpyxl, opendp.prelude, requests, matplotlib.pyplot, multiprocessing.util
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None
for owner, name in (
    (os, "fork"), (os, "getuid"), (os, "killpg"), (os, "sysconf"), (os, "sched_getaffinity"),
    (signal, "SIGKILL"), (signal, "SIGHUP"), (signal, "SIGALRM"), (signal, "pthread_sigmask"),
):
    delattr(owner, name)
"""
WORK = """
import importlib, pkgutil, warnings
from pathlib import Path
import sunveil
for module in pkgutil.walk_packages(sunveil.__path__, "sunveil."):
    if not {"service", "__main__"} & set(module.name.split(".")):
        importlib.import_module(module.name)
from sunveil.cli import main
from sunveil.ledger.ledger import Ledger
from sunveil.ledger.promises import Promise, Question
from sunveil.privacy.guarantees import Guarantee
from sunveil.privacy.guarantees import System
os.chdir(sys.argv[1])
simulate = "simulate --systems 2 --out fleet".split()
assert main(simulate) == 0
infer = "infer fleet/readings --systems fleet/systems.parquet --out out --workers 1".split()
assert main(infer) == 0
with Ledger("ledger.db", create=True) as ledger:
    ledger.create_dataset("d", Promise(System(), 1.0))
    asked = Question("k", {}, "m", Guarantee(System(), 0.5, 0.0, "p"))
    assert ledger.ask("d", asked, lambda: 1).value == 1
print("done")
"""


def test_everything_but_the_service_runs_without_what_unix_alone_has(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT + WORK, tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.endswith("done\n"), done.stderr
