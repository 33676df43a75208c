"""The numbers and words of a report: pure functions of its cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sunveil.estimate import FLAG_MEANINGS, DaylightSaving, Estimate, Flag
from sunveil.findings import (
    clear_hours_words,
    flat_words,
    haze_words,
    hidden_words,
    household_words,
    skyline_words,
    three_digits,
    trend_words,
)
from sunveil.planes import PlaneEstimate, TrackerEstimate
from sunveil.plots.errors import NEAR_FLAT, azimuth_errors, capacity_errors, tilt_errors
from sunveil.quantities import Interval
from sunveil.report.case import Case
from sunveil.simulate import SystemTruth
from sunveil.site import Losses, Mount

_MOUNTS = {
    Mount.UNKNOWN: "an unknown mount",
    Mount.RACK: "an open rack",
    Mount.ROOF: "a roof",
}
_ANGLES = ("azimuth", "tilt")
FLAG_WORDS = {flag: flag.value.replace("_", " ") for flag in Flag}


def summary(cases: Sequence[Case]) -> dict[str, Any]:
    """Return the headline numbers: counts, and errors where truths are known."""
    angles = [case.worst_angle for case in cases if case.worst_angle is not None]
    out: dict[str, Any] = {"systems": len(cases), "known": len(angles)}
    out["net"] = sum(1 for case in cases if case.estimate.household is not None)
    out["readings"] = sum(len(case.record.times) for case in cases)
    out["untold"] = sum(1 for case in cases if case.truth is not None and case.known is None)
    if not angles:
        return out
    planes = [pair for case in cases for pair in case.planes]
    azimuth = [azimuth_errors(*pair) for pair in planes]
    tilt = [tilt_errors(*pair) for pair in planes]
    capacity = [
        capacity_errors(case.known, case.estimate) for case in cases if case.known is not None
    ]
    tilted = [
        abs(one.error)
        for one, (plane, _) in zip(azimuth, planes, strict=True)
        if plane.surface_tilt >= NEAR_FLAT
    ]
    return out | {
        "azimuth": f"{np.median(tilted):.1f}°" if tilted else None,
        "tilt": f"{np.median([abs(one.error) for one in tilt]):.1f}°",
        "capacity": f"{np.median([abs(one.error) for one in capacity]):.1f}%",
        "angle": f"{np.median(angles):.1f}°",
        "covered": [
            (name, sum(one.covered for one in errors), len(errors))
            for name, errors in (("azimuths", azimuth), ("tilts", tilt), ("capacities", capacity))
        ],
    }


def table_row(case: Case) -> dict[str, Any]:
    """Return one line of the table of systems, ready to print."""
    estimate, truth = case.estimate, case.truth
    row: dict[str, Any] = {
        "system_id": estimate.system_id,
        **plane_cells(estimate.effective_plane),
        **({} if estimate.tracker is None else tracker_cells(estimate.tracker)),
        "planes": _plane_rows(case),
        "flags": [FLAG_WORDS[flag] for flag in estimate.flags if flag is not Flag.CLOCK_REPAIRED],
        "clock": clock_words(case),
        "quality": estimate.quality.value,
        "truth": None,
    }
    if truth is not None:
        row["truth"] = {
            "azimuth": _kind(truth) or f"{truth.plane.surface_azimuth:.1f}°",
            "tilt": "" if _kind(truth) else f"{truth.plane.surface_tilt:.1f}°",
            "capacity": three_digits(truth.dc_capacity_kw),
            "angle": "" if case.worst_angle is None else f"{case.worst_angle:.1f}°",
        }
    return row


def plane_cells(plane: PlaneEstimate) -> dict[str, str]:
    """Return azimuth, tilt and capacity of a plane with their intervals, ready to print."""
    any_azimuth = plane.azimuth_interval.width >= 360.0
    return {
        "azimuth": f"{plane.surface_azimuth:.1f}°",
        "azimuth_interval": "any" if any_azimuth else _degrees(plane.azimuth_interval),
        "tilt": f"{plane.surface_tilt:.1f}°",
        "tilt_interval": _degrees(plane.tilt_interval),
        "capacity": three_digits(plane.dc_capacity_kw),
        "capacity_interval": _capacities(plane.capacity_interval),
    }


def tracker_cells(tracker: TrackerEstimate) -> dict[str, str]:
    """Return what stands in the cells of azimuth and tilt for a tracker."""
    return {
        "azimuth": f"axis {tracker.axis_azimuth:.1f}°",
        "azimuth_interval": _degrees(tracker.axis_interval),
        "tilt": f"turns ±{tracker.max_angle:.0f}°",
        "tilt_interval": _degrees(tracker.max_angle_interval),
    }


def headlines(estimate: Estimate) -> list[list[tuple[str, str]]]:
    """Return the values of each plane, or of a tracker, with their intervals, a line each."""
    if estimate.tracker is not None:
        cells = {**plane_cells(estimate.effective_plane), **tracker_cells(estimate.tracker)}
        turned = [(cells[name].capitalize(), cells[f"{name}_interval"]) for name in _ANGLES]
        rows = _rows_lines(estimate.tracker)
        return [[("Single-axis tracker", ""), *turned, *rows, _capacity_line(cells)]]
    blocks = []
    for each in estimate.planes:
        cells = plane_cells(each)
        angles = [
            (f"{name.capitalize()} {cells[name]}", cells[f"{name}_interval"]) for name in _ANGLES
        ]
        blocks.append([*angles, _capacity_line(cells)])
    return blocks


def _rows_lines(tracker: TrackerEstimate) -> list[tuple[str, str]]:
    """Return whether a tracker's rows turn back, and how densely they then stand."""
    probability = max(tracker.backtrack_probability, 1.0 - tracker.backtrack_probability)
    sure = f"{100.0 * probability:.0f}%" if probability < 0.995 else ">99%"
    if not tracker.backtrack:
        return [("Without backtracking", f"{sure} likely")]
    low, high = 100.0 * tracker.gcr_interval.low, 100.0 * tracker.gcr_interval.high
    cover = f"Rows cover {100.0 * tracker.gcr:.0f}% of the ground"
    return [("Backtracking", f"{sure} likely"), (cover, f"{low:.0f}% to {high:.0f}%")]


