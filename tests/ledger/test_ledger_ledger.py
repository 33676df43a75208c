from __future__ import annotations

import pytest
from ledger_makers import conditional, guarantee, question

from sunveil.errors import BudgetExceeded, ParameterError, ReleaseNotFound
from sunveil.ledger import Promise, Question, ledger_database
from sunveil.ledger.promises import Answer
from sunveil.privacy import Days, Readings, System

TWO = Promise(System(), 2.0)


def unchanged(ledger, before):
    """Return whether a refusal left a ledger as it was."""
    return before == (ledger.verify("d"), ledger.datasets(), ledger.entries("d"))


def seen(ledger):
    return ledger.verify("d"), ledger.datasets(), ledger.entries("d")


def test_a_dataset_is_as_it_was_promised(ledger):
    promise = Promise(Days(7), 3.0, 1e-6, ("paper",))
    made = ledger.create_dataset("b", promise)
    ledger.create_dataset("a", TWO)
    assert made == ledger.dataset("b")
    assert made.promise == promise
    assert [each.name for each in ledger.datasets()] == ["a", "b"]
    assert (ledger.dataset("a").total, ledger.dataset("a").remaining) == (2.0, 2.0)


def test_a_charge_is_durable_before_the_draw(ledger):
    ledger.create_dataset("d", TWO)
    asked = question()
    during = []

    def draw():
        during.append((ledger.dataset("d").fleet_spent, ledger.verify("d").charges))
        return {"count": [1, 2]}

    answer = ledger.ask("d", asked, draw)
    assert during == [(1.0, 1)]
    assert answer == Answer({"count": [1, 2]}, 2, fresh=True)


def test_the_same_question_gets_the_kept_answer_at_no_cost_whoever_asks(ledger):
    ledger.create_dataset("d", TWO)
    ledger.set_share("d", "ada", 0.5)
    first = ledger.ask("d", question(systems=("b", "a")), lambda: (1, 2.5))
    again = ledger.ask("d", question(systems=("a", "b", "a"), analyst="ada"), lambda: 1 / 0)
    assert again == Answer([1, 2.5], first.charge, fresh=False)
    assert first.value == again.value
    assert ledger.dataset("d").spent == 1.0
    assert ledger.verify("d").charges == 1


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
def test_another_question_is_not_the_same(ledger, other):
    ledger.create_dataset("d", TWO)
    ledger.ask("d", question(), lambda: 1)
    assert ledger.kept("d", other) is None
    assert ledger.ask("d", other, lambda: 2).fresh


def test_a_draw_that_fails_leaves_a_charge_without_an_answer_to_be_seen(ledger):
    ledger.create_dataset("d", TWO)
    with pytest.raises(ZeroDivisionError):
        ledger.ask("d", question(), lambda: 1 / 0)
    verdict = ledger.verify("d")
    assert verdict.holds
    assert (verdict.charges, verdict.answered, verdict.spent) == (1, 0, 1.0)


def test_an_answer_that_is_no_json_is_refused_without_being_told(ledger):
    ledger.create_dataset("d", TWO)
    with pytest.raises(ParameterError, match="an answer is plain JSON") as raised:
        ledger.ask("d", question(), lambda: float("nan"))
    assert "nan" not in str(raised.value).lower().replace("finite", "")
    with pytest.raises(ParameterError, match="parameters are plain JSON"):
        ledger.ask("d", question({1, 2}), lambda: 1)
    assert ledger.verify("d").charges == 1


def test_a_household_pays_for_the_fleets_releases_and_for_its_own(ledger):
    ledger.create_dataset("d", TWO)
    ledger.charge("d", question(0, epsilon=1.25, systems=("a",)))
    ledger.charge("d", question(1, epsilon=1.0, systems=("b",)))
    ledger.charge("d", question(2, epsilon=0.75))
    before = seen(ledger)
    for refused in (
        question(3, epsilon=0.001),
        question(3, epsilon=0.001, systems=("a",)),
        question(3, epsilon=0.26, systems=("b",)),
        question(3, epsilon=1.26, systems=("c",)),
        question(3, epsilon=0.2, systems=("b", "c", "a")),
    ):
        with pytest.raises(BudgetExceeded, match="is left"):
            ledger.charge("d", refused)
        assert unchanged(ledger, before)
    ledger.charge("d", question(3, epsilon=0.25, systems=("b",)))
    ledger.charge("d", question(4, epsilon=1.25, systems=("c",)))
    dataset = ledger.dataset("d")
    assert (dataset.fleet_spent, dataset.largest_spent, dataset.remaining) == (0.75, 1.25, 0.0)
    assert ledger.verify("d").holds


