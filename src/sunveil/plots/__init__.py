"""Figures: the light on a site's planes, and what an inference made of readings.

Every function draws on the axes it is given, or makes its own; none shows a figure or changes
matplotlib's settings. Figures with several panels take and return a tuple of axes. Figures that
show readings are as private as the readings, and say so in their lower right corner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sunveil.ondemand import on_demand

if TYPE_CHECKING:
    from sunveil.plots.clear_days import plot_clear_days
    from sunveil.plots.errors import plot_errors
    from sunveil.plots.household import plot_load, plot_separated
    from sunveil.plots.irradiance import (
        plot_irradiance_by_azimuth,
        plot_irradiance_by_tilt,
        plot_yearly_irradiance,
    )
    from sunveil.plots.overview import plot_estimate
    from sunveil.plots.residuals import plot_residuals
    from sunveil.plots.score_map import plot_score_map
    from sunveil.plots.skyline import plot_skyline
    from sunveil.plots.style import mark_private
    from sunveil.plots.utility import plot_utility
    from sunveil.plots.years import plot_years

__all__ = [
    "mark_private",
    "plot_clear_days",
    "plot_errors",
    "plot_estimate",
    "plot_irradiance_by_azimuth",
    "plot_irradiance_by_tilt",
    "plot_load",
    "plot_residuals",
    "plot_score_map",
    "plot_separated",
    "plot_skyline",
    "plot_utility",
    "plot_yearly_irradiance",
    "plot_years",
]

on_demand(
    __name__,
    {
        "sunveil.plots.clear_days": ("plot_clear_days",),
        "sunveil.plots.errors": ("plot_errors",),
        "sunveil.plots.household": ("plot_load", "plot_separated"),
        "sunveil.plots.irradiance": (
            "plot_irradiance_by_azimuth",
            "plot_irradiance_by_tilt",
            "plot_yearly_irradiance",
        ),
        "sunveil.plots.overview": ("plot_estimate",),
        "sunveil.plots.residuals": ("plot_residuals",),
        "sunveil.plots.score_map": ("plot_score_map",),
        "sunveil.plots.skyline": ("plot_skyline",),
        "sunveil.plots.style": ("mark_private",),
        "sunveil.plots.utility": ("plot_utility",),
        "sunveil.plots.years": ("plot_years",),
    },
)
