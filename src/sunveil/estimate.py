"""What an inference returns."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sunveil.meters.record import Label
from sunveil.planes import PlaneEstimate, TrackerEstimate
from sunveil.quantities import (
    Interval,
    five_digits,
    hundredths,
    interval_of,
    listed,
    number_or_nan,
    quantity_columns,
    rounded,
    with_pairs,
)
from sunveil.site import Losses, Mount, Plane

_EPOCH = dt.date(1970, 1, 1)


class Flag(StrEnum):
    """What a reader of an estimate must know before trusting it."""

    CLIPPING = "clipping"
    LOW_AGREEMENT = "low_agreement"
    TOO_LITTLE_DATA = "too_little_data"
    CLOCK_REPAIRED = "clock_repaired"
    NOT_ONE_PLANE = "not_one_fixed_plane"
    NET_METER = "net_meter"
    NOT_GENERATION = "not_generation"
    EXPORTED_ONLY = "exported_only"
    WRONG_PLACE = "wrong_place"
    UNLIKELY_UNIT = "unlikely_unit"
    LABEL_UNKNOWN = "label_unknown"
    FEW_CLEAR_HOURS = "few_clear_hours"
    SEASONAL_HAZE = "seasonal_haze"
    CAPACITY_BOUNDED = "capacity_bounded"
    TWO_PLANES = "two_planes"
    TRACKER = "tracker"


FLAG_MEANINGS = {
    Flag.CLIPPING: "the inverter's limit cuts the top off bright days",
    Flag.LOW_AGREEMENT: "few readings look like any single plane under this weather",
    Flag.TOO_LITTLE_DATA: "too few days for a whole season, so the intervals are wide",
    Flag.CLOCK_REPAIRED: "the declared clock did not fit the sun and was repaired",
    Flag.NOT_ONE_PLANE: "its modules stand on more than one plane, and nothing can tell which",
    Flag.NET_METER: "a household's consumption is in the readings",
    Flag.NOT_GENERATION: "the readings do not look like those of a PV system",
    Flag.EXPORTED_ONLY: "only what a household left over is in the readings",
    Flag.WRONG_PLACE: "its days are not those of this place",
    Flag.UNLIKELY_UNIT: "the capacity would make sense in another unit",
    Flag.LABEL_UNKNOWN: "nobody said which instant of its interval a stamp names, nor does the sun:"
    " the interval of azimuth holds the answers for its start, its middle and its end",
    Flag.FEW_CLEAR_HOURS: "too few clear hours for a sure plane, so the intervals are wide",
    Flag.SEASONAL_HAZE: "winter days are hazy, which makes a plane look flatter than it is",
    Flag.TWO_PLANES: "its modules stand on two planes: azimuth and tilt are those of the one plane"
    " that would do best in their place",
    Flag.TRACKER: "its modules follow the sun",
    Flag.CAPACITY_BOUNDED: "no plane agrees with the highest powers: the capacity is theirs",
}


class Quality(StrEnum):
    """How far an estimate can be relied on, in one word."""

    GOOD = "good"
    FAIR = "fair"
    POOR = "poor"


# Radii that hold the plane of a good and of a fair estimate. [degrees]
GOOD_WITHIN, FAIR_WITHIN = 7.0, 12.0
# With these flags an estimate is poor, whatever its intervals; with those it is fair at best.
POOR_FLAGS = (
    Flag.NOT_GENERATION,
    Flag.WRONG_PLACE,
    Flag.EXPORTED_ONLY,
    Flag.NET_METER,
    Flag.NOT_ONE_PLANE,
    Flag.CAPACITY_BOUNDED,
    Flag.LOW_AGREEMENT,
    Flag.SEASONAL_HAZE,
    Flag.TOO_LITTLE_DATA,
    Flag.FEW_CLEAR_HOURS,
)
FAIR_FLAGS = (Flag.UNLIKELY_UNIT, Flag.LABEL_UNKNOWN)


def judge(flags: Collection[Flag], plane_error_degrees: float) -> tuple[Quality, str]:
    """Return how far an estimate can be relied on, and why.

    Two planes and a tracker that were told are judged as a plane is: neither flag speaks against
    them.

    Parameters
    ----------
    flags
        Its flags.
    plane_error_degrees
        The radius that holds its plane; of two planes, the larger of their radii. [degrees]
    """
    plane_error_degrees = round(plane_error_degrees, 2)  # as a fleet's table has it
    for quality, bad in ((Quality.POOR, POOR_FLAGS), (Quality.FAIR, FAIR_FLAGS)):
        for flag in bad:
            if flag in flags and (quality is Quality.POOR or plane_error_degrees <= FAIR_WITHIN):
                return quality, FLAG_MEANINGS[flag]
    what = "the plane is"
    if Flag.TWO_PLANES in flags:
        what = "each of the two planes is"
    elif Flag.TRACKER in flags:
        what = "the axis of the tracker is"
    reason = f"{what} known to within {plane_error_degrees:.0f} degrees"
    if plane_error_degrees <= GOOD_WITHIN:
        return Quality.GOOD, reason
    return (Quality.FAIR if plane_error_degrees <= FAIR_WITHIN else Quality.POOR), reason


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


@dataclass(frozen=True, slots=True)
class Estimate:
    """The inferred metadata of one system, with 90% intervals.

    Parameters
    ----------
    system_id
        The curator's name of the system.
    plane
        The inferred plane; of several, the one that would do best in their place, and of a tracker
        the modules at rest.
    dc_capacity_kw
        DC nameplate capacity under ``assumptions``. [kW]
    azimuth_interval, tilt_interval, capacity_interval
        90% intervals of each quantity. [degrees, degrees, kW]
    plane_error_degrees
        Radius that holds the angle between the true and the inferred plane with 90%; of two planes
        the larger of their radii, of a tracker that of its axis. [degrees]
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
    haze_summer, haze_winter
        What the fit added to the sky's Linke turbidity in midsummer and in midwinter; None where
        none was fitted.
    heat
        How many times Faiman's rise of temperature the fit found; None where none was fitted.
    clear_hours
        Hours of clear days that the estimate rests on; None where days were not weighed. [h]
    skyline
        The sun's elevation below which something hides it, in sectors of equal width clockwise from
        north; empty where nothing does. [degrees]
    years
        What the single years of a longer record say.
    trend_percent_per_year
        How the output changes; None where too few years tell. [% per year]
    planes
        The planes that its modules stand on, the largest share first: ``plane`` alone where no
        second one shows, none of a tracker.
    tracker
        What turns its modules; None where they stand still.
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
    haze_summer: float | None = None
    haze_winter: float | None = None
    heat: float | None = None
    clear_hours: float | None = None
    skyline: tuple[float, ...] = ()
    years: tuple[YearEstimate, ...] = ()
    trend_percent_per_year: float | None = None
    planes: tuple[PlaneEstimate, ...] = ()
    tracker: TrackerEstimate | None = None

    def __post_init__(self) -> None:
        # a single plane is always the effective one, also where that was replaced
        if self.tracker is not None:
            object.__setattr__(self, "planes", ())
        elif len(self.planes) < 2:
            object.__setattr__(self, "planes", (self.effective_plane,))

    @property
    def effective_plane(self) -> PlaneEstimate:
        """The one plane that stands for the whole system, with its intervals."""
        return PlaneEstimate(
            plane=self.plane,
            share=1.0,
            dc_capacity_kw=self.dc_capacity_kw,
            azimuth_interval=self.azimuth_interval,
            tilt_interval=self.tilt_interval,
            share_interval=Interval(1.0, 1.0),
            capacity_interval=self.capacity_interval,
        )

    @property
    def haze(self) -> float | None:
        """What the fit added to the sky's Linke turbidity over the year."""
        if self.haze_summer is None or self.haze_winter is None:
            return None
        return 0.5 * (self.haze_summer + self.haze_winter)

    @property
    def dc_ac_ratio(self) -> float | None:
        """DC capacity over the inverter's limit, where that shows."""
        return None if self.ac_limit_kw is None else self.dc_capacity_kw / self.ac_limit_kw

    @property
    def quality(self) -> Quality:
        """How far the estimate can be relied on, in one word."""
        return judge(self.flags, self.plane_error_degrees)[0]

    @property
    def quality_reason(self) -> str:
        """Why its quality is what it is."""
        return judge(self.flags, self.plane_error_degrees)[1]

    @property
    def surface_azimuth(self) -> float:
        """Azimuth, clockwise from north. [degrees]"""
        return self.plane.surface_azimuth

    @property
    def surface_tilt(self) -> float:
        """Tilt from horizontal. [degrees]"""
        return self.plane.surface_tilt

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as plain JSON types: its row, intervals as pairs, and the rest."""
        row = self.to_row()
        row["planes"] = [with_pairs(each) for each in row["planes"]]
        row["tracker"] = None if self.tracker is None else with_pairs(row["tracker"])
        return {
            **with_pairs(row),
            "quality_reason": self.quality_reason,
            "dc_ac_ratio": hundredths(self.dc_ac_ratio),
            "assumptions": self.assumptions.to_dict(),
            "notes": list(self.notes),
        }

    def to_row(self) -> dict[str, Any]:
        """Return the estimate as a row of a fleet's table: plain types, None for what is not there.

        Degrees are rounded to hundredths, capacities to five digits.
        """
        return {
            "system_id": self.system_id,
            **quantity_columns(
                "surface_azimuth", self.surface_azimuth, self.azimuth_interval, hundredths
            ),
            **quantity_columns("surface_tilt", self.surface_tilt, self.tilt_interval, hundredths),
            **quantity_columns(
                "dc_capacity_kw", self.dc_capacity_kw, self.capacity_interval, five_digits
            ),
            "plane_error_degrees": hundredths(self.plane_error_degrees),
            "ac_limit_kw": five_digits(self.ac_limit_kw),
            "haze_summer": rounded(self.haze_summer, 4),
            "haze_winter": rounded(self.haze_winter, 4),
            "heat": rounded(self.heat, 4),
            "clear_hours": hundredths(self.clear_hours),
            "trend_percent_per_year": hundredths(self.trend_percent_per_year),
            "planes": [each.to_row() for each in self.planes],
            "tracker": None if self.tracker is None else self.tracker.to_row(),
            "skyline": list(self.skyline),
            "years": [year.to_row() for year in self.years],
            "clock_offset_minutes": self.clock.offset_minutes,
            "clock_label": self.clock.label.value,
            "clock_daylight_saving": self.clock.daylight_saving.value,
            "clock_steps": [str(step) for step in self.clock.steps],
            "agreement": rounded(self.agreement, 4),
            "flags": [flag.value for flag in self.flags],
            "quality": self.quality.value,
        }

    @classmethod
    def from_row(
        cls, row: Mapping[str, Any], assumptions: Assumptions, *, notes: Iterable[str] = ()
    ) -> Estimate:
        """Return the estimate that a row of a fleet's table holds: the inverse of :meth:`to_row`.

        Parameters
        ----------
        row
            The columns of :meth:`to_row`; others are left aside. Lists may be arrays, as pandas
            gives them. Tables of version 0.1 have neither ``heat`` nor what follows it there, and
            one ``haze`` for all seasons.
        assumptions
            What the fleet's run assumed, which stands beside the table and not in it.
        notes
            What the reader of the meter file did, one sentence each.
        """
        turned = row.get("tracker")
        return cls(
            system_id=str(row["system_id"]),
            plane=Plane(row["surface_azimuth"], row["surface_tilt"]),
            dc_capacity_kw=row["dc_capacity_kw"],
            azimuth_interval=interval_of(row, "surface_azimuth"),
            tilt_interval=interval_of(row, "surface_tilt"),
            capacity_interval=interval_of(row, "dc_capacity_kw"),
            plane_error_degrees=number_or_nan(row["plane_error_degrees"]),
            ac_limit_kw=row["ac_limit_kw"],
            clock=ClockFinding(
                row["clock_offset_minutes"],
                Label(row["clock_label"]),
                DaylightSaving(row["clock_daylight_saving"]),
                steps=tuple(ClockStep.parse(each) for each in listed(row.get("clock_steps"))),
            ),
            agreement=row["agreement"],
            flags=tuple(Flag(each) for each in listed(row["flags"])),
            assumptions=assumptions,
            notes=tuple(notes),
            haze_summer=row.get("haze_summer", row.get("haze")),
            haze_winter=row.get("haze_winter", row.get("haze")),
            heat=row.get("heat"),
            clear_hours=row.get("clear_hours"),
            skyline=tuple(listed(row.get("skyline"))),
            years=tuple(YearEstimate.from_row(year) for year in listed(row.get("years"))),
            trend_percent_per_year=row.get("trend_percent_per_year"),
            planes=tuple(PlaneEstimate.from_row(each) for each in listed(row.get("planes"))),
            tracker=TrackerEstimate.from_row(turned) if isinstance(turned, Mapping) else None,
        )
