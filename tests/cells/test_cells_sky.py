from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sunveil.cells import Cell, cell_of, make_cell_sky
from sunveil.timegrid import TimeGrid
from sunveil.cells.sky import ENOUGH, LOWEST, _by_height
from sunveil.cells.sun import seen_from
from sunveil.cells.tables import (
    DNI,
    GHI,
    HAZE_LOW,
    HAZE_STEP,
    LANES,
    LEVELS,
    in_blocks,
    spread_out,
    take,
)
from sunveil.errors import ParameterError
from sunveil.sky import sky_at
from sunveil.weather import clearsky

FIRST = int(pd.Timestamp("2019-01-01", tz="UTC").timestamp())
YEAR = TimeGrid(FIRST, 3600, 8760)
DENVER = cell_of(39.74, -104.99, 1609.0)


@pytest.mark.parametrize(
    ("latitude", "longitude"), [(39.74, -104.99), (-33.91, 151.24), (51.51, -0.04), (-0.04, 179.97)]
)
def test_a_place_lies_within_its_cell(latitude: float, longitude: float) -> None:
    site = cell_of(latitude, longitude).site
    assert abs(site.latitude - latitude) <= 0.05 + 1e-9
    assert abs((site.longitude - longitude + 180.0) % 360.0 - 180.0) <= 0.05 + 1e-9


def test_the_date_line_does_not_split_a_cell() -> None:
    assert cell_of(10.0, 179.99) == cell_of(10.0, -179.99)


def test_known_altitudes_part_cells_and_unknown_ones_do_not() -> None:
    assert cell_of(46.0, 7.0, 400.0) != cell_of(46.0, 7.0, 2400.0)
    assert cell_of(46.0, 7.0, 400.0).site.altitude == 500.0
    assert cell_of(46.0, 7.0) == cell_of(46.02, 6.98)


def test_a_cell_of_no_size_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"0\.01 to 2 degrees"):
        cell_of(10.0, 10.0, size=0.0)


def test_short_intervals_are_averaged_to_half_hours() -> None:
    axis = TimeGrid(FIRST + 900, 900, 8)
    assert axis.per_long == 2
    assert axis.lead == 1
    assert axis.long == TimeGrid(FIRST, 1800, 5)
    assert YEAR.long == YEAR
    assert TimeGrid(FIRST, 20 * 60, 3).long.step == 1200


@pytest.mark.parametrize(("step", "count"), [(30, 5), (7200, 5), (3600, 0)])
def test_an_axis_that_cannot_be_is_refused(step: int, count: int) -> None:
    with pytest.raises(ParameterError):
        TimeGrid(FIRST, step, count)


def test_the_sky_of_a_cell_is_the_clear_sky_of_its_centre() -> None:
    sky = make_cell_sky(DENVER, YEAR)
    weather = clearsky(sky.site, "2018-12-31", "2020-01-02")
    nodes = [(1.0 + side / np.sqrt(3.0)) / 2.0 for side in (-1.0, 1.0)]
    starts = YEAR.starts[sky.slot[: sky.usable]]
    others = [sky_at(weather, (starts + round(node * 3600)).view("M8[s]")).ghi for node in nodes]
    # the weather's own table has a value every 15 minutes, and a straight line between
    np.testing.assert_allclose(sky.ghi[: sky.usable], np.mean(others, axis=0), atol=3.0)
    level = round(-HAZE_LOW / HAZE_STEP)
    block, lane = 20, 7
    node = (1.0 - 1.0 / np.sqrt(3.0)) / 2.0
    when = YEAR.starts[sky.slot[block * LANES + lane]] + round(node * 3600)
    there = sky_at(weather, np.array([when]).view("M8[s]"))
    assert sky.sheet[block, DNI + 2 * level, lane] == pytest.approx(there.dni[0], abs=4.0)
    assert sky.sheet[block, GHI + 2 * level, lane] == pytest.approx(there.ghi[0], abs=4.0)


