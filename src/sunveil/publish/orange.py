"""Published systems in the words of the Orange Button taxonomy: one PVSystem per row."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sunveil.errors import ParameterError
from sunveil.publish.publication import PublishedTable

NEEDED = ("release_id", "surface_azimuth", "surface_tilt", "dc_capacity_kw")


def holds_systems(table: PublishedTable) -> bool:
    """Return whether a table has one released system per row."""
    names = {column.name for column in table.columns}
    return set(NEEDED) <= names and "plane" not in names  # which is for tables of single planes


def orange_button(table: PublishedTable, *, description: str = "") -> dict[str, Any]:
    """Return the systems of a table as an Orange Button document.

    A system is a ``PVSystem`` with its ``CapacityDC`` and one ``PVArray`` for each of its planes,
    whose ``Orientation`` has azimuth, clockwise from true north, and tilt from the horizontal. Its
    ``PVSystemID`` is the release's random name. Where no planes are told, and for a tracker, the
    array has the system's own azimuth and tilt.

    Parameters
    ----------
    table
        A table with a release's name, plane and capacity in every row.
    description
        What is said of every system, such as how it was protected.
    """
    if not holds_systems(table):
        raise ParameterError(
            f"the table {table.name} has no systems to describe: Orange Button needs the columns"
            f" {', '.join(NEEDED)}"
        )
    names, azimuths, tilts, capacities = (table.column(name) for name in NEEDED)
    told = any(column.name == "planes" for column in table.columns)
    planes = table.column("planes") if told else [None] * len(names)
    found = []
    for name, azimuth, tilt, capacity, own in zip(
        names, azimuths, tilts, capacities, planes, strict=True
    ):
        arrays = own or [{"surface_azimuth": azimuth, "surface_tilt": tilt}]
        found.append(_system(name, arrays, capacity, description))
    return {"PVSystems": found}


def orange_json(table: PublishedTable, *, description: str = "") -> str:
    """Return the systems of a table as the text of an Orange Button document."""
    systems = orange_button(table, description=description)
    return json.dumps(systems, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _system(
    name: str, planes: Sequence[Mapping[str, float]], capacity: float | None, description: str
) -> dict[str, Any]:
    system: dict[str, Any] = {"PVSystemID": {"Value": name}}
    if description:
        system["Description"] = {"Value": description}
    if capacity is not None:
        system["CapacityDC"] = {"Value": capacity, "Unit": "kW"}
    return {**system, "PVArrays": [{"Orientation": _orientation(plane)} for plane in planes]}


def _orientation(plane: Mapping[str, float]) -> dict[str, Any]:
    return {
        "OrientationAzimuth": _angle(plane["surface_azimuth"]),
        "OrientationTilt": _angle(plane["surface_tilt"]),
    }


def _angle(degrees: float) -> dict[str, Any]:
    return {"Value": degrees, "Unit": "Degree"}