def _capacity_line(cells: dict[str, str]) -> tuple[str, str]:
    return f"{cells['capacity']} kW", cells["capacity_interval"]


def _plane_rows(case: Case) -> list[dict[str, Any]]:
    """Return a line for each of several planes, beside the true one where it is known."""
    planes = case.estimate.planes
    if len(planes) < 2:
        return []
    true = {found: plane for plane, found in case.planes}
    shares = {} if case.truth is None else dict(case.truth.planes)
    rows: list[dict[str, Any]] = []
    for each in planes:
        row: dict[str, Any] = {"share": f"{100.0 * each.share:.0f}%", **plane_cells(each)}
        row["truth"] = None
        if each in true and case.truth is not None:
            plane = true[each]
            row["truth"] = {
                "azimuth": f"{plane.surface_azimuth:.1f}°",
                "tilt": f"{plane.surface_tilt:.1f}°",
                "capacity": three_digits(shares[plane] * case.truth.dc_capacity_kw),
                "angle": f"{plane.angle_to(each.plane):.1f}°",
            }
        rows.append(row)
    return rows


def facts(case: Case) -> list[str]:
    """Return what is to be known of one estimate, a sentence each, the weightiest first."""
    estimate = case.estimate
    sentences = [
        _radius(case),
        flat_words(estimate),
        household_words(estimate),
        trend_words(estimate),
        skyline_words(estimate),
        _limit(estimate),
        _clock(case),
        clear_hours_words(estimate),
        _agreement(estimate),
        haze_words(estimate),
    ]
    return [each for each in sentences if each]


def _agreement(estimate: Estimate) -> str:
    share = f"{100.0 * estimate.agreement:.0f}% of bright"
    if estimate.household is not None:
        return f"In {share} hours its generation is within 15% of a clear sky's."
    return f"{share} readings are within 15% of what it gives."


