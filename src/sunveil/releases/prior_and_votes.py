"""Public prior over planes, equivalent epsilon, candidate layouts."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pvlib
from numpy.typing import NDArray

from sunveil._options import check_fields, checked, number
from sunveil.errors import ParameterError
from sunveil.grids import Grid
from sunveil.privacy.guarantees import Days, Readings, check_epsilon, reach
from sunveil.releases.release_answer import ReleasedPlane, ReleasedTracker
from sunveil.site import Array, TimeGrid, normals

# Azimuth of what has none. [degrees]
SOUTH = 180.0

# The two planes of a roof stand back to back, or on a corner of the house. [degrees]
RIDGE, CORNER = 180.0, 90.0

# A summed normal that leans by less has no azimuth.
FLAT = 1e-9


@dataclass(frozen=True, slots=True)
class MountChoices:
    """Which pairs of planes and which trackers are candidates beside single planes: public."""

    # The two planes of a pair have one tilt and stand 180° apart, as on a ridge, or 90°, as on a
    # corner. Trackers turn about a horizontal axis.

    azimuth_step: float = 7.5  # [degrees] spacing of the azimuths of pairs; it divides 90
    tilts: tuple[float, ...] = (15.0, 20.0, 25.0, 31.0, 39.0)  # [degrees]
    shares: tuple[float, ...] = (0.5, 0.67)
    axis_step: float = 15.0  # [degrees] spacing of the axes of trackers, from 90 to below 270
    gcrs: tuple[float, ...] = (0.35, 0.5)
    max_angle: float = 55.0  # [degrees] how far trackers turn from horizontal
    pairs: float = 0.3
    trackers: float = 0.01
    margin: float = 0.008
    readings_worth: float = 0.2
    days_worth: float = 0.7

    def __post_init__(self) -> None:
        for what, step, whole in (
            ("pairs", self.azimuth_step, CORNER),
            ("axes", self.axis_step, 180.0),
        ):
            if not (5.0 <= step <= 90.0 and abs(whole / step - round(whole / step)) < 1e-9):
                raise ParameterError(
                    f"the step of {what} is 5 degrees or more and divides {whole:g}"
                )
        if not all(0.0 < tilt <= 90.0 for tilt in self.tilts):
            raise ParameterError("tilts of pairs are above 0 and at most 90 degrees")
        if not all(0.5 <= share < 1.0 for share in self.shares):
            raise ParameterError("shares of the larger plane are from 0.5 to below 1")
        if not all(0.0 < gcr < 1.0 for gcr in self.gcrs) or not 0.0 < self.max_angle <= 90.0:
            raise ParameterError(
                "trackers have coverage ratios between 0 and 1, and turn by up to 90 degrees"
            )
        if not (self.tilts and self.shares):
            raise ParameterError("pairs have at least one tilt and one share")
        if not (self.pairs > 0.0 and self.trackers > 0.0 and self.pairs + self.trackers < 1.0):
            raise ParameterError(
                "the shares of pairs and of trackers are above 0 and below 1 together"
            )
        if not 0.0 <= self.margin <= 1.0:
            raise ParameterError("the margin of pairs and trackers is a share, from 0 to 1")
        if not (self.readings_worth >= 0.0 and self.days_worth >= 0.0):
            raise ParameterError(
                "pairs and trackers are candidates from an equivalent ε of 0 or more on"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the choices as plain JSON types."""
        return {
            "azimuth_step_degrees": self.azimuth_step,
            "tilts_degrees": list(self.tilts),
            "shares": list(self.shares),
            "axis_step_degrees": self.axis_step,
            "gcrs": list(self.gcrs),
            "max_angle_degrees": self.max_angle,
            "pairs": self.pairs,
            "trackers": self.trackers,
            "margin": self.margin,
            "readings_worth": self.readings_worth,
            "days_worth": self.days_worth,
        }


