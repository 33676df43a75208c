"""What was compiled once is loaded by later processes, and without what only compiling needs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

LOOPS = """
import numpy as np

from sunveil.jit import compiled, compiled_exactly


@compiled_exactly
def inner(values):
    if len(values) == 0:
        raise ValueError("nothing to add")
    return values.mean() + np.sqrt(values[0])


@compiled
def outer(values):
    total = 0.0
    for k in range(len(values)):
        total += inner(values[k:])
    return total
"""
# Which code ran, and whether numba was made ready to compile for it.
RUN = """
import sys

import numpy as np

import loops

values = np.array([4.0, 1.0, 9.0])
for name, kind in [each.split(":") for each in sys.argv[1:]]:
    print(float(getattr(loops, name)(values.astype(kind))))
hits = sum(sum(f.stats.cache_hits.values()) for f in (loops.inner, loops.outer))
print(hits, "numba.np.arraymath" in sys.modules)
"""
# Mean and root of each tail of 4, 1, 9.
INNER, OUTER = 14 / 3 + 2.0, 14 / 3 + 2.0 + 5.0 + 1.0 + 9.0 + 3.0


@pytest.fixture
def run(tmp_path):
    (tmp_path / "loops.py").write_text(LOOPS)
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path / "kept"),
        "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }

    def run(*calls: str) -> tuple[list[float], int, bool]:
        done = subprocess.run(
            [sys.executable, "-c", RUN, *calls],
            env=environment,
            cwd=Path(tmp_path),
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        *values, last = done.stdout.splitlines()
        hits, ready = last.split()
        return [float(value) for value in values], int(hits), ready == "True"

    return run


def test_a_function_is_compiled_once_and_then_loaded_alone(run):
    assert run("outer:f8") == ([pytest.approx(OUTER)], 0, True)
    assert run("outer:f8") == ([pytest.approx(OUTER)], 1, False)


def test_what_was_loaded_can_be_compiled_into_others(run):
    run("inner:f8", "inner:f4")
    # inner is loaded and used, then compiled into outer
    assert run("inner:f8", "outer:f8") == (pytest.approx([INNER, OUTER]), 1, True)
    # inner is first loaded on behalf of outer
    assert run("outer:f4") == ([pytest.approx(OUTER, rel=1e-5)], 1, True)
    # what was compiled from loaded functions is loaded in turn
    assert run("outer:f8", "outer:f4") == (pytest.approx([OUTER, OUTER], rel=1e-5), 2, False)


def test_a_loaded_function_raises_what_the_compiled_one_did(run, tmp_path):
    code = LOOPS.replace("values[k:]", "values[k + 1 :]")
    (tmp_path / "loops.py").write_text(code)
    for _ in range(2):
        with pytest.raises(AssertionError, match="ValueError: nothing to add"):
            run("outer:f8")
