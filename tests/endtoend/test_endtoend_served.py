"""The service's door: real answers of a real service, steady but for what is drawn."""

from __future__ import annotations

import pytest

from sunveil.endtoend.cells import THREE, estimate_cells, meter_cells
from sunveil.endtoend.inputs import comma_csv, csv_folder, estimates_json, fleet_folder
from sunveil.endtoend.served import (
    open_service_door,
    served_inference,
    served_systems,
    served_tables,
)


@pytest.fixture(scope="module")
def door(place):
    with open_service_door(place) as made:
        yield made


def test_systems_are_released_over_http(place, door, five_days):
    path = comma_csv(place.new_folder(), five_days)
    ask = served_systems(place, door, unit="readings:1", epsilon=1.0, systems=3)
    first, second = ask(path), ask(path)
    assert first.public["status of plans of systems"] == "200", first.public
    assert first.public["status of releases of systems"] == "201"
    assert first.difference(second) == ""
    assert len([row for row in first.drawn if "surface_azimuth" in row]) == 3
    assert first.drawn != second.drawn


def test_totals_are_released_over_http(place, door):
    path = estimates_json(place.new_folder(), estimate_cells(50, whole=50))
    ask = served_tables(place, door, epsilon=1.0, systems=50)
    first, second = ask(path), ask(path)
    assert first.public["status of releases of totals"] == "201", first.public
    assert first.difference(second) == ""
    assert [row["noisy_total_kw"] for row in first.drawn] != [
        row["noisy_total_kw"] for row in second.drawn
    ]


def test_a_fleet_is_inferred_by_the_service_first(place, door):
    longer = meter_cells(THREE, days=12)
    path = fleet_folder(csv_folder)(place.new_folder(), longer)
    found = served_inference(place, door, epsilon=1.0, systems=3)(path)
    assert found.public["state"] == "ready"
    assert found.public["status of releases of totals"] == "201", found.public
    assert [row["systems"] for row in found.drawn] == [3]


def test_an_answer_that_there_is_none_is_an_outcome(place, door):
    path = place.new_folder() / "none.json"
    found = served_tables(place, door, epsilon=1.0, systems=50)(path)
    assert found.public["status of releases of totals"] == "500"
    assert str(path.parent) not in str(found.public)
