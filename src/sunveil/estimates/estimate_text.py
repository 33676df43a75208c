"""Estimates and findings as text."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sunveil.estimates.flags_and_quality import Flag
from sunveil.estimates.intervals_and_rounding import Interval
from sunveil.estimates.planes_and_intervals import PlaneEstimate, TrackerEstimate, YearEstimate

if TYPE_CHECKING:
    from sunveil.estimates.estimates_table import Estimate

WHOLE_CIRCLE = 360.0

NARROW = 2.0  # [degrees] narrower intervals are shown to tenths


def estimate_line(estimate: Estimate) -> str:
    """Return an estimate in one line, and its planes in a second where it has several."""
    azimuth, tilt = show_orientation(estimate)
    names = ("azimuth ", "tilt ") if estimate.tracker is None else ("tracker ", "")
    line = (
        f"Estimate({estimate.system_id!r}: {names[0]}{azimuth}, {names[1]}{tilt},"
        f" {show_capacity(estimate)} DC; {estimate.quality.value})"
    )
    if len(estimate.planes) < 2:
        return line
    parts = [
        f"{each.surface_azimuth:.0f}°/{each.surface_tilt:.0f}°"
        f" {each.dc_capacity_kw:.{decimals(each.dc_capacity_kw)}f} kW"
        for each in estimate.planes
    ]
    return f"{line[:-1]},\n  on {len(parts)} planes: {', '.join(parts)})"


def show_orientation(estimate: Estimate) -> tuple[str, str]:
    """Return azimuth and tilt with their intervals, or how a tracker turns."""
    if estimate.tracker is None:
        return show_azimuth(estimate), show_tilt(estimate)
    return _show_axis(estimate.tracker), _show_turn(estimate.tracker)


def _show_axis(tracker: TrackerEstimate) -> str:
    return f"axis {tracker.axis_azimuth:.1f}° {between(tracker.axis_interval)}"


def _show_turn(tracker: TrackerEstimate) -> str:
    return f"±{tracker.max_angle:.0f}° {between(tracker.max_angle_interval)}"


def show_azimuth(plane: Estimate | PlaneEstimate) -> str:
    """Return an azimuth with its interval."""
    interval = plane.azimuth_interval
    if interval.width >= WHOLE_CIRCLE:
        return f"{plane.surface_azimuth:.1f}° (any)"
    return f"{plane.surface_azimuth:.1f}° {between(interval)}"


def show_tilt(plane: Estimate | PlaneEstimate) -> str:
    """Return a tilt with its interval."""
    return f"{plane.surface_tilt:.1f}° {between(plane.tilt_interval)}"


def show_capacity(plane: Estimate | PlaneEstimate) -> str:
    """Return a capacity with its interval."""
    low, high = plane.capacity_interval.low, plane.capacity_interval.high
    places = decimals(plane.dc_capacity_kw)
    return f"{plane.dc_capacity_kw:.{places}f} kW ({low:.{places}f} to {high:.{places}f})"


def between(interval: Interval) -> str:
    """Return both ends of an interval of degrees in brackets."""
    digits = 1 if 0.0 <= interval.width < NARROW else 0
    return f"({interval.low:.{digits}f} to {interval.high:.{digits}f})"


def decimals(kilowatts: float) -> int:
    """Return how many decimals show three digits or so."""
    return 2 if kilowatts < 10.0 else 1 if kilowatts < 100.0 else 0


_COMPASS = ("north", "northeast", "east", "southeast", "south", "southwest", "west", "northwest")

# A smaller change of the output is not significant. [% per year]
HARDLY = 0.1

# Planes flatter than this can hardly be distinguished by any meter. [degrees]
FLAT_BELOW = 15.0

# Above this share of daylight readings with export a household uses hardly anything by day.
_ALL_EXPORTED = 0.95

# What hides the generation of a net meter.
HIDING = (Flag.LITTLE_EXPORT, Flag.LOAD_FOLLOWS_SUN, Flag.STORAGE, Flag.HEAVY_LOAD)


@dataclass(frozen=True, slots=True)
class HiddenSky:
    """Neighbouring sectors of the sky in which something hides the sun."""

    first: float  # [degrees]
    last: float  # [degrees]
    lowest: float  # [degrees]
    highest: float  # [degrees]

    def __str__(self) -> str:
        high = f"{self.highest:g}°"
        high = high if self.lowest == self.highest else f"{self.lowest:g} to {high}"
        if self.last - self.first >= 360.0:
            return f"below {high} all around"
        way = _COMPASS[round((self.first + self.last) / 90.0) % 8]
        return f"below {high} in the {way} ({self.first:g} to {self.last % 360.0 or 360.0:g}°)"


def hidden_skies(skyline: Sequence[float]) -> list[HiddenSky]:
    """Return what a skyline hides, each run of neighbouring sectors once, clockwise from north."""
    count = len(skyline)
    if not any(skyline):
        return []
    if all(skyline):
        return [HiddenSky(0.0, 360.0, min(skyline), max(skyline))]
    width = 360.0 / count
    runs = []
    for start in range(count):
        if skyline[start] and not skyline[start - 1]:
            size = next(n for n in range(1, count) if not skyline[(start + n) % count])
            heights = [skyline[(start + n) % count] for n in range(size)]
            runs.append(
                HiddenSky(start * width, (start + size) * width, min(heights), max(heights))
            )
    return runs


def planes_words(estimate: Estimate) -> str:
    """Return the planes or the tracker of a system as a sentence; nothing of one fixed plane."""
    if estimate.tracker is not None:
        return f"Single-axis tracker: {tracker_words(estimate.tracker)}."
    if len(estimate.planes) < 2:
        return ""
    each = [
        f"{plane.surface_azimuth:.0f}° / {plane.surface_tilt:.0f}°"
        f" with {three_digits(plane.dc_capacity_kw)} kW"
        for plane in estimate.planes
    ]
    return f"Two planes: {' and '.join(each)}."


def flat_words(estimate: Estimate) -> str:
    """Return that a flat plane may be several, as a sentence; nothing of a steeper one."""
    if estimate.tracker is not None or len(estimate.planes) > 1:
        return ""
    if estimate.surface_tilt >= FLAT_BELOW:
        return ""
    return "At such a low tilt, several planes cannot be distinguished from one."


def tracker_words(tracker: TrackerEstimate) -> str:
    """Return where a tracker's axis points, how it turns, and how densely its rows stand."""
    axis = f"axis {tracker.axis_azimuth:.0f}°"
    if not tracker.backtrack:
        return f"{axis}, without backtracking"
    return f"{axis}, backtracking, rows cover {100.0 * tracker.gcr:.0f}% of the ground"


