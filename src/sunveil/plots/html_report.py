"""HTML reports: systems, fleet, power."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sunveil._extras import require_extras
from sunveil._files import write_whole
from sunveil._options import check_fields, checked, instance, shown, text
from sunveil.errors import ParameterError, SunveilError
from sunveil.estimates.estimate_text import (
    clear_hours_words,
    flat_words,
    haze_words,
    hidden_words,
    household_words,
    skyline_words,
    three_digits,
    trend_words,
)
from sunveil.estimates.estimates_table import Estimate
from sunveil.estimates.flags_and_quality import (
    FAIR_WITHIN,
    FLAG_MEANINGS,
    GOOD_WITHIN,
    Flag,
    Quality,
)
from sunveil.estimates.intervals_and_rounding import Interval
from sunveil.estimates.planes_and_intervals import (
    SEASONS,
    DaylightSaving,
    PlaneEstimate,
    TrackerEstimate,
)
from sunveil.estimates.read_write import RUN, SUMMARY
from sunveil.inference.fleet_part import SiteSkies
from sunveil.inference.fleet_run import PAGE
from sunveil.meters.record import Record
from sunveil.plots.estimate_figures import draw_clear_days, plot_load, plot_separated, plot_years
from sunveil.plots.fleet_figures import (
    NEAR_FLAT,
    azimuth_errors,
    capacity_errors,
    comparable_planes,
    is_comparable,
    plot_errors,
    plot_fleet_azimuths,
    plot_fleet_classes,
    tilt_errors,
)
from sunveil.plots.irradiance import (
    plot_irradiance_by_azimuth,
    plot_irradiance_by_tilt,
    plot_yearly_irradiance,
)
from sunveil.plots.publication_figures import (
    plot_power_day,
    plot_power_duration,
    plot_power_ramps,
    typical_and_extreme_days,
)
from sunveil.plots.skyline_and_scores import draw_score_map, plot_skyline, seen_readings
from sunveil.plots.style import Drawing, embedded, loose_figure, place_name
from sunveil.power.grid_model_exports import power_summary
from sunveil.power.planning_questions import cloud_front, more_capacity, peak_day, steepest_ramps
from sunveil.power.power_result import Banded, FleetPower
from sunveil.simulate.fault_rates import SystemTruth
from sunveil.site import Losses, Mount, Plane, Site
from sunveil.weather.cache import WeatherCache
from sunveil.weather.weather_data import Weather

if TYPE_CHECKING:
    from jinja2 import Template


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One system of a report: private data."""

    truth: SystemTruth | None  # what is true of it, where that is known
    record: Record  # what the estimate was inferred from
    weather: Weather
    estimate: Estimate  # the estimate

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def known(self) -> SystemTruth | None:
        """The truth if known and if the estimate has as many planes, or the tracker."""
        comparable = self.truth is not None and is_comparable(self.truth, self.estimate)
        return self.truth if comparable else None

    @property
    def planes(self) -> list[tuple[Plane, PlaneEstimate]]:
        """Each true plane with the inferred one, where both are known."""
        return [] if self.truth is None else comparable_planes(self.truth, self.estimate)

    @property
    def worst_angle(self) -> float | None:
        """Largest angle between a true plane and the inferred one, where known. [degrees]"""
        angles = [plane.angle_to(found.plane) for plane, found in self.planes]
        return max(angles, default=None)


_MOUNTS = {Mount.UNKNOWN: "an unknown mount", Mount.RACK: "an open rack", Mount.ROOF: "a roof"}

_ANGLES = ("azimuth", "tilt")
FLAG_WORDS = {flag: flag.value.replace("_", " ") for flag in Flag}


