from __future__ import annotations

import datetime
import re
from dataclasses import replace

import pytest

from plot_makers import net_of, pair_of, tracker_of
from sunveil.cli._show_estimates import show_estimates
from sunveil.cli._text import aligned
from sunveil.estimates import Assumptions, ClockFinding, Estimate, Flag, Interval, YearEstimate
from sunveil.estimates.flags_and_quality import FLAG_MEANINGS
from sunveil.estimates.planes_and_intervals import ClockStep, DaylightSaving
from sunveil.meters import Label
from sunveil.site import Losses, Plane

ROOF = Estimate.of(
    system_id="roof",
    plane=Plane(161.2, 20.0),
    dc_capacity_kw=5.321,
    azimuth_interval=Interval(159.0, 163.4),
    tilt_interval=Interval(18.5, 21.5),
    capacity_interval=Interval(5.1, 5.5),
    plane_error_degrees=1.5,
    ac_limit_kw=None,
    clock=ClockFinding(0.0, Label.START),
    agreement=0.618,
    flags=(),
    assumptions=Assumptions(Losses(), 0.2, "perez-driesse", "clearsky", "default"),
)


def test_a_row_reads_as_value_and_interval_in_aligned_columns():
    row = show_estimates([ROOF]).splitlines()[2]
    cells = ["161.2° (159 to 163)", "20.0° (18 to 22)", "5.32 kW (5.10 to 5.50)", "good", "-"]
    assert re.split(" {2,}", row) == ["roof", *cells]
    assert aligned([("a", "b"), ("long", "x")]) == "a     b\n----  -\nlong  x"


def test_two_planes_have_rows_of_their_own_with_their_shares():
    lines = show_estimates([pair_of(system_id="ridge")]).splitlines()
    cells = [re.split(" {2,}", line.strip()) for line in lines[3:5]]
    assert cells == [
        ["60% of it", "92.0° (87 to 97)", "31.0° (28 to 34)", "3.00 kW (2.76 to 3.24)"],
        ["40% of it", "271.0° (266 to 276)", "30.0° (27 to 33)", "2.00 kW (1.84 to 2.16)"],
    ]
    assert lines[2].endswith("two_planes")
    assert "Quality good: each of the two planes is known to within 3 degrees." in lines


AUTUMN = ClockStep(datetime.date(2019, 10, 27), -60.0)
WINTER = ClockStep(datetime.date(2020, 1, 1), 0.0)
TWICE = DaylightSaving.APPLIED_TWICE
LARGE = {"dc_capacity_kw": 1153.5, "capacity_interval": Interval(1100.2, 1201.9)}
HEAVY = net_of(flags=(Flag.NET_METER, Flag.HEAVY_LOAD))


def clock_of(*finding: object, **steps: object) -> Estimate:
    return ROOF.replaced(clock=ClockFinding(*finding, **steps), flags=(Flag.CLOCK_REPAIRED,))


