"""The command's doors: what it says and writes is all there, and one run is like another."""

from __future__ import annotations

import warnings

import pytest

from sunveil.endtoend.cells import estimate_cells
from sunveil.endtoend.commands import (
    command_release,
    publish_estimates,
    publish_system,
    subprocess_release,
)
from sunveil.endtoend.inputs import comma_csv, estimates_csv, fleet_folder
from sunveil.endtoend.workplace import Workplace, run_command


@pytest.fixture(scope="module")
def meters(place, five_days):
    return fleet_folder(comma_csv)(place.new_folder(), five_days)


def test_a_release_is_split_into_what_is_said_and_what_is_drawn(place, meters):
    found = command_release(place, unit="readings:1", epsilon=1.0)(meters)
    assert found.public["exit code"] == "0"
    assert found.public["stderr"].startswith("sunveil: NOTHING WAS RECORDED")
    assert len(found.drawn) == 3
    assert {"surface_azimuth", "surface_tilt", "dc_capacity_kw"} <= set(found.drawn[0])


def test_a_process_of_its_own_says_the_same(place, meters):
    asked = {"unit": "readings:1", "epsilon": 0.1}
    inside, outside = command_release(place, **asked)(meters), subprocess_release(**asked)(meters)
    assert inside.difference(outside) == ""
    assert len(outside.drawn) == 3


def test_a_refusal_is_an_outcome(place, meters):
    found = command_release(place, unit="readings:1", epsilon=1.0)(meters.with_name("none.csv"))
    assert found.public["exit code"] == "2"
    assert str(meters.parent) not in found.public["stderr"]
    assert found.drawn == ()


@pytest.mark.parametrize("fleet", [False, True])
def test_a_publication_of_systems_is_steady_but_for_what_is_drawn(place, meters, fleet):
    door = publish_system(place, unit="readings:1", epsilon=1.0, fleet=fleet)
    first, second = door(meters), door(meters)
    assert first.public["exit code"] == "0", first.public["stderr"]
    assert first.difference(second) == ""
    assert first.drawn != second.drawn
    assert {"file README.md", "file release-card.yaml", "file systems.csv"} <= set(first.public)


def test_a_publication_of_a_fleet_is_steady_but_for_what_is_drawn(place):
    path = estimates_csv(place.new_folder(), estimate_cells(50, whole=50))
    door = publish_estimates(place, "fleet", epsilon=1.0)
    first, second = door(path), door(path)
    assert first.public["exit code"] == "0", first.public["stderr"]
    assert first.difference(second) == ""
    assert [row for row in first.drawn if "noisy_total_kw" in row]


def test_warnings_are_said_in_every_run(tmp_path):
    def command(_):
        warnings.warn("once", RuntimeWarning, stacklevel=1)
        return 0

    place = Workplace(tmp_path, command)
    assert all("once" in run_command(place, []).err for _ in range(2))


def test_a_traceback_is_an_outcome(tmp_path):
    def command(_):
        raise ZeroDivisionError

    assert run_command(Workplace(tmp_path, command), []).code == "traceback of ZeroDivisionError"