def household_words(estimate: Estimate) -> str:
    """Return what a net meter tells of its household, as a sentence; nothing of other meters."""
    home = estimate.household
    if home is None:
        return ""
    takes = f"consumes {three_digits(home.mean_load_kw)} kW on average, "
    unseen, more = Flag.EXPORTED_ONLY in estimate.flags, ""
    if unseen:
        takes, more = "", " Consumption from the grid is not in the readings."
    if unseen and home.exporting > _ALL_EXPORTED:
        more = " If the readings are generation alone, this is not a net meter: infer it as such."
    return (
        f"Net meter: the household {takes}uses {100.0 * home.self_consumption:.0f}% of the"
        f" generation itself and exports in {100.0 * home.exporting:.0f}% of the daylight"
        f" readings.{more}"
    )


def hidden_words(estimate: Estimate) -> str:
    """Return that a net meter hides its generation, as a sentence; nothing where it does not."""
    if not set(HIDING) & set(estimate.flags):
        return ""
    return (
        "Generation and load can hardly be separated: azimuth, tilt and capacity are a guess,"
        " whatever their intervals say."
    )


def three_digits(value: float) -> str:
    """Return a power with three digits, and never in powers of ten."""
    digits = 2 - math.floor(math.log10(value)) if value > 0.0 else 0
    return f"{value:,.{min(max(digits, 0), 6)}f}"


def skyline_words(estimate: Estimate) -> str:
    """Return where something hides the sun, as a sentence; nothing where it is free."""
    parts = [str(each) for each in hidden_skies(estimate.skyline)]
    if not parts:
        return ""
    listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"The sun is hidden {listed}."


def trend_words(estimate: Estimate) -> str:
    """Return how the output changes from year to year, as a sentence; nothing if unknown."""
    trend = estimate.trend_percent_per_year
    if trend is None:
        return ""
    if abs(trend) < HARDLY:
        return "The output hardly changes from year to year."
    return f"The output {'rises' if trend > 0.0 else 'falls'} by {abs(trend):.1f}% per year."


def haze_words(estimate: Estimate) -> str:
    """Return how hazy the air was beside its usual turbidity, as a sentence."""
    if estimate.haze_summer is None or estimate.haze_winter is None:
        return ""
    summer, winter = (_signed(each) for each in (estimate.haze_summer, estimate.haze_winter))
    return (
        f"Linke turbidity, difference from climatology: {summer} (midsummer), {winter} (midwinter)."
    )


def clear_hours_words(estimate: Estimate) -> str:
    """Return how many hours of clear days an estimate rests on, as a sentence."""
    if estimate.clear_hours is None:
        return ""
    return f"Based on {estimate.clear_hours:,.0f} hours of clear days."


def year_name(year: YearEstimate) -> str:
    """Return a year's name: its number where it begins with January, else its first month."""
    # a reading or two into the new year does not make it another one
    begins = year.first + dt.timedelta(days=3)
    if (year.first - dt.timedelta(days=3)).year != begins.year:
        return str(begins.year)
    return f"{begins:%b %Y}"


def _signed(value: float) -> str:
    return "0.0" if abs(value) < 0.05 else f"{value:+.1f}".replace("-", "−")
