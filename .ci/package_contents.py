"""Refuse a wheel or an sdist that lacks what Sunveil needs, or brings what it must not."""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path

# Files beside the code that are read when it runs, and what a reader of the sdist needs.
NEEDED = (
    "sunveil/py.typed",
    "sunveil/plots/templates/report.html.j2",
    "sunveil/weather/normals.npz",
    "sunveil/releases/typical.json",
)
NEEDED_SOURCE = ("pyproject.toml", "README.md", "LICENSE", "tests/conftest.py")
UNWANTED = (".venv", "__pycache__", ".mypy_cache", ".hypothesis", "docs/_build")


def names_of(path: Path) -> list[str]:
    """Return the names of the files in a wheel or an sdist."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return wheel.namelist()
    with tarfile.open(path) as sdist:
        return [member.name.partition("/")[2] for member in sdist.getmembers()]


def faults(path: Path) -> list[str]:
    """Return what is wrong with a package, one line each."""
    names = names_of(path)
    wheel = path.suffix == ".whl"
    needed = NEEDED if wheel else (*(f"src/{each}" for each in NEEDED), *NEEDED_SOURCE)
    lacking = [f"{path.name} lacks {each}" for each in needed if each not in names]
    brought = [f"{path.name} brings {each}" for each in UNWANTED if any(each in n for n in names)]
    return lacking + brought


if __name__ == "__main__":
    found = [fault for path in sys.argv[1:] for fault in faults(Path(path))]
    if len(sys.argv) != 3 or found:
        sys.exit("\n".join(found) or "give one wheel and one sdist")
