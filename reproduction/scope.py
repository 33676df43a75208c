"""What the paper says of other systems, of other holders of data, and of itself."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from reproduction.answers import NEAR_AZIMUTH, NEAR_TILT, azimuth_error
from reproduction.artefact import Statement, over_subjects
from reproduction.experiment import DELTA, EPSILON, Experiment
from reproduction.figure4 import HomeFleet
from reproduction.likelihood import plane_words
from reproduction.subject import PLANE, SEED, Subject, simulated_truth, subject_sky
from sunveil.meters import from_pandas
from sunveil.paper.dpbo import DPBO
from sunveil.paper.fit import paper_grid, paper_score
from sunveil.paper.grid_and_bayesian_search import search_exhaustive
from sunveil.releases.release_choices import Choices
from sunveil.simulate import Tracker, east_west, simulate_loads, simulate_power, tracking

# The ε of a home that releases its own record, in the worked example.
HOME_EPSILONS = (1.0, 4.0, 8.0)
# What the 15/15 rule asks for: so many customers in an aggregate.
CUSTOMERS = 15
STANDARD = 1000.0


def scope(experiment: Experiment, fleet: HomeFleet) -> list[Statement]:
    """Return what the paper says beyond its experiment, each held against something.

    Parameters
    ----------
    experiment
        The system and its searches.
    fleet
        Simulated homes, for aggregates.
    """
    return [
        queries(experiment),
        other_systems(),
        net_load(),
        at_the_consumer(),
        capacity_promised(),
        units_of_power(),
        rule_of_fifteen(fleet),
        novelty(experiment),
    ]


def queries(experiment: Experiment) -> Statement:
    """Return whether all candidates need a query each, and how long all of them take."""
    began = time.perf_counter()
    search_exhaustive(experiment.exhaustive.grid, experiment.score)
    seconds = time.perf_counter() - began
    candidates = len(experiment.exhaustive.grid)
    return Statement(
        f"{candidates:,} candidates mean as many queries of the NSRDB for each group, which does"
        " not scale, so that the search must look at few of them.",
        f"One query serves all: GHI, DNI and DHI of the place are the same for every plane. All"
        f" {candidates:,} candidates were scored on {len(experiment.score.days)} days in"
        f" {seconds:.1f} s.",
        False,
        "What a plane gets is computed from the three by eqs. 1 and 2. Bayesian optimisation works"
        " here, and is not needed.",
        section="II-C",
        numbers={"queries": 1, "candidates": candidates, "seconds": round(seconds, 2)},
    )


def other_systems() -> Statement:
    """Return what the paper's method makes of two planes and of a tracker."""
    truth = simulated_truth()
    paper = "Systems of several planes and trackers degrade the inference."
    pair, turning = east_west(truth), tracking(truth, Tracker())
    found = []
    for name, other, words in (
        ("two planes", pair, f"half of it at {plane_words(PLANE)} and half at (90°, 18°)"),
        ("a tracker", turning, "turning about a north-south axis"),
    ):
        power = simulate_power(other, subject_sky(), seed=SEED)
        best, score = _maximiser(power)
        found.append(
            (
                name,
                Statement(
                    paper,
                    f"{words}, the maximiser is {best} with a fit score of {score:.3f}",
                    True,
                    "One plane cannot say it, and nothing in the fit score says that it does not.",
                    numbers={"maximiser": best, "fit_score": score},
                ),
            )
        )
    return replace(over_subjects(found), section="IV")


def net_load() -> Statement:
    """Return what the paper's method makes of a meter that sees generation less load."""
    sky = subject_sky()
    gross = simulate_power(simulated_truth(), sky, seed=SEED)
    load = simulate_loads(sky.true, 1, seed=SEED, timezone="America/Los_Angeles").iloc[:, 0]
    net = gross - load.reindex(gross.index).fillna(0.0)
    best, score = _maximiser(net.clip(lower=0.0))
    off = float(azimuth_error(np.array(float(best[1:].split("°")[0])), PLANE.surface_azimuth))
    return Statement(
        "Smart meters measure net load, which must be disaggregated before any inference.",
        f"From what the simulated home sends to the grid, generation less its load, the maximiser"
        f" is {best}, {off:.0f}° off, where generation alone gives its plane to"
        f" {NEAR_AZIMUTH:g}° and {NEAR_TILT:g}°; the fit score is {score:.3f}.",
        True,
        "The paper gives no way to do it. Sunveil's default method does (docs/method.md).",
        section="I-B",
        numbers={"maximiser": best, "azimuth_error": off, "fit_score": score},
    )


