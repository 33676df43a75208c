"""Right values for the parameters of public functions: by their names, and by their types."""

from __future__ import annotations

import enum
import functools
import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np
import pandas as pd

from plot_makers import GOLDEN, ROOF, estimate_of
from sunveil._options import fits
from sunveil.engine import SkyTable, make_sky_table
from sunveil.estimates import Estimates, Interval
from sunveil.estimates.read_write import FleetRows
from sunveil.example_publication import example_homes, example_power, example_tables
from sunveil.grids import Grid, plane_grid
from sunveil.ledger import Promise, Question
from sunveil.meters import MeterOptions, Record
from sunveil.paper import DPBO
from sunveil.paper.fit import PosteriorScore
from sunveil.paper.grid_and_bayesian_search import Kernel, Posterior, Scaling, SearchSettings
from sunveil.plots import Case
from sunveil.power.power_result import FleetPower
from sunveil.privacy import (
    ConcentratedGuarantee,
    Days,
    DiscreteGaussian,
    DiscreteLaplace,
    Guarantee,
    PermuteAndFlip,
    Readings,
    Score,
    System,
)
from sunveil.privacy.discrete_noise import Counts, Sensitivity, Spending
from sunveil.privacy.mechanisms import Axis, Exponential, Placement
from sunveil.privacy.two_level_window import Window
from sunveil.publication import Publication
from sunveil.publication.published_tables import Bins
from sunveil.publish.capacity_cap import ClipRule
from sunveil.publish.fleet_tables import TableChoices
from sunveil.pv_model import Sky, sky_at
from sunveil.releases import Choices
from sunveil.releases.fleet_releases import ReleaseTerms
from sunveil.releases.prior_and_votes import PlanePrior
from sunveil.releases.score_kernels import Capacities, RatioBins, Tolerance
from sunveil.simulate import FaultRates, FleetSpec, NetMix, SystemTruth, Tracker
from sunveil.site import Losses, Plane, Site, TimeGrid
from sunveil.weather import Weather, WeatherCache, clearsky

CELL_AXES = (Axis(8, 45.0, wraps=True), Axis(5, 10.0))


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


def _guarantee() -> Guarantee:
    return Guarantee(System(), 1.0, 0.0, "docs/proofs/exponential.md")


