"""The planes of a fleet's systems as flat arrays, one entry a plane, and what has none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sunveil.errors import ParameterError
from sunveil.estimate import Flag
from sunveil.fleet.places import as_numbers, number_of

# What modules stand on. A system of which that is not known has the place behind them.
MOUNTS = ("one plane", "two planes", "tracker")
_NUMBERS = ("surface_azimuth", "surface_tilt", "share")
_UNTOLD = Flag.NOT_ONE_PLANE.value


def _no_numbers() -> NDArray[np.float64]:
    return np.empty(0)


@dataclass(frozen=True, slots=True, eq=False)
class FleetPlanes:
    """Planes of a fleet's systems, one entry a plane: private.

    Parameters
    ----------
    row
        The row of the system that each plane belongs to.
    surface_azimuth, surface_tilt
        The planes, NaN where they are unknown. [degrees]
    share
        Their shares of their system's capacity.
    """

    row: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    surface_azimuth: NDArray[np.float64] = field(default_factory=_no_numbers)
    surface_tilt: NDArray[np.float64] = field(default_factory=_no_numbers)
    share: NDArray[np.float64] = field(default_factory=_no_numbers)

    def __post_init__(self) -> None:
        sizes = {len(self.row), *(len(getattr(self, name)) for name in _NUMBERS)}
        if len(sizes) != 1:
            raise ParameterError("the columns of a fleet's planes have unequal lengths")

    def __len__(self) -> int:
        return len(self.row)

    def __repr__(self) -> str:
        return f"FleetPlanes({len(self.row)} planes, private)"

    def take(self, chosen: NDArray[Any]) -> FleetPlanes:
        """Return some of the planes, or all of them in another order."""
        return FleetPlanes(self.row[chosen], *(getattr(self, name)[chosen] for name in _NUMBERS))

    def of_rows(self, kept: NDArray[np.bool_]) -> FleetPlanes:
        """Return the planes of some systems, by their rows among these."""
        chosen = self.take(kept[self.row])
        numbers = (getattr(chosen, name) for name in _NUMBERS)
        return FleetPlanes(np.cumsum(kept)[chosen.row] - 1, *numbers)

    def of_several(self, rows: int) -> FleetPlanes:
        """Return the planes of systems with more than one, with shares that add up to 1.

        A system one of whose planes lacks a number, or has a share below nothing, is left out as
        if it had one plane only: whatever a table holds, a system weighs no more than 1.

        Parameters
        ----------
        rows
            How many systems there are.
        """
        known = np.isfinite(self.surface_azimuth) & np.isfinite(self.surface_tilt)
        known &= np.isfinite(self.share) & (self.share >= 0.0)
        total = np.bincount(self.row, np.where(known, self.share, 0.0), minlength=rows)
        usable = np.bincount(self.row, minlength=rows) > 1
        usable &= np.bincount(self.row[~known], minlength=rows) == 0
        usable &= (total > 0.0) & np.isfinite(total)
        chosen = self.take(usable[self.row])
        share = chosen.share / total[chosen.row]
        return FleetPlanes(chosen.row, chosen.surface_azimuth, chosen.surface_tilt, share)


def every_plane(
    azimuth: NDArray[np.float64], tilt: NDArray[np.float64], several: FleetPlanes
) -> FleetPlanes:
    """Return the planes of all systems by row, each system's shares adding up to 1.

    Parameters
    ----------
    azimuth, tilt
        The one plane of each system, which stands for those without several. [degrees]
    several
        The planes of systems with more than one.
    """
    several = several.of_several(len(azimuth))
    alone = np.setdiff1d(np.arange(len(azimuth)), several.row)
    planes = FleetPlanes(
        np.concatenate([alone, several.row]),
        np.concatenate([azimuth[alone], several.surface_azimuth]),
        np.concatenate([tilt[alone], several.surface_tilt]),
        np.concatenate([np.ones(len(alone)), several.share]),
    )
    return planes.take(np.argsort(planes.row, kind="stable"))


def planes_of_column(column: pa.ChunkedArray) -> FleetPlanes:
    """Return what a column of lists of planes holds; nothing of a column of another kind."""
    kind = column.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        return FleetPlanes()
    inner = kind.value_type
    if not pa.types.is_struct(inner) or any(inner.get_field_index(name) < 0 for name in _NUMBERS):
        return FleetPlanes()
    lists = column.combine_chunks()
    if isinstance(lists, pa.ChunkedArray):  # of no chunk at all
        return FleetPlanes()
    planes = pc.list_flatten(lists)
    row = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    numbers = (as_numbers(pa.chunked_array([pc.struct_field(planes, name)])) for name in _NUMBERS)
    return FleetPlanes(row, *numbers)


def trackers_of_column(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Return which systems a column of trackers names; none of a column of another kind."""
    if pa.types.is_struct(column.type):
        return np.asarray(pc.is_valid(column).to_numpy(), dtype=bool)
    if pa.types.is_boolean(column.type):
        return np.asarray(pc.fill_null(column, False).to_numpy(), dtype=bool)
    return np.zeros(len(column), dtype=bool)


def untold_of_column(flags: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Return which systems have the flag of more than one plane without its being told which."""
    kind = flags.type
    listed = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    if not (listed and pa.types.is_string(kind.value_type)):
        return np.zeros(len(flags), dtype=bool)
    raised = pc.equal(pc.list_flatten(flags), _UNTOLD)
    rows = pc.list_parent_indices(flags).filter(raised).to_numpy()
    return np.isin(np.arange(len(flags)), rows)


def columns_of_objects(systems: Sequence[Mapping[str, Any]]) -> dict[str, pa.Array]:
    """Return what systems of a JSON file name as such columns, each system read by itself."""
    planes = [
        [{name: number_of(plane.get(name)) for name in _NUMBERS} for plane in each]
        if all(isinstance(plane, dict) for plane in each)
        else []
        for each in _lists(systems, "planes")
    ]
    turning = [isinstance(system.get("tracker"), dict) for system in systems]
    # other texts are left out: one that is no Unicode would stop all systems
    flags = [[_UNTOLD] * (_UNTOLD in each) for each in _lists(systems, "flags")]
    numbers = pa.struct([(name, pa.float64()) for name in _NUMBERS])
    return {
        "planes": pa.array(planes, pa.list_(numbers)),
        "tracker": pa.array(turning, pa.bool_()),
        "flags": pa.array(flags, pa.list_(pa.string())),
    }


def _lists(systems: Sequence[Mapping[str, Any]], name: str) -> list[list[Any]]:
    """Return the lists of that name, empty where a system has something else there."""
    found = (system.get(name) for system in systems)
    return [each if isinstance(each, list) else [] for each in found]
