"""The page beside a fleet's power: how it was made, days, ramps, duration and planners' answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sunveil.files import write_whole
from sunveil.plots.embed import Drawing, embedded, loose_figure
from sunveil.plots.power import (
    plot_power_day,
    plot_power_duration,
    plot_power_ramps,
    typical_and_extreme_days,
)
from sunveil.power.answers import cloud_front, more_capacity, peak_day, steepest_ramps
from sunveil.power.result import Banded, FleetPower
from sunveil.power.writing import summary
from sunveil.report.page import page_template

# So many groups, the largest first, have figures of their own.
MOST_SHOWN = 4


def write_power_page(path: Path, power: FleetPower, *, zone: str = "UTC") -> None:
    """Write one self-contained page about a fleet's power: public, as what it is made of is.

    Parameters
    ----------
    path
        Where; a file that stands there is replaced.
    power
        The fleet's power.
    zone
        The place's time zone.
    """
    write_whole(path, render_power_page(power, zone=zone))


def render_power_page(power: FleetPower, *, zone: str = "UTC") -> str:
    """Return the page as text.

    Parameters
    ----------
    power, zone
        As for :func:`write_power_page`.
    """
    order = sorted(power.groups, key=lambda name: -power.power_kw[power.place(name)].max())
    return page_template("power.html.j2").render(
        summary=summary(power),
        energy=f"{summary(power)['energy_kwh'] / 1e3:,.4g} MWh",
        shown=[_group(power, name, zone) for name in order[:MOST_SHOWN]],
        left=max(len(order) - MOST_SHOWN, 0),
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
