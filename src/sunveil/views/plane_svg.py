"""Planes and trackers drawn as SVG: from above on a compass, and from the side.

Lines and letters take the colour of the text around them, and the two hues are light enough for
dark pages and dark enough for light ones, so that one drawing serves both. There is no script.
"""

from __future__ import annotations

import math

from sunveil.estimate import Estimate
from sunveil.planes import PlaneEstimate, TrackerEstimate
from sunveil.quantities import Interval

SIZE = 168
MIDDLE = SIZE / 2
RADIUS = 62.0
# From Okabe and Ito's blue and vermilion, made so that both stand out from white and from black.
HUES = ("#2388c7", "#e0681c")
# The side view: where the ground meets the modules, and how long these are drawn.
FOOT = (34.0, 122.0)
LENGTH = 92.0
WHOLE_CIRCLE = 360.0

Point = tuple[float, float]


def compass_svg(estimate: Estimate) -> str:
    """Return where the modules face, from above: an arrow for each plane, with its 90% interval.

    Parameters
    ----------
    estimate
        The estimate; of a tracker, its axis is drawn.
    """
    parts = [_ring()]
    if estimate.tracker is not None:
        parts.append(_axis(estimate.tracker))
        words = f"The axis of the tracker points to {estimate.tracker.axis_azimuth:.0f} degrees"
    else:
        parts += [_arrow(plane, hue) for plane, hue in _coloured(estimate)]
        facing = " and ".join(f"{plane.surface_azimuth:.0f}" for plane in estimate.planes)
        words = f"The modules face {facing} degrees, clockwise from north"
    return _drawing(parts, words)


def side_svg(estimate: Estimate) -> str:
    """Return how the modules are tilted, from the side, with the 90% interval.

    Parameters
    ----------
    estimate
        The estimate; of a tracker, how far it turns is drawn.
    """
    if estimate.tracker is not None:
        words = f"The modules turn by up to {estimate.tracker.max_angle:.0f} degrees either way"
        return _drawing([_turn(estimate.tracker)], words)
    ground = (
        f"<line x1='14' y1='{FOOT[1]}' x2='{SIZE - 14}' y2='{FOOT[1]}' stroke='currentColor'"
        " stroke-opacity='.45'/>"
    )
    planes = _coloured(estimate)
    if len(planes) == 1:
        parts = [ground, _panel(*planes[0], LENGTH)]
    else:
        # they meet in the middle, as the sides of a roof do
        (first, hue), (second, other) = planes
        turned = f"translate({SIZE} 0) scale(-1 1)"
        parts = [
            ground,
            _panel(first, hue, _to_ridge(first)),
            f"<g transform='{turned}'>{_panel(second, other, _to_ridge(second))}</g>",
        ]
    for number, (plane, hue) in enumerate(planes):
        dot = hue if len(planes) > 1 else "currentColor"
        at = SIZE / 2, 141.0 + 16.0 * number
        parts.append(_text(at, f"tilt {plane.surface_tilt:.0f}°", dot))
    tilts = " and ".join(f"{plane.surface_tilt:.0f}" for plane in estimate.planes)
    return _drawing(parts, f"The modules are tilted by {tilts} degrees from horizontal")


def _drawing(parts: list[str], words: str) -> str:
    return (
        f"<svg role='img' aria-label='{words}' width='{SIZE}' height='{SIZE}'"
        f" viewBox='0 0 {SIZE} {SIZE}' xmlns='http://www.w3.org/2000/svg'>"
        f"{''.join(parts)}</svg>"
    )


def _coloured(estimate: Estimate) -> list[tuple[PlaneEstimate, str]]:
    return [(plane, HUES[number % len(HUES)]) for number, plane in enumerate(estimate.planes)]


def _at(azimuth: float, radius: float) -> Point:
    """Return a point of the compass: north up, clockwise."""
    angle = math.radians(azimuth)
    return MIDDLE + radius * math.sin(angle), MIDDLE - radius * math.cos(angle)


def _text(at: Point, words: str, hue: str = "currentColor", *, size: int = 12) -> str:
    return (
        f"<text x='{at[0]:.1f}' y='{at[1]:.1f}' text-anchor='middle' dominant-baseline='middle'"
        f" font-family='inherit' font-size='{size}' fill='currentColor'>"
        + ("" if hue == "currentColor" else f"<tspan fill='{hue}'>● </tspan>")
        + f"{words}</text>"
    )


def _ring() -> str:
    ring = (
        f"<circle cx='{MIDDLE}' cy='{MIDDLE}' r='{RADIUS}' fill='none' stroke='currentColor'"
        " stroke-opacity='.45'/>"
    )
    ticks = []
    for azimuth in range(0, 360, 30):
        inner, outer = _at(azimuth, RADIUS - (7 if azimuth % 90 == 0 else 4)), _at(azimuth, RADIUS)
        ticks.append(f"M{inner[0]:.1f} {inner[1]:.1f}L{outer[0]:.1f} {outer[1]:.1f}")
    marks = f"<path d='{''.join(ticks)}' stroke='currentColor' stroke-opacity='.45'/>"
    letters = [
        _text(_at(azimuth, RADIUS + 11), letter)
        for azimuth, letter in ((0, "N"), (90, "E"), (180, "S"), (270, "W"))
    ]
    return "".join([ring, marks, *letters])


