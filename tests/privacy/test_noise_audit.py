from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.stats import norm

from sunveil.errors import ParameterError
from sunveil.privacy import noise_audit
from sunveil.privacy.concentrated import rho_to_epsilon
from sunveil.privacy.counting import Counts, DiscreteGaussian, DiscreteLaplace, Sensitivity
from sunveil.privacy.noise_audit import (
    NoiseNeighbours,
    audit_gaussian,
    audit_noise,
    gaussian_delta,
)

ROW, SIX, TOTAL = NoiseNeighbours(2, 1), NoiseNeighbours(6, 1), NoiseNeighbours(1, 300)


class HalfScale(DiscreteGaussian):
    """Noise of half the deviation that its ρ needs."""

    __slots__ = ()

    def scale(self, sensitivity: Sensitivity) -> float:
        return DiscreteGaussian(self.rho).scale(sensitivity) / 2.0


class OneCellOnly(DiscreteGaussian):
    """Forgets that a replaced row moves two cells."""

    __slots__ = ()

    def scale(self, sensitivity: Sensitivity) -> float:
        return DiscreteGaussian(self.rho).scale(Sensitivity(1, 1))


class DrawsTooNarrow(DiscreteGaussian):
    """States the right law and draws from one that is a fifth narrower."""

    __slots__ = ()

    def draw(self, counts: Counts) -> np.ndarray:
        return DiscreteGaussian(self.rho / 0.8**2).draw(counts)


@pytest.mark.parametrize("neighbours", [ROW, SIX, TOTAL], ids=str)
@pytest.mark.parametrize("rho", [0.005, 0.1, 1.0])
def test_gaussian_noise_holds_and_nearly_reaches_its_claim(rho, neighbours):
    found = audit_gaussian(DiscreteGaussian(rho), neighbours)
    assert found.holds
    assert found.largest >= 0.97 * rho
    assert 0.02 < found.share_of_delta <= 1.0
    assert json.loads(json.dumps(found.to_dict()))["holds"] is True


@pytest.mark.parametrize("planted", [HalfScale, OneCellOnly])
@pytest.mark.parametrize("rho", [0.005, 0.1, 1.0])
def test_noise_of_a_wrong_scale_is_caught_by_sums(planted, rho):
    found = audit_gaussian(planted(rho), ROW)
    assert not found.holds
    assert found.largest > 1.5 * rho


def test_a_conversion_that_says_too_little_is_caught(monkeypatch):
    def careless(rho: float, delta: float) -> float:
        return 0.8 * rho_to_epsilon(rho, delta)

    monkeypatch.setattr(noise_audit, "rho_to_epsilon", careless)
    found = audit_gaussian(DiscreteGaussian(0.1), ROW)
    assert found.largest <= 0.1 * (1 + 1e-9)
    assert found.share_of_delta > 1.0
    assert not found.holds


@pytest.mark.parametrize("delta", [1e-12, 1e-9, 1e-6, 1e-3, 1e-2])
@pytest.mark.parametrize("rho", [1e-6, 1e-3, 0.1, 1.0, 10.0, 200.0])
def test_the_conversion_is_never_below_the_true_delta_of_the_continuous_gaussian(rho, delta):
    epsilon, apart = rho_to_epsilon(rho, delta), math.sqrt(2.0 * rho)
    # Balle and Wang 2018, theorem 8
    first = norm.logcdf(apart / 2.0 - epsilon / apart)
    second = epsilon + norm.logcdf(-apart / 2.0 - epsilon / apart)
    true = math.exp(first) - math.exp(second)
    assert true <= delta
    # and not by orders of magnitude, but where ε is 0 already
    assert epsilon == 0.0 or true > 0.02 * delta


def test_the_delta_of_wide_noise_is_that_of_the_continuous_gaussian():
    mechanism, epsilon = DiscreteGaussian(0.1), 1.5
    apart = math.sqrt(0.2)
    exact = norm.cdf(apart / 2 - epsilon / apart) - math.exp(epsilon) * norm.cdf(
        -apart / 2 - epsilon / apart
    )
    for neighbours in (NoiseNeighbours(1, 300), NoiseNeighbours(2, 60)):
        found = gaussian_delta(mechanism, neighbours, epsilon=epsilon)
        assert found == pytest.approx(exact, rel=1e-2)


@pytest.mark.parametrize(
    "mechanism", [DiscreteGaussian(0.5), DiscreteGaussian(0.01), DiscreteLaplace(1.0)], ids=str
)
def test_the_samplers_of_noise_draw_their_law(mechanism):
    found = audit_noise(mechanism, ROW.sensitivity, 1500)
    assert found.holds
    assert found.cells > 3
    assert found.unit == "a system's whole record"
    assert found.mechanism == type(mechanism).__name__


def test_draws_that_are_a_fifth_too_narrow_are_caught():
    """The statistic is near 390 on average and the alarm at 102: missed once in 10²² runs."""
    assert not audit_noise(DrawsTooNarrow(0.02), ROW.sensitivity, 5000, name="planted").holds


def test_noise_too_wide_to_sum_is_refused():
    with pytest.raises(ParameterError, match="not audited by sums"):
        audit_gaussian(DiscreteGaussian(1e-9), NoiseNeighbours(1, 25_000))
