"""How often GP-UCB finds the exhaustive maximiser, over a simulated fleet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reproduction.answers import NEAR_AZIMUTH, NEAR_TILT, azimuth_error, is_near
from reproduction.artefact import Artefact, Statement, over_subjects
from reproduction.likelihood import plane_data
from sunveil.meters import from_pandas
from sunveil.paper.fit import SEARCH, paper_grid, paper_score
from sunveil.paper.grid_and_bayesian_search import (
    SearchSettings,
    search_bayesian,
    search_exhaustive,
)
from sunveil.plots.style import ACCENT, CONTRAST, SMALL, dress, halo, loose_figure, name_axes
from sunveil.simulate import simulate_fleet
from sunveil.site import Array, Plane

SYSTEMS, SEED, SKY_MINUTES = 20, 2016, 10


@dataclass(frozen=True, slots=True, eq=False)
class SystemSearch:
    """One search for the maximiser of one system's fit score.

    Parameters
    ----------
    truth, maximiser, found
        The system's plane, the exhaustive maximiser, and the best candidate looked at.
    near
        After each observation, whether the best so far lies near the maximiser.
    seen
        After each observation, whether any so far does.
    """

    truth: Plane
    maximiser: Plane
    found: Plane
    near: Array
    seen: Array

    def to_dict(self) -> dict[str, Any]:
        """Return the search as plain JSON types."""
        return {
            "truth": plane_data(self.truth),
            "maximiser": plane_data(self.maximiser),
            "best_looked_at": plane_data(self.found),
            "near": bool(self.near[-1]),
        }


def search_systems(
    settings: SearchSettings, *, systems: int = SYSTEMS, seed: int = SEED
) -> Iterator[SystemSearch]:
    """Yield a search with the given settings for each system of a simulated fleet.

    Parameters
    ----------
    settings
        Of the search.
    systems, seed
        Of the fleet.
    """
    grid = paper_grid()
    for truth, power, weather in simulate_fleet(systems, seed=seed, sky_minutes=SKY_MINUTES):
        score = paper_score(
            from_pandas(power, label="start", power_unit="kW"), weather, to_the_letter=True
        )
        found = search_exhaustive(grid, score)
        run = search_bayesian(grid, score, settings=settings)
        close = is_near(grid, found.best)[run.points]
        yield SystemSearch(
            truth.plane, found.best, run.best, best_so_far(run.scores, close), any_so_far(close)
        )


def best_so_far(scores: Array, flags: Array) -> Array:
    """Return the flag of the highest score so far, the first of equals, after each."""
    top = np.maximum.accumulate(scores)
    new = np.concatenate([[True], scores[1:] > top[:-1]])
    holder = np.maximum.accumulate(np.where(new, np.arange(len(scores)), 0))
    return np.asarray(flags[holder])


def any_so_far(flags: Array) -> Array:
    """Return whether any flag so far is true, after each."""
    return np.asarray(np.logical_or.accumulate(flags))


def fleet_search(
    *,
    systems: int = SYSTEMS,
    seed: int = SEED,
    settings: SearchSettings | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Artefact:
    """Draw the share of a simulated fleet whose maximiser GP-UCB has found, over the steps.

    Parameters
    ----------
    systems, seed
        Of the fleet.
    settings
        Of the search; the library's own when left out.
    progress
        Called with how many systems are done, and how many there are.
    """
    settings = settings or SEARCH
    done: list[SystemSearch] = []
    for search in search_systems(settings, systems=systems, seed=seed):
        done.append(search)
        if progress is not None:
            progress(len(done), systems)
    return _artefact(done, settings, seed)


def truth_statement(found: Artefact) -> Statement:
    """Hold the accuracy of the inference against the truth of a fleet, not its own maximiser.

    Parameters
    ----------
    found
        As :func:`fleet_search` returns it.
    """
    searches = found.data["searches"]

    def off(name: str) -> Array:
        return np.array(
            [
                float(
                    azimuth_error(
                        np.array(each[name]["surface_azimuth"]), each["truth"]["surface_azimuth"]
                    )
                )
                for each in searches
            ]
        )

    maximisers, looked_at = off("maximiser"), off("best_looked_at")
    within = int((maximisers <= NEAR_AZIMUTH).sum())
    median = float(np.median(maximisers))
    paper = "The step of inference by Bayesian optimisation is accurate, validated by azimuth."
    middle = Statement(
        paper,
        f"on {len(searches)} simulated systems of one plane the maximiser's azimuth is off the"
        f" truth by {median:.1f}°, and the best of the candidates that GP-UCB looked at by"
        f" {float(np.median(looked_at)):.1f}°",
        median <= NEAR_AZIMUTH / 2.0,
    )
    nearly_all = Statement(
        paper,
        f"it is off by {NEAR_AZIMUTH:g}° or less on {within} of {len(searches)}, and by"
        f" {float(maximisers.max()):.0f}° at worst",
        within >= 0.9 * len(searches),
    )
    return replace(
        over_subjects([("in the median", middle), ("on nearly all", nearly_all)]),
        why=(
            "It is right in the median and far off on some: those whose planes are flat, and those"
            " whose picked days are not clear. The search finds the maximiser; the maximiser is not"
            " always the plane."
        ),
        section="IV",
        numbers={
            "systems": len(searches),
            "median_azimuth_error": median,
            "within_10_degrees": within,
            "azimuth_errors": maximisers.tolist(),
        },
    )


def _artefact(done: list[SystemSearch], settings: SearchSettings, seed: int) -> Artefact:
    near = np.mean([search.near for search in done], axis=0)
    seen = np.mean([search.seen for search in done], axis=0)
    warm = len(near) - settings.steps
    steps = np.arange(1 - warm, settings.steps + 1)
    found = sum(bool(search.near[-1]) for search in done)
    figure = loose_figure(6.8, 3.4)
    ax = figure.add_subplot()
    dress(ax)
    for values, colour, words in (
        (seen, CONTRAST, "any candidate looked at is near"),
        (near, ACCENT, "the best looked at is near"),
    ):
        ax.step(steps, 100.0 * values, where="post", color=colour, linewidth=1.7, label=words)
    if warm:
        ax.axvspan(1 - warm, 0, color="#F0F0F0", zorder=0.3, linewidth=0)
        halo(ax.text(1.2 - warm, 96.0, "warm start", fontsize=SMALL, rotation=90, va="top"))
    ax.set_xlim(1 - warm, settings.steps)
    ax.set_ylim(0.0, 103.0)
    ax.legend(loc="lower right", frameon=False, fontsize=SMALL)
    name_axes(
        ax,
        x="Steps of GP-UCB",
        y="Systems [%]",
        title=f"Maximiser found to {NEAR_AZIMUTH:g}° of azimuth and {NEAR_TILT:g}° of tilt",
    )
    return Artefact(
        name="fleet-search",
        title="How soon GP-UCB finds the maximiser of a fleet's systems",
        words=(
            f"After {settings.steps} steps and a warm start of {warm}, the best candidate looked at"
            f" lies within {NEAR_AZIMUTH:g}° of azimuth and {NEAR_TILT:g}° of tilt of the"
            f" exhaustive maximiser on {found} of {len(done)} simulated systems."
        ),
        figure=figure,
        data={
            "systems": len(done),
            "seed": seed,
            "steps": settings.steps,
            "warm_start": warm,
            "length_scale": list(settings.kernel.length_scale),
            "found": found,
            "step": steps.tolist(),
            "share_best_is_near": near.tolist(),
            "share_any_is_near": seen.tolist(),
            "searches": [search.to_dict() for search in done],
        },
    )