@dataclass(frozen=True, slots=True, eq=False)
class PlanePairs:
    """Pairs of planes of one tilt, one entry each."""

    first: Array  # [degrees] azimuths of the two planes
    second: Array  # [degrees] azimuths of the two planes
    tilt: Array  # [degrees] of both
    share: Array  # of the capacity on the first, which has as much as the second or more

    def __len__(self) -> int:
        return len(self.tilt)

    @classmethod
    def of(cls, choices: MountChoices) -> PlanePairs:
        """Return all pairs of some choices, each once."""
        found: list[tuple[float, float, float, float]] = []
        azimuths = np.arange(0.0, 360.0 - 1e-9, choices.azimuth_step).tolist()
        for tilt, share, azimuth in itertools.product(choices.tilts, choices.shares, azimuths):
            # of equal shares each pair would come up twice
            ridge = [RIDGE] if share > 0.5 or azimuth < RIDGE else []
            corners = [CORNER, -CORNER] if share > 0.5 else [CORNER]
            turned = [(azimuth + turn) % 360.0 for turn in ridge + corners]
            found += [(azimuth, other, tilt, share) for other in turned]
        return cls(*np.array(found).reshape(-1, 4).T.copy())

    @property
    def effective(self) -> tuple[Array, Array]:
        """Azimuths and tilts of the planes with the summed normals. [degrees]"""
        one, other = (normals(azimuth, self.tilt) for azimuth in (self.first, self.second))
        east, north, up = (self.share[:, None] * one + (1.0 - self.share)[:, None] * other).T
        level = np.hypot(east, north)
        azimuth = np.degrees(np.arctan2(east, north)) % 360.0
        tilt = np.degrees(np.arctan2(level, up))
        return np.where(level < FLAT, SOUTH, azimuth), np.where(level < FLAT, 0.0, tilt)


@dataclass(frozen=True, slots=True, eq=False)
class SingleAxisTrackers:
    """Trackers with a horizontal axis, one entry each."""

    axis_azimuth: Array  # [degrees] where the axis points
    gcr: Array  # ground coverage ratio, 0 for those that do not turn back
    max_angle: float  # [degrees] how far all of them turn from horizontal

    def __len__(self) -> int:
        return len(self.axis_azimuth)

    @classmethod
    def of(cls, choices: MountChoices) -> SingleAxisTrackers:
        """Return all trackers of some choices."""
        axes = np.arange(90.0, 270.0 - 1e-9, choices.axis_step)
        ratios = np.array([0.0, *choices.gcrs])
        return cls(np.repeat(axes, len(ratios)), np.tile(ratios, len(axes)), choices.max_angle)

    def normals(self, number: int, zenith: Array, azimuth: Array) -> Array:
        """Return the unit normals of a tracker's modules under the sun's angles, by pvlib."""
        gcr = float(self.gcr[number])
        modules = pvlib.tracking.singleaxis(
            zenith,
            azimuth,
            axis_tilt=0.0,
            axis_azimuth=float(self.axis_azimuth[number]),
            max_angle=self.max_angle,
            backtrack=gcr > 0.0,
            gcr=gcr or 0.5,  # which nothing looks at without backtracking
        )
        # flat where the sun is down
        angles = (np.nan_to_num(modules[f"surface_{each}"]) for each in ("azimuth", "tilt"))
        return normals(*angles)


def sun_angles(sun: Array) -> tuple[Array, Array]:
    """Return zenith and azimuth of unit vectors to the sun. [degrees]"""
    zenith = np.degrees(np.arccos(np.clip(sun[:, 2], -1.0, 1.0)))
    return zenith, np.degrees(np.arctan2(sun[:, 0], sun[:, 1])) % 360.0


