"""Everything that is audited, on simulated records: each mechanism, each unit, each way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from sunveil.errors import ParameterError
from sunveil.meters.record import Record
from sunveil.paper import paper_score
from sunveil.privacy.audit import (
    FEWEST_DRAWS,
    ExactAudit,
    ExactFinding,
    SamplerFinding,
    audit_exact,
    audit_sampler,
)
from sunveil.privacy.counting import DiscreteGaussian, DiscreteLaplace
from sunveil.privacy.dpbo import DPBO, PosteriorScore
from sunveil.privacy.guarantee import check_release_epsilon
from sunveil.privacy.independence import IndependenceFinding, audit_independence
from sunveil.privacy.mechanisms import Exponential, PermuteAndFlip
from sunveil.privacy.noise_audit import NoiseNeighbours, audit_noise
from sunveil.privacy.score import Score
from sunveil.privacy.units import Days, Readings, System, Unit
from sunveil.privacy.window import Window, best_window
from sunveil.releases.frame import Frame
from sunveil.releases.neighbours import SMALL, Setting, make_setting, neighbour_pairs
from sunveil.releases.release import DELTA, posterior
from sunveil.releases.replay import make_replay
from sunveil.releases.score import placement, unit_score
from sunveil.releases.worth import VOTE_RULES
from sunveil.scores import Capacities
from sunveil.weather import WeatherCache

PAIRS, DRAWS = 2000, 1000
FEWEST_PAIRS, MOST_PAIRS = 40, 10_000_000
MOST_DRAWS = 10_000_000
# Of the pairs, every so many are of readings that are averaged first, go through a whole replay, or
# are shown to the paper's mechanism, a pair of which takes a second.
FINE, REPLAYED, PAPER = 4, 40, 500
FEWEST_PAPER, MOST_PAPER = 2, 40
FEWEST_REPLAYED = 11
FINE_MINUTES = 5.0
# Records of audits are short and worth one vote; the fine ones vote as long records do.
MANY_VOTES = replace(SMALL, thresholds=VOTE_RULES[-1].thresholds, fewest=VOTE_RULES[-1].fewest)
# Net meters have a frame of their own; every so many pairs are of them.
NET = replace(SMALL.for_meter(net=True), capacities=Capacities(1.0, 30.0, 0.3))
NET_NAME = "net meters"
UNITS = (Readings(1), Days(1))

Given = TypeVar("Given")
Pairs = Iterable[tuple[Record, Record]]
# Hands pairs on, and shows how far along the work on so many of them is.
Watch = Callable[[Pairs, str, int], Pairs]


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit found.

    Parameters
    ----------
    epsilon, seed
        What it was run with.
    exact
        Of every mechanism and unit.
    samplers
        Of every mechanism and unit that is drawn from.
    independence
        Of every unit.
    """

    epsilon: float
    seed: int
    exact: tuple[ExactFinding, ...]
    samplers: tuple[SamplerFinding, ...]
    independence: tuple[IndependenceFinding, ...]

    @property
    def holds(self) -> bool:
        """Whether everything holds that must."""
        exact = all(each.holds for each in self.exact if each.required)
        drawn = all(each.holds for each in self.samplers)
        return exact and drawn and all(each.holds for each in self.independence)

    @property
    def pairs(self) -> int:
        """How many pairs there were for claims that must hold; all mechanisms see the same."""
        required = (each for each in self.exact if each.required)
        return sum(
            {(each.unit, NET_NAME in each.mechanism): each.pairs for each in required}.values()
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as plain JSON types."""
        return {
            "epsilon": self.epsilon,
            "seed": self.seed,
            "holds": self.holds,
            "pairs": self.pairs,
            "exact": [each.to_dict() for each in self.exact],
            "samplers": [each.to_dict() for each in self.samplers],
            "independence": [each.to_dict() for each in self.independence],
        }


def run_audit(
    *,
    epsilon: float = 1.0,
    pairs: int = PAIRS,
    draws: int = DRAWS,
    seed: int = 1,
    watch: Watch | None = None,
    cache: WeatherCache | None = None,
) -> Audit:
    """Audit every mechanism for every unit.

    Parameters
    ----------
    epsilon
        The claim.
    pairs
        Pairs of neighbours for each unit.
    draws
        Draws for each test of a sampler.
    seed
        The same seed gives the same pairs; draws cannot be seeded.
    watch
        Shows how far along it is.
    cache
        Where clear skies are kept.
    """
    check_release_epsilon(epsilon)
    _check_count("pairs", pairs, FEWEST_PAIRS, MOST_PAIRS)
    _check_count("draws", draws, FEWEST_DRAWS, MOST_DRAWS)
    _check_count("seed", seed, 0, 2**32 - 1)
    stage = _Stage(
        make_setting(epsilon=epsilon, seed=seed, cache=cache),
        make_setting(
            epsilon=epsilon,
            interval_minutes=FINE_MINUTES,
            measured=True,
            seed=seed,
            choices=MANY_VOTES,
            cache=cache,
        ),
        make_setting(epsilon=epsilon, seed=seed, choices=NET, cache=cache),
        epsilon=epsilon,
        pairs=pairs,
        seed=seed,
        watch=watch or (lambda pairs, doing, total: pairs),
    )
    paper = DPBO(epsilon, DELTA)
    belief = _belief(stage.hourly, DELTA)
    return Audit(
        epsilon=epsilon,
        seed=seed,
        exact=(
            *(found for unit in UNITS for found in _exact_scores(stage, unit, epsilon)),
            *(found for unit in UNITS for found in _exact_net(stage, unit, epsilon)),
            _exact_window(stage, epsilon),
            _exact_paper(stage, paper, belief),
        ),
        samplers=tuple(_samplers(stage, epsilon, draws, paper=paper, belief=belief)),
        independence=tuple(_independence(stage, epsilon, cache)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Stage:
    """Where an audit takes place: records scored as they are, averaged, and of net meters."""

    hourly: Setting
    fine: Setting
    net: Setting
    epsilon: float
    pairs: int
    seed: int
    watch: Watch

    def show(
        self, setting: Setting, unit: Unit, score: Callable[[Frame, Record], Given], *, pairs: int
    ) -> Iterator[tuple[Given, Given]]:
        """Yield what a mechanism takes for neighbours, made once for a record with many."""
        made = neighbour_pairs(setting, unit, pairs=pairs, seed=self.seed)
        frame = setting.frame.settled(unit, self.epsilon)
        base: tuple[Record, Given] | None = None
        for record, neighbour in self.watch(made, f"pairs for {unit}", pairs):
            if base is None or base[0] is not record:
                base = record, score(frame, record)
            yield base[1], score(frame, neighbour)

    def show_all(
        self, unit: Unit, score: Callable[[Frame, Record], Given]
    ) -> Iterator[tuple[Given, Given]]:
        """Yield the same for all settings."""
        fine = self.pairs // FINE
        yield from self.show(self.hourly, unit, score, pairs=self.pairs - fine)
        yield from self.show(self.fine, unit, score, pairs=fine)


def _exact_scores(stage: _Stage, unit: Readings | Days, epsilon: float) -> list[ExactFinding]:
    """Show the same pairs to both mechanisms that take scores."""
    return _shown(stage.show_all(unit, partial(unit_score, unit=unit)), epsilon)


def _exact_net(stage: _Stage, unit: Readings | Days, epsilon: float) -> list[ExactFinding]:
    """Show pairs of net meters to both mechanisms that take scores."""
    score = partial(unit_score, unit=unit)
    pairs = stage.show(stage.net, unit, score, pairs=stage.pairs // FINE)
    return _shown(pairs, epsilon, of=f", {NET_NAME}")


def _shown(
    pairs: Iterable[tuple[Score, Score]], epsilon: float, *, of: str = ""
) -> list[ExactFinding]:
    audits = (
        ExactAudit(PermuteAndFlip(epsilon), name=f"permute-and-flip{of}"),
        ExactAudit(Exponential(epsilon), name=f"exponential{of}"),
    )
    for first, second in pairs:
        for audit in audits:
            audit.add_pair(first, second)
    return [audit.finding() for audit in audits]


def _exact_window(stage: _Stage, epsilon: float) -> ExactFinding:
    pairs = stage.show_all(System(), placement)
    return audit_exact(_window(stage, epsilon), pairs, name="window")


def _exact_paper(stage: _Stage, paper: DPBO, belief: PosteriorScore) -> ExactFinding:
    """Show the paper's mechanism a few pairs that differ in a reading of a prototypical day."""
    hourly = stage.hourly
    whole = replace(hourly, fitted=(), simulated=hourly.simulated[:1], sparse=(), flat=())
    days = paper_score(hourly.record(hourly.simulated[0]), hourly.frame.weather).days
    half = np.timedelta64(round(hourly.interval_minutes * 30.0), "s")
    among = np.isin(hourly.times + half, np.concatenate([day.times for day in days]))
    among &= np.repeat(hourly.frame.lit, hourly.ratio)
    count = min(max(stage.pairs // PAPER, FEWEST_PAPER), MOST_PAPER)
    made = neighbour_pairs(whole, Readings(1), pairs=count, seed=stage.seed, among=among)
    pairs = (
        (belief, posterior(neighbour, hourly.frame.weather, delta=paper.delta))
        for _, neighbour in stage.watch(made, "pairs for the paper's mechanism", count)
    )
    return audit_exact(paper, pairs, name="paper")


def _belief(setting: Setting, delta: float) -> PosteriorScore:
    """Return what the paper's mechanism takes for a whole simulated record."""
    return posterior(setting.record(setting.simulated[0]), setting.frame.weather, delta=delta)


def _samplers(
    stage: _Stage, epsilon: float, draws: int, *, paper: DPBO, belief: PosteriorScore
) -> Iterator[SamplerFinding]:
    """Draw for a simulated record with most of its readings missing, which has no clear winner."""
    setting = stage.hourly
    frame, record = setting.frame, setting.record(setting.sparse[-1])
    for unit in UNITS:
        score = unit_score(frame.settled(unit, epsilon), record, unit)
        yield audit_sampler(PermuteAndFlip(epsilon), score, draws, name="permute-and-flip")
        yield audit_sampler(Exponential(epsilon), score, draws, name="exponential")
    placed = placement(frame, record)
    yield audit_sampler(_window(stage, epsilon), placed, draws, name="window")
    yield audit_sampler(paper, belief, draws, name="paper")
    row = NoiseNeighbours(2, 1).sensitivity
    yield audit_noise(DiscreteLaplace(epsilon), row, draws, name="discrete-laplace")
    yield audit_noise(DiscreteGaussian(epsilon**2 / 2.0), row, draws, name="discrete-gaussian")


def _independence(
    stage: _Stage, epsilon: float, cache: WeatherCache | None
) -> Iterator[IndependenceFinding]:
    """ReleaseReplay releases of both kinds of readings for every unit."""
    pairs = max(stage.pairs // REPLAYED, FEWEST_REPLAYED)
    for setting, name in (
        (stage.hourly, "hourly readings, clear sky"),
        (stage.fine, f"readings every {FINE_MINUTES:g} minutes, measured weather"),
        (stage.net, NET_NAME),
    ):
        for unit in (*UNITS, System()):
            made = neighbour_pairs(setting, unit, pairs=pairs, seed=stage.seed)
            watched = stage.watch(made, f"replays for {unit}", pairs)
            replay = make_replay(setting, unit, epsilon=epsilon, cache=cache)
            yield audit_independence(replay, watched, unit=unit, name=name)


def _window(stage: _Stage, epsilon: float) -> Window:
    return best_window(epsilon, stage.hourly.frame.choices.axes())


def _check_count(what: str, count: object, least: int, most: int) -> None:
    whole = isinstance(count, int) and not isinstance(count, bool)
    if not whole or not least <= count <= most:  # type: ignore[operator]
        raise ParameterError(
            f"{what} must be a whole number from {least} to {most:,}, and {count!r} is not"
        )