def at_the_consumer() -> Statement:
    """Return what a home can release of its own record."""
    errors = {
        f"{epsilon:g}": list(Choices().window(epsilon).expected_errors()[:2])
        for epsilon in HOME_EPSILONS
    }
    told = ", ".join(f"{value[0]:.0f}° at ε = {name}" for name, value in errors.items())
    return Statement(
        "The data may be held by a trusted curator or by the consumers themselves.",
        "A home that answers for itself must protect its whole record. The best that can be done"
        f" has an expected azimuth error of {told}, over all planes alike.",
        False,
        "DP-BO protects one reading of a record: what a home would release of its plane with it is"
        " as private as one reading, not as the home. Sunveil's unit for that is System().",
        section="III",
        numbers={"expected_azimuth_and_tilt_error": errors},
    )


def capacity_promised() -> Statement:
    """Return whether the method gives a nameplate capacity."""
    return Statement(
        "The algorithm infers azimuth, tilt and nameplate capacity.",
        "Each day is brought to [0, 1] before it is scored, by which capacity is taken out; Λ has"
        " azimuth and tilt alone, and no other step brings it back.",
        False,
        "Sunveil adds the ratio of measured to modelled peaks at the maximiser to the paper's"
        " method, and capacity as one more axis of candidates to its own releases.",
        section="I-B",
        numbers={"axes_of_candidates": 2},
    )


def units_of_power() -> Statement:
    """Return what eq. 3 gives for a system in full sun."""
    return Statement(
        "Eq. 3 gives the AC power: ζ p̄ (1 + κ(τ_c - τ_r)) I_t.",
        f"With ζ = 1 and cells at the reference, a system of 5 kW in {STANDARD:g} W/m² would give"
        f" {5.0 * STANDARD:,.0f} kW.",
        False,
        "What is missing is the division by the irradiance that p̄ is rated at, 1,000 W/m², unless"
        " ζ is to hold it. It cancels where days are normalised, so that nothing else rests on it.",
        section="II-A",
        numbers={"factor_too_large": STANDARD},
    )


def rule_of_fifteen(fleet: HomeFleet) -> Statement:
    """Return what two aggregates that both keep the 15/15 rule tell of one home."""
    peaks = np.sort(fleet.days[:, 0])[: CUSTOMERS + 1]
    whole, less = float(peaks.sum()), float(peaks[:-1].sum())
    share = float(peaks[-1] / whole)
    return Statement(
        "The 15/15 rule gives no statistical guarantee of privacy.",
        f"The daily peaks of {CUSTOMERS + 1} simulated homes, none above {share:.0%} of the sum,"
        f" add up to {whole:.2f} kW, and without one of them to {less:.2f} kW: the difference is"
        f" that home's {peaks[-1]:.2f} kW.",
        bool(np.isclose(whole - less, peaks[-1])),
        "Two aggregates that each keep the rule can differ in one customer.",
        section="III-B",
        numbers={"aggregate": whole, "without_one": less, "told": whole - less},
    )


def novelty(experiment: Experiment) -> Statement:
    """Return what of DP-BO is known from before."""
    bound = DPBO(EPSILON, DELTA).sensitivity(experiment.posterior)
    return Statement(
        "DP-BO is a novel algorithm.",
        "Kusner, Gardner, Garnett and Weinberger (Differentially Private Bayesian Optimization,"
        " ICML 2015) release the best hyper-parameter so: GP-UCB for T steps, then the exponential"
        " mechanism on the posterior mean with a bound that holds under a Gaussian process. Here"
        f" its bound is {bound:.1f}.",
        False,
        "The mechanism, the inputs of algorithm 2 and the shape of the proof are theirs, and they"
        " are not cited; applied to the planes of solar systems it is new. Theirs has a kernel"
        " between data sets, so that neighbours that are alike have scores that are; the paper"
        " takes scores of neighbours to be independent, which is what makes its bound so wide.",
        section="V",
        numbers={"bound": bound},
    )


def _maximiser(power: pd.Series[float]) -> tuple[str, float]:
    """Return the plane that the paper's method finds in simulated readings, and its score."""
    record = from_pandas(power, system_id="other", label="start", power_unit="kW")
    score = paper_score(record, subject_sky().satellite, to_the_letter=True)
    found = search_exhaustive(paper_grid(), score)
    return plane_words(found.best), float(found.scores.max())


def subject_list(subjects: list[Subject]) -> list[dict[str, Any]]:
    """Return the subjects as plain JSON types, for the file of statements."""
    return [
        {
            "name": each.name,
            "words": each.words,
            "private": each.private,
            "group": each.group.value,
            "readings": len(each.record.times),
            "interval_minutes": each.record.interval_minutes,
        }
        for each in subjects
    ]
