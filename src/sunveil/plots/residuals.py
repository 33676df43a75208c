"""Where readings lie above and below the model, over the hours of the day and the year."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sunveil.estimate import Estimate
from sunveil.infer import SiteSkies
from sunveil.meters.record import Record
from sunveil.plots.inputs import check_inputs
from sunveil.plots.seen import SeenReadings, seen_readings
from sunveil.plots.style import (
    INK,
    QUIET,
    SMALL,
    USUAL,
    dress,
    mark_private,
    name_axes,
    new_axes,
    solar_hour,
)
from sunveil.site import Array
from sunveil.weather import Weather, WeatherCache

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MONTHS = "JFMAMJJASOND"
HOURS = 24
# Of the readings of an hour and month, the brighter ones say what the panels give: clouds only
# take away. Under a clear sky's model the median would show the clouds.
BRIGHT = 0.9
# Fewer readings than this say nothing of their hour and month.
FEWEST = 4
# Where the colours may end, so that figures can be compared: the first that holds nearly all
# differences. [% of the capacity]
SCALES, NEARLY_ALL = (5.0, 10.0, 20.0, 40.0), 0.98
# Hours and months without readings, darker than no difference.
MISSING = "#D6D6D6"


def plot_residuals(
    record: Record,
    weather: Weather,
    estimate: Estimate,
    *,
    cache: WeatherCache | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how far bright readings lie above or below the model, by hour and month.

    A plane that is turned wrongly shows mornings above and afternoons below the model, or the
    reverse; one that is tilted wrongly, summers against winters; shade, a dark patch.

    Parameters
    ----------
    record, weather
        What the estimate was inferred from.
    estimate
        The estimate, whose clock is used.
    cache
        Where clear skies are kept.
    ax
        Axes to draw on; new ones when left out.

    Privacy
    -------
    None: the figure is made of readings, and is marked so.
    """
    check_inputs(record=record, weather=weather, estimate=estimate, cache=cache, ax=ax)
    data = seen_readings(record, SiteSkies.under(weather, cache=cache), estimate)
    return draw_residuals(data, ax=new_axes(5.6, 3.4) if ax is None else ax)


def draw_residuals(data: SeenReadings, *, ax: Axes) -> Axes:
    """Draw :func:`plot_residuals` from readings already paired with their sky.

    Parameters
    ----------
    data
        The readings, which bring their estimate along.
    ax
        Axes to draw on.
    """
    shares = 100.0 * residual_table(data) / data.estimate.dc_capacity_kw
    seen = np.isfinite(shares)
    widest = float(np.quantile(np.abs(shares[seen]), NEARLY_ALL)) if seen.any() else 0.0
    most = next((scale for scale in SCALES if widest <= scale), SCALES[-1])
    dress(ax)
    ax.grid(visible=False)
    mesh = ax.pcolormesh(
        np.arange(HOURS + 1),
        np.arange(len(MONTHS) + 1),
        shares,
        cmap="RdBu",
        vmin=-most,
        vmax=most,
        rasterized=True,
        gid="residuals",
    )
    ax.set_facecolor(MISSING)
    hours = np.flatnonzero(seen.any(axis=0))
    if len(hours):
        ax.set_xlim(float(hours[0]), float(hours[-1] + 1))
    ax.set_yticks(np.arange(len(MONTHS)) + 0.5, list(MONTHS))
    ax.invert_yaxis()
    name_axes(ax, x="Solar time [h]", y="Month", title="Bright readings against the model")
    bar = ax.figure.colorbar(mesh, ax=ax, shrink=0.9, pad=0.03, aspect=22, extend="both")
    bar.set_label("Measured less modelled\n[% of DC capacity]", fontsize=USUAL, color=INK)
    bar.ax.tick_params(width=0.6, length=3.0, color=QUIET, labelcolor=INK, labelsize=SMALL)
    bar.outline.set_linewidth(0.0)
    mark_private(ax)
    return ax


def residual_table(data: SeenReadings) -> Array:
    """Return by month and solar hour how far bright readings lie above the model. [kW]

    Parameters
    ----------
    data
        The readings beside what the model gives; of a net meter, with the usual load added.

    Returns
    -------
    numpy.ndarray
        Shape (12, 24); NaN where too few readings tell.
    """
    month = data.starts.astype("datetime64[M]").astype(np.int64) % len(MONTHS)
    hour = np.clip(solar_hour(data.sky.site, data.sun).astype(np.int64), 0, HOURS - 1)
    known = np.isfinite(data.generated)
    cell = (month * HOURS + hour)[known]
    apart = (data.generated - data.modelled)[known]
    return _quantiles(cell, apart, count=len(MONTHS) * HOURS).reshape(len(MONTHS), HOURS)


def _quantiles(cell: NDArray[np.int64], values: Array, *, count: int) -> Array:
    """Return the bright quantile of the values in each cell, NaN where there are few."""
    found = np.full(count, np.nan)
    order = np.lexsort((values, cell))
    cell, values = cell[order], values[order]
    edges = np.searchsorted(cell, np.arange(count + 1))
    for place in range(count):
        part = values[edges[place] : edges[place + 1]]
        if len(part) >= FEWEST:
            found[place] = np.quantile(part, BRIGHT)
    return found
