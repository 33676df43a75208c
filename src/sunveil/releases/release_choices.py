"""Public choices of a release."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from sunveil._options import check_fields, checked
from sunveil.engine.constants import TYPICAL_HAZE, TYPICAL_HEAT
from sunveil.errors import ParameterError
from sunveil.grids import Grid
from sunveil.privacy.guarantees import Days, Readings, System, Unit, reach
from sunveil.privacy.mechanisms import Axis
from sunveil.privacy.two_level_window import Window, best_window
from sunveil.releases.prior_and_votes import (
    VOTE_RULES,
    MountChoices,
    PlanePrior,
    equivalent_epsilon,
    votes_for,
)
from sunveil.releases.score_kernels import Capacities, Tolerance
from sunveil.site import Array, Losses, TimeGrid

# Clearness: of clouds, about a clear sky, and above it, where clouds send light beside the sun's.
_CLOUDY, _ABOUT, _BRIGHTEST = 0.8, 1.1, 1.3

_FULL = 1.05

# A stray load stands anywhere about the base, within about this. [log]
STRAY = 1.5

# Base loads that are distinguished, from a lamp to a factory. [kW, kW, log]
LEAST_BASE, LARGEST_BASE, BASE_STEP = 0.03, 2000.0, 0.3


# Clearness is that of twelve labelled meters of generation, with a narrower spike. How loads fall
# about their base, the spike's width, and what a day counts were compared on eight homes of Fontana
# with their own and others' loads and on simulated systems: leaving any home out chose the same. No
# load of theirs is in here. A shape by the hour (BDEW's household profile H25) did worse than none:
# a base is the same at all hours.
@dataclass(frozen=True, slots=True)
class NetChoices:
    """The public model of a net meter's readings: clear generation under clouds, less a load."""

    # A household's load stands upon a base, what it takes when nobody does anything. The logarithm
    # of load over base has an asymmetric Laplace density, steep below and wide above, and a share
    # of loads is stray. The dark readings of a day, which are load alone, tell the base of that
    # day. Clearness is even from none to all of a clear sky's light, with a spike where it is
    # clear. A day counts for a candidate by the logarithm of how likely its readings are, beside
    # the best candidate for that day.

    below: float = 0.3  # [log] how fast loads get rarer below and above the base
    above: float = 1.4  # [log] how fast loads get rarer below and above the base
    stray: float = 0.05  # share of stray loads
    base_kw: float = 0.4  # [kW, log]
    base_spread: float = 1.5  # [kW, log]
    night: float = 0.5  # what a dark reading counts beside one that is independent of all others
    clear: float = 0.36
    clear_spread: float = 0.04
    measured: float = 0.7
    measured_spread: float = 0.12
    bright: float = 0.06  # share of readings that are brighter than a clear sky
    floor: float = 0.02  # [kW/kW] lowest modelled profile
    reading_nats: float = 4.0
    day_nats: float = 12.0
    levels_per_nat: int = 32  # levels of a score to a nat
    capacity_step: float = 0.05  # [log] the least spacing of capacities

    def __post_init__(self) -> None:
        shares = (self.stray, self.bright, self.clear + self.bright, self.measured + self.bright)
        if not all(0.0 < each < 1.0 for each in (*shares, self.night, self.floor)):
            raise ParameterError("the shares of a net meter's readings lie between 0 and 1")
        widths = (self.below, self.above, self.base_kw, self.base_spread, self.capacity_step)
        if not all(0.0 < each < math.inf for each in (*widths, *self._spreads)):
            raise ParameterError("the spreads of a net meter's loads and clouds are above 0")
        nats = (self.reading_nats, self.day_nats)
        if not (all(0.5 <= each <= 50.0 for each in nats) and 1 <= self.levels_per_nat <= 64):
            raise ParameterError(
                "readings and days count from 0.5 to 50 nats, of 1 to 64 levels each"
            )

    @property
    def _spreads(self) -> tuple[float, float]:
        return self.clear_spread, self.measured_spread

    @property
    def reading_levels(self) -> int:
        """How many levels a reading has at most."""
        return round(self.reading_nats * self.levels_per_nat)

    @property
    def day_levels(self) -> int:
        """How many levels a day has at most."""
        return round(self.day_nats * self.levels_per_nat)

    def clearness(self, *, clear_sky: bool) -> tuple[Array, Array]:
        """Return clearnesses, close to each other about 1, and how likely each is."""
        found = np.concatenate(
            [
                np.arange(0.025, _CLOUDY, 0.05),
                np.arange(_CLOUDY + 0.01, _ABOUT, 0.03),
                np.arange(_ABOUT + 0.02, _BRIGHTEST, 0.06),
            ]
        )
        share, spread = (self.clear, self.clear_spread)
        if not clear_sky:
            share, spread = (self.measured, self.measured_spread)
        spike = _bell((found - 1.0) / spread) / spread
        clouds = (found < _FULL) / _FULL
        beyond = (found > 1.0) / (_BRIGHTEST - 1.0)
        density = (1.0 - share - self.bright) * clouds + share * spike + self.bright * beyond
        weights = density * np.gradient(found)
        return found, weights / weights.sum()

    def bases(self) -> tuple[Array, Array]:
        """Return the logarithms of base loads, and of how likely each is."""
        found = np.arange(math.log(LEAST_BASE), math.log(LARGEST_BASE), BASE_STEP)
        away = (found - math.log(self.base_kw)) / self.base_spread
        return found, -0.5 * away**2

    def load_density(self, over: Array) -> Array:
        """Return the density of the logarithm of load over base."""
        rare = np.where(over > 0.0, -over / self.above, over / self.below)
        usual = np.exp(rare) / (self.below + self.above)
        return np.asarray((1.0 - self.stray) * usual + self.stray * _bell(over / STRAY) / STRAY)

    def to_dict(self) -> dict[str, float]:
        """Return the choices as plain JSON types."""
        return asdict(self)


