"""Everything that is audited, on simulated records: each mechanism, each unit, each way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from sunveil.errors import ParameterError
from sunveil.meters.record import Record
from sunveil.privacy.audit import (
    FEWEST,
    ExactAudit,
    ExactFinding,
    SamplerFinding,
    audit_sampler,
)
from sunveil.privacy.dpbo import DPBO, PosteriorScore
from sunveil.privacy.guarantee import check_release_epsilon
from sunveil.privacy.independence import IndependenceFinding, audit_independence
from sunveil.privacy.mechanisms import Exponential, PermuteAndFlip
from sunveil.privacy.score import Placement, Score
from sunveil.privacy.units import Days, Readings, System
from sunveil.privacy.window import Window, best_window
from sunveil.releases.neighbours import Setting, make_setting, neighbour_pairs
from sunveil.releases.release import DELTA, posterior
from sunveil.releases.replay import make_replay
from sunveil.releases.score import placement, unit_score
from sunveil.weather import WeatherCache

PAIRS, DRAWS = 3000, 1000
FEWEST_PAIRS, MOST_PAIRS = 40, 10_000_000
FEWEST_DRAWS, MOST_DRAWS = int(2 * FEWEST), 10_000_000
# Of the pairs, every so many are of readings that are averaged first, go through a whole replay, or
# are shown to the paper's mechanism, a pair of which takes a second.
FINE, REPLAYED, PAPER = 4, 40, 500
FEWEST_PAPER, MOST_PAPER = 3, 40
FINE_MINUTES = 5.0
UNITS = (Readings(1), Days(1))


class Watch(Protocol):
    """Shows how far along a piece of work is, and hands its items on."""

    def __call__(
        self, items: Iterable[tuple[Record, Record]], doing: str, total: int, /
    ) -> Iterable[tuple[Record, Record]]:
        """Return the items."""


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
        """How many pairs the mechanisms that must hold were shown."""
        return sum(each.pairs for each in self.exact if each.required)

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
            epsilon=epsilon, interval_minutes=FINE_MINUTES, measured=True, seed=seed, cache=cache
        ),
        pairs=pairs,
        seed=seed,
        watch=watch or _unwatched,
    )
    paper = DPBO(epsilon, DELTA)
    return Audit(
        epsilon=epsilon,
        seed=seed,
        exact=(
            *(found for unit in UNITS for found in _exact_scores(stage, unit, epsilon)),
            _exact_window(stage, epsilon),
            _exact_paper(stage, paper),
        ),
        samplers=tuple(_samplers(stage, epsilon, paper, draws)),
        independence=tuple(
            _independence(stage, unit, epsilon, cache) for unit in (*UNITS, System())
        ),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Stage:
    """Where an audit takes place: records that are scored as they are, and that are averaged."""

    hourly: Setting
    fine: Setting
    pairs: int
    seed: int
    watch: Watch

    def of(
        self, unit: Readings | Days | System, pairs: int, doing: str
    ) -> Iterator[tuple[Setting, Record, Record]]:
        """Yield pairs with their setting."""
        shares = ((self.hourly, pairs - pairs // FINE), (self.fine, pairs // FINE))
        for setting, share in shares:
            made = neighbour_pairs(setting, unit, pairs=share, seed=self.seed)
            for record, neighbour in self.watch(made, doing, share):
                yield setting, record, neighbour


def _unwatched(
    items: Iterable[tuple[Record, Record]], doing: str, total: int, /
) -> Iterable[tuple[Record, Record]]:
    del doing, total
    return items


def _exact_scores(stage: _Stage, unit: Readings | Days, epsilon: float) -> list[ExactFinding]:
    """Show the same pairs to both mechanisms that take scores."""
    audits = (
        ExactAudit(PermuteAndFlip(epsilon), name="permute-and-flip"),
        ExactAudit(Exponential(epsilon), name="exponential"),
    )
    base: tuple[Record, Score] | None = None
    for setting, record, neighbour in stage.of(unit, stage.pairs, f"pairs for {unit}"):
        if base is None or base[0] is not record:
            base = record, unit_score(setting.frame, record, unit)
        theirs = unit_score(setting.frame, neighbour, unit)
        for audit in audits:
            audit.look(base[1], theirs)
    return [audit.finding() for audit in audits]


def _exact_window(stage: _Stage, epsilon: float) -> ExactFinding:
    audit: ExactAudit[Placement] = ExactAudit(_window(stage, epsilon), name="window")
    base: tuple[Record, Placement] | None = None
    for setting, record, neighbour in stage.of(System(), stage.pairs, f"pairs for {System()}"):
        if base is None or base[0] is not record:
            base = record, placement(setting.frame, record)
        audit.look(base[1], placement(setting.frame, neighbour))
    return audit.finding()


def _exact_paper(stage: _Stage, paper: DPBO) -> ExactFinding:
    """Show a few pairs, of whole simulated records, to the paper's mechanism."""
    audit: ExactAudit[PosteriorScore] = ExactAudit(paper, name="paper")
    setting = stage.hourly
    count = min(max(stage.pairs // PAPER, FEWEST_PAPER), MOST_PAPER)
    simulated = Setting(setting.frame, setting.interval_minutes, (setting.simulated[0],))
    made = neighbour_pairs(simulated, Readings(1), pairs=count, seed=stage.seed)
    first: PosteriorScore | None = None
    for record, neighbour in stage.watch(made, "pairs for the paper's mechanism", count):
        first = first or posterior(record, setting.frame.weather, delta=paper.delta)
        audit.look(first, posterior(neighbour, setting.frame.weather, delta=paper.delta))
    return audit.finding()


def _samplers(
    stage: _Stage, epsilon: float, paper: DPBO, draws: int
) -> Iterator[SamplerFinding]:
    """Draw for a simulated record with most of its readings missing, which has no clear winner."""
    setting = stage.hourly
    frame, record = setting.frame, setting.record(setting.sparse[0])
    for unit in UNITS:
        score = unit_score(frame, record, unit)
        yield audit_sampler(PermuteAndFlip(epsilon), score, draws, name="permute-and-flip")
        yield audit_sampler(Exponential(epsilon), score, draws, name="exponential")
    window = _window(stage, epsilon)
    yield audit_sampler(window, placement(frame, record), draws, name="window")
    whole = setting.record(setting.simulated[0])
    score_of_paper = posterior(whole, frame.weather, delta=paper.delta)
    yield audit_sampler(paper, score_of_paper, draws, name="paper")


def _independence(
    stage: _Stage, unit: Readings | Days | System, epsilon: float, cache: WeatherCache | None
) -> IndependenceFinding:
    pairs = max(stage.pairs // REPLAYED, FEWEST_PAIRS)
    parts = []
    for setting, share in ((stage.hourly, pairs - pairs // 2), (stage.fine, pairs // 2)):
        made = neighbour_pairs(setting, unit, pairs=share, seed=stage.seed)
        replay = make_replay(setting, unit, epsilon=epsilon, cache=cache)
        watched = stage.watch(made, f"replays for {unit}", share)
        parts.append(audit_independence(replay, watched, unit=str(unit)))
    return parts[0] + parts[1]


def _window(stage: _Stage, epsilon: float) -> Window:
    return best_window(epsilon, stage.hourly.frame.choices.axes())


def _check_count(what: str, count: object, least: int, most: int) -> None:
    whole = isinstance(count, int) and not isinstance(count, bool)
    if not whole or not least <= count <= most:  # type: ignore[operator]
        raise ParameterError(
            f"{what} must be a whole number from {least} to {most:,}, and {count!r} is not"
        )
