from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from ledger_makers import question
from sqlalchemy import create_engine, text

from sunveil.errors import BudgetExceeded, LedgerConflict, LedgerUnavailable
from sunveil.ledger import Ledger, Promise, charges
from sunveil.ledger.ledger_database import open_engine
from sunveil.privacy import System

FIVE = Promise(System(), 5.0)


def left_without_an_answer(ledger, asked):
    with pytest.raises(ZeroDivisionError):
        ledger.ask("d", asked, lambda: 1 / 0)


def test_a_charge_without_an_answer_is_taken_up_by_whoever_asks(ledger):
    ledger.create_dataset("d", FIVE)
    ledger.set_share("d", "ann", 3.0)
    ledger.set_share("d", "bob", 1.0)
    anns, bobs = question(epsilon=2.0, analyst="ann"), question(epsilon=2.0, analyst="bob")
    assert ledger.pending("d", anns) is None
    assert ledger.due("d", anns) == 2.0
    left_without_an_answer(ledger, anns)
    left = ledger.pending("d", anns)
    assert left == ledger.pending("d", bobs) == ledger.entries("d")[-1].place
    assert ledger.pending("d", question(1, epsilon=2.0)) is None
    assert ledger.due("d", bobs) == 0.0
    # more than bob's share holds, but ann has paid
    found = ledger.ask("d", bobs, lambda: 7)
    assert (found.value, found.charge, found.fresh) == (7, left, True)
    again = ledger.ask("d", anns, lambda: pytest.fail("drawn"))
    assert (again.value, again.fresh) == (7, False)
    assert ledger.pending("d", anns) is None
    assert ledger.dataset("d").spent == 2.0
    assert {each.analyst: each.spent for each in ledger.shares("d")} == {"ann": 2.0, "bob": 0.0}
    assert ledger.verify("d").holds


def test_a_charge_is_taken_up_when_nothing_is_left_of_the_promise(ledger):
    ledger.create_dataset("d", FIVE)
    left_without_an_answer(ledger, question(epsilon=5.0))
    with pytest.raises(BudgetExceeded):
        ledger.ask("d", question(1, epsilon=5.0), lambda: 1)
    assert ledger.ask("d", question(epsilon=5.0), lambda: 1).fresh


def test_many_questions_are_charged_only_where_nothing_was_paid(ledger):
    ledger.create_dataset("d", FIVE)
    left_without_an_answer(ledger, question(0, systems=("a",)))
    ledger.ask("d", question(1, systems=("b",)), lambda: "b")
    asked = [question(number, systems=(name,)) for number, name in enumerate("abc")]
    found = ledger.ask_each("d", asked, lambda each: each.systems[0])
    assert [(each.value, each.fresh) for each in found] == [
        ("a", True),
        ("b", False),
        ("c", True),
    ]
    verdict = ledger.verify("d")
    assert verdict.holds
    assert verdict.charges == verdict.answered == 3


def test_more_questions_than_turns_hold_one_for_all(ledger, monkeypatch):
    monkeypatch.setattr(charges, "MOST_TURNS", 2)
    ledger.create_dataset("d", FIVE)
    asked = [question(number, systems=(str(number),)) for number in range(4)]
    assert [each.value for each in ledger.ask_each("d", asked, lambda _: 1)] == [1] * 4
    assert ledger.verify("d").holds


def test_who_asks_while_another_draws_waits_for_that_answer(where, open_ledger):
    ledgers = [open_ledger(where), open_ledger(where)]
    ledgers[0].create_dataset("d", FIVE)
    drawing, go_on = threading.Event(), threading.Event()
    found = []

    def draw():
        drawing.set()
        assert go_on.wait(60.0)
        return "first"

    first = threading.Thread(target=lambda: found.append(ledgers[0].ask("d", question(), draw)))
    first.start()
    assert drawing.wait(60.0)
    second = threading.Thread(
        target=lambda: found.append(ledgers[1].ask("d", question(), lambda: "second"))
    )
    second.start()
    # another question is not held up
    assert ledgers[1].ask("d", question(1), lambda: 1).fresh
    go_on.set()
    first.join()
    second.join()
    assert sorted((each.value, each.fresh) for each in found) == [("first", False), ("first", True)]
    verdict = ledgers[0].verify("d")
    assert verdict.charges == verdict.answered == 2


def test_a_process_that_is_killed_while_it_draws_lets_go_of_its_turn(where, open_ledger):
    ledger = open_ledger(where)
    ledger.create_dataset("d", FIVE)
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
    assert ledger.pending("d", question()) is not None
    assert ledger.ask("d", question(), lambda: 1).fresh
    assert ledger.verify("d").charges == 1


def test_who_lost_the_turn_while_drawing_keeps_nothing(database, open_ledger):
    """A server that is started anew forgets turns, and another may draw by then."""
    ledger = open_ledger(database)
    ledger.create_dataset("d", FIVE)

    def draw():
        engine = create_engine(open_engine(database).url)
        with engine.connect() as connection:
            connection.execute(
                text(
                    "SELECT pg_terminate_backend(pid) FROM pg_locks"
                    " WHERE locktype = 'advisory' AND database ="
                    " (SELECT oid FROM pg_database WHERE datname = current_database())"
                )
            )
        engine.dispose()
        return "lost"

    with pytest.raises(LedgerUnavailable):
        ledger.ask("d", question(), draw)
    assert ledger.kept("d", question()) is None
    assert ledger.unanswered("d") == {question().digest("d")}
    assert ledger.ask("d", question(), lambda: "kept").value == "kept"
    assert ledger.unanswered("d") == frozenset()
    verdict = ledger.verify("d")
    assert (verdict.holds, verdict.charges, verdict.answered) == (True, 1, 1)


def test_a_turn_leaves_no_file_behind(small, path):
    small.create_dataset("d", FIVE)
    left_without_an_answer(small, question())
    small.ask("d", question(), lambda: 1)
    assert not list(path.parent.glob("*turn*"))


def test_what_comes_between_draw_and_keeping_sees_no_answer_also_of_a_draw_that_failed(path):
    seen = []

    def look():
        with Ledger(path) as other:
            seen.append((other.kept("d", question()), other.pending("d", question())))

    with Ledger(path, create=True, after_draw=look) as ledger:
        ledger.create_dataset("d", FIVE)
        left_without_an_answer(ledger, question())
        ledger.ask("d", question(), lambda: 1)
        ledger.ask("d", question(), lambda: 1)
    assert seen == [(None, 2), (None, 2)]


def test_a_charge_that_was_changed_is_not_taken_up(small, path):
    small.create_dataset("d", FIVE)
    left_without_an_answer(small, question())
    with sqlite3.connect(path) as database:
        database.execute("UPDATE entries SET body = '[' WHERE place = 2")
    database.close()
    with pytest.raises(LedgerConflict, match="entry 2 was changed"):
        small.pending("d", question())
    with pytest.raises(LedgerConflict):
        small.ask("d", question(), lambda: pytest.fail("drawn"))
