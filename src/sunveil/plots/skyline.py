"""What hides the sun: the sky over a site, with the sun's paths and the skyline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sunveil.engine.sun import sun_vectors_over
from sunveil.errors import ParameterError
from sunveil.estimate import Estimate
from sunveil.findings import HiddenSky, hidden_skies
from sunveil.plots.inputs import check_inputs
from sunveil.plots.style import (
    ACCENT,
    COMPASS,
    CONTRAST,
    INK,
    SMALL,
    dress,
    halo,
    mark_private,
    name_axes,
    new_axes,
)
from sunveil.site import Array, Plane, Site

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The longest and the shortest day, and one between; a path is the same each year to a few tenths.
DAYS = (("2019-06-21", "21 June"), ("2019-03-21", "21 March"), ("2019-12-21", "21 December"))
# Where a path's name ends, before noon. [degrees]
NAME_BEFORE = 15.0
HIDDEN = "#6F6F6F"
# From this height and width on, a number fits below the skyline. [degrees]
FIRST_INSIDE = (10.0, 24.0)


def plot_skyline(estimate: Estimate, site: Site, *, ax: Axes | None = None) -> Axes:
    """Draw what hides the sun before the sun's paths, as one would see it from the panels.

    The equator is in the middle: south at northern sites, north at southern ones. A diamond marks
    where the panels of each plane face, lines where those of a tracker turn.

    Parameters
    ----------
    estimate
        An estimate with a skyline.
    site
        Where the system is.
    ax
        Axes to draw on; new ones when left out.

    Privacy
    -------
    None: the figure shows what was inferred from readings, and is marked so.
    """
    check_inputs(estimate=estimate, site=site, ax=ax)
    if not estimate.skyline:
        raise ParameterError(
            f"nothing hides the sun from system {estimate.system_id}; draw others' skylines"
        )
    ax = ax if ax is not None else new_axes(6.4, 3.0)
    middle = 180.0 if site.latitude >= 0.0 else 0.0
    dress(ax)
    top = max(_draw_path(ax, site, *day, middle=middle) for day in DAYS)
    _draw_hidden(ax, np.asarray(estimate.skyline), middle)
    facing = _facing(estimate)
    _draw_panels(ax, estimate, facing, middle)
    ax.set_xlim(middle - 180.0, middle + 180.0)
    highest = max(top, *estimate.skyline, *(90.0 - plane.surface_tilt for plane in facing))
    ax.set_ylim(0.0, highest + 9.0)
    ticks = middle + np.arange(-180.0, 181.0, 45.0)
    names = [f"{COMPASS[round(tick / 45.0) % 8]}\n{tick % 360.0:.0f}°" for tick in ticks]
    ax.set_xticks(ticks.tolist(), names)
    ax.set_yticks(np.arange(0.0, ax.get_ylim()[1], 20.0))
    name_axes(ax, x="Azimuth [°]", y="Elevation [°]")
    mark_private(ax)
    return ax


def _draw_path(ax: Axes, site: Site, date: str, name: str, *, middle: float) -> float:
    """Draw the sun's path over one day with its name, and return how high it gets. [degrees]"""
    midnight = int(np.datetime64(date, "s").astype(np.int64) - 240.0 * site.longitude)
    sun = sun_vectors_over(site, midnight + np.arange(0, 86401, 300))
    sun = sun[sun[:, 2] > 0.0]
    if not len(sun):
        return 0.0
    azimuth = _around(np.degrees(np.arctan2(sun[:, 0], sun[:, 1])), middle)
    elevation = np.degrees(np.arcsin(sun[:, 2]))
    place, side = int(elevation.argmax()), "right"
    if azimuth[place] < middle - 90.0:
        side = "left"
    elif abs(azimuth[place] - middle) < 90.0:
        # left of noon, where most panels face and their mark stands
        place = int(np.abs(azimuth - middle + NAME_BEFORE).argmin())
    label = ax.text(
        azimuth[place],
        elevation[place] + 1.0,
        name,
        ha=side,
        va="bottom",
        fontsize=SMALL,
        color=CONTRAST,
    )
    halo(label)
    # no line across the figure where a path leaves it at one side and comes in at the other
    breaks = np.flatnonzero(np.abs(np.diff(azimuth)) > 180.0) + 1
    azimuth, elevation = (np.insert(each, breaks, np.nan) for each in (azimuth, elevation))
    ax.plot(azimuth, elevation, color=CONTRAST, linewidth=1.2, gid="path")
    return float(np.nanmax(elevation))


def _draw_hidden(ax: Axes, skyline: Array, middle: float) -> None:
    """Fill the sky below the skyline, which begins at north, and write how high it is."""
    width = 360.0 / len(skyline)
    edges = middle - 180.0 + width * np.arange(len(skyline) + 1)
    # sectors begin at north, which is the left edge or the middle of the figure
    turned = np.roll(skyline, 0 if middle else len(skyline) // 2)
    ax.stairs(turned, edges, fill=True, color=HIDDEN, alpha=0.85, zorder=2.5)
    # the middle of the widest part that is highest, where the number stands best
    tops = np.where(skyline == skyline.max(), skyline, 0.0).tolist()
    highest = max(hidden_skies(tops), key=_wide)
    inside = highest.highest >= FIRST_INSIDE[0] and _wide(highest) >= FIRST_INSIDE[1]
    ax.text(
        float(_around(np.array([0.5 * (highest.first + highest.last)]), middle)[0]),
        highest.highest + (-1.0 if inside else 1.0),
        f"{highest.highest:g}°",
        ha="center",
        va="top" if inside else "bottom",
        fontsize=SMALL,
        color="white" if inside else INK,
        zorder=4,
    )


def _wide(hidden: HiddenSky) -> float:
    return hidden.last - hidden.first


def _facing(estimate: Estimate) -> list[Plane]:
    """Return the planes of a system; of a tracker, those as far as it turns to both sides."""
    tracker = estimate.tracker
    if tracker is None:
        return [each.plane for each in estimate.planes]
    sides = (tracker.axis_azimuth - 90.0, tracker.axis_azimuth + 90.0)
    return [Plane(side % 360.0, tracker.max_angle) for side in sides]


def _draw_panels(ax: Axes, estimate: Estimate, facing: Sequence[Plane], middle: float) -> None:
    """Mark the points of the sky that the panels face, and name the first of them."""
    azimuths = _around(np.array([plane.surface_azimuth for plane in facing]), middle)
    elevations = [90.0 - plane.surface_tilt for plane in facing]
    azimuth, elevation = float(azimuths[0]), elevations[0]
    inside = azimuth < middle + 100.0
    if estimate.tracker is not None:
        ax.vlines(azimuths, elevations, 90.0, color=ACCENT, linewidth=2.0, zorder=4, gid="turn")
    ax.plot(
        azimuths,
        elevations,
        marker="D",
        markersize=6.0,
        color=ACCENT,
        markeredgecolor="white",
        linestyle="none",
        zorder=5,
        gid="panels",
    )
    label = ax.annotate(
        "panels face here" if estimate.tracker is None else "panels turn up from here",
        (azimuth, elevation),
        xytext=(7.0, 0.0) if inside else (-7.0, 0.0),
        textcoords="offset points",
        ha="left" if inside else "right",
        va="center",
        fontsize=SMALL,
        color=ACCENT,
        zorder=5,
    )
    halo(label)


def _around(azimuth: Array, middle: float) -> Array:
    """Return azimuths within half a turn of the figure's middle. [degrees]"""
    return np.asarray((azimuth - middle + 180.0) % 360.0 - 180.0 + middle)