def summary(cases: Sequence[Case]) -> dict[str, Any]:
    """Return the headline numbers: counts, and errors where truths are known."""
    angles = [case.worst_angle for case in cases if case.worst_angle is not None]
    out: dict[str, Any] = {"systems": len(cases), "known": len(angles)}
    out["net"] = sum(1 for case in cases if case.estimate.household is not None)
    out["readings"] = sum(len(case.record.times) for case in cases)
    out["unresolved"] = sum(1 for case in cases if case.truth is not None and case.known is None)
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
    """Return the table cells of azimuth and tilt for a tracker."""
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
    """Return whether a tracker backtracks, and its ground coverage."""
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
    """Return a line for each of several planes, with the true one if known."""
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
    sentences = []
    if Flag.NOT_ONE_PLANE in case.estimate.flags:
        sentences.append(
            "No single plane explains these readings: take the values above for a stand-in, not"
            " for a plane that is there."
        )
    elif Flag.TWO_PLANES in case.estimate.flags:
        sentences.append(
            f"The one plane that would do best in place of both is"
            f" {case.estimate.surface_azimuth:.0f}° / {case.estimate.surface_tilt:.0f}°."
        )
    elif hidden := hidden_words(case.estimate):
        sentences.append(hidden)
    elif case.estimate.quality_reason in FLAG_MEANINGS.values():
        sentences.append(
            f"The true plane lies within {case.estimate.plane_error_degrees:.1f}° of the inferred"
            " one with a confidence of 90%."
        )
    if case.worst_angle is not None:
        which = "it is" if len(case.planes) == 1 else "the worse of them is"
        sentences.append(f"In truth {which} {case.worst_angle:.1f}° off.")
    elif case.truth is not None:
        sentences.append(f"In truth this is {_kind(case.truth) or 'one fixed plane'}.")
    return " ".join(sentences)


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


MOST_SHOWN = 6


@checked
def write_report(
    path: Path,
    cases: Sequence[Case],
    *,
    title: str = "What the meters say of the panels",
    cache: WeatherCache | None = None,
) -> None:
    """Write one self-contained HTML page about some systems, whole or not at all.

    Parameters
    ----------
    path
        Path of the page; an existing file is replaced. Readable by its owner only.
    cases
        The systems; all are listed and six are drawn, those with flags before others.
    title
        The page's heading.
    cache
        Where clear skies are kept.

    Privacy
    -------
    No protection: the page shows readings and estimates, and is marked private to the curator.
    """
    require_extras("plots", purpose="a report")
    kinds: tuple[type[object], ...] = (str, os.PathLike)
    instance("path", path, kinds, give="the path of the page to write")
    text("title", title, give="the page's heading")
    if cache is not None:
        instance("cache", cache, WeatherCache, give="a WeatherCache, or None for the user's own")
    if not isinstance(cases, Sequence) or not all(isinstance(each, Case) for each in cases):
        raise ParameterError(f"cases must be a list of Case, and {shown(cases)} is not")
    if not cases:
        raise ParameterError("a report needs at least one system")
    path = Path(path)
    if path.is_dir() or not path.parent.is_dir():
        # said before the work rather than after it
        raise SunveilError(
            f"the report cannot be written to {path}; name a file in a folder that exists"
        )
    write_page(path, render_report(cases, title=title, cache=cache))


def render_report(cases: Sequence[Case], *, title: str, cache: WeatherCache | None = None) -> str:
    """Return the page as text."""
    site = Counter(case.weather.site for case in cases).most_common(1)[0][0]
    return page_template("report.html.j2").render(
        title=title,
        summary=summary(cases),
        rows=[table_row(case) for case in cases],
        any_truth=any(case.truth is not None for case in cases),
        meanings=meanings(cases),
        assumptions=assumptions(cases),
        errors=_draw_errors(cases),
        light=_draw_light(site, cases, cache=cache),
        place=place_name(site),
        shown=[draw_case(case, cache=cache) for case in worth_drawing(cases)],
        near_flat=NEAR_FLAT,
        good_within=GOOD_WITHIN,
        fair_within=FAIR_WITHIN,
    )


