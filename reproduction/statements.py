"""The paper's statements of section IV, next to what was measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from reproduction.answers import (
    NEAR_AZIMUTH,
    NEAR_TILT,
    at_chance,
    azimuth_error,
    informative_range,
    is_near,
    short_number,
)
from reproduction.artefact import Statement, over_subjects
from reproduction.experiment import EPSILON, Experiment, paper_mechanism
from reproduction.figure5ab import regret_growth
from reproduction.figure5c import simulate_draws
from reproduction.figure6 import DELTAS, EPSILONS, TradeoffCurve, exact_curve
from reproduction.hexagons import ASPECT, WIDTH, hexagons
from reproduction.likelihood import plane_data, plane_words
from reproduction.maximiser_law import maximiser_law
from sunveil.grids import Grid
from sunveil.paper.dpbo import Bound
from sunveil.site import Array, Plane

PAPER_LIKELIHOOD = -0.31
# Monotonicity is judged up to this ε: nobody would call an answer beyond it private.
LARGEST = 1e4
# Growth with a lower power of the steps than this is told apart from linear growth.
NOT_LINEAR = 0.95
# A neighbourhood is among the highest if no more candidates than this share are higher.
FEW = 0.05


def statements(experiments: Sequence[Experiment], *, draws: int) -> list[Statement]:
    """Hold what the paper's section IV says against several systems.

    Parameters
    ----------
    experiments
        The systems and their searches; the first leads.
    draws
        How many answers of DP-BO to look at.
    """
    judges: tuple[Callable[[Experiment], Statement], ...] = (
        maximiser,
        likelihood,
        neighbourhood,
        sampling,
        regret,
        partial(accuracy, draws=draws),
        partial(falls_with_epsilon, draws=draws),
        partial(falls_with_delta, draws=draws),
    )
    return [
        replace(
            over_subjects([(each.subject.name, judge(each)) for each in experiments]), section="IV"
        )
        for judge in judges
    ]


def maximiser(experiment: Experiment) -> Statement:
    """Return whether the maximiser lies where the system is reported to face."""
    reported, found = experiment.subject.reported, experiment.exhaustive.best
    short = experiment.short
    measured = (
        f"The exhaustive maximiser is {plane_words(found)}; the best of {len(short.points)}"
        f" candidates looked at is {plane_words(short.best)}, and the posterior mean is highest at"
        f" {plane_words(short.grid[int(short.mean.argmax())])}."
    )
    paper = (
        "For a system reported as (270°, 18°), the candidate with the highest log-likelihood after"
        " T = 100 is (263°, 18°)."
    )
    if reported is None:
        return Statement(
            paper,
            measured,
            None,
            "No plane is reported for this system to compare with.",
            numbers={
                "maximiser": plane_data(found),
                "best_looked_at": plane_data(short.best),
                "reported": None,
                "misfit": experiment.misfit,
            },
        )
    across = float(azimuth_error(np.array(found.surface_azimuth), reported.surface_azimuth))
    up = abs(found.surface_tilt - reported.surface_tilt)
    return Statement(
        paper,
        f"Reported is {plane_words(reported)}. {measured}",
        across <= NEAR_AZIMUTH and up <= NEAR_TILT,
        f"The maximiser is {across:.0f}° of azimuth and {up:.0f}° of tilt from what is reported,"
        f" where the paper's is 7° and 0°; up to {NEAR_AZIMUTH:g}° and {NEAR_TILT:g}° count as"
        f" reproduced, since the readings are other ones. {_score_words(experiment, reported)}",
        numbers={
            "maximiser": plane_data(found),
            "best_looked_at": plane_data(short.best),
            "reported": plane_data(reported),
            "azimuth_error": across,
            "tilt_error": up,
            "misfit": experiment.misfit,
        },
    )


def _score_words(experiment: Experiment, reported: Plane) -> str:
    """Return how the reported plane scores beside the maximiser."""
    turned = np.array([reported.surface_azimuth]), np.array([reported.surface_tilt])
    score = float(experiment.score(Grid(*turned))[0])
    return (
        f"The reported plane scores {score:.4f}, the maximiser"
        f" {experiment.exhaustive.scores.max():.4f}: on one day a group, each brought to [0, 1],"
        " planes far apart can fit almost alike."
    )


def likelihood(experiment: Experiment) -> Statement:
    """Return the highest log-likelihood under each of its readings."""
    short, long = experiment.short, experiment.long
    groups = len(experiment.score.days)
    theirs = math.sqrt(-PAPER_LIKELIHOOD / groups)
    laws = [maximiser_law(run).highest_log for run in (short, long)]
    steps = f"{len(short.points)} and {len(long.points)} steps"
    best = float(experiment.exhaustive.scores.max())
    return Statement(
        f"The highest log-likelihood after T = 100 is {PAPER_LIKELIHOOD:g}; the map of it is drawn"
        " after 300.",
        f"Read as the posterior mean of the fit score it is {short.likelihood.max():.4f} and"
        f" {long.likelihood.max():.4f} after {steps} (the highest fit score of all candidates is"
        f" {best:.4f}); read as the log-probability that a hexagon holds the maximiser, as the"
        f" caption has it, {laws[0]:.2f} and {laws[1]:.2f}.",
        None,
        "Either reading can give the paper's number. As a fit score it says how well the best"
        f" candidate fits: over {groups} groups, ours is a misfit of {experiment.misfit:.1%} of a"
        f" day's peak in the root mean square, and the paper's would be {theirs:.1%}. As a"
        " probability it says how sure the search is after so many steps.",
        numbers={
            "posterior_mean": [float(run.likelihood.max()) for run in (short, long)],
            "log_probability_of_a_hexagon": laws,
            "highest_fit_score": best,
            "misfit": experiment.misfit,
            "papers_misfit_as_a_fit_score": theirs,
        },
    )


def neighbourhood(experiment: Experiment) -> Statement:
    """Return whether the posterior is high around the plane that is reported."""
    long, reported = experiment.long, experiment.subject.reported
    paper = "After 300 iterations the posterior is high in the neighbourhood of (270°, 18°)."
    where = reported or experiment.exhaustive.best
    close = is_near(long.grid, where)
    top = float(long.likelihood[close].max())
    better = float((long.likelihood > top).mean())
    span = float(np.ptp(long.likelihood))
    told = Statement(
        paper,
        f"The highest posterior mean within {NEAR_AZIMUTH:g}° and {NEAR_TILT:g}° of"
        f" {plane_words(where)} is {top:.4f}, and {better:.2%} of the candidates are higher, by up"
        f" to {(float(long.likelihood.max()) - top) / span:.2%} of the whole span.",
        better <= FEW,
        "The fit score is a long ridge: planes far apart fit almost alike once each day is brought"
        " to [0, 1], so that being near the top and being near the plane are two things.",
        numbers={"highest_near": top, "share_of_candidates_higher": better},
    )
    return told if reported is not None else replace(told, holds=None)


def sampling(experiment: Experiment) -> Statement:
    """Return whether GP-UCB looked most often around the maximiser."""
    short, best, cells = experiment.short, experiment.exhaustive.best, hexagons()
    grid = short.grid
    counts = cells.count(grid.surface_azimuth[short.points], grid.surface_tilt[short.points])
    home = int(cells.of(np.array([best.surface_azimuth]), np.array([best.surface_tilt]))[0])
    along = azimuth_error(cells.surface_azimuth, float(cells.surface_azimuth[home]))
    up = ASPECT * (cells.surface_tilt - cells.surface_tilt[home])
    # the six neighbours of a regular hexagon lie one width away
    around = np.hypot(along, up) <= 1.01 * WIDTH
    close = is_near(grid, best)
    near, area = float(close[short.points].mean()), float(close.mean())
    return Statement(
        "GP-UCB samples the hexagonal regions around the true plane the most.",
        f"The fullest of the {len(cells)} regions was looked at {counts.max()} times, the fullest"
        f" of the seven around the maximiser {counts[around].max()} times. {near:.0%} of"
        f" {len(short.points)} steps fell within {NEAR_AZIMUTH:g}° of azimuth and {NEAR_TILT:g}° of"
        f" tilt of it, where {area:.1%} of the candidates are.",
        bool(counts[around].max() == counts.max() and near > area),
        "The confidence bound spreads steps over the whole grid before it returns to where scores"
        " are high.",
        numbers={
            "most_in_a_region": int(counts.max()),
            "most_around_the_maximiser": int(counts[around].max()),
            "share_of_steps_near": near,
            "share_of_candidates_near": area,
        },
    )


def regret(experiment: Experiment) -> Statement:
    """Return whether the cumulative regret grows more slowly than the steps."""
    short, long = experiment.short, experiment.long
    growth = regret_growth(short, long)
    sums = [float(run.cumulative_regret[-1]) for run in (short, long)]
    return Statement(
        "GP-UCB has sublinear regret.",
        f"The cumulative regret is {sums[0]:.2f} after {len(short.points)} steps and {sums[1]:.2f}"
        f" after {len(long.points)}, so that it grows with the power {growth:.3f} of the steps;"
        f" regret per step falls from {sums[0] / len(short.points):.4f} to"
        f" {sums[1] / len(long.points):.4f}.",
        growth < NOT_LINEAR,
        f"{sums[0] / max(sums[1], 1e-300):.1%} of the regret of {len(long.points)} steps is that of"
        f" the first {len(short.points)}, which explore.",
        numbers={"power_of_steps": growth, "cumulative_regret": sums},
    )


def accuracy(experiment: Experiment, *, draws: int) -> Statement:
    """Return whether draws at ε = δ = 0.1 say where the system faces."""
    mechanism, posterior = paper_mechanism(), experiment.posterior
    drawn = simulate_draws(experiment, mechanism, draws=draws)
    found = informative_range(experiment)
    chance = at_chance(experiment.exhaustive.grid, experiment.exhaustive.best).azimuth_error
    bound, span = mechanism.sensitivity(posterior), float(np.ptp(posterior.mean))
    begins = "at no ε" if found.first is None else f"at about ε = {short_number(found.first)}"
    return Statement(
        "At ε = δ = 0.1, 10,000 DP answers consistently infer the plane with high accuracy.",
        f"{draws:,} answers have an azimuth error of {drawn.error:.1f}° on average (exactly"
        f" {drawn.exact_error:.2f}°), where chance gives {chance:.2f}°; {drawn.near:.2%} of them"
        f" are near the maximiser, as are {drawn.chance_near:.2%} of all candidates. Probabilities"
        f" run from {drawn.smallest:.4f} to {drawn.largest:.4f} of an even share.",
        found.first is not None and found.first <= EPSILON,
        f"The sensitivity bound is {bound:.1f} while the scores span {span:.2f}, so that exponents"
        f" differ by at most {EPSILON * span / (2.0 * bound):.4f}; answers begin to"
        f" tell of the azimuth {begins}.",
        numbers={
            "mean_azimuth_error": drawn.exact_error,
            "chance_azimuth_error": chance,
            "near_share_of_draws": drawn.near,
            "near_share_of_candidates": drawn.chance_near,
            "largest_probability_times_candidates": drawn.largest,
            "sensitivity_bound": bound,
            "score_span": span,
            **{name: value for name, value in found.to_dict().items() if name.endswith("epsilon")},
        },
    )


def falls_with_epsilon(experiment: Experiment, *, draws: int) -> Statement:
    """Return whether errors fall as ε grows, exactly."""
    curve = exact_curve(experiment)
    judged = curve.epsilons <= LARGEST
    rmse = curve.of("rmse")
    single = all(_falls(curve.of(name)) for name in ("azimuth_error", "tilt_error"))
    gain = float(rmse[0] - np.interp(1.0, curve.epsilons, rmse))
    return Statement(
        "The RMSE of the expected DP answer falls as ε grows.",
        f"From ε = {EPSILONS[0]:g} to {LARGEST:,.0f} it {_way(rmse[judged])}, {rmse[0]:.4f} to"
        f" {rmse[judged][-1]:.4f}{_beyond(curve)}. The expected error of a single"
        f" answer {'falls' if single else 'does not always fall'} up to ε = {EPSILONS[-1]:,.0f}.",
        _falls(rmse[judged]),
        f"Below ε = 1 it changes by {-gain:+.4f} in all, and a mean of {draws:,} draws is itself"
        f" uncertain by about {_noise(draws):.4f}, so that there a figure made of draws shows"
        " chance. Where the expected answer of chance, the middle of the grid, happens to lie near"
        " the maximiser, the way from one to the other can lead away from it first.",
        numbers={
            "rmse_first": float(rmse[0]),
            "rmse_last": float(rmse[judged][-1]),
            "rmse_highest": float(rmse[judged].max()),
            "single_answers_fall": single,
        },
    )


def falls_with_delta(experiment: Experiment, *, draws: int) -> Statement:
    """Return whether errors fall as δ grows at a fixed ε, exactly, and by how much."""
    epsilons = EPSILONS[EPSILONS <= LARGEST]
    curves = [exact_curve(experiment, delta=delta, epsilons=epsilons) for delta in DELTAS]
    rmse = np.array([curve.of("rmse") for curve in curves])
    change = rmse[-1] - rmse[0]
    here = int(np.abs(np.log(epsilons / EPSILON)).argmin())
    most = int(np.abs(change).argmax())
    ratio = _bound(experiment, DELTAS[0]) / _bound(experiment, DELTAS[-1])
    return Statement(
        "For a given ε, the RMSE falls as δ grows.",
        f"From δ = {DELTAS[0]:g} to {DELTAS[-1]:g} it changes by {change[here]:+.6f} at ε"
        f" = {short_number(epsilons[here])} and by {change[most]:+.3f} at most, at ε ="
        f" {short_number(epsilons[most])}.",
        all(_falls(column) for column in rmse.T),
        f"δ enters the draw through the sensitivity bound alone, and this whole range of δ moves"
        f" the bound by a factor of {ratio:.2f}: as much as {ratio:.2f} times the ε would. At ε ="
        f" {EPSILON:g} a mean of {draws:,} draws is uncertain by {_noise(draws):.4f}.",
        numbers={
            "change_at_the_papers_epsilon": float(change[here]),
            "largest_change": float(change[most]),
            "at_epsilon": float(epsilons[most]),
            "noise_of_draws": _noise(draws),
        },
    )


def _bound(experiment: Experiment, delta: float) -> float:
    return paper_mechanism(delta=delta).sensitivity(experiment.posterior)


def bound_constants(experiment: Experiment) -> dict[str, float]:
    """Return the paper's two constants for the same bound, and the ratio of the ε they mean."""
    mechanism, posterior = paper_mechanism(), experiment.posterior
    other = type(mechanism)(mechanism.epsilon, mechanism.delta, Bound.ALGORITHM_2)
    appendix, algorithm = mechanism.sensitivity(posterior), other.sensitivity(posterior)
    return {"appendix": appendix, "algorithm_2": algorithm, "ratio": appendix / algorithm}


def _falls(values: Array) -> bool:
    return bool((np.diff(values) < 0.0).all())


def _way(values: Array) -> str:
    return "falls throughout" if _falls(values) else "falls, though not throughout"


def _beyond(curve: TradeoffCurve) -> str:
    """Return where the RMSE rises again beyond what is judged, if it does."""
    epsilons, rmse = curve.epsilons, curve.of("rmse")
    rises = np.flatnonzero((np.diff(rmse) >= 0.0) & (epsilons[1:] > LARGEST))
    if len(rises) == 0:
        return ""
    low = int(rises[0])
    top = low + int(rmse[low:].argmax())
    there = curve.answers[top]
    return (
        f"; beyond, it rises again from {rmse[low]:.4f} at ε = {short_number(epsilons[low])} to"
        f" {rmse[top]:.4f} at {short_number(epsilons[top])}, where the expected answer is"
        f" ({there.azimuth:.0f}°, {there.tilt:.0f}°)"
    )


def _noise(draws: int) -> float:
    """Return the standard error of the RMSE by draws that are spread evenly.

    Each normalised coordinate has a deviation of 1/√12; the RMSE is their root mean square.
    """
    return math.sqrt(1.0 / 12.0 / draws / 2.0)
