"""Estimates as text for a terminal, alone and beside the truth of a simulated fleet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import TYPE_CHECKING, TypeAlias

from sunveil.cli._text import Refusal, aligned, named, own_reason, printable
from sunveil.estimates.estimate_text import (
    clear_hours_words,
    decimals,
    flat_words,
    hidden_words,
    household_words,
    planes_words,
    show_azimuth,
    show_capacity,
    show_orientation,
    show_tilt,
    skyline_words,
    trend_words,
    year_name,
)
from sunveil.estimates.estimates_table import Estimate
from sunveil.estimates.flags_and_quality import FAIR_WITHIN, FLAG_MEANINGS, GOOD_WITHIN, Flag
from sunveil.estimates.planes_and_intervals import Assumptions, DaylightSaving, match_planes

if TYPE_CHECKING:
    from sunveil.simulate.fault_rates import SystemTruth

Pair: TypeAlias = "tuple[SystemTruth, Estimate]"

QUALITY = (
    f"Quality: good where the plane is known to within {GOOD_WITHIN:g}°, fair within"
    f" {FAIR_WITHIN:g}°, poor beyond or with a serious flag."
)

LONGEST_REASON = 60  # letters of why a system is unknown; all of it is said beside the table


def show_estimates(outcomes: Sequence[Estimate | Refusal]) -> str:
    """Return a table of systems, and below it what must be known to read it."""
    # A system that could not be inferred has its row too, as unknown. One that stands on two planes
    # has a row for each below its own, with its share.
    head = ("system", "azimuth", "tilt", "DC capacity", "quality", "flags")
    rows = [
        row
        for each in outcomes
        for row in ([_unknown(each)] if isinstance(each, Refusal) else _rows(each))
    ]
    estimates = [each for each in outcomes if not isinstance(each, Refusal)]
    below = explanations(estimates) if estimates else []
    if len(estimates) > 1:
        below.insert(1, QUALITY)
    return "\n".join([aligned([head, *rows]), "", *below]).rstrip("\n")


def _rows(estimate: Estimate) -> list[tuple[str, ...]]:
    """Return the row of a system, and those of its planes where it has more than one."""
    whole = (
        estimate.system_id,
        *show_orientation(estimate),
        show_capacity(estimate),
        estimate.quality.value,
        show_flags(estimate),
    )
    return [whole, *((name, *cells, "", "") for name, *cells in plane_rows(estimate))]


def plane_rows(estimate: Estimate) -> list[tuple[str, str, str, str]]:
    """Return share, azimuth, tilt and capacity of each of several planes; nothing of one."""
    if len(estimate.planes) < 2:
        return []
    return [
        (
            f"  {100.0 * plane.share:.0f}% of it",
            show_azimuth(plane),
            show_tilt(plane),
            show_capacity(plane),
        )
        for plane in estimate.planes
    ]


def _unknown(refused: Refusal) -> tuple[str, ...]:
    """Return the row of a system that could not be inferred, with the beginning of the reason."""
    reason = own_reason(refused).split(";")[0]
    if len(reason) > LONGEST_REASON:
        reason = reason[:LONGEST_REASON].rsplit(" ", 1)[0] + "…"
    return (refused.system_id, "unknown", "unknown", "unknown", "-", f"unknown: {reason}")


def explanations(estimates: Sequence[Estimate]) -> list[str]:
    """Return what must be known to read a table of estimates, one line each."""
    lines = ["In brackets: 90% intervals."]
    raised = {flag for estimate in estimates for flag in estimate.flags}
    lines += [f"{flag.value}: {FLAG_MEANINGS[flag]}." for flag in Flag if flag in raised]
    if len(estimates) == 1:
        lines += show_findings(estimates[0])
    said = [
        (estimate.system_id, line)
        for estimate in estimates
        for line in (*_tracker(estimate), *_limit(estimate), *_clock(estimate), *estimate.notes)
    ]
    lines += _grouped(said, everyone=len(estimates))
    lines += [show_assumptions(each) for each in _distinct(e.assumptions for e in estimates)]
    return lines


def show_findings(estimate: Estimate) -> list[str]:
    """Return what the method saw of one system, one line each."""
    reason = estimate.quality_reason
    # a flag that is the reason is explained already
    reason = next((flag.value for flag in Flag if FLAG_MEANINGS[flag] == reason), reason)
    lines = [
        f"Quality {estimate.quality.value}: {reason}.",
        hidden_words(estimate),
        flat_words(estimate),
        household_words(estimate),
        clear_hours_words(estimate),
        _years(estimate),
        trend_words(estimate),
        skyline_words(estimate),
    ]
    return [line for line in lines if line]


def _years(estimate: Estimate) -> str:
    """Return what the single years say, in one line; nothing for a record of one year."""
    if not estimate.years:
        return ""
    years = (
        f"{year_name(year)} {year.surface_azimuth:.1f}°, {year.surface_tilt:.1f}°,"
        f" {year.dc_capacity_kw:.{decimals(year.dc_capacity_kw)}f} kW"
        for year in estimate.years
    )
    return f"By year: {'; '.join(years)}."


def show_flags(estimate: Estimate) -> str:
    """Return the flags' names, or a dash."""
    return ", ".join(flag.value for flag in estimate.flags) or "-"


