from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import sunveil

FIRST = (
    "import sunveil",
    "import sunveil.inference.infer",
    "from sunveil.estimates.inference_options import InferOptions",
    "from sunveil import infer_frame",
    "import sunveil; sunveil.infer; import sunveil.inference.infer",
    "import importlib; importlib.import_module('sunveil.inference.infer')",
)


def test_infer_is_the_function_whatever_was_imported_before():
    code = f"""
import importlib, sys
for first in {FIRST!r}:
    for name in [name for name in sys.modules if name.partition(".")[0] == "sunveil"]:
        del sys.modules[name]
    exec(first, {{}})
    import sunveil
    from sunveil import infer
    assert type(sunveil.infer) is type(infer) is type(lambda: 0), first
    assert sys.modules["sunveil.inference.infer"].infer is infer is sunveil.infer, first
print("seen", len({FIRST!r}))
"""
    done = subprocess.run(
        [sys.executable, "-W", "error::ImportWarning", "-c", code],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.stdout == f"seen {len(FIRST)}\n", done.stderr


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("import sunveil", {"numpy", "pandas", "pvlib", "scipy", "numba", "llvmlite"}),
        ("from sunveil.cli import main; main(['--help'])", {"pvlib", "numba", "llvmlite"}),
        ("from sunveil.cli import main; main(['infer', '--help'])", {"numba", "llvmlite"}),
    ],
)
def test_importing_the_package_or_asking_for_help_brings_nothing_heavy(code, heavy, tmp_path):
    code = f"""
import sys
try:
    {code}
except SystemExit:
    pass
print(*sys.modules, file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    brought = set(done.stderr.split())
    assert "sunveil" in brought
    assert not heavy & brought
    # nothing was compiled, nor kept
    assert list(tmp_path.rglob("*")) == []


ROOT = Path(sunveil.__file__).parent
LAZY = sorted(
    ".".join(path.parent.relative_to(ROOT.parent).parts)
    for path in ROOT.rglob("__init__.py")
    if "lazy_names(" in path.read_text(encoding="utf-8")
)
HEAVY = ("pandas", "pvlib", "numba", "duckdb", "matplotlib", "opendp")


@pytest.mark.parametrize("name", LAZY)
def test_a_package_offers_what_it_lists(name: str) -> None:
    package = importlib.import_module(name)
    assert package.__file__ is not None
    tree = ast.parse(Path(package.__file__).read_text(encoding="utf-8"))
    typed = {
        alias.name
        for guarded in tree.body
        if isinstance(guarded, ast.If) and ast.unparse(guarded.test) == "TYPE_CHECKING"
        for node in guarded.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert typed == set(package.__all__) - {"__version__"} <= set(dir(package))
    for each in package.__all__:
        assert not isinstance(getattr(package, each), ModuleType)
    with pytest.raises(AttributeError, match="nonesuch"):
        package.nonesuch  # noqa: B018


@pytest.mark.parametrize(
    "first",
    [
        *(f"import {name}" for name in LAZY),
        "from sunveil.cli import main",
        "import sunveil.service.app",
        "import sunveil.privacy.mechanisms",
    ],
)
def test_what_starts_first_stays_light(first: str) -> None:
    code = f"{first}\nimport sys\nprint(*[name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
