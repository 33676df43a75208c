from __future__ import annotations

from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from engine_makers import flags, row_of

from sunveil.engine import InferOptions, infer_generation, make_sky_table, reason
from sunveil.engine.plausibility import has_unlikely_unit, name_likelier_unit, note_on_unit
from sunveil.errors import SunveilError
from sunveil.estimates import Flag
from sunveil.estimates.flags_and_quality import (
    EXPORTED_ONLY,
    INFERRED,
    NO_FIT,
    NO_WEATHER,
    NOT_GENERATION,
    NOT_NET,
    TOO_LITTLE,
    WRONG_PLACE,
)
from sunveil.simulate import Tracker, tracking, western_horizon
from sunveil.site import Site, TimeGrid

HOURS = np.arange(8760)
# Denver's clock is seven hours behind UTC.
LOCAL = (HOURS - 7) % 24


@pytest.fixture(scope="module")
def household():
    """A household's load, hour by hour: a base, mornings, evenings, and now and then a machine."""
    rng = np.random.default_rng(17)
    load = rng.uniform(0.2, 0.4, 8760)
    for middle, height in ((7.5, 0.8), (19.5, 1.5)):
        load += height * np.exp(-(((LOCAL - middle) / 1.8) ** 2)) * rng.gamma(2.0, 0.5, 8760)
    load += np.where(rng.random(8760) < 0.12, rng.uniform(1.0, 3.0, 8760), 0.0) * (LOCAL > 6)
    return load.astype(np.float32)


@cache
def sky_at(latitude, longitude):
    first = int(pd.Timestamp("2019-01-01", tz="UTC").timestamp())
    return make_sky_table(Site(latitude, longitude, 100.0), TimeGrid(first, 3600, 8760))


def outcome_of(row, sky):
    return int(infer_generation(np.asarray(row, dtype=np.float32)[None], sky).outcome[0])


def noise():
    return np.random.default_rng(3).random(8760)


def temperature():
    year, day = 2.0 * np.pi * HOURS / 8760.0, 2.0 * np.pi * (LOCAL - 15.0) / 24.0
    weather = np.random.default_rng(4).normal(0.0, 2.0, 8760)
    return np.maximum(10.0 - 12.0 * np.cos(year) + 6.0 * np.cos(day) + weather, 0.0)


def square_wave():
    return np.where((LOCAL >= 8) & (LOCAL < 17), 2.0, 0.0)


def noise_by_day():
    return np.where((LOCAL >= 8) & (LOCAL < 16), noise(), 0.0)


@pytest.mark.parametrize(
    "series", [noise, temperature, square_wave, noise_by_day, lambda: np.full(8760, 3.0)]
)
def test_what_is_no_generation_is_refused_and_inferred_with_a_flag_if_forced(denver, series):
    assert outcome_of(series(), denver) == NOT_GENERATION
    rows = series().astype(np.float32)[None]
    forced = infer_generation(rows, denver, options=InferOptions(force=True))
    assert forced.outcome[0] in (INFERRED, NO_FIT)
    assert Flag.NOT_GENERATION in flags(forced, 0)


def test_a_load_is_refused_and_so_is_one_shifted_by_half_a_day(denver, household):
    assert outcome_of(household, denver) == NOT_GENERATION
    assert outcome_of(np.roll(household, 12), denver) == NOT_GENERATION


def test_a_count_of_the_day_is_refused(denver, rows):
    days = np.roll(rows[0], -7)[: 364 * 24].reshape(364, 24).cumsum(axis=1).ravel()
    counted = np.full(8760, np.nan, dtype=np.float32)
    counted[7 : 7 + len(days)] = days
    assert outcome_of(counted, denver) in (NOT_GENERATION, WRONG_PLACE)


def test_what_a_household_leaves_over_is_refused(denver, rows, household):
    left = np.maximum(rows[0] - household, 0.0)
    assert outcome_of(left, denver) == EXPORTED_ONLY
    forced = infer_generation(left[None], denver, options=InferOptions(force=True))
    assert Flag.EXPORTED_ONLY in flags(forced, 0)
    assert np.isfinite(forced.dc_capacity_kw[0])


def test_a_meter_that_counts_in_coarse_steps_is_not_taken_for_one_of_what_is_left(denver, rows):
    steps = np.diff(np.floor(np.cumsum(rows[0])), prepend=0.0).astype(np.float32)
    assert outcome_of(steps, denver) == INFERRED


@pytest.mark.parametrize(
    "place", [(-39.7, -105.0), (0.0, 0.0), (0.0, -105.0), (12.0, 40.0), (-80.0, 40.0), (90.0, 0.0)]
)
def test_another_place_is_refused_and_inferred_with_a_flag_if_forced(rows, place):
    found = infer_generation(rows, sky_at(*place))
    assert (found.outcome == WRONG_PLACE).all()
    assert np.isnan(found.dc_capacity_kw).all()
    assert not found.flags.any()
    forced = infer_generation(rows[:1], sky_at(*place), options=InferOptions(force=True))
    assert Flag.WRONG_PLACE in flags(forced, 0)


