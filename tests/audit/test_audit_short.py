"""A short audit of what is there: every entry point, every format, and every planted fault."""

from __future__ import annotations

import pytest

from audit.__main__ import checks
from audit.formats import ESTIMATE_SOURCES, METER_SOURCES

ELSEWHERE = ("mechanisms", "releases")


def named_only(folder, name, draw):
    for ending in ("png", "svg"):
        (folder / f"{name}.{ending}").touch()


@pytest.fixture(scope="module")
def found(place):
    # of figures, which tests of the commands draw, an outcome holds nothing but their names
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sunveil.publication.publication_folder._write_figure", named_only)
        # those of mechanisms and of scores have tests of their own
        made = checks(place, short=True)
        return [row for name, check in made if name not in ELSEWHERE for row in check()]


def test_no_claim_is_exceeded_and_every_planted_fault_is_caught(found):
    assert [str(row) for row in found if not row.ok] == []


def test_every_hole_that_was_there_is_planted(found):
    planted = {row.name.removeprefix("fault ") for row in found if row.name.startswith("fault ")}
    numbers = {name.split(":")[0] for name in planted if name[0].isdecimal()}
    # 6 was removed with what had it, 7 was of words
    assert numbers == {"1", "2", "3", "4", "5", "8", "9", "10", "11", "12"}
    assert len(planted) >= 24


def test_every_entry_point_and_format_is_tried(found):
    tried = {tuple(row.name.split(", ", 1)) for row in found if ", " in row.name}
    for entry in ("reader", "Python", "command", "publication", "HTTP"):
        assert [source for each, source in tried if each == entry], entry
    for name in METER_SOURCES:
        assert any(entry == "reader" and source.startswith(name) for entry, source in tried), name
    assert any("estimates, " in source for _, source in tried)
    assert len(ESTIMATE_SOURCES) > 4


def test_files_of_all_formats_but_one_are_answered(found):
    refused = {row.name for row in found if row.words.endswith("all refused")}
    assert all("column to be told" in name for name in refused), refused
