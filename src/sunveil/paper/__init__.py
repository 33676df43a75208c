"""The method of Ravi, Scaglione et al., as their paper states it.

Where its equations, definitions, lemmas and algorithms stand below ``sunveil``::

    eq. 1, angle of incidence              pv_model.incidence_cosine
    eq. 2, plane-of-array irradiance       pv_model.plane_irradiance
    eq. 3, AC power                        pv_model.ac_power
    II-C 1, normalised days                paper.daily_profiles.normalise
    II-C 1, normalised candidates          paper.daily_profiles.candidate_profiles
    II-C 2, groups of days                 paper.daily_profiles.group_of
    II-C 2, prototypical days              paper.daily_profiles.prototypical_days
    II-C 3, fit score of a group           paper.fit.fit_score
    II-C 3, grid search                    paper.grid_and_bayesian_search.search_exhaustive
    II-C 4, fit score of all groups        paper.fit.FitScore
    II-C, the whole method                 paper.fit.fit_paper
    algorithm 1, Bayesian optimisation     paper.grid_and_bayesian_search.search_bayesian
    III-A, covariance of the GP prior      paper.grid_and_bayesian_search.Kernel
    III-A, posterior mean and variance     paper.grid_and_bayesian_search.Posterior
    III-A, acquisition function            paper.grid_and_bayesian_search.ucb
    lemma 1, φ_t                           paper.grid_and_bayesian_search.phi
    definition 1, differential privacy     privacy.guarantees.Guarantee
    definition 2, exponential mechanism    privacy.mechanisms.draw_exponential
    definition 3, global sensitivity       privacy.mechanisms.Score
    algorithm 2, DP-BO                     paper.dpbo.DPBO
    algorithm 2, constant c                paper.dpbo.algorithm_2_constant
    theorem 2, guarantee of DP-BO          paper.dpbo.DPBO.guarantee
    lemma 2, bound on the sensitivity      paper.dpbo.sensitivity
    lemma 2, φ̄_t and ν                     paper.dpbo.phi_bar, paper.dpbo.nu
    lemma 3, draw from the posterior mean  paper.dpbo.DPBO.draw
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sunveil._extras import lazy_names

if TYPE_CHECKING:
    from sunveil.paper.dpbo import DPBO
    from sunveil.paper.fit import fit_paper

__all__ = ["DPBO", "fit_paper"]

__getattr__ = lazy_names(
    __name__, {"sunveil.paper.dpbo": ("DPBO",), "sunveil.paper.fit": ("fit_paper",)}
)
