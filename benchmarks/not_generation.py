"""Series that are not the generation of a PV system, from a seed, and real homes' where at hand.

Eight kinds: a household's load, noise, a temperature, what a household left over of its
generation, the day's energy counted from midnight, a constant, a square wave, and a load shifted by
half a day.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from sunveil.site import Site

SEED = 17_006
EACH = 25


@dataclass(frozen=True, slots=True, eq=False)
class Generator:
    """A system that generates, for others to be made beside it.

    Parameters
    ----------
    power
        Its readings, stamped with the start of each interval in UTC. [kW]
    site
        Where it stands.
    load
        What its household takes, where that was measured. [kW]
    """

    power: pd.Series
    site: Site
    load: pd.Series | None = None


def load(like: Generator, rng: np.random.Generator) -> pd.Series:
    """Return a household's load at the times of a system, or the measured one.

    A base, a refrigerator, a morning and an evening, appliances at any waking hour, and more in
    winter, in summer or in both.
    """
    if like.load is not None:
        return like.load
    index = like.power.index
    step = (index[1] - index[0]).total_seconds() / 3600.0
    hour = (index.hour + index.minute / 60.0 + like.site.longitude / 15.0).to_numpy() % 24.0
    year = 2.0 * np.pi * (index.dayofyear.to_numpy() - 15) / 365.25
    winter, summer = rng.uniform(0.0, 1.0, 2)
    season = (
        1.0 + winter * np.clip(np.cos(year), 0.0, None) - summer * np.clip(np.cos(year), None, 0.0)
    )
    out = np.full(len(index), rng.uniform(0.1, 0.4))
    out += rng.uniform(0.02, 0.12) * (rng.random(len(index)) < 0.4)
    for middle, width in ((7.5, 1.2), (rng.uniform(12.0, 14.0), 2.0), (19.5, 2.2)):
        height = rng.uniform(0.2, 1.0) * np.exp(-(((hour - middle) / width) ** 2))
        out += height * season * rng.gamma(2.0, 0.5, len(index))
    often = rng.uniform(0.3, 1.5) * step / 16.0
    out += np.where(
        (hour > 6.5) & (hour < 23.0) & (rng.random(len(index)) < 3.0 * often),
        rng.uniform(0.5, 3.5, len(index)) * min(1.0, 1.0 / step),
        0.0,
    )
    return pd.Series(out, index=index)


def shifted_load(like: Generator, rng: np.random.Generator) -> pd.Series:
    """Return a load whose stamps are half a day off."""
    moved = load(like, rng)
    return pd.Series(
        np.roll(moved.to_numpy(), round(12 * 3600 / _step(moved.index))), index=moved.index
    )


def noise(like: Generator, rng: np.random.Generator) -> pd.Series:
    """Return noise of one of five kinds, none of it negative."""
    size = len(like.power)
    kinds: Sequence[Callable[[], np.ndarray]] = (
        lambda: rng.random(size),
        lambda: np.abs(rng.normal(size=size)),
        lambda: rng.lognormal(0.0, 0.7, size),
        lambda: rng.exponential(1.0, size),
        lambda: np.maximum(_slow(rng, size, 0.95), 0.0),
    )
    return pd.Series(kinds[rng.integers(len(kinds))](), index=like.power.index)


def temperature(like: Generator, rng: np.random.Generator) -> pd.Series:
    """Return an air temperature in one of three units that a column may be in."""
    index, site = like.power.index, like.site
    hour = (index.hour + index.minute / 60.0 + site.longitude / 15.0).to_numpy()
    year = 2.0 * np.pi * (index.dayofyear.to_numpy() - 200) / 365.25
    swing = rng.uniform(6.0, 14.0) * (1.0 if site.latitude > 0.0 else -1.0)
    celsius = 28.0 - 0.35 * abs(site.latitude) + swing * np.cos(year)
    celsius += rng.uniform(3.0, 8.0) * np.cos(2.0 * np.pi * (hour - 15.0) / 24.0)
    celsius += 3.0 * _slow(rng, len(index), 0.99)
    units = (celsius, 1.8 * celsius + 32.0, celsius + 273.15)
    return pd.Series(units[rng.integers(3)], index=index)


def exported(like: Generator, rng: np.random.Generator) -> pd.Series:
    """Return what a household left over; a simulated one takes a third to all of it in a year."""
    taken = load(like, rng)
    if like.load is None:
        taken = taken * (rng.uniform(0.35, 1.0) * like.power.sum() / taken.sum())
    return (like.power - taken).clip(lower=0.0).dropna()


def daily_register(like: Generator, rng: np.random.Generator) -> pd.Series:
    """Return the day's energy so far, which begins anew at midnight."""
    index = like.power.index
    local = index + pd.Timedelta(hours=round(like.site.longitude / 15.0))
    hours = _step(index) / 3600.0
    return (like.power.fillna(0.0) * hours).groupby(local.normalize()).cumsum()


