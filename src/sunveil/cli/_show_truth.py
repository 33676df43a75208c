"""Estimates beside the truth of a simulated fleet, as text."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from sunveil.cli._show_estimates import explanations, plane_rows, show_flags
from sunveil.cli._text import aligned
from sunveil.estimates.estimate_text import show_capacity, show_orientation
from sunveil.estimates.estimates_table import Estimate
from sunveil.estimates.planes_and_intervals import match_planes
from sunveil.simulate.fault_rates import SystemTruth

Pair = tuple[SystemTruth, Estimate]


def show_cases(pairs: Sequence[Pair]) -> str:
    """Return a table of true against inferred, the typical errors, and what to know."""
    head = ("system", "true azimuth, tilt, DC", "azimuth", "tilt", "DC capacity", "off by", "flags")
    rows = [row for truth, estimate in pairs for row in _rows(truth, estimate)]
    notes = explanations([estimate for _, estimate in pairs])
    return "\n".join([aligned([head, *rows]), "", *_errors(pairs), *notes])


def _rows(truth: SystemTruth, estimate: Estimate) -> list[tuple[str, ...]]:
    whole = (
        truth.system_id,
        _truth(truth),
        *show_orientation(estimate),
        show_capacity(estimate),
        _angle(truth, estimate),
        show_flags(estimate),
    )
    return [whole, *((name, "", *cells, "", "") for name, *cells in plane_rows(estimate))]


def _truth(truth: SystemTruth) -> str:
    if truth.tracker is not None:
        return f"tracker, {truth.dc_capacity_kw:.4g} kW"
    planes = " + ".join(
        f"{plane.surface_azimuth:.1f}°, {plane.surface_tilt:.1f}°" for plane, _ in truth.planes
    )
    return f"{planes}, {truth.dc_capacity_kw:.4g} kW"


def _angle(truth: SystemTruth, estimate: Estimate) -> str:
    """Return the angle between the true and the inferred plane; of two, that of the worse one."""
    true = [plane for plane, _ in truth.planes] if truth.tracker is None else []
    found = [estimate.effective_plane] if len(true) == 1 else estimate.planes
    angles = [plane.angle_to(each.plane) for plane, each in match_planes(true, found)]
    return f"{max(angles):.1f}°" if angles else "-"


def _errors(pairs: Sequence[Pair]) -> list[str]:
    single = [
        (truth, estimate)
        for truth, estimate in pairs
        if len(truth.planes) == 1 and truth.tracker is None
    ]
    if not single:
        return []
    azimuth = median(
        abs((e.surface_azimuth - t.plane.surface_azimuth + 180.0) % 360.0 - 180.0)
        for t, e in single
    )
    tilt = median(abs(e.surface_tilt - t.plane.surface_tilt) for t, e in single)
    capacity = median(abs(e.dc_capacity_kw / t.dc_capacity_kw - 1.0) for t, e in single)
    return [
        f"Median error over {len(single)} systems of one plane: azimuth {azimuth:.1f}°,"
        f" tilt {tilt:.1f}°, capacity {100.0 * capacity:.1f}%."
    ]
