"""How far what is told of net meters is from the truth, and whether the doubtful ones say so."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.measure import turned, wedge_holds
from benchmarks.net_answers import NetAnswer, Told
from benchmarks.net_systems import ENOUGH_EXPORT, KnownNet
from benchmarks.planes_scores import half_and_tail, percentage
from sunveil.estimates.flags_and_quality import POOR_FLAGS
from sunveil.estimates.intervals_and_rounding import Interval

# Beyond these an answer is wrong, and should have said so. [degrees of azimuth, % of capacity]
WRONG_AZIMUTH, WRONG_CAPACITY = 25.0, 25.0
QUALITIES = ("good", "fair", "poor")


@dataclass(frozen=True, slots=True)
class MeterErrors:
    """Errors of one meter that was not refused, absolute.

    Parameters
    ----------
    azimuth, tilt, angle
        Of azimuth and tilt, and the angle between the planes. [degrees]
    capacity
        Of capacity. [%]
    load, self_consumption
        Of the mean load [%], and of the share of the generation that the household used itself.
    held
        Whether the 90% intervals hold azimuth, tilt and capacity.
    """

    azimuth: float
    tilt: float
    angle: float
    capacity: float
    load: float
    self_consumption: float
    held: tuple[bool, bool, bool]

    @property
    def wrong(self) -> bool:
        """Whether azimuth or capacity is so far off that the answer misleads."""
        return self.azimuth > WRONG_AZIMUTH or self.capacity > WRONG_CAPACITY


def net_errors(system: KnownNet, answer: NetAnswer) -> MeterErrors | None:
    """Return the errors of a meter; None where it was refused or there is nothing to be found."""
    true, kw = system.plane, system.dc_capacity_kw
    if answer.refused or true is None:
        return None
    low, high = answer.tilt_interval
    least, most = answer.capacity_interval
    return MeterErrors(
        azimuth=abs(turned(answer.azimuth, true.surface_azimuth)),
        tilt=abs(answer.tilt - true.surface_tilt),
        angle=answer.plane.angle_to(true),
        capacity=abs(100.0 * (answer.capacity / kw - 1.0)),
        load=abs(100.0 * (answer.mean_load / (system.load.mean() or math.nan) - 1.0)),
        self_consumption=abs(answer.self_consumption - system.self_consumption),
        held=(
            wedge_holds(Interval(*answer.azimuth_interval), true.surface_azimuth),
            low <= true.surface_tilt <= high,
            least <= kw <= most,
        ),
    )


def doubted(answer: NetAnswer) -> bool:
    """Whether a meter was refused, or carries a flag with which an estimate is poor."""
    return answer.refused or any(flag in POOR_FLAGS for flag in answer.flags)


def is_wrong(system: KnownNet, answer: NetAnswer) -> bool:
    """Whether an answer would mislead: far off, or any at all without PV or beyond reach."""
    errors = net_errors(system, answer)
    return errors is None or errors.wrong


@dataclass(frozen=True, slots=True)
class Honesty:
    """How many of the wrong answers say so, and how many of the right ones are doubted.

    Parameters
    ----------
    wrong, said
        Answers that are wrong, and how many of them were doubted.
    right, cried
        Answers that are not, and how many of them were doubted all the same.
    """

    wrong: int
    said: int
    right: int
    cried: int

    @classmethod
    def of(cls, told: Sequence[Told], forced: Sequence[NetAnswer]) -> Honesty:
        """Count some answers.

        Parameters
        ----------
        told
            Meters with their answers.
        forced
            What they would have told of each if they must, by which a refusal is judged.
        """
        off = [is_wrong(system, must) for (system, _), must in zip(told, forced, strict=True)]
        both = list(zip(off, [doubted(answer) for _, answer in told], strict=True))
        return cls(
            wrong=sum(off),
            said=sum(bad and doubt for bad, doubt in both),
            right=len(off) - sum(off),
            cried=sum(doubt and not bad for bad, doubt in both),
        )

    @property
    def said_percent(self) -> float:
        """How many of the wrong answers were doubted. [%]"""
        return 100.0 * self.said / self.wrong if self.wrong else math.nan

    @property
    def cried_percent(self) -> float:
        """How many of the right answers were doubted. [%]"""
        return 100.0 * self.cried / self.right if self.right else math.nan

    @property
    def cells(self) -> str:
        """The counts for a table."""
        return (
            f"{self.wrong} | {self.said} ({_percent(self.said_percent)}) |"
            f" {self.right} | {self.cried} ({_percent(self.cried_percent)})"
        )


HEAD = (
    "| meters | n | refused | azimuth [°] | tilt [°] | capacity [%] | 90% hold [%]"
    " | good, fair, poor |\n|---|---|---|---|---|---|---|---|"
)


def score_row(name: str, told: Sequence[Told]) -> str:
    """Return the row of some meters."""
    errors = [each for one in told if (each := net_errors(*one)) is not None]
    held = ", ".join(percentage([each.held[place] for each in errors]) for place in range(3))
    counts = Counter(answer.quality for _, answer in told)
    cells = [
        half_and_tail([each.azimuth for each in errors], 1),
        half_and_tail([each.tilt for each in errors], 1),
        half_and_tail([each.capacity for each in errors], 1),
        held,
        ", ".join(str(counts[quality]) for quality in QUALITIES),
    ]
    refused = sum(answer.refused for _, answer in told)
    return f"| {name} | {len(told)} | {refused} | {' | '.join(cells)} |"


def by_export(told: Sequence[Told]) -> tuple[list[Told], list[Told]]:
    """Return the meters that export often enough, and the rest."""
    enough = [one for one in told if one[0].exporting >= ENOUGH_EXPORT]
    return enough, [one for one in told if not any(one is each for each in enough)]


def undoubted(told: Sequence[Told]) -> list[Told]:
    """Return the meters whose answer was neither refused nor doubted."""
    return [one for one in told if not doubted(one[1])]


def spread(told: Sequence[Told], name: str) -> tuple[float, float]:
    """Return median and 95th percentile of an error over some meters, NaN where there is none."""
    said = half_and_tail(
        [getattr(each, name) for one in told if (each := net_errors(*one)) is not None], 6
    )
    if said == "-":
        return math.nan, math.nan
    middle, tail = said.split(" / ")
    return float(middle), float(tail)


def _percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.0f}%"
