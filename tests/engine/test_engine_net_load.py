from __future__ import annotations

import numpy as np
import pytest
from net_makers import cells_of, load_of

from sunveil.engine.net_load import CELLS, load_cells, load_from, night_loads
from sunveil.engine.shading import PreparedSky
from sunveil.estimates.planes_and_intervals import HOURS


def test_cells_follow_the_clock_people_live_by(prepared: PreparedSky) -> None:
    long = prepared.sky.grid.long
    own, utc = cells_of(prepared), load_cells(prepared, "UTC")
    # a clock of UTC is no household's: by the sun and the daylight saving of the place
    np.testing.assert_array_equal(own.usable % HOURS, utc.usable % HOURS)
    hour = (long.starts[prepared.slot] // 3600 - 7) % 24
    saved = (own.usable % HOURS - hour) % 24
    assert set(saved.tolist()) == {0, 1}
    # the hours of the first day are those of winter
    assert own.usable[0] // HOURS == 0


def test_nights_show_the_load(prepared: PreparedSky) -> None:
    load = load_of(prepared, mean=0.8, width=0.4)
    found = load_from(night_loads(-load.astype(np.float32), cells_of(prepared)).sums, np.log(0.3))
    seen = found.centre.reshape(-1, HOURS)[:, [1, 2, 3]]
    assert np.exp(seen + 0.5 * 0.4**2) == pytest.approx(0.8, rel=0.2)
    assert found.width.mean() == pytest.approx(0.4, abs=0.08)


def test_nights_show_weeks_of_higher_load(prepared: PreparedSky) -> None:
    load, cells = load_of(prepared), cells_of(prepared)
    load[2000:3000] *= 3.0
    level = night_loads(-load.astype(np.float32), cells).level
    inside = (prepared.slot > 2200) & (prepared.slot < 2800)
    outside = (prepared.slot < 1800) | (prepared.slot > 3200)
    assert np.median(level[inside]) - np.median(level[outside]) == pytest.approx(1.0, abs=0.15)


def test_a_meter_of_exports_alone_shows_no_load_at_night(prepared: PreparedSky) -> None:
    nights = night_loads(np.zeros(prepared.sky.grid.count, np.float32), cells_of(prepared))
    assert not nights.sums.any()
    assert not nights.level.any()
    found = load_from(nights.sums, np.log(0.3))
    np.testing.assert_allclose(np.exp(found.centre), np.full(CELLS, 0.3))