def test_a_refusal_tells_what_was_asked_and_what_is_left(ledger):
    ledger.create_dataset("d", TWO)
    ledger.charge("d", question(0, epsilon=0.5, systems=("a",)))
    with pytest.raises(BudgetExceeded) as raised:
        ledger.charge("d", question(1, epsilon=1.75, systems=("z", "a")))
    assert (raised.value.requested, raised.value.remaining) == (1.75, 1.5)
    assert "'a'" not in str(raised.value)
    with pytest.raises(BudgetExceeded) as raised:
        ledger.charge("d", question(1, epsilon=1.75))
    assert (raised.value.requested, raised.value.remaining) == (1.75, 1.5)


def test_more_systems_than_a_statement_holds_are_charged_all_or_none(ledger, monkeypatch):
    monkeypatch.setattr(ledger_database, "CHUNK", 3)
    ledger.create_dataset("d", TWO)
    some = tuple(f"s{number}" for number in range(10))
    ledger.charge("d", question(0, systems=some))
    ledger.charge("d", question(1, systems=("s9",)))
    before = seen(ledger)
    with pytest.raises(BudgetExceeded) as raised:
        ledger.charge("d", question(2, systems=some))
    assert raised.value.remaining == 0.0
    assert unchanged(ledger, before)
    assert ledger.dataset("d").largest_spent == 2.0


def test_forty_thousand_systems_are_one_charge(small):
    small.create_dataset("d", TWO)
    small.charge("d", question(systems=tuple(f"s{number}" for number in range(40_000))))
    assert small.verify("d").holds


def test_many_questions_are_charged_all_or_none(ledger):
    ledger.create_dataset("d", TWO)
    three = [question(number, epsilon=0.8) for number in range(3)]
    before = seen(ledger)
    drawn = []
    with pytest.raises(BudgetExceeded) as raised:
        ledger.ask_each("d", three, drawn.append)
    assert drawn == []
    assert raised.value.remaining == pytest.approx(0.4)
    assert unchanged(ledger, before)
    ledger.ask("d", three[0], lambda: "old")
    asked = [three[0], three[1], three[1]]
    found = ledger.ask_each("d", asked, lambda each: each.parameters["number"])
    assert [(each.value, each.fresh) for each in found] == [("old", False), (1, True), (1, True)]
    assert ledger.dataset("d").spent == 1.6
    assert ledger.ask_each("d", asked, lambda _: 1 / 0)[1].value == 1
    assert ledger.ask_each("d", [], lambda _: 1 / 0) == []


def test_what_a_promise_does_not_cover_is_refused_and_leaves_no_trace(ledger):
    ledger.create_dataset("d", Promise(Days(1), 2.0))
    before = seen(ledger)
    small_unit = question(unit=Readings(5))
    unnamed = Question("test", {}, "paper", conditional())
    for refused in (small_unit, unnamed, question(systems=())):
        with pytest.raises(ParameterError):
            ledger.ask("d", refused, lambda: 1)
        assert unchanged(ledger, before)
    assert ledger.cost("d", question(epsilon=0.3, unit=System())) == 0.3
    with pytest.raises(ParameterError, match="release for days:1"):
        ledger.cost("d", small_unit)
    assert unchanged(ledger, before)


