"""Faulty readers are as faulty as they are meant to be, and only where they are."""

from __future__ import annotations

from sunveil.endtoend.faults import (
    HEAD,
    aborted,
    noting,
    one_mark,
    reading_as,
    sniffed,
    told_net,
)
from sunveil.endtoend.outcomes import Outcome


def lines(*cells: bytes) -> list[list[bytes]]:
    return [[b"id", b"value"], *([b"a", cell] for cell in cells)]


def test_a_sniffer_rounds_all_if_the_head_is_whole():
    whole = [b"5"] * HEAD
    assert sniffed(lines(*whole, b"7.45"))[-1] == [b"a", b"7"]
    apart = lines(b"5.25", *whole, b"7.45")
    assert sniffed(apart) == apart


def test_one_comma_at_the_head_decides_for_all():
    plain = lines(b"1.5", b"2.5")
    assert one_mark(plain) == plain
    with_comma = [plain[0], [b"a", b"1", b"5"], plain[2]]
    assert [row[-1] for row in one_mark(with_comma)[1:]] == [b"", b""]


def test_a_batch_ends_at_a_system_without_readings():
    rows = [[b"id", b"value"], [b"a", b"1"], [b"b", b""], [b"c", b"1"]]
    assert aborted(rows) == rows[:2]
    assert aborted(rows[:2]) == rows[:2]


def test_a_reader_hands_on_another_file_of_the_same_name(tmp_path):
    path = tmp_path / "m.csv"
    path.write_bytes(b"id,value\na,5\n")
    seen = []

    def run(given):
        seen.append((given.name, given.read_bytes()))
        return Outcome({})

    reading_as(lambda rows: rows[:1], run)(path)
    assert seen == [("m.csv", b"id,value\n")]
    assert path.read_bytes() == b"id,value\na,5\n"


def test_a_note_says_how_many_cells_are_no_numbers(tmp_path):
    path = tmp_path / "m.csv"
    path.write_bytes(b"id,value\na,nan\na,1\n")
    found = noting(lambda _: Outcome({"stderr": "said. "}))(path)
    assert found.public["stderr"] == "said. 1 readings were left out"


def test_a_reading_below_zero_makes_all_meters_net(tmp_path):
    door = told_net(lambda _: Outcome({"as": "generation"}), lambda _: Outcome({"as": "net"}))
    path = tmp_path / "m.csv"
    path.write_bytes(b"id,value\na,1\na,2\n")
    assert door(path).public["as"] == "generation"
    path.write_bytes(b"id,value\na,-1e30\na,2\n")
    assert door(path).public["as"] == "net"
