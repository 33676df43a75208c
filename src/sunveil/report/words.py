"""The numbers and words of a report: pure functions of its cases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sunveil.estimate import FLAG_MEANINGS, DaylightSaving, Estimate, Flag
from sunveil.findings import clear_hours_words, haze_words, skyline_words, trend_words
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
FLAG_WORDS = {flag: flag.value.replace("_", " ") for flag in Flag}


def summary(cases: Sequence[Case]) -> dict[str, Any]:
    """Return the headline numbers: counts, and errors where truths are known."""
    known = [(case.known, case.estimate) for case in cases if case.known is not None]
    pairs = [(truth, estimate) for truth, estimate in known if truth is not None]
    out: dict[str, Any] = {"systems": len(cases), "known": len(pairs)}
    out["readings"] = sum(len(case.record.times) for case in cases)
    out["not_one_plane"] = sum(1 for case in cases if case.truth is not None and case.known is None)
    if not pairs:
        return out
    azimuth = [azimuth_errors(*pair) for pair in pairs]
    tilt = [tilt_errors(*pair) for pair in pairs]
    capacity = [capacity_errors(*pair) for pair in pairs]
    tilted = [
        abs(one.error)
        for one, (truth, _) in zip(azimuth, pairs, strict=True)
        if truth.plane.surface_tilt >= NEAR_FLAT
    ]
    angles = [truth.plane.angle_to(estimate.plane) for truth, estimate in pairs]
    return out | {
        "azimuth": f"{np.median(tilted):.1f}°" if tilted else None,
        "tilt": f"{np.median([abs(one.error) for one in tilt]):.1f}°",
        "capacity": f"{np.median([abs(one.error) for one in capacity]):.1f}%",
        "angle": f"{np.median(angles):.1f}°",
        "covered": [
            (name, sum(one.covered for one in errors))
            for name, errors in (("azimuth", azimuth), ("tilt", tilt), ("capacity", capacity))
        ],
    }


def table_row(case: Case) -> dict[str, Any]:
    """Return one line of the table of systems, ready to print."""
    estimate, truth = case.estimate, case.truth
    any_azimuth = estimate.azimuth_interval.width >= 360.0
    row: dict[str, Any] = {
        "system_id": estimate.system_id,
        "azimuth": f"{estimate.surface_azimuth:.1f}°",
        "azimuth_interval": "any" if any_azimuth else _degrees(estimate.azimuth_interval),
        "tilt": f"{estimate.surface_tilt:.1f}°",
        "tilt_interval": _degrees(estimate.tilt_interval),
        "capacity": kilowatts(estimate.dc_capacity_kw),
        "capacity_interval": _capacities(estimate.capacity_interval),
        "flags": [FLAG_WORDS[flag] for flag in estimate.flags if flag is not Flag.CLOCK_REPAIRED],
        "clock": clock_words(case),
        "quality": estimate.quality.value,
        "truth": None,
    }
    if truth is not None:
        row["truth"] = {
            "azimuth": f"{truth.plane.surface_azimuth:.1f}°" if case.known else "",
            "tilt": f"{truth.plane.surface_tilt:.1f}°" if case.known else "",
            "kind": _kind(truth),
            "capacity": kilowatts(truth.dc_capacity_kw),
            "angle": f"{truth.plane.angle_to(estimate.plane):.1f}°" if case.known else "",
        }
    return row


def facts(case: Case) -> list[str]:
    """Return what is to be known of one estimate, a sentence each, the weightiest first."""
    estimate = case.estimate
    sentences = [
        _radius(case),
        trend_words(estimate),
        skyline_words(estimate),
        _limit(estimate),
        _clock(case),
        clear_hours_words(estimate),
        f"{100.0 * estimate.agreement:.0f}% of bright readings are within 15% of what it gives.",
        haze_words(estimate),
    ]
    return [each for each in sentences if each]


def _radius(case: Case) -> str:
    """Return how sure the plane is, unless its quality says so, and how far off it is in truth."""
    told = []
    if Flag.NOT_ONE_PLANE in case.estimate.flags:
        told.append(
            "No single plane explains these readings: take the values above for a stand-in, not"
            " for a plane that is there."
        )
    elif case.estimate.quality_reason in FLAG_MEANINGS.values():
        told.append(
            f"The true plane lies within {case.estimate.plane_error_degrees:.1f}° of the inferred"
            " one with a confidence of 90%."
        )
    if case.known is not None:
        angle = case.known.plane.angle_to(case.estimate.plane)
        told.append(f"In truth it is {angle:.1f}° off.")
    elif case.truth is not None:
        told.append(f"In truth this is not one fixed plane ({_kind(case.truth)}).")
    return " ".join(told)


def _limit(estimate: Estimate) -> str:
    if estimate.ac_limit_kw is None or estimate.dc_ac_ratio is None:
        return ""
    return (
        f"The inverter cuts the power off at {kilowatts(estimate.ac_limit_kw)} kW, so that the"
        f" ratio of DC to AC is {estimate.dc_ac_ratio:.2f}."
    )


def _clock(case: Case) -> str:
    words = clock_words(case)
    return words and f"The declared clock did not fit the sun and was repaired: {words}."


def _kind(truth: SystemTruth) -> str:
    if truth.tracker is not None:
        return "tracker"
    return "" if len(truth.planes) == 1 else f"{len(truth.planes)} planes"


def _degrees(interval: Interval) -> str:
    return f"{interval.low:.0f}° to {interval.high:.0f}°"


def _capacities(interval: Interval) -> str:
    return f"{kilowatts(interval.low)} to {kilowatts(interval.high)}"


def kilowatts(value: float) -> str:
    """Return a power with three digits, and never in powers of ten."""
    digits = 2 - math.floor(math.log10(value)) if value > 0.0 else 0
    return f"{value:,.{min(max(digits, 0), 6)}f}"


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
