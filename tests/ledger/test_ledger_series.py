from __future__ import annotations

from dataclasses import replace

import pytest
from ledger_makers import question
from sqlalchemy import create_engine

from sunveil.errors import LedgerConflict
from sunveil.ledger import Promise
from sunveil.privacy import System

ONE, OTHER = "1" * 64, "2" * 64


def ask(ledger, number, series=ONE, **options):
    asked = replace(question(number, epsilon=0.1, **options), series=series)
    return ledger.ask("d", asked, lambda: number)


@pytest.fixture
def used(ledger):
    ledger.create_dataset("d", Promise(System(), 2.0))
    for number, series in enumerate((ONE, OTHER, None, ONE)):
        ask(ledger, number, series)
    return ledger


def change(where, statement):
    url = where if "://" in where else f"sqlite:///{where}"
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        assert connection.exec_driver_sql(statement).rowcount >= 1
    engine.dispose()


def test_answers_of_a_series_are_found_together_oldest_first(used):
    assert [each.value for each in used.kept_series("d", ONE)] == [0, 3]
    assert [each.value for each in used.kept_series("d", OTHER)] == [1]
    assert used.kept_series("d", "3" * 64) == []
    assert used.verify("d").holds


def test_a_charge_of_a_series_that_was_stopped_is_kept_in_it_when_it_is_taken_up(used):
    asked = replace(question(9, epsilon=0.1), series=ONE)
    charge = used.charge("d", asked)
    # whoever takes it up need not know of the series
    assert used.ask("d", question(9, epsilon=0.1), lambda: 9).charge == charge
    assert [each.value for each in used.kept_series("d", ONE)] == [0, 3, 9]


@pytest.mark.parametrize(
    "statement",
    [
        f"UPDATE answers SET series = '{ONE}' WHERE series = '{OTHER}'",
        "UPDATE answers SET answer = replace(answer, '3', '4') WHERE answer LIKE '%%3%%'",
    ],
)
def test_an_answer_that_was_put_into_a_series_or_changed_is_refused(used, where, statement):
    change(where, statement)
    with pytest.raises(LedgerConflict, match="an answer was changed"):
        used.kept_series("d", ONE)
    assert "an answer was changed, removed or put in by hand" in used.verify("d").faults


def test_an_answer_that_was_taken_out_of_a_series_is_noticed(used, where):
    change(where, f"UPDATE answers SET series = NULL WHERE series = '{OTHER}'")
    assert not used.verify("d").holds


def test_a_lock_is_held_by_one_at_a_time(used, where, open_ledger):
    import threading

    order = []
    with used.lock("d", ONE):
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
