"""Planes, trackers, households, years and clocks of an estimate, with their intervals."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sunveil._options import all_named, check_fields, checked
from sunveil.estimates.intervals_and_rounding import (
    FIVE_DIGITS,
    FOUR_DECIMALS,
    HUNDREDTHS,
    THOUSANDTHS,
    Interval,
    Part,
    day,
    ends,
    number,
    numbers,
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
        """Whether stamps have to move by a part of an interval of a given length in seconds."""
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

# A capacity that with a range wider than this factor is not known at all: the vaguest of a
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
class YearEstimate(Part):
    """What one year of a longer record says by itself."""

    first: dt.date = field(metadata=day())  # its first day
    surface_azimuth: float = field(metadata=number(HUNDREDTHS))  # [degrees] the plane
    surface_tilt: float = field(metadata=number(HUNDREDTHS))  # [degrees] the plane
    dc_capacity_kw: float = field(metadata=number(FIVE_DIGITS))  # [kW] DC capacity


@dataclass(frozen=True, slots=True)
class PlaneEstimate(Part):
    """One plane of a system, with 90% intervals.

    Parameters
    ----------
    surface_azimuth, surface_tilt
        The plane. [degrees]
    share
        Its share of the system's DC capacity.
    dc_capacity_kw
        Its DC capacity. [kW]
    azimuth_interval, tilt_interval, share_interval, capacity_interval
        90% intervals of each. [degrees, degrees, 1, kW]
    """

    surface_azimuth: float = field(metadata=number(HUNDREDTHS))
    azimuth_interval: Interval = field(metadata=ends("surface_azimuth", HUNDREDTHS))
    surface_tilt: float = field(metadata=number(HUNDREDTHS))
    tilt_interval: Interval = field(metadata=ends("surface_tilt", HUNDREDTHS))
    share: float = field(metadata=number(THOUSANDTHS))
    share_interval: Interval = field(metadata=ends("share", THOUSANDTHS))
    dc_capacity_kw: float = field(metadata=number(FIVE_DIGITS))
    capacity_interval: Interval = field(metadata=ends("dc_capacity_kw", FIVE_DIGITS))

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def plane(self) -> Plane:
        """The plane alone."""
        return Plane(self.surface_azimuth, self.surface_tilt)


@dataclass(frozen=True, slots=True)
class TrackerEstimate(Part):
    """A single-axis tracker with a horizontal axis, with 90% intervals.

    Parameters
    ----------
    axis_azimuth
        Direction of the axis, in [90, 270): of its two ends, the one nearer south. [degrees]
    backtrack
        Whether rows turn back at low sun, so as not to shade each other.
    backtrack_probability
        The probability that they do.
    gcr
        Ground coverage ratio: the width of a row over the distance to the next. Without
        backtracking, only shade shows it.
    max_angle
        The largest rotation from horizontal. Poorly determined: see its interval. [degrees]
    axis_interval, gcr_interval, max_angle_interval
        90% intervals of each. [degrees, 1, degrees]
    """

    axis_azimuth: float = field(metadata=number(HUNDREDTHS))
    axis_interval: Interval = field(metadata=ends("axis_azimuth", HUNDREDTHS))
    backtrack: bool = field()
    backtrack_probability: float = field(metadata=number(THOUSANDTHS))
    gcr: float = field(metadata=number(THOUSANDTHS))
    gcr_interval: Interval = field(metadata=ends("gcr", THOUSANDTHS))
    max_angle: float = field(metadata=number(HUNDREDTHS))
    max_angle_interval: Interval = field(metadata=ends("max_angle", HUNDREDTHS))

    def __post_init__(self) -> None:
        check_fields(self)


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


# The quarters of a year of a load: December to February, and so on.
SEASONS = ("dec-feb", "mar-may", "jun-aug", "sep-nov")

HOURS = 24


def season_of(month: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the place among :data:`SEASONS` of months, 1 to 12.

    >>> season_of(np.array([12, 2, 3, 7, 11])).tolist()
    [0, 0, 1, 2, 3]
    """
    return np.asarray(month % 12 // 3, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class HouseholdEstimate(Part):
    """Household load behind a net meter, separated from generation: as private as the readings.

    Parameters
    ----------
    mean_load_kw
        Mean load over all readings; NaN where nights are not seen, as of a meter of exports. [kW]
    self_consumption
        Share of the generation that the household used itself.
    exporting
        Share of the daylight readings in which more was generated than used.
    load_kw
        Mean load at each hour of the declared clock, by :data:`SEASONS`: four tuples of 24, with
        NaN where nothing was read. [kW]
    """

    mean_load_kw: float = field(metadata=number(FOUR_DECIMALS))
    self_consumption: float = field(metadata=number(FOUR_DECIMALS))
    exporting: float = field(metadata=number(FOUR_DECIMALS))
    load_kw: tuple[tuple[float, ...], ...] = field(metadata=numbers(FOUR_DECIMALS))

    def __post_init__(self) -> None:
        check_fields(self)
        # one and the same NaN wherever nothing was read, so that equal households are equal
        loads = tuple(tuple(map(_plain, season)) for season in self.load_kw)
        object.__setattr__(self, "load_kw", loads)
        for name in ("mean_load_kw", "self_consumption", "exporting"):
            object.__setattr__(self, name, _plain(getattr(self, name)))

    def __repr__(self) -> str:
        return "HouseholdEstimate(private)"

    @checked
    def usual_load(
        self, month: NDArray[np.integer], hour: NDArray[np.integer]
    ) -> NDArray[np.float64]:
        """Return the mean load at hours of the declared clock, NaN where nothing was read. [kW]

        Parameters
        ----------
        month, hour
            Months, 1 to 12, and hours, 0 to 23.
        """
        return np.asarray(np.array(self.load_kw, dtype=np.float64)[season_of(month), hour])


def _plain(value: float) -> float:
    return math.nan if math.isnan(value) else float(value)
