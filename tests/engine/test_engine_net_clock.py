from __future__ import annotations

import numpy as np
import pytest
from net_makers import ZONE, cells_of, load_of

from sunveil.engine import SAVINGS, Clock, InferOptions, SkyTable, infer_net_block
from sunveil.engine.clock_faults import relaid
from sunveil.engine.net_fit import fit_net
from sunveil.engine.net_meters import FEWEST_WEEKS, likelihood_by_week, standard_errors, whole_days
from sunveil.engine.shading import PreparedSky
from sunveil.estimates import Flag
from sunveil.estimates.flags_and_quality import flags_of
from sunveil.estimates.planes_and_intervals import ClockHypothesis, DaylightSaving


@pytest.fixture(scope="module")
def net(rows: np.ndarray, prepared: PreparedSky) -> np.ndarray:
    return (rows[0] - load_of(prepared)).astype(np.float32)


def stamped(net: np.ndarray, prepared: PreparedSky, undone: ClockHypothesis) -> np.ndarray:
    """Return readings on the clock that a hypothesis would undo the opposite of."""
    return relaid(net[None, :], undone, prepared.calendars(ZONE)[1], 3600)


def test_an_hour_is_found_and_repaired(
    net: np.ndarray, denver: SkyTable, prepared: PreparedSky
) -> None:
    late = stamped(net, prepared, ClockHypothesis(-60.0))
    given = infer_net_block(late, denver, options=InferOptions(clock=Clock.GIVEN), timezone=ZONE)
    assert given.surface_azimuth[0] > 200.0
    assert Flag.CLOCK_REPAIRED not in flags_of(int(given.flags[0]))
    found = infer_net_block(late, denver, timezone=ZONE)
    assert found.clock_offset_minutes[0] == 60.0
    assert found.surface_azimuth[0] == pytest.approx(180.0, abs=8.0)
    assert Flag.CLOCK_REPAIRED in flags_of(int(found.flags[0]))
    assert found.clock_gain[0] > 0.0


def test_daylight_saving_left_in_is_found(
    net: np.ndarray, denver: SkyTable, prepared: PreparedSky
) -> None:
    undone = ClockHypothesis(0.0, DaylightSaving.APPLIED_TWICE)
    found = infer_net_block(stamped(net, prepared, undone), denver, timezone=ZONE)
    assert SAVINGS[found.clock_daylight_saving[0]] is DaylightSaving.LEFT_IN
    assert found.clock_offset_minutes[0] == 0.0
    assert found.surface_azimuth[0] == pytest.approx(180.0, abs=8.0)


def test_a_right_clock_stays(net: np.ndarray, denver: SkyTable) -> None:
    found = infer_net_block(net[None, :], denver, timezone=ZONE)
    assert found.clock_offset_minutes[0] == 0.0
    assert found.clock_daylight_saving[0] == 0
    assert Flag.CLOCK_REPAIRED not in flags_of(int(found.flags[0]))


def test_all_readings_count_day_and_night(net: np.ndarray, prepared: PreparedSky) -> None:
    cells = cells_of(prepared)
    fit = fit_net(net, prepared, cells)
    before = likelihood_by_week(net, fit.readings, fit.state, prepared, cells)
    changed = net.copy()
    # export at midnight, which nothing explains
    night = cells.night[len(cells.night) // 2]
    changed[night] = 3.0
    lost = before - likelihood_by_week(changed, fit.readings, fit.state, prepared, cells)
    assert np.count_nonzero(lost) == 1
    assert lost.max() > 2.0
    # of some days as many are looked at
    assert len(whole_days(prepared, 6).places) < len(net) / 5


def test_few_weeks_decide_nothing() -> None:
    weeks = np.tile([1.0, 2.0], 20)
    assert standard_errors(weeks) > 3.0
    assert standard_errors(-weeks) < -3.0
    assert standard_errors(weeks[: FEWEST_WEEKS + 1]) == -np.inf
