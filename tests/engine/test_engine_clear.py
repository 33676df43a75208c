from __future__ import annotations

import numpy as np
import pytest
from engine_makers import flags, point_of, row_of

from sunveil.engine import infer_generation
from sunveil.engine.clear_days import (
    BACKGROUND,
    DULL,
    FEWEST_SMOOTH,
    HIDDEN_TILT,
    SMOGGIER_THAN_SUMMER,
    SMOGGY,
    ClearDays,
    dull_winters,
    find_clear_days,
)
from sunveil.engine.coarse_search import lay_out, modelled_power
from sunveil.engine.power_model import SEASON
from sunveil.engine.shading import PreparedSky
from sunveil.estimates import Flag
from sunveil.weather import clearsky

POINT = point_of(180.0, 30.0, 5.0, haze=-0.2, heat=1.25)[None]
# A day of summer, the first of those that other days are compared with.
SUMMER = 170


@pytest.fixture(scope="module")
def model(prepared: PreparedSky) -> np.ndarray:
    """The power of one plane at the usable intervals. [kW]"""
    return modelled_power(POINT, prepared)[0, : len(prepared.slot)]


@pytest.fixture(scope="module")
def days(prepared: PreparedSky) -> list[slice]:
    """The usable intervals of each solar day."""
    ends = [*prepared.begins[1:].tolist(), len(prepared.slot)]
    return [slice(*both) for both in zip(prepared.begins.tolist(), ends, strict=True)]


def weigh(power: np.ndarray, prepared: PreparedSky) -> ClearDays:
    """Weigh one record of powers at the usable intervals, NaN where there is no reading."""
    row = np.zeros((1, prepared.sky.grid.long.count), dtype=np.float32)
    row[0, prepared.slot] = power
    return find_clear_days(
        lay_out(row, prepared.slot, prepared.begins), modelled_power(POINT, prepared), prepared
    )


def say(found: ClearDays, day: slice) -> float:
    """Return what every reading of a day counts."""
    (weight,) = np.unique(found.weights[0, day])
    return float(weight)


@pytest.mark.parametrize("level", [1.0, 0.7, 1.3])
def test_clear_days_count_whatever_the_capacity(prepared, model, days, level):
    found = weigh(level * model, prepared)
    assert all(say(found, day) > 0.99 for day in days)
    assert found.clear[0] == pytest.approx(len(model), rel=0.01)
    # nothing behind the usable intervals has a say
    assert (found.weights[0, len(model) :] == 0.0).all()


def test_a_day_of_passing_clouds_counts_next_to_nothing(prepared, model, days):
    power = model.copy()
    cloudy = days[SUMMER]
    power[cloudy][::2] *= 0.75
    found = weigh(power, prepared)
    assert say(found, cloudy) < 0.1
    assert say(found, days[SUMMER + 1]) > 0.99


@pytest.mark.parametrize("level", [0.95, 0.9, 0.8, 0.3])
def test_a_smooth_day_counts_the_less_the_duller_it_is(prepared, model, days, level):
    power = model.copy()
    power[days[SUMMER]] *= level
    found = weigh(power, prepared)
    clear = np.exp(-0.5 * ((1.0 - level) / DULL) ** 2)
    assert say(found, days[SUMMER]) == pytest.approx(
        BACKGROUND + (1 - BACKGROUND) * clear, abs=1e-3
    )
    # the background is no clear reading
    there = len(model) - len(range(*days[SUMMER].indices(len(model))))
    assert found.clear[0] - 0.999 * there == pytest.approx(
        clear * (len(model) - there), abs=0.002 * len(model)
    )


def test_days_are_compared_with_the_weeks_around_them(prepared, model, days):
    """Half as bright for a season: snow, soiling or a dead string are no clouds."""
    power = model.copy()
    for day in days[100:200]:
        power[day] *= 0.5
    found = weigh(power, prepared)
    assert say(found, days[150]) > 0.99
    assert say(found, days[103]) < 0.1