@dataclass(frozen=True, slots=True, eq=False)
class Mounts:
    """A public list of mounts: single planes, then pairs, then trackers."""

    singles: Grid  # single planes, the flat one first
    pairs: PlanePairs | None = None
    trackers: SingleAxisTrackers | None = None

    @classmethod
    def of(cls, singles: Grid, choices: MountChoices | None) -> Mounts:
        """Return single planes, and the pairs and trackers of some choices."""
        if choices is None:
            return cls(singles)
        return cls(singles, PlanePairs.of(choices), SingleAxisTrackers.of(choices))

    def __len__(self) -> int:
        return sum(self.sizes)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """How many single planes, pairs and trackers there are."""
        pairs, trackers = (0 if each is None else len(each) for each in (self.pairs, self.trackers))
        return len(self.singles), pairs, trackers

    @property
    def grid(self) -> Grid:
        """The effective plane of every mount: that of the summed normal, or of modules at rest."""
        azimuths, tilts = [self.singles.surface_azimuth], [self.singles.surface_tilt]
        if self.pairs is not None:
            azimuth, tilt = self.pairs.effective
            azimuths.append(azimuth)
            tilts.append(tilt)
        if self.trackers is not None:
            azimuths.append(self.trackers.axis_azimuth)
            tilts.append(np.zeros(len(self.trackers)))
        return Grid(np.concatenate(azimuths), np.concatenate(tilts))

    def planes(self, number: int) -> tuple[ReleasedPlane, ...]:
        """Return the planes of one mount: one or two; none for a tracker."""
        # None, too, where there are single planes alone: their number is then not released.
        pair = number - len(self.singles)
        if self.pairs is None or pair >= len(self.pairs):
            return ()
        if pair < 0:
            one = self.singles[number]
            return (ReleasedPlane(one.surface_azimuth, one.surface_tilt, 1.0),)
        share, tilt = float(self.pairs.share[pair]), float(self.pairs.tilt[pair])
        return (
            ReleasedPlane(float(self.pairs.first[pair]), tilt, share),
            ReleasedPlane(float(self.pairs.second[pair]), tilt, round(1.0 - share, 6)),
        )

    def tracker(self, number: int) -> ReleasedTracker | None:
        """Return the tracker of one mount, if it is one."""
        place = number - sum(self.sizes[:2])
        if self.trackers is None or place < 0:
            return None
        gcr = float(self.trackers.gcr[place])
        return ReleasedTracker(
            axis_azimuth=float(self.trackers.axis_azimuth[place]),
            backtrack=gcr > 0.0,
            gcr=gcr or None,
            max_angle=self.trackers.max_angle,
        )


STEEPEST = 90.0

# Nearer the equator than this the sun stands on both sides of the zenith. [degrees]
TROPIC = 23.4


@dataclass(frozen=True, slots=True)
class PlanePrior:
    """How likely planes are, from public lists of systems.

    A share of planes lies anywhere. The others have azimuths about the equator's side by a von
    Mises law, and tilts by a normal law. Fitted to the 1,298 fixed systems with azimuth and tilt of
    OEDI's PVDAQ list (US) and to Open Climate Fix's list of 1,274 systems (UK), each counted as
    much as the other, and rounded to the wider side: the fit is 2.3 for the concentration, 27° and
    15° for the tilt. At any latitude no plane is more than 4.1 nats less likely than another.

    Privacy
    -------
    Public. Never take it from the readings, nor from what was inferred of them.
    """

    # of azimuths about the equator's side; it fades within the tropics, and 0 is none
    concentration: float = 2.0
    tilt: float = 30.0  # the middle of tilts, and their standard deviation. [degrees]
    spread: float = 20.0
    anywhere: float = 0.1  # the share of planes that lie anywhere

    def __post_init__(self) -> None:
        check_fields(self)
        if not 0.0 <= self.concentration <= 20.0:
            raise ParameterError("the concentration of azimuths is from 0 to 20")
        if not (0.0 <= self.tilt <= STEEPEST and 1.0 <= self.spread <= 1e6):
            raise ParameterError(
                "tilts have a middle from 0 to 90 degrees and a spread of 1 or more"
            )
        if not 0.001 <= self.anywhere <= 1.0:
            raise ParameterError("the share of planes that lie anywhere is from 0.001 to 1")

    @checked
    def density(self, grid: Grid, latitude: float) -> Array:
        """Return how likely planes are beside one that lies anywhere, by azimuth and tilt.

        A flat plane has no azimuth.
        """
        strength = self.concentration * min(abs(latitude) / TROPIC, 1.0)
        side = 180.0 if latitude >= 0.0 else 0.0
        turned = np.cos(np.radians(grid.surface_azimuth - side))
        facing = np.exp(strength * turned) / np.i0(strength)
        facing[grid.surface_tilt == 0.0] = 1.0
        tilts = np.linspace(0.0, STEEPEST, 901)
        usual = self._bell(grid.surface_tilt) / self._bell(tilts).mean()
        return np.asarray((1.0 - self.anywhere) * facing * usual + self.anywhere)

    def to_dict(self) -> dict[str, float]:
        """Return the prior as plain JSON types."""
        return {
            "concentration": self.concentration,
            "tilt_degrees": self.tilt,
            "spread_degrees": self.spread,
            "anywhere": self.anywhere,
        }

    def _bell(self, tilts: Array) -> Array:
        return np.asarray(np.exp(-0.5 * ((tilts - self.tilt) / self.spread) ** 2))


