"""What real, labelled systems say of the engine's constants: ``python -m benchmarks.calibrate``.

Three things cannot be known from one record: how much more a real system gives than its nameplate
and the assumed losses say (``sunveil.site.CALIBRATION``), by how much its years differ, and by how
much the method errs from system to system (``sunveil.engine.constants.SystematicErrors``). They are
found on all labelled systems together, and judged by leaving out each system in turn: its interval
is made with what the others say. Labels are taken as they are: that they are rounded, 180 and 35,
is part of what the intervals have to hold.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import t

from benchmarks import real
from benchmarks.measure import turned
from benchmarks.real_scores import SEEN, Coverage, RealAnswer, answers
from sunveil.engine.constants import SystematicErrors
from sunveil.estimates.estimates_table import Estimate
from sunveil.estimates.planes_and_intervals import YearEstimate
from sunveil.site import CALIBRATION

# Standard deviations from the middle to either end of a 90% interval.
REACH = 1.645
TAIL = 0.05
NAMES = ("tilt", "across", "capacity")


@dataclass(frozen=True, slots=True)
class Miss:
    """By how much one quantity of one system was missed, and what its interval allowed for.

    Parameters
    ----------
    system
        Its name.
    error
        Estimate less label: along the tilt and across it [degrees], or the logarithm of capacity.
    stated
        Standard deviation that the interval stands for, in the same unit.
    bias
        What of it is for all systems alike.
    surface_tilt
        The inferred tilt, which says what a turn of the azimuth is worth. [degrees]
    """

    system: str
    error: float
    stated: float
    bias: float
    surface_tilt: float = 30.0

    @property
    def own(self) -> float:
        """The variance that is the system's own."""
        return max(self.stated**2 - self.bias**2, 0.0)


def across(azimuth: float, tilt: float) -> float:
    """Return how far a turn of the azimuth moves a plane of some tilt. [degrees]"""
    return float(np.radians(azimuth) * tilt)


def misses(answered: Sequence[RealAnswer]) -> dict[str, list[Miss]]:
    """Return the misses of each quantity, of the systems whose label of it counts."""
    now, out = SystematicErrors(), {name: [] for name in NAMES}
    for one in answered:
        case, found = one.case, one.estimate
        if found is None:
            continue
        if "tilt" in case.counts:
            stated = found.tilt_interval.width / (2.0 * REACH)
            out["tilt"].append(Miss(case.name, found.surface_tilt - case.tilt, stated, now.tilt))
        if "azimuth" in case.counts:
            width = (found.azimuth_interval.high - found.azimuth_interval.low) % 360.0
            error = across(turned(found.surface_azimuth, case.azimuth), found.surface_tilt)
            stated = across(width, found.surface_tilt) / (2.0 * REACH)
            out["across"].append(Miss(case.name, error, stated, now.across, found.surface_tilt))
        if "capacity" in case.counts:
            ends = found.capacity_interval
            stated = float(np.log(ends.high / ends.low)) / (2.0 * REACH)
            error = float(np.log(found.dc_capacity_kw / case.dc_kw))
            out["capacity"].append(Miss(case.name, error, stated, now.capacity))
    return out


def needed(found: Sequence[Miss]) -> float:
    """Return the common standard deviation with which errors are as large as stated, in the mean.

    A few systems tell it badly, so it is widened as Student's distribution is.
    """
    low, high = 0.0, 10.0 * max(abs(one.error) for one in found) + 1e-9
    for _ in range(60):
        middle = 0.5 * (low + high)
        scores = [one.error**2 / (one.own + middle**2) for one in found]
        low, high = (middle, high) if np.mean(scores) > 1.0 else (low, middle)
    return 0.5 * (low + high) * float(t.ppf(1.0 - TAIL, len(found) - 1)) / REACH