def test_a_place_where_the_sun_does_not_rise_is_told_as_that(denver, rows):
    night = make_sky_table(Site(80.0, 20.0, 0.0), TimeGrid(denver.grid.first, 3600, 480))
    assert outcome_of(rows[0, :480], night) == NO_WEATHER
    assert "check latitude" in reason(NO_WEATHER, 0, source=night.source)


def test_a_place_some_degrees_away_is_none_of_its_business(rows):
    for latitude in (33.0, 46.0):
        assert (infer_generation(rows, sky_at(latitude, -105.0)).outcome == INFERRED).all()


def test_trackers_steep_walls_horizons_and_clipped_systems_are_generation(denver, power_of):
    powers = [power_of(*plane) for plane in ((90.0, 90.0), (0.0, 90.0), (180.0, 90.0), (0.0, 0.0))]
    powers.append(power_of(change=partial(tracking, tracker=Tracker())))
    powers.append(power_of(horizon=western_horizon(30.0)))
    powers.append(power_of().clip(upper=2.0))
    rows = np.stack([row_of(power, denver.grid) for power in powers])
    assert infer_generation(rows, denver).outcome.tolist() == [INFERRED] * len(rows)


def test_outages_snow_gaps_and_a_meter_s_own_consumption_are_no_reason(denver, rows):
    given = np.repeat(rows[:1], 4, axis=0)
    given[0, 2000:6000] = 0.0
    given[1, np.random.default_rng(1).random(8760) < 0.4] = np.nan
    given[2] = np.maximum(given[2], 0.015 * np.nanmax(given[2]))
    given[3, :3000] = np.nan
    assert infer_generation(given, denver).outcome.tolist() == [INFERRED] * 4


@pytest.mark.parametrize("days", [20, 60])
def test_short_records_of_winter_are_not_taken_for_others(denver, rows, days):
    short = rows.copy()
    short[:, 24 * days :] = np.nan
    assert (infer_generation(short, denver).outcome == INFERRED).all()


def test_a_capacity_known_to_no_better_than_a_factor_of_thirty_is_none(denver, rows):
    scarce = np.zeros((2, 8760), dtype=np.float32)
    for row, days in zip(scarce, (8, 2), strict=True):
        row[4000 : 4000 + 24 * days] = rows[0, 4000 : 4000 + 24 * days]
    assert infer_generation(scarce, denver).outcome.tolist() == [NO_FIT, TOO_LITTLE]


@pytest.mark.parametrize("latitude", [-90.0, -66.56, 0.0, 66.56, 90.0])
@pytest.mark.parametrize("days", [1, 10, 365])
def test_any_place_and_length_ends_in_an_outcome(denver, rows, latitude, days):
    grid = TimeGrid(denver.grid.first, 3600, 24 * days)
    given = np.stack([rows[0], np.ones(8760), np.zeros(8760), noise()]).astype(np.float32)
    found = infer_generation(given[:, : 24 * days], make_sky_table(Site(latitude, 10.0, 0.0), grid))
    inferred = found.outcome == INFERRED
    assert np.isfinite(found.dc_capacity_kw_high[inferred]).all()
    assert (found.dc_capacity_kw_low[inferred] > 0.0).all()
    assert (found.outcome[1:3] != INFERRED).all()


@pytest.mark.parametrize("outcome", [NOT_GENERATION, EXPORTED_ONLY, WRONG_PLACE, NOT_NET])
def test_a_reason_is_one_sentence_that_names_the_remedy(outcome):
    told = str(SunveilError(reason(outcome, 4000, source="clearsky")))
    assert "option `force`" in told
    assert "." not in told
    assert "4000" not in told


@pytest.mark.parametrize(
    ("capacity", "unsaid", "said"),
    [
        (0.006, True, True),
        (0.3, False, False),
        (6.4, False, False),
        (271.0, False, False),
        (6439.0, True, False),
        (35_000.0, False, False),
        (600_000.0, True, True),
    ],
)
def test_a_capacity_is_asked_about_where_another_unit_makes_a_home_of_it(capacity, unsaid, said):
    assert has_unlikely_unit(np.array([capacity])) == said
    assert bool(note_on_unit(capacity, "kW", unit_known=False)) == unsaid
    assert bool(note_on_unit(capacity, "kW", unit_known=True)) == said


@pytest.mark.parametrize(
    ("capacity", "unit", "words"),
    [
        (0.006, "W", "would be 6 kW if the readings were in kW rather than W"),
        (0.0047, "kWh", "would be 4.7 kW if the readings were in MWh rather than kWh"),
        (6439.0, "kW", "would be 6.44 kW if the readings were in W rather than kW"),
        (700_000.0, "W", "check that the readings are in W"),
        (0.001, "MW", "check that the readings are in MW"),
    ],
)
def test_the_note_names_the_unit_that_makes_sense(capacity, unit, words):
    assert words in name_likelier_unit(capacity, unit)
