"""Texts in figures: plotly takes them for markup, so that names are escaped, here alone."""

from __future__ import annotations

from markupsafe import escape


def literal(text: str) -> str:
    """Return a text that plotly shows as it is.

    Plotly reads tags (``<b>``, ``<br>``, ``<a href>``) and entities in every text that it draws:
    names of traces, categories, tick labels, hover texts. No tag is left in what is returned, and
    plotly shows the entities as the characters that they stand for. In templates of hover texts a
    name must come through ``customdata``, ``text`` or an axis: ``%{`` would be read there.
    """
    return str(escape(text))
