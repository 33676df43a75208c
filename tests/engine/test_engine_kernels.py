"""An edit never runs stale code.

numba keeps what it compiled by the file that a function stands in: when that file changes, it
compiles anew. What a kernel takes from another file it would not notice. So a kernel takes nothing
from another file of this package: here, every compiled function of it is read for what it names.
"""

from __future__ import annotations

import ast
import builtins
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from engine_makers import point_of
from oracle import angle_between, best_plane, oracle_of

import sunveil
from sunveil.engine import Clock, InferOptions
from sunveil.engine.bright_envelope import profiles_of
from sunveil.engine.coarse_search import search
from sunveil.engine.final_fit import fit_finally
from sunveil.engine.power_model import CAPACITY
from sunveil.engine.shading import PreparedSky

PACKAGE = Path(sunveil.__file__).parent
# Modules whose own names compiled code may use: they do not change with an edit of the package.
OUTSIDE = {"numpy", "math"}
# What a constant may be made with beside numpy.
MAKING = {"float", "int", "len", "max", "min", "range", "round", "sum", "tuple"}
Function = ast.FunctionDef


def sources():
    """Return every file of the package that asks numba for something."""
    return [path for path in sorted(PACKAGE.rglob("*.py")) if _uses_numba(path)]


def _uses_numba(path):
    source = path.read_text(encoding="utf-8")
    # what does not even name it need not be parsed, by each worker that collects tests
    return "numba" in source and any(
        (isinstance(node, ast.Import) and any(a.name.startswith("numba") for a in node.names))
        or (isinstance(node, ast.ImportFrom) and (node.module or "").startswith("numba"))
        for node in ast.walk(ast.parse(source))
    )


class Module:
    """What the top of a file defines: what is imported, what is a function, what is a number."""

    def __init__(self, source: str) -> None:
        self.tree = ast.parse(source)
        self.imported: dict[str, str] = {}
        self.functions: dict[str, Function] = {}
        self.classes: set[str] = set()
        self.assigned: dict[str, ast.expr] = {}
        for node in self.tree.body:
            self._define(node)

    def _define(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Import):
            self.imported |= {a.asname or a.name.partition(".")[0]: a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            self.imported |= {a.asname or a.name: node.module or "" for a in node.names}
        elif isinstance(node, Function):
            self.functions[node.name] = node
        elif isinstance(node, ast.ClassDef):
            self.classes.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for name in {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}:
                self.assigned[name] = node.value

    def compiled(self) -> Iterator[Function]:
        """Yield the functions that numba compiles, by decorator or by a call in this file."""
        makers = {name for name, value in self.assigned.items() if _is_jit(value)}
        handed = {
            argument.id
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Call) and _names(node.func) & {"_compiled", "njit", *makers}
            for argument in node.args
            if isinstance(argument, ast.Name)
        }
        for name, function in self.functions.items():
            decorated = any(_is_jit(d) or _names(d) & makers for d in function.decorator_list)
            if decorated or name in handed:
                yield function

    def is_constant(self, name: str, seen: frozenset[str] = frozenset()) -> bool:
        """Whether a name of this file is made of literals of this file alone."""
        if name in seen or name not in self.assigned:
            return False
        value = self.assigned[name]
        return all(
            self.imported.get(each) in OUTSIDE or self.is_constant(each, seen | {name})
            for each in _names(value) - MAKING
        )


