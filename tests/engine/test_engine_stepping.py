from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from engine_makers import PLANES, flags, plane_of, rows_of

from sunveil.engine import infer_generation, make_sky_table
from sunveil.engine.clock_faults import Laid, find_steps
from sunveil.engine.coarse_search import search
from sunveil.estimates import Flag
from sunveil.estimates.planes_and_intervals import DECLARED, DaylightSaving
from sunveil.simulate import daylight_saving_stamps
from sunveil.site import Plane, TimeGrid


def set_on(power: pd.Series, day: str, minutes: int, until: str = "2020-01-01") -> pd.Series:
    """Stamps of a clock that somebody set on a day."""
    late = (power.index >= pd.Timestamp(day, tz="UTC")) & (
        power.index < pd.Timestamp(until, tz="UTC")
    )
    moved = power.set_axis(power.index + pd.to_timedelta(late * minutes, unit="min"))
    return moved[~moved.index.duplicated()].sort_index()


def test_a_clock_that_was_set_is_repaired_on_both_sides(denver, powers):
    moved = [
        set_on(powers[0], "2019-05-20", 60),
        set_on(powers[1], "2019-03-25", -60),
        set_on(powers[2], "2019-08-20", 60),
        set_on(powers[3], "2019-04-10", -60, "2019-08-01"),
    ]
    found = infer_generation(rows_of(moved, denver.grid), denver)
    days = [[str(step.date) for step in steps] for steps in found.clock_steps]
    expected = [["2019-05-20"], ["2019-03-25"], ["2019-08-20"], ["2019-04-10", "2019-08-01"]]
    for mine, theirs in zip(days, expected, strict=True):
        assert len(mine) == len(theirs)
        apart = np.abs(np.subtract(np.array(mine, "M8[D]"), np.array(theirs, "M8[D]")).astype(int))
        assert apart.max() <= 4
    offsets = [[step.offset_minutes for step in steps] for steps in found.clock_steps]
    assert offsets == [[60.0], [-60.0], [60.0], [-60.0, 0.0]]
    assert found.clock_offset_minutes.tolist() == [0.0] * 4
    assert found.clock_daylight_saving.tolist() == [0] * 4
    for place, plane in enumerate(PLANES):
        assert plane_of(found, place).angle_to(Plane(*plane)) < 2.5
        assert flags(found, place) == (Flag.CLOCK_REPAIRED,)


def test_half_an_hour_shows_in_short_intervals(denver, power_of):
    grid = TimeGrid(denver.grid.first, 1800, 2 * 8760)
    power = set_on(power_of(200.0, 30.0, step_minutes=30), "2019-07-10", 30)
    found = infer_generation(rows_of([power], grid), make_sky_table(denver.site, grid))
    (step,) = found.clock_steps[0]
    assert step.offset_minutes == 30.0
    assert abs((step.date - pd.Timestamp("2019-07-10").date()).days) <= 4


def test_right_clocks_and_saved_daylight_have_no_steps(denver, rows, powers):
    saved = rows_of([daylight_saving_stamps(powers[2], "America/Denver")], denver.grid)
    found = infer_generation(np.concatenate([rows, saved]), denver)
    assert found.clock_steps.tolist() == [()] * 5
    assert found.clock_daylight_saving[4] == list(DaylightSaving).index(DaylightSaving.LEFT_IN)


def test_steps_must_explain_the_light_and_no_less_of_the_energy(prepared, powers):
    rows = rows_of([set_on(powers[0], "2019-05-20", 60)], prepared.sky.grid)
    searched = search(rows, prepared)
    declared = Laid(DECLARED, rows, prepared, searched, half=False)
    found = find_steps(declared, None, timezone="UTC")
    assert found is not None
    assert found.cost() < 0.5 * declared.cost()
    assert len(found.hypothesis.steps) == 1
    much = replace(searched, explained=found.searched.explained + 0.01)
    assert find_steps(replace(declared, searched=much), None, timezone="UTC") is None


@pytest.mark.parametrize("days", [10, 30])
def test_a_short_record_has_no_steps(denver, powers, days):
    rows = rows_of([set_on(powers[0], "2019-01-15", 60)], denver.grid)
    rows[:, 24 * days :] = np.nan
    assert infer_generation(rows, denver).clock_steps[0] == ()
