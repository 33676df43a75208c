"""Fit score; plane and capacity of method="paper"."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil._options import check_fields, checked
from sunveil.errors import ParameterError
from sunveil.estimates.inference_options import DayGroup
from sunveil.estimates.intervals_and_rounding import Interval
from sunveil.grids import Grid, plane_grid
from sunveil.meters.record import Record
from sunveil.paper.daily_profiles import Profile, candidate_profiles, prototypical_days
from sunveil.paper.grid_and_bayesian_search import (
    BayesResult,
    Scaling,
    ScalingSource,
    SearchResult,
    SearchSettings,
    blocks,
    search_bayesian,
)
from sunveil.pv_model import Sky, ac_power, sky_at
from sunveil.site import Array, Losses, Plane
from sunveil.weather.weather_data import Weather


@dataclass(frozen=True, slots=True, eq=False)
class PosteriorScore:
    """The posterior mean of every candidate, with what its sensitivity bound rests on: private."""

    mean: Array  # μ_T of every candidate, in the prior's units
    steps: int  # T, all observations that it was made from
    data_scaled: bool = False

    def __post_init__(self) -> None:
        if self.mean.ndim != 1 or len(self.mean) == 0 or not np.isfinite(self.mean).all():
            raise ParameterError("a posterior score is one finite number per candidate")

    def __repr__(self) -> str:
        return f"PosteriorScore({len(self.mean)} candidates, {self.steps} steps, private)"


@checked
def fit_score(measured: Array, profiles: NDArray[np.floating]) -> Array:
    """Return the paper's score of each candidate for one group: ``-(1/N) ||p̂ - p||²``."""
    if measured.ndim != 1 or profiles.ndim != 2 or profiles.shape[1] != len(measured):
        raise ParameterError("profiles must have a row for each candidate, as long as measured")
    return np.asarray(-np.mean((profiles - measured) ** 2, axis=1))


RESAMPLES = 400

# The fit scores of twelve months have about this mean and spread around the maximiser, for any
# system: chosen in public, on simulated ones. It finds a few maximisers more than no scaling.
SEARCH = SearchSettings(scaling=Scaling.public(-0.3, 0.3))


@dataclass(frozen=True, slots=True, eq=False)
class FitScore:
    """The paper's fit score of a record, as a function of candidates: private."""

    days: tuple[Profile, ...]  # the prototypical day of each group
    skies: tuple[Sky, ...]  # the sky of each of these days
    albedo: float  # share of light that the ground sends back
    to_the_letter: bool = False  # whether f(θ) falls on direct light alone, as eq. 2 has it

    def __post_init__(self) -> None:
        check_fields(self)

    def __repr__(self) -> str:
        return f"FitScore({len(self.days)} groups, private)"

    @checked
    def of_groups(self, grid: Grid) -> Array:
        """Return ℓ_g(λ), the score of every candidate for every group, shape (groups, grid)."""
        scores = np.empty((len(self.days), len(grid)))
        for piece, part in blocks(grid):
            normals = part.normals
            for row, (day, sky) in enumerate(zip(self.days, self.skies, strict=True)):
                profiles = candidate_profiles(
                    sky, normals, albedo=self.albedo, to_the_letter=self.to_the_letter
                )
                scores[row, piece] = fit_score(day.power, profiles)
        return scores

    def __call__(self, grid: Grid) -> Array:
        """Return ℓ(λ), the sum over groups: the paper's ``eq:fit_score``."""
        return np.asarray(self.of_groups(grid).sum(axis=0))


@checked
def paper_score(
    record: Record,
    weather: Weather,
    *,
    group: DayGroup = DayGroup.MONTH,
    albedo: float = 0.2,
    to_the_letter: bool = False,
) -> FitScore:
    """Return the fit score of a record under the weather that chooses its clear days."""
    days = tuple(prototypical_days(record, weather, group=group))
    skies = tuple(sky_at(weather, day.times) for day in days)
    return FitScore(days, skies, albedo, to_the_letter)


@dataclass(frozen=True, slots=True, eq=False)
class PaperFit:
    """The paper's scores and what follows from them."""

    days: tuple[Profile, ...]  # the prototypical day of each group
    # The score of every candidate looked at for every group, shape (groups, candidates)
    group_scores: Array
    result: SearchResult  # their sum over groups: the paper's fit score
    # DC capacity at the best candidate: the median ratio of measured to modelled power over the
    # prototypical days [kW]
    capacity: float
    ratios: Array  # that ratio for each group [kW]
    # The run of GP-UCB that chose the candidates looked at, where it did
    bayes: BayesResult | None = None

    def __post_init__(self) -> None:
        check_fields(self)

    def __repr__(self) -> str:
        return f"PaperFit({len(self.days)} groups, {len(self.result.grid)} candidates, private)"

    @property
    def plane(self) -> Plane:
        """The candidate with the highest fit score."""
        return self.result.best


def paper_grid() -> Grid:
    """Return the paper's 360 x 90 integer candidates."""
    return plane_grid(1.0, 1.0, highest_tilt=89.0)


@checked
def fit_paper(
    record: Record,
    weather: Weather,
    *,
    grid: Grid | None = None,
    group: DayGroup = DayGroup.MONTH,
    losses: Losses | None = None,
    albedo: float = 0.2,
    search: SearchSettings | None = None,
) -> PaperFit:
    """Score candidates on the prototypical day of every group.

    Parameters
    ----------
    record
        The readings, on a clock that fits the sun.
    weather
        The weather; its DNI and GHI choose the clear days.
    grid
        The candidates. Default: the paper's 360 x 90.
    group
        How days are put into groups.
    losses, albedo
        What is assumed; losses matter for the capacity only.
    search
        What GP-UCB is run with. Default: every candidate is looked at.
    """
    grid = grid or paper_grid()
    score = paper_score(record, weather, group=group, albedo=albedo)
    bayes = None if search is None else search_bayesian(grid, score, settings=search)
    if bayes is not None:
        seen = np.unique(bayes.points)
        grid = Grid(grid.surface_azimuth[seen], grid.surface_tilt[seen])
    scores = score.of_groups(grid)
    result = SearchResult(grid, scores.sum(axis=0))
    ratios = _ratios(score, result.best, losses=losses)
    return PaperFit(score.days, scores, result, float(np.median(ratios)), ratios, bayes)


def _ratios(score: FitScore, plane: Plane, *, losses: Losses | None) -> Array:
    """Return the measured over the modelled peak of each prototypical day. [kW]"""
    normal = plane.normal.reshape(1, 3)
    peaks = [
        float(ac_power(sky, normal, losses=losses, albedo=score.albedo).max())
        for sky in score.skies
    ]
    scales = np.array([day.scale for day in score.days])
    return np.asarray(scales / np.maximum(peaks, 1e-9))


@checked
def posterior_score(result: BayesResult) -> PosteriorScore:
    """Return what DP-BO draws from, private: the posterior mean, and its sensitivity bound."""
    return PosteriorScore(
        mean=result.mean,
        steps=len(result.points),
        data_scaled=result.scaling.source is ScalingSource.DATA,
    )


def resampled(fit: PaperFit, *, seed: int = 0) -> tuple[Interval, Interval, Interval, float]:
    # The radius holds the angle to the best plane in 90% of the resamples. [degrees]
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
