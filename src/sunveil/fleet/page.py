"""The page and the note that stand beside a fleet's estimates."""

from __future__ import annotations

import json
import math
from pathlib import Path
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
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("sunveil"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    total = summary["inferred"]
    return environment.get_template("fleet.html.j2").render(
        summary=summary,
        settings=run["settings"],
        flags=[
            (flag.value.replace("_", " "), count, _share(count, total), FLAG_MEANINGS[Flag(flag)])
            for flag, count in ((Flag(name), n) for name, n in summary["flags"].items())
        ],
        kinds=[
            (kind, count, _share(count, total + summary["refused"]))
            for kind, count in summary["refused_by_kind"].items()
        ],
        rose=draw_rose(summary["azimuth"]["counts"]),
        tilts=_tilts(summary["tilt"]),
        capacities=_capacities(summary["capacity"]),
        capacity=_power(summary["total_dc_capacity_kw"]),
    )


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