def _wedge(interval: Interval, hue: str) -> str:
    """Return the sector of an interval of azimuths, which may pass north or be the whole circle."""
    if math.isnan(interval.low) or math.isnan(interval.high):
        return ""
    width = interval.high - interval.low
    width = width if width >= WHOLE_CIRCLE else width % WHOLE_CIRCLE
    if width >= WHOLE_CIRCLE:
        return f"<circle cx='{MIDDLE}' cy='{MIDDLE}' r='{RADIUS}' fill='{hue}' fill-opacity='.25'/>"
    start, end = _at(interval.low, RADIUS), _at(interval.high, RADIUS)
    return (
        f"<path d='M{MIDDLE} {MIDDLE}L{start[0]:.1f} {start[1]:.1f}"
        f"A{RADIUS} {RADIUS} 0 {int(width > 180.0)} 1 {end[0]:.1f} {end[1]:.1f}Z'"
        f" fill='{hue}' fill-opacity='.25'/>"
    )


def _arrow(plane: PlaneEstimate, hue: str) -> str:
    tip = _at(plane.surface_azimuth, RADIUS - 6)
    left = _at(plane.surface_azimuth - 7, RADIUS - 18)
    right = _at(plane.surface_azimuth + 7, RADIUS - 18)
    heavy = 2.0 + 1.5 * plane.share
    return (
        f"{_wedge(plane.azimuth_interval, hue)}"
        f"<path d='M{MIDDLE} {MIDDLE}L{tip[0]:.1f} {tip[1]:.1f}' stroke='{hue}'"
        f" stroke-width='{heavy:.1f}'/>"
        f"<path d='M{tip[0]:.1f} {tip[1]:.1f}L{left[0]:.1f} {left[1]:.1f}"
        f"L{right[0]:.1f} {right[1]:.1f}Z' fill='{hue}'/>"
    )


def _axis(tracker: TrackerEstimate) -> str:
    ends = [_at(tracker.axis_azimuth + turn, RADIUS - 4) for turn in (0.0, 180.0)]
    away = Interval(tracker.axis_interval.low + 180.0, tracker.axis_interval.high + 180.0)
    return (
        f"{_wedge(tracker.axis_interval, HUES[0])}{_wedge(away, HUES[0])}"
        f"<path d='M{ends[0][0]:.1f} {ends[0][1]:.1f}L{ends[1][0]:.1f} {ends[1][1]:.1f}'"
        f" stroke='{HUES[0]}' stroke-width='3.5' stroke-linecap='round'/>"
    )


def _raised(tilt: float, length: float) -> Point:
    angle = math.radians(tilt)
    return FOOT[0] + length * math.cos(angle), FOOT[1] - length * math.sin(angle)


def _to_ridge(plane: PlaneEstimate) -> float:
    """Return how long one side of a roof is drawn, from its foot to the middle."""
    across = math.cos(math.radians(plane.surface_tilt))
    return min(LENGTH, (MIDDLE - FOOT[0]) / max(across, 0.01))


def _panel(plane: PlaneEstimate, hue: str, length: float) -> str:
    end, arc = _raised(plane.surface_tilt, length), 0.48 * length
    low, high = (
        _raised(min(max(each, 0.0), 90.0), length)
        for each in (plane.tilt_interval.low, plane.tilt_interval.high)
    )
    turned = _raised(plane.surface_tilt, arc)
    band = ""
    if not math.isnan(plane.tilt_interval.low):
        band = (
            f"<path d='M{FOOT[0]} {FOOT[1]}L{low[0]:.1f} {low[1]:.1f}"
            f"A{length:.1f} {length:.1f} 0 0 0 {high[0]:.1f} {high[1]:.1f}Z' fill='{hue}'"
            " fill-opacity='.25'/>"
        )
    return (
        f"{band}<path d='M{FOOT[0] + arc:.1f} {FOOT[1]}A{arc:.1f} {arc:.1f} 0 0 0 {turned[0]:.1f}"
        f" {turned[1]:.1f}' fill='none' stroke='currentColor' stroke-opacity='.45'/>"
        f"<path d='M{FOOT[0]} {FOOT[1]}L{end[0]:.1f} {end[1]:.1f}' stroke='{hue}'"
        " stroke-width='4' stroke-linecap='round'/>"
    )


def _turn(tracker: TrackerEstimate) -> str:
    """Return a tracker from the end of its axis: level, and turned as far as it goes."""
    half, middle = 56.0, (MIDDLE, 74.0)

    def modules(angle: float, opacity: float) -> str:
        across = half * math.cos(math.radians(angle))
        up = half * math.sin(math.radians(angle))
        return (
            f"<path d='M{middle[0] - across:.1f} {middle[1] + up:.1f}L{middle[0] + across:.1f}"
            f" {middle[1] - up:.1f}' stroke='{HUES[0]}' stroke-width='4' stroke-linecap='round'"
            f" stroke-opacity='{opacity}'/>"
        )

    return (
        f"<path d='M{MIDDLE} 74L{MIDDLE} 130M14 130L{SIZE - 14} 130' stroke='currentColor'"
        " stroke-opacity='.45'/>"
        f"{modules(-tracker.max_angle, 0.35)}{modules(0.0, 0.6)}{modules(tracker.max_angle, 1)}"
        f"{_text((MIDDLE, 150.0), f'turns ±{tracker.max_angle:.0f}°')}"
    )
