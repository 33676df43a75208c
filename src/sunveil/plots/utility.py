"""What a release is worth: its expected errors against ε."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sunveil.arguments import flag, shown
from sunveil.errors import ParameterError
from sunveil.plots.inputs import check_inputs
from sunveil.plots.style import (
    ACCENT,
    CONTRAST,
    QUIET,
    SMALL,
    dress,
    mark_private,
    name_axes,
    new_row,
)
from sunveil.releases.utility import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Unit and mechanism: colour and dashes. Colours tell units apart, dashes mechanisms.
LOOKS = {
    ("readings:1", "permute-and-flip"): (ACCENT, "-"),
    ("readings:1", "exponential"): (ACCENT, (0, (1.2, 1.6))),
    ("days:1", "permute-and-flip"): (CONTRAST, "-"),
    ("days:1", "exponential"): (CONTRAST, (0, (1.2, 1.6))),
    ("system", "window"): ("#009E73", "-"),
    ("readings:1", "paper"): (QUIET, (0, (5, 2))),
}
NAMES = {"readings:1": "one reading", "days:1": "one day", "system": "whole record"}


def plot_utility(
    curves: Sequence[Curve], *, private: bool, axes: Sequence[Axes] | None = None
) -> tuple[Axes, ...]:
    """Draw the expected errors of azimuth, tilt and capacity against ε.

    Parameters
    ----------
    curves
        One per unit and mechanism.
    private
        Whether they were computed from somebody's readings: the figure is then marked so.
    axes
        Three panels; new ones when left out.
    """
    check_inputs(axes=axes)
    flag("private", private)
    if not isinstance(curves, (list, tuple)) or not all(isinstance(each, Curve) for each in curves):
        raise ParameterError(
            "curves must be a list of curves, as sunveil.releases.utility has them, and"
            f" {shown(curves)} is not"
        )
    if not curves:
        raise ParameterError("a figure of utility needs at least one curve")
    if axes is not None and len(axes) != 3:
        raise ParameterError("utility is drawn on three panels: azimuth, tilt and capacity")
    panels = tuple(axes) if axes is not None else new_row(3, 11.0, 3.9)
    for ax in panels:
        dress(ax)
        ax.set_xscale("log")
        ax.set_yscale("log")
    for curve in curves:
        colour, dashes = LOOKS.get((curve.unit, curve.mechanism), (QUIET, ":"))
        words = f"{NAMES.get(curve.unit, curve.unit)}, {curve.mechanism}"
        if curve.kind == "conditional":
            words += " (conditional)"
        for ax, errors in zip(panels, (curve.azimuth, curve.tilt, curve.capacity), strict=True):
            if errors is not None:
                ax.plot(
                    curve.epsilons,
                    errors,
                    color=colour,
                    linestyle=dashes,
                    linewidth=1.7,
                    label=words,
                )
    _finish(panels)
    if private:
        mark_private(panels[0])
    return panels


def _finish(panels: tuple[Axes, ...]) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    titles = ("Azimuth [°]", "Tilt [°]", "DC capacity [%]")
    for ax, title in zip(panels, titles, strict=True):
        name_axes(ax, x="Privacy parameter ε", y="Expected error" if ax is panels[0] else "")
        ax.set_title(title, fontsize=9.5, loc="left")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(LogLocator(subs=(1.0,) if axis is ax.xaxis else (1.0, 3.0)))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.set_minor_formatter(NullFormatter())
    handles, labels = panels[0].get_legend_handles_labels()
    figure = panels[0].get_figure()
    assert figure is not None
    figure.legend(
        handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=SMALL
    )
