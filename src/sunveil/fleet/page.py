"""The page and the note that stand beside a fleet's estimates."""

from __future__ import annotations

import json
import math
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from sunveil.estimate import FLAG_MEANINGS, Flag
from sunveil.files import write_whole
from sunveil.fleet.drawing import draw_bars, draw_rose
from sunveil.fleet.folder import RUN, SUMMARY

README = """\
# Estimates of a fleet: private

Everything in this folder was inferred from meter readings and is as private as they are: do not
publish it or pass it on. `sunveil publish` makes tables from it that may be.

| file | what it holds |
|---|---|
| `estimates/part-*.parquet` | one row per inferred system, with 90% intervals and flags |
| `refused.parquet` | one row per system without an estimate, with the reason |
| `summary.html`, `summary.json` | what the run came to, as a page and as numbers |
| `run.json` | what was assumed; the fingerprint of inputs and settings |
"""


def write_page(folder: Path) -> None:
    """Write ``summary.html`` and ``README.md`` beside the estimates of a finished run.

    Parameters
    ----------
    folder
        What the run wrote; its ``summary.json`` says everything that is drawn.
    """
    summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    run = json.loads((folder / RUN).read_text(encoding="utf-8"))
    write_whole(folder / "summary.html", render_page(summary, run), private=True)
    write_whole(folder / "README.md", README)


def render_page(summary: dict[str, Any], run: dict[str, Any]) -> str:
    """Return the page as text.

    Parameters
    ----------
    summary
        What the run came to.
    run
        What it assumed.
    """
    total = summary["inferred"]
    settings = run["settings"]
    tilt = summary["medians"]["surface_tilt"]
    repaired = settings["clock"] == "repair"
    return Template(_template("fleet.html")).substitute(
        style=_template("style.css.j2").removesuffix("\n"),
        inferred=f"{total:,}",
        refused=f"{summary['refused']:,}",
        capacity=_power(summary["total_dc_capacity_kw"]),
        tilt="–" if tilt is None else f"{tilt:.1f}°",
        cells=f"{summary['cells']:,}",
        notes="".join(f'<p class="quiet">{escape(each)}</p>\n' for each in summary["notes"]),
        rose=draw_rose(summary["azimuth"]["counts"]),
        tilts=_tilts(summary["tilt"]),
        capacities=_capacities(summary["capacity"]),
        flags="".join(_flag(Flag(flag), n, total) for flag, n in summary["flags"].items()),
        why=_why(summary) + _unread(summary["unread_files"]),
        weather=escape(settings["weather"]),
        width=f"{settings['cell_degrees']:g}",
        losses=f"{100 * settings['system_losses']:g}",
        efficiency=f"{100 * settings['inverter_efficiency']:g}",
        albedo=f"{settings['albedo']:g}",
        mount=escape(settings["mount"]),
        clocks="repaired where the sun contradicts them" if repaired else "taken as given",
    )


def _template(name: str) -> str:
    return (files("sunveil") / "templates" / name).read_text(encoding="utf-8")


def _flag(flag: Flag, count: int, total: int) -> str:
    name, meaning = escape(flag.value.replace("_", " ")), escape(FLAG_MEANINGS[flag])
    return (
        f'<tr><th scope="row">{name}</th><td>{count:,}</td><td>{escape(_share(count, total))}</td>'
        f'<td class="words">{meaning}</td></tr>\n'
    )


def _why(summary: dict[str, Any]) -> str:
    """Return the table of the kinds of refusal."""
    if not summary["refused_by_kind"]:
        return "<p>Nobody: every system has an estimate.</p>\n"
    every = summary["inferred"] + summary["refused"]
    rows = "".join(
        f'<tr><th scope="row">{escape(kind)}</th><td>{count:,}</td>'
        f"<td>{escape(_share(count, every))}</td></tr>\n"
        for kind, count in summary["refused_by_kind"].items()
    )
    return f"""\
<div class="wide"><table class="short">
<caption>Each system's own reason stands in <code>refused.parquet</code>.</caption>
<thead><tr><th scope="col">Kind of reason</th><th scope="col">Systems</th>\
<th scope="col">Share of all</th></tr></thead>
<tbody>
{rows}</tbody>
</table></div>
"""


def _unread(sentences: list[str]) -> str:
    """Return what could not be read, if anything."""
    if not sentences:
        return ""
    items = [f"<li>{escape(sentence)}</li>\n" for sentence in sentences[:20]]
    more = len(sentences) - len(items)
    items += [f"<li>and {more} more</li>\n"] if more else []
    return f"""\
<p><strong>Some of the fleet could not be read.</strong> Correct or remove these, then start the
same command again with <code>--restart</code>:</p>
<ul>
{"".join(items)}</ul>
"""


def _tilts(told: dict[str, Any]) -> str:
    edges = [f"{edge:g}°" if edge % 15 == 0 else "" for edge in told["edges"]]
    return draw_bars(told["counts"], edges, words="Systems by tilt", name="Tilt")


def _capacities(told: dict[str, Any]) -> str:
    edges = ["" if edge >= 1e8 else f"{edge:g}" for edge in told["edges"]]
    return draw_bars(told["counts"], edges, words="Systems by DC capacity", name="DC capacity [kW]")


def _share(count: int, total: int) -> str:
    if not total or not count:
        return "–"
    share = 100.0 * count / total
    return f"{share:.1f}%" if share >= 0.1 else "<0.1%"


def _power(kilowatts: float) -> str:
    if kilowatts <= 0.0:
        return "0 kW"
    for size, unit in ((1e6, "GW"), (1e3, "MW")):
        if kilowatts >= size:
            value = kilowatts / size
            return f"{value:.{max(0, 2 - int(math.log10(value)))}f} {unit}"
    return f"{kilowatts:.0f} kW"
