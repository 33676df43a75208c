"""Fleet summary; errors against the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.projections.polar import PolarAxes
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter
from numpy.typing import NDArray

from sunveil.errors import ParameterError
from sunveil.estimates.estimates_table import Estimate
from sunveil.estimates.intervals_and_rounding import Interval
from sunveil.estimates.planes_and_intervals import PlaneEstimate, match_planes
from sunveil.plots.style import (
    ACCENT,
    COMPASS,
    FAINT,
    INK,
    QUIET,
    SMALL,
    USUAL,
    as_polar,
    check_inputs,
    dress,
    halo,
    name_axes,
    new_axes,
    new_polar,
    panels_of,
)
from sunveil.simulate.fault_rates import SystemTruth
from sunveil.site import Array, Plane

Mask = NDArray[np.bool_]

# Below this tilt a degree of the plane is six or more of its azimuth. [degrees]
NEAR_FLAT = 10.0


@dataclass(frozen=True, slots=True)
class SignedError:
    """Signed error of one quantity of one system, and where its 90% interval ends."""

    error: float  # inferred less true
    low: float
    high: float

    @property
    def covered(self) -> bool:
        """True when the 90% interval holds the truth."""
        return self.low <= 0.0 <= self.high


def comparable_planes(truth: SystemTruth, estimate: Estimate) -> list[tuple[Plane, PlaneEstimate]]:
    """Pair each true plane of a system with the inferred one that matches it."""
    # One true plane is compared with the effective plane; trackers, and several planes that were
    # not separated, with nothing.
    if truth.tracker is not None:
        return []
    true = [plane for plane, _ in truth.planes]
    return match_planes(true, [estimate.effective_plane] if len(true) == 1 else estimate.planes)


def is_comparable(truth: SystemTruth, estimate: Estimate) -> bool:
    """Whether an estimate recognised the planes of a system, or that it is a tracker."""
    turned = truth.tracker is not None and estimate.tracker is not None
    return turned or bool(comparable_planes(truth, estimate))


def azimuth_errors(true: Plane, found: PlaneEstimate) -> SignedError:
    """Return the error of the azimuth, the short way round. [degrees]"""
    error = (found.surface_azimuth - true.surface_azimuth + 180.0) % 360.0 - 180.0
    interval = found.azimuth_interval
    if interval.width >= 360.0:
        return SignedError(error, error - 180.0, error + 180.0)
    below = (found.surface_azimuth - interval.low) % 360.0
    above = (interval.high - found.surface_azimuth) % 360.0
    return SignedError(error, error - below, error + above)


def tilt_errors(true: Plane, found: PlaneEstimate) -> SignedError:
    """Return the error of the tilt. [degrees]"""
    return _errors(found.surface_tilt, found.tilt_interval, true.surface_tilt)


def capacity_errors(truth: SystemTruth, estimate: Estimate) -> SignedError:
    """Return the error of the DC capacity. [% of the truth]"""
    scale = 100.0 / truth.dc_capacity_kw
    found = _errors(estimate.dc_capacity_kw, estimate.capacity_interval, truth.dc_capacity_kw)
    return SignedError(found.error * scale, found.low * scale, found.high * scale)


def plot_errors(
    truths: Sequence[SystemTruth],
    estimates: Sequence[Estimate],
    *,
    axes: Sequence[Axes] | None = None,
) -> tuple[Axes, ...]:
    """Draw the errors of azimuth, tilt and capacity against the truth, with 90% intervals.

    Nearly flat planes are hollow in the azimuth's panel, since they have no azimuth to speak of,
    and their bars may run off the panel. Both planes of a pair are drawn, of a tracker its capacity
    alone; pairs and trackers that were not recognised are omitted.
    """
    check_inputs(truths=truths, estimates=estimates, axes=axes)
    if len(truths) != len(estimates):
        raise ParameterError("errors need one truth per estimate, in the same order")
    pairs = [pair for pair in zip(truths, estimates, strict=True) if is_comparable(*pair)]
    planes = [each for pair in pairs for each in comparable_planes(*pair)]
    if not planes:
        raise ParameterError("errors need at least one system with recognised planes")
    words = "errors are drawn on three panels: azimuth, tilt and capacity"
    panels = panels_of(axes, 3, 10.0, 3.2, what=words)
    azimuths = np.array([plane.surface_azimuth for plane, _ in planes])
    tilts = np.array([plane.surface_tilt for plane, _ in planes])
    capacities = np.array([truth.dc_capacity_kw for truth, _ in pairs])
    solid = tilts >= NEAR_FLAT
    _panel(panels[0], azimuths, [azimuth_errors(*each) for each in planes], solid=solid)
    _panel(panels[1], tilts, [tilt_errors(*each) for each in planes])
    _panel(panels[2], capacities, [capacity_errors(*pair) for pair in pairs])
    _finish_azimuth(panels[0], any_flat=not solid.all())
    name_axes(panels[1], x="True tilt [°]", y="Error of tilt [°]", title="Tilt")
    panels[1].set_xlim(left=min(0.0, float(tilts.min())))
    name_axes(panels[2], x="True DC capacity [kW]", y="Error of capacity [%]", title="DC capacity")
    _capacity_axis(panels[2], capacities)
    return panels


def _errors(found: float, interval: Interval, truth: float) -> SignedError:
    return SignedError(found - truth, interval.low - truth, interval.high - truth)


def _panel(
    ax: Axes, truth: Array, errors: Sequence[SignedError], *, solid: Mask | None = None
) -> None:
    dress(ax)
    solid = np.ones(len(truth), dtype=bool) if solid is None else solid
    ax.axhline(0.0, color=QUIET, linewidth=0.8, zorder=1.5)
    error = np.array([e.error for e in errors])
    low, high = np.array([e.low for e in errors]), np.array([e.high for e in errors])
    # an interval may exclude its own estimate by rounding, and bars have no negative length
    bars = np.maximum(np.stack([error - low, high - error]), 0.0)
    for chosen, face in ((solid, ACCENT), (~solid, "white")):
        if chosen.any():
            ax.errorbar(
                truth[chosen],
                error[chosen],
                yerr=bars[:, chosen],
                linestyle="none",
                marker="o",
                markersize=5.0,
                markerfacecolor=face,
                markeredgecolor=ACCENT,
                ecolor="#7FB8D8",
                elinewidth=1.0,
                capsize=0.0,
            )
    counted = solid if solid.any() else ~solid
    reach = float(np.abs(np.stack([low, high])[:, counted]).max())
    reach = max(reach, 1.1 * float(np.abs(error).max()), 0.5)
    ax.set_ylim(-1.12 * reach, 1.12 * reach)


def _finish_azimuth(ax: Axes, *, any_flat: bool) -> None:
    note = f" (hollow: tilt below {NEAR_FLAT:g}°)" if any_flat else ""
    name_axes(ax, x="True azimuth [°]", y="Error of azimuth [°]", title=f"Azimuth{note}")
    ax.set_xlim(0.0, 360.0)
    ax.set_xticks([0, 90, 180, 270, 360], ["0°\nN", "90°\nE", "180°\nS", "270°\nW", "360°\nN"])


def _capacity_axis(ax: Axes, capacities: Array) -> None:
    """Give capacities that span far a logarithmic axis with plain numbers."""
    if capacities.max() < 8.0 * capacities.min():
        return
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=12))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_formatter(NullFormatter())


def plot_fleet_azimuths(counts: Sequence[float], *, ax: Axes | None = None) -> PolarAxes:
    """Draw how many systems face each way, as petals on a compass, north up and clockwise."""
    polar = as_polar(ax) if ax is not None else new_polar()
    polar.set_theta_zero_location("N")
    polar.set_theta_direction(-1)
    wide = 2.0 * np.pi / max(len(counts), 1)
    ticks = MaxNLocator(4, integer=True, steps=[1, 2, 5, 10]).tick_values(0, max([1, *counts]))
    rings = [tick for tick in ticks if tick > 0]
    polar.bar(
        wide * (np.arange(len(counts)) + 0.5),
        np.sqrt(np.asarray(counts, dtype=np.float64)),
        width=0.93 * wide,
        color=ACCENT,
        linewidth=0.0,
        zorder=3,
    )
    polar.set_rlim(0.0, float(np.sqrt(rings[-1])))
    names = [f"{int(tick):,}" for tick in rings]
    polar.set_rgrids(np.sqrt(rings).tolist(), names, angle=22.5, fontsize=SMALL, color=QUIET)
    polar.set_thetagrids(np.arange(0.0, 360.0, 45.0).tolist(), COMPASS, fontsize=USUAL, color=INK)
    polar.grid(visible=True, color=FAINT, linewidth=0.8)
    polar.spines["polar"].set_color(FAINT)
    for label in polar.get_yticklabels():
        halo(label)
        label.set_zorder(4)
    return polar


def plot_fleet_classes(
    counts: Sequence[float], edges: Sequence[str], *, name: str, ax: Axes | None = None
) -> Axes:
    """Draw how many systems each class has, as bars of one width."""
    if len(edges) != len(counts) + 1:
        raise ParameterError("classes need one more edge than there are counts")
    ax = ax if ax is not None else new_axes(5.6, 3.0)
    ax.bar(np.arange(len(counts)) + 0.5, counts, width=0.93, color=ACCENT, linewidth=0.0)
    dress(ax)
    ax.grid(visible=False, axis="x")
    ax.tick_params(axis="x", length=0.0)
    ax.spines["left"].set_visible(False)
    ax.set_xlim(0.0, len(counts))
    ax.set_ylim(0.0, 1.05 * max([1, *counts]))
    named = [place for place, edge in enumerate(edges) if edge]
    ax.set_xticks(named, [edges[place] for place in named])
    ax.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    ax.yaxis.set_major_formatter("{x:,.0f}")
    name_axes(ax, x=name, y="Systems")
    return ax
