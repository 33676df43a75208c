"""Net meters whose generation is known: real homes, and their loads less their neighbours' PV."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pandas as pd

from benchmarks import real
from sunveil.site import Plane, Site
from sunveil.weather import Weather

SEED = 20_020
HOMES = tuple(name for name in real.LOADERS if name.startswith("fontana"))
ZONE = "America/Los_Angeles"
# The load of this home follows its PV, and half of it reads zero.
FOLLOWS_PV = "fontana_12"
# Where less of daylight exports, a plane is not promised.
ENOUGH_EXPORT = 0.35
# The sun is up below this. [degrees of zenith]
SUN_UP = 90.0


@dataclass(frozen=True, slots=True, eq=False)
class KnownNet:
    """A net meter whose plane and capacity are known.

    Parameters
    ----------
    name
        What it is called.
    generation, load
        Mean power of each interval, stamped at its start on the household's clock. [kW]
    site
        Where it is.
    plane
        The true plane; None where there is no PV.
    dc_capacity_kw
        The true capacity; NaN where there is no PV. [kW]
    kind
        What kind of household it is, for the tables.
    weather
        What an inference is given; the embedded clear sky when None.
    export_only
        Whether the meter counts only what is given to the grid.
    """

    name: str
    generation: pd.Series
    load: pd.Series
    site: Site
    plane: Plane | None
    dc_capacity_kw: float
    kind: str = ""
    weather: Weather | None = None
    export_only: bool = False

    @property
    def net(self) -> pd.Series:
        """What its meter reads: above zero where power flows to the grid. [kW]"""
        net = (self.generation - self.load).dropna()
        return net.clip(lower=0.0) if self.export_only else net

    @property
    def self_consumption(self) -> float:
        """The share of the generation that the household uses itself."""
        used = np.minimum(self.generation, self.load).sum()
        return float(used / self.generation.sum())

    @property
    def exporting(self) -> float:
        """The share of readings in daylight in which power flows to the grid."""
        net = self.net
        step = net.index[1] - net.index[0]
        up = self.site.sun((net.index + step / 2).tz_convert("UTC"))["apparent_zenith"] < SUN_UP
        return float((net.to_numpy()[up.to_numpy()] > 0.0).mean())


@cache
def homes() -> dict[str, real.RealCase]:
    """Return the real homes that are here, on the clock on their walls."""
    cases, missing = real.load_all(names=HOMES)
    for name, reason in missing.items():
        print(f"{name} is left out: {reason}", flush=True)
    return {
        case.name: replace(
            case, power=case.power.tz_convert(ZONE), load_kw=case.load_kw.tz_convert(ZONE)
        )
        for case in cases
    }


def generators() -> Iterator[KnownNet]:
    """Yield the homes' PV as if nobody lived there: what it gives alone is taken for the truth."""
    for name, case in homes().items():
        yield KnownNet(name, case.power, 0.0 * case.power, case.site, None, math.nan)


Truths = dict[str, tuple[Plane, float]]


def own(truths: Truths) -> Iterator[KnownNet]:
    """Yield each home's PV less its own load."""
    for name in truths:
        yield _crossed(name, name, truths)


def crossed(truths: Truths) -> Iterator[KnownNet]:
    """Yield each home's PV less each neighbour's load."""
    for name in truths:
        for other in truths:
            if other != name:
                yield _crossed(name, other, truths)


def _crossed(name: str, other: str, truths: Truths) -> KnownNet:
    case, taken = homes()[name], homes()[other].load_kw
    plane, capacity = truths[name]
    called = name if name == other else f"{name} less the load of {other}"
    return KnownNet(called, case.power, taken, case.site, plane, capacity)
