from __future__ import annotations

import pytest
from ledger_makers import concentrated, question

from sunveil.ledger import Ledger, Promise, Question
from sunveil.ledger.promises import SystemHome
from sunveil.privacy import System
from sunveil.privacy.guarantees import rho_to_epsilon

DELTA = 1e-6


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "ledger.db", create=True) as made:
        made.create_dataset("roofs", Promise(System(), 4.0, DELTA))
        yield made


def test_under_delta_rho_epsilon_at_delta_and_the_plain_sum_stand_beside_each_other(ledger):
    for number in range(8):
        asked = question(number, epsilon=0.5, systems=("a", "b"), mechanism="exponential")
        ledger.ask("roofs", asked, lambda: "drawn")
    ledger.ask("roofs", question("all", epsilon=0.1), lambda: "drawn")
    stated = ledger.statement("roofs")
    rho = 8 * 0.5**2 / 8 + 0.1**2 / 2
    assert stated.dataset.spent == pytest.approx(rho)
    assert stated.spent_epsilon == pytest.approx(rho_to_epsilon(rho, DELTA))
    assert stated.plain_epsilon == pytest.approx(4.1)
    said = stated.to_dict()
    assert said["spent_epsilon"] < said["plain_epsilon"]
    assert said["mark"] == f"{stated.mark.length}:{stated.mark.head}"


def test_there_is_no_plain_sum_where_a_release_is_of_rho(ledger):
    ledger.ask("roofs", question(0, epsilon=0.1), lambda: "drawn")
    assert ledger.statement("roofs").plain_epsilon == 0.1
    gauss = Question("test", {}, "gaussian", concentrated(0.01))
    ledger.ask("roofs", gauss, lambda: "drawn")
    assert ledger.statement("roofs").plain_epsilon is None
    assert ledger.statement("roofs", gauss).charge.cost == 0.01


@pytest.mark.parametrize(("meters", "plain"), [(1, 1.3), (2, 2.3)])
def test_the_plain_sum_is_that_of_the_system_that_was_released_most(ledger, meters, plain):
    ledger.create_dataset("homes", Promise(System(), 40.0, DELTA, meters=meters))
    assert ledger.statement("homes").plain_epsilon == 0.0
    for epsilon, systems in ((0.1, ("a", "b")), (0.2, ("b",)), (1.0, None)):
        asked = question(epsilon, epsilon=epsilon, systems=systems)
        ledger.ask("homes", asked, lambda: "drawn")
    assert ledger.statement("homes").plain_epsilon == pytest.approx(plain)


@pytest.mark.parametrize("delta", [0.0, DELTA])
def test_meters_of_one_household_are_charged_and_stated_together(ledger, delta):
    ledger.create_dataset("several", Promise(System(), 40.0, delta, meters=2))
    ledger.register("several", [SystemHome("a", "home 1"), SystemHome("b", "home 1")])
    for number, asked in enumerate((question(systems=("a", "b"), epsilon=0.5), question(1)), 1):
        ledger.ask("several", asked, lambda: "drawn")
        stated = ledger.statement("several", asked)
        assert (stated.charge.meters, stated.charges) == (2, number)
        if delta == 0.0:
            assert stated.charge.cost == number
    # what is spent elsewhere has no plain sum under a delta
    assert stated.plain_epsilon == (3.0 if delta == 0.0 else None)
