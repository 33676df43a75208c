"""What the benchmark of real systems says of them, on cases made by hand."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from benchmarks import real_scores
from benchmarks.peers_apart import PeerResult
from benchmarks.real_bars import bar_lines
from benchmarks.real_case import RealCase
from benchmarks.real_clocks import clock_lines
from benchmarks.real_scores import (
    DECLARED,
    PEERS,
    REPAIRED,
    TOOLS,
    RealAnswer,
    answers,
    coverage,
    errors,
)
from benchmarks.real_tables import interval_lines, summary_lines
from plot_makers import CAPACITY, GOLDEN, estimate_of, sunny
from sunveil.estimates import Flag, Interval
from sunveil.site import Plane

HOUR = pd.Timedelta("1h")


def case_of(
    azimuth=2.0, tilt=30.0, dc_kw=5.0, *, start="2019-01-01", days=2, **changes
) -> RealCase:
    index = pd.date_range(start, periods=days * 24, freq=HOUR, tz="UTC")
    made = RealCase(
        name="case",
        power=pd.Series(np.ones(len(index)), index=index),
        site=GOLDEN,
        weather=None,
        azimuth=azimuth,
        tilt=tilt,
        dc_kw=CAPACITY,
        note="",
        declared_timezone="UTC",
    )
    return replace(made, **changes)


def test_errors_of_azimuth_wrap_at_north():
    found = estimate_of(Plane(358.0, 33.0))
    peers = {DECLARED: PeerResult(azimuth=10.0, tilt=25.0), TOOLS: PeerResult(reason="none")}
    one = RealAnswer(case_of(), found, peers=peers)
    assert errors(one) == pytest.approx({"azimuth": -4.0, "tilt": 3.0, "capacity": 0.0})
    assert errors(one, DECLARED) == pytest.approx({"azimuth": 8.0, "tilt": -5.0})
    assert errors(one, TOOLS) == {}


def test_coverage_counts_intervals_that_pass_north_and_leaves_refusals_out():
    across = estimate_of(Plane(359.0, 33.0), azimuth_interval=Interval(355.0, 3.0))
    beside = across.replaced(azimuth_interval=Interval(350.0, 1.0))
    found = coverage([across, beside, None], [case_of()] * 3)
    assert (found["azimuth"].held, found["azimuth"].count) == (1, 2)
    assert found["azimuth"].median_width == pytest.approx(9.5)
    assert (found["tilt"].held, found["tilt"].median_width) == (0, 4.0)
    assert found["capacity"].median_width == pytest.approx(100.0 * 0.6 / CAPACITY)


def test_the_second_answer_of_pvanalytics_is_on_the_clock_that_was_found(monkeypatch):
    record, _ = sunny()
    index = pd.DatetimeIndex(record.times, tz="UTC") + HOUR  # an hour fast
    fast = case_of(azimuth=200.0, power=pd.Series(record.power_kw, index=index), label="start")
    asked = []
    for name in ("clear_days", "solar_data_tools"):
        monkeypatch.setattr(
            real_scores, name, lambda power, *_, **__: asked.append(power) or PeerResult()
        )
    (one,) = answers([fast], PEERS)
    assert Flag.CLOCK_REPAIRED in one.estimate.flags
    assert set(one.peers) == set(PEERS)
    declared, moved, tools = asked
    assert moved.index[0] == declared.index[0] - HOUR
    assert tools.index.equals(declared.index)


def test_tables_and_bars_say_what_was_missed():
    found = estimate_of(Plane(2.0, 33.0))
    good = {DECLARED: PeerResult(2.0, 30.0), REPAIRED: PeerResult(2.0, 30.0)}
    one = RealAnswer(case_of(), found, peers=good)
    flagged = RealAnswer(case_of(), found.replaced(flags=(Flag.SEASONAL_HAZE,)))
    assert "| Sunveil | 0.0 / 0.0 | 3.0 / 3.0 | 0.0 / 0.0 |" in "\n".join(
        summary_lines({"all": [one]})
    )
    shipped = coverage([found], [one.case])
    assert "| tilt [°] | 0 of 1 (0%) | 4.0 |" in interval_lines({"shipped": shipped})
    missed = [line for line in bar_lines([one], [flagged]) if "MISSED" in line]
    assert len(missed) == 3  # mean tilt, tilt against the peer, coverage of tilt
    assert all("tilt" in line for line in missed)
    assert "MISSED" in bar_lines([one], [one])[-1]


def test_an_answer_that_a_wrong_clock_turned_needs_a_flag():
    near, far = (estimate_of(Plane(azimuth, 30.0)) for azimuth in (8.0, 30.0))
    flagged = far.replaced(flags=(Flag.CLOCK_DOUBTFUL,))
    for found, mean, silent in (
        (near, "| 6.0 | 6 | met |", "none | none | met"),
        (far, "| 28.0 | 6 | MISSED |", "case | none | MISSED"),
        (flagged, "| 28.0 | 6 | MISSED |", "none | none | met"),
    ):
        page = "\n".join(clock_lines([RealAnswer(case_of(), found)]))
        assert mean in page
        assert f"without a flag on the clock | {silent} |" in page