def _names(node):
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _is_jit(node):
    named = _names(node) | {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    return bool(named & {"njit", "jit", "vectorize", "guvectorize", "cfunc", "stencil"})


def _local(function):
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    stored = {
        node.id
        for statement in function.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    return stored | {each.arg for each in named}


def strangers(source):
    """Return what compiled functions of a file take from elsewhere, by function."""
    module = Module(source)
    own = {each.name for each in module.compiled()}
    out = {}
    for function in module.compiled():
        loaded = {name for statement in function.body for name in _names(statement)}
        loaded -= _local(function) | set(dir(builtins))
        wrong = {
            name
            for name in loaded
            if module.imported.get(name) not in OUTSIDE
            and name not in own
            and not module.is_constant(name)
        }
        if wrong:
            out[function.name] = wrong
    return out


def test_the_engines_kernels_are_among_those_that_are_read():
    names = {path.name for path in sources()}
    assert {"power_model.py", "bright_envelope.py", "coarse_search.py"} <= names
    assert {"first_and_last_light.py", "shading.py"} <= names
    assert {"clear_days.py", "one_or_two_planes.py", "tracker_model.py"} <= names
    model = Module((PACKAGE / "engine" / "power_model.py").read_text(encoding="utf-8"))
    compiled = {each.name for each in model.compiled()}
    assert {"fill_profiles", "_linearise", "refine", "inform", "_solve"} <= compiled
    assert len(names) > 6


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.name)
def test_compiled_code_takes_nothing_from_another_file(path):
    source = path.read_text(encoding="utf-8")
    assert list(Module(source).compiled())
    assert strangers(source) == {}


@pytest.mark.parametrize(
    ("line", "body", "stranger"),
    [
        ("from sunveil.engine.power_model import BLOCK", "return x * BLOCK", "BLOCK"),
        ("from sunveil.engine.power_model import _solve", "return _solve(x)", "_solve"),
        ("import sunveil.pv_model", "return x * sunveil.pv_model.LOWEST_SUN", "sunveil"),
        ("from sunveil.pv_model import LOWEST_SUN\nA = 2.0 * LOWEST_SUN", "return x * A", "A"),
        ("def helper(x):\n    return x", "return helper(x)", "helper"),
        ("A = open('numbers').read()\nB = A", "return B", "B"),
    ],
)
def test_what_would_run_stale_is_seen(line, body, stranger):
    source = f"import numpy as np\nfrom numba import njit\n{line}\n\n@njit\ndef f(x):\n    {body}\n"
    assert strangers(source) == {"f": {stranger}}


def test_what_a_file_says_itself_is_not_seen_as_strange():
    source = (
        "import math\nimport numpy as np\nfrom numba import njit\n"
        "kernel = njit(cache=True)\nA, B = 2.0, np.float32(3)\nC = A * B\n"
        "@kernel\ndef g(x):\n    return x + A\n"
        "@kernel\ndef f(x):\n    y = [len(x) for z in range(3)]\n    return g(x) * C + math.pi\n"
    )
    assert strangers(source) == {}
    assert {each.name for each in Module(source).compiled()} == {"f", "g"}


RUN = """
import importlib.util, numpy as np
spec = importlib.util.spec_from_file_location("copied", "copied.py")
copied = importlib.util.module_from_spec(spec)
spec.loader.exec_module(copied)
power, have = np.full((1, 64), 0.5, np.float32), np.ones((1, 64), np.float32)
model, kept, share = np.ones((1, 64), np.float32), np.empty((1, 64), np.float32), np.empty(1)
patch, skyline = np.zeros(64, np.int32), np.empty((1, 2), np.float32)
copied._leave_out(power, have, model, np.zeros(1, np.float32), patch, (3, 2),
                  np.array([0.72, 8.0, 0.9, 5.0]), kept, share, skyline)
print(share[0], sum(copied._leave_out.stats.cache_hits.values()))
"""


def test_an_edited_kernel_is_compiled_anew_and_an_unedited_one_is_not(tmp_path):
    copied = tmp_path / "copied.py"
    original = (PACKAGE / "engine" / "shading.py").read_text(encoding="utf-8")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept")}

    def run() -> tuple[float, int]:
        done = subprocess.run(
            [sys.executable, "-c", RUN],
            env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        share, hits = done.stdout.split()
        return float(share), int(hits)

    copied.write_text(original, encoding="utf-8")
    assert run() == (1.0, 0)
    assert run() == (1.0, 1)
    edited = original.replace("share[s] = lost /", "share[s] = 0.25 * lost /")
    assert edited != original
    copied.write_text(edited, encoding="utf-8")
    assert run() == (0.25, 0)


@pytest.fixture(scope="module")
def oracle(denver):
    return oracle_of(denver)


@pytest.mark.parametrize(
    ("azimuth", "tilt", "haze", "heat", "season"),
    [
        (180.0, 30.0, 0.0, 1.0, 0.0),
        (95.0, 12.0, -0.5, 1.2, 0.3),
        (300.0, 85.0, 0.5, 0.5, -0.4),
        (0.0, 0.0, 0.0, 1.25, 0.0),
        (200.0, 35.0, 0.25, 1.0, 0.0),
        (15.0, 45.0, 1.5, 1.6, 1.0),
        (240.0, 89.9, -2.0, 1.0, 0.0),
    ],
)
def test_the_compiled_model_is_the_plain_one(prepared, oracle, azimuth, tilt, haze, heat, season):
    point = point_of(azimuth, tilt, haze=haze, heat=heat, season=season)
    mine = profiles_of(prepared.sky.sheet, point[None], prepared.numbers)[0]
    theirs = oracle.power(point)
    np.testing.assert_allclose(mine[: len(theirs)], theirs, atol=1e-3)
    assert theirs.max() > 0.1
    # what is left of the last block is night
    assert (mine[len(theirs) :] == 0.0).all()


@pytest.fixture(scope="module")
def plain_fits(prepared, oracle, rows):
    return {
        place: best_plane(oracle, rows[place][prepared.slot].astype(np.float64))
        for place in (0, 2, 3)
    }


def test_search_and_final_fit_end_where_the_plain_fit_ends(denver, oracle, rows, plain_fits):
    """All of it: thinned searches, few steps, Newton's and Gauss's; nothing is shaded here."""
    prepared = PreparedSky(denver, InferOptions(clock=Clock.GIVEN))
    fit = fit_finally(search(rows, prepared), prepared)
    for place, plain in plain_fits.items():
        power = rows[place][prepared.slot].astype(np.float64)
        theirs = oracle.fit(power, plain, say=fit.kept[place, : len(power)])
        assert angle_between(fit.points[place], theirs) < 0.05
        assert fit.points[place, CAPACITY] == pytest.approx(theirs[CAPACITY], abs=0.002)
