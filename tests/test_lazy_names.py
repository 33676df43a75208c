"""Names of packages are loaded when asked for, and what is imported first stays light."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import sunveil

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
