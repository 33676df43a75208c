from __future__ import annotations

import numpy as np
import pytest

from sunveil.privacy.mechanisms import Axis
from sunveil.releases.expected_errors import (
    ErrorLaws,
    Law,
    azimuth_errors,
    capacity_errors,
    framed_laws,
    window_laws,
)
from sunveil.site import Plane


def test_the_mean_and_what_nine_in_ten_stay_within():
    law = Law(np.array([5.0, 1.0, 3.0]), np.array([0.1, 0.6, 0.3]))
    assert law.mean == pytest.approx(2.0)
    assert law.spread.mean == pytest.approx(2.0)
    assert law.spread.within == 3.0
    assert Law(law.errors, 7.0 * law.probabilities).spread.mean == pytest.approx(2.0)
    assert Law(np.array([2.0]), np.array([1.0])).spread.within == 2.0


def test_pooled_laws_count_equally_whatever_their_totals():
    pooled = Law.pooled(
        [
            Law(np.array([1.0]), np.array([10.0])),
            Law(np.array([3.0, 5.0]), np.array([0.5, 0.5])),
        ]
    )
    assert pooled.mean == pytest.approx((1.0 + 4.0) / 2.0)


def test_a_law_hides_what_it_was_made_of():
    law = Law(np.array([123.456]), np.array([1.0]))
    assert "123" not in repr(law)
    assert "123" not in repr(ErrorLaws(law, law, law))


def test_azimuths_are_compared_the_short_way_round():
    found = azimuth_errors(np.array([0.0, 350.0, 170.0, 190.0]), Plane(10.0, 20.0))
    assert found.tolist() == [10.0, 20.0, 160.0, 180.0]


def test_capacities_are_compared_as_shares():
    assert capacity_errors(np.array([4.0, 5.0, 10.0]), 5.0).tolist() == pytest.approx(
        [20.0, 0.0, 100.0]
    )


def test_the_laws_of_a_frame_are_the_margins_of_its_candidates(frame):
    probabilities = np.zeros(len(frame))
    place = np.ravel_multi_index((0, 40, 7), frame.shape)
    probabilities[place] = 0.75
    probabilities[0] = 0.25
    truth = Plane(frame.grid.surface_azimuth[40], frame.grid.surface_tilt[40])
    capacity = frame.choices.capacities.values
    laws = framed_laws(frame, probabilities, truth, capacity[7])
    azimuth, tilt, share = laws.means
    assert azimuth == pytest.approx(0.25 * azimuth_errors(np.array([180.0]), truth)[0])
    assert tilt == pytest.approx(0.25 * truth.surface_tilt)
    assert share == pytest.approx(25.0 * (1.0 - capacity[0] / capacity[7]))


def test_the_laws_of_a_window_are_the_margins_of_its_axes():
    axes = (Axis(4, 90.0, wraps=True), Axis(3, 45.0), Axis(2, np.log(2.0)))
    probabilities = np.zeros((4, 3, 2))
    probabilities[1, 2, 1] = 0.5
    probabilities[3, 0, 0] = 0.5
    laws = window_laws(axes, probabilities, Plane(90.0, 90.0), 2.0, lowest_kw=1.0)
    assert laws.means == pytest.approx((90.0, 45.0, 25.0))
