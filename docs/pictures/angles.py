"""The picture of the angles: azimuth, tilt, zenith, elevation, incidence, a tracker's axis."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Arc, Circle

from sunveil.plots.style import ACCENT, CONTRAST, FAINT, INK, QUIET, USUAL

AZIMUTH, TILT, ELEVATION, AXIS, TURN = 215.0, 32.0, 52.0, 165.0, 40.0
SUN = "#E69F00"
Point = tuple[float, float]


def draw_angles() -> Figure:
    """Return six small drawings, each of one angle or of two that belong together."""
    figure, axes = plt.subplots(2, 3, figsize=(9.6, 6.4), layout="constrained")
    drawers = (_azimuth, _tilt, _zenith, _incidence, _axis, _turn)
    for ax, draw in zip(axes.ravel(), drawers, strict=True):
        ax.set_aspect("equal")
        ax.set_xlim(-1.35, 1.35)
        ax.set_ylim(-1.55, 1.35)
        ax.axis("off")
        draw(ax)
    figure.get_layout_engine().set(h_pad=0.08)
    return figure


def _on_compass(azimuth: float, radius: float) -> Point:
    angle = np.radians(azimuth)
    return radius * np.sin(angle), radius * np.cos(angle)


def _raised(angle: float, length: float, foot: Point = (0.0, 0.0)) -> Point:
    turn = np.radians(angle)
    return foot[0] + length * np.cos(turn), foot[1] + length * np.sin(turn)


def _line(ax: Axes, start: Point, end: Point, colour: str = QUIET, **more: object) -> None:
    ax.plot([start[0], end[0]], [start[1], end[1]], color=colour, **{"lw": 1.1, **more})


def _arrow(ax: Axes, start: Point, end: Point, colour: str) -> None:
    ax.annotate(
        "", end, start,
        arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 1.8, "shrinkA": 0, "shrinkB": 0},
    )  # fmt: skip


def _arc(ax: Axes, at: Point, radius: float, low: float, high: float) -> None:
    ax.add_patch(Arc(at, 2 * radius, 2 * radius, theta1=low, theta2=high, color=INK, lw=1.3))


def _say(ax: Axes, at: Point, words: str, **more: object) -> None:
    ax.text(*at, words, **{"ha": "center", "va": "center", "fontsize": USUAL, "color": INK, **more})


def _title(ax: Axes, words: str) -> None:
    ax.set_title(words, fontsize=10.5, color=INK, weight="bold")


def _compass(ax: Axes) -> None:
    ax.add_patch(Circle((0, 0), 1.0, facecolor="none", edgecolor=QUIET, lw=0.8))
    for azimuth, letter in ((0, "N"), (90, "E"), (180, "S"), (270, "W")):
        _line(ax, _on_compass(azimuth, 0.94), _on_compass(azimuth, 1.0))
        _say(ax, _on_compass(azimuth, 1.14), letter)


def _ground(ax: Axes, height: float = -0.75) -> None:
    _line(ax, (-1.2, height), (1.2, height), lw=1.4)


def _sun(ax: Axes, at: Point) -> None:
    ax.add_patch(Circle(at, 0.11, facecolor=SUN, edgecolor="none", zorder=3))


def _modules(ax: Axes, start: Point, end: Point, **more: object) -> None:
    _line(ax, start, end, ACCENT, lw=4.5, solid_capstyle="round", **more)


def _azimuth(ax: Axes) -> None:
    _title(ax, "Azimuth")
    _compass(ax)
    _line(ax, (0, 0), _on_compass(0, 1.0), ls=":")
    _arrow(ax, (0, 0), _on_compass(AZIMUTH, 0.92), ACCENT)
    _arc(ax, (0, 0), 0.42, 90.0 - AZIMUTH, 90.0)
    _say(ax, (0.72, 0.02), f"{AZIMUTH:.0f}°")
    _say(ax, (0.0, -1.5), "from above: clockwise from north", color=QUIET, va="bottom")


def _tilt(ax: Axes) -> None:
    _title(ax, "Tilt")
    _ground(ax, -0.45)
    foot = (-0.75, -0.45)
    _modules(ax, foot, _raised(TILT, 1.5, foot))
    _arc(ax, foot, 0.75, 0.0, TILT)
    _say(ax, _raised(TILT / 2, 0.95, foot), f"{TILT:.0f}°")
    _say(ax, (0.0, -1.5), "from the side: 0 is level, 90 upright", color=QUIET, va="bottom")


def _zenith(ax: Axes) -> None:
    _title(ax, "Zenith and elevation")
    foot = (-0.55, -0.75)
    _ground(ax)
    up, sun = (foot[0], 0.95), _raised(ELEVATION, 1.75, foot)
    _line(ax, foot, up, ls=":")
    _line(ax, foot, sun, SUN, lw=1.8)
    _sun(ax, sun)
    _arc(ax, foot, 0.62, 0.0, ELEVATION)
    _arc(ax, foot, 0.85, ELEVATION, 90.0)
    _say(ax, _raised(ELEVATION / 2, 0.72, foot), "elevation", ha="left")
    _say(ax, _raised(70.0, 1.05, foot), "zenith")
    _say(ax, (foot[0], 1.08), "straight up", color=QUIET)
    _say(ax, (0.0, -1.5), "of the sun: both add up to 90°", color=QUIET, va="bottom")


def _incidence(ax: Axes) -> None:
    _title(ax, "Angle of incidence")
    _ground(ax)
    foot = (-0.95, -0.75)
    _modules(ax, foot, _raised(TILT, 1.7, foot))
    middle = _raised(TILT, 0.85, foot)
    normal, sun = _raised(TILT + 90.0, 1.25, middle), _raised(70.0, 1.35, middle)
    _arrow(ax, middle, normal, ACCENT)
    _line(ax, middle, sun, SUN, lw=1.8)
    _sun(ax, sun)
    _arc(ax, middle, 0.6, 70.0, TILT + 90.0)
    _say(ax, _raised(96.0, 0.76, middle), "θ")
    _say(ax, (normal[0] - 0.12, normal[1] + 0.12), "normal", color=ACCENT)
    _say(ax, (0.0, -1.5), "0 where the sun stands straight before the plane", color=QUIET,
         va="bottom")  # fmt: skip


def _axis(ax: Axes) -> None:
    _title(ax, "Axis azimuth of a tracker")
    _compass(ax)
    across = np.array(_on_compass(AXIS + 90.0, 1.0))
    for offset in (-0.4, 0.0, 0.4):
        reach = 0.85 * np.sqrt(1.0 - offset**2)
        ends = [np.array(_on_compass(AXIS + turn, reach)) + offset * across for turn in (0, 180)]
        _line(ax, tuple(ends[0]), tuple(ends[1]), ACCENT, lw=6.5, alpha=0.35)
        _line(ax, tuple(ends[0]), tuple(ends[1]), ACCENT, lw=1.6)
    _line(ax, (0, 0), _on_compass(0, 1.0), ls=":")
    _arc(ax, (0, 0), 0.55, 90.0 - AXIS, 90.0)
    _say(ax, (0.72, 0.1), f"{AXIS:.0f}°", bbox={"fc": "white", "ec": "none", "pad": 1})
    _say(ax, (0.0, -1.5), "the end nearer south, in [90, 270)", color=QUIET, va="bottom",
         bbox={"fc": "white", "ec": "none", "pad": 0.5})  # fmt: skip


def _turn(ax: Axes) -> None:
    _title(ax, "How a tracker turns")
    _ground(ax)
    for middle in (-0.62, 0.62):
        at = (middle, -0.1)
        _line(ax, (middle, -0.75), at, lw=1.6)
        ends = [_raised(turn, 0.42, at) for turn in (TURN, TURN + 180.0)]
        _line(ax, (middle - 0.45, -0.1), (middle + 0.45, -0.1), FAINT, lw=2.0)
        _modules(ax, ends[1], ends[0])
    _arc(ax, (0.62, -0.1), 0.36, 0.0, TURN)
    _say(ax, (1.17, 0.06), "turn")
    _line(ax, (-0.62, -0.95), (0.62, -0.95), INK, lw=0.8, marker="|", ms=6)
    _say(ax, (0.0, -1.06), "distance of rows")
    _say(ax, (0.0, 0.62), "ground coverage ratio =\nwidth of a row / distance of rows")
    _line(ax, *(_raised(t, 0.42, (-0.62, 0.05)) for t in (TURN, TURN + 180.0)), CONTRAST, lw=0.8)
    _say(ax, (-0.95, 0.18), "width", color=CONTRAST)
