from __future__ import annotations

import pytest

from sunveil import Interval, ParameterError


@pytest.mark.parametrize(
    ("interval", "inside", "outside"),
    [
        (Interval(170.0, 190.0), (170.0, 180, 190.0), (169.9, 190.1, 0.0)),
        (Interval(350.0, 20.0), (350.0, 359.0, 0, 20.0), (349.0, 21.0, 180.0)),
        (Interval(0.0, 360.0), (0.0, 123.0, 360.0), (-1.0, 361.0)),
    ],
)
def test_an_interval_tells_what_it_holds_and_may_pass_north(interval, inside, outside):
    assert all(each in interval for each in inside)
    assert not any(each in interval for each in outside)


def test_an_interval_is_asked_for_numbers_only():
    with pytest.raises(ParameterError, match="ask it for one"):
        "180" in Interval(170.0, 190.0)  # noqa: B015


def test_an_interval_does_not_hold_what_is_no_number():
    assert float("nan") not in Interval(170.0, 190.0)
