from __future__ import annotations

import json
import shutil

import pytest
from ledger_makers import question
from sqlalchemy import create_engine, text

from sunveil.errors import LedgerConflict
from sunveil.ledger import Promise
from sunveil.ledger.hash_chain import Entry, HighWaterMark
from sunveil.privacy import System

TWO = Promise(System(), 2.0)


@pytest.fixture
def used(ledger):
    """Return a ledger with a share, two charges and their answers: entries 1 to 6."""
    ledger.create_dataset("d", TWO)
    ledger.set_share("d", "ada", 1.5)
    ledger.ask("d", question(0, epsilon=0.5, analyst="ada"), lambda: "one")
    ledger.ask("d", question(1, epsilon=0.25, systems=("a",)), lambda: "two")
    assert ledger.verify("d").holds
    return ledger


def change(where, *statements):
    """Change a database behind its ledger's back."""
    url = where if "://" in where else f"sqlite:///{where}"
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        for statement in statements:
            assert connection.exec_driver_sql(statement).rowcount >= 1
    engine.dispose()


def forge(where):
    """Delete the last charge and its answer, and put everything else right."""
    url = where if "://" in where else f"sqlite:///{where}"
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        head = connection.execute(text("SELECT digest FROM entries WHERE place = 4")).scalar()
    engine.dispose()
    change(
        where,
        "DELETE FROM entries WHERE place > 4",
        "DELETE FROM answers WHERE place > 4",
        "DELETE FROM accounts",
        f"UPDATE datasets SET largest_spent = 0, length = 4, head = '{head}'",
    )


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
    change(where, statement)
    again = open_ledger(where, create=False)
    faults = again.verify("d").faults
    assert any(TAMPERED[statement] in fault for fault in faults), faults
    before = again.entries("d")
    with pytest.raises(LedgerConflict, match="the ledger of 'd' cannot be trusted"):
        again.charge("d", question(9, epsilon=0.1))
    assert again.entries("d") == before


def test_entries_that_were_deleted_with_all_counters_put_right_are_missed(used, where, open_ledger):
    forge(where)
    for ledger in (used, open_ledger(where)):
        assert ledger.verify("d").faults == (
            "the ledger has forgotten what was spent: an old copy was put back",
        )
        with pytest.raises(LedgerConflict, match="forgotten"):
            ledger.charge("d", question(9, epsilon=0.1))


def test_a_chain_that_was_written_anew_is_not_the_one_the_mark_saw(used, where, open_ledger):
    last = used.entries("d")[-1]
    forged = Entry(6, "answer", last.body.replace('"at"', '"ta"'), last.previous)
    change(
        where,
        f"UPDATE entries SET body = '{forged.body}', digest = '{forged.digest}' WHERE place = 6",
        f"UPDATE datasets SET head = '{forged.digest}'",
    )
    fault = "entry 6 is not the one that the high-water mark saw"
    assert used.verify("d").faults == (fault,)
    with pytest.raises(LedgerConflict, match=fault):
        open_ledger(where).charge("d", question(9, epsilon=0.1))


def test_a_process_that_saw_more_needs_no_mark_to_notice(used, where, marks_apart, tmp_path):
    used.charge("d", question(7, epsilon=0.01))  # has gone through the chain up to here
    change(where, "UPDATE datasets SET fleet_spent = fleet_spent - 10000000")
    with pytest.raises(LedgerConflict, match="counters"):
        used.charge("d", question(9, epsilon=0.1))


def test_a_changed_answer_is_not_given_out(used, where):
    change(where, "UPDATE answers SET answer = replace(answer, 'one', 'eno')")
    with pytest.raises(LedgerConflict, match="an answer was changed"):
        used.ask("d", question(0, epsilon=0.5), lambda: "new")


@pytest.mark.parametrize("lost", ["none", "beside", "state"])
def test_an_old_copy_that_was_put_back_is_noticed(
    lost, small, path, tmp_path, marks_apart, open_ledger
):
    small.create_dataset("d", TWO)
    small.ask("d", question(0), lambda: 1)
    small.close()
    backup = tmp_path / "backup.db"
    shutil.copy(path, backup)
    small.ask("d", question(1, epsilon=0.5), lambda: 1)
    small.close()
    shutil.copy(backup, path)
    if lost == "beside":
        (tmp_path / "ledger.db.mark").unlink()
    elif lost == "state":
        shutil.rmtree(marks_apart)
    again = open_ledger(path, create=False)
    assert again.verify("d").faults == (
        "the ledger has forgotten what was spent: an old copy was put back",
    )
    with pytest.raises(LedgerConflict, match="forgotten what was spent"):
        again.charge("d", question(2, epsilon=0.1))
    assert again.dataset("d").spent == 1.0


def test_an_older_copy_that_never_knew_a_dataset_is_noticed(small, path, tmp_path, open_ledger):
    small.create_dataset("a", TWO)
    small.close()
    shutil.copy(path, tmp_path / "backup.db")
    small.create_dataset("d", TWO)
    small.close()
    shutil.copy(tmp_path / "backup.db", path)
    again = open_ledger(path)
    assert again.forgotten() == ["d"]
    with pytest.raises(LedgerConflict, match="forgotten"):
        again.charge("d", question())
    with pytest.raises(LedgerConflict, match="was kept here before"):
        again.create_dataset("d", TWO)
    assert [each.name for each in again.datasets()] == ["a"]


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


def test_marks_move_forward_and_never_back(small, tmp_path):
    small.create_dataset("d", TWO)
    mark = tmp_path / "ledger.db.mark"
    mark.write_text(json.dumps({"d": [1, small.verify("d").head], "other": [7, "x"]}))
    small.charge("d", question())
    stored = json.loads(mark.read_text())
    assert stored == {"d": [2, small.verify("d").head], "other": [7, "x"]}
