"""What was compiled once is loaded by later processes, without the compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sunveil import kept
from sunveil.jit import compiled

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


@compiled
def both(values):
    return inner(values), values + 1.0


@compiled
def first_of(pair):
    return pair.values[0] if pair.there else pair.other[1]


@compiled
def busy(values, rounds):
    for k in range(rounds):
        values[k % len(values)] = np.sqrt(values[(k + 1) % len(values)] + k)
"""
# What each call gave, and whether the compiler was loaded for it.
RUN = """
import sys

import numpy as np

import loops

values = np.array([4.0, 1.0, 9.0])
for name, kind in [each.split(":") for each in sys.argv[1:]]:
    print(float(getattr(loops, name)(values.astype(kind))))
print("numba" in sys.modules)
"""
# Mean and root of each tail of 4, 1, 9.
INNER, OUTER = 14 / 3 + 2.0, 14 / 3 + 2.0 + 5.0 + 1.0 + 9.0 + 3.0


@pytest.fixture
def python(tmp_path):
    (tmp_path / "loops.py").write_text(LOOPS)
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path / "kept"),
        "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }

    def run(code: str, *arguments: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            env=environment,
            cwd=Path(tmp_path),
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return run


@pytest.fixture
def run(python):
    def run(*calls: str) -> tuple[list[float], bool]:
        *values, loaded = python(RUN, *calls)
        return [float(value) for value in values], loaded == "True"

    return run


def test_a_function_is_compiled_once_and_then_loaded_without_the_compiler(run):
    assert run("outer:f8") == ([pytest.approx(OUTER)], True)
    assert run("outer:f8") == ([pytest.approx(OUTER)], False)


def test_the_process_that_compiles_runs_what_is_kept(tmp_path, monkeypatch):
    loaded = []

    def load(path):
        loaded.append(path)
        return real(path)

    real = kept.load
    monkeypatch.setattr(kept, "load", load)
    path = tmp_path / "total.code"
    total = compiled(_total)._compiled(path, (np.ones(3),))
    assert loaded == [path]
    assert total(np.ones(3)) == 6.0
    assert total.__doc__ == "compiled _total"


def test_what_was_loaded_can_be_compiled_into_others(run):
    run("inner:f8", "inner:f4")
    assert run("inner:f8", "inner:f4") == (pytest.approx([INNER, INNER], rel=1e-5), False)
    # inner is loaded and used, then compiled into outer
    assert run("inner:f8", "outer:f8") == (pytest.approx([INNER, OUTER]), True)
    assert run("outer:f4") == ([pytest.approx(OUTER, rel=1e-5)], True)
    assert run("outer:f8", "outer:f4") == (pytest.approx([OUTER, OUTER], rel=1e-5), False)


def test_a_loaded_function_raises_what_the_compiled_one_did(run, tmp_path):
    code = LOOPS.replace("values[k:]", "values[k + 1 :]")
    (tmp_path / "loops.py").write_text(code)
    for _ in range(2):
        with pytest.raises(AssertionError, match="ValueError: nothing to add"):
            run("outer:f8")


@pytest.mark.parametrize("damage", [b"", b"{}\n", b'{"name": "outer", "size": 3}\nxyz'])
def test_a_damaged_file_is_compiled_anew(run, tmp_path, damage):
    run("outer:f8")
    (file,) = (tmp_path / "kept").rglob("outer-*.code")
    whole = file.read_bytes()
    for broken in (damage, whole[:-100]):
        file.write_bytes(broken)
        assert run("outer:f8") == ([pytest.approx(OUTER)], True)
        assert file.read_bytes() != broken
        assert run("outer:f8") == ([pytest.approx(OUTER)], False)


def test_nothing_is_kept_where_no_folder_can_be(run, tmp_path):
    (tmp_path / "kept").write_text("a file")
    for _ in range(2):
        assert run("outer:f8") == ([pytest.approx(OUTER)], True)


def _total(values):
    return 2.0 * values.sum()


def test_code_that_cannot_be_written_is_used_all_the_same(tmp_path):
    values = np.ones(3)
    total = compiled(_total)._compiled(tmp_path / "missing" / "total.code", (values,))
    assert total(values) == 6.0


def test_every_layout_of_arguments_gets_its_own_code(python):
    code = """
import numpy as np
from collections import namedtuple
import loops
Pair = namedtuple("Pair", "values other there")
Riap = namedtuple("Riap", "other values there")
values = np.array([4.0, 1.0, 9.0, 16.0])
fixed = values.copy()
fixed.flags.writeable = False
for each in (values, values[::-1], values[::2], fixed, np.asarray(values, dtype="f4")):
    print(float(loops.inner(each)) == float(each.mean() + np.sqrt(each[0])))
one, two = np.array([1.0, 2.0]), np.array([3.0, 4.0])
print(loops.first_of(Pair(one, two, True)) == 1.0, loops.first_of(Pair(one, two, False)) == 4.0)
print(loops.first_of(Riap(one, two, True)) == 3.0)
print(all((loops.both(values)[1] == values + 1.0).tolist()))
"""
    for _ in range(2):
        assert python(code) == [*["True"] * 5, "True True", "True", "True"]


def test_other_threads_run_beside_a_loaded_function(python):
    code = """
import sys, threading
import numpy as np
import loops
values, steps = np.ones(7), 0
loops.busy(values, 10)
worker = threading.Thread(target=loops.busy, args=(values, 50_000_000))
worker.start()
while worker.is_alive():
    steps += 1
print("numba" in sys.modules, steps > 1000)
"""
    assert [python(code) for _ in range(2)] == [["True True"], ["False True"]]
