from __future__ import annotations

import numpy as np
import pytest
from engine_makers import flags, plane_of, point_of, row_of

from sunveil.engine import infer_generation
from sunveil.engine.clear_days import (
    BACKGROUND,
    DULL,
    FEWEST_SMOOTH,
    HIDDEN_TILT,
    SMOGGIER_THAN_SUMMER,
    SMOGGY,
    dull_winters,
    find_clear_days,
)
from sunveil.engine.coarse_search import lay_out, modelled_power, padded
from sunveil.engine.power_model import SEASON
from sunveil.engine.shading import ELEVATION_STEP, FEWEST, find_shade, shares_for
from sunveil.engine.sky_tables import SHARES
from sunveil.estimates import Flag
from sunveil.estimates.planes_and_intervals import AZIMUTH_STEP, COLUMNS
from sunveil.simulate import western_horizon
from sunveil.site import Plane
from sunveil.weather import clearsky

POINT = point_of(180.0, 30.0, 5.0, haze=-0.2, heat=1.25)[None]
# A day of summer, the first of those that other days are compared with.
SUMMER = 170


@pytest.fixture(scope="module")
def model(prepared):
    """The power of one plane at the usable intervals. [kW]"""
    return modelled_power(POINT, prepared)[0, : len(prepared.slot)]


@pytest.fixture(scope="module")
def days(prepared):
    """The usable intervals of each solar day."""
    ends = [*prepared.begins[1:].tolist(), len(prepared.slot)]
    return [slice(*both) for both in zip(prepared.begins.tolist(), ends, strict=True)]


def weigh(power, prepared):
    """Weigh one record of powers at the usable intervals, NaN where there is no reading."""
    row = np.zeros((1, prepared.sky.grid.long.count), dtype=np.float32)
    row[0, prepared.slot] = power
    return find_clear_days(
        lay_out(row, prepared.slot, prepared.begins), modelled_power(POINT, prepared), prepared
    )


def say(found, day):
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
    power[days[SUMMER]][::2] *= 0.75
    found = weigh(power, prepared)
    assert say(found, days[SUMMER]) < 0.1
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


@pytest.mark.parametrize(("level", "counts"), [(0.0, BACKGROUND), (0.01, BACKGROUND), (0.5, 1.0)])
def test_an_outage_counts_next_to_nothing_and_a_dim_season_counts(
    prepared, model, days, level, counts
):
    """Half as bright for weeks: snow, soiling or a dead string are neither clouds nor outages."""
    power = model.copy()
    for day in days[150:220]:
        power[day] *= level
    found = weigh(power, prepared)
    assert [say(found, day) for day in days[170:200]] == pytest.approx([counts] * 30, abs=0.01)
    assert say(found, days[140]) > 0.99


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
def smoggy(prepared, model, days):
    """Two of three winter days smooth and dull."""
    power, season = model.copy(), prepared.sky.rows[SEASON, prepared.begins]
    for number in np.flatnonzero(season > 0.5):
        power[days[number]] *= 1.0 if number % 3 == 0 else 0.6
    return power


@pytest.mark.parametrize(
    ("counts", "smog"),
    [
        ((100, 60, 100, 10), True),
        ((100, 60, 100, 55), False),  # summers are as dull
        ((100, 20, 100, 0), False),
        ((0, 0, 0, 0), False),
        ((FEWEST_SMOOTH, FEWEST_SMOOTH, 100, 0), True),
        ((FEWEST_SMOOTH - 1, FEWEST_SMOOTH - 1, 100, 0), False),
        ((1000, round(1000 * SMOGGY), 0, 0), True),
        ((1000, round(1000 * SMOGGY) - 1, 0, 0), False),
        ((100, 80, 100, round(80 - 100 * SMOGGIER_THAN_SUMMER) + 1), False),
    ],
)
def test_smog_is_many_dull_days_of_winter_and_not_of_summer(counts, smog):
    assert dull_winters(np.array([counts]))[0] == smog


