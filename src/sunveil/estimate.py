"""What an inference returns."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sunveil.meters.record import Label
from sunveil.site import Losses, Mount, Plane


class Flag(StrEnum):
    """What a reader of an estimate must know before trusting it."""

    CLIPPING = "clipping"
    LOW_AGREEMENT = "low_agreement"
    TOO_LITTLE_DATA = "too_little_data"
    CLOCK_REPAIRED = "clock_repaired"
    NOT_ONE_PLANE = "not_one_fixed_plane"


FLAG_MEANINGS = {
    Flag.CLIPPING: "the inverter's limit cuts the top off bright days",
    Flag.LOW_AGREEMENT: "few readings look like any single plane under this weather",
    Flag.TOO_LITTLE_DATA: "too few days for a whole season, so the intervals are wide",
    Flag.CLOCK_REPAIRED: "the declared clock did not fit the sun and was repaired",
    Flag.NOT_ONE_PLANE: "two planes or a tracker explain the readings far better than one plane",
}


class DaylightSaving(StrEnum):
    """How the stamps treat daylight saving, against what was declared."""

    AS_DECLARED = "as_declared"
    LEFT_IN = "left_in"
    APPLIED_TWICE = "applied_twice"


@dataclass(frozen=True, slots=True)
class Interval:
    """A 90% interval. For an azimuth, ``low`` to ``high`` runs clockwise and may pass north."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """Return ``high - low``, for intervals that do not wrap."""
        return self.high - self.low


@dataclass(frozen=True, slots=True)
class ClockFinding:
    """What the sun says of the clock.

    Parameters
    ----------
    offset_minutes
        How far the stamps run ahead of the declared clock outside daylight saving: 60 means that
        the clock is an hour fast. The repair subtracts it. [minutes]
    label
        The interval label that fits, which may differ from the declared one.
    daylight_saving
        Whether an hour of daylight saving was left in the stamps, or taken out twice.
    gain
        How much of the readings' weight the repair brought into agreement, as a fraction.
    """

    offset_minutes: float
    label: Label
    daylight_saving: DaylightSaving = DaylightSaving.AS_DECLARED
    gain: float = 0.0


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What was assumed rather than inferred."""

    losses: Losses
    albedo: float
    sky_model: str
    weather: str
    method: str
    mount: Mount = Mount.UNKNOWN

    def to_dict(self) -> dict[str, Any]:
        """Return the assumptions as plain JSON types."""
        return {
            "system_losses": self.losses.system,
            "inverter_efficiency": self.losses.inverter_efficiency,
            "gamma_pdc_per_degC": self.losses.gamma_pdc,
            "albedo": self.albedo,
            "sky_model": self.sky_model,
            "weather": self.weather,
            "method": self.method,
            "mount": self.mount.value,
        }


@dataclass(frozen=True, slots=True)
class Estimate:
    """The inferred metadata of one system, with 90% intervals.

    Parameters
    ----------
    system_id
        The curator's name of the system.
    plane
        The inferred plane.
    dc_capacity_kw
        DC nameplate capacity under ``assumptions``. [kW]
    azimuth_interval, tilt_interval, capacity_interval
        90% intervals of each quantity. [degrees, degrees, kW]
    plane_error_degrees
        Radius that holds the angle between the true and the inferred plane with 90%. [degrees]
    ac_limit_kw
        The inverter's limit where clipping shows, else None. [kW]
    clock
        What the sun says of the clock.
    agreement
        Fraction of the bright readings that the estimate explains.
    flags
        What to know before trusting the estimate.
    assumptions
        What was assumed.
    notes
        What the reader of the meter file did, one sentence each.
    """

    system_id: str
    plane: Plane
    dc_capacity_kw: float
    azimuth_interval: Interval
    tilt_interval: Interval
    capacity_interval: Interval
    plane_error_degrees: float
    ac_limit_kw: float | None
    clock: ClockFinding
    agreement: float
    flags: tuple[Flag, ...]
    assumptions: Assumptions
    notes: tuple[str, ...] = ()

    @property
    def surface_azimuth(self) -> float:
        """Azimuth, clockwise from north. [degrees]"""
        return self.plane.surface_azimuth

    @property
    def surface_tilt(self) -> float:
        """Tilt from horizontal. [degrees]"""
        return self.plane.surface_tilt

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as plain JSON types."""
        return {
            "system_id": self.system_id,
            "surface_azimuth": round(self.surface_azimuth, 2),
            "surface_azimuth_interval": _pair(self.azimuth_interval),
            "surface_tilt": round(self.surface_tilt, 2),
            "surface_tilt_interval": _pair(self.tilt_interval),
            "dc_capacity_kw": _significant(self.dc_capacity_kw),
            "dc_capacity_kw_interval": [
                _significant(self.capacity_interval.low),
                _significant(self.capacity_interval.high),
            ],
            "plane_error_degrees": round(self.plane_error_degrees, 2),
            "ac_limit_kw": None if self.ac_limit_kw is None else _significant(self.ac_limit_kw),
            "clock_offset_minutes": self.clock.offset_minutes,
            "clock_label": self.clock.label.value,
            "clock_daylight_saving": self.clock.daylight_saving.value,
            "agreement": round(self.agreement, 4),
            "flags": [flag.value for flag in self.flags],
            "assumptions": self.assumptions.to_dict(),
            "notes": list(self.notes),
        }


def _pair(interval: Interval) -> list[float]:
    return [round(interval.low, 2), round(interval.high, 2)]


def _significant(value: float) -> float:
    return float(f"{value:.5g}")
