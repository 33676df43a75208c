"""Planes, trackers, households, years and clocks of an estimate, with their intervals."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sunveil._options import all_named, check_fields, checked
from sunveil.estimates.intervals_and_rounding import (
    Interval,
    five_digits,
    hundredths,
    interval_of,
    listed,
    quantity_columns,
    rounded,
)
from sunveil.meters.record import Label
from sunveil.site import Losses, Mount, Plane

if TYPE_CHECKING:
    from sunveil.engine.first_and_last_light import ClockCalendar

# What is enough for an inference.
FEWEST_READINGS = 60


_HOUR = 3600


# Offsets of labels, or no larger. [minutes]
SMALL_MINUTES = 30.0


# A clock is moved this far only if its zone is that of the place. [minutes]
FAR_MINUTES = 120.0


class DaylightSaving(StrEnum):
    """How the stamps treat daylight saving, against what was declared."""

    AS_DECLARED = "as_declared"
    LEFT_IN = "left_in"
    APPLIED_TWICE = "applied_twice"


@dataclass(frozen=True, slots=True)
class ClockHypothesis:
    """One clock: how far the stamps run ahead of the declared clock, and how they save daylight."""

    offset_minutes: float = 0.0  # [minutes]
    saving: DaylightSaving = DaylightSaving.AS_DECLARED
    steps: tuple[ClockStep, ...] = ()  # days from which on the offset is another one

    def ahead_seconds(self, calendar: ClockCalendar) -> NDArray[np.int64]:
        """Return how far each stamp of a calendar runs ahead. [s]"""
        hour = {
            DaylightSaving.AS_DECLARED: 0,
            DaylightSaving.LEFT_IN: _HOUR,
            DaylightSaving.APPLIED_TWICE: -_HOUR,
        }[self.saving]
        ahead = np.full(len(calendar.day), round(self.offset_minutes * 60.0), dtype=np.int64)
        for step in self.steps:
            ahead[calendar.day >= step.day] = round(step.offset_minutes * 60.0)
        return ahead + hour * calendar.saving

    def is_small(self) -> bool:
        """Whether the clock is off by half an hour at most, which a plane nearly hides."""
        far = max(
            abs(each) for each in (self.offset_minutes, *(s.offset_minutes for s in self.steps))
        )
        return self.saving is DaylightSaving.AS_DECLARED and 0.0 < far <= SMALL_MINUTES

    def needs_half_grid(self, step: int) -> bool:
        """Whether stamps have to move by a part of an interval of so many seconds."""
        return round(self.offset_minutes * 60.0) % step != 0


DECLARED = ClockHypothesis()


@dataclass(frozen=True, slots=True)
class FoundClock:
    """The clock that fits the sun, and the share of energy that it explains beyond the declared."""

    hypothesis: ClockHypothesis = DECLARED
    gain: float = 0.0

    def finding(self, label: Label, interval_minutes: float) -> ClockFinding:
        """Say what was found: half an interval is another label, anything else an offset."""
        offset, labels = self.hypothesis.offset_minutes, tuple(Label)
        steps = self.hypothesis.steps
        if interval_minutes >= 30.0 and abs(offset) == interval_minutes / 2.0 and not steps:
            place = labels.index(label) + (1 if offset > 0.0 else -1)
            if 0 <= place < len(labels):
                offset, label = 0.0, labels[place]
        return ClockFinding(offset, label, self.hypothesis.saving, self.gain, steps)


# Patches of sky. [degrees]
AZIMUTH_STEP = 12.0


COLUMNS = round(360.0 / AZIMUTH_STEP)


# A capacity that may be so many times as large as it may be is not known at all: the vaguest of a
# real winter, 18 dark days in Utrecht, is four times. [factor]
VAGUEST = 30.0


_EPOCH = dt.date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class ClockStep:
    """A day on which a clock was set to another time."""

    date: dt.date  # the first day on the other time
    offset_minutes: float  # [minutes]

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
    """What one year of a longer record says by itself."""

    first: dt.date  # its first day
    surface_azimuth: float  # [degrees] the plane
    surface_tilt: float  # [degrees] the plane
    dc_capacity_kw: float  # [kW] DC capacity

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


@dataclass(frozen=True, slots=True)
class PlaneEstimate:
    """One of the planes that a system's modules stand on, with 90% intervals.

    Parameters
    ----------
    plane
        The plane.
    share
        Its share of the system's DC capacity.
    dc_capacity_kw
        Its DC capacity. [kW]
    azimuth_interval, tilt_interval, share_interval, capacity_interval
        90% intervals of each. [degrees, degrees, 1, kW]
    """

    plane: Plane
    share: float
    dc_capacity_kw: float
    azimuth_interval: Interval
    tilt_interval: Interval
    share_interval: Interval
    capacity_interval: Interval

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def surface_azimuth(self) -> float:
        """Azimuth, clockwise from north. [degrees]"""
        return self.plane.surface_azimuth

    @property
    def surface_tilt(self) -> float:
        """Tilt from horizontal. [degrees]"""
        return self.plane.surface_tilt

    def to_row(self) -> dict[str, Any]:
        """Return the plane as plain types, rounded as an estimate's row is."""
        return {
            **quantity_columns(
                "surface_azimuth", self.surface_azimuth, self.azimuth_interval, hundredths
            ),
            **quantity_columns("surface_tilt", self.surface_tilt, self.tilt_interval, hundredths),
            **quantity_columns("share", self.share, self.share_interval, _thousandths),
            **quantity_columns(
                "dc_capacity_kw", self.dc_capacity_kw, self.capacity_interval, five_digits
            ),
        }

    @classmethod
    @checked
    @all_named("the row", "what to_row gave")
    def from_row(cls, row: Mapping[str, Any]) -> PlaneEstimate:
        """Return the plane that :meth:`to_row` gave."""
        return cls(
            plane=Plane(row["surface_azimuth"], row["surface_tilt"]),
            share=row["share"],
            dc_capacity_kw=row["dc_capacity_kw"],
            azimuth_interval=interval_of(row, "surface_azimuth"),
            tilt_interval=interval_of(row, "surface_tilt"),
            share_interval=interval_of(row, "share"),
            capacity_interval=interval_of(row, "dc_capacity_kw"),
        )


