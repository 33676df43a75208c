"""What is public about releases of net meters: how loads and clouds are taken to fall."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy as np

from sunveil.errors import ParameterError
from sunveil.site import Array

# Clearness: of clouds, about a clear sky, and above it, where clouds send light beside the sun's.
_CLOUDY, _ABOUT, _BRIGHTEST = 0.8, 1.1, 1.3
_FULL = 1.05
# A stray load stands anywhere about the base, within about this. [log]
STRAY = 1.5
# Base loads that are told apart, from a lamp to a factory. [kW, kW, log]
LEAST_BASE, LARGEST_BASE, BASE_STEP = 0.03, 2000.0, 0.3


# Clearness is that of twelve labelled meters of generation, with a narrower spike. How loads fall
# about their base, the spike's width, and what a day counts were compared on eight homes of Fontana
# with their own and others' loads and on simulated systems: leaving any home out chose the same. No
# load of theirs is in here. A shape by the hour (BDEW's household profile H25) did worse than none:
# a base is the same at all hours.
@dataclass(frozen=True, slots=True)
class NetChoices:
    """The public model of a net meter's readings: clear generation under clouds, less a load.

    A household's load stands upon a base, what it takes when nobody does anything. The logarithm of
    load over base has an asymmetric Laplace density, steep below and wide above, and a share of
    loads is stray. The dark readings of a day, which are load alone, tell the base of that day.
    Clearness is even from none to all of a clear sky's light, with a spike where it is clear. A day
    counts for a candidate by the logarithm of how likely its readings are, beside the best
    candidate for that day.

    Parameters
    ----------
    below, above
        How fast loads get rarer below and above the base. [log]
    stray
        Share of stray loads.
    base_kw, base_spread
        The middle of base loads, and how they spread, before any dark reading. [kW, log]
    night
        What a dark reading counts beside one that is independent of all others.
    clear, clear_spread
        Share of readings under a clear sky, and how their clearness spreads about 1.
    measured, measured_spread
        The same where candidates are modelled under measured weather, which errs about the truth.
    bright
        Share of readings that are brighter than a clear sky.
    floor
        What profiles are told down to. [kW/kW]
    reading_nats, day_nats
        How much less likely than under the best candidate a reading, and a day, may get before it
        counts no less.
    levels_per_nat
        Levels of a score to a nat.
    capacity_step
        The least spacing of capacities. [log]
    """

    below: float = 0.3
    above: float = 1.4
    stray: float = 0.05
    base_kw: float = 0.4
    base_spread: float = 1.5
    night: float = 0.5
    clear: float = 0.36
    clear_spread: float = 0.04
    measured: float = 0.7
    measured_spread: float = 0.12
    bright: float = 0.06
    floor: float = 0.02
    reading_nats: float = 4.0
    day_nats: float = 12.0
    levels_per_nat: int = 32
    capacity_step: float = 0.05

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