def test_a_chimney_is_no_cloud(prepared, model, days):
    """What dips every day at the same time is there on clear days too."""
    power, hour = model.copy(), (prepared.slot + prepared.sky.turn // 3600) % 24
    power[hour == 12] *= 0.75
    found = weigh(power, prepared)
    assert np.mean([say(found, day) > 0.5 for day in days]) > 0.95
    # while the same dip on a single day is one
    once = model.copy()
    once[days[SUMMER]] = power[days[SUMMER]]
    assert say(weigh(once, prepared), days[SUMMER]) < 0.05


@pytest.mark.parametrize("level", [0.0, 0.01])
def test_an_outage_counts_next_to_nothing_however_long(prepared, model, days, level):
    power = model.copy()
    for day in days[150:220]:
        power[day] *= level
    found = weigh(power, prepared)
    assert all(say(found, day) == pytest.approx(BACKGROUND) for day in days[150:220])
    assert say(found, days[149]) > 0.99
    # and is not taken for haze
    assert (
        found.smooth[0, 2:].tolist()
        == weigh(np.where(power < 0.02 * model, np.nan, power), prepared).smooth[0, 2:].tolist()
    )


def test_readings_that_are_missing_count_nothing_and_half_a_day_cannot_be_judged(
    prepared, model, days
):
    power = model.copy()
    most, least = days[SUMMER], days[SUMMER + 1]
    middle = (most.start + most.stop) // 2
    power[middle] = np.nan
    power[least][: (least.stop - least.start) // 2 + 1] = np.nan
    found = weigh(power, prepared)
    assert found.weights[0, middle] == 0.0
    assert found.weights[0, middle - 1] > 0.9
    assert found.weights[0, least.stop - 1] == pytest.approx(BACKGROUND)
    assert found.weights[0, least.start] == 0.0


def test_a_record_without_a_clear_day_keeps_its_background(prepared, model):
    rng = np.random.default_rng(0)
    found = weigh(model * rng.uniform(0.05, 1.0, len(model)).astype(np.float32), prepared)
    weights = found.weights[0, : len(model)]
    assert (weights >= np.float32(BACKGROUND)).all()
    assert found.clear[0] < 0.25 * len(model)
    assert weights.sum() == pytest.approx(
        found.clear[0] * (1 - BACKGROUND) + BACKGROUND * len(model), rel=1e-3
    )


def test_nothing_at_all_is_weighed_too(prepared, model):
    for nothing in (np.full_like(model, np.nan), np.zeros_like(model)):
        found = weigh(nothing, prepared)
        assert np.isfinite(found.weights).all()
        assert found.clear[0] == 0.0
        assert not found.smooth.any()


def test_the_days_that_count_are_those_that_were_clear(prepared, power_of, weathered, days):
    """Of a simulated year: its own sky says which days were clear."""
    power = row_of(power_of(180.0, 30.0), prepared.sky.grid)[prepared.slot]
    found = weigh(power, prepared)
    clear = clearsky(prepared.sky.site, "2018-12-31", "2020-01-02", step_minutes=60)
    light, most = (each.to_frame()["dni"].resample("1h").mean() for each in (weathered.true, clear))
    index = prepared.seconds.astype("M8[s]")
    stamps = light.index.tz_localize(None).to_numpy()
    ours = np.interp(index.astype(float), stamps.astype("M8[s]").astype(float), light)
    stamps = most.index.tz_localize(None).to_numpy()
    theirs = np.interp(index.astype(float), stamps.astype("M8[s]").astype(float), most)
    share = np.array([ours[day].sum() / theirs[day].sum() for day in days])
    counts = np.array([say(found, day) for day in days])
    assert np.mean(share[counts > 0.6]) > 0.85
    assert np.mean(share[counts < 0.1]) < 0.6
    assert 0.15 < np.mean(counts > 0.6) < 0.7


@pytest.fixture
def smoggy(prepared, model, days) -> np.ndarray:
    """Two of three winter days smooth and dull."""
    power, season = model.copy(), prepared.sky.rows[SEASON, prepared.begins]
    for number in np.flatnonzero(season > 0.5):
        power[days[number]] *= 1.0 if number % 3 == 0 else 0.6
    return power


def test_smooth_days_are_counted_by_season(prepared, model, days, smoggy):
    season = prepared.sky.rows[SEASON, prepared.begins]
    winter, summer = (season > 0.5).sum(), (season < -0.5).sum()
    assert weigh(model, prepared).smooth[0].tolist() == [winter, 0, summer, 0]
    found = weigh(smoggy, prepared).smooth
    dull = np.count_nonzero((season > 0.5) & (np.arange(len(days)) % 3 != 0))
    assert found[0].tolist() == [winter, dull, summer, 0]
    assert dull_winters(found)[0]
    assert not dull_winters(weigh(model, prepared).smooth)[0]


def test_clouds_are_not_taken_for_smog(prepared, rows):
    readings = lay_out(rows, prepared.slot, prepared.begins)
    points = np.repeat(POINT, len(rows), axis=0)
    found = find_clear_days(readings, modelled_power(points, prepared), prepared)
    assert not dull_winters(found.smooth).any()


@pytest.mark.parametrize(
    ("counts", "smog"),
    [
        ((100, 60, 100, 10), True),
        ((100, 60, 100, 55), False),  # summers are as dull
        ((100, 20, 100, 0), False),
        ((FEWEST_SMOOTH, FEWEST_SMOOTH, 100, 0), True),
        ((FEWEST_SMOOTH - 1, FEWEST_SMOOTH - 1, 100, 0), False),
        ((1000, round(1000 * SMOGGY), 0, 0), True),
        ((1000, round(1000 * SMOGGY) - 1, 0, 0), False),
        ((100, 80, 100, round(80 - 100 * SMOGGIER_THAN_SUMMER) + 1), False),
        ((0, 0, 0, 0), False),
    ],
)
def test_smog_is_many_dull_days_of_winter_and_not_of_summer(counts, smog):
    assert dull_winters(np.array([counts]))[0] == smog


def test_smog_makes_a_tilt_steeper_at_most(denver, prepared, model, smoggy):
    rows = np.zeros((2, denver.grid.count), dtype=np.float32)
    rows[:, prepared.slot] = np.stack([model, smoggy])[:, : len(prepared.slot)]
    found = infer_generation(rows, denver)
    assert [Flag.SEASONAL_HAZE in flags(found, place) for place in (0, 1)] == [False, True]
    up = found.surface_tilt_high - found.surface_tilt
    down = found.surface_tilt - found.surface_tilt_low
    assert up[1] > up[0] + 0.9 * HIDDEN_TILT
    assert down[1] == pytest.approx(down[0], abs=1.5)
    assert found.surface_tilt_high[1] <= 90.0
    assert found.plane_error_degrees[1] >= up[1] > found.plane_error_degrees[0]


def test_every_system_is_weighed_as_if_it_were_alone(prepared, rows, smoggy):
    given = np.concatenate([rows, np.zeros_like(rows[:1])])
    given[-1, prepared.slot] = smoggy
    points = np.repeat(POINT, len(given), axis=0)
    model = modelled_power(points, prepared)
    together = find_clear_days(lay_out(given, prepared.slot, prepared.begins), model, prepared)
    assert len(np.unique(together.clear)) == len(given)
    for place in range(len(given)):
        readings = lay_out(given[place : place + 1], prepared.slot, prepared.begins)
        alone = find_clear_days(readings, model[place : place + 1], prepared)
        for ours, theirs in zip(together, alone, strict=True):
            np.testing.assert_array_equal(ours[place], theirs[0])
