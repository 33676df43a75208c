"""Everything that an estimate rests on, in one figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sunveil.arguments import instance
from sunveil.errors import ParameterError
from sunveil.estimate import Estimate
from sunveil.estimate_text import show_capacity, show_orientation
from sunveil.extras import require_extras
from sunveil.plots.clear_days import PANELS, draw_clear_days
from sunveil.plots.residuals import draw_residuals
from sunveil.plots.score_map import draw_score_map
from sunveil.plots.seen import seen_readings
from sunveil.plots.skyline import plot_skyline
from sunveil.plots.style import INK, mark_private
from sunveil.plots.years import plot_years
from sunveil.site_skies import SiteSkies

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# As wide as a column of text: a wider figure would be shrunk there, and its words with it. [inches]
WIDTH = 9.0
# Heights of the rows: days, map beside residuals, skyline, years. [inches]
DAYS, MIDDLE, SKYLINE, YEARS = 2.5, 3.9, 2.7, 2.2
TITLE = 0.35


def plot_estimate(estimate: Estimate) -> dict[str, Axes]:
    """Draw what an estimate rests on: its readings beside what it makes of them.

    Clear days measured and modelled; how far bright readings lie from the model over hour and
    month; the share of readings that each plane explains; and, where there are any, what hides the
    sun and what the single years say.

    Parameters
    ----------
    estimate
        An estimate that :func:`sunveil.infer`, ``infer_frame`` or ``infer_record`` returned in this
        process: one that was read back from a table has no readings to draw.

    Returns
    -------
    dict
        The panels of one new figure by name: ``day 1`` and so on, ``map``, ``residuals`` and, where
        there are any, ``skyline`` and ``year azimuth``, ``year tilt``, ``year capacity``.

    Privacy
    -------
    None: the figure shows readings, and is marked so.
    """
    instance("estimate", estimate, Estimate, give="an Estimate, as sunveil.infer returns it")
    source = estimate.source
    if source is None or not isinstance(source.skies, SiteSkies):
        raise ParameterError(
            f"the estimate of system {estimate.system_id} does not have its readings any more: plot"
            " what sunveil.infer returns, or use sunveil.plots with the record"
        )
    require_extras("report", purpose="a figure")
    import matplotlib.pyplot as plt

    data = seen_readings(source.record, source.skies, estimate)
    heights = [DAYS, MIDDLE]
    heights += [SKYLINE] * bool(estimate.skyline) + [YEARS] * bool(estimate.years)
    figure = plt.figure(figsize=(WIDTH, sum(heights) + TITLE), layout="constrained")
    rows = iter(figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0])
    days = draw_clear_days(data, axes=next(rows).subplots(1, PANELS, sharey=True))
    left, right = next(rows).subfigures(1, 2, width_ratios=(1.0, 1.15))
    panels = {f"day {number}": ax for number, ax in enumerate(days, start=1)}
    panels["map"] = draw_score_map(data, ax=left.subplots(subplot_kw={"projection": "polar"}))
    panels["residuals"] = draw_residuals(data, ax=right.subplots())
    if estimate.skyline:
        panels["skyline"] = plot_skyline(estimate, source.site, ax=next(rows).subplots())
    if estimate.years:
        drawn = plot_years(estimate, axes=next(rows).subplots(1, 3))
        names = ("year azimuth", "year tilt", "year capacity")
        panels.update(zip(names, drawn, strict=True))
    figure.suptitle(_title(estimate), x=0.01, ha="left", fontsize=11.5, color=INK)
    mark_private(days[0])
    return panels


def _title(estimate: Estimate) -> str:
    azimuth, tilt = show_orientation(estimate)
    what = "" if estimate.tracker else "azimuth "
    turn = "" if estimate.tracker else "tilt "
    return (
        f"{estimate.system_id}: {what}{azimuth}, {turn}{tilt}, {show_capacity(estimate)} DC;"
        f" quality {estimate.quality.value}"
    )
