"""Planes and capacities with their intervals, in so many digits as are worth telling."""

from __future__ import annotations

from sunveil.estimate import Estimate
from sunveil.planes import PlaneEstimate, TrackerEstimate
from sunveil.quantities import Interval

WHOLE_CIRCLE = 360.0
NARROW = 2.0  # ends of narrower intervals are told to tenths [degrees]


def estimate_line(estimate: Estimate) -> str:
    """Return an estimate in one line, and its planes in a second where it has several.

    Parameters
    ----------
    estimate
        The estimate.

    Privacy
    -------
    None: it says what was inferred; of a household behind a net meter it says nothing.
    """
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
