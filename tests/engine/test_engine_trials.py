from __future__ import annotations

import numpy as np
import pytest

from sunveil.engine.clock_faults import decide, unexplained
from sunveil.estimates.planes_and_intervals import DECLARED, ClockHypothesis

HOUR, HALF = ClockHypothesis(60.0), ClockHypothesis(30.0)
INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    ("hypotheses", "shares", "left", "short", "best"),
    [
        # explains more, and the light
        ([DECLARED, HOUR], [0.5, 0.8], [60.0, 3.0], False, 1),
        # explains somewhat less energy, but the light: planes turn to fit a wrong clock
        ([DECLARED, HOUR], [0.8, 0.7], [60.0, 3.0], False, 1),
        # far less energy is not as good, whatever the light
        ([DECLARED, HOUR], [0.8, 0.6], [50.0, 0.0], False, 0),
        # hardly more light than the declared one
        ([DECLARED, HOUR], [0.5, 0.8], [8.0, 4.5], False, 0),
        # a quarter of an hour off to one side or the other
        ([DECLARED, HALF], [0.5, 0.5], [15.0, 9.8], False, 0),
        # the declared one explains the light
        ([DECLARED, HOUR], [0.8, 0.8], [5.0, 60.0], False, 0),
        # half an hour is rare where intervals are short
        ([DECLARED, HALF, HOUR], [0.8, 0.8, 0.8], [23.0, 7.0, 40.0], True, 0),
        ([DECLARED, HALF, HOUR], [0.8, 0.8, 0.8], [23.0, 7.0, 40.0], False, 1),
        ([DECLARED, HALF, HOUR], [0.8, 0.8, 0.8], [40.0, 3.0, 30.0], True, 1),
        ([DECLARED, HALF, HOUR], [0.8, 0.8, 0.8], [60.0, 40.0, 9.0], True, 2),
        # whole hours are common faults, and half ones must explain far more
        ([DECLARED, HOUR, HALF], [0.8, 0.8, 0.8], [70.0, 9.0, 6.0], True, 1),
        ([DECLARED, HOUR, HALF], [0.8, 0.8, 0.8], [70.0, 9.0, 6.0], False, 1),
        ([DECLARED, HOUR, HALF], [0.8, 0.8, 0.8], [70.0, 9.0, 4.0], False, 2),
        # a repair that does not explain the light is none
        ([DECLARED, HOUR, HALF], [0.8, 0.8, 0.8], [70.0, 12.0, 11.0], False, 0),
        ([DECLARED, HOUR, HALF], [0.8, 0.8, 0.8], [70.0, 12.0, 5.0], False, 2),
        # nothing is known of the light under the other
        ([DECLARED, HOUR], [0.5, 0.8], [INF, INF], False, 0),
    ],
)
def test_evidence_decides_between_clocks(hypotheses, shares, left, short, best):
    assert decide(hypotheses, np.array(shares), np.array(left), short=short) == best


def test_the_worst_season_counts():
    right, fast, saved, hill = [0.0, 0.0], [60.0, 60.0], [30.0, 30.0], [40.0, 0.0]
    seasons = np.array([[right, fast, right, hill], [right, fast, saved, hill]]).transpose(0, 2, 1)
    left = unexplained(np.array([seasons[0], seasons[0], seasons[1]]))
    assert left.tolist() == [0.0, 90.0, 45.0, 10.0]


def test_too_few_days_leave_all_unexplained():
    known, unknown = [4.0, 4.0], [NAN, NAN]
    leads = np.array([[known, unknown], [unknown, unknown], [known, unknown]]).transpose(0, 2, 1)
    assert unexplained(leads).tolist() == [6.0, INF]
