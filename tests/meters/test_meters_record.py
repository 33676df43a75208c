"""The record itself: what it refuses, and what it shows."""

from __future__ import annotations

import numpy as np
import pytest

from sunveil.errors import MeterError
from sunveil.meters import Label, Record


def record(**changes):
    """Return a small record, with some of its fields changed."""
    times = np.arange("2016-07-01T10:00", "2016-07-01T11:00", 15, dtype="M8[m]").astype("M8[s]")
    fields = {
        "system_id": "a",
        "times": times,
        "power_kw": np.array([1.0, 2.0, 3.0, 4.0]),
        "interval_minutes": 15.0,
    }
    return Record(**(fields | changes))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"power_kw": np.ones(3)}, "unequal number"),
        ({"times": np.array([], dtype="M8[s]"), "power_kw": np.ones(0)}, "no readings"),
        ({"power_kw": np.array([1.0, np.nan, 1.0, 1.0])}, "not finite"),
        ({"interval_minutes": 0.5}, "1 to 60 minutes"),
        ({"interval_minutes": 90.0}, "1 to 60 minutes"),
        ({"times": np.full(4, np.datetime64("2016-07-01", "s"))}, "do not increase"),
    ],
)
def test_a_record_that_is_none_is_refused(changes, words):
    with pytest.raises(MeterError, match=words):
        record(**changes)


def test_a_record_shows_its_middles_and_its_series():
    made = record()
    assert made.middles[0] == np.datetime64("2016-07-01T10:07:30")
    assert made.to_series().loc["2016-07-01 10:15Z"] == 2.0
    assert [label.fraction for label in Label] == [0.0, 0.5, 1.0]