def page_template(name: str, *, folder: Path | None = None) -> Template:
    """Return a template of a page, from the package or a folder; it escapes what is put into it."""
    from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([PackageLoader("sunveil.plots"), FileSystemLoader(folder or ())]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def worth_drawing(cases: Sequence[Case]) -> list[Case]:
    """Return as many cases as are drawn, in their order: a few with flags, then the first."""
    flagged = [i for i, case in enumerate(cases) if case.estimate.flags][: MOST_SHOWN // 2]
    others = [i for i in range(len(cases)) if i not in flagged]
    return [cases[i] for i in sorted([*flagged, *others[: MOST_SHOWN - len(flagged)]])]


def _draw_errors(cases: Sequence[Case]) -> Drawing | None:
    known = [case for case in cases if case.known is not None]
    truths = [case.known for case in known if case.known is not None]
    if not any(case.planes for case in known):
        return None
    figure = loose_figure(10.0, 3.3)
    plot_errors(truths, [case.estimate for case in known], axes=figure.subplots(1, 3))
    return embedded(figure, "Errors of azimuth, tilt and capacity against the truth, per system")


def _draw_light(
    site: Site, cases: Sequence[Case], *, cache: WeatherCache | None
) -> tuple[Drawing, ...]:
    """Return the site's irradiance figures for the year in which the readings begin."""
    year = min(int(str(case.record.times[0])[:4]) for case in cases)
    # the middle of summer, whichever half of the globe: paper fig. 3 is of a 15 July
    date = f"{year}-07-15" if site.latitude >= 0.0 else f"{year}-01-15"
    daily: list[tuple[Callable[..., Any], str]] = [
        (plot_irradiance_by_azimuth, "Light over a summer day on planes of different azimuths"),
        (plot_irradiance_by_tilt, "Light over a summer day on planes of different tilts"),
    ]
    drawings = []
    for plot, words in daily:
        figure = loose_figure(5.6, 3.6)
        plot(site, date, cache=cache, ax=figure.subplots())
        drawings.append(embedded(figure, words))
    figure = loose_figure(5.2, 4.4)
    plot_yearly_irradiance(
        site, year, cache=cache, ax=figure.subplots(subplot_kw={"projection": "polar"})
    )
    words = "Mean daily light over the year for every azimuth and tilt, with the best plane marked"
    return (*drawings, embedded(figure, words))


def draw_case(case: Case, *, cache: WeatherCache | None) -> dict[str, Any]:
    """Return what ``system.html.j2`` shows of a system."""
    estimate, name = case.estimate, case.estimate.system_id
    skies = SiteSkies.under(case.weather, cache=cache)
    data = seen_readings(case.record, skies, estimate)
    days = loose_figure(10.0, 2.7)
    draw_clear_days(data, axes=days.subplots(1, 4, sharey=True))
    map_ = loose_figure(5.2, 4.8)
    draw_score_map(
        data,
        truth=[plane for plane, _ in case.planes],
        ax=map_.subplots(subplot_kw={"projection": "polar"}),
    )
    return {
        "row": table_row(case),
        "place": place_name(case.weather.site),
        "reason": estimate.quality_reason,
        "headlines": headlines(estimate),
        "facts": facts(case),
        "notes": estimate.notes,
        "days": embedded(days, f"Measured and modelled power of {name} on four clear days"),
        "map": embedded(map_, f"Share of readings of {name} that each azimuth and tilt explains"),
        "skyline": _draw_skyline(case),
        "years": _draw_years(estimate),
        "household": _draw_household(case, cache=cache),
    }


def _draw_household(case: Case, *, cache: WeatherCache | None) -> tuple[Drawing, ...]:
    """Return a net meter's generation and load, separated; nothing for other meters."""
    estimate, name = case.estimate, case.estimate.system_id
    if estimate.household is None:
        return ()
    days, load = loose_figure(10.0, 2.7), loose_figure(5.2, 3.2)
    axes = days.subplots(1, len(SEASONS), sharey=True)
    plot_separated(case.record, case.weather, estimate, cache=cache, axes=axes)
    plot_load(estimate, ax=load.subplots())
    return (
        embedded(days, f"Generation and load of {name} on typical days of four seasons"),
        embedded(load, f"Mean load of {name} by hour and season"),
    )


def _draw_skyline(case: Case) -> Drawing | None:
    """Return what hides the sun from a system, where something does."""
    if not case.estimate.skyline:
        return None
    figure = loose_figure(7.2, 3.0)
    plot_skyline(case.estimate, case.weather.site, ax=figure.subplots())
    name = case.estimate.system_id
    return embedded(figure, f"Skyline that hides the sun from {name}, before the sun's paths")


def _draw_years(estimate: Estimate) -> Drawing | None:
    """Return what the single years of a record say, where there are several."""
    if not estimate.years:
        return None
    figure = loose_figure(10.0, 2.3)
    plot_years(estimate, axes=figure.subplots(1, 3))
    name = estimate.system_id
    return embedded(figure, f"Azimuth, tilt and capacity of {name} by the single years")


def write_page(path: Path, page: str) -> None:
    """Write a page in one step, so that a reader sees the old one or the new one, whole."""
    try:
        write_whole(path, page, private=True)
    except OSError as error:
        raise SunveilError(
            f"the report cannot be written to {path} ({error.strerror or error}); give a file in a"
            " folder that exists and can be written"
        ) from error


QUALITY_MEANINGS = {
    Quality.GOOD: f"the plane is known to within {GOOD_WITHIN:g}°, and no serious flag is set",
    Quality.FAIR: f"to within {FAIR_WITHIN:g}°, or the unit or label is uncertain",
    Quality.POOR: "less certain, or with a serious flag",
}

PLANE_MEANINGS = {
    "one": "one plane",
    "two": "two planes",
    "tracker": "a single-axis tracker",
    "unresolved": "several planes, not separable",
}


def write_fleet_page(folder: Path) -> None:
    """Write ``summary.html`` into the folder of a finished run."""
    # Private: the page shows what was inferred, and says that it is private to the curator.
    summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    run = json.loads((folder / RUN).read_text(encoding="utf-8"))
    write_page(folder / PAGE, render_fleet_page(summary, run))


def render_fleet_page(summary: dict[str, Any], run: dict[str, Any]) -> str:
    """Return the page as text."""
    inferred, everybody = summary["inferred"], summary["inferred"] + summary["refused"]
    return page_template("fleet.html.j2").render(
        summary=summary,
        settings=run["settings"],
        capacity=_power(summary["total_dc_capacity_kw"]),
        tilt=summary["medians"]["surface_tilt"],
        rose=_draw_azimuths(summary["azimuth"]),
        tilts=_draw_tilts(summary["tilt"]),
        capacities=_draw_capacities(summary["capacity"]),
        qualities=[
            {
                "name": quality,
                "count": count,
                "share": _share(count, inferred),
                "meaning": QUALITY_MEANINGS[Quality(quality)],
            }
            for quality, count in summary["quality"].items()
        ],
        planes=[
            {"count": count, "share": _share(count, inferred), "meaning": PLANE_MEANINGS[kind]}
            for kind, count in summary["planes"].items()
        ],
        flags=[
            {
                "name": flag.replace("_", " "),
                "count": count,
                "share": _share(count, inferred),
                "meaning": FLAG_MEANINGS[Flag(flag)],
            }
            for flag, count in summary["flags"].items()
            if count
        ],
        reasons=[
            {"kind": kind, "count": count, "share": _share(count, everybody)}
            for kind, count in summary["refused_by_kind"].items()
        ],
    )


def _draw_azimuths(histogram: dict[str, Any]) -> Drawing:
    figure = loose_figure(3.4, 3.4)
    axes = figure.subplots(subplot_kw={"projection": "polar"})
    plot_fleet_azimuths(histogram["counts"], ax=axes)
    return embedded(figure, "Systems by azimuth, on a compass")


def _draw_tilts(histogram: dict[str, Any]) -> Drawing:
    figure = loose_figure(5.6, 3.0)
    edges = [f"{edge:g}°" if edge % 15 == 0 else "" for edge in histogram["edges"]]
    plot_fleet_classes(histogram["counts"], edges, name="Tilt", ax=figure.subplots())
    return embedded(figure, "Systems by tilt")


def _draw_capacities(histogram: dict[str, Any]) -> Drawing:
    figure = loose_figure(5.6, 3.0)
    # the last class has no upper end
    edges = [*(f"{edge:g}" for edge in histogram["edges"][:-1]), ""]
    plot_fleet_classes(histogram["counts"], edges, name="DC capacity [kW]", ax=figure.subplots())
    return embedded(figure, "Systems by DC capacity")


def _share(count: int, total: int) -> str:
    if not total or not count:
        return "–"
    share = 100.0 * count / total
    return f"{share:.1f}%" if share >= 0.1 else "<0.1%"


def _power(kilowatts: float) -> str:
    """Return a capacity to three digits, in the unit that suits it."""
    if kilowatts <= 0.0:
        return "0 kW"
    for size, unit in ((1e6, "GW"), (1e3, "MW")):
        if kilowatts >= size:
            value = kilowatts / size
            return f"{value:.{max(0, 2 - int(math.log10(value)))}f} {unit}"
    return f"{kilowatts:.0f} kW"


# So many groups, the largest first, have figures of their own.
MOST_POWER_SHOWN = 4


def write_power_page(path: Path, power: FleetPower, *, zone: str = "UTC") -> None:
    """Write one self-contained page about a fleet's power: public, as what it is made of is."""
    write_whole(path, render_power_page(power, zone=zone))


def render_power_page(power: FleetPower, *, zone: str = "UTC") -> str:
    """Return the page as text."""
    order = sorted(power.groups, key=lambda name: -power.power_kw[power.place(name)].max())
    return page_template("power.html.j2").render(
        summary=power_summary(power),
        energy=f"{power_summary(power)['energy_kwh'] / 1e3:,.4g} MWh",
        shown=[_group(power, name, zone) for name in order[:MOST_POWER_SHOWN]],
        left=max(len(order) - MOST_POWER_SHOWN, 0),
    )


def _group(power: FleetPower, group: str, zone: str) -> dict[str, Any]:
    peak = peak_day(power, group=group, zone=zone)
    answers = [("Highest power", peak.answer, f"on {peak.day}")]
    for season, (rise, fall) in steepest_ramps(power, group=group, zone=zone).items():
        answers += [(f"Steepest rise, {season}", rise, ""), (f"Steepest fall, {season}", fall, "")]
    answers.append(("A front of clouds takes", cloud_front(power, group=group), ""))
    added = more_capacity(power, group=group)
    answers += [(f"20% more capacity adds, {name}", each, "") for name, each in added.items()]
    return {
        "name": group,
        "drawings": _drawings(power, group, zone),
        "answers": [
            {"name": name, "value": _number(each, each.value), "note": note,
             "band": f"{_number(each, each.low)} to {_number(each, each.high)}"}
            for name, each, note in answers
        ],
    }  # fmt: skip


def _number(answer: Banded, value: float) -> str:
    return f"{value:,.3g} {answer.unit}" if abs(value) < 1e3 else f"{value:,.0f} {answer.unit}"


def _drawings(power: FleetPower, group: str, zone: str) -> list[Drawing]:
    typical, extreme = typical_and_extreme_days(power, group=group, zone=zone)
    found = []
    for day, words in ((typical, "A typical day"), (extreme, "The day of the highest power")):
        figure = loose_figure(5.6, 3.2)
        plot_power_day(power, day, group=group, zone=zone, ax=figure.subplots())
        found.append(embedded(figure, f"{words}, {day}"))
    figure = loose_figure(5.6, 3.2)
    plot_power_duration(power, group=group, ax=figure.subplots())
    found.append(embedded(figure, "For how many hours the power is above what"))
    figure = loose_figure(5.6, 3.2)
    plot_power_ramps(power, group=group, ax=figure.subplots())
    found.append(embedded(figure, "How much the power changes between intervals"))
    return found
