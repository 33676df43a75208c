"""The page beside a fleet's estimates: what a run came to, in numbers and figures."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from sunveil.estimate import FLAG_MEANINGS, Flag, Quality
from sunveil.estimate_flags import FAIR_WITHIN, GOOD_WITHIN
from sunveil.fleet.folder import PAGE, RUN, SUMMARY
from sunveil.plots.embed import Drawing, embedded, loose_figure
from sunveil.plots.fleet_summary import plot_fleet_azimuths, plot_fleet_classes
from sunveil.report.page import page_template, write_page

QUALITY_MEANINGS = {
    Quality.GOOD: f"the plane is known to within {GOOD_WITHIN:g}°, and no flag speaks against it",
    Quality.FAIR: f"to within {FAIR_WITHIN:g}°, or the unit or label is in doubt",
    Quality.POOR: "less surely, or with a flag that speaks against it",
}


PLANE_MEANINGS = {
    "one": "one plane",
    "two": "two planes",
    "tracker": "a single-axis tracker",
    "untold": "more than one plane, and nothing can tell which",
}


def write_fleet_page(folder: Path) -> None:
    """Write ``summary.html`` beside the estimates of a finished run over a fleet.

    Parameters
    ----------
    folder
        What :func:`~sunveil.fleet.infer_fleet` wrote; its ``summary.json`` says all that is drawn.

    Privacy
    -------
    None: the page shows what was inferred, and says that it is private to the curator.
    """
    summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    run = json.loads((folder / RUN).read_text(encoding="utf-8"))
    write_page(folder / PAGE, render_fleet_page(summary, run))


def render_fleet_page(summary: dict[str, Any], run: dict[str, Any]) -> str:
    """Return the page as text.

    Parameters
    ----------
    summary
        What the run came to.
    run
        What it assumed.
    """
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
