"""What an estimate is made of beside its planes: the clock, the assumptions, the single years."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sunveil.arguments import all_named, check_fields
from sunveil.checked import checked
from sunveil.meters.record import Label
from sunveil.quantities import five_digits, hundredths, listed
from sunveil.site import Losses, Mount

_EPOCH = dt.date(1970, 1, 1)


class DaylightSaving(StrEnum):
    """How the stamps treat daylight saving, against what was declared."""

    AS_DECLARED = "as_declared"
    LEFT_IN = "left_in"
    APPLIED_TWICE = "applied_twice"


@dataclass(frozen=True, slots=True)
class ClockStep:
    """A day on which a clock was set to another time.

    Parameters
    ----------
    date
        The first day on the other time.
    offset_minutes
        How far the stamps run ahead of the declared clock from there on; 0 where they are right.
        [minutes]
    """

    date: dt.date
    offset_minutes: float

    @property
    def day(self) -> int:
        """The number of the date since 1970."""
        return (self.date - _EPOCH).days

    def __str__(self) -> str:
        return f"{self.date.isoformat()} {self.offset_minutes:+g}"

    @classmethod
    def parse(cls, text: str) -> ClockStep:
        """Return the step that a text as ``2019-10-27 -60`` stands for."""
        date, minutes = text.split()
        return cls(dt.date.fromisoformat(date), float(minutes))

    @classmethod
    def on(cls, day: int, offset_minutes: float) -> ClockStep:
        """Return the step on a day that is counted since 1970."""
        return cls(_EPOCH + dt.timedelta(days=int(day)), float(offset_minutes))


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
    steps
        The days on which the clock was set to another time; ``offset_minutes`` holds before the
        first of them.
    """

    offset_minutes: float
    label: Label
    daylight_saving: DaylightSaving = DaylightSaving.AS_DECLARED
    gain: float = 0.0
    steps: tuple[ClockStep, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self)

    def to_row(self) -> dict[str, Any]:
        """Return the finding as columns of a fleet's table, of plain types; not its ``gain``."""
        return {
            "clock_offset_minutes": self.offset_minutes,
            "clock_label": self.label.value,
            "clock_daylight_saving": self.daylight_saving.value,
            "clock_steps": [str(step) for step in self.steps],
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> ClockFinding:
        """Return the finding that :meth:`to_row` gave."""
        return cls(
            row["clock_offset_minutes"],
            Label(row["clock_label"]),
            DaylightSaving(row["clock_daylight_saving"]),
            steps=tuple(ClockStep.parse(each) for each in listed(row["clock_steps"])),
        )


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What was assumed rather than inferred.

    Parameters
    ----------
    losses
        What stands between light and meter.
    albedo
        Share of light that the ground sends back.
    sky_model
        How diffuse light is spread over the sky.
    weather
        Where the weather comes from.
    method
        ``default`` or ``paper``.
    mount
        How the modules are mounted.
    """

    losses: Losses
    albedo: float
    sky_model: str
    weather: str
    method: str
    mount: Mount = Mount.UNKNOWN

    def __post_init__(self) -> None:
        check_fields(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the assumptions as plain JSON types."""
        return {
            "system_losses": self.losses.system,
            "system_losses_parts": self.losses.parts,
            "inverter_efficiency": self.losses.inverter_efficiency,
            "gamma_pdc_per_degC": self.losses.gamma_pdc,
            "albedo": self.albedo,
            "sky_model": self.sky_model,
            "weather": self.weather,
            "method": self.method,
            "mount": self.mount.value,
        }

    @classmethod
    @checked
    @all_named("the assumptions", "what to_dict gave")
    def from_dict(cls, named: Mapping[str, Any]) -> Assumptions:
        """Return the assumptions that :meth:`to_dict` gave; other names are left aside."""
        return cls(
            losses=Losses(
                system=named["system_losses"],
                inverter_efficiency=named["inverter_efficiency"],
                gamma_pdc=named["gamma_pdc_per_degC"],
            ),
            albedo=named["albedo"],
            sky_model=named["sky_model"],
            weather=named["weather"],
            method=named["method"],
            mount=Mount(named["mount"]),
        )


@dataclass(frozen=True, slots=True)
class YearEstimate:
    """What one year of a longer record says by itself.

    Parameters
    ----------
    first
        Its first day.
    surface_azimuth, surface_tilt
        The plane. [degrees]
    dc_capacity_kw
        DC capacity. [kW]
    """

    first: dt.date
    surface_azimuth: float
    surface_tilt: float
    dc_capacity_kw: float

    def to_row(self) -> dict[str, Any]:
        """Return the year as plain types."""
        return {
            "first": self.first.isoformat(),
            "surface_azimuth": hundredths(self.surface_azimuth),
            "surface_tilt": hundredths(self.surface_tilt),
            "dc_capacity_kw": five_digits(self.dc_capacity_kw),
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> YearEstimate:
        """Return the year that :meth:`to_row` gave."""
        return cls(
            dt.date.fromisoformat(row["first"]),
            row["surface_azimuth"],
            row["surface_tilt"],
            row["dc_capacity_kw"],
        )
