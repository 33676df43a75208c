"""Sentences about an estimate, as reports and the command line show them."""

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


HIDDEN = [
    (skyline(s20=20.0, s21=20.0), "below 20° in the west (240 to 264°)"),
    (skyline(s8=10.0, s9=5.0), "below 5 to 10° in the east (96 to 120°)"),
    (skyline(s29=5.0, s0=15.0), "below 5 to 15° in the north (348 to 12°)"),
    (skyline(s29=5.0), "below 5° in the north (348 to 360°)"),
    (
        skyline(s8=5.0, s15=10.0, s21=5.0),
        "below 5° in the east (96 to 108°), below 10° in the south (180 to 192°)"
        " and below 5° in the west (252 to 264°)",
    ),
    (tuple(5.0 + place for place in range(30)), "below 5 to 34° all around"),
]
YEARS = [(1, 2, "2016"), (12, 30, "2017"), (3, 9, "Mar 2016"), (9, 28, "Oct 2016")]
EXPORTING = net_of(flags=(Flag.NET_METER, Flag.EXPORTED_ONLY))
FLAT = estimate_of().replaced(plane=Plane(180.0, 14.0))
STILL = tracker_of(tracker=replace(tracker_of().tracker, backtrack=False))
PLAIN = estimate_of()
SENTENCES = [
    *((skyline_words, estimate_of(skyline=sky), f"The sun is hidden {at}.") for sky, at in HIDDEN),
    (skyline_words, estimate_of(skyline=(0.0,) * 30), ""),
    *(
        (trend_words, estimate_of(trend_percent_per_year=trend), words)
        for trend, words in (
            (0.04, "The output hardly changes from year to year."),
            (-5.32, "The output falls by 5.3% per year."),
            (0.6, "The output rises by 0.6% per year."),
        )
    ),
    (flat_words, FLAT, "At such a low tilt, several planes cannot be distinguished from one."),
    (flat_words, FLAT.replaced(planes=pair_of().planes), ""),
    (flat_words, tracker_of(), ""),
    (planes_words, pair_of(), "Two planes: 92° / 31° with 3.00 kW and 271° / 30° with 2.00 kW."),
    (
        planes_words,
        tracker_of(),
        "Single-axis tracker: axis 178°, backtracking, rows cover 38% of the ground.",
    ),
    # without it nothing shows how densely rows stand
    (planes_words, STILL, "Single-axis tracker: axis 178°, without backtracking."),
    (
        household_words,
        net_of(),
        "Net meter: the household consumes 0.525 kW on average, uses 31% of the generation itself"
        " and exports in 85% of the daylight readings.",
    ),
    (
        household_words,
        EXPORTING,
        "Net meter: the household uses 31% of the generation itself and exports in 85% of the"
        " daylight readings. Consumption from the grid is not in the readings.",
    ),
    (hidden_words, net_of(), ""),
    *((words, PLAIN, "") for words in (skyline_words, trend_words, haze_words, clear_hours_words)),
    *((words, PLAIN, "") for words in (flat_words, planes_words, household_words)),
    (three_digits, 2.0, "2.00"),
    (three_digits, 15.62, "15.6"),
    (three_digits, 1153.5, "1,154"),
    (three_digits, 0.05, "0.0500"),
    (three_digits, 0.0, "0"),
    *(
        (year_name, YearEstimate(dt.date(2016, month, day), 180.0, 30.0, 5.0), name)
        for month, day, name in YEARS
    ),
]


def test_what_was_found_is_said_in_a_sentence() -> None:
    for words, of, text in SENTENCES:
        assert words(of) == text
    haze = haze_words(estimate_of(haze_summer=-0.31, haze_winter=0.02))
    assert haze.endswith("−0.3 (midsummer), 0.0 (midwinter).")
    household = replace(EXPORTING.household, exporting=0.98)
    unused = EXPORTING.replaced(household=household)
    assert household_words(unused).endswith("this is not a net meter: infer it as such.")


def test_every_hidden_sector_is_in_one_run() -> None:
    runs = hidden_skies(skyline(s29=5.0, s0=10.0, s1=5.0, s10=15.0))
    assert [(run.first, run.last, run.highest) for run in runs] == [
        (120.0, 132.0, 15.0),
        (348.0, 384.0, 10.0),
    ]


@pytest.mark.parametrize("flag", [Flag.LITTLE_EXPORT, Flag.STORAGE, Flag.HEAVY_LOAD])
def test_what_hides_generation_takes_the_intervals_of_a_net_meter_away(flag: Flag) -> None:
    assert "are a guess" in hidden_words(net_of(flags=(Flag.NET_METER, flag)))