def show_assumptions(assumed: Assumptions) -> str:
    """Return what was assumed in one line."""
    losses = assumed.losses
    parts = " (parts in --json)" if len(losses.parts) > 1 else ""
    return (
        f"Assumed: system losses {100.0 * losses.system:g}%{parts},"
        f" inverter efficiency {100.0 * losses.inverter_efficiency:g}%,"
        f" {100.0 * losses.gamma_pdc:g}% of power per °C, albedo {assumed.albedo:g},"
        f" mount {assumed.mount.value};"
        f" weather: {printable(assumed.weather)}; method: {assumed.method}."
    )


def minutes_off(minutes: float) -> str:
    """Return in words how far stamps run ahead of their clock."""
    if minutes == 0.0:
        return "are right"
    return f"run {abs(minutes):g} minutes {'ahead' if minutes > 0.0 else 'behind'}"


def clock_sentence(estimate: Estimate) -> str:
    """Return what was wrong with a clock that was repaired."""
    clock = estimate.clock
    faults = []
    saved = clock.daylight_saving is not DaylightSaving.AS_DECLARED
    if clock.offset_minutes != 0.0 or (clock.steps and not saved):
        faults.append(f"the time stamps {minutes_off(clock.offset_minutes)}")
    if clock.daylight_saving is DaylightSaving.LEFT_IN:
        faults.append("daylight saving was left in the time stamps")
    elif clock.daylight_saving is DaylightSaving.APPLIED_TWICE:
        faults.append("daylight saving was removed twice from the time stamps")
    if not faults:
        faults.append(f"the time stamps mark the {clock.label.value} of their intervals")
    steps = [
        f", from {each.date} on they {minutes_off(each.offset_minutes)}" for each in clock.steps
    ]
    found = " and ".join(faults) + "".join(steps)
    return f"{found}; corrected (--clock given keeps the clock as declared)"


def _clock(estimate: Estimate) -> list[str]:
    return [clock_sentence(estimate)] if Flag.CLOCK_REPAIRED in estimate.flags else []


def _tracker(estimate: Estimate) -> list[str]:
    if estimate.tracker is None:
        return []
    words = planes_words(estimate).rstrip(".")
    return [f"{words[0].lower()}{words[1:]}"]


def _limit(estimate: Estimate) -> list[str]:
    limit, ratio = estimate.ac_limit_kw, estimate.dc_ac_ratio
    if limit is None or ratio is None:
        return []
    return [f"inverter limit {limit:.{decimals(limit)}f} kW (DC/AC {ratio:.2f})"]


def _grouped(said: Iterable[tuple[str, str]], *, everyone: int) -> list[str]:
    """Return each line once, after the names of the systems that it is about."""
    about: dict[str, list[str]] = {}
    for system_id, line in said:
        about.setdefault(line, []).append(system_id)
    return [
        printable(f"{_names(systems, everyone)}: {line.rstrip('.')}.")
        for line, systems in about.items()
    ]


def _names(systems: list[str], everyone: int) -> str:
    if len(systems) == everyone > 1:
        return "all systems"
    return named(systems)


def _distinct(values: Iterable[Assumptions]) -> list[Assumptions]:
    return list(dict.fromkeys(values))


def show_cases(pairs: Sequence[Pair]) -> str:
    """Return a table of true against inferred, the typical errors, and what to know."""
    head = ("system", "true azimuth, tilt, DC", "azimuth", "tilt", "DC capacity", "off by", "flags")
    rows = [row for truth, estimate in pairs for row in _truth_rows(truth, estimate)]
    notes = explanations([estimate for _, estimate in pairs])
    return "\n".join([aligned([head, *rows]), "", *_errors(pairs), *notes])


def _truth_rows(truth: SystemTruth, estimate: Estimate) -> list[tuple[str, ...]]:
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
