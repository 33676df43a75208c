from __future__ import annotations

import pytest

from sunveil.errors import LedgerError
from sunveil.ledger.hash_chain import HighWaterMark, HighWaterMarks


@pytest.fixture
def marks(tmp_path):
    return HighWaterMarks(tmp_path / "a" / "one.json", tmp_path / "two.json")


def leftovers(folder):
    return list(folder.rglob("*.part"))


def test_a_mark_is_kept_in_every_place_and_the_highest_counts(marks, tmp_path):
    with marks.moving("d", HighWaterMark(1, "x")):
        assert marks.get("d") is None
    with HighWaterMarks(tmp_path / "two.json").moving("d", HighWaterMark(2, "y")):
        pass
    assert marks.all() == {"d": HighWaterMark(2, "y")}
    (tmp_path / "two.json").unlink()
    assert marks.get("d") == HighWaterMark(1, "x")


def test_a_change_that_fails_leaves_the_mark_where_it_was(marks, tmp_path):
    with marks.moving("d", HighWaterMark(1, "x")):
        pass
    with pytest.raises(ZeroDivisionError), marks.moving("d", HighWaterMark(2, "y")):
        raise ZeroDivisionError
    assert marks.get("d") == HighWaterMark(1, "x")
    assert leftovers(tmp_path) == []


def test_a_mark_never_goes_back(marks):
    for mark in (HighWaterMark(3, "x"), HighWaterMark(2, "y"), HighWaterMark(3, "z")):
        with marks.moving("d", mark):
            pass
    assert marks.get("d") == HighWaterMark(3, "x")


def test_a_mark_that_cannot_be_written_refuses_before_the_change(marks, tmp_path):
    (tmp_path / ".two.json.part").mkdir()
    reached = []
    with (
        pytest.raises(LedgerError, match=r"mark .*two\.json cannot be written: is a directory"),
        marks.moving("d", HighWaterMark(1, "x")),
    ):
        reached.append(True)
    assert reached == []
    assert marks.all() == {}
    assert leftovers(tmp_path / "a") == []
