"""What privacy costs in accuracy, over a wide range of ε and δ: figure 6."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from reproduction.answers import (
    ExpectedAnswer,
    InformativeRange,
    at_best,
    at_chance,
    expected_answer,
    informative_range,
    normalised_rmse,
    short_number,
)
from reproduction.artefact import Artefact
from reproduction.experiment import DELTA, EPSILON, Experiment
from reproduction.likelihood import plane_data
from sunveil.grids import Grid
from sunveil.paper.dpbo import DPBO, Bound
from sunveil.plots.style import (
    CONTRAST,
    INK,
    QUIET,
    SMALL,
    dress,
    halo,
    loose_figure,
    mark_private,
    name_axes,
)
from sunveil.site import Array, Plane

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EPSILONS = np.logspace(-2.0, 6.0, 97)
DELTAS = (1e-10, 1e-6, 1e-3, 0.1, 0.5)
# Every so many of the ε are also done the paper's way, by draws.
SAMPLED = 8
SEED = 2016
# How far the zoom reaches about where lines lie furthest apart, and up to which ε it looks.
ZOOM_DECADES, LARGEST_ZOOMED = 0.4, 1e4
# From light to dark as δ grows; the paper's own in a colour that stands out.
LOOKS = {1e-10: "#B9D3EA", 1e-6: "#7FAFD6", 1e-3: "#3F86BC", 0.1: CONTRAST, 0.5: "#08306B"}


@dataclass(frozen=True, slots=True, eq=False)
class TradeoffCurve:
    """What is to be expected of an answer against ε, at one δ.

    Parameters
    ----------
    delta, bound
        Of the mechanism.
    epsilons
        Where it was computed.
    answers
        One entry per ε.
    """

    delta: float
    bound: Bound
    epsilons: Array
    answers: tuple[ExpectedAnswer, ...]

    def of(self, name: str) -> Array:
        """Return one measure along the curve, by its name in :class:`ExpectedAnswer`."""
        return np.array([getattr(answer, name) for answer in self.answers])

    def to_dict(self) -> dict[str, Any]:
        """Return the curve as plain JSON types."""
        return {
            "delta": self.delta,
            "bound": self.bound.value,
            "epsilon": self.epsilons.tolist(),
            "answers": [answer.to_dict() for answer in self.answers],
        }


def exact_curve(
    experiment: Experiment,
    *,
    delta: float = DELTA,
    bound: Bound = Bound.APPENDIX,
    epsilons: Array = EPSILONS,
) -> TradeoffCurve:
    """Return the expectations of one answer against ε, exactly from the probabilities.

    Parameters
    ----------
    experiment
        The system and its searches.
    delta, bound
        Of the mechanism.
    epsilons
        Where to compute it.
    """
    grid, target = experiment.exhaustive.grid, experiment.exhaustive.best
    posterior = experiment.posterior
    answers = tuple(
        expected_answer(grid, DPBO(float(epsilon), delta, bound).probabilities(posterior), target)
        for epsilon in epsilons
    )
    return TradeoffCurve(delta, bound, epsilons, answers)


def sampled_rmse(experiment: Experiment, *, delta: float, draws: int) -> Array:
    """Return the normalised RMSE the paper's way: of the mean of some draws, at fewer ε.

    Parameters
    ----------
    experiment
        The system and its searches.
    delta
        Of the mechanism; one of ``DELTAS``.
    draws
        How many draws the mean is of, at each ε.
    """
    grid, target = experiment.exhaustive.grid, experiment.exhaustive.best
    rng = np.random.default_rng([SEED, DELTAS.index(delta)])
    found = []
    for epsilon in EPSILONS[::SAMPLED]:
        drawn = DPBO(float(epsilon), delta).simulate(experiment.posterior, draws, rng=rng)
        azimuth, tilt = grid.surface_azimuth[drawn].mean(), grid.surface_tilt[drawn].mean()
        found.append(normalised_rmse(float(azimuth), float(tilt), target=target))
    return np.array(found)


def chance_rmse(grid: Grid, planes: dict[str, Plane]) -> dict[str, Any]:
    """Return the normalised RMSE that an answer without any information has, by the true plane.

    Its expected answer is the middle of the grid, whatever the readings: the error measures how
    far from the middle a system happens to face, and nothing of the mechanism.
    """
    return {
        words: {**(plane_data(plane) or {}), "normalised_rmse": at_chance(grid, plane).rmse}
        for words, plane in planes.items()
    }


def privacy_tradeoff(experiment: Experiment, *, draws: int) -> Artefact:
    """Draw the error of DP-BO's answers against ε for several δ: figure 6 and what it leaves out.

    Parameters
    ----------
    experiment
        The system and its searches.
    draws
        How many draws the expected answer is estimated from, where it is done the paper's way.
    """
    grid, target = experiment.exhaustive.grid, experiment.exhaustive.best
    curves = [exact_curve(experiment, delta=delta) for delta in DELTAS]
    other = exact_curve(experiment, bound=Bound.ALGORITHM_2)
    sampled = {delta: sampled_rmse(experiment, delta=delta, draws=draws) for delta in DELTAS}
    found, chance = informative_range(experiment), at_chance(grid, target)
    best = at_best(grid, experiment.posterior, target)
    figure = loose_figure(10.0, 7.2)
    (first, zoomed), (second, third) = figure.subplots(2, 2)
    panels = (first, second, third)
    for ax, (name, title, unit) in zip(panels, MEASURES, strict=True):
        _draw_panel(ax, [*curves, other], name)
        _draw_levels(ax, getattr(chance, name), getattr(best, name))
        most = max(float(curve.of(name).max()) for curve in curves)
        # room for what is written above the lines
        ax.set_ylim(0.0, 1.24 * max(most, getattr(chance, name)))
        _draw_band(ax, found)
        name_axes(ax, x="Privacy parameter ε", y=unit, title=title)
    zoom = _draw_zoom(zoomed, curves)
    _draw_sampled(panels[0], sampled, draws)
    _draw_words(panels, found)
    if experiment.subject.private:
        mark_private(panels[0])
    planes = {"this system": target, "south at 45 degrees": Plane(180.0, 45.0)}
    by_chance = chance_rmse(grid, planes)
    south = by_chance["south at 45 degrees"]["normalised_rmse"]
    return Artefact(
        name="6-privacy-tradeoff",
        title="Error of DP-BO's answers against ε and δ (figure 6)",
        words=(
            f"{_range_words(found)} At the paper's ε = {EPSILON:g} the error is that of chance. The"
            f" expected answer of chance is the middle of the grid, ({chance.azimuth:.1f}°,"
            f" {chance.tilt:.1f}°), so that the paper's measure shows {chance.rmse:.3f} for this"
            f" system without any information, and would show {south:.3f} for one that faces south"
            " at 45°; the error of a single answer, in the lower panels, is not fooled. The zoom"
            f" shows the order by δ, which is {'' if zoom else 'not '}the paper's there; at the"
            " paper's ε the lines lie closer than draws can tell."
        ),
        figure=figure,
        data={
            "private": experiment.subject.private,
            "draws": draws,
            "seed": SEED,
            "maximiser": plane_data(target),
            "chance": chance.to_dict(),
            "epsilon_infinity": best.to_dict(),
            "information_at_delta_0.1": found.to_dict(),
            "chance_rmse_by_plane": by_chance,
            "curves": [curve.to_dict() for curve in (*curves, other)],
            "sampled": {
                "epsilon": EPSILONS[::SAMPLED].tolist(),
                "normalised_rmse": {f"{key:g}": value.tolist() for key, value in sampled.items()},
            },
        },
    )


MEASURES = (
    ("rmse", "RMSE of the expected answer", "Normalised RMSE"),
    ("azimuth_error", "Azimuth error of an answer", "Expected error [°]"),
    ("tilt_error", "Tilt error of an answer", "Expected error [°]"),
)


def _range_words(found: InformativeRange) -> str:
    if found.first is None or found.last is None:
        return "No range of ε was found in which the mechanism carries information."
    return (
        f"At δ = {DELTA:g} the mechanism carries information from ε = {short_number(found.first)},"
        f" where the azimuth error has come 5% of the way down from chance, to ε ="
        f" {short_number(found.last)}, where 95% of the way is done."
    )


def _draw_panel(ax: Axes, curves: list[TradeoffCurve], name: str) -> None:
    dress(ax)
    for curve in curves:
        second = curve.bound is Bound.ALGORITHM_2
        front = curve.delta == DELTA
        ax.plot(
            curve.epsilons,
            curve.of(name),
            color=INK if second else LOOKS[curve.delta],
            linestyle=(0, (2, 1.6)) if second else "-",
            linewidth=1.2 if second else 1.9 if front else 1.3,
            zorder=3 if second else 2.8 if front else 2.5,
            label=f"{curve.delta:g}, bound of algorithm 2" if second else f"{curve.delta:g}",
        )
    ax.set_xscale("log")
    ax.set_xlim(EPSILONS[0], EPSILONS[-1])
    ax.set_xticks([1e-2, 1.0, 1e2, 1e4, 1e6])
    ax.axvline(EPSILON, color=QUIET, linewidth=0.8, linestyle=(0, (3, 2)), zorder=1.6)


def _draw_zoom(ax: Axes, curves: list[TradeoffCurve]) -> bool:
    """Draw the RMSE where the lines lie apart, and return whether they fall with δ there."""
    dress(ax)
    rmse = np.array([curve.of("rmse") for curve in curves])
    epsilons = curves[0].epsilons
    within = epsilons <= LARGEST_ZOOMED
    apart = np.where(within, np.ptp(rmse, axis=0), 0.0)
    widest = int(apart.argmax())
    shown = np.abs(np.log10(epsilons / epsilons[widest])) <= ZOOM_DECADES
    for curve, values in zip(curves, rmse, strict=True):
        ax.plot(
            epsilons[shown],
            values[shown],
            color=LOOKS[curve.delta],
            linewidth=1.9 if curve.delta == DELTA else 1.4,
            label=f"δ = {curve.delta:g}",
        )
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_formatter("{x:g}")
    ax.tick_params(which="minor", labelsize=SMALL)
    ax.legend(loc="best", frameon=False, fontsize=SMALL, labelcolor=INK)
    name_axes(
        ax,
        x="Privacy parameter ε",
        y="Normalised RMSE",
        title="The same, where the lines by δ lie furthest apart",
    )
    return bool((np.diff(rmse[:, widest]) < 0.0).all())


def _draw_levels(ax: Axes, chance: float, best: float) -> None:
    """Mark what chance gives and what is left without any privacy."""
    for level, words, above in ((chance, "chance", True), (best, "ε = ∞", False)):
        ax.axhline(level, color=QUIET, linewidth=0.9, zorder=1.4)
        halo(
            ax.annotate(
                words,
                (EPSILONS[-1] if above else EPSILON, level),
                xytext=(-3 if above else 4, 3),
                textcoords="offset points",
                ha="right" if above else "left",
                fontsize=SMALL,
                color=QUIET,
            )
        )


def _draw_band(ax: Axes, found: InformativeRange) -> None:
    if found.first is not None and found.last is not None:
        ax.axvspan(found.first, found.last, color="#FBF3DC", zorder=0.3, linewidth=0)


def _draw_sampled(ax: Axes, sampled: dict[float, Array], draws: int) -> None:
    for delta, values in sampled.items():
        ax.plot(
            EPSILONS[::SAMPLED],
            values,
            linestyle="none",
            marker="o",
            markersize=3.6,
            color=LOOKS[delta],
            markeredgecolor="white",
            markeredgewidth=0.4,
            zorder=3.2,
            label=f"{delta:g}, mean of {draws:,} draws" if delta == DELTA else None,
        )


def _draw_words(panels: tuple[Axes, ...], found: InformativeRange) -> None:
    """Name the lines beneath the panels, and the band and the paper's ε in the second."""
    handles, labels = panels[0].get_legend_handles_labels()
    legend = panels[0].figure.legend(
        handles,
        labels,
        loc="outside lower left",  # the right corner may say that the figure is private
        ncols=len(handles),
        frameon=False,
        fontsize=SMALL,
        title="δ",
        title_fontsize=SMALL,
        labelcolor=INK,
        handlelength=1.6,
        columnspacing=1.4,
    )
    legend.get_title().set_color(INK)
    ax = panels[1]
    style: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "fontsize": SMALL}
    text = ax.text(EPSILON * 1.25, 0.3, "paper's ε", rotation=90, color=QUIET, **style)
    halo(text)
    if found.first is None or found.last is None:
        return
    ax.text(
        _inside(float(np.sqrt(found.first * found.last))),
        0.985,
        f"carries information:\nε from {short_number(found.first)} to {short_number(found.last)}",
        ha="center",
        va="top",
        color=INK,
        **style,
    )


def _inside(epsilon: float) -> float:
    """Return the ε nearest to one at which words still fit between the panel's sides."""
    return float(np.clip(epsilon, EPSILONS[0] * 10.0**2.6, EPSILONS[-1] / 10.0**2.6))
