from __future__ import annotations

import json
import stat
import xml.etree.ElementTree as ET

import pytest

from reproduction.artefact import Artefact
from reproduction.files import write_artefact
from sunveil.errors import SunveilError
from sunveil.plots.style import loose_figure


def artefact(**data: object) -> Artefact:
    figure = loose_figure(3.0, 2.0)
    figure.subplots().plot([0.0, 1.0], [1.0, 0.0])
    return Artefact("line", "A line", "It falls.", figure, {"y": [1.0, 0.0], **data})


def test_an_artefact_becomes_two_pictures_and_its_numbers(tmp_path):
    paths = write_artefact(tmp_path, artefact(unit="W/m²"))
    assert [path.name for path in paths] == ["line.png", "line.svg", "line.json"]
    png, svg, numbers = (path.read_bytes() for path in paths)
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20], "big") == 450  # 3 inches at 150 dots each
    assert ET.fromstring(svg).tag.endswith("svg")
    assert json.loads(numbers) == {
        "name": "line",
        "title": "A line",
        "words": "It falls.",
        "data": {"y": [1.0, 0.0], "unit": "W/m²"},
    }


def test_equal_figures_give_equal_bytes(tmp_path):
    (tmp_path / "again").mkdir()
    for one, other in zip(
        write_artefact(tmp_path, artefact()),
        write_artefact(tmp_path / "again", artefact()),
        strict=True,
    ):
        assert one.read_bytes() == other.read_bytes()


def test_numbers_that_json_does_not_know_leave_no_file_at_all(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        write_artefact(tmp_path, artefact(bad=float("nan")))
    assert not list(tmp_path.iterdir())


def test_files_of_private_readings_are_for_their_owner_only(tmp_path):
    for path in write_artefact(tmp_path, artefact(), private=True):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_cannot_be_written_is_said_in_one_sentence(tmp_path):
    (tmp_path / "line.svg").mkdir()
    with pytest.raises(SunveilError, match=r"line\.svg cannot be written"):
        write_artefact(tmp_path, artefact())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["line.png", "line.svg"]
