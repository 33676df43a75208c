"""The angles of a plane and of the sun: the paper's figure 2, drawn to scale from eq. 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reproduction.artefact import Artefact
from sunveil.plots.style import ACCENT, CONTRAST, INK, QUIET, SMALL, USUAL, loose_figure
from sunveil.pv_model import sun_vectors
from sunveil.site import Array, Plane

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What is drawn: a plane that faces south-southwest, and an afternoon's sun. [degrees]
PLANE = Plane(205.0, 35.0)
SUN_ZENITH, SUN_AZIMUTH = 48.0, 260.0
GREEN, GOLD = "#009E73", "#C98500"
# From where the scene is seen. [degrees]
VIEW_AZIMUTH, VIEW_ELEVATION = 168.0, 24.0
NORTH, UP = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])


def angles() -> Artefact:
    """Draw azimuth and tilt of a plane, zenith and azimuth of the sun, and the incidence."""
    normal, sun = PLANE.normal, sun_vectors(np.array(SUN_ZENITH), np.array(SUN_AZIMUTH))
    incidence = float(np.degrees(np.arccos(normal @ sun)))
    figure = loose_figure(6.0, 4.6)
    ax = figure.subplots()
    ax.set_aspect("equal")
    ax.set_axis_off()
    _ground(ax)
    _panel(ax, normal)
    _vector(ax, UP * 1.15, INK, "zenith", shift=(5.0, 4.0))
    _vector(ax, normal * 1.1, ACCENT, "normal", shift=(7.0, -5.0))
    _vector(ax, sun * 1.45, GOLD, "sun", shift=(-11.0, 8.0), beam=True)
    flat, under = _flat(normal), _flat(sun)
    _line(ax, np.array([[0.0] * 3, flat * 1.05]), ACCENT, dashed=True)
    _line(ax, np.array([[0.0] * 3, under * 1.05]), GOLD, dashed=True)
    _arc(ax, _turn(0.0, PLANE.surface_azimuth, 0.62), ACCENT, "γ")
    _arc(ax, _turn(0.0, SUN_AZIMUTH, 0.86), GOLD, "γₛ")
    _arc(ax, _between(UP, normal, 0.55), GREEN, "β")
    _arc(ax, _between(UP, sun, 0.8), CONTRAST, "θₛ")
    _arc(ax, _between(normal, sun, 1.02), INK, "θ")
    ax.set_xlim(-1.35, 1.35)
    ax.set_ylim(-0.6, 1.25)
    words = (
        f"A plane at azimuth γ = {PLANE.surface_azimuth:g}° and tilt β = {PLANE.surface_tilt:g}°"
        f" under a sun at azimuth γₛ = {SUN_AZIMUTH:g}° and zenith θₛ = {SUN_ZENITH:g}°: the angle"
        f" of incidence θ is {incidence:.1f}°, by eq. 1. Azimuths run clockwise from north; the"
        " tilt is also the angle between the normal and the zenith."
    )
    return Artefact(
        name="2-angles",
        title="The angles of a plane and of the sun (paper fig. 2)",
        words=words,
        figure=figure,
        data={
            "surface_azimuth": PLANE.surface_azimuth,
            "surface_tilt": PLANE.surface_tilt,
            "solar_zenith": SUN_ZENITH,
            "solar_azimuth": SUN_AZIMUTH,
            "angle_of_incidence": incidence,
        },
    )


def _seen(points: Array) -> tuple[Array, Array]:
    """Return points (east, north, up) as seen from the side, in parallel perspective."""
    turn, lift = np.radians(VIEW_AZIMUTH), np.radians(VIEW_ELEVATION)
    east, north, up = np.atleast_2d(points).T
    # looking north from the south, a little from the east
    across = -(east * np.cos(turn) - north * np.sin(turn))
    away = -(east * np.sin(turn) + north * np.cos(turn))
    return np.asarray(across), np.asarray(up * np.cos(lift) + away * np.sin(lift))


def _flat(vector: Array) -> Array:
    level = np.array([vector[0], vector[1], 0.0])
    return np.asarray(level / np.linalg.norm(level))


def _turn(first: float, last: float, radius: float) -> Array:
    """Return an arc on the ground, clockwise from north."""
    angle = np.radians(np.linspace(first, last, 90))
    return radius * np.column_stack([np.sin(angle), np.cos(angle), np.zeros(90)])


def _between(first: Array, last: Array, radius: float) -> Array:
    """Return the arc between two directions."""
    whole = np.arccos(np.clip(first @ last, -1.0, 1.0))
    part = np.linspace(0.0, 1.0, 60)[:, np.newaxis]
    arc = np.sin((1.0 - part) * whole) * first + np.sin(part * whole) * last
    return np.asarray(radius * arc / np.sin(whole))


def _ground(ax: Axes) -> None:
    around = _turn(0.0, 360.0, 1.2)
    ax.fill(*_seen(around), facecolor="#F4F4F1", edgecolor="#BDBDB5", linewidth=0.8, zorder=0.2)
    for name, angle in (("N", 0.0), ("E", 90.0), ("S", 180.0), ("W", 270.0)):
        spoke = _turn(angle, angle, 1.2)[:1]
        _line(ax, np.vstack([np.zeros((1, 3)), spoke]), "#BDBDB5")
        x, y = _seen(1.1 * spoke)
        ax.text(x[0], y[0], name, fontsize=USUAL, color=QUIET, ha="center", va="center")


def _panel(ax: Axes, normal: Array) -> None:
    """Draw the modules as a rectangle in their plane, with its cells."""
    level = np.cross(UP, normal)
    level /= np.linalg.norm(level)
    slope = np.cross(normal, level)
    corners = np.array([(-0.5, -0.33), (0.5, -0.33), (0.5, 0.33), (-0.5, 0.33)])
    points = corners[:, :1] * level + corners[:, 1:] * slope
    ax.fill(*_seen(points), facecolor="#CFE3F1", edgecolor=ACCENT, linewidth=1.2, zorder=1.0)
    for share in (-0.25, 0.0, 0.25):
        cell = np.array([share * level - 0.33 * slope, share * level + 0.33 * slope])
        _line(ax, cell, "#8DB8D6", zorder=1.1)
    _line(ax, np.array([-0.5 * level, 0.5 * level]), "#8DB8D6", zorder=1.1)


def _line(
    ax: Axes, points: Array, colour: str, *, dashed: bool = False, zorder: float = 0.6
) -> None:
    style = (0, (3, 2)) if dashed else "-"
    ax.plot(*_seen(points), color=colour, linewidth=0.9, linestyle=style, zorder=zorder)


def _vector(
    ax: Axes,
    end: Array,
    colour: str,
    name: str,
    *,
    shift: tuple[float, float],
    beam: bool = False,
) -> None:
    """Draw an arrow from the middle, or a beam towards it, and write its name beside its end."""
    (x0,), (y0,) = _seen(np.zeros(3))
    (x1,), (y1,) = _seen(end)
    head, tail = ((x0, y0), (x1, y1)) if beam else ((x1, y1), (x0, y0))
    ax.annotate(
        "",
        head,
        xytext=tail,
        arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 1.4, "shrinkA": 0},
        zorder=2.0,
    )
    if beam:
        ax.plot(x1, y1, "o", markersize=15.0, color="#F2C14E", markeredgecolor=GOLD, zorder=2.2)
    ax.annotate(
        name,
        (x1, y1),
        xytext=shift,
        textcoords="offset points",
        ha="right" if shift[0] < 0 else "left",
        fontsize=SMALL,
        color=colour,
    )


def _arc(ax: Axes, points: Array, colour: str, name: str) -> None:
    x, y = _seen(points)
    ax.plot(x, y, color=colour, linewidth=1.3, zorder=1.8)
    middle = len(x) // 2
    (mx,), (my,) = _seen(1.12 * points[middle])
    ax.text(
        mx,
        my,
        name,
        fontsize=USUAL + 1.5,
        color=colour,
        ha="center",
        va="center",
        zorder=2.5,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.85},
    )
