"""The chain of entries: what was changed by hand, forgotten or put back is found."""

from __future__ import annotations

import json
import shutil
import threading
from contextvars import copy_context

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger_makers import TWO, execute, question
from sqlalchemy import text

from sunveil.cli import main
from sunveil.errors import LedgerConflict, LedgerError, ParameterError
from sunveil.ledger import Promise
from sunveil.ledger.hash_chain import (
    GENESIS,
    Entry,
    HighWaterMark,
    HighWaterMarks,
    acting_as,
    actor_of,
    canonical,
)
from sunveil.ledger.ledger_database import open_engine
from sunveil.ledger.promises import promise_text
from sunveil.ledger.statements import StoredState
from sunveil.ledger.verify_chain import ChainReplay, verify
from sunveil.privacy import System

FORGOTTEN = "the ledger has forgotten what was spent: an old copy was put back"


@pytest.fixture
def used(ledger):
    """Return a ledger with a share, two charges and their answers: entries 1 to 6."""
    ledger.create_dataset("d", TWO)
    ledger.set_share("d", "ada", 1.5)
    ledger.ask("d", question(0, epsilon=0.5, analyst="ada"), lambda: "one")
    ledger.ask("d", question(1, epsilon=0.25, systems=("a",)), lambda: "two")
    assert ledger.verify("d").holds
    return ledger


TAMPERED = {
    "UPDATE entries SET body = replace(body, '500000000', '100000000') WHERE place = 3": "entry 3",
    "UPDATE entries SET body = '{' WHERE place = 6": "entry 6 was changed",
    "UPDATE entries SET kind = 'analyst' WHERE place = 5": "entry 5 was changed",
    "UPDATE entries SET digest = 'x' WHERE place = 2": "entry 2 was changed",
    "DELETE FROM entries WHERE place = 3": "entry 3 is missing",
    "DELETE FROM entries WHERE place = 6": "the chain does not end where the ledger says",
    "UPDATE datasets SET fleet_spent = 0": "the counters do not add up",
    "UPDATE datasets SET largest_spent = 0": "the counters do not add up",
    "UPDATE datasets SET total = 3000000000": "the promise is not the one",
    "UPDATE datasets SET promise = replace(promise, '2.0', '9.0')": "the promise is not the one",
    "UPDATE datasets SET length = 5": "the chain does not end where",
    "UPDATE datasets SET head = 'x'": "the chain does not end where",
    "UPDATE accounts SET spent = 0": "the accounts of single systems do not",
    "DELETE FROM accounts": "the accounts of single systems do not",
    "UPDATE analysts SET spent = 0": "the analysts' shares",
    "UPDATE analysts SET share = 2000000000": "the analysts' shares",
    "UPDATE answers SET answer = replace(answer, 'one', 'eno')": "an answer was changed",
    "DELETE FROM answers WHERE charge = 3": "an answer was changed, removed",
}


@pytest.mark.parametrize("statement", TAMPERED)
def test_what_was_changed_is_said_and_nothing_is_charged_any_more(
    statement, used, where, open_ledger
):
    execute(where, statement)
    again = open_ledger(where, create=False)
    faults = again.verify("d").faults
    assert any(TAMPERED[statement] in fault for fault in faults), faults
    before = again.entries("d")
    with pytest.raises(LedgerConflict, match="the ledger of 'd' cannot be trusted"):
        again.charge("d", question(9, epsilon=0.1))
    assert again.entries("d") == before
    if "'one'" in statement:
        with pytest.raises(LedgerConflict, match="an answer was changed"):
            used.ask("d", question(0, epsilon=0.5), lambda: "new")


def test_entries_that_were_deleted_with_all_counters_put_right_are_missed(used, where, open_ledger):
    execute(
        where,
        "DELETE FROM entries WHERE place > 4",
        "DELETE FROM answers WHERE place > 4",
        "DELETE FROM accounts",
        "UPDATE datasets SET largest_spent = 0, length = 4,"
        " head = (SELECT digest FROM entries WHERE place = 4)",
    )
    for ledger in (used, open_ledger(where)):
        assert ledger.verify("d").faults == (FORGOTTEN,)
        with pytest.raises(LedgerConflict, match="forgotten"):
            ledger.charge("d", question(9, epsilon=0.1))


def test_a_chain_that_was_written_again_is_not_the_one_the_mark_saw(used, where, open_ledger):
    last = used.entries("d")[-1]
    forged = Entry(6, "answer", last.body.replace('"at"', '"ta"'), last.previous)
    engine = open_engine(where)
    with engine.begin() as connection:
        facts = {"body": forged.body, "digest": forged.digest}
        change = "UPDATE entries SET body = :body, digest = :digest WHERE place = 6"
        connection.execute(text(change), facts)
    engine.dispose()
    execute(where, f"UPDATE datasets SET head = '{forged.digest}'")
    fault = "entry 6 is not the one that the high-water mark saw"
    assert used.verify("d").faults == (fault,)
    with pytest.raises(LedgerConflict, match=fault):
        open_ledger(where).charge("d", question(9, epsilon=0.1))