@dataclass(frozen=True, slots=True)
class TrackerEstimate:
    """A single-axis tracker with a horizontal axis, with 90% intervals.

    Parameters
    ----------
    axis_azimuth
        Where the axis points, in [90, 270): an axis has two ends, and the one nearer south is
        told. [degrees]
    backtrack
        Whether rows turn back at low sun, so as not to shade each other.
    backtrack_probability
        How likely that they do is.
    gcr
        Ground coverage ratio: the width of a row over the distance to the next. Without
        backtracking nothing but shade tells it.
    max_angle
        How far it turns from horizontal. Hardly told by readings: see its interval. [degrees]
    axis_interval, gcr_interval, max_angle_interval
        90% intervals of each. [degrees, 1, degrees]
    """

    axis_azimuth: float
    backtrack: bool
    backtrack_probability: float
    gcr: float
    max_angle: float
    axis_interval: Interval
    gcr_interval: Interval
    max_angle_interval: Interval

    def __post_init__(self) -> None:
        check_fields(self)

    def to_row(self) -> dict[str, Any]:
        """Return the tracker as plain types, rounded as an estimate's row is."""
        return {
            **quantity_columns("axis_azimuth", self.axis_azimuth, self.axis_interval, hundredths),
            "backtrack": self.backtrack,
            "backtrack_probability": _thousandths(self.backtrack_probability),
            **quantity_columns("gcr", self.gcr, self.gcr_interval, _thousandths),
            **quantity_columns("max_angle", self.max_angle, self.max_angle_interval, hundredths),
        }

    @classmethod
    @checked
    @all_named("the row", "what to_row gave")
    def from_row(cls, row: Mapping[str, Any]) -> TrackerEstimate:
        """Return the tracker that :meth:`to_row` gave."""
        return cls(
            axis_azimuth=row["axis_azimuth"],
            backtrack=row["backtrack"],
            backtrack_probability=row["backtrack_probability"],
            gcr=row["gcr"],
            max_angle=row["max_angle"],
            axis_interval=interval_of(row, "axis_azimuth"),
            gcr_interval=interval_of(row, "gcr"),
            max_angle_interval=interval_of(row, "max_angle"),
        )


def match_planes(
    true: Sequence[Plane], found: Sequence[PlaneEstimate]
) -> list[tuple[Plane, PlaneEstimate]]:
    """Return each true plane with the inferred one that stands for it."""
    # Of all ways to match them, the one with the smallest sum of angles; nothing where there are
    # more of the ones than of the others.
    if len(true) != len(found):
        return []
    ways = [list(zip(true, order, strict=True)) for order in permutations(found)]
    return min(ways, key=lambda way: sum(plane.angle_to(each.plane) for plane, each in way))


def _thousandths(value: float | None) -> float | None:
    return rounded(value, 3)
