"""Progress bars, on terminals only."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TypeVar

Item = TypeVar("Item")


def progress(
    items: Iterable[Item], doing: str, *, total: int | None = None, unit: str = "system"
) -> Iterable[Item]:
    """Return the items, with a bar on stderr while they are taken if that is a terminal."""
    if not sys.stderr.isatty():
        return items
    from tqdm import tqdm

    return tqdm(items, desc=doing, total=total, unit=f" {unit}", leave=False, file=sys.stderr)
