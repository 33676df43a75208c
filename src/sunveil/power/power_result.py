"""FleetPower: power, bands, draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sunveil._options import check_fields, checked, fits
from sunveil.errors import ParameterError
from sunveil.power.plane_power import DaylightSky, PowerChain, Profiles
from sunveil.power.posterior import FleetMixture
from sunveil.site import Array, TimeGrid
from sunveil.weather.weather_data import utc_index

BAND = 0.9


@dataclass(frozen=True, slots=True, eq=False)
class GroupSky:
    """What the planes of a fleet give at one place."""

    light: DaylightSky  # the sky there
    profiles: Profiles  # [kW/kW] of the mixture's planes, shape (planes, daylight intervals)
    factors: NDArray[np.float32] | None


@dataclass(frozen=True, slots=True)
class Banded:
    """An answer with its band."""

    value: float  # the middle of the draws
    low: float  # what nine in ten draws are between
    high: float
    unit: str  # what it is in
    about: str  # what it is, in a sentence

    def __post_init__(self) -> None:
        check_fields(self)

    def __str__(self) -> str:
        value, low, high = (_plain(each) for each in (self.value, self.low, self.high))
        return f"{value} {self.unit} ({low} to {high}): {self.about}"


@dataclass(frozen=True, slots=True, eq=False)
class FleetPower:
    """The power of a fleet, as :func:`sunveil.fleet_power` returns it.

    Parameters
    ----------
    grid
        The intervals. [UTC]
    power_kw, low_kw, high_kw
        Median of the draws and their 90% band, by group and interval. [kW]
    mixture
        The fleet in draws.
    skies
        Power of planes, by group.
    model
        Factor of every draw and group.
    chain
        Assumed chain from irradiance to power.
    """

    grid: TimeGrid
    power_kw: NDArray[np.float32]
    low_kw: NDArray[np.float32]
    high_kw: NDArray[np.float32]
    mixture: FleetMixture
    skies: tuple[GroupSky, ...]
    model: Array
    chain: PowerChain

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups."""
        return self.mixture.groups

    @property
    def times(self) -> pd.DatetimeIndex:
        """Start of every interval, in UTC."""
        return utc_index(self.grid.times)

    def place(self, group: str | None = None) -> int:
        """Return the place of a group; the only one where none is named."""
        if group is None and len(self.groups) == 1:
            return 0
        if group not in self.groups:
            raise ParameterError(
                f"name a group: one of {', '.join(self.groups[:5])}"
                f"{' and others' if len(self.groups) > 5 else ''}"
            )
        return self.groups.index(group)

    @checked
    def draws(
        self, group: str | None = None, *, planes: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float32]:
        """Return the power of a group by interval, day and night, and draw. [kW]

        Parameters
        ----------
        group
            Which group.
        planes
            The planes of the mixture to count; all if None.
        """
        place = self.place(group)
        daylight = daylight_draws(self.mixture, place, self.skies[place], self.model, planes=planes)
        whole = np.zeros((self.grid.count, daylight.shape[1]), dtype=np.float32)
        whole[self.skies[place].light.daylight] = daylight
        return whole

    @checked
    def answer(
        self, measure: Callable[[NDArray[np.float32]], float], unit: str, about: str,
        *, group: str | None = None,
    ) -> Banded:  # fmt: skip
        """Return a number computed from a run of power, with its band.

        Parameters
        ----------
        measure
            From the power of every interval [kW] to the number.
        unit, about
            What it is in, and what it is.
        group
            Which group.
        """
        values = [measure(each) for each in self.draws(group).T]
        if not fits(values, list[float]):
            raise ParameterError("measure must return one number for a run of power")
        return banded(values, unit, about)

    def frame(self) -> pd.DataFrame:
        """Return all groups as one long table: time, group, power_kw, low, high. [kW]"""
        many = len(self.groups)
        return pd.DataFrame(
            {
                "time": np.tile(self.times, many),
                "group": np.repeat(np.array(self.groups, dtype=object), self.grid.count),
                "power_kw": self.power_kw.ravel(),
                "low": self.low_kw.ravel(),
                "high": self.high_kw.ravel(),
            }
        )


def _plain(value: float) -> str:
    """Return a number with four digits, and large ones whole rather than as powers of ten."""
    return f"{value:,.0f}" if abs(value) >= 1000.0 else f"{value:.4g}"


def banded(values: Sequence[float] | Array, unit: str, about: str) -> Banded:
    """Return the middle of drawn numbers, and what nine in ten are between."""
    low, middle, high = np.quantile(np.asarray(values), [0.5 - BAND / 2, 0.5, 0.5 + BAND / 2])
    return Banded(float(middle), float(low), float(high), unit, about)


def daylight_draws(
    mixture: FleetMixture,
    place: int,
    sky: GroupSky,
    model: Array,
    *,
    planes: NDArray[np.bool_] | None = None,
) -> NDArray[np.float32]:
    """Return the power of a group at its daylight intervals, by draw. [kW]"""
    chosen = slice(None) if planes is None else planes
    weights = mixture.weights[:, place, chosen] * model[:, place, None].astype(np.float32)
    power = sky.profiles[chosen].T @ weights.T
    if sky.factors is not None:
        power *= sky.factors
    return np.asarray(power)


def band_of(
    daylight: NDArray[np.float32],
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Return the middle of the draws of each interval, and the band's ends."""
    # The middle and not the mean: where little is known of sizes, a few draws are far too large.
    many = daylight.shape[1]
    # the numbers next to the band's ends, so that one partition finds all three
    low = max(int(np.floor((0.5 - BAND / 2) * many)) - 1, 0)
    parted = np.partition(daylight, (low, many // 2, many - 1 - low), axis=1)
    return parted[:, many // 2], parted[:, low], parted[:, many - 1 - low]
