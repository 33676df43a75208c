"""Progress bars: on terminals and in notebooks, and nowhere else."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from typing import Any, TypeVar

Item = TypeVar("Item")


def shows_bars() -> bool:
    """Whether somebody watches: stderr is a terminal, or the code runs in a notebook."""
    return sys.stderr.isatty() or _in_notebook()


def make_bar(items: Iterable[Any] | None = None, **options: Any) -> Any:
    """Return tqdm's bar: a widget in a notebook that has widgets, else a line on stderr.

    Parameters
    ----------
    items
        What is worked on; none for a bar that is moved by hand.
    **options
        tqdm's own: ``desc``, ``total``, ``unit``.
    """
    with warnings.catch_warnings():
        # a notebook without widgets gets the line, and need not be told so
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm

    return tqdm(items, leave=False, file=sys.stderr, **options)


def progress(
    items: Iterable[Item], doing: str, *, total: int | None = None, unit: str = "system"
) -> Iterable[Item]:
    """Return the items, with a bar while they are taken if somebody watches.

    Parameters
    ----------
    items
        What is worked on.
    doing
        What is done with them, shown before the bar.
    total
        How many there are, where that is known.
    unit
        What one of them is.
    """
    if not shows_bars():
        return items
    bar: Iterable[Item] = make_bar(items, desc=doing, total=total, unit=f" {unit}")
    return bar


def _in_notebook() -> bool:
    """Whether the code runs in a kernel of Jupyter's."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return "IPKernelApp" in getattr(shell, "config", {})
