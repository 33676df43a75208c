from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import sunveil.meters
import sunveil.weather


@pytest.mark.parametrize("package", [sunveil.meters, sunveil.weather])
def test_a_package_gives_the_names_it_tells_of(package: ModuleType) -> None:
    assert package.__file__ is not None
    tree = ast.parse(Path(package.__file__).read_text(encoding="utf-8"))
    (guarded,) = (node for node in tree.body if isinstance(node, ast.If))
    told = {a.name for n in guarded.body if isinstance(n, ast.ImportFrom) for a in n.names}
    assert told == set(package.__all__) <= set(dir(package))
    for name in package.__all__:
        assert not isinstance(getattr(package, name), ModuleType)
    with pytest.raises(AttributeError, match="nonesuch"):
        package.nonesuch  # noqa: B018


@pytest.mark.parametrize(
    "first",
    [
        "import sunveil.weather.clear_sky",
        "from sunveil.weather.clear_sky import clear_light",
        "from sunveil.weather import clearsky; import sunveil.weather.clear_sky",
    ],
)
def test_the_clear_sky_is_the_function_whatever_was_imported_before(first: str) -> None:
    code = f"{first}\nfrom sunveil.weather import clearsky\nprint(type(clearsky).__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "function\n"
