"""Charging, asking and keeping answers: who pays, what is refused, and which answer stands."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from ledger_makers import TWO, conditional, execute, guarantee, question, unchanged

from sunveil.errors import (
    BudgetExceeded,
    LedgerConflict,
    LedgerUnavailable,
    ParameterError,
    ReleaseNotFound,
)
from sunveil.ledger import Ledger, Promise, Question, charges, ledger_database
from sunveil.ledger.promises import Answer
from sunveil.privacy import Days, Readings, System


@pytest.fixture
def d(ledger):
    """Return a ledger in each kind of database with a promise of 2 for dataset d."""
    ledger.create_dataset("d", TWO)
    return ledger


def left_without_an_answer(ledger, asked):
    with pytest.raises(ZeroDivisionError):
        ledger.ask("d", asked, lambda: 1 / 0)


def test_a_dataset_is_as_it_was_promised_and_pays_for_no_other(d):
    promise = Promise(Days(7), 3.0, 1e-6, ("paper",))
    made = d.create_dataset("b", promise)
    d.create_dataset("a", TWO)
    assert made == d.dataset("b")
    assert made.promise == promise
    assert [each.name for each in d.datasets()] == ["a", "b", "d"]
    for name in ("a", "d"):
        assert (d.dataset(name).total, d.dataset(name).remaining) == (2.0, 2.0)
        d.charge(name, question(epsilon=2.0, systems=("a",)))
    first, second = (d.entries(name)[1].facts()["systems"] for name in ("a", "d"))
    assert first != second
    assert all(d.verify(name).holds for name in ("a", "d"))


def test_a_charge_is_durable_before_the_draw(d):
    during = []

    def draw():
        during.append((d.dataset("d").fleet_spent, d.verify("d").charges))
        return {"count": [1, 2]}

    answer = d.ask("d", question(), draw)
    assert during == [(1.0, 1)]
    assert answer == Answer({"count": [1, 2]}, 2, fresh=True)


def test_the_same_question_gets_the_kept_answer_at_no_cost_whoever_asks(d):
    d.set_share("d", "ada", 0.5)
    first = d.ask("d", question(systems=("b", "a")), lambda: (1, 2.5))
    again = d.ask("d", question(systems=("a", "b", "a"), analyst="ada"), lambda: 1 / 0)
    assert again == Answer([1, 2.5], first.charge, fresh=False)
    assert first.value == again.value
    assert d.dataset("d").spent == 1.0
    assert d.verify("d").charges == 1


@pytest.mark.parametrize(
    "other",
    [
        question(1),
        question(epsilon=0.5),
        question(systems=("a",)),
        question(mechanism="exponential"),
        Question("other", {"number": 0}, "permute-and-flip", guarantee()),
    ],
)
def test_another_question_is_not_the_same(d, other):
    d.ask("d", question(), lambda: 1)
    assert d.kept("d", other) is None
    assert d.ask("d", other, lambda: 2).fresh


def test_an_answer_that_is_no_json_is_refused_without_being_told(d):
    with pytest.raises(ParameterError, match="an answer is plain JSON") as raised:
        d.ask("d", question(), lambda: float("nan"))
    assert "nan" not in str(raised.value).lower().replace("finite", "")
    with pytest.raises(ParameterError, match="parameters are plain JSON"):
        d.ask("d", question({1, 2}), lambda: 1)
    assert d.verify("d").charges == 1


def test_a_household_pays_for_the_fleets_releases_and_for_its_own(d):
    d.charge("d", question(0, epsilon=1.25, systems=("a",)))
    d.charge("d", question(1, epsilon=1.0, systems=("b",)))
    d.charge("d", question(2, epsilon=0.75))
    for epsilon, systems, left in (
        (0.001, None, 0.0),
        (0.001, ("a",), 0.0),
        (0.26, ("b",), 0.25),
        (1.26, ("c",), 1.25),
        (0.2, ("b", "c", "a"), 0.0),
    ):
        with unchanged(d), pytest.raises(BudgetExceeded, match="is left") as raised:
            d.charge("d", question(3, epsilon=epsilon, systems=systems))
        assert (raised.value.requested, raised.value.remaining) == (epsilon, left)
        assert "'a'" not in str(raised.value)
    d.charge("d", question(3, epsilon=0.25, systems=("b",)))
    d.charge("d", question(4, epsilon=1.25, systems=("c",)))
    dataset = d.dataset("d")
    assert (dataset.fleet_spent, dataset.largest_spent, dataset.remaining) == (0.75, 1.25, 0.0)
    assert d.verify("d").holds


def test_more_systems_than_a_statement_holds_are_charged_all_or_none(d, monkeypatch):
    monkeypatch.setattr(ledger_database, "CHUNK", 3)
    some = tuple(f"s{number}" for number in range(10))
    d.charge("d", question(0, systems=some))
    d.charge("d", question(1, systems=("s9",)))
    with unchanged(d), pytest.raises(BudgetExceeded) as raised:
        d.charge("d", question(2, systems=some))
    assert raised.value.remaining == 0.0
    assert d.dataset("d").largest_spent == 2.0


def test_forty_thousand_systems_are_one_charge(small):
    small.create_dataset("d", TWO)
    small.charge("d", question(systems=tuple(f"s{number}" for number in range(40_000))))
    assert small.verify("d").holds


def test_many_questions_are_charged_all_or_none_and_only_where_nothing_was_paid(d):
    three = [question(number, epsilon=0.8) for number in range(3)]
    with unchanged(d), pytest.raises(BudgetExceeded) as raised:
        d.ask_each("d", three, lambda _: pytest.fail("drawn"))
    assert raised.value.remaining == pytest.approx(0.4)
    d.ask("d", three[0], lambda: "old")
    asked = [three[0], three[1], three[1]]
    found = d.ask_each("d", asked, lambda each: each.parameters["number"])
    assert [(each.value, each.fresh) for each in found] == [("old", False), (1, True), (1, True)]
    assert d.dataset("d").spent == 1.6
    assert d.ask_each("d", asked, lambda _: 1 / 0)[1].value == 1
    assert d.ask_each("d", [], lambda _: 1 / 0) == []
    of_one = [question(number, systems=(name,), epsilon=0.4) for number, name in enumerate("abc")]
    left_without_an_answer(d, of_one[0])
    d.ask("d", of_one[1], lambda: "b")
    found = d.ask_each("d", of_one, lambda each: each.systems[0])
    assert [(each.value, each.fresh) for each in found] == [("a", True), ("b", False), ("c", True)]
    verdict = d.verify("d")
    assert verdict.holds
    assert verdict.charges == verdict.answered == 5


def test_more_questions_than_turns_hold_one_for_all(d, monkeypatch):
    monkeypatch.setattr(charges, "MOST_TURNS", 2)
    asked = [question(number, systems=(str(number),)) for number in range(4)]
    assert [each.value for each in d.ask_each("d", asked, lambda _: 1)] == [1] * 4
    assert d.verify("d").holds


def test_what_a_promise_does_not_cover_is_refused_and_leaves_no_trace(ledger):
    ledger.create_dataset("d", Promise(Days(1), 2.0))
    small_unit = question(unit=Readings(5))
    with unchanged(ledger):
        for refused in (
            small_unit,
            Question("test", {}, "paper", conditional()),
            question(systems=()),
        ):
            with pytest.raises(ParameterError):
                ledger.ask("d", refused, lambda: 1)
        assert ledger.cost("d", question(epsilon=0.3, unit=System())) == 0.3
        with pytest.raises(ParameterError, match="choose days:1 or a larger unit"):
            ledger.cost("d", small_unit)


def test_analysts_have_shares_of_the_budget_and_no_budgets_beside_it(d):
    d.set_share("d", "ada", 1.5)
    d.set_share("d", "bob", 1.5)
    d.charge("d", question(0, epsilon=1.5, analyst="ada"))
    with unchanged(d):
        with pytest.raises(BudgetExceeded) as raised:  # the share
            d.charge("d", question(1, epsilon=0.1, analyst="ada"))
        assert raised.value.remaining == 0.0
        with pytest.raises(BudgetExceeded) as raised:  # the dataset, though a share is left
            d.charge("d", question(1, epsilon=1.0, analyst="bob"))
        assert raised.value.remaining == 0.5
        with pytest.raises(ReleaseNotFound, match="'eve' has no share"):
            d.charge("d", question(1, epsilon=0.1, analyst="eve"))
        for share in (2.1, 1.4):  # above the budget, below what was spent
            with pytest.raises(ParameterError, match="a share must be at most"):
                d.set_share("d", "ada", share)
    d.charge("d", question(1, epsilon=0.5, systems=("a",), analyst="bob"))
    d.set_share("d", "bob", 0.5)
    assert d.verify("d").holds


def test_names_that_cannot_be_shown_known_ones_and_unknown_ones_are_refused(d):
    with unchanged(d):
        for name in ("", "  ", "a\nb", "x" * 201, "\x1b[2J"):
            with pytest.raises(ParameterError, match="printable letters"):
                d.create_dataset(name, TWO)
        with pytest.raises(ParameterError, match="there is a dataset named 'd' already"):
            d.create_dataset("d", Promise(System(), 100.0))
        for attempt in (d.dataset, d.verify, lambda x: d.charge(x, question())):
            with pytest.raises(ReleaseNotFound, match="no dataset named 'x'"):
                attempt("x")


def test_an_answer_is_kept_only_for_the_charge_that_paid_for_it(d):
    paid = d.charge("d", question(0))
    for charge, asked in ((1, question(0)), (9, question(0)), (paid, question(1))):
        with unchanged(d), pytest.raises(ParameterError, match="no charge of this question"):
            d.keep("d", asked, charge, "free")


def test_of_two_answers_to_one_question_the_first_is_the_answer(d):
    places = [d.charge("d", question()) for _ in range(2)]
    first = d.keep("d", question(), places[1], "first")
    assert d.keep("d", question(), places[0], "second") == Answer("first", 3, fresh=False)
    assert first.fresh
    verdict = d.verify("d")
    assert (verdict.charges, verdict.answered, verdict.holds) == (2, 1, True)


# -- charges without an answer


def test_a_charge_without_an_answer_is_taken_up_by_whoever_asks(d):
    d.set_share("d", "ann", 2.0)
    d.set_share("d", "bob", 1.0)
    anns, bobs = question(epsilon=2.0, analyst="ann"), question(epsilon=2.0, analyst="bob")
    assert d.pending("d", anns) is None
    assert d.due("d", anns) == 2.0
    left_without_an_answer(d, anns)
    verdict = d.verify("d")
    assert (verdict.holds, verdict.charges, verdict.answered, verdict.spent) == (True, 1, 0, 2.0)
    left = d.pending("d", anns)
    assert left == d.pending("d", bobs) == d.entries("d")[-1].place
    assert d.pending("d", question(1, epsilon=2.0)) is None
    with pytest.raises(BudgetExceeded):  # nothing is left of the promise
        d.ask("d", question(1, epsilon=2.0), lambda: 1)
    assert d.due("d", bobs) == 0.0
    # more than bob's share holds, but ann has paid
    found = d.ask("d", bobs, lambda: 7)
    assert (found.value, found.charge, found.fresh) == (7, left, True)
    again = d.ask("d", anns, lambda: pytest.fail("drawn"))
    assert (again.value, again.fresh) == (7, False)
    assert d.pending("d", anns) is None
    assert d.dataset("d").spent == 2.0
    assert {each.analyst: each.spent for each in d.shares("d")} == {"ann": 2.0, "bob": 0.0}
    assert d.verify("d").holds


def test_who_asks_while_another_draws_waits_for_that_answer(where, open_ledger):
    ledgers = [open_ledger(where), open_ledger(where)]
    ledgers[0].create_dataset("d", TWO)
    drawing, go_on = threading.Event(), threading.Event()
    found = []

    def draw():
        drawing.set()
        assert go_on.wait(60.0)
        return "first"

    def ask(number, draw):
        found.append(ledgers[number].ask("d", question(), draw))

    first = threading.Thread(target=ask, args=(0, draw))
    first.start()
    assert drawing.wait(60.0)
    second = threading.Thread(target=ask, args=(1, lambda: "second"))
    second.start()
    # another question is not held up
    assert ledgers[1].ask("d", question(1), lambda: 1).fresh
    go_on.set()
    first.join()
    second.join()
    assert sorted((each.value, each.fresh) for each in found) == [("first", False), ("first", True)]
    verdict = ledgers[0].verify("d")
    assert verdict.charges == verdict.answered == 2


def test_a_process_that_is_killed_while_it_draws_lets_go_of_its_turn(d, where):
    code = (
        "import sys, time; from ledger_makers import question;"
        "from sunveil.ledger.ledger import Ledger\n"
        "def draw():\n    print('drawing', flush=True)\n    time.sleep(600)\n"
        "Ledger(sys.argv[1]).ask('d', question(), draw)"
    )
    here = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    with subprocess.Popen(
        [sys.executable, "-c", code, where], stdout=subprocess.PIPE, text=True, env=here
    ) as other:
        assert other.stdout.readline() == "drawing\n"
        other.send_signal(signal.SIGKILL)
    assert d.pending("d", question()) is not None
    assert d.ask("d", question(), lambda: 1).fresh
    assert d.verify("d").charges == 1


def test_who_lost_the_turn_while_drawing_keeps_nothing(database, open_ledger):
    """A server that restarts forgets turns, and another may draw by then."""
    ledger = open_ledger(database)
    ledger.create_dataset("d", TWO)

    def draw():
        execute(
            database,
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND"
            " database = (SELECT oid FROM pg_database WHERE datname = current_database())",
        )
        return "lost"

    with pytest.raises(LedgerUnavailable):
        ledger.ask("d", question(), draw)
    assert ledger.kept("d", question()) is None
    assert ledger.unanswered("d") == {question().digest("d")}
    assert ledger.ask("d", question(), lambda: "kept").value == "kept"
    assert ledger.unanswered("d") == frozenset()
    verdict = ledger.verify("d")
    assert (verdict.holds, verdict.charges, verdict.answered) == (True, 1, 1)


def test_what_comes_between_draw_and_keeping_sees_no_answer_also_of_a_draw_that_failed(path):
    seen = []

    def look():
        with Ledger(path) as other:
            seen.append((other.kept("d", question()), other.pending("d", question())))

    with Ledger(path, create=True, after_draw=look) as ledger:
        ledger.create_dataset("d", TWO)
        left_without_an_answer(ledger, question())
        ledger.ask("d", question(), lambda: 1)
        ledger.ask("d", question(), lambda: 1)
    assert seen == [(None, 2), (None, 2)]
    assert not list(path.parent.glob("*turn*"))


def test_a_charge_that_was_changed_is_not_taken_up(small, path):
    small.create_dataset("d", TWO)
    left_without_an_answer(small, question())
    execute(path, "UPDATE entries SET body = '[' WHERE place = 2")
    with pytest.raises(LedgerConflict, match="entry 2 was changed"):
        small.pending("d", question())
    with pytest.raises(LedgerConflict):
        small.ask("d", question(), lambda: pytest.fail("drawn"))


# -- promises that are withdrawn


def test_a_promise_that_nothing_was_charged_to_is_withdrawn_for_good(d, where, open_ledger):
    d.set_share("d", "ann", 1.0)
    d.withdraw("d")
    assert d.withdrawn() == ["d"]
    assert d.entries("d")[-1].kind == "withdrawn"
    verdict = d.verify("d")
    assert verdict.holds, verdict.faults
    for each in (d, open_ledger(where)):
        with pytest.raises(ParameterError, match="was withdrawn"):
            each.ask("d", question(), lambda: 1)
        with pytest.raises(ParameterError, match="was withdrawn"):
            each.withdraw("d")
        with pytest.raises(ParameterError, match="already"):
            each.create_dataset("d", TWO)
    # others go on
    d.create_dataset("barns", TWO)
    assert d.ask("barns", question(), lambda: 1).value == 1


def test_a_promise_that_was_charged_stays_also_where_nothing_was_drawn(d):
    d.charge("d", question())
    with pytest.raises(ParameterError, match="so that it stays"):
        d.withdraw("d")
    assert d.verify("d").holds
    assert d.withdrawn() == []


# -- answers of a series

ONE, OTHER = "1" * 64, "2" * 64


def of_series(number, series):
    return replace(question(number, epsilon=0.1), series=series)


@pytest.fixture
def series(d):
    for number, name in enumerate((ONE, OTHER, None, ONE)):
        d.ask("d", of_series(number, name), lambda number=number: number)
    return d


def test_answers_of_a_series_are_found_together_oldest_first(series):
    charge = series.charge("d", of_series(9, ONE))
    assert [each.value for each in series.kept_series("d", ONE)] == [0, 3]
    # whoever takes up a charge that was stopped need not know of the series
    assert series.ask("d", of_series(9, None), lambda: 9).charge == charge
    assert [each.value for each in series.kept_series("d", ONE)] == [0, 3, 9]
    assert [each.value for each in series.kept_series("d", OTHER)] == [1]
    assert series.kept_series("d", "3" * 64) == []
    assert series.verify("d").holds


@pytest.mark.parametrize(
    "change",
    [
        f"UPDATE answers SET series = '{ONE}' WHERE series = '{OTHER}'",
        "UPDATE answers SET answer = replace(answer, '3', '4') WHERE place = 9",
        f"UPDATE answers SET series = NULL WHERE series = '{OTHER}'",
    ],
)
def test_an_answer_that_was_put_into_a_series_changed_or_taken_out_is_noticed(
    series, where, change
):
    execute(where, change)
    assert "an answer was changed, removed or put in by hand" in series.verify("d").faults
    if "NULL" not in change:
        with pytest.raises(LedgerConflict, match="an answer was changed"):
            series.kept_series("d", ONE)


def test_a_lock_is_held_by_one_at_a_time(d, where, open_ledger):
    order = []
    with d.lock("d", ONE):
        other = open_ledger(where)

        def wait():
            with other.lock("d", ONE):
                order.append("second")

        waiting = threading.Thread(target=wait)
        waiting.start()
        waiting.join(0.2)
        order.append("first")
    waiting.join(30.0)
    assert order == ["first", "second"]
