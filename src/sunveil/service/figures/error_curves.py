"""Expected errors against ε. Public: no reading and no estimate is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sunveil.service.figures.base import GREY, Figure, axis, figure

DASHES = ("solid", "dash", "dot", "dashdot")


@dataclass(frozen=True, slots=True)
class ErrorCurve:
    """Errors of one kind of answer against ε.

    Parameters
    ----------
    name
        What is answered, for people.
    epsilons
        Where the errors were computed.
    errors
        The error at each.
    """

    name: str
    epsilons: tuple[float, ...]
    errors: tuple[float, ...]


def error_figure(curves: Sequence[ErrorCurve], *, unit: str, marked: float | None = None) -> Figure:
    """Return the figure of expected errors against ε, with the ε in question marked.

    Parameters
    ----------
    curves
        One to four.
    unit
        What the errors are and their unit, as the axis says it.
    marked
        The ε that is considered; no line is drawn where it is left out.
    """
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": curve.name,
            "x": list(curve.epsilons),
            "y": [float(f"{each:.4g}") for each in curve.errors],
            "line": {"dash": DASHES[place % 4], "width": 2.5},
            "hovertemplate": f"{curve.name}: %{{y:.3g}} at ε = %{{x:.3g}}<extra></extra>",
        }
        for place, curve in enumerate(curves)
    ]
    shapes = [] if marked is None else [_mark(marked)]
    return figure(
        traces,
        xaxis=axis("Privacy loss ε", type="log", tickvals=_ticks(curves)),
        yaxis=axis(unit, type="log", nticks=6, tickformat=",~r"),
        shapes=shapes,
        showlegend=len(curves) > 1,
    )


def _mark(epsilon: float) -> dict[str, Any]:
    return {
        "type": "line",
        "xref": "x",
        "yref": "paper",
        "x0": epsilon,
        "x1": epsilon,
        "y0": 0,
        "y1": 1,
        "line": {"color": GREY, "width": 1.5, "dash": "dot"},
    }


def _ticks(curves: Sequence[ErrorCurve]) -> list[float]:
    spots = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0]
    low = min(curve.epsilons[0] for curve in curves)
    high = max(curve.epsilons[-1] for curve in curves)
    return [spot for spot in spots if low * 0.99 <= spot <= high * 1.01]
