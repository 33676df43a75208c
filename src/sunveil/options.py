"""What an inference assumes and does."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from sunveil.arguments import check_fields, flag, number, one_of
from sunveil.engine import EngineOptions
from sunveil.engine.assumed import Clock
from sunveil.profiles import DayGroup
from sunveil.search import Search
from sunveil.site import Losses, Mount


class Method(StrEnum):
    """How the plane is inferred."""

    DEFAULT = "default"
    PAPER = "paper"


@dataclass(frozen=True, slots=True)
class Options:
    """What an inference assumes and does.

    Parameters
    ----------
    method
        ``default``: agreement over all readings and a robust refinement; ``paper``: the paper's.
    clock
        ``repair``: test the clock and repair it first; ``given``: take it as declared.
    losses
        What stands between light and meter.
    albedo
        Fraction of global light that the ground sends back.
    group
        How the paper's method groups days.
    search
        How the paper's method looks for its maximiser: ``exhaustive`` over all 32,400 planes, or
        ``bayesopt``, at most 110 of them chosen by GP-UCB.
    mount
        How the modules are mounted, where somebody knows: hot modules give less, so it matters for
        the capacity.
    force
        Whether to infer what does not look like generation at its place all the same, flagged.
    """

    method: Method = Method.DEFAULT
    clock: Clock = Clock.REPAIR
    losses: Losses = field(default_factory=Losses)
    albedo: float = 0.2
    group: DayGroup = DayGroup.MONTH
    search: Search = Search.EXHAUSTIVE
    mount: Mount = Mount.UNKNOWN
    force: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        number("albedo", self.albedo, low=0.0, high=1.0)
        flag("force", self.force)

    @classmethod
    def of(
        cls,
        *,
        method: str = "default",
        clock: str = "repair",
        losses: Losses | float | None = None,
        albedo: float = 0.2,
        group: str = "month",
        search: str = "exhaustive",
        mount: str = "unknown",
        force: bool = False,
    ) -> Options:
        """Return options given by their names; the parameters are those of the class.

        Parameters
        ----------
        method, clock, group, search, mount
            Names of what the class has as enumerations.
        losses
            Losses, the fraction that the system loses, or None for the assumed ones.
        albedo
            Fraction of global light that the ground sends back.
        force
            Whether to infer what does not look like generation.
        """
        return cls(
            method=one_of(Method, "method", method),
            clock=one_of(Clock, "clock", clock),
            losses=Losses.of(losses),
            albedo=albedo,
            group=one_of(DayGroup, "group", group),
            search=one_of(Search, "search", search),
            mount=one_of(Mount, "mount", mount),
            force=force,
        )

    @property
    def engine(self) -> EngineOptions:
        """What of them the engine takes."""
        return EngineOptions(self.clock, self.losses, self.albedo, self.mount, self.force)
