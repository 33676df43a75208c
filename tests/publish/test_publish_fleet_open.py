from __future__ import annotations

import pytest

from sunveil.errors import ParameterError, SourceError
from sunveil.fleet.open import open_fleet


def test_a_work_folder_that_holds_anything_is_refused_and_left_as_it_is(tmp_path):
    kept = tmp_path / "work" / "kept.txt"
    kept.parent.mkdir()
    kept.write_text("mine", encoding="utf-8")
    with (
        pytest.raises(ParameterError, match="work must be a new or an empty folder"),
        open_fleet(tmp_path / "no-fleet", tmp_path / "no-systems.csv", work=kept.parent),
    ):
        pass
    assert kept.read_text(encoding="utf-8") == "mine"


def test_a_work_folder_of_its_own_is_removed_at_the_end(tmp_path):
    with (
        pytest.raises(SourceError),
        open_fleet(tmp_path / "no-fleet", tmp_path / "no-systems.csv", work=tmp_path / "work"),
    ):
        pass
    assert list(tmp_path.iterdir()) == []
