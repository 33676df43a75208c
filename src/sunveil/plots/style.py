"""Style, input checks, embedding."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patheffects import withStroke
from matplotlib.projections.polar import PolarAxes
from matplotlib.text import Text
from matplotlib.ticker import MultipleLocator
from numpy.typing import NDArray

from sunveil._options import instance, is_number, shown
from sunveil.errors import ParameterError
from sunveil.estimates.estimates_table import Estimate
from sunveil.meters.record import Record
from sunveil.simulate.fault_rates import SystemTruth
from sunveil.site import Array, Plane, Site
from sunveil.weather.cache import WeatherCache
from sunveil.weather.weather_data import Weather

# From Okabe and Ito's palette, which the common kinds of colour blindness leave distinct.
ACCENT = "#0072B2"
CONTRAST = "#D55E00"
INK = "#262626"
QUIET = "#6B6B6B"
FAINT = "#E3E3E3"
SMALL, USUAL = 8.5, 9.5
PRIVATE = "private: contains readings"
_PRIVATE_ID = "sunveil-private"
COMPASS = ("N", "NE", "E", "SE", "S", "SW", "W", "NW")


def new_axes(width: float = 6.4, height: float = 3.8) -> Axes:
    """Return the axes of a new figure. [inches]"""
    return new_row(1, width, height)[0]


def new_row(count: int, width: float, height: float, *, share: bool = False) -> tuple[Axes, ...]:
    """Return the axes of a new figure of panels in a row. [inches]"""
    _, axes = plt.subplots(
        1, count, figsize=(width, height), layout="constrained", squeeze=False, sharey=share
    )
    return tuple(axes[0])


def panels_of(
    axes: Sequence[Axes] | None, count: int, width: float, height: float, *, what: str,
    share: bool = False,
) -> tuple[Axes, ...]:  # fmt: skip
    """Return the panels given, which must be ``count``, or those of a new figure."""
    if axes is None:
        return new_row(count, width, height, share=share)
    if len(axes) != count:
        raise ParameterError(what)
    return tuple(axes)


def new_polar(size: float = 4.8) -> PolarAxes:
    """Return the polar axes of a new square figure. [inches]"""
    _, ax = plt.subplots(
        figsize=(size, size), layout="constrained", subplot_kw={"projection": "polar"}
    )
    return as_polar(ax)


def as_polar(ax: Axes) -> PolarAxes:
    """Return the axes, which must be polar."""
    if not isinstance(ax, PolarAxes):
        raise ParameterError(
            "a map over azimuth and tilt needs polar axes; make them with projection='polar'"
        )
    return ax


def dress(ax: Axes) -> None:
    """Give plain axes thin spines, a light grid and quiet ticks."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_linewidth(0.6)
        ax.spines[side].set_color(QUIET)
    ax.grid(visible=True, color=FAINT, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.tick_params(width=0.6, length=3.0, color=QUIET, labelcolor=INK, labelsize=SMALL)


def name_axes(ax: Axes, *, x: str = "", y: str = "", title: str = "") -> None:
    """Write the labels, with their units, and a title at the left."""
    ax.set_xlabel(x, fontsize=USUAL, color=INK)
    ax.set_ylabel(y, fontsize=USUAL, color=INK)
    if title:
        ax.set_title(title, fontsize=USUAL, color=INK, loc="left")


def hours_axis(ax: Axes, first: float, last: float) -> None:
    """Label an axis of solar time from the hour before ``first`` to the hour after ``last``."""
    ax.set_xlim(max(0.0, np.floor(first)), min(24.0, np.ceil(last)))
    ax.xaxis.set_major_locator(MultipleLocator(3.0))
    ax.xaxis.set_major_formatter("{x:.0f}")


def dress_polar(ax: PolarAxes) -> None:
    """Lay polar axes out as a compass: north up, clockwise, tilt outwards from flat."""
    ax.set_theta_zero_location("N")
    ax.set_theta_direction(-1)
    ax.set_rlim(0.0, 90.0)
    ax.set_rgrids([30.0, 60.0, 90.0], ["30°", "60°", "90°"], angle=22.5, fontsize=SMALL, color=INK)
    ax.set_thetagrids(list(np.arange(0.0, 360.0, 45.0)), list(COMPASS), fontsize=USUAL, color=INK)
    ax.grid(visible=True, color=INK, linewidth=0.5, alpha=0.25)
    ax.spines["polar"].set_linewidth(0.6)
    ax.spines["polar"].set_color(QUIET)
    for label in ax.get_yticklabels():
        halo(label)


def halo(text: object) -> None:
    """Put a white edge around a text so that it reads over colour."""
    assert isinstance(text, Text)
    text.set_path_effects([withStroke(linewidth=2.4, foreground="white")])


def name_line(ax: Axes, place: float, words: str, colour: str) -> None:
    """Name dots or lines above a panel's curves."""
    text = ax.text(place, 0.97, words, transform=ax.transAxes, va="top", fontsize=SMALL)
    text.set_color(colour)
    halo(text)


def draw_band(
    ax: Axes, x: NDArray[Any], low: Array, middle: Array, high: Array, *, words: str = ""
) -> None:
    """Draw a line within its band of 90%."""
    ax.fill_between(x, low, high, color=ACCENT, alpha=0.22, linewidth=0.0, label=words, gid="band")
    ax.plot(x, middle, color=ACCENT, linewidth=1.5)


def legend_beside(ax: Axes, title: str) -> None:
    """Name the lines to the right of the axes, where no line passes."""
    ax.legend(
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        frameon=False,
        fontsize=SMALL,
        title=title,
        title_fontsize=SMALL,
        labelcolor=INK,
        handlelength=1.2,
        alignment="left",
    )


def polar_map(ax: PolarAxes, values: Array, *, cmap: str, label: str) -> None:
    """Colour a compass by values over azimuths [0, 360) and tilts [0, 90], with a colour bar."""
    tilts = np.linspace(0.0, 90.0, len(values))
    azimuths = np.radians(np.linspace(0.0, 360.0, values.shape[1] + 1))
    closed = np.column_stack([values, values[:, :1]])
    mesh = ax.pcolormesh(
        azimuths,
        tilts,
        closed,
        cmap=_softened(cmap),
        shading="gouraud",
        rasterized=True,
        zorder=0.5,
    )
    bar = ax.figure.colorbar(mesh, ax=ax, shrink=0.7, pad=0.09, aspect=24)
    bar.set_label(label, fontsize=USUAL, color=INK)
    bar.ax.tick_params(width=0.6, length=3.0, color=QUIET, labelcolor=INK, labelsize=SMALL)
    bar.outline.set_edgecolor(FAINT)
    bar.outline.set_linewidth(0.6)
    dress_polar(ax)


def _softened(name: str) -> Colormap:
    """Return a colour map without its darkest end, on which no ink would read."""
    return LinearSegmentedColormap.from_list(
        f"soft-{name}", mpl.colormaps[name](np.linspace(0.0, 0.85, 128))
    )


def mark_private(ax: Axes) -> None:
    """Write once into the lower right corner of the figure that it contains readings."""
    instance("ax", ax, Axes, give="axes of matplotlib's")
    figure = ax.get_figure(root=True)
    assert figure is not None
    if any(text.get_gid() == _PRIVATE_ID for text in figure.texts):
        return
    figure.text(
        0.995, 0.006, PRIVATE, ha="right", va="bottom", fontsize=7.5, color=QUIET, gid=_PRIVATE_ID
    )
    engine = figure.get_layout_engine()
    if isinstance(engine, ConstrainedLayoutEngine):
        # keep the corner free of tick labels
        free = 0.16 / figure.get_figheight()
        engine.set(rect=(0.0, free, 1.0, 1.0 - free))


def compass_point(azimuth: float) -> str:
    """Return the nearest of the eight compass points."""
    return COMPASS[round(azimuth / 45.0) % 8]


def solar_hour(site: Site, sun: Array) -> Array:
    """Return the apparent solar time from vectors to the sun: 12 when it is highest. [h]"""
    latitude = np.radians(site.latitude)
    toward_equator = sun[:, 2] * np.cos(latitude) - sun[:, 1] * np.sin(latitude)
    return np.asarray(12.0 + np.arctan2(-sun[:, 0], toward_equator) * 12.0 / np.pi)


def place_name(site: Site) -> str:
    """Return the coordinates of a site in words."""
    north = "N" if site.latitude >= 0.0 else "S"
    east = "E" if site.longitude >= 0.0 else "W"
    return f"{abs(site.latitude):.2f}° {north}, {abs(site.longitude):.2f}° {east}"


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure inside a page."""

    source: str  # the picture as a `data:` address
    words: str  # what it shows, for those who cannot see it


def loose_figure(width: float, height: float) -> Figure:
    """Return a figure that no interactive session knows of or keeps. [inches]"""
    return Figure(figsize=(width, height), layout="constrained")


def embedded(figure: Figure, words: str) -> Drawing:
    """Return a figure as an SVG inside an address, the same bytes for the same figure."""
    buffer = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "sunveil", "svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", dpi=160, metadata={"Date": None})
    text = base64.b64encode(buffer.getvalue()).decode("ascii")
    return Drawing(f"data:image/svg+xml;base64,{text}", words)


# Type of each parameter, and what to give for it; optional ones may be None.
_KINDS: dict[str, tuple[type[Any], str]] = {
    "cache": (WeatherCache, "a WeatherCache, or None for the user's own"),
    "estimate": (Estimate, "an Estimate, as sunveil.infer returns it"),
    "record": (Record, "a Record, as sunveil.read_meters returns it"),
    "site": (Site, "a Site"),
    "truth": (Plane, "a Plane, or None"),
    "weather": (Weather, "Weather, as sunveil.get_weather returns it"),
}

_ENTRIES: dict[str, tuple[type[Any], str]] = {
    "estimates": (Estimate, "estimates, as sunveil.infer returns them"),
    "truths": (SystemTruth, "what is true of each system, as sunveil.simulate has it"),
}

_NUMBERS = ("azimuths", "tilts")


def check_inputs(*optional: str, **given: Any) -> None:
    """Refuse what a figure cannot be drawn from."""
    left_out = {"cache", "ax", "axes", "truth", *optional}
    for name, value in given.items():
        if value is None and name in left_out:
            continue
        if name in _KINDS:
            kind, give = _KINDS[name]
            instance(name, value, kind, give=give)
        elif name in _ENTRIES:
            kind, give = _ENTRIES[name]
            _check_entries(name, value, kind, give=f"a list of {give}")
        elif name in _NUMBERS:
            if not _is_listed(value) or not all(map(is_number, value)):
                raise ParameterError(f"{name} must be a list of degrees, not {shown(value)}")
        else:
            _check_axes(name, value)


def _is_listed(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _check_entries(name: str, value: Any, kind: type[Any], *, give: str) -> None:
    if not _is_listed(value) or not all(isinstance(each, kind) for each in value):
        raise ParameterError(f"{name} must be {give}, and {shown(value)} is not")


def _check_axes(name: str, value: Any) -> None:
    """Refuse what is neither axes of matplotlib's nor, for ``axes``, several of them."""
    if name == "ax":
        instance(name, value, Axes, give="axes of matplotlib's, or None for new ones")
        return
    row = isinstance(value, np.ndarray) and value.ndim == 1
    several = list(value) if row or _is_listed(value) else [value]
    if not all(isinstance(each, Axes) for each in several):
        raise ParameterError(
            f"{name} must be a row of matplotlib's axes, or None for new ones, and"
            f" {shown(value)} is not"
        )