def test_analysts_have_shares_of_the_budget_and_no_budgets_beside_it(ledger):
    ledger.create_dataset("d", TWO)
    ledger.set_share("d", "ada", 1.5)
    ledger.set_share("d", "bob", 1.5)
    ledger.charge("d", question(0, epsilon=1.5, analyst="ada"))
    before = seen(ledger)
    with pytest.raises(BudgetExceeded) as raised:  # the share
        ledger.charge("d", question(1, epsilon=0.1, analyst="ada"))
    assert raised.value.remaining == 0.0
    with pytest.raises(BudgetExceeded) as raised:  # the dataset, though a share is left
        ledger.charge("d", question(1, epsilon=1.0, analyst="bob"))
    assert raised.value.remaining == 0.5
    with pytest.raises(ReleaseNotFound, match="'eve' has no share"):
        ledger.charge("d", question(1, epsilon=0.1, analyst="eve"))
    assert unchanged(ledger, before)
    ledger.charge("d", question(1, epsilon=0.5, systems=("a",), analyst="bob"))
    assert ledger.verify("d").holds


def test_a_share_is_at_most_the_budget_and_at_least_what_was_spent(ledger):
    ledger.create_dataset("d", TWO)
    ledger.set_share("d", "ada", 0.5)
    ledger.set_share("d", "ada", 1.0)
    ledger.charge("d", question(epsilon=0.75, analyst="ada"))
    before = seen(ledger)
    for share in (2.1, 0.5):
        with pytest.raises(ParameterError, match="a share must be at most"):
            ledger.set_share("d", "ada", share)
        assert unchanged(ledger, before)
    ledger.set_share("d", "ada", 0.75)
    assert ledger.verify("d").holds


def test_a_promise_is_never_made_twice(ledger):
    ledger.create_dataset("d", TWO)
    before = seen(ledger)
    with pytest.raises(ParameterError, match="there is a dataset named 'd' already"):
        ledger.create_dataset("d", Promise(System(), 100.0))
    assert unchanged(ledger, before)


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 201, "\x1b[2J"])
def test_a_name_that_cannot_be_shown_is_refused(ledger, name):
    with pytest.raises(ParameterError, match="printable letters"):
        ledger.create_dataset(name, TWO)
    assert ledger.datasets() == []


def test_an_unknown_dataset_is_refused_by_name(ledger):
    for attempt in (
        lambda: ledger.dataset("x"),
        lambda: ledger.charge("x", question()),
        lambda: ledger.verify("x"),
        lambda: ledger.kept("x", question()),
    ):
        with pytest.raises(ReleaseNotFound, match="no dataset named 'x'"):
            attempt()


def test_an_answer_is_kept_only_for_the_charge_that_paid_for_it(ledger):
    ledger.create_dataset("d", TWO)
    paid = ledger.charge("d", question(0))
    before = seen(ledger)
    for charge, asked in ((1, question(0)), (9, question(0)), (paid, question(1))):
        with pytest.raises(ParameterError, match="no charge of this question"):
            ledger.keep("d", asked, charge, "free")
        assert unchanged(ledger, before)


def test_of_two_answers_to_one_question_the_first_is_the_answer(ledger):
    ledger.create_dataset("d", TWO)
    charges = [ledger.charge("d", question()) for _ in range(2)]
    first = ledger.keep("d", question(), charges[1], "first")
    assert ledger.keep("d", question(), charges[0], "second") == Answer("first", 3, fresh=False)
    assert first.fresh
    verdict = ledger.verify("d")
    assert (verdict.charges, verdict.answered, verdict.holds) == (2, 1, True)


def test_two_datasets_do_not_pay_for_each_other(ledger):
    for name in ("d", "e"):
        ledger.create_dataset(name, TWO)
        ledger.charge(name, question(epsilon=2.0, systems=("a",)))
    first, second = (ledger.entries(name)[1].facts()["systems"] for name in ("d", "e"))
    assert first != second
    assert all(ledger.verify(name).holds for name in ("d", "e"))


def test_repeated_exponential_releases_cost_their_rho(ledger):
    ledger.create_dataset("d", Promise(System(), 1.0, 1e-6))
    count = int(ledger.dataset("d").total / (0.1**2 / 8.0))
    assert count > 10  # what adding up would have granted
    many = [question(number, epsilon=0.1, mechanism="exponential") for number in range(count)]
    ledger.ask_each("d", many, lambda _: 1)
    with pytest.raises(BudgetExceeded):
        ledger.charge("d", question(count, epsilon=0.1, mechanism="exponential"))
