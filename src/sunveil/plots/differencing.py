"""What a differencing attack recovers: exactly under the 15/15 rule, noise under ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sunveil.errors import ParameterError
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
from sunveil.site import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_differencing(
    true_kw: Array,
    rule_kw: Array,
    private_kw: Array,
    *,
    stated_sd_kw: float,
    private: bool,
    axes: Sequence[Axes] | None = None,
) -> tuple[Axes, ...]:
    """Draw recovered against true capacity, under the 15/15 rule and under differential privacy.

    Parameters
    ----------
    true_kw
        True capacities. [kW]
    rule_kw
        What two totals under the rule gave; NaN where one was suppressed. [kW]
    private_kw
        What two private totals gave. [kW]
    stated_sd_kw
        Standard deviation that the noise of the latter is said to have. [kW]
    private
        Whether the capacities are somebody's: the figure is then marked so.
    axes
        Two panels; new ones when left out.
    """
    if not len(true_kw) == len(rule_kw) == len(private_kw) > 0:
        raise ParameterError("a figure of the attack needs the same households throughout")
    if axes is not None and len(axes) != 2:
        raise ParameterError("the attack is drawn on two panels: the rule, and private totals")
    panels = tuple(axes) if axes is not None else new_row(2, 8.6, 4.0)
    ends = np.array([0.0, 1.05 * float(np.max(true_kw))])
    for ax, found, colour in zip(panels, (rule_kw, private_kw), (CONTRAST, ACCENT), strict=True):
        dress(ax)
        ax.plot(ends, ends, color=QUIET, linewidth=0.9, linestyle=(0, (4, 2)), label="exact")
        ax.scatter(true_kw, found, s=9, color=colour, alpha=0.6, linewidths=0.0)
        name_axes(ax, x="True DC capacity [kW]", y="Recovered [kW]" if ax is panels[0] else "")
        ax.set_xlim(*ends)
    panels[1].fill_between(
        ends,
        ends - stated_sd_kw,
        ends + stated_sd_kw,
        color=ACCENT,
        alpha=0.12,
        linewidth=0.0,
        label=f"stated error, ±{stated_sd_kw:.3g} kW",
    )
    panels[0].set_title("15/15 rule", fontsize=9.5, loc="left")
    panels[1].set_title("Differentially private totals", fontsize=9.5, loc="left")
    for ax in panels:
        ax.legend(framealpha=0.85, edgecolor="none", fontsize=SMALL, loc="upper left")
    if private:
        mark_private(panels[0])
    return panels
