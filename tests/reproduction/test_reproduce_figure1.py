from __future__ import annotations

from reproduction.figure1 import trusted_curator
from sunveil.plots.style import embedded


def test_the_parties_are_drawn():
    drawn = trusted_curator()
    told = {text.get_text() for text in drawn.figure.axes[0].texts}
    assert {"consumers", "trusted curator", "untrusted analyst", "query"} <= told
    assert embedded(drawn.figure, drawn.words).source