def test_smog_makes_a_tilt_steeper_at_most(denver, prepared, model, smoggy):
    always = 0.6 * model  # as dull in summer: a dead string is no smog
    rows = np.zeros((3, denver.grid.count), dtype=np.float32)
    rows[:, prepared.slot] = np.stack([model, smoggy, always])
    found = infer_generation(rows, denver)
    assert [Flag.SEASONAL_HAZE in flags(found, place) for place in range(3)] == [False, True, False]
    up = found.surface_tilt_high - found.surface_tilt
    down = found.surface_tilt - found.surface_tilt_low
    assert up[1] > up[0] + 0.9 * HIDDEN_TILT
    assert down[1] == pytest.approx(down[0], abs=1.5)
    assert found.surface_tilt_high[1] <= 90.0
    assert found.plane_error_degrees[1] >= up[1] > found.plane_error_degrees[0]


def test_a_skyline_is_as_high_as_the_highest_hidden_patch_from_the_horizon_up():
    """Upwards through patches that are hidden or were not seen, to the first with a bright sun."""
    layers = np.arange(6)
    seen = {
        0: "ddddbb",  # hidden up to 20°
        1: "bddddd",  # the sun shows below: no skyline
        2: "--ddbb",  # nobody saw the lowest patches
        3: "dd--db",  # nor those in the middle
        4: "bbbbbb",
        5: "------",
    }
    patch, power = [], []
    for column, kinds in seen.items():
        for layer in layers:
            if kinds[layer] != "-":
                patch += [layer * COLUMNS + column] * FEWEST
                power += [1.0 if kinds[layer] == "b" else 0.5] * FEWEST
    given = padded(np.array([power], dtype=np.float32))
    there = padded(np.ones((1, len(power)), dtype=np.float32))
    found = find_shade(
        given, there, there, dimmest=np.zeros(1), patch=np.array(patch, dtype=np.int32)
    )
    assert found.skyline[0, :6].tolist() == [20.0, 0.0, 20.0, 25.0, 0.0, 0.0]
    assert not found.skyline[0, 6:].any()


def test_a_known_horizon_is_the_skyline(power_of, denver, rows):
    def hill(azimuth):
        return np.where((azimuth > 240.0) & (azimuth < 300.0), 20.0, 0.0)

    shaded = row_of(power_of(240.0, 25.0, horizon=hill), denver.grid)
    found = infer_generation(np.stack([shaded, rows[0]]), denver)
    sectors = np.arange(COLUMNS) * AZIMUTH_STEP
    behind = (sectors >= 240.0) & (sectors < 300.0)
    # as far up as the sun comes in each sector: in the last, only low in summer
    elevation = np.degrees(np.arcsin(denver.sun[:, 2]))
    sector = (np.degrees(np.arctan2(denver.sun[:, 0], denver.sun[:, 1])) % 360.0) // AZIMUTH_STEP
    highest = np.array([elevation[sector == each].max() for each in np.flatnonzero(behind)])
    expected = np.minimum(20.0, highest)
    np.testing.assert_allclose(found.skyline[0, behind], expected, atol=ELEVATION_STEP)
    # a patch beside the hill may be half hidden
    far = (sectors < 240.0 - AZIMUTH_STEP) | (sectors >= 300.0 + AZIMUTH_STEP)
    assert not found.skyline[0, far].any()
    assert not found.skyline[1].any()
    assert found[1].skyline == ()
    assert found[0].skyline == tuple(found.skyline[0].tolist())


def test_a_plane_behind_a_horizon_is_inferred_without_it(power_of, denver):
    shaded = row_of(power_of(240.0, 25.0, horizon=western_horizon()), denver.grid)
    found = infer_generation(shaded[None], denver)
    assert plane_of(found, 0).angle_to(Plane(240.0, 25.0)) < 2.5
    assert found.dc_capacity_kw[0] == pytest.approx(6.0, rel=0.05)


@pytest.mark.parametrize(
    ("wanted", "available", "share"),
    [(500, 4000, 0.125), (500, 3999, 0.1875), (500, 500, 1.0), (500, 10, 1.0), (500, 0, 1.0),
     (1, 10**9, SHARES[-1])],
)  # fmt: skip
def test_a_share_leaves_readings_enough(wanted, available, share):
    assert shares_for(wanted, np.array([available])).tolist() == [share]
