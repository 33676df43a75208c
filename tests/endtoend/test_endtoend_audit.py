"""A short audit of what is there: every door, and every planted fault."""

from __future__ import annotations

import json

import pytest

from sunveil.cli import main
from sunveil.cli.audited import show_end_to_end
from sunveil.endtoend.audit import audit_end_to_end
from sunveil.endtoend.cases import SHORT


def named_only(folder, name, draw):
    for ending in ("png", "svg"):
        (folder / f"{name}.{ending}").touch()


@pytest.fixture(scope="module")
def found():
    # of figures, which tests of the commands draw, an outcome holds nothing but their names
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sunveil.publish.folder._write_figure", named_only)
        return audit_end_to_end(main, short=True)


def test_no_claim_is_exceeded_at_any_door(found):
    assert {(each.door, each.source): each.worst for each in found.cases if not each.holds} == {}


def test_every_door_and_unit_is_tried_and_answers(found):
    assert {(each.door, each.source, each.unit) for each in found.cases} >= SHORT
    assert {each.door for each in found.cases} == {"Python", "command", "publication", "HTTP"}
    assert len({each.unit for each in found.cases}) == 3
    assert {each.source for each in found.cases if not each.answered} == set()


def test_every_planted_fault_is_caught(found):
    assert [each.name for each in found.faults if not each.caught] == []
    assert len(found.faults) >= 6


def test_what_was_found_can_be_read_and_kept(found):
    told = show_end_to_end(found).splitlines()
    assert told[-1].startswith("No claim is exceeded over ")
    assert sum(line.endswith("caught") for line in told) == len(found.faults)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["holds"] is True
