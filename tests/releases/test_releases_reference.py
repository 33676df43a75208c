from __future__ import annotations

import numpy as np
import pytest

from sunveil.errors import ParameterError
from sunveil.privacy.units import Days, Readings, System
from sunveil.releases.reference import expected_errors, make_reference


@pytest.fixture(scope="module")
def reference(golden_site, choices):
    return make_reference(golden_site, measured=False, days=40, choices=choices, systems=2)


@pytest.mark.parametrize("unit", [Readings(1), Days(1)])
def test_more_epsilon_means_less_error(reference, unit):
    found = [expected_errors(reference, unit=unit, epsilon=e) for e in (0.01, 0.2, 5.0)]
    for part in ("azimuth", "tilt", "capacity"):
        means = [getattr(each, part).mean for each in found]
        assert means == sorted(means, reverse=True)
    assert found[-1].azimuth.mean < 20.0
    assert found[0].azimuth.mean > 2.0 * found[-1].azimuth.mean


def test_a_whole_record_costs_far_more_error_than_a_reading(reference):
    system = expected_errors(reference, unit=System(), epsilon=4.0)
    reading = expected_errors(reference, unit=Readings(1), epsilon=4.0)
    assert system.azimuth.mean > 21.45 > 2.0 * reading.azimuth.mean
    assert system.azimuth.within > system.azimuth.mean
    assert "2 simulated systems" in system.basis


def test_the_default_mechanism_expects_less_error_than_the_exponential(reference):
    default = expected_errors(reference, unit=Readings(1), epsilon=0.1)
    other = expected_errors(reference, unit=Readings(1), epsilon=0.1, exponential=True)
    assert default.azimuth.mean < other.azimuth.mean


def test_a_reference_depends_on_its_seed_and_place_only(golden_site, choices, reference):
    same = make_reference(golden_site, measured=False, days=40, choices=choices, systems=2)
    other = make_reference(golden_site, measured=False, days=40, choices=choices, systems=2, seed=9)
    one = expected_errors(reference, unit=Readings(1), epsilon=1.0)
    assert one == expected_errors(same, unit=Readings(1), epsilon=1.0)
    assert one != expected_errors(other, unit=Readings(1), epsilon=1.0)


def test_a_reference_has_the_days_and_intervals_that_were_asked_for(golden_site, choices):
    for asked, given in ((60.0, 60.0), (30.0, 30.0), (20.0, 15.0), (5.0, 15.0)):
        found = make_reference(
            golden_site,
            measured=True,
            days=3,
            interval_minutes=asked,
            choices=choices,
            systems=1,
        )
        (record,) = found.records
        assert record.interval_minutes == given
        assert record.times[-1] - record.times[0] < np.timedelta64(3, "D")
        assert len(record.times) > 2.9 * 1440.0 / given


@pytest.mark.parametrize(("days", "systems"), [(0, 1), (-1, 1), (10, 0)])
def test_a_reference_of_nothing_is_refused(golden_site, days, systems):
    with pytest.raises(ParameterError, match="at least one day and one system"):
        make_reference(golden_site, measured=False, days=days, systems=systems)
