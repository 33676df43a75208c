from __future__ import annotations

from dataclasses import replace

import pytest

from sunveil.privacy.units import Days, Readings, System
from sunveil.releases.choices import Choices
from sunveil.releases.frame import Calendar, make_frame
from sunveil.releases.typical import typical_errors, typical_table
from sunveil.site import Site
from sunveil.tally import Capacities
from sunveil.weather import clearsky

SITE = Site(39.74, -105.17)


@pytest.fixture(scope="module")
def frame():
    """A week's frame: only its calendar and its weather's kind count here."""
    weather = clearsky(SITE, "2018-12-30", "2019-01-12")
    coarse = Choices(step=30.0, capacities=Capacities(1.0, 40.0, 0.1))
    week = make_frame(weather, Calendar(1546326000, 60.0, 7 * 24), coarse)
    return replace(week, calendar=Calendar(1546326000, 60.0, 365 * 24))


def test_the_table_is_looked_up_at_its_own_epsilons(frame):
    table = typical_table()
    for name, unit in (("readings", Readings(1)), ("days", Days(1))):
        for place, epsilon in enumerate(table["epsilon"]):
            found = typical_errors(frame, unit=unit, epsilon=max(epsilon, 1e-4))
            assert found.azimuth.mean == pytest.approx(
                table["clear"][name]["azimuth"]["mean"][place]
            )
            assert found.tilt.within == pytest.approx(table["clear"][name]["tilt"]["within"][place])


def test_the_table_says_chance_at_tiny_and_degrees_at_usual_epsilons():
    table = typical_table()
    for kind in ("clear", "measured"):
        for name in ("readings", "days"):
            means = table[kind][name]["azimuth"]["mean"]
            assert max(means) > 20.0
            assert means[-1] < 5.0
            assert len(means) == len(table["epsilon"])


def test_protecting_two_readings_is_protecting_one_at_half_the_epsilon(frame):
    one = typical_errors(frame, unit=Readings(1), epsilon=0.05)
    two = typical_errors(frame, unit=Readings(2), epsilon=0.1)
    assert two.to_dict() == one.to_dict()


def test_half_a_year_is_worth_half_the_epsilon(frame):
    short = replace(frame, calendar=replace(frame.calendar, count=365 * 12))
    whole = typical_errors(frame, unit=Days(1), epsilon=0.5)
    assert typical_errors(short, unit=Days(1), epsilon=1.0).tilt.mean == pytest.approx(
        whole.tilt.mean, rel=0.01
    )


def test_shorter_intervals_give_more_readings_but_not_more_days(frame):
    fine = replace(frame, calendar=Calendar(0, 15.0, 365 * 96))
    assert (
        typical_errors(fine, unit=Readings(1), epsilon=0.025).to_dict()
        == typical_errors(frame, unit=Readings(1), epsilon=0.1).to_dict()
    )
    assert (
        typical_errors(fine, unit=Days(1), epsilon=1.0).to_dict()
        == typical_errors(frame, unit=Days(1), epsilon=1.0).to_dict()
    )


def test_a_whole_record_is_told_by_the_windows_law(frame):
    poor, good = (typical_errors(frame, unit=System(), epsilon=e) for e in (0.5, 8.0))
    assert poor.azimuth.mean > 80.0
    assert good.azimuth.mean < 25.0
    assert good.capacity.mean < poor.capacity.mean
    assert "window" in good.basis


def test_a_public_prior_narrows_the_window(frame):
    azimuth, tilt, capacity = frame.choices.axes()
    south = tuple(1.0 for _ in range(azimuth.size))
    steep = tuple(1.0 if place < 10 else 0.0 for place in range(tilt.size))
    small = tuple(1.0 if place < 5 else 0.0 for place in range(capacity.size))
    choices = replace(frame.choices, prior=(south, steep, small))
    assert choices.window(2.0).widths != frame.choices.window(2.0).widths
    assert choices.fingerprint() != frame.choices.fingerprint()
