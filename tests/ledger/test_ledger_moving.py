from __future__ import annotations

import json
import shutil
from pathlib import Path

import psycopg
import pytest
from ledger_makers import TWO, execute, question

from sunveil.cli import main
from sunveil.errors import BudgetExceeded, LedgerConflict, LedgerError
from sunveil.ledger import Ledger, hash_chain
from sunveil.ledger import move_ledger as move_ledger_module
from sunveil.ledger.move_ledger import move_ledger


def used(where):
    """Make a ledger of two datasets, with charges of every kind; return what it shows."""
    with Ledger(where, create=True) as ledger:
        for name in ("a", "b"):
            ledger.create_dataset(name, TWO)
        ledger.set_share("a", "ada", 1.0)
        ledger.ask("a", question(0, epsilon=0.5, analyst="ada"), lambda: {"kept": [1.5]})
        ledger.charge("a", question(1, epsilon=0.25, systems=("house 7",)))
        return ledger.entries("a")


@pytest.fixture(params=["to postgresql", "to sqlite", "file to file"])
def places(request, tmp_path):
    """Return where a ledger is, and where it is moved to."""
    if request.param == "file to file":
        return str(tmp_path / "old.db"), str(tmp_path / "new.db")
    database = request.getfixturevalue("database")
    found = (str(tmp_path / "ledger.db"), database)
    return found if request.param == "to postgresql" else found[::-1]


def test_a_moved_ledger_holds_and_goes_on_where_it_was(places):
    old, new = places
    before = used(old)
    verdicts = move_ledger(old, new)
    assert [(each.dataset, each.holds) for each in verdicts] == [("a", True), ("b", True)]
    with Ledger(new) as ledger:
        assert ledger.verify("a").holds
        assert ledger.entries("a")[: len(before)] == before
        assert [each.kind for each in ledger.entries("a")[len(before) :]] == ["moved", "arrived"]
        assert (ledger.dataset("a").spent, ledger.shares("a")[0].spent) == (0.75, 0.5)
        assert ledger.kept("a", question(0, epsilon=0.5)).value == {"kept": [1.5]}
        with pytest.raises(BudgetExceeded):
            ledger.charge("a", question(2, epsilon=1.5))
        # what was paid and not answered is taken up there
        assert ledger.ask("a", question(1, epsilon=0.25, systems=("house 7",)), lambda: 1).fresh
        assert ledger.dataset("a").spent == 0.75
        ledger.charge("a", question(2, epsilon=1.25))
        ledger.create_dataset("c", TWO)
        assert [ledger.verify(name).holds for name in ledger.names()] == [True] * 3


def test_the_old_ledger_can_never_be_charged_again_and_still_proves_what_it_did(places):
    old, new = places
    used(old)
    move_ledger(old, new)
    with Ledger(old) as ledger:
        for change in (
            lambda: ledger.charge("a", question(3, epsilon=0.1)),
            lambda: ledger.ask("b", question(3, epsilon=0.1), lambda: pytest.fail("drawn")),
            lambda: ledger.set_share("b", "eve", 1.0),
            lambda: ledger.create_dataset("c", TWO),
        ):
            with pytest.raises(LedgerConflict, match=r"was moved to .* closed for good"):
                change()
        assert [ledger.verify(name).holds for name in ledger.names()] == [True, True]
        assert ledger.kept("a", question(0, epsilon=0.5)) is not None


def still_in_use(old):
    with Ledger(old) as ledger:
        ledger.charge("b", question("after", epsilon=0.1))
        assert ledger.verify("b").holds


def stop(*_):
    raise KeyboardInterrupt


def is_empty(new):
    if "://" not in new:
        return not list(Path(new).parent.glob(f"{Path(new).name}*[!k]"))
    with psycopg.connect(new) as connection:
        tables = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'"
        return connection.execute(tables).fetchone() == (0,)


@pytest.mark.parametrize("step", ["_copy_table", "_check_all", "append_entry", "moving_all"])
def test_a_move_that_fails_leaves_the_old_ledger_in_use_and_nothing_in_the_new(
    places, monkeypatch, step
):
    old, new = places
    used(old)
    where = hash_chain.HighWaterMarks if step == "moving_all" else move_ledger_module
    with monkeypatch.context() as patch:
        patch.setattr(where, step, stop)
        with pytest.raises(KeyboardInterrupt):
            move_ledger(old, new)
    assert is_empty(new)
    still_in_use(old)
    assert all(each.holds for each in move_ledger(old, new))


