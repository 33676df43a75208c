"""Every door, every kind of file and every unit is among the cases."""

from __future__ import annotations

import pytest

from sunveil.endtoend.cases import (
    SHORT,
    Scope,
    mount_draws,
    sector_draws,
    total_draws,
    window_draws,
)
from sunveil.endtoend.comparing import pairs_of
from sunveil.endtoend.hostile import FEW
from sunveil.endtoend.inputs import ESTIMATE_WRITERS, METER_SOURCES
from sunveil.endtoend.served import ServiceDoor

UNITS = {"one reading", "one day", "one system"}


# A service that nobody asks anything.
DOOR = ServiceDoor(None, "", "")


@pytest.fixture(scope="module")
def whole(place):
    return Scope(place, DOOR).all()


@pytest.fixture(scope="module")
def short(place):
    return Scope(place, DOOR, short=True).all()


def test_a_whole_audit_tries_all_files_at_all_doors_for_all_units(whole):
    tried = {(case.door, case.source, case.unit) for case in whole}
    for source in METER_SOURCES:
        for entry in ("Python", "command", "publication", "HTTP"):
            assert {unit for a, b, unit in tried if (a, b) == (entry, source)} == UNITS
    for source in ESTIMATE_WRITERS:
        for entry in ("Python", "publication", "HTTP"):
            assert (entry, f"estimates, {source}", "one system") in tried
    assert {case.door for case in whole} >= {"process"}
    assert pairs_of(whole) > 5000


def test_a_short_audit_tries_what_it_says(short):
    tried = {(case.door, case.source, case.unit) for case in short if not case.runs}
    assert tried == SHORT
    assert pairs_of(short) < 150
    assert {unit for _, _, unit in tried} == UNITS


@pytest.mark.parametrize("entry", ["Python", "command", "publication", "HTTP"])
def test_a_short_audit_tries_every_kind_at_a_door_by_one_file_or_another(short, entry):
    there = [case for case in short if case.door == entry and not case.runs]
    assert {each.kind for case in there for each in case.neighbours} == {*FEW}


def test_neighbours_are_of_systems_that_the_file_holds(whole):
    for case in whole:
        if case.source in ("CSV, beside temperatures", "CSV, column to be told"):
            assert {each.system for each in case.neighbours} == {"home00"}


@pytest.mark.parametrize("make", [window_draws, total_draws, sector_draws, mount_draws])
def test_what_is_drawn_often_differs_as_much_as_can_be(make):
    case = make(runs=7)
    assert (case.runs, len(case.neighbours), case.claim) == (7, 1, 1.0)
