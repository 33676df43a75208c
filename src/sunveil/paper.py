"""``method="paper"``: the inference of the paper's II-C as written, by exhaustive search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sunveil.atlas import Grid, plane_grid
from sunveil.estimate import Interval
from sunveil.meters.record import Record
from sunveil.profiles import Group, Profile, candidate_profiles, prototypical_days
from sunveil.scores import fit_score
from sunveil.search.exhaustive import SearchResult, blocks
from sunveil.site import Array, Losses, Plane
from sunveil.sky import sky_at, unit_power
from sunveil.weather.base import Weather

RESAMPLES = 400


@dataclass(frozen=True, slots=True, eq=False)
class PaperFit:
    """The paper's scores and what follows from them.

    Parameters
    ----------
    days
        The prototypical day of each group.
    group_scores
        The score of every candidate for every group, shape (groups, candidates).
    result
        Their sum over groups: the paper's fit score.
    capacity
        DC capacity at the best candidate: the median ratio of measured to modelled power over the
        prototypical days. [kW]
    ratios
        That ratio for each group. [kW]
    """

    days: tuple[Profile, ...]
    group_scores: Array
    result: SearchResult
    capacity: float
    ratios: Array

    @property
    def plane(self) -> Plane:
        """The candidate with the highest fit score."""
        return self.result.best


def paper_grid() -> Grid:
    """Return the paper's 360 x 90 integer candidates."""
    return plane_grid(1.0, 1.0, highest_tilt=89.0)


def fit_paper(
    record: Record,
    weather: Weather,
    *,
    grid: Grid | None = None,
    group: Group = Group.MONTH,
    losses: Losses | None = None,
    albedo: float = 0.2,
) -> PaperFit:
    """Score every candidate on the prototypical day of every group.

    Parameters
    ----------
    record
        The readings, on a clock that fits the sun.
    weather
        The weather; its DNI and GHI choose the clear days.
    grid
        The candidates; the paper's 360 x 90 when left out.
    group
        How days are put into groups.
    losses, albedo
        What is assumed; losses matter for the capacity only.
    """
    grid = grid or paper_grid()
    days = tuple(prototypical_days(record, weather, group=group))
    skies = [sky_at(weather, day.times) for day in days]
    scores = np.empty((len(days), len(grid)))
    for piece, part in blocks(grid):
        for row, (day, sky) in enumerate(zip(days, skies, strict=True)):
            profiles = candidate_profiles(sky, part.normals, albedo=albedo)
            scores[row, piece] = fit_score(day.power, profiles)
    result = SearchResult(grid, scores.sum(axis=0))
    normal = result.best.normal.reshape(1, 3)
    ratios = np.array(
        [
            day.scale
            / max(float(unit_power(sky, normal, losses=losses, albedo=albedo).max()), 1e-9)
            for day, sky in zip(days, skies, strict=True)
        ]
    )
    return PaperFit(days, scores, result, float(np.median(ratios)), ratios)


def resampled(fit: PaperFit, *, seed: int = 0) -> tuple[Interval, Interval, Interval, float]:
    """Return 90% intervals of azimuth, tilt and capacity by resampling the groups, and the radius.

    The radius holds the angle to the best plane in 90% of the resamples. [degrees]
    """
    rng = np.random.default_rng(seed)
    count = len(fit.days)
    draws = rng.integers(0, count, size=(RESAMPLES, count))
    weights = np.stack([np.bincount(draw, minlength=count) for draw in draws]).astype(np.float64)
    grid, best = fit.result.grid, fit.plane
    winners = np.array([int((row @ fit.group_scores).argmax()) for row in weights])
    turned = (grid.surface_azimuth[winners] - best.surface_azimuth + 180.0) % 360.0 - 180.0
    low, high = np.quantile(turned, [0.05, 0.95])
    azimuth = Interval(
        float(best.surface_azimuth + min(low, 0.0)) % 360.0 % 360.0,
        float(best.surface_azimuth + max(high, 0.0)) % 360.0 % 360.0,
    )
    tilt = _holding(grid.surface_tilt[winners], best.surface_tilt)
    capacity = _holding(np.median(fit.ratios[draws], axis=1), fit.capacity)
    cosines = grid.normals[winners] @ best.normal
    radius = float(np.degrees(np.arccos(np.clip(np.quantile(cosines, 0.1), -1.0, 1.0))))
    return azimuth, tilt, capacity, radius


def _holding(values: Array, best: float) -> Interval:
    """Return the 90% interval of resampled values, stretched to hold the best."""
    low, high = (float(q) for q in np.quantile(values, [0.05, 0.95]))
    return Interval(min(low, best), max(high, best))
