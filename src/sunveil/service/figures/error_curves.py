"""Expected errors against ε. Public: no reading and no estimate is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sunveil.service.figures.base import GREY, Figure, axis, figure
from sunveil.service.plotly_text import literal

# More labels than this stand in one another's way.
MOST_TICKS = 6
# First digits of the labels of a logarithmic axis, from dense to sparse.
TICK_DIGITS = ((1, 2, 3, 4, 5, 6, 7, 8, 9), (1, 2, 5), (1, 3), (1,))
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
            "name": literal(curve.name),
            "x": list(curve.epsilons),
            "y": [float(f"{each:.4g}") for each in curve.errors],
            "line": {"dash": DASHES[place % 4], "width": 2.5},
            "meta": literal(curve.name),
            "hovertemplate": "%{meta}: %{y:.3g} at ε = %{x:.3g}<extra></extra>",
        }
        for place, curve in enumerate(curves)
    ]
    shapes = [] if marked is None else [_mark(marked)]
    return figure(
        traces,
        xaxis=axis("Privacy loss ε", type="log", tickvals=_ticks(_all("epsilons", curves))),
        yaxis=axis(unit, type="log", tickvals=_ticks(_all("errors", curves)), tickformat=",~r"),
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


def _all(name: str, curves: Sequence[ErrorCurve]) -> list[float]:
    return [value for curve in curves for value in getattr(curve, name)]


def _ticks(values: Sequence[float]) -> list[float]:
    """Return where a logarithmic axis is labelled: as densely as can be read."""
    low, high = 0.99 * min(values), 1.01 * max(values)
    found: list[float] = []
    for digits in TICK_DIGITS:
        every = [float(f"{digit}e{power}") for power in range(-9, 10) for digit in digits]
        found = [spot for spot in every if low <= spot <= high]
        if len(found) <= MOST_TICKS:
            break
    return found