def _bell(away: Array) -> Array:
    return np.asarray(np.exp(-0.5 * away**2) / math.sqrt(2.0 * math.pi))


@dataclass(frozen=True, slots=True)
class Choices:
    """The public choices of a release.

    Parameters
    ----------
    step
        Spacing of azimuths and of tilts; nearly flat planes have fewer azimuths. [degrees]
    highest_tilt
        The steepest candidate. [degrees]
    capacities
        The candidates' DC capacities. [kW]
    tolerance
        When a reading agrees with a candidate.
    thresholds
        Shares of a day's intervals, those in which the candidate has light and at least as many as
        a flat plane has light in, that must agree for its first, second, ... vote; if None, by
        the release's equivalent ε (:data:`~sunveil.releases.prior_and_votes.VOTE_RULES`).
    fewest
        Readings of a day that must agree for any vote; likewise.
    clocks
        How far the declared clock may run ahead of the sun's; more than one makes the clock one
        more dimension of the candidates. [minutes]
    hazes
        How much hazier than the monthly maps clear skies may be, the usual first; a candidate's
        level is the highest that it has under any of them. Measured weather has its own.
        [Linke turbidity]
    losses, albedo, heat
        What stands between light and meter.
    window_steps
        Spacing of azimuth, of tilt [degrees] and of log-capacity for releases of whole records.
    prior
        Public weights of the values of these three axes, for the window's widths; all values are
        taken to be alike if None. Never take them from the readings.
    planes
        How likely planes are, for releases of readings and days; None to take all for alike.
    mounts
        Which pairs of planes and which trackers are candidates for releases of readings and days,
        beside single planes; None for none. Omitted by :meth:`resolved` where the equivalent ε is
        too small.
    net
        The public model of net meters, for a record that is declared one (:meth:`for_meter`); None
        for meters of generation.
    levels_per_nat
        Levels of the score for a nat of that, from ε; set by :meth:`resolved`.
    levels_behind
        By how many levels pairs and trackers stand behind single planes; set by :meth:`resolved`.
    """

    step: float = 4.0
    highest_tilt: float = 84.0
    capacities: Capacities = field(default_factory=Capacities)
    tolerance: Tolerance = field(default_factory=lambda: Tolerance(relative=0.08, floor=0.1))
    thresholds: tuple[float, ...] | None = None
    fewest: int | None = None
    clocks: tuple[float, ...] = (0.0,)
    # the maps err by 0.73 (Remund et al. 2003), more by place and season than from day to day
    hazes: tuple[float, ...] = (TYPICAL_HAZE, TYPICAL_HAZE - 0.6, TYPICAL_HAZE + 0.6)
    losses: Losses = field(default_factory=Losses)
    albedo: float = 0.2
    heat: float = TYPICAL_HEAT
    window_steps: tuple[float, float, float] = (5.0, 5.0, 0.1)
    prior: tuple[tuple[float, ...], ...] | None = None
    planes: PlanePrior | None = field(default_factory=PlanePrior)
    mounts: MountChoices | None = field(default_factory=MountChoices)
    net: NetChoices | None = None
    levels_per_nat: float | None = None
    levels_behind: int | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if not (1.0 <= self.step <= 30.0 and math.isclose(360.0 % self.step, 0.0, abs_tol=1e-9)):
            raise ParameterError("the step of planes is from 1 to 30 degrees and divides 360")
        if not 0.0 < self.highest_tilt <= 90.0:
            raise ParameterError("the highest tilt is above 0 and at most 90 degrees")
        self._check_votes()
        if not self.clocks or any(not abs(clock) <= 720.0 for clock in self.clocks):
            raise ParameterError("clocks are one or more numbers of minutes within half a day")
        if not self.hazes or any(not abs(haze) <= 5.0 for haze in self.hazes):
            raise ParameterError("hazes are one or more numbers within 5 of the maps' turbidity")
        if not 0.0 <= self.albedo <= 1.0:
            raise ParameterError(f"albedo must be between 0 and 1, and {self.albedo:g} is not")
        if not 0.0 <= self.heat <= 10.0:
            raise ParameterError(f"heat must be between 0 and 10, and {self.heat:g} is not")
        self._check_window()

    def _check_votes(self) -> None:
        if self.thresholds is not None:
            rising = all(a < b for a, b in pairwise(self.thresholds))
            if not self.thresholds or not rising:
                raise ParameterError("thresholds are one or more shares, each above the one before")
            if not (self.thresholds[0] > 0.0 and self.thresholds[-1] <= 1.0):
                raise ParameterError("thresholds are shares above 0 and at most 1")
        if self.fewest is not None and self.fewest < 1:
            raise ParameterError("at least one reading must agree for a vote")
        if self.levels_per_nat is not None and not 0.0 < self.levels_per_nat < math.inf:
            raise ParameterError("a nat of the prior counts some levels of a score, above 0")

    def _check_window(self) -> None:
        azimuth, tilt, capacity = self.window_steps
        if not (1.0 <= azimuth <= 180.0 and math.isclose(360.0 / azimuth, round(360.0 / azimuth))):
            raise ParameterError(
                "the window's step of azimuth is from 1 to 180 degrees and divides 360"
            )
        if not (1.0 <= tilt <= 90.0 and 0.01 <= capacity <= 0.7):
            raise ParameterError(
                "the window's step of tilt is from 1 to 90 degrees, and that of log-capacity from"
                " 0.01 to 0.7"
            )

    @property
    def ballot(self) -> tuple[tuple[float, ...], int]:
        """The thresholds and the fewest readings of a day's votes, once they are resolved."""
        if self.thresholds is None or self.fewest is None:
            raise ParameterError(
                "how days vote depends on ε and on the record's days: resolve the frame first"
            )
        return self.thresholds, self.fewest

    @property
    def votes(self) -> int:
        """How many votes a day has at most for one candidate."""
        return len(self.ballot[0])

    @checked
    def for_meter(self, *, net: bool) -> Choices:
        """Return the choices for a meter of generation, or for one that is declared net.

        Candidates for a net meter are single planes under one haze, modelled down to little light,
        with capacities no closer to each other than its readings distinguish.

        Privacy
        -------
        Public: what kind of meter it is was declared, by the curator or by the file's format.
        """
        if not net:
            return replace(self, net=None) if self.net else self
        model = self.net or NetChoices()
        capacities = self.capacities
        return replace(
            self,
            net=model,
            mounts=None,
            hazes=self.hazes[:1],
            tolerance=replace(self.tolerance, floor=model.floor),
            capacities=replace(capacities, step=max(capacities.step, model.capacity_step)),
        )

    @checked
    def resolved(
        self, unit: Unit, epsilon: float, time_grid: TimeGrid, *, differenced: bool
    ) -> Choices:
        """Return the choices with those that depend on the release's equivalent ε.

        Parameters
        ----------
        unit, epsilon
            Of the release.
        time_grid
            The intervals of the record that is released.
        differenced
            Whether it holds differences of a register.

        Privacy
        -------
        Public: no reading is looked at.
        """
        found = self.affordable(unit, epsilon, time_grid, differenced=differenced)
        if isinstance(unit, System):
            return found
        sensitivity = unit.k * reach(unit, differenced=differenced)
        most = time_grid.count / 2.0  # readings by day, over a year
        if self.net is not None:
            days = isinstance(unit, Days)
            sensitivity *= self.net.day_levels if days else self.net.reading_levels
        elif isinstance(unit, Days):
            rule = votes_for(equivalent_epsilon(unit, epsilon, time_grid, differenced=differenced))
            found = replace(
                found,
                thresholds=self.thresholds or rule.thresholds,
                fewest=self.fewest or rule.fewest,
            )
            sensitivity *= found.votes
            most = float(found.votes * time_grid.days)
        if found.mounts is not None:
            found = replace(found, levels_behind=round(found.mounts.margin * most))
        if self.planes is None:
            return found
        return replace(found, levels_per_nat=2.0 * sensitivity / epsilon)

    @checked
    def affordable(
        self, unit: Unit, epsilon: float, time_grid: TimeGrid, *, differenced: bool = False
    ) -> Choices:
        """Return the choices without pairs and trackers where a release cannot tell them.

        Parameters
        ----------
        unit, epsilon, time_grid, differenced
            As for :meth:`resolved`.

        Privacy
        -------
        Public: no reading is looked at.
        """
        if self.mounts is None:
            return self
        if isinstance(unit, Readings | Days):
            days = isinstance(unit, Days)
            least = self.mounts.days_worth if days else self.mounts.readings_worth
            if equivalent_epsilon(unit, epsilon, time_grid, differenced=differenced) >= least:
                return self
        return replace(self, mounts=None)

    def grid(self) -> Grid:
        """Return the single planes among the candidates: a flat one, and rings around it."""
        whole = round(360.0 / self.step)
        azimuths, tilts = [np.array([180.0])], [np.array([0.0])]
        for tilt in np.arange(self.step, self.highest_tilt + 1e-9, self.step):
            # below ten degrees or so a step of azimuth hardly turns the plane
            ring = whole if tilt > 10.0 else max(8, whole // 2 if tilt > 6.0 else whole // 4)
            azimuths.append(np.arange(ring) * 360.0 / ring)
            tilts.append(np.full(ring, tilt))
        return Grid(np.concatenate(azimuths), np.concatenate(tilts))

    def axes(self) -> tuple[Axis, Axis, Axis]:
        """Return the axes of azimuth, tilt and log-capacity for releases of whole records."""
        azimuth, tilt, capacity = self.window_steps
        spread = math.log(self.capacities.high / self.capacities.low)
        return (
            Axis(round(360.0 / azimuth), azimuth, wraps=True),
            Axis(math.floor(90.0 / tilt) + 1, tilt),
            Axis(math.ceil(spread / capacity) + 1, capacity),
        )

    @checked
    def window(self, epsilon: float) -> Window:
        """Return the window for whole records at an ε, from public inputs alone."""
        given = self.prior
        priors = None if given is None else [np.asarray(weights, dtype=float) for weights in given]
        return best_window(epsilon, self.axes(), priors=priors)

    def to_dict(self) -> dict[str, Any]:
        """Return the choices as plain JSON types.

        Unused choices are omitted, so that the same choices are the same question to a ledger.
        """
        found: dict[str, Any] = {
            "planes_step_degrees": self.step,
            "highest_tilt_degrees": self.highest_tilt,
            "capacities_kw": [self.capacities.low, self.capacities.high],
            "capacities_log_step": self.capacities.step,
            "tolerance": self.tolerance.relative,
            "floor": self.tolerance.floor,
            "thresholds": None if self.thresholds is None else list(self.thresholds),
            "fewest": self.fewest,
            "clocks_minutes": list(self.clocks),
            "losses": self.losses.system,
            "inverter_efficiency": self.losses.inverter_efficiency,
            "gamma_pdc": self.losses.gamma_pdc,
            "albedo": self.albedo,
            "heat": self.heat,
            "window_steps": list(self.window_steps),
            "prior": None if self.prior is None else [list(weights) for weights in self.prior],
        }
        if self.hazes != (TYPICAL_HAZE,):
            found["hazes"] = list(self.hazes)
        if self.net is None and (self.thresholds is None or self.fewest is None):
            found["votes_by_worth"] = [rule.to_dict() for rule in VOTE_RULES]
        if self.planes is not None:
            found["planes_prior"] = self.planes.to_dict()
        if self.mounts is not None:
            found["mounts"] = self.mounts.to_dict()
        if self.net is not None:
            found["net"] = self.net.to_dict()
        if self.levels_per_nat is not None:
            found["levels_per_nat"] = self.levels_per_nat
        if self.levels_behind is not None:
            found["levels_behind"] = self.levels_behind
        return found

    def fingerprint(self) -> str:
        """Return a digest that changes with any of the choices."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()
