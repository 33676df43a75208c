"""Measured against modelled power on clear days: private, it shows readings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sunveil.service.figures.base import GREY, Figure, axis, figure


@dataclass(frozen=True, slots=True)
class DayCurve:
    """One day of one system: private.

    Parameters
    ----------
    name
        Its date, for people.
    hours
        Apparent solar time of each reading. [h]
    measured, modelled
        Power. [kW]
    parts
        What each of several planes would give, none of one. [kW]
    """

    name: str
    hours: tuple[float, ...]
    measured: tuple[float, ...]
    modelled: tuple[float, ...]
    parts: tuple[tuple[float, ...], ...] = ()

    def __repr__(self) -> str:
        return f"DayCurve({self.name!r}, private)"


def day_curve(day: DayCurve, *, top: float, bottom: float = 0.0) -> Figure:
    """Return a day's readings as dots and the model as a line.

    Thin lines are the planes of a system that has several.

    Parameters
    ----------
    day
        The day.
    top, bottom
        Ends of the axis, common to several days; below zero are readings of net meters. [kW]
    """
    hours = [round(each, 3) for each in day.hours]
    traces: list[dict[str, Any]] = [
        _trace("measured", hours, day.measured, mode="markers", marker={"size": 7}),
        _trace("modelled", hours, day.modelled, mode="lines", line={"width": 2.5}),
        *(
            _trace(f"plane {number}", hours, part, mode="lines", line={"width": 1, "color": GREY})
            for number, part in enumerate(day.parts, start=1)
        ),
    ]
    return figure(
        traces,
        xaxis=axis("Solar time [h]", dtick=3),
        yaxis=axis("AC power [kW]", range=[bottom, top]),
        margin={"l": 52, "r": 8, "t": 8, "b": 44},
    )


def _trace(
    name: str, hours: Sequence[float], power: Sequence[float], **more: Any
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "name": name,
        "x": list(hours),
        "y": [round(each, 4) for each in power],
        "hovertemplate": f"{name} %{{y:.3g}} kW<extra></extra>",
        **more,
    }
