from __future__ import annotations

import json

import pytest

from sunveil.errors import ParameterError
from sunveil.publication.publication_folder import holds_systems, orange_button, orange_json
from sunveil.publication.published_tables import Column, PublishedTable

NAMES = ("other", "release_id", "surface_azimuth", "surface_tilt", "dc_capacity_kw")
TABLE = PublishedTable(
    "systems",
    "",
    tuple(Column(name, "number", "") for name in NAMES),
    ((0, "a", 200.0, 30.0, 5.5), (0, "b", 95.0, 0.0, None)),
)


def test_every_row_is_a_system_with_its_plane_and_capacity():
    told = json.loads(orange_json(TABLE, description="ε = 1"))
    assert told["PVSystems"][0] == {
        "PVSystemID": {"Value": "a"},
        "Description": {"Value": "ε = 1"},
        "CapacityDC": {"Value": 5.5, "Unit": "kW"},
        "PVArrays": [
            {
                "Orientation": {
                    "OrientationAzimuth": {"Value": 200.0, "Unit": "Degree"},
                    "OrientationTilt": {"Value": 30.0, "Unit": "Degree"},
                }
            }
        ],
    }
    assert len(told["PVSystems"]) == 2


def test_what_is_not_released_is_left_out():
    second = orange_button(TABLE)["PVSystems"][1]
    assert set(second) == {"PVSystemID", "PVArrays"}


def test_a_table_without_systems_is_refused():
    counts = PublishedTable("counts", "", TABLE.columns[:1], ())
    assert holds_systems(TABLE)
    assert not holds_systems(counts)
    with pytest.raises(ParameterError, match="needs the columns release_id, surface_azimuth"):
        orange_button(counts)