@pytest.mark.parametrize(
    ("estimate", "words"),
    [
        # narrow intervals, those across north, those of the whole circle, and large capacities
        (ROOF.replaced(tilt_interval=Interval(19.6, 20.4)), "20.0° (19.6 to 20.4)"),
        (ROOF.replaced(azimuth_interval=Interval(350.4, 9.6)), "161.2° (350 to 10)"),
        (ROOF.replaced(azimuth_interval=Interval(0.0, 360.0)), "161.2° (any)"),
        (ROOF.replaced(**LARGE), "1154 kW (1100 to 1202)"),
        (tracker_of(), "axis 178.0° (176 to 180)  ±55° (45 to 60)"),
        (tracker_of(), "single-axis tracker: axis 178°, backtracking, rows cover 38% of the"),
        (ROOF.replaced(flags=(Flag.SEASONAL_HAZE,)), "Quality poor: seasonal_haze."),
        (ROOF.replaced(ac_limit_kw=3.9, flags=(Flag.CLIPPING,)),
         "roof: inverter limit 3.90 kW (DC/AC 1.36)."),
        (HEAVY, "\nNet meter: the household consumes 0.525 kW"),
        (HEAVY, "\nQuality poor: heavy_load.\n"),
        (HEAVY, f"\nheavy_load: {FLAG_MEANINGS[Flag.HEAVY_LOAD]}."),
        (clock_of(60.0, Label.START), "the time stamps run 60 minutes ahead"),
        (clock_of(-30.0, Label.START), "run 30 minutes behind"),
        (clock_of(0.0, Label.START, DaylightSaving.LEFT_IN), "left in"),
        (clock_of(0.0, Label.START, TWICE), "twice"),
        (clock_of(0.0, Label.END), "the end of their intervals"),
        (clock_of(0.0, Label.START, steps=(AUTUMN, WINTER)),
         "the time stamps are right, from 2019-10-27 on they run 60 minutes behind, from"
         " 2020-01-01 on they are right; corrected"),
        (clock_of(0.0, Label.START, DaylightSaving.LEFT_IN, steps=(AUTUMN,)),
         "left in the time stamps, from 2019-10-27 on they run 60 minutes behind;"),
        *((ROOF.replaced(flags=(flag,)), FLAG_MEANINGS[flag]) for flag in Flag),
    ],
)  # fmt: skip
def test_what_is_special_to_a_system_is_told_of_it_and_of_no_other(estimate, words):
    assert words in show_estimates([estimate])
    assert words not in show_estimates([ROOF])


def test_a_table_fits_a_hundred_columns():
    wide = ROOF.replaced(
        system_id="sim-01",
        plane=Plane(340.6, 21.0),
        azimuth_interval=Interval(218.3, 298.1),
        tilt_interval=Interval(10.5, 33.4),
        dc_capacity_kw=15.8,
        capacity_interval=Interval(14.4, 17.4),
        flags=(Flag.NOT_ONE_PLANE,),
    )
    assert max(map(len, show_estimates([wide, ROOF]).splitlines()[:4])) <= 100


def test_of_several_systems_it_is_said_what_quality_means_and_of_one_why():
    alone, both = show_estimates([ROOF]), show_estimates([ROOF, ROOF.replaced(system_id="b")])
    assert "Quality good: the plane is known to within 2 degrees." in alone
    assert "Quality: good where" not in alone
    assert "Quality: good where the plane is known to within 7°, fair within 12°" in both
    assert "Quality good:" not in both
    assert "the household consumes" not in show_estimates([HEAVY, ROOF])


def test_what_the_method_saw_is_told_of_a_system_alone():
    years = (
        YearEstimate(datetime.date(2015, 1, 1), 160.9, 19.2, 5.4),
        YearEstimate(datetime.date(2016, 3, 9), 161.5, 20.8, 12.34),
    )
    skyline = (0.0,) * 20 + (20.0,) * 5 + (0.0,) * 5
    seen = ROOF.replaced(
        clear_hours=1234.5, years=years, trend_percent_per_year=-0.74, skyline=skyline
    )
    for line in (
        "Based on 1,234 hours of clear days.",
        "By year: 2015 160.9°, 19.2°, 5.40 kW; Mar 2016 161.5°, 20.8°, 12.3 kW.",
        "The output falls by 0.7% per year.",
        "The sun is hidden below 20° in the west (240 to 300°).",
    ):
        assert line in show_estimates([seen]).splitlines()
        assert line not in show_estimates([seen, ROOF])
    for word in ("clear days", "By year", "output", "hidden"):
        assert word not in show_estimates([ROOF])


def test_a_note_that_systems_share_is_told_once():
    noted = [ROOF.replaced(system_id=f"s{i}", notes=("gaps were left out",)) for i in range(7)]
    assert "all systems: gaps were left out." in show_estimates(noted)
    some = show_estimates([*noted, ROOF])
    assert "s0, s1, s2, s3, s4 and 2 more: gaps were left out." in some
    assert some.count("gaps") == 1


def test_different_assumptions_are_all_named():
    other = ROOF.replaced(assumptions=replace(ROOF.assumptions, losses=Losses(system=0.1)))
    told = show_estimates([ROOF, other])
    assert "losses 5% (parts in --json), inverter" in told
    assert "losses 10%, inverter" in told
