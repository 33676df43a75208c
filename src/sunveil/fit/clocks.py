"""Clocks: find stamps that do not fit the sun, and say how to repair them.

A clock left free to the minute is nearly confounded with the azimuth, so only plausible faults
are considered: whole and half hours, half an interval (a stamp that names another instant of its
interval than declared), and an hour of daylight saving left in or taken out twice. First and last
light propose (:mod:`sunveil.fit.light`); agreement over the planes decides, and the declared clock
stays unless the evidence is strong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from sunveil.estimate import ClockFinding, DaylightSaving
from sunveil.fit.daylight import daylight
from sunveil.fit.light import DAY, Ends, day_ends
from sunveil.fit.saving import saving_days, saving_rule
from sunveil.fit.shared import (
    AS_GOOD,
    DECISIVE_MINUTES,
    EXPLAINED_MINUTES,
    LEAST_LIGHT_MINUTES,
    RARE_MINUTES,
    SAVING_MINUTES,
    SUSPICIOUS_MINUTES,
)
from sunveil.fit.start import coarse_agreement, coarse_grid
from sunveil.meters.record import Label, Record
from sunveil.site import Losses, Plane, Site
from sunveil.weather.base import Weather

# How much more agreement a repair must bring than the declared clock.
LEAST_GAIN = 1.02
MOST_READINGS = 1500


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One clock: how far the stamps run ahead of the declared clock, and how they save daylight."""

    offset_minutes: float
    saving: DaylightSaving = DaylightSaving.AS_DECLARED

    @property
    def declared(self) -> bool:
        """True when this is the clock as it was declared."""
        return self.offset_minutes == 0.0 and self.saving is DaylightSaving.AS_DECLARED

    def ahead_seconds(self, saving: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return how far each reading's clock runs ahead of the sun. [s]"""
        hour = {
            DaylightSaving.AS_DECLARED: 0,
            DaylightSaving.LEFT_IN: 3600,
            DaylightSaving.APPLIED_TWICE: -3600,
        }[self.saving]
        return np.asarray(round(self.offset_minutes * 60.0) + hour * saving.astype(np.int64))


def reading_saving(record: Record, site: Site) -> NDArray[np.bool_]:
    """Return which readings lie in daylight saving by the rule that applies."""
    days = record.times.astype("datetime64[s]").astype(np.int64) // DAY
    return saving_days(days, saving_rule(site, record.timezone))


def propose(ends: Ends, saving: NDArray[np.bool_], interval_minutes: float) -> list[Hypothesis]:
    """Return the clocks that first and last light make plausible, the declared one first."""
    winter, summer = ends.typical(~saving), ends.typical(saving)
    kind, base = DaylightSaving.AS_DECLARED, ends.typical()
    low, high = SAVING_MINUTES
    if low < abs(summer - winter) < high:
        kind = DaylightSaving.LEFT_IN if summer > winter else DaylightSaving.APPLIED_TWICE
        base = winter
    out = [Hypothesis(0.0)]
    if kind is not DaylightSaving.AS_DECLARED:
        out.append(Hypothesis(0.0, kind))
    if np.isfinite(base) and abs(base) > SUSPICIOUS_MINUTES:
        steps = {30.0 * k for k in range(-26, 27) if abs(30.0 * k - base) <= 30.0}
        if interval_minutes < 60.0:
            steps = {step for step in steps if abs(step - base) <= 20.0 or step % 60.0 == 0.0}
        out += [Hypothesis(step, kind) for step in sorted(steps) if step != 0.0]
    return out


def find_clock(
    record: Record, weather: Weather, clear: Weather, *, losses: Losses, albedo: float
) -> tuple[Hypothesis, float]:
    """Return the clock that fits the sun, and the agreement gained over the declared one.

    Parameters
    ----------
    record
        The readings on their declared clock.
    weather, clear
        The weather, and the clear sky, at the site.
    losses, albedo
        What is assumed.
    """
    ends = day_ends(record, clear)
    if len(ends.day) == 0:
        return Hypothesis(0.0), 0.0
    rule = saving_rule(clear.site, record.timezone)
    options = propose(ends, saving_days(ends.day, rule), record.interval_minutes)
    if len(options) == 1:
        return options[0], 0.0
    grid, saving = coarse_grid(), reading_saving(record, clear.site)
    shares: list[float] = []
    planes: list[Plane] = []
    for option in options:
        data = daylight(
            record,
            weather,
            clear,
            ahead_seconds=option.ahead_seconds(saving),
            only_middles=True,
        )
        found = coarse_agreement(data, grid, losses=losses, albedo=albedo, most=MOST_READINGS)
        shares.append(float(found.counts.max()) / max(1, int(found.possible.max())))
        planes.append(grid[found.best()[0]])
        if option.declared:
            # most suspicions are only a plane that faces the rising or the setting sun
            kept = unexplained(option, day_ends(record, clear, normal=planes[0].normal), rule)
            if kept < EXPLAINED_MINUTES:
                return option, 0.0
    # light again, now that each clock has its plane: the right clock explains the ends of the day
    left = {0: kept} | {
        i: unexplained(options[i], day_ends(record, clear, normal=planes[i].normal), rule)
        for i in worth_comparing(shares)
        if i > 0
    }
    return decide(options, shares, left, record.interval_minutes)


def worth_comparing(shares: Sequence[float]) -> list[int]:
    """Return which clocks agree so well that only light can tell them apart."""
    return [i for i, share in enumerate(shares) if share >= AS_GOOD * max(shares)]


def decide(
    options: Sequence[Hypothesis],
    shares: Sequence[float],
    left: Mapping[int, float],
    interval_minutes: float,
    *,
    least_gain: float = LEAST_GAIN,
) -> tuple[Hypothesis, float]:
    """Return the clock that the evidence is for, and the agreement gained over the declared one.

    Parameters
    ----------
    options
        The clocks, the declared one first.
    shares
        Share of readings that agree under each.
    left
        Minutes of first and last light that those worth comparing leave unexplained, and those of
        the declared clock.
    interval_minutes
        Length of one interval. [minutes]
    least_gain
        How many times more a repair must bring than the declared clock.
    """
    # half an hour is half a long interval, a common mistake, but a rare one of short intervals
    rare = 0.0 if interval_minutes >= 30.0 else RARE_MINUTES
    best = min(
        worth_comparing(shares),
        key=lambda i: left[i] + rare * (options[i].offset_minutes % 60.0 != 0.0),
    )
    agrees = shares[best] >= least_gain * shares[0]
    # a short record may agree as well with a turned plane, but its days cannot begin at night
    decisive = left[0] > DECISIVE_MINUTES and left[best] < EXPLAINED_MINUTES
    if not (agrees or decisive) or left[best] > left[0] - LEAST_LIGHT_MINUTES:
        return options[0], 0.0
    return options[best], float(shares[best] - shares[0])


def unexplained(option: Hypothesis, ends: Ends, rule: ZoneInfo | None) -> float:
    """Return how far light still is from the sun under a clock. [minutes]"""
    saving = saving_days(ends.day, rule)
    ahead = ends.ahead_minutes - option.ahead_seconds(saving) / 60.0
    left = replace(ends, ahead_minutes=ahead)
    parts = np.array([left.typical(saving), left.typical(~saving), left.typical()])
    return float(np.nanmax(np.abs(parts)))


def finding(hypothesis: Hypothesis, record: Record, *, gain: float) -> ClockFinding:
    """Say what was found: half an interval is a label, anything else an offset."""
    offset, label = hypothesis.offset_minutes, record.label
    half = record.interval_minutes / 2.0
    later = {Label.START: Label.MIDDLE, Label.MIDDLE: Label.END}
    earlier = {after: before for before, after in later.items()}
    if record.interval_minutes >= 30.0 and abs(offset) == half:
        moved = later.get(label) if offset > 0.0 else earlier.get(label)
        if moved is not None:
            offset, label = 0.0, moved
    return ClockFinding(
        offset_minutes=offset, label=label, daylight_saving=hypothesis.saving, gain=gain
    )