def left_out(found: Sequence[Miss]) -> tuple[int, list[float]]:
    """Return how many errors are held by what the other systems give, and the half widths."""
    held, widths = 0, []
    for one in found:
        common = needed([other for other in found if other.system != one.system])
        width = float(REACH * np.sqrt(one.own + common**2))
        held += abs(one.error) <= width
        widths.append(width)
    return held, widths


def left_out_coverage(answered: Sequence[RealAnswer]) -> dict[str, Coverage]:
    """Return how often intervals hold the labels that are made with what other systems say."""
    out = {}
    for name, found in misses(answered).items():
        held, halves = left_out(found)
        if name == "across":
            widths = [
                2.0 * np.degrees(half / one.surface_tilt)
                for half, one in zip(halves, found, strict=True)
            ]
        elif name == "tilt":
            widths = [2.0 * half for half in halves]
        else:
            widths = [200.0 * np.sinh(half) for half in halves]
        quantity = "azimuth" if name == "across" else name
        out[quantity] = Coverage(held, len(found), float(np.median(widths)))
    return out


def year_spread(estimates: Sequence[Estimate]) -> tuple[float, float, float]:
    """Return by how much single years of a system differ: tilt, across [degrees], capacity."""
    variances = []
    for one in estimates:
        if len(one.years) > 1:
            rows = np.array([_coordinates(year, one) for year in one.years])
            variances.append(rows.var(axis=0, ddof=1))
    return tuple(np.sqrt(np.median(variances, axis=0)).tolist())


def _coordinates(year: YearEstimate, whole: Estimate) -> tuple[float, float, float]:
    turn = across(turned(year.surface_azimuth, whole.surface_azimuth), whole.surface_tilt)
    return year.surface_tilt, turn, float(np.log(year.dc_capacity_kw))


def calibration_lines(found: Sequence[Miss]) -> list[str]:
    """Return what capacities say of the calibration, all systems and leaving out one in turn."""
    errors = np.array([one.error for one in found])
    others = (errors.sum() - errors) / (len(errors) - 1)
    return [
        f"Capacity of {len(errors)} systems: {100.0 * np.expm1(errors.mean()):+.1f}% in the mean,"
        f" so that a calibration of {CALIBRATION * np.exp(errors.mean()):.3f} would leave none;"
        f" it is {CALIBRATION:g}.",
        f"Leaving out each in turn: calibrations of {CALIBRATION * np.exp(others.min()):.3f} to"
        f" {CALIBRATION * np.exp(others.max()):.3f}, median error"
        f" {100.0 * np.median(np.abs(np.expm1(errors - others))):.1f}%.",
    ]


def main() -> None:
    """Print what the constants are, what they should be, and what they hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=None, help="The data folder.")
    parser.add_argument("--more", action="store_true", help="A line for each system.")
    arguments = parser.parse_args()
    cases, _ = real.load_all(arguments.data)
    answered = list(answers([case for case in cases if case.name in SEEN], ()))
    by_name = misses(answered)
    print("| what | systems | stated now | needed | held, left out in turn | half width |")
    print("|---|---|---|---|---|---|")
    for name, found in by_name.items():
        held, widths = left_out(found)
        print(
            f"| {name} | {len(found)} | {found[0].bias:g} | {needed(found):.3f} |"
            f" {held} of {len(found)} | {np.median(widths):.3f} |"
        )
        for one in found if arguments.more else ():
            print(f"|   {one.system} | {one.error:+.3f} | {one.stated:.3f} | | | |")
    for one in answered if arguments.more else ():
        years = one.estimate.years if one.estimate is not None else ()
        away = (f"{year.surface_tilt - one.case.tilt:+.1f}" for year in years)
        print(f"{one.case.name}, error of tilt by year:", ", ".join(away) or "one year")
    spread = year_spread([one.estimate for one in answered if one.estimate is not None])
    print("\nYears differ by {:.2f} and {:.2f} degrees and by {:.3f} of capacity.".format(*spread))
    print("\n".join(calibration_lines(by_name["capacity"])))


if __name__ == "__main__":
    main()