def constant(like: Generator, rng: np.random.Generator) -> pd.Series:
    """Return one value, or one that trembles by half a percent, with or without gaps."""
    value = rng.uniform(0.1, 8.0) * np.ones(len(like.power))
    if rng.random() < 0.4:
        value *= 1.0 + 0.005 * rng.normal(size=len(value))
    kept = rng.random(len(value)) > rng.choice([0.0, 0.1])
    return pd.Series(value, index=like.power.index)[kept]


def square_wave(like: Generator, rng: np.random.Generator) -> pd.Series:
    """Return something that is on for some hours and off for others, most of them once a day."""
    index = like.power.index
    hour = (index.hour + index.minute / 60.0 + like.site.longitude / 15.0).to_numpy() % 24.0
    if rng.random() < 0.3:
        period = float(rng.choice([2.0, 4.0, 6.0, 12.0, 48.0]))
        hours = (index - index[0]).total_seconds().to_numpy() / 3600.0
        on = hours % period < period / 2.0
    else:
        begin, long = rng.uniform(0.0, 24.0), rng.uniform(4.0, 14.0)
        if rng.random() < 0.5:
            begin = 12.0 - long / 2.0
        on = (hour - begin) % 24.0 < long
    level = rng.uniform(0.5, 5.0)
    if rng.random() < 0.4:
        level = level * (1.0 + 0.01 * rng.normal(size=len(index)))
    return pd.Series(np.where(on, level, 0.0), index=index)


KINDS: dict[str, Callable[[Generator, np.random.Generator], pd.Series]] = {
    "load": load,
    "noise": noise,
    "temperature": temperature,
    "exported only": exported,
    "daily register": daily_register,
    "constant": constant,
    "square wave": square_wave,
    "load shifted by 12 h": shifted_load,
}


def make(
    kind: str,
    generators: Sequence[Generator],
    homes: Sequence[Generator],
    *,
    count: int = EACH,
    seed: int = SEED,
) -> list[tuple[pd.Series, Site]]:
    """Return series of one kind, each with its place.

    Parameters
    ----------
    kind
        One of ``KINDS``.
    generators
        Systems beside which they are made.
    homes
        Homes whose load was measured; these come first where a load is asked for.
    count
        How many.
    seed
        Of what is drawn.
    """
    rng = np.random.default_rng([seed, *kind.encode()])
    measured = list(homes) if KINDS[kind] in (load, shifted_load, exported) else []
    chosen = [*measured, *generators][:count]
    return [(KINDS[kind](each, rng), each.site) for each in chosen]


def _slow(rng: np.random.Generator, size: int, kept: float) -> np.ndarray:
    """Return noise that remembers, with a deviation of one."""
    steps = rng.normal(size=size) * np.sqrt(1.0 - kept**2)
    out = np.empty(size)
    last = 0.0
    for place, step in enumerate(steps):
        last = kept * last + step
        out[place] = last
    return out


def _step(index: pd.DatetimeIndex) -> float:
    return float((index[1] - index[0]).total_seconds())
