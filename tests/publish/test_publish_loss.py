from __future__ import annotations

import pytest

from sunveil.ledger import Promise
from sunveil.privacy import (
    ConcentratedGuarantee,
    ConditionalGuarantee,
    Days,
    Guarantee,
    Readings,
    System,
)
from sunveil.privacy.guarantees import rho_to_epsilon
from sunveil.publication import Publication
from sunveil.publication.readme_and_card import household_loss
from sunveil.publish.account import PublicationAccount


def account(promise, *, cost, meters):
    return PublicationAccount(
        "d", promise, 2.0, cost, 2.0 - cost, cost, None, 1, "2:ab", cost=cost, meters=meters
    )


def published(guarantee):
    return Publication("A", (), guarantee, "by hand")


def test_a_household_loses_by_each_of_its_meters():
    made = published(Guarantee(Days(2), 0.5, 0.0, "p"))
    alone = household_loss(made, None)
    assert (alone.unit, alone.parameters) == ("any 2 days of any one system", {"epsilon": 0.5})
    one = household_loss(made, account(Promise(Days(2), 2.0), cost=0.5, meters=1))
    assert (one.unit, one.parameters) == ("any 2 days of any one household", {"epsilon": 0.5})
    three = household_loss(made, account(Promise(Days(2), 2.0, meters=3), cost=1.5, meters=3))
    assert three.unit == "any 2 days of each meter of any one household, 3 meters at most"
    assert three.parameters == {"epsilon": 1.5}


def test_the_delta_of_rows_is_that_of_each_meter():
    made = published(ConditionalGuarantee(Readings(1), 0.5, 0.01, "p", "If it rains."))
    promise = Promise(Readings(1), 2.0, conditional=("paper",), meters=3)
    found = household_loss(made, account(promise, cost=1.5, meters=3)).parameters
    assert found == {"epsilon": 1.5, "delta": pytest.approx(0.03)}


def test_rho_is_what_was_charged_and_epsilon_at_the_promises_own_delta():
    made = published(ConcentratedGuarantee(System(), 0.01, "p"))
    promise = Promise(System(), 4.0, 1e-9, meters=2)
    found = household_loss(made, account(promise, cost=0.04, meters=2)).parameters
    assert found == {"epsilon": rho_to_epsilon(0.04, 1e-9), "delta": 1e-9, "rho": 0.04}
    assert household_loss(made, None).parameters["delta"] == pytest.approx(1e-6)