def mount_offsets(
    prior: PlanePrior,
    mounts: Mounts,
    choices: MountChoices | None,
    latitude: float,
    *,
    levels_per_nat: float,
) -> NDArray[np.int64]:
    """Return what is added to the levels of every mount's candidates."""
    # Single planes, pairs and trackers share what is likely by the choices' shares. A pair is as
    # likely as its planes are in the mean; trackers are all alike.
    # Public: no reading is looked at, so that it is the same for neighbours. Proof:
    # `docs/proofs/mounts.md`.
    weights = prior.density(mounts.singles, latitude) * _cells(mounts.singles)
    if choices is not None and mounts.pairs is not None and mounts.trackers is not None:
        pairs, count = mounts.pairs, len(mounts.trackers)
        one, other = (
            prior.density(Grid(azimuth, pairs.tilt), latitude)
            for azimuth in (pairs.first, pairs.second)
        )
        both = (pairs.share * one + (1.0 - pairs.share) * other) * _cells(
            Grid(pairs.first, pairs.tilt)
        )
        left = 1.0 - choices.pairs - choices.trackers
        weights = np.concatenate(
            [
                left * weights / weights.sum(),
                choices.pairs * both / both.sum(),
                np.full(count, choices.trackers / count),
            ]
        )
    logs = np.log(weights)
    return np.asarray(np.rint(levels_per_nat * (logs - logs.max())), dtype=np.int64)


def _cells(grid: Grid) -> Array:
    """Return how much of all azimuths and tilts each plane stands for, beside the others."""
    # Rings of nearly flat planes have fewer azimuths, and the flat plane stands for all of them.
    tilts, ring, count = np.unique(grid.surface_tilt, return_inverse=True, return_counts=True)
    widths = np.gradient(tilts) if len(tilts) > 1 else np.ones(1)
    widths[tilts == 0.0] /= 2.0
    return np.asarray((widths / count)[ring])


YEAR, HOUR = 365.0, 3600.0


@dataclass(frozen=True, slots=True)
class VoteRule:
    """How days vote from some equivalent ε on."""

    worth: float  # the smallest equivalent ε that it is for (:func:`equivalent_epsilon`)
    # shares of a day's daylight intervals that must agree for its first, second, ... vote.
    thresholds: tuple[float, ...]
    fewest: int  # readings of a day that must agree for any vote

    def __post_init__(self) -> None:
        check_fields(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as plain JSON types."""
        return {"worth": self.worth, "thresholds": list(self.thresholds), "fewest": self.fewest}


# The votes are those that gave 60 simulated systems with a real fleet's faults the least mean error
# of azimuth at some equivalent ε. Each gave way to the next at 0.22, 0.28 and 0.45; the steps are
# higher here, since votes too few cost little and votes too many much, and since fewer of a real
# record's days agree. How they do on real systems: docs/measured.md.
VOTE_RULES = (
    VoteRule(0.0, (0.2,), 3),
    VoteRule(0.25, (0.3, 0.5), 4),
    VoteRule(0.5, (0.3, 0.5, 0.7), 4),
    VoteRule(0.7, (0.3, 0.5, 0.7, 0.9), 4),
)


def equivalent_epsilon(
    unit: Readings | Days, epsilon: float, time_grid: TimeGrid, *, differenced: bool
) -> float:
    """Return the ε that gives a year of hours, for one day or reading, the same errors."""
    # Public: no reading is looked at.
    check_epsilon(epsilon)
    once = epsilon / (unit.k * reach(unit, differenced=differenced))
    years = time_grid.days / YEAR
    return once * years * (HOUR / time_grid.step if isinstance(unit, Readings) else 1.0)


@checked
def votes_for(equivalent: float) -> VoteRule:
    """Return how days vote in a release of some equivalent ε."""
    number("equivalent", equivalent, low=0.0)
    return [rule for rule in VOTE_RULES if rule.worth <= equivalent][-1]
