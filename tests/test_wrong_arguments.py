"""Wrong types and values at every public function and class: a sentence, and never a traceback."""

from __future__ import annotations

import datetime as dt
import inspect
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plot_makers import GOLDEN, estimate_of
from public_names import Public, public
from right_values import ELSEWHERE, RIGHT, Unknown, right_of, stand_in
from sunveil._options import array_of, fits, member_of
from sunveil.errors import ParameterError, SunveilError
from sunveil.site import Losses

JUNK: list[Any] = [
    None, True, 0, -1, 10**400, 1.5, float("nan"), float("inf"), -1e308, 2 + 3j, Fraction(1, 3),
    "", "clear", "2019-06-01", "x" * 300, "\x00", b"bytes", [], [1, "a"], (), (1.0,), {}, {"a": 1},
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
REMEDY = re.compile(
    r"must|give|set|make|use|leave|read|write|see|choose|take|check|need|name|localise|release for"
    r"|from [\d-]|above 0|at least|at most|between|one of|among|or more|one position|only"
    r"|whole number|each above|is tight|shape is of|equal lengths|finite number|no more than"
    r"|fields are|published by"
)


PUBLIC = public()
# What asks servers, compiles kernels or simulates whole years is tried at the door alone.
DEAR = re.compile(r"get_nsrdb|get_pvgis|client\.Client|_block$|compile_kernels|simulate_|real_sky")


def right(each: Public, parameter: str, hint: Any) -> Any:
    """Return what is right for a parameter."""
    make = ELSEWHERE.get((each.name.rpartition(".")[2], parameter)) or RIGHT.get(parameter)
    made = None if make is None else make()
    return made if make and (hint is None or fits(made, hint)) else right_of(hint)


def _works(each: Public) -> bool:
    """Whether work can be done with right values."""
    hints = each.hints()
    try:
        for name in each.required():
            right(each, name, hints.get(name))
        right_of(each.owner or bool)
    except Unknown:
        return False
    return not DEAR.search(each.name)


WORKED = [name for name, each in PUBLIC.items() if _works(each)]
# Parameters that messages call by another name.
CALLED_ELSE = {
    ("inference.infer.infer", "power"): "readings",
    ("inference.infer.separate", "power"): "readings",
    ("site.Losses.of", "given"): "losses",
    ("weather.sources.get_weather", "what"): "weather",
    ("weather.sources.get_weather", "start"): "time",
    ("weather.sources.get_weather", "end"): "time",
    ("power.compute_power.fleet_power", "start"): "time",
    ("power.compute_power.fleet_power", "end"): "time",
}
# Parameters that take what their fields do not keep.
CONVERTED = {("estimates.inference_options.InferOptions", "losses"): Losses | float}
SPAN = {"start": RIGHT["start"], "end": RIGHT["end"]}
# What else is needed before some functions look at the rest.
ALSO: dict[str, dict[str, Callable[[], Any]]] = {
    "inference.infer.infer": {"site": lambda: GOLDEN, "power": RIGHT["power"]},
    "inference.infer.infer_frame": {"site": lambda: GOLDEN},
    "inference.infer.separate": {
        "site": lambda: GOLDEN, "estimate": estimate_of, "power": RIGHT["power"]
    },
    "weather.sources.get_weather": SPAN,
    "power.compute_power.fleet_power": {
        **SPAN, "publication": RIGHT["publication"], "site": lambda: GOLDEN, "draws": lambda: 20
    },
}  # fmt: skip


def wrong_for(hint: Any) -> st.SearchStrategy[Any]:
    """Return what is of another type than a parameter takes."""

    def is_wrong(value: Any) -> bool:
        return not (fits(value, hint) or member_of(value, hint) or fits(array_of(value), hint))

    return WRONG.filter(is_wrong)


def takes_anything(hint: Any) -> bool:
    return hint in (Any, object) or Any in get_args(hint)


def given_wrong(each: Public, parameter: str, value: Any) -> SunveilError | None:
    """Call something with one wrong value; return what it raised, if so."""
    hints = each.hints()
    rest = {name: stand_in(hints[name]) for name in each.required() if name != parameter}
    rest |= {key: make() for key, make in ALSO.get(each.name, {}).items() if key != parameter}
    on = [stand_in(each.owner)] if each.owner else []
    try:
        each.function(*on, **rest, **{parameter: value})
    except SunveilError as error:
        return error
    return None


@pytest.mark.parametrize("name", PUBLIC)
def test_what_is_of_a_wrong_type_is_refused_at_the_door(name):
    each = PUBLIC[name]
    for parameter, hint in each.hints().items():
        if parameter in each.parameters() and not takes_anything(hint):
            _refuses(each, parameter, CONVERTED.get((each.name, parameter), hint))


def _refuses(each: Public, parameter: str, hint: Any) -> None:
    @settings(max_examples=4, derandomize=True, database=None, deadline=None)
    @given(wrong_for(hint))
    def attempt(value: Any) -> None:
        error = given_wrong(each, parameter, value)
        assert error is not None, f"{parameter}={value!r} was taken"
        assert CALLED_ELSE.get((each.name, parameter), parameter) in str(error), error
        assert REMEDY.search(str(error)), error

    attempt()


def attempted(each: Public, wrong: dict[str, Any]) -> SunveilError | None:
    """Call something with all that is right but what is wrong; return what it raised, if so."""
    hints = each.hints()
    rest = {name: right(each, name, hints.get(name)) for name in each.required()}
    rest |= {name: make() for name, make in ALSO.get(each.name, {}).items()}
    on = [right_of(each.owner)] if each.owner else []
    try:
        result = each.function(*on, **(rest | wrong))
        if inspect.isgenerator(result):
            next(result, None)
    except SunveilError as error:
        return error
    finally:
        plt.close("all")
    return None


def edges(hint: Any) -> st.SearchStrategy[Any]:
    """Return what has the right type for a parameter, and may be a wrong value."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return st.one_of([edges(part) for part in parts if part is not NoneType])
    if origin is tuple and parts[-1] is not Ellipsis:
        return st.tuples(*map(edges, parts))
    if origin in (tuple, list, Sequence):
        entries = edges(parts[0])
        several = st.lists(entries, max_size=0 if entries.is_empty else 2)
        return several.map(tuple if origin is tuple else list)
    fitting = [value for value in (*JUNK, 2**70) if fits(value, hint) and not callable(value)]
    return st.sampled_from(fitting) if fitting else st.nothing()


@pytest.fixture(scope="module", autouse=True)
def elsewhere(tmp_path_factory):
    """Let what is written under a wrong name be written where it does no harm."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("wrong"))
        yield


def test_everything_public_is_tried():
    assert len(PUBLIC) > 100
    assert len(WORKED) > 70
    assert {"inference.infer.infer", "inference.fleet_run.infer_fleet",
            "ledger.ledger.Ledger.charge"} <= set(PUBLIC)  # fmt: skip


@pytest.mark.parametrize("name", WORKED)
def test_a_wrong_value_is_told_in_a_sentence_with_a_remedy(name):
    each = PUBLIC[name]
    hints = each.hints()

    def tried(parameter: str) -> st.SearchStrategy[tuple[str, Any]]:
        hint = hints.get(parameter, Any)
        values = st.sampled_from(JUNK) if takes_anything(hint) else edges(hint)
        return st.tuples(st.just(parameter), values)

    pairs = st.one_of([tried(parameter) for parameter in each.parameters()])
    if pairs.is_empty:
        return

    @settings(max_examples=20, derandomize=True, database=None, deadline=None)
    @given(pairs)
    def attempt(pair: tuple[str, Any]) -> None:
        parameter, value = pair
        error = attempted(each, {parameter: value})
        if error is not None:
            assert "Traceback" not in str(error)
            assert len(str(error)) < 700
            if isinstance(error, ParameterError):
                assert REMEDY.search(str(error)), error

    attempt()