def test_a_move_that_was_interrupted_has_one_ledger_open_at_most(places, monkeypatch):
    old, new = places
    used(old)
    # before the old one is closed, and with no time to tidy up
    with monkeypatch.context() as patch:
        patch.setattr(move_ledger_module._Move, "_close", stop)
        patch.setattr(move_ledger_module._Move, "_remove_new", lambda _: None)
        with pytest.raises(KeyboardInterrupt):
            move_ledger(old, new)
    with Ledger(new) as ledger, pytest.raises(LedgerConflict, match="closed for good"):
        ledger.charge("b", question(3, epsilon=0.1))
    still_in_use(old)
    with pytest.raises(LedgerError, match="is not empty"):
        move_ledger(old, new)
    still_in_use(old)


def test_a_move_that_stopped_once_the_old_one_was_closed_is_finished(places, monkeypatch):
    old, new = places
    used(old)
    with monkeypatch.context() as patch:
        patch.setattr(move_ledger_module._Move, "_open_new", stop)
        with pytest.raises(KeyboardInterrupt):
            move_ledger(old, new)
    for where in places:
        with Ledger(where) as ledger, pytest.raises(LedgerConflict, match="closed for good"):
            ledger.charge("b", question(3, epsilon=0.1))
    for _ in range(2):
        assert all(each.holds for each in move_ledger(old, new))
    still_in_use(new)


def test_a_ledger_that_does_not_hold_or_was_moved_already_is_not_moved(path, tmp_path, database):
    used(path)
    shutil.copy(path, tmp_path / "backup.db")
    with Ledger(path) as ledger:
        ledger.create_dataset("more", TWO)
    shutil.copy(path, tmp_path / "whole.db")
    shutil.copy(tmp_path / "backup.db", path)
    with pytest.raises(LedgerConflict, match="forgotten"):
        move_ledger(path, tmp_path / "new.db")
    shutil.copy(tmp_path / "whole.db", path)
    execute(path, "UPDATE datasets SET fleet_spent = 0")
    with pytest.raises(LedgerConflict, match="the counters do not add up"):
        move_ledger(path, database)
    assert is_empty(database)
    shutil.copy(tmp_path / "whole.db", path)
    move_ledger(path, tmp_path / "new.db")
    shutil.copy(tmp_path / "whole.db", path)
    with Ledger(path) as ledger, pytest.raises(LedgerConflict, match="an old copy was put back"):
        ledger.charge("b", question(3, epsilon=0.1))


def test_the_new_place_is_another_one_that_is_empty_and_unknown(path, tmp_path, marks_apart):
    used(path)
    with pytest.raises(LedgerError, match="another place"):
        move_ledger(path, path)
    used(tmp_path / "other.db")
    with pytest.raises(LedgerError, match="is not empty"):
        move_ledger(path, tmp_path / "other.db")
    (tmp_path / "other.db").unlink()
    with pytest.raises(LedgerConflict, match="choose another place"):
        move_ledger(path, tmp_path / "other.db")
    assert not (tmp_path / "other.db").exists()
    execute(path, "CREATE TABLE strange (x)")
    with pytest.raises(LedgerError, match="something else"):
        move_ledger(path, tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()
    still_in_use(path)


def test_the_command_moves_and_says_what_holds(path, database, capsys):
    used(path)
    arguments = ["ledger", "move", "--ledger", str(path), "--to", database]
    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert "a: holds; 0.75 of 2 spent" in said
    assert said.endswith("The old ledger is closed for good.\n")
    assert main([*arguments, "--json"]) == 0
    assert [each["holds"] for each in json.loads(capsys.readouterr().out)["datasets"]] == [True] * 2
    assert main(["ledger", "show", "--ledger", database]) == 0
    assert "arrived  from" in capsys.readouterr().out
    assert main(["dataset", "share", "a", "ada", "1.5", "--ledger", str(path)]) == 2
    assert "was moved to postgresql://" in capsys.readouterr().err
