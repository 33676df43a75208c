"""InferOptions: what an inference assumes and does."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, TypedDict

from sunveil._options import Option, check_options, documented
from sunveil.meters.reading_options import MeterKeywords
from sunveil.site import Losses, Mount

# The method that estimates are made by. It changes whenever the same readings may give another
# estimate, so that a run which one method began is never ended by another.
ENGINE = "6"


class Clock(StrEnum):
    """What is done about a clock that does not fit the sun."""

    REPAIR = "repair"
    GIVEN = "given"


class DayGroup(StrEnum):
    """How days are put into groups; by ``day``, each is one of its own."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"


class Search(StrEnum):
    """How the maximiser of a score is searched for."""

    EXHAUSTIVE = "exhaustive"
    BAYESOPT = "bayesopt"


class Method(StrEnum):
    """How the plane is inferred."""

    DEFAULT = "default"
    PAPER = "paper"


@documented
@dataclass(frozen=True, slots=True)
class InferOptions:
    """What an inference assumes and does."""

    method: Annotated[
        Method,
        Option(
            "Method: default (all readings and a robust refinement) or paper (the method of the"
            " paper)."
        ),
    ] = Method.DEFAULT
    clock: Annotated[
        Clock, Option("Repair a clock that does not fit the sun, or use it as given.")
    ] = Clock.REPAIR
    losses: Annotated[
        Losses,
        Option(
            "Losses between the light on the modules and the meter: a fraction, or Losses, which"
            " also has the inverter efficiency and the temperature coefficient."
        ),
    ] = field(default_factory=Losses)
    albedo: Annotated[
        float, Option("Fraction of light that the ground reflects.", low=0.0, high=1.0)
    ] = 0.2
    group: Annotated[DayGroup, Option("Grouping of days of method `paper`.")] = DayGroup.MONTH
    search: Annotated[
        Search,
        Option(
            "Search of method `paper`: exhaustive (all 32,400 orientations) or bayesopt (at most"
            " 110 of them, chosen by GP-UCB)."
        ),
    ] = Search.EXHAUSTIVE
    mount: Annotated[
        Mount,
        Option(
            "How the modules are mounted. Hot modules give less power, so a known mount narrows the"
            " interval of the capacity."
        ),
    ] = Mount.UNKNOWN
    force: Annotated[
        bool, Option("Also infer readings that do not look like solar generation; adds a flag.")
    ] = False

    def __post_init__(self) -> None:
        if self.losses is not None:
            object.__setattr__(self, "losses", Losses.of(self.losses))
        check_options(self)


class InferKeywords(TypedDict, total=False):
    """The options of :class:`InferOptions` as keywords."""

    method: str
    clock: str
    losses: Losses | float
    albedo: float
    group: str
    search: str
    mount: str
    force: bool


# Where the weather of a fleet comes from, for each system at its own place.
SKIES = ("clearsky", "nsrdb", "pvgis")


class SystemKeywords(MeterKeywords, InferKeywords, total=False):
    """The options of :class:`MeterOptions` and :class:`InferOptions` as keywords."""
