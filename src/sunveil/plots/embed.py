"""Figures that stand inside a page, without files beside it."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sunveil.extras import require_extras

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure inside a page.

    Parameters
    ----------
    source
        The picture as a ``data:`` address.
    words
        What it shows, for those who cannot see it.
    """

    source: str
    words: str


def loose_figure(width: float, height: float) -> Figure:
    """Return a figure that no interactive session knows of or keeps. [inches]"""
    require_extras("report", purpose="a figure")
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def embedded(figure: Figure, words: str) -> Drawing:
    """Return a figure as an SVG inside an address, the same bytes for the same figure."""
    import matplotlib as mpl

    buffer = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "sunveil", "svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", dpi=160, metadata={"Date": None})
    text = base64.b64encode(buffer.getvalue()).decode("ascii")
    return Drawing(f"data:image/svg+xml;base64,{text}", words)
