"""Wrong types and values at every public function and class: a sentence, and never a traceback."""

from __future__ import annotations

import datetime as dt
import enum
import functools
import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from plot_makers import GOLDEN, ROOF, estimate_of
from sunveil.errors import ParameterError, SunveilError
from sunveil.meters.record import Record
from sunveil.privacy.guarantee import Guarantee
from sunveil.privacy.units import Days
from sunveil.report import Case
from sunveil.weather import Weather, clearsky

PACKAGES = ("sunveil", "sunveil.meters", "sunveil.weather", "sunveil.plots", "sunveil.report")
# These ask servers; what they are asked is checked in tests/weather.
ASK_SERVERS = {"get_nsrdb", "get_pvgis"}
EXAMPLES = 10


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
    "unit": lambda: "kW",
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
    ("release", "unit"): lambda: Days(1),
    ("power", "weather"): lambda: "clearsky",
    ("plot_skyline", "estimate"): lambda: estimate_of(skyline=(10.0,) * 30),
    ("FrameEstimates", "estimates"): lambda: (estimate_of(),),
}
JUNK: list[Any] = [
    None, True, 0, -1, 10**400, 1.5, float("nan"), float("inf"), -1e308, 2 + 3j, Fraction(1, 3),
    "", "clear", "2019-06-01", "x" * 5000, "\x00", b"bytes", [], [1, "a"], (), (1.0,), {}, {"a": 1},
    {1, 2}, object(), object, len, range(3), dt.date(2019, 6, 1), dt.timedelta(1), dt.UTC,
    np.nan, np.datetime64("NaT"), np.float32(1.0), np.zeros(3), np.zeros((2, 2)), np.array("text"),
    np.array([1, None], dtype=object), np.arange(3).astype("M8[D]"), pd.Series(dtype=float),
    pd.Series([1.0, 2.0]), pd.Series(["a", "b"], index=pd.DatetimeIndex(["2019", "2020"])),
    pd.DataFrame(), pd.DataFrame({"a": [1.0]}), pd.DatetimeIndex([]), pd.NaT, pd.NA,
    Path("nowhere"), Ellipsis, NotImplemented, ValueError("x"),
]  # fmt: skip


# Letters alone: digits may well be a time, and be right; and nothing that leads out of a folder.
LETTERS = st.characters(categories=["L", "P", "S", "Z"], exclude_characters="/.~\\")
WRONG = st.one_of(
    st.sampled_from(JUNK),
    st.text(LETTERS, max_size=5),
    st.floats(),
    st.integers(),
    st.binary(max_size=3),
    st.lists(st.integers(), max_size=2),
)
# A message says what to do with one of these.
REMEDY = re.compile(r"must|give|make|use|leave|read|write|see|choose|take|check|need|name|localise")


def public() -> Iterator[tuple[str, Any]]:
    """Yield what users call, once each: functions and classes of the packages' ``__all__``."""
    seen = set()
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            found = getattr(module, name)
            if callable(found) and name not in ASK_SERVERS and id(found) not in seen:
                seen.add(id(found))
                if not (isinstance(found, type) and issubclass(found, (Exception, enum.Enum))):
                    yield name, found


CALLED = dict(public())


def right(name: str, parameter: str) -> Any:
    """Return what is right for a parameter."""
    make = ELSEWHERE.get((name, parameter)) or RIGHT[parameter]
    return make()


def required(called: Any) -> list[str]:
    return [
        each.name
        for each in inspect.signature(called).parameters.values()
        if each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
    ]


def taken(called: Any) -> list[str]:
    """Return the parameters that can be given by name."""
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = inspect.signature(called).parameters.values()
    return [each.name for each in parameters if each.kind in kinds]


def call(name: str, wrong: dict[str, Any]) -> SunveilError | None:
    """Call something with all that is right but what is wrong; return what it raised, if so."""
    called = CALLED[name]
    rest = {each: right(name, each) for each in required(called)}
    if name in ("infer", "infer_frame", "separate") and not {"latitude", "longitude"} & set(wrong):
        rest["site"] = GOLDEN
    try:
        result = called(**(rest | wrong))
        if inspect.isgenerator(result):
            next(result, None)
    except SunveilError as error:
        return error
    finally:
        _close_figures()
    return None


def _close_figures() -> None:
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module", autouse=True)
def elsewhere(tmp_path_factory):
    """Let what is written under a wrong name be written where it does no harm."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("wrong"))
        yield


def test_everything_public_is_tried():
    assert len(CALLED) > 40
    for name in ("infer", "infer_frame", "release", "Estimate", "read_meters", "plot_estimate"):
        assert name in CALLED
    for name, called in CALLED.items():
        for parameter in required(called):
            right(name, parameter)


@pytest.mark.parametrize("name", CALLED)
def test_what_is_wrong_is_told_in_a_sentence_with_a_remedy(name):
    parameters = taken(CALLED[name])
    if not parameters:
        return

    @settings(max_examples=EXAMPLES, derandomize=True, database=None, deadline=None)
    @given(st.sampled_from(parameters), WRONG)
    def attempt(parameter: str, value: Any) -> None:
        assume(value is not None)  # which mostly leaves a parameter out, and is right
        error = call(name, {parameter: value})
        if error is not None:
            assert "Traceback" not in str(error)
            assert len(str(error)) < 700
            if isinstance(error, ParameterError):
                assert REMEDY.search(str(error)), error

    attempt()
