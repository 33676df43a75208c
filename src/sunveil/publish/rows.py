"""The inferred metadata of a fleet, one row per system: private."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sunveil.errors import ParameterError

Array = NDArray[np.float64]
Names = NDArray[np.str_]


@dataclass(frozen=True, slots=True, eq=False)
class FleetRows:
    """Estimates of a fleet: private.

    Parameters
    ----------
    system_ids
        The curator's names of the systems, distinct.
    surface_azimuth, surface_tilt
        Inferred planes. [degrees]
    dc_capacity_kw
        Inferred capacities. [kW]
    keys
        Public columns such as feeder or ZIP: which group a system belongs to is no secret, what its
        panels are is.
    """

    system_ids: tuple[str, ...]
    surface_azimuth: Array
    surface_tilt: Array
    dc_capacity_kw: Array
    keys: dict[str, Names] = field(default_factory=dict)

    def __post_init__(self) -> None:
        sizes = {
            len(self.system_ids),
            len(self.surface_azimuth),
            len(self.surface_tilt),
            len(self.dc_capacity_kw),
            *(len(column) for column in self.keys.values()),
        }
        if len(sizes) != 1:
            raise ParameterError("the columns of a fleet have unequal lengths")
        if len(set(self.system_ids)) != len(self.system_ids):
            raise ParameterError("a fleet names a system twice; each system is one row")

    def __len__(self) -> int:
        return len(self.system_ids)

    def __repr__(self) -> str:
        return f"FleetRows({len(self.system_ids)} systems, private)"