# What is right for a parameter, by its name; some mean other things elsewhere.
RIGHT: dict[str, Callable[[], Any]] = {
    "ac_limit_kw": lambda: None,
    "agreement": lambda: 0.9,
    "assumptions": lambda: estimate_of().assumptions,
    "azimuth_interval": lambda: estimate_of().azimuth_interval,
    "axis_azimuth": lambda: 180.0,
    "axis_interval": lambda: estimate_of().azimuth_interval,
    "backtrack": lambda: True,
    "backtrack_probability": lambda: 0.9,
    "capacity_interval": lambda: estimate_of().capacity_interval,
    "ax": lambda: importlib.import_module("sunveil.plots.style").new_axes(),
    "cases": lambda: [Case(None, record(), weather(), estimate_of())],
    "clock": lambda: estimate_of().clock,
    "counts": lambda: [1] * 36,
    "date": lambda: "2019-06-01",
    "dc_capacity_kw": lambda: 5.0,
    "dhi": lambda: weather().dhi,
    "dni": lambda: weather().dni,
    "end": lambda: "2019-06-04",
    "epsilon": lambda: 1.0,
    "estimate": estimate_of,
    "estimates": lambda: [estimate_of()],
    "exporting": lambda: 0.5,
    "flags": lambda: (),
    "frame": lambda: series().to_frame("power_kw"),
    "gcr": lambda: 0.4,
    "gcr_interval": lambda: estimate_of().tilt_interval,
    "ghi": lambda: weather().ghi,
    "guarantee": lambda: Guarantee(Days(1), 1.0, 0.0, "docs/proofs/exponential.md"),
    "high": lambda: 2.0,
    "interval_minutes": lambda: 30.0,
    "kind": lambda: "meter",
    "latitude": lambda: 39.742,
    "load_kw": lambda: ((0.5,) * 24,) * 4,
    "longitude": lambda: -105.17,
    "low": lambda: 1.0,
    "max_angle": lambda: 55.0,
    "max_angle_interval": lambda: estimate_of().tilt_interval,
    "mean_load_kw": lambda: 0.5,
    "curves": list,
    "mechanism": lambda: "default",
    "message": lambda: "wrong",
    "path": lambda: Path("no-such-file.csv"),
    "plane": lambda: ROOF,
    "plane_error_degrees": lambda: 3.0,
    "power": series,
    "private": lambda: True,
    "power_kw": lambda: record().power_kw,
    "readings": series,
    "reason": lambda: "no reason",
    "record": record,
    "self_consumption": lambda: 0.5,
    "share": lambda: 1.0,
    "share_interval": lambda: estimate_of().tilt_interval,
    "publication": lambda: pd.DataFrame(
        {"surface_azimuth": [180.0], "surface_tilt": [20.0], "dc_capacity_kw": [5.0]}
    ),
    "site": lambda: GOLDEN,
    "source": lambda: "here",
    "start": lambda: "2019-06-01",
    "surface_azimuth": lambda: 180.0,
    "surface_tilt": lambda: 30.0,
    "system_id": lambda: "roof",
    "temp_air": lambda: weather().temp_air,
    "tilt_interval": lambda: estimate_of().tilt_interval,
    "times": lambda: record().times,
    "truths": list,
    "power_unit": lambda: "kW",
    "value": lambda: "kW",
    "weather": weather,
    "what": lambda: "clearsky",
    "wind_speed": lambda: weather().wind_speed,
    "year": lambda: 2019,
}
ELSEWHERE: dict[tuple[str, str], Callable[[], Any]] = {
    ("Weather", "times"): lambda: weather().times,
    ("covering", "weather"): weather,
    ("Unit", "value"): lambda: "kW",
    ("Label", "value"): lambda: "start",
    ("Flag", "value"): lambda: "clipping",
    ("Duplicates", "value"): lambda: "mean",
    ("UnitSwitch", "value"): lambda: "repair",
    ("Case", "truth"): lambda: None,
    # no page is to be drawn for a name that happens to be one
    ("write_report", "cases"): list,
    ("release", "protect"): lambda: Days(1),
    ("power", "weather"): lambda: "clearsky",
    ("plot_skyline", "estimate"): lambda: estimate_of(skyline=(10.0,) * 30),
}
# What is right for a parameter of a type, where an instance is quickly made.
BY_TYPE: dict[Any, Callable[[], Any]] = {
    Axis: lambda: CELL_AXES[0],
    Bins: Bins,
    Capacities: Capacities,
    Case: lambda: Case(None, record(), weather(), estimate_of()),
    Choices: Choices,
    ClipRule: lambda: ClipRule((1.0, 5.0), Spending(1.0), 10),
    ConcentratedGuarantee: lambda: ConcentratedGuarantee(System(), 0.1, "docs/proofs/x.md"),
    Counts: lambda: Counts(np.arange(3), Sensitivity(1, 1), System(), "docs/proofs/x.md"),
    DPBO: lambda: DPBO(1.0, 0.1),
    Days: lambda: Days(1),
    DiscreteGaussian: lambda: DiscreteGaussian(0.1),
    DiscreteLaplace: lambda: DiscreteLaplace(1.0),
    Exponential: lambda: Exponential(1.0),
    FaultRates: FaultRates,
    FleetPower: functools.cache(example_power),
    FleetRows: functools.cache(lambda: example_homes(30, feeders=("a", "b"))),
    Estimates: lambda: Estimates.gathered([estimate_of()]),
    FleetSpec: lambda: FleetSpec.of(1),
    Grid: lambda: plane_grid(45.0, 30.0),
    Guarantee: _guarantee,
    Interval: lambda: Interval(1.0, 2.0),
    Kernel: Kernel,
    Losses: Losses,
    MeterOptions: MeterOptions,
    NetMix: NetMix,
    PermuteAndFlip: lambda: PermuteAndFlip(1.0),
    Placement: lambda: Placement((1, 1), CELL_AXES),
    Plane: lambda: ROOF,
    PlanePrior: PlanePrior,
    Posterior: lambda: Posterior(np.zeros((4, 2)), capacity=3),
    PosteriorScore: lambda: PosteriorScore(np.arange(4.0), 5),
    Promise: lambda: Promise(System(), 10.0),
    Publication: functools.cache(lambda: example_tables(30)),
    Question: lambda: Question("tables", {"edition": "1"}, "laplace", _guarantee()),
    RatioBins: lambda: RatioBins.of(Capacities(), Tolerance()),
    Readings: lambda: Readings(1),
    Record: record,
    ReleaseTerms: lambda: ReleaseTerms.of(System(), 1.0),
    Scaling: Scaling,
    Score: lambda: Score(np.arange(4), 1, Readings(1), "docs/proofs/x.md"),
    SearchSettings: lambda: SearchSettings(steps=3, warm_start=2),
    Sensitivity: lambda: Sensitivity(1, 1),
    Site: lambda: GOLDEN,
    Sky: functools.cache(lambda: sky_at(weather(), weather().times[:20].to_numpy("M8[s]"))),
    SkyTable: functools.cache(lambda: make_sky_table(GOLDEN, time_grid())),
    Spending: lambda: Spending(1.0),
    SystemTruth: lambda: SystemTruth("roof", GOLDEN, ((ROOF, 1.0),), 5.0),
    TableChoices: lambda: TableChoices(Bins(), 1.0),
    TimeGrid: lambda: time_grid(),
    Tolerance: Tolerance,
    Tracker: Tracker,
    Weather: weather,
    WeatherCache: lambda: WeatherCache("cache"),
    Window: lambda: Window(1.0, CELL_AXES, 3),
    np.random.Generator: lambda: np.random.default_rng(0),
    pd.DatetimeIndex: lambda: weather().times,
    pd.Series: series,
    type(estimate_of()): estimate_of,
    type(estimate_of().assumptions): lambda: estimate_of().assumptions,
    type(estimate_of().clock): lambda: estimate_of().clock,
}


def time_grid() -> TimeGrid:
    return TimeGrid(1559347200, 3600, 72)


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
