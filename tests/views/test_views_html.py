from __future__ import annotations

import copy
import pickle
from html.parser import HTMLParser

import pytest

from plot_makers import GOLDEN, estimate_of, net_of, pair_of, sunny, tracker_of
from sunveil.errors import ParameterError
from sunveil.estimates.estimates_table import EstimateSource


class Tags(HTMLParser):
    """The tags of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)


@pytest.mark.parametrize("make", [estimate_of, pair_of, tracker_of, net_of])
def test_a_notebook_shows_a_table_of_text(make):
    page = make()._repr_html_()
    allowed = {"table", "caption", "tbody", "tr", "th", "td", "small", "br"}
    assert {"table", "td"} <= set(Tags(page).names) <= allowed
    assert "5.00 kW" in page


def test_a_name_is_escaped():
    page = estimate_of(system_id="<script>roof</script>")._repr_html_()
    assert "script" not in Tags(page).names
    assert "&lt;script&gt;roof" in page


def test_a_repr_is_short_rounded_and_says_how_sure_it_is():
    assert repr(estimate_of()) == (
        "Estimate('roof': azimuth 200.0° (196 to 204), tilt 30.0° (28 to 32),"
        " 5.00 kW (4.70 to 5.30) DC; good)"
    )
    assert repr(pair_of()).count("\n") == 1
    assert "92°/31° 3.00 kW, 271°/30° 2.00 kW" in repr(pair_of())
    assert repr(tracker_of()).startswith("Estimate('roof': tracker axis 178.0°")


def test_readings_are_never_shown_written_compared_or_taken_along():
    record, _ = sunny(5)
    plain = estimate_of()
    estimate = plain.replaced(source=EstimateSource(record, None, GOLDEN))
    assert estimate == plain
    assert hash(estimate) == hash(plain)
    assert repr(estimate) == repr(plain)
    assert estimate.to_dict() == plain.to_dict()
    assert "source" not in estimate.to_row()
    assert pickle.loads(pickle.dumps(estimate)).source is None
    assert copy.deepcopy(estimate).source is None
    assert "private" in repr(estimate.source)
    with pytest.raises(ParameterError, match="does not have its readings any more"):
        plain.plot()