def test_a_process_that_saw_more_needs_no_mark_to_notice(used, where):
    used.charge("d", question(7, epsilon=0.01))  # has gone through the chain up to here
    execute(where, "UPDATE datasets SET fleet_spent = fleet_spent - 10000000")
    with pytest.raises(LedgerConflict, match="counters"):
        used.charge("d", question(9, epsilon=0.1))


# -- high-water marks


@pytest.mark.parametrize("lost", ["none", "beside", "state"])
def test_an_old_copy_that_was_put_back_is_noticed(
    lost, small, path, tmp_path, marks_apart, open_ledger
):
    small.create_dataset("a", TWO)
    small.ask("a", question(0), lambda: 1)
    small.close()
    backup = tmp_path / "backup.db"
    shutil.copy(path, backup)
    small.ask("a", question(1, epsilon=0.5), lambda: 1)
    small.create_dataset("d", TWO)
    small.close()
    shutil.copy(backup, path)
    if lost == "beside":
        (tmp_path / "ledger.db.mark").unlink()
    elif lost == "state":
        shutil.rmtree(marks_apart)
    again = open_ledger(path, create=False)
    assert again.verify("a").faults == (FORGOTTEN,)
    assert again.forgotten() == ["d"]
    for name in ("a", "d"):
        with pytest.raises(LedgerConflict, match="forgotten"):
            again.charge(name, question(2, epsilon=0.1))
    with pytest.raises(LedgerConflict, match="was kept here before"):
        again.create_dataset("d", TWO)
    assert [(each.name, each.spent) for each in again.datasets()] == [("a", 1.0)]


def test_a_ledger_without_any_mark_says_so_and_gets_one(small, path, tmp_path, marks_apart):
    small.create_dataset("d", TWO)
    (tmp_path / "ledger.db.mark").unlink()
    shutil.rmtree(marks_apart)
    assert "there is no high-water mark" in small.verify("d").faults[0]
    small.charge("d", question())
    assert small.verify("d").holds


def test_a_mark_that_was_written_down_elsewhere_is_compared(used):
    verdict = used.verify("d")
    written = HighWaterMark(verdict.entries, verdict.head)
    used.charge("d", question(9, epsilon=0.1))
    assert used.verify("d", mark=written).holds
    assert not used.verify("d", mark=HighWaterMark(99, written.head)).holds
    assert not used.verify("d", mark=HighWaterMark(1, written.head)).holds


@pytest.mark.parametrize("content", ["", "{", "[]", '{"d": 3}', '{"d": ["x", 1]}'])
def test_a_mark_that_cannot_be_read_stops_everything(content, small, tmp_path):
    small.create_dataset("d", TWO)
    (tmp_path / "ledger.db.mark").write_text(content)
    with pytest.raises(LedgerConflict, match="is not as it was written"):
        small.charge("d", question())
    assert len(small.entries("d")) == 1


@pytest.fixture
def marks(tmp_path):
    return HighWaterMarks(tmp_path / "a" / "one.json", tmp_path / "two.json")


def test_a_mark_is_kept_in_every_place_the_highest_counts_and_none_goes_back(marks, tmp_path):
    with marks.moving("d", HighWaterMark(1, "x")):
        assert marks.get("d") is None
    with HighWaterMarks(tmp_path / "two.json").moving("d", HighWaterMark(2, "y")):
        pass
    assert marks.all() == {"d": HighWaterMark(2, "y")}
    (tmp_path / "two.json").unlink()
    assert marks.get("d") == HighWaterMark(1, "x")
    for mark in (HighWaterMark(3, "x"), HighWaterMark(2, "y"), HighWaterMark(3, "z")):
        with marks.moving("d", mark):
            pass
    assert marks.get("d") == HighWaterMark(3, "x")
    # other datasets' marks beside it stay
    with marks.moving("e", HighWaterMark(7, "x")):
        pass
    assert json.loads((tmp_path / "two.json").read_text()) == {"d": [3, "x"], "e": [7, "x"]}


def test_a_change_that_fails_or_cannot_be_marked_leaves_the_mark_where_it_was(marks, tmp_path):
    with marks.moving("d", HighWaterMark(1, "x")):
        pass
    with pytest.raises(ZeroDivisionError), marks.moving("d", HighWaterMark(2, "y")):
        raise ZeroDivisionError
    (tmp_path / ".two.json.part").mkdir()
    with (
        pytest.raises(LedgerError, match=r"mark .*two\.json cannot be written: is a directory"),
        marks.moving("d", HighWaterMark(2, "y")),
    ):
        pytest.fail("changed without a mark")
    assert marks.all() == {"d": HighWaterMark(1, "x")}
    assert list(tmp_path.rglob("*.part")) == [tmp_path / ".two.json.part"]


