"""What a meter file turns out to hold, without inferring anything from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sunveil.meters.options import parse_timezone
from sunveil.meters.record import Record

# Shorter records miss a season, and their estimates say so. [days]
SHORT_DAYS = 90
# More missing than this is worth a look, as a share; so is a gap of more than this. [days]
MUCH_MISSING, LONG_GAP = 0.2, 14.0
# Between these hours of its own clock a meter of generation reads its most. [h]
BRIGHT_HOURS = (9.5, 15.5)
# The brightest powers of a record: that share of them has the rest below.
TOP = 0.995
# What the highest power of a system usually lies between. [kW]
USUAL_PEAK = (0.1, 5000.0)


@dataclass(frozen=True, slots=True)
class SystemCheckup:
    """What was read of one system: private to the curator.

    Parameters
    ----------
    system_id
        The curator's name of the system.
    readings
        How many there are.
    first, last
        The first and the last instant, in UTC.
    interval_minutes
        Length of an interval. [minutes]
    unit, unit_known
        What the readings were taken to count in, and whether anybody said so.
    timezone
        The clock of the stamps.
    label, label_known
        Which instant of its interval a stamp names, and whether anybody said so.
    net
        Whether it is a net meter.
    missing
        Share of the intervals of the span that have no reading.
    longest_gap_days
        The longest time without one. [days]
    peak_kw
        Nearly its highest power. [kW]
    brightest_hour
        When half of a mean day's generation is over, on the clock of the stamps; None where there
        is none. [h]
    doubts
        What looks wrong, one sentence each.
    notes
        What the reader did, one sentence each.
    """

    system_id: str
    readings: int
    first: str
    last: str
    interval_minutes: float
    unit: str
    unit_known: bool
    timezone: str
    label: str
    label_known: bool
    net: bool
    missing: float
    longest_gap_days: float
    peak_kw: float
    brightest_hour: float | None
    doubts: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def days(self) -> float:
        """Length of the span. [days]"""
        return float(
            (np.datetime64(self.last) - np.datetime64(self.first)) / np.timedelta64(1, "D")
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON types."""
        named = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**named, "doubts": list(self.doubts), "notes": list(self.notes)}


def check_record(record: Record) -> SystemCheckup:
    """Return what was read of a system, and what looks wrong with it.

    Parameters
    ----------
    record
        The readings.

    Privacy
    -------
    None: readings are looked at.
    """
    step = np.timedelta64(round(60.0 * record.interval_minutes), "s")
    days = np.diff(record.times) / np.timedelta64(1, "D")
    whole = int((record.times[-1] - record.times[0]) / step) + 1
    found = SystemCheckup(
        system_id=record.system_id,
        readings=len(record.times),
        first=str(record.times[0].astype("M8[m]")),
        last=str((record.times[-1] + step).astype("M8[m]")),
        interval_minutes=float(record.interval_minutes),
        unit=record.unit,
        unit_known=record.unit_known,
        timezone=record.timezone,
        label=record.label.value,
        label_known=record.label_known,
        net=record.net,
        missing=round(1.0 - len(record.times) / whole, 4),
        longest_gap_days=round(float(days.max(initial=record.interval_minutes / 1440.0)), 3),
        peak_kw=float(f"{np.quantile(record.power_kw, TOP):.4g}"),
        brightest_hour=_brightest_hour(record),
        doubts=(),
        notes=record.notes,
    )
    object.__setattr__(found, "doubts", tuple(_doubts(found)))
    return found


def _brightest_hour(record: Record) -> float | None:
    """Return the hour by which half of a mean day's generation is over, on the declared clock."""
    zone, _ = parse_timezone(record.timezone)
    middles = pd.DatetimeIndex(record.middles).tz_localize("UTC").tz_convert(zone)
    hours = (middles.hour + middles.minute / 60.0).to_numpy(np.float64)
    power = np.maximum(record.power_kw, 0.0)
    angle = hours * np.pi / 12.0
    east, north = float(power @ np.sin(angle)), float(power @ np.cos(angle))
    if np.hypot(east, north) <= 0.0:
        return None
    return round(float(np.arctan2(east, north) * 12.0 / np.pi) % 24.0, 1)


def _doubts(found: SystemCheckup) -> list[str]:
    doubts = []
    if found.days < SHORT_DAYS:
        doubts.append(f"only {found.days:.0f} days: estimates need a season or more to be sure")
    if found.missing > MUCH_MISSING:
        doubts.append(f"{100.0 * found.missing:.0f}% of the intervals have no reading")
    if found.longest_gap_days > LONG_GAP:
        doubts.append(f"a gap of {found.longest_gap_days:.0f} days")
    if not found.unit_known:
        doubts.append(f"nobody says the unit: taken as {found.unit}")
    if not USUAL_PEAK[0] <= found.peak_kw <= USUAL_PEAK[1]:
        doubts.append(f"the highest power is {found.peak_kw:.3g} kW: check the unit")
    hour = found.brightest_hour
    if hour is None:
        doubts.append("nothing is generated")
    # of stamps in UTC, the place decides when noon is
    elif found.timezone != "UTC" and not BRIGHT_HOURS[0] <= hour <= BRIGHT_HOURS[1]:
        doubts.append(f"days are brightest at {hour:.1f} h of their clock: check the time zone")
    return doubts
