"""What stands between the light on the modules and the meter: assumed, never inferred."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from sunveil.arguments import check_fields, is_number, shown
from sunveil.errors import ParameterError


class Mount(StrEnum):
    """How the modules are mounted, which decides how hot they run."""

    UNKNOWN = "unknown"
    RACK = "rack"
    ROOF = "roof"

    @property
    def heat(self) -> float:
        """How much more the modules warm above the air than on Faiman's open rack, as a factor."""
        return {"unknown": 1.25, "rack": 1.0, "roof": 1.5}[self.value]


# What PVWatts 5 takes off the DC power of a system that runs, under a sky that nothing hides. Its
# shading, snow and availability are left out: an inference rests on hours without them.
LOSS_PARTS = MappingProxyType(
    {
        "soiling": 0.02,
        "mismatch": 0.02,
        "wiring": 0.02,
        "connections": 0.005,
        "light-induced degradation": 0.015,
        "nameplate rating": 0.01,
    }
)
# How much more than that real, labelled systems give on clear days, in the mean
# (``python -m benchmarks.calibrate``).
CALIBRATION = 1.04
RUNNING_LOSSES = round(1.0 - CALIBRATION * math.prod(1.0 - part for part in LOSS_PARTS.values()), 3)


@dataclass(frozen=True, slots=True)
class Losses:
    """Losses between the light on the modules and the meter.

    They are assumed, never inferred, and named in every result.

    Parameters
    ----------
    system
        Soiling, wiring, mismatch and the like, as a fraction of DC power; the default is
        :data:`LOSS_PARTS` together, corrected by :data:`CALIBRATION`. Below zero where a system
        gives more than its nameplate says.
    inverter_efficiency
        Nominal inverter efficiency, as a fraction.
    gamma_pdc
        Temperature coefficient of DC power. [1/°C]
    """

    system: float = RUNNING_LOSSES
    inverter_efficiency: float = 0.96
    gamma_pdc: float = -0.004

    def __post_init__(self) -> None:
        check_fields(self)
        if not -0.2 <= self.system < 1.0:
            raise ParameterError(f"system losses must be in [-0.2, 1), and {self.system:g} is not")
        if not 0.5 <= self.inverter_efficiency <= 1.0:
            raise ParameterError(
                f"inverter_efficiency must be in [0.5, 1], and {self.inverter_efficiency:g} is not"
            )
        if not -0.02 <= self.gamma_pdc <= 0.0:
            raise ParameterError(
                f"gamma_pdc must be in [-0.02, 0] per °C, and {self.gamma_pdc:g} is not"
            )

    @classmethod
    def of(cls, given: Losses | float | None) -> Losses:
        """Return losses given as such, or as the fraction that the system loses alone.

        Parameters
        ----------
        given
            Losses; a fraction, such as 0.1; or None, for the assumed ones.
        """
        if given is None:
            return cls()
        if isinstance(given, cls):
            return given
        if not is_number(given):
            raise ParameterError(
                f"losses must be a fraction such as 0.1, or Losses, and {shown(given)} is not"
            )
        return cls(system=float(given))  # type: ignore[arg-type]

    @property
    def parts(self) -> dict[str, float]:
        """What the system losses are made of: the assumed parts, or all of them as given."""
        if self.system != RUNNING_LOSSES:
            return {"given": self.system}
        return {**LOSS_PARTS, "calibration on real systems": round(1.0 - CALIBRATION, 3)}

    @property
    def factor(self) -> float:
        """AC power per unit of DC power far from the inverter's limit."""
        return (1.0 - self.system) * self.inverter_efficiency
