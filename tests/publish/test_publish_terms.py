from __future__ import annotations

import pytest

from sunveil.errors import ParameterError
from sunveil.ledger import Promise
from sunveil.privacy import Days, Readings, System
from sunveil.releases.fleet_releases import ReleaseTerms

PURE, WITH_DELTA = Promise(Readings(1), 4.0), Promise(Readings(1), 4.0, 1e-6)


@pytest.mark.parametrize("unit", [Readings(1), Days(1)], ids=str)
def test_the_promise_decides_the_default_mechanism_of_a_part_of_a_record(unit):
    assert ReleaseTerms.of(unit, 0.1).mechanism == "permute-and-flip"
    assert ReleaseTerms.of(unit, 0.1, promise=PURE).mechanism == "permute-and-flip"
    terms = ReleaseTerms.of(unit, 0.1, promise=WITH_DELTA)
    assert terms.mechanism == "exponential"
    assert terms.guarantee.proof == "docs/proofs/exponential.md"


def test_the_default_under_a_delta_costs_a_quarter():
    default = ReleaseTerms.of(Readings(1), 0.2, promise=WITH_DELTA)
    other = ReleaseTerms.of(Readings(1), 0.2, mechanism="permute-and-flip", promise=WITH_DELTA)
    costs = [WITH_DELTA.cost(each.guarantee, mechanism=each.mechanism) for each in (default, other)]
    assert costs == [5_000_000, 20_000_000]


@pytest.mark.parametrize("name", ["permute-and-flip", "exponential"])
@pytest.mark.parametrize("promise", [None, PURE, WITH_DELTA], ids=["none", "pure", "delta"])
def test_a_mechanism_that_is_asked_for_is_used(promise, name):
    assert ReleaseTerms.of(Days(1), 0.1, mechanism=name, promise=promise).mechanism == name


@pytest.mark.parametrize("promise", [None, PURE, WITH_DELTA], ids=["none", "pure", "delta"])
def test_a_whole_record_is_released_by_the_window_whatever_the_promise(promise):
    assert ReleaseTerms.of(System(), 4.0, promise=promise).mechanism == "window"
    for name in ("permute-and-flip", "exponential"):
        with pytest.raises(ParameterError, match="by the window"):
            ReleaseTerms.of(System(), 4.0, mechanism=name, promise=promise)


def test_what_systems_are_not_published_by_is_refused():
    with pytest.raises(ParameterError, match="single releases"):
        ReleaseTerms.of(Readings(1), 1.0, mechanism="paper")
