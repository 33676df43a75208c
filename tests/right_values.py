"""Right values for the parameters of public functions: by their names, and by their types."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np
import pandas as pd

from plot_makers import GOLDEN, ROOF, estimate_of
from sunveil._options import fits
from sunveil.estimates import Estimate, Estimates, Interval
from sunveil.estimates.read_write import FleetRows
from sunveil.example_publication import example_homes, example_power, example_tables
from sunveil.ledger import Promise, Question
from sunveil.meters import MeterOptions, Record
from sunveil.paper import DPBO
from sunveil.paper.fit import PosteriorScore
from sunveil.power.power_result import FleetPower
from sunveil.privacy import ConcentratedGuarantee, Days, Guarantee, Readings, System
from sunveil.publication import Publication
from sunveil.publication.published_tables import Bins
from sunveil.publish.fleet_tables import TableChoices
from sunveil.releases import Choices
from sunveil.site import Losses, Plane, Site, TimeGrid
from sunveil.weather import Weather, clearsky


@functools.cache
def record() -> Record:
    """Three days of readings: enough to look at, too few to infer anything from."""
    times = np.datetime64("2019-06-01T00:00", "s") + np.arange(144) * np.timedelta64(1800, "s")
    return Record("roof", times, np.full(144, 0.5), 30.0, "UTC-07:00")


@functools.cache
def weather() -> Weather:
    return clearsky(GOLDEN, "2019-05-30", "2019-06-06")


def series() -> pd.Series:
    return record().to_series()


def guarantee() -> Guarantee:
    return Guarantee(Days(1), 1.0, 0.0, "docs/proofs/exponential.md")


# What is right for a parameter, by its name.
RIGHT: dict[str, Callable[[], Any]] = {
    "end": lambda: "2019-06-04",
    "epsilon": lambda: 1.0,
    "estimate": estimate_of,
    "frame": lambda: series().to_frame("power_kw"),
    "guarantee": guarantee,
    "interval_minutes": lambda: 30.0,
    "path": lambda: Path("no-such-file.csv"),
    "power": series,
    "power_kw": lambda: record().power_kw,
    "publication": lambda: pd.DataFrame(
        {"surface_azimuth": [180.0], "surface_tilt": [20.0], "dc_capacity_kw": [5.0]}
    ),
    "record": record,
    "start": lambda: "2019-06-01",
    "times": lambda: record().times,
    "weather": weather,
    "what": lambda: "clearsky",
    **{
        name: functools.partial(lambda name: getattr(weather(), name), name)
        for name in ("ghi", "dni", "dhi", "temp_air", "wind_speed")
    },
}
ELSEWHERE: dict[tuple[str, str], Callable[[], Any]] = {
    # no page is to be drawn for a name that happens to be one
    ("write_report", "cases"): list,
    ("release", "protect"): lambda: Days(1),
}
# What is right for a parameter of a type, where an instance is quickly made.
BY_TYPE: dict[Any, Callable[[], Any]] = {
    Choices: Choices,
    ConcentratedGuarantee: lambda: ConcentratedGuarantee(System(), 0.1, "docs/proofs/x.md"),
    DPBO: lambda: DPBO(1.0, 0.1),
    Estimate: estimate_of,
    Estimates: lambda: Estimates.gathered([estimate_of()]),
    FleetPower: functools.cache(example_power),
    FleetRows: functools.cache(lambda: example_homes(30, feeders=("a", "b"))),
    Interval: lambda: Interval(1.0, 2.0),
    Losses: Losses,
    MeterOptions: MeterOptions,
    Plane: lambda: ROOF,
    PosteriorScore: lambda: PosteriorScore(np.arange(4.0), 5),
    Promise: lambda: Promise(System(), 10.0),
    Publication: functools.cache(lambda: example_tables(30)),
    Question: lambda: Question("tables", {"edition": "1"}, "laplace", guarantee()),
    Readings: lambda: Readings(1),
    Site: lambda: GOLDEN,
    TableChoices: lambda: TableChoices(Bins(), 1.0),
    TimeGrid: lambda: TimeGrid(1559347200, 3600, 72),
    Weather: weather,
    np.random.Generator: lambda: np.random.default_rng(0),
    pd.DatetimeIndex: lambda: weather().times,
}


# Types of which anything is right enough: what is not is refused.
PLAIN = (bool, int, float, str, Path)


class Unknown(LookupError):
    """Nobody said what is right for a parameter."""


def right_of(hint: Any) -> Any:
    """Return something of a type that work can be done with."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return None if NoneType in parts else right_of(parts[0])
    if origin is tuple and parts[-1] is not Ellipsis:
        return tuple(map(right_of, parts))
    if origin is tuple:
        return (right_of(parts[0]),)
    if hint in BY_TYPE:
        return BY_TYPE[hint]()
    if origin is np.ndarray:
        return np.resize(stand_in(hint), 4)
    if isinstance(hint, type) and not issubclass(hint, (enum.Enum, *PLAIN)):
        raise Unknown(hint)
    return stand_in(hint)


def stand_in(hint: Any) -> Any:
    """Return something of a type, empty where it can be: enough for a door, not for work."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return None if NoneType in parts else stand_in(parts[0])
    if origin is Literal:
        return parts[0]
    if origin is tuple:
        return () if parts[-1] is Ellipsis else tuple(map(stand_in, parts))
    if origin is np.ndarray:
        kinds = ("f8", "M8[s]", "?", "i8")
        return next(made for made in (np.zeros(0, kind) for kind in kinds) if fits(made, hint))
    if origin is not None:
        return _container(origin)
    for kind, value in {float: 0.5, int: 1, str: "x", bool: True}.items():
        if hint is kind:
            return value
    return _instance(hint)


def _container(origin: Any) -> Any:
    if origin is Callable:
        return lambda *_: None
    return {} if issubclass(origin, Mapping) else []


def _instance(kind: Any) -> Any:
    if kind in (Any, None):
        return None
    if kind is Path:
        return Path("nowhere")
    if issubclass(kind, enum.Enum):
        return next(iter(kind))
    if kind is np.random.Generator:
        return np.random.default_rng(0)
    return object.__new__(kind)
