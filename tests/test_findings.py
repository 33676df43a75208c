from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest

from plot_makers import estimate_of, net_of, pair_of, tracker_of
from sunveil.estimates import Flag, YearEstimate
from sunveil.estimates.estimate_text import (
    clear_hours_words,
    flat_words,
    haze_words,
    hidden_skies,
    hidden_words,
    household_words,
    planes_words,
    skyline_words,
    three_digits,
    trend_words,
    year_name,
)
from sunveil.site import Plane


def skyline(**heights: float) -> tuple[float, ...]:
    """Return thirty sectors, of which some, named by their number, are hidden."""
    return tuple(heights.get(f"s{place}", 0.0) for place in range(30))


@pytest.mark.parametrize(
    ("heights", "words"),
    [
        ({"s20": 20.0, "s21": 20.0}, "below 20° in the west (240 to 264°)"),
        ({"s8": 10.0, "s9": 5.0}, "below 5 to 10° in the east (96 to 120°)"),
        ({"s29": 5.0, "s0": 15.0}, "below 5 to 15° in the north (348 to 12°)"),
        ({"s29": 5.0}, "below 5° in the north (348 to 360°)"),
        (
            {"s8": 5.0, "s15": 10.0, "s21": 5.0},
            "below 5° in the east (96 to 108°), below 10° in the south (180 to 192°)"
            " and below 5° in the west (252 to 264°)",
        ),
        ({f"s{place}": 5.0 + place for place in range(30)}, "below 5 to 34° all around"),
    ],
)
def test_a_skyline_is_told_by_where_and_how_high(heights: dict[str, float], words: str) -> None:
    told = skyline_words(estimate_of(skyline=skyline(**heights)))
    assert told == f"The sun is hidden {words}."


def test_every_hidden_sector_is_in_one_run() -> None:
    runs = hidden_skies(skyline(s29=5.0, s0=10.0, s1=5.0, s10=15.0))
    assert [(run.first, run.last, run.highest) for run in runs] == [
        (120.0, 132.0, 15.0),
        (348.0, 384.0, 10.0),
    ]


@pytest.mark.parametrize(
    ("trend", "words"),
    [
        (None, ""),
        (0.04, "The output hardly changes from year to year."),
        (-5.32, "The output falls by 5.3% per year."),
        (0.6, "The output rises by 0.6% per year."),
    ],
)
def test_a_trend_is_told_by_its_way(trend: float | None, words: str) -> None:
    assert trend_words(estimate_of(trend_percent_per_year=trend)) == words


def test_haze_has_its_seasons() -> None:
    told = haze_words(estimate_of(haze_summer=-0.31, haze_winter=0.02))
    assert told.endswith("−0.3 (midsummer), 0.0 (midwinter).")


def test_what_was_not_seen_is_not_told() -> None:
    nothing = estimate_of()
    for words in (skyline_words, trend_words, haze_words, clear_hours_words):
        assert words(nothing) == ""
    assert skyline_words(estimate_of(skyline=(0.0,) * 30)) == ""


@pytest.mark.parametrize(
    ("first", "name"),
    [
        (dt.date(2016, 1, 2), "2016"),
        (dt.date(2016, 12, 30), "2017"),
        (dt.date(2016, 3, 9), "Mar 2016"),
        (dt.date(2016, 9, 28), "Oct 2016"),
    ],
)
def test_a_year_is_named_by_where_it_begins(first: dt.date, name: str) -> None:
    assert year_name(YearEstimate(first, 180.0, 30.0, 5.0)) == name


@pytest.mark.parametrize(
    ("value", "words"),
    [(2.0, "2.00"), (15.62, "15.6"), (1153.5, "1,154"), (0.05, "0.0500"), (0.0, "0")],
)
def test_capacities_have_three_digits(value: float, words: str) -> None:
    assert three_digits(value) == words


def test_of_a_flat_plane_it_is_said_that_it_may_be_several() -> None:
    assert flat_words(estimate_of()) == ""
    flat = estimate_of().replaced(plane=Plane(180.0, 14.0))
    assert (
        flat_words(flat) == "At such a low tilt, several planes cannot be distinguished from one."
    )
    assert flat_words(flat.replaced(planes=pair_of().planes)) == ""
    assert flat_words(tracker_of()) == ""


def test_planes_and_trackers_are_told_in_a_sentence() -> None:
    assert planes_words(estimate_of()) == ""
    assert planes_words(pair_of()) == (
        "Two planes: 92° / 31° with 3.00 kW and 271° / 30° with 2.00 kW."
    )
    assert planes_words(tracker_of()) == (
        "Single-axis tracker: axis 178°, backtracking, rows cover 38% of the ground."
    )
    tracker = tracker_of().tracker
    assert tracker is not None
    # without it nothing tells how densely rows stand
    still = tracker_of(tracker=replace(tracker, backtrack=False))
    assert planes_words(still) == "Single-axis tracker: axis 178°, without backtracking."


def test_a_net_meter_is_told_with_what_its_household_does() -> None:
    assert household_words(estimate_of()) == ""
    assert household_words(net_of()) == (
        "Net meter: the household consumes 0.525 kW on average, uses 31% of the generation itself"
        " and exports in 85% of the daylight readings."
    )
    exporting = net_of(flags=(Flag.NET_METER, Flag.EXPORTED_ONLY))
    assert household_words(exporting) == (
        "Net meter: the household uses 31% of the generation itself and exports in 85% of the"
        " daylight readings. Consumption from the grid is not in the readings."
    )
    assert exporting.household is not None
    unused = exporting.replaced(household=replace(exporting.household, exporting=0.98))
    assert household_words(unused).endswith("this is not a net meter: infer it as such.")


@pytest.mark.parametrize("flag", [Flag.LITTLE_EXPORT, Flag.STORAGE, Flag.HEAVY_LOAD])
def test_what_hides_generation_takes_the_intervals_of_a_net_meter_away(flag: Flag) -> None:
    assert hidden_words(net_of()) == ""
    assert "are a guess" in hidden_words(net_of(flags=(Flag.NET_METER, flag)))