def test_intervals_with_the_sun_well_up_come_first_in_the_order_of_time() -> None:
    sky = make_cell_sky(DENVER, YEAR)
    assert 0 < sky.usable < len(sky.slot)
    assert (np.diff(sky.slot[: sky.usable]) > 0).all()
    assert sky.sun[:, 2].min() > np.sin(np.radians(2.99))
    assert abs(len(sky.few_at) - ENOUGH) < 10
    assert sky.few.shape[0] == -(-len(sky.few_at) // LANES)


def test_haze_dims_the_beam_level_by_level() -> None:
    sky = make_cell_sky(DENVER, TimeGrid(FIRST, 3600, 24 * 30))
    beam = sky.sheet[0, DNI : DNI + 2 * LEVELS : 2, 4]
    assert (np.diff(beam) < 0.0).all()


@pytest.mark.parametrize("share", [0.36, 0.12, 0.95])
def test_what_is_taken_of_all_is_evenly_spread(share: float) -> None:
    # twelve hours of each day
    slot = np.flatnonzero((np.arange(8760) % 24 >= 6) & (np.arange(8760) % 24 < 18)).astype(
        np.int32
    )
    places = spread_out(slot, 400_000, share)
    assert abs(len(places) - share * len(slot)) <= 5
    assert (np.diff(places) > 0).all()
    assert np.diff(places).max() <= 3.0 / share
    hours = np.bincount(slot[places] % 24, minlength=24)[6:18]
    assert np.abs(12.0 * hours / len(places) - 1.0).max() < 0.15


def test_what_is_taken_depends_on_its_time_alone() -> None:
    slot = np.arange(3000, dtype=np.int32)
    some, few = spread_out(slot, 5000, 0.4), spread_out(slot, 5000, 0.1)
    assert set(few.tolist()) < set(some.tolist())
    later = spread_out(slot[:2900], 5100, 0.4)
    np.testing.assert_array_equal(later + 100, some[some >= 100])
    np.testing.assert_array_equal(spread_out(slot, 5000, 1.0), slot)


def test_a_thinner_sky_has_some_of_the_intervals_alone() -> None:
    whole = make_cell_sky(DENVER, YEAR)
    thinner = whole.again(YEAR, only_some=True)
    np.testing.assert_array_equal(thinner.slot, whole.slot[whole.some_at])
    np.testing.assert_allclose(thinner.sheet, whole.some, rtol=1e-6)


def test_weather_that_is_not_known_leaves_intervals_out() -> None:
    seen = seen_from(DENVER.site, YEAR)
    known = np.arange(len(seen.slot)) % 3 > 0
    order, usable = _by_height(seen, known)
    high = seen.middle[2] > LOWEST
    np.testing.assert_array_equal(order[:usable], np.flatnonzero(high & known))
    np.testing.assert_array_equal(order[usable:], np.flatnonzero(~high & known))


def test_another_axis_gives_another_sky_of_the_same_cell() -> None:
    whole = make_cell_sky(DENVER, YEAR)
    moved = whole.again(YEAR.moved(-1800))
    assert moved.cell == whole.cell
    assert moved.axis.first == whole.axis.first - 1800


def test_blocks_keep_every_number_and_pad_with_zeros() -> None:
    flat = np.arange(3 * 100, dtype=np.float32).reshape(3, 100)
    blocks = in_blocks(flat)
    assert blocks.shape == (2, 3, LANES)
    np.testing.assert_array_equal(blocks[1, 2, :36], flat[2, 64:])
    assert (blocks[1, :, 36:] == 0.0).all()
    chosen = np.array([5, 70, 99])
    np.testing.assert_array_equal(take(blocks, chosen)[0, :, :3], flat[:, chosen])


def test_cells_can_be_told_apart_and_kept_in_sets() -> None:
    assert len({Cell(1, 2), Cell(1, 2), Cell(1, 2, 3)}) == 2
