from __future__ import annotations

import json

import pytest

from sunveil.estimates import Flag
from sunveil.plots.fleet_figures import plot_fleet_azimuths
from sunveil.plots.html_report import render_fleet_page, write_fleet_page
from sunveil.plots.style import loose_figure

RUN = {
    "settings": {
        "weather": "clearsky",
        "cell_degrees": 0.1,
        "system_losses": 0.087,
        "inverter_efficiency": 0.96,
        "albedo": 0.2,
        "mount": "unknown",
        "clock": "repair",
    }
}
SUMMARY = {
    "inferred": 1998,
    "refused": 2,
    "cells": 25,
    "quality": {"good": 1500, "fair": 400, "poor": 98},
    "planes": {"one": 1700, "two": 250, "tracker": 30, "untold": 18},
    "flags": {flag.value: number for number, flag in enumerate(Flag)},
    "refused_by_kind": {"no readings": 1, "unknown": 1},
    "unread_files": [],
    "notes": [],
    "total_dc_capacity_kw": 27_218.4,
    "medians": {"surface_tilt": 25.94},
    "azimuth": {"edges": list(range(0, 361, 10)), "counts": [5] * 36},
    "tilt": {"edges": list(range(0, 91, 5)), "counts": [111] * 18},
    "capacity": {"edges": [0.0, 1.0, 10.0, 1e9], "counts": [18, 980, 1000]},
}


def test_the_page_says_what_a_run_came_to(tmp_path):
    (tmp_path / "summary.json").write_text(json.dumps(SUMMARY))
    (tmp_path / "run.json").write_text(json.dumps(RUN))
    write_fleet_page(tmp_path)
    page = (tmp_path / "summary.html").read_text()
    assert (tmp_path / "summary.html").stat().st_mode & 0o777 == 0o600
    for words in (
        "Private to the curator",
        "1,998",
        "27.2 MW",
        "25.9°",
        "no readings",
        "8.7%",
        "75.1%",
    ):
        assert words in page
    assert "two planes</th><td>250</td><td>12.5%</td>" in page
    net = SUMMARY["flags"]["net_meter"]
    assert f"<dt>Net meters among them</dt><dd>{net}</dd>" in page
    none = render_fleet_page({**SUMMARY, "flags": {"clipping": 3}}, RUN)
    assert "Net meters" not in none
    assert page.count("data:image/svg+xml;base64,") == 3
    assert "every system has an estimate" not in page


def test_the_page_takes_names_as_words_not_as_markup():
    unread = [f"<b>{number}</b>.csv & others" for number in range(25)]
    page = render_fleet_page({**SUMMARY, "unread_files": unread, "notes": ["1 < 2"]}, RUN)
    assert "&lt;b&gt;19&lt;/b&gt;.csv &amp; others" in page
    assert "<b>" not in page
    assert "and 5 more" in page
    assert "1 &lt; 2" in page


def test_a_fleet_without_refusals_or_without_estimates_has_a_page():
    everybody = render_fleet_page({**SUMMARY, "refused": 0, "refused_by_kind": {}}, RUN)
    assert "every system has an estimate" in everybody
    nobody = {
        **SUMMARY,
        "inferred": 0,
        "flags": {flag.value: 0 for flag in Flag},
        "total_dc_capacity_kw": 0.0,
        "medians": {"surface_tilt": None},
        "azimuth": {"edges": SUMMARY["azimuth"]["edges"], "counts": [0] * 36},
    }
    page = render_fleet_page(nobody, RUN)
    assert "0 kW" in page
    assert "<dd>–</dd>" in page


@pytest.mark.parametrize("counts", [[0, 0], [1, 0], [3, 9], [12345, 678]])
def test_the_area_of_a_petal_is_a_count_and_every_petal_is_within_the_rings(counts):
    ax = plot_fleet_azimuths(
        counts, ax=loose_figure(3.0, 3.0).subplots(subplot_kw={"projection": "polar"})
    )
    heights = [patch.get_height() for patch in ax.patches]
    assert [height**2 for height in heights] == pytest.approx(counts)
    assert max(heights) <= ax.get_rmax()