# -- what entries mean


def chain(*bodies):
    """Return entries of some kinds and bodies, bound as they must be."""
    previous, found = GENESIS, []
    for place, (kind, body) in enumerate([("promise", TWO.to_dict()), *bodies], start=1):
        entry = Entry(place, kind, canonical(body), previous)
        previous = entry.digest
        found.append((entry, previous))
    return found


def charge(cost=10**9, *, systems=None, analyst=None):
    said = {"systems": systems, "analyst": analyst, "question": "q"}
    return "charge", {"cost": cost, "meters": 1, **said}


def replayed(*bodies):
    replay = ChainReplay()
    replay.extend(chain(*bodies))
    return replay


def faults_of(replay):
    """Return the faults that are found beside a database that agrees with a chain."""
    state = StoredState(
        name="d",
        promise=promise_text(TWO),
        total=TWO.total,
        fleet_spent=replay.fleet,
        largest_spent=replay.largest,
        length=replay.length,
        head=replay.head,
        accounts=dict(replay.accounts),
        shares=replay.shares,
        answers=replay.answered,
    )
    return verify(state, replay, ()).faults


NO_METERS = {name: each for name, each in charge()[1].items() if name != "meters"}
ANSWER = {"question": "other", "answer": "digest"}
MEANINGLESS = ("entry 3 cannot be understood",)
UNPAID = ("an answer stands without a charge",)


@pytest.mark.parametrize(
    ("entry", "faults"),
    [
        (("promise", TWO.to_dict()), MEANINGLESS),
        (("gift", {}), MEANINGLESS),
        (("charge", {"cost": 1}), MEANINGLESS),
        (("charge", {**charge()[1], "cost": "much"}), MEANINGLESS),
        (("charge", NO_METERS), MEANINGLESS),
        (charge(analyst="nobody"), MEANINGLESS),
        (("answer", {}), MEANINGLESS),
        (charge(1_000_000_001, systems=["a"]), ("more was spent than was promised",)),
        *[(("answer", {"charge": place, **ANSWER}), UNPAID) for place in (1, 2, 9)],
    ],
)
def test_an_entry_that_cannot_be_is_said(entry, faults):
    assert faults_of(replayed(charge(), entry)) == faults


def test_a_chain_begins_with_a_promise():
    first = Entry(1, "charge", canonical(charge()[1]), GENESIS)
    replay = ChainReplay()
    replay.extend([(first, first.digest)])
    assert replay.fault == "entry 1 cannot be understood"


@given(st.lists(st.tuples(st.integers(0, 10**8), st.sampled_from([None, "a", "b"])), max_size=12))
def test_a_chain_gone_through_in_parts_says_the_same(charges):
    bodies = [charge(cost, systems=None if name is None else [name]) for cost, name in charges]
    whole = replayed(*bodies)
    parts = ChainReplay()
    for each in chain(*bodies):
        parts.extend([each])
    assert parts == whole
    assert whole.fleet == sum(cost for cost, name in charges if name is None)
    assert faults_of(whole) == ()


# -- accounts that act


def test_every_change_says_which_account_did_it_and_verifies(small, path, capsys):
    with acting_as("cora"):
        context = copy_context()  # a thread acts for the account of its context

        def make():
            small.create_dataset("roofs", Promise(System(), 2.0))

        thread = threading.Thread(target=context.run, args=(make,))
        thread.start()
        thread.join()
        small.set_share("roofs", "ann", 1.0)
        small.register("roofs", ["a", "b"])
    with acting_as("ann@home"):
        small.ask("roofs", question(1, epsilon=0.25), lambda: "drawn")
    small.set_share("roofs", "ann", 2.0)
    entries = small.entries("roofs")
    assert [(entry.kind, actor_of(entry.facts())) for entry in entries] == [
        ("promise", "cora"),
        ("analyst", "cora"),
        ("households", "cora"),
        ("charge", "ann@home"),
        ("answer", None),
        ("analyst", None),
    ]
    assert "by" not in json.loads(entries[-1].body)
    assert small.verify("roofs").holds
    assert main(["ledger", "show", "--ledger", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].rstrip().endswith(", by account cora")
    assert "by account" not in lines[-1]
    execute(path, "UPDATE entries SET body = replace(body, 'cora', 'dora') WHERE place = 2")
    assert small.verify("roofs").faults == ("entry 2 was changed",)


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 401])
def test_a_name_that_cannot_be_printed_is_refused(name):
    with pytest.raises(ParameterError, match="printable"), acting_as(name):
        pass
