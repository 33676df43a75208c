"""Print the lowest versions that pyproject.toml allows, as constraints for pip.

The extras that people install are among them; those of contributors (test, check,
docs, package, peers) are pinned by ``constraints.txt`` and nothing else.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

CONTRIBUTORS = {"test", "check", "docs", "package", "peers"}
ROOT = Path(__file__).parents[1]


def lowest() -> list[str]:
    """Return a constraint for each package that Sunveil or one of its extras declares."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].items()
    declared = {each for name, needs in extras if name not in CONTRIBUTORS for each in needs}
    pins = set()
    for each in {*project["dependencies"], *declared}:
        if not each.startswith("sunveil["):
            name, version = re.match(r"([\w.-]+)(?:\[\w+\])?>=([\w.]+)", each).groups()
            pins.add(f"{name}=={version}")
    return sorted(pins)


if __name__ == "__main__":
    print(*lowest(), sep="\n")
