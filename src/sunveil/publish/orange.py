"""Published systems in the words of the Orange Button taxonomy: one PVSystem per row."""

from __future__ import annotations

import json
from typing import Any

from sunveil.errors import ParameterError
from sunveil.publish.publication import PublishedTable

NEEDED = ("release_id", "surface_azimuth", "surface_tilt", "dc_capacity_kw")


def holds_systems(table: PublishedTable) -> bool:
    """Return whether a table has one released system per row."""
    return set(NEEDED) <= {column.name for column in table.columns}


def orange_button(table: PublishedTable, *, description: str = "") -> dict[str, Any]:
    """Return the systems of a table as an Orange Button document.

    A system is a ``PVSystem`` with its ``CapacityDC`` and one ``PVArray``, whose ``Orientation``
    has azimuth, clockwise from true north, and tilt from the horizontal. Its ``PVSystemID`` is the
    release's random name.

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
    rows = zip(names, azimuths, tilts, capacities, strict=True)
    return {"PVSystems": [_system(*row, description) for row in rows]}


def orange_json(table: PublishedTable, *, description: str = "") -> str:
    """Return the systems of a table as the text of an Orange Button document."""
    systems = orange_button(table, description=description)
    return json.dumps(systems, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _system(
    name: str, azimuth: float, tilt: float, capacity: float | None, description: str
) -> dict[str, Any]:
    plane = {"OrientationAzimuth": _angle(azimuth), "OrientationTilt": _angle(tilt)}
    system: dict[str, Any] = {"PVSystemID": {"Value": name}}
    if description:
        system["Description"] = {"Value": description}
    if capacity is not None:
        system["CapacityDC"] = {"Value": capacity, "Unit": "kW"}
    return {**system, "PVArrays": [{"Orientation": plane}]}


def _angle(degrees: float) -> dict[str, Any]:
    return {"Value": degrees, "Unit": "Degree"}
