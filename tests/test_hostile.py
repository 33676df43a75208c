"""Hostile records among others; ``python -m benchmarks.hostile`` tries a thousand of them."""

from __future__ import annotations

import pytest

from benchmarks.hostile import HostileCase, differences, quiet_fleet, try_cases
from benchmarks.hostile_ways import STAMPS_MATTER, WAYS, Outcome
from sunveil.errors import MeterError
from sunveil.meters import read_files, record


@pytest.mark.parametrize("way", list(WAYS))
def test_a_hostile_record_changes_nothing_of_the_others(way):
    tried = try_cases(range(2), ways=[way])
    assert sum(tried.ways.values()) == 2
    assert tried.changed == []


def test_a_batch_that_is_aborted_is_seen(monkeypatch):
    def abort(raw, options, *, name):
        found = record_or_refusal(raw, options, name=name)
        if isinstance(found, record.RefusedSystem):
            raise MeterError("planted")
        return found

    record_or_refusal = read_files.record_or_refusal
    monkeypatch.setattr(read_files, "record_or_refusal", abort)
    tried = try_cases(range(8), ways=["infer file --json"], say=lambda _: None)
    assert len({case.number for case, _ in tried.changed}) >= 2


def test_every_difference_is_named():
    case = HostileCase(0, "infer file", "one cell", "h2")
    quiet = Outcome(0, {"h1": "1", "h2": "2", "h3": "3"}, "all")
    assert differences(case, quiet, Outcome(0, {"h1": "1", "h2": "?", "h3": "3"}, "all")) == []
    found = differences(case, quiet, Outcome(2, {"h1": "1", "h3": "4", "h9": "?"}, "other"))
    assert len(found) == 5


def test_cases_follow_from_their_numbers():
    ways = tuple(WAYS)
    for number in range(40):
        case = HostileCase.of(number, ways)
        assert case == HostileCase.of(number, ways)
        fleet = case.fleet()
        assert fleet == case.fleet()
        assert set(fleet) == set(quiet_fleet())
        stamps = {name: [stamp for stamp, _ in rows] for name, rows in fleet.items()}
        if case.way in STAMPS_MATTER:
            assert stamps[case.system] == stamps["h1" if case.system != "h1" else "h2"]
