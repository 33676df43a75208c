from __future__ import annotations

import pytest
from ledger_makers import concentrated, question

from sunveil.ledger import Ledger, Promise, Question
from sunveil.ledger.promises import SystemHome
from sunveil.ledger.statements import plain_sum
from sunveil.privacy import System
from sunveil.privacy.guarantees import rho_to_epsilon

DELTA = 1e-6


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "ledger.db", create=True) as made:
        made.create_dataset("plain", Promise(System(), 2.0))
        made.create_dataset("roofs", Promise(System(), 4.0, DELTA))
        yield made


def test_a_statement_has_the_figures_of_one_moment_and_a_mark_that_holds_later(ledger):
    asked = question(0, epsilon=0.5)
    assert ledger.statement("plain", asked).charge is None
    ledger.ask("plain", asked, lambda: "drawn")
    stated = ledger.statement("plain", asked)
    chain = ledger.entries("plain")
    assert (stated.mark.length, stated.mark.head) == (len(chain), chain[-1].digest)
    assert chain[stated.charge.place - 1].facts()["question"] == asked.digest("plain")
    assert (stated.charge.cost, stated.charge.meters, stated.charges) == (0.5, 1, 1)
    assert stated.dataset == ledger.dataset("plain")
    assert (stated.spent_epsilon, stated.plain_epsilon) == (0.5, 0.5)
    ledger.ask("plain", question(1, epsilon=0.25), lambda: "drawn")
    assert ledger.verify("plain", mark=stated.mark).holds
    assert ledger.statement("plain", asked).charge == stated.charge
    later = ledger.statement("plain")
    assert (later.charge, later.dataset.spent) == (None, 0.75)


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


def test_meters_of_one_household_are_charged_and_stated_together(ledger):
    ledger.create_dataset("several", Promise(System(), 4.0, meters=2))
    ledger.register("several", [SystemHome("a", "home 1"), SystemHome("b", "home 1")])
    rows = question(0, epsilon=0.5, systems=("a", "b"))
    table = question(1, epsilon=0.25)
    for asked in (rows, table):
        ledger.ask("several", asked, lambda: "drawn")
    of_rows, of_table = (ledger.statement("several", each).charge for each in (rows, table))
    assert (of_rows.cost, of_rows.meters) == (1.0, 2)
    assert (of_table.cost, of_table.meters) == (0.5, 2)
    assert ledger.statement("several").dataset.spent == 1.5


def test_the_plain_sum_is_that_of_the_system_that_was_released_most():
    def charge(epsilon, systems, meters=1):
        guarantee = {"epsilon": epsilon} if epsilon else {"rho": 0.1}
        return {"guarantee": guarantee, "systems": systems, "meters": meters}

    assert plain_sum([], meters=1) == 0.0
    both = [charge(0.1, ["a", "b"]), charge(0.2, ["b"]), charge(1.0, None)]
    assert plain_sum(both, meters=1) == 1.3
    assert plain_sum(both, meters=2) == 2.3
    assert plain_sum([charge(0.1, ["a", "b"], 2)], meters=2) == 0.2
    assert plain_sum([*both, charge(None, None)], meters=1) is None
