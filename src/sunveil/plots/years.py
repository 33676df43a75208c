"""What the single years of a record say, beside the estimate from all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sunveil.errors import ParameterError
from sunveil.estimate import Estimate
from sunveil.findings import year_name
from sunveil.plots.inputs import check_inputs
from sunveil.plots.style import ACCENT, CONTRAST, dress, mark_private, name_axes, new_row
from sunveil.quantities import Interval
from sunveil.site import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANELS = 3
# Names of so many years stand beside each other; those of more are written in two lines.
MOST_BESIDE = 3
# Room left beyond what is drawn, as a share of it.
MARGIN = 0.25


def plot_years(estimate: Estimate, *, axes: Sequence[Axes] | None = None) -> tuple[Axes, ...]:
    """Draw azimuth, tilt and capacity of each year, over the estimate and its 90% interval.

    Parameters
    ----------
    estimate
        The estimate of a record of several years.
    axes
        Three panels; new ones when left out.

    Privacy
    -------
    None: the figure shows what was inferred from readings, and is marked so.
    """
    check_inputs(estimate=estimate, axes=axes)
    if not estimate.years:
        raise ParameterError(f"the record of system {estimate.system_id} is of one year only")
    if axes is not None and len(axes) != PANELS:
        raise ParameterError("give three panels: for azimuth, tilt and capacity")
    panels = tuple(axes) if axes is not None else new_row(PANELS, 10.0, 2.3)
    below = " " if len(estimate.years) <= MOST_BESIDE else "\n"
    names = [year_name(year).replace(" ", below) for year in estimate.years]
    whole = estimate.azimuth_interval.width >= 360.0
    near = estimate.surface_azimuth
    azimuths = _beside(np.array([year.surface_azimuth for year in estimate.years]), near)
    low, high = _beside(
        np.array([estimate.azimuth_interval.low, estimate.azimuth_interval.high]), near
    )
    around = Interval(near - 180.0, near + 180.0) if whole else Interval(low, high)
    tilts = np.array([year.surface_tilt for year in estimate.years])
    capacities = np.array([year.dc_capacity_kw for year in estimate.years])
    drawn = (
        (azimuths, near, around, "Azimuth [°]"),
        (tilts, estimate.surface_tilt, estimate.tilt_interval, "Tilt [°]"),
        (capacities, estimate.dc_capacity_kw, estimate.capacity_interval, "DC capacity [kW]"),
    )
    for ax, (values, pooled, interval, name) in zip(panels, drawn, strict=True):
        _draw(ax, values, pooled, interval)
        name_axes(ax, title=name)
        ax.set_xticks(range(len(names)), names)
    panels[0].yaxis.set_major_formatter(lambda value, _: f"{value % 360.0:g}")
    mark_private(panels[0])
    return panels


def _draw(ax: Axes, values: Array, pooled: float, interval: Interval) -> None:
    """Draw years as dots over the band and the line of the whole record."""
    dress(ax)
    ax.grid(visible=False, axis="x")
    ax.axhspan(interval.low, interval.high, color=ACCENT, alpha=0.14, linewidth=0.0, gid="interval")
    ax.axhline(pooled, color=ACCENT, linewidth=1.4, gid="estimate")
    ax.plot(
        range(len(values)),
        values,
        linestyle="none",
        marker="o",
        markersize=6.0,
        color=CONTRAST,
        markeredgecolor="white",
        gid="years",
    )
    ax.set_xlim(-0.5, len(values) - 0.5)
    low, high = min(interval.low, values.min()), max(interval.high, values.max())
    room = MARGIN * (high - low)
    ax.set_ylim(low - room, high + room)


def _beside(azimuth: Array, near: float) -> Array:
    """Return azimuths without the seam at north, within half a turn of one. [degrees]"""
    return np.asarray((azimuth - near + 180.0) % 360.0 - 180.0 + near)
