"""Options of an inference, and settings of a fleet's run."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from sunveil._options import check_fields, flag, number, one_of, shown
from sunveil.errors import ParameterError
from sunveil.grids import SIZE
from sunveil.meters.reading_options import MeterOptions
from sunveil.site import Losses, Mount


class Clock(StrEnum):
    """What is done about a clock that does not fit the sun."""

    REPAIR = "repair"
    GIVEN = "given"


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What an inference assumes and does.

    Parameters
    ----------
    clock
        ``repair``: test the clock and repair it first; ``given``: take it as declared.
    losses
        What stands between light and meter.
    albedo
        Fraction of global light that the ground sends back.
    mount
        How the modules are mounted, where somebody knows.
    force
        Whether to infer what does not look like generation at its place all the same, flagged.
    """

    clock: Clock = Clock.REPAIR
    losses: Losses = field(default_factory=Losses)
    albedo: float = 0.2
    mount: Mount = Mount.UNKNOWN
    force: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "clock", one_of(Clock, "clock", self.clock))
        check_fields(self)
        if not 0.0 <= self.albedo <= 1.0:
            raise ParameterError(f"albedo must be between 0 and 1, and {self.albedo:g} is not")


SKIES = ("clearsky", "nsrdb", "pvgis")


# The method that estimates are made by. It changes whenever the same readings may give another
# estimate, so that a run which one method began is never ended by another.
ENGINE = "6"


@dataclass(frozen=True, slots=True)
class FleetSettings:
    """What decides the estimates of a fleet, beside its readings.

    Parameters
    ----------
    meters
        How to read the meters; a time zone that is declared here goes before those that the table
        of systems names.
    clock
        ``"repair"`` a clock that does not fit the sun, or take it as ``"given"``.
    losses
        What stands between light and meter.
    albedo
        Share of light that the ground sends back.
    mount
        How the modules are mounted.
    force
        Whether to infer what does not look like generation at its place all the same, flagged.
    weather
        ``"clearsky"``, ``"nsrdb"`` or ``"pvgis"``.
    cell
        Width of a weather cell; systems of one cell share its sky. [degrees]
    part_rows
        About how many readings are worked on at a time: a year of hours of some 250 systems. A
        file is not cut in two below four times as many.
    """

    meters: MeterOptions = field(default_factory=MeterOptions)
    clock: str = "repair"
    losses: Losses = field(default_factory=Losses)
    albedo: float = 0.2
    mount: Mount = Mount.UNKNOWN
    force: bool = False
    weather: str = "clearsky"
    cell: float = SIZE
    part_rows: int = 2_500_000

    def __post_init__(self) -> None:
        check_fields(self)
        if self.weather not in SKIES:
            raise ParameterError(
                f"the weather of a fleet is one of {', '.join(SKIES)}, each at every system's own"
                f" place, and {shown(self.weather)} is not"
            )
        if self.clock not in ("repair", "given"):
            raise ParameterError(
                f"clock must be one of repair, given, and {shown(self.clock)} is not"
            )
        if not 0.0 <= self.albedo <= 1.0:
            raise ParameterError(f"albedo must be between 0 and 1, and {self.albedo:g} is not")
        if not 0.01 <= self.cell <= 1.0:
            raise ParameterError(f"cell must be 0.01 to 1 degrees wide, and {self.cell:g} is not")
        if self.part_rows < 1:
            raise ParameterError("a part has at least one reading")

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain JSON types; keys of servers are never among them."""
        meters = {
            name: None if value is None else value if isinstance(value, bool) else str(value)
            for name, value in (
                (name, getattr(self.meters, name)) for name in self.meters.__slots__
            )
        }
        return {
            "meters": meters,
            "clock": self.clock,
            "system_losses": self.losses.system,
            "inverter_efficiency": self.losses.inverter_efficiency,
            "gamma_pdc_per_degC": self.losses.gamma_pdc,
            "albedo": self.albedo,
            "mount": self.mount.value,
            "force": self.force,
            "weather": self.weather,
            "cell_degrees": self.cell,
            "part_rows": self.part_rows,
        }


class DayGroup(StrEnum):
    """How days are put into groups; by ``day``, each is one of its own."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"


class Search(StrEnum):
    """How the maximiser of a score is looked for."""

    EXHAUSTIVE = "exhaustive"
    BAYESOPT = "bayesopt"


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