def _radius(case: Case) -> str:
    """Return how sure the plane is, unless its quality says so, and how far off it is in truth."""
    told = []
    if Flag.NOT_ONE_PLANE in case.estimate.flags:
        told.append(
            "No single plane explains these readings: take the values above for a stand-in, not"
            " for a plane that is there."
        )
    elif Flag.TWO_PLANES in case.estimate.flags:
        told.append(
            f"The one plane that would do best in place of both is"
            f" {case.estimate.surface_azimuth:.0f}° / {case.estimate.surface_tilt:.0f}°."
        )
    elif hidden := hidden_words(case.estimate):
        told.append(hidden)
    elif case.estimate.quality_reason in FLAG_MEANINGS.values():
        told.append(
            f"The true plane lies within {case.estimate.plane_error_degrees:.1f}° of the inferred"
            " one with a confidence of 90%."
        )
    if case.worst_angle is not None:
        which = "it is" if len(case.planes) == 1 else "the worse of them is"
        told.append(f"In truth {which} {case.worst_angle:.1f}° off.")
    elif case.truth is not None:
        told.append(f"In truth this is {_kind(case.truth) or 'one fixed plane'}.")
    return " ".join(told)


def _limit(estimate: Estimate) -> str:
    if estimate.ac_limit_kw is None or estimate.dc_ac_ratio is None:
        return ""
    return (
        f"The inverter cuts the power off at {three_digits(estimate.ac_limit_kw)} kW, so that the"
        f" ratio of DC to AC is {estimate.dc_ac_ratio:.2f}."
    )


def _clock(case: Case) -> str:
    words = clock_words(case)
    return words and f"The declared clock did not fit the sun and was repaired: {words}."


def _kind(truth: SystemTruth) -> str:
    if truth.tracker is not None:
        return "a tracker"
    return "" if len(truth.planes) == 1 else f"{len(truth.planes)} planes"


def _degrees(interval: Interval) -> str:
    return f"{interval.low:.0f}° to {interval.high:.0f}°"


def _capacities(interval: Interval) -> str:
    return f"{three_digits(interval.low)} to {three_digits(interval.high)}"


def clock_words(case: Case) -> str:
    """Return what was done to a clock, in words; nothing when it fits the sun."""
    clock, parts = case.estimate.clock, []
    if Flag.CLOCK_REPAIRED not in case.estimate.flags:
        return ""
    if clock.offset_minutes or clock.steps:
        parts.append(_off(clock.offset_minutes))
    parts += [f"from {step.date} on {_off(step.offset_minutes)}" for step in clock.steps]
    if clock.label is not case.record.label:
        parts.append(f"stamps name the {clock.label.value} of their interval")
    if clock.daylight_saving is DaylightSaving.LEFT_IN:
        parts.append("daylight saving left in")
    elif clock.daylight_saving is DaylightSaving.APPLIED_TWICE:
        parts.append("daylight saving taken out twice")
    return ", ".join(parts)


def _off(minutes: float) -> str:
    if not minutes:
        return "right"
    return f"{abs(minutes):.0f} min {'fast' if minutes > 0.0 else 'slow'}"


def meanings(cases: Sequence[Case]) -> list[tuple[str, str]]:
    """Return the flags that any case has, with what they mean."""
    seen = {flag for case in cases for flag in case.estimate.flags}
    return [(FLAG_WORDS[flag], FLAG_MEANINGS[flag]) for flag in Flag if flag in seen]


def assumptions(cases: Sequence[Case]) -> list[str]:
    """Return each different set of assumptions once, in words."""
    sentences = []
    for case in cases:
        made = case.estimate.assumptions
        losses = made.losses
        method = "the paper's method" if made.method == "paper" else "the default method"
        sentences.append(
            f"System losses of {100 * losses.system:.3g}%{_parts(losses)}, an inverter efficiency"
            f" of {100 * losses.inverter_efficiency:.3g}%, a temperature coefficient of"
            f" {100 * losses.gamma_pdc:.2g}% per °C, ground that reflects {100 * made.albedo:.3g}%"
            f" of the light, modules on {_MOUNTS[made.mount]}, the {made.sky_model} sky,"
            f" weather from {made.weather}, {method}."
        )
    return list(dict.fromkeys(sentences))


def _parts(losses: Losses) -> str:
    """Return what the losses are made of, in brackets; nothing where they were given as a whole."""
    if len(losses.parts) == 1:
        return ""
    named = (f"{name} {100.0 * share:.3g}%" for name, share in losses.parts.items())
    return f" ({', '.join(named)})"
