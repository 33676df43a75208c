"""Figures and reports of estimates, fleets and publications."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from sunveil._extras import lazy_names, require_extras

if TYPE_CHECKING:
    from sunveil.plots.estimate_figures import (
        plot_clear_days,
        plot_estimate,
        plot_load,
        plot_residuals,
        plot_separated,
        plot_years,
    )
    from sunveil.plots.fleet_figures import plot_errors
    from sunveil.plots.html_report import Case, write_report
    from sunveil.plots.irradiance import (
        plot_irradiance_by_azimuth,
        plot_irradiance_by_tilt,
        plot_yearly_irradiance,
    )
    from sunveil.plots.publication_figures import plot_utility
    from sunveil.plots.skyline_and_scores import plot_score_map, plot_skyline
    from sunveil.plots.style import mark_private

__all__ = [
    "Case",
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
    "write_report",
]

if find_spec("matplotlib") is None:  # which every module of this package imports
    require_extras("plots", purpose="a figure")

__getattr__ = lazy_names(
    __name__,
    {
        "sunveil.plots.estimate_figures": (
            "plot_clear_days",
            "plot_estimate",
            "plot_load",
            "plot_residuals",
            "plot_separated",
            "plot_years",
        ),
        "sunveil.plots.fleet_figures": ("plot_errors",),
        "sunveil.plots.html_report": ("Case", "write_report"),
        "sunveil.plots.irradiance": (
            "plot_irradiance_by_azimuth",
            "plot_irradiance_by_tilt",
            "plot_yearly_irradiance",
        ),
        "sunveil.plots.publication_figures": ("plot_utility",),
        "sunveil.plots.skyline_and_scores": ("plot_score_map", "plot_skyline"),
        "sunveil.plots.style": ("mark_private",),
    },
)
