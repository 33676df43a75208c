"""Options are declared once: checks, keywords, commands and schema files are made from them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, get_args, get_type_hints

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import sunveil
from sunveil._options import checked, declared_options, fits
from sunveil.errors import ParameterError
from sunveil.estimates.inference_options import InferKeywords, InferOptions
from sunveil.meters import MeterOptions
from sunveil.meters.reading_options import MeterKeywords

if TYPE_CHECKING:
    from elsewhere import Ledger

PAIRS = [(MeterOptions, MeterKeywords), (InferOptions, InferKeywords)]


@pytest.mark.parametrize(("options", "keywords"), PAIRS)
def test_the_keywords_for_editors_are_the_declared_options(options, keywords):
    hints = get_type_hints(keywords)
    assert list(hints) == list(declared_options(options)) == list(options.__dataclass_fields__)
    for name, (hint, option) in declared_options(options).items():
        assert fits(getattr(options(), name), hints[name])
        texts = {each for each in (hint, *get_args(hint)) if isinstance(each, type)}
        wanted = {str if issubclass(each, StrEnum) else each for each in texts}
        assert wanted <= {hints[name], *get_args(hints[name])}
        assert option.help.endswith((".", "]"))
        assert f"\n{name}\n    {option.help[:20]}" in options.__doc__


@pytest.mark.parametrize(
    ("options", "given", "option", "words"),
    [
        (InferOptions, {"albedo": 2}, "albedo", "must be between 0 and 1, and 2 is not"),
        (InferOptions, {"albedo": "much"}, "albedo", "must be a number, and this text is not"),
        (InferOptions, {"albedo": np.nan}, "albedo", "must be between 0 and 1"),
        (InferOptions, {"clock": "mend"}, "clock", "must be one of repair, given, and 'mend'"),
        (InferOptions, {"method": "magic"}, "method", "must be one of default, paper"),
        (InferOptions, {"group": "decade"}, "group", "must be one of day, week"),
        (InferOptions, {"search": "random"}, "search", "one of exhaustive, bayesopt"),
        (InferOptions, {"force": 1}, "force", "must be True or False"),
        (MeterOptions, {"power_unit": "horses"}, "power_unit", "must be one of auto, W, kW"),
        (MeterOptions, {"label": None}, "label", "must be one of auto, start, middle"),
        (MeterOptions, {"skip_rows": 1001}, "skip_rows", "must be a whole number between 0 and"),
        (MeterOptions, {"skip_rows": 1.5}, "skip_rows", "must be a whole number or None"),
        (MeterOptions, {"interval_minutes": 0}, "interval_minutes", "between 1 and 60"),
        (MeterOptions, {"power_column": ["a", 3]}, "power_column", "column names"),
        (MeterOptions, {"separator": "ab"}, "separator", "must be one character"),
        (MeterOptions, {"timezone": "Mars/Olympus"}, "timezone", "is not known"),
        (MeterOptions, {"first": "soon"}, "first", "must be a time such as"),
    ],
)
def test_a_wrong_value_is_refused_by_the_name_of_its_option(options, given, option, words):
    with pytest.raises(ParameterError) as refused:
        options(**given)
    assert refused.value.option == option
    assert words in str(refused.value)


def test_texts_become_members_and_numbers_pythons_own():
    options = InferOptions(method=" Paper ", albedo=np.float32(0.5), mount="roof", losses=0.1)
    assert (options.method.name, options.mount.name) == ("PAPER", "ROOF")
    assert type(options.albedo) is float
    assert options.losses == sunveil.Losses(system=0.1)
    assert MeterOptions(label="left", power_unit=" kwh").power_unit == "kWh"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"unit": "kWh"}, "no option 'unit': did you mean power_unit or unit_switch?"),
        ({"albedoo": 0.3}, "no option 'albedoo': did you mean albedo?"),
        ({"zzz": 1}, "no option 'zzz': use one of skip_rows, separator"),
    ],
)
def test_an_unknown_option_is_refused_with_the_closest(given, words):
    with pytest.raises(ParameterError, match=words.replace("?", r"\?")):
        sunveil.infer("a.csv", latitude=40, longitude=-105, altitude=0, **given)


def test_infer_takes_every_option_of_a_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("Zeit;Wert\n2024-06-01 00:00;1\n2024-06-01 01:00;1\n")
    place = {"latitude": 40, "longitude": -105, "altitude": 0}
    given = {"time_column": "Zeit", "power_column": "Wert", "power_unit": "kW", "decimal": ","}
    with pytest.raises(sunveil.MeterError, match="option `timezone`"):
        sunveil.infer(path, **place, **given)
    with pytest.raises(sunveil.TooLittleData):
        sunveil.infer(path, **place, **given, timezone="UTC", label="start")


class Colour(StrEnum):
    RED = "red"


@checked
def called(
    amount: float = 0.0,
    many: int = 1,
    colour: Colour = Colour.RED,
    array: NDArray[np.float64] | None = None,
    names: Sequence[str] = (),
    path: str | Path = "",
    ledger: Ledger | None = None,
    some: Iterable[int] = (),
) -> tuple[object, ...]:
    return amount, many, colour, array, names, path, ledger, some


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"amount": "secret"}, "amount must be a number, and this text is not"),
        ({"amount": math.nan}, "amount must be a number, and nan is not one"),
        ({"amount": True}, "amount must be a number, and a bool is not"),
        ({"many": 12345.5}, "many must be a whole number, and a float is not"),
        ({"colour": "blue"}, "colour must be one of red, and this text is not"),
        ({"array": np.array(["a"])}, "array must be a numpy array of numbers or None"),
        ({"names": "abc"}, "names must be a list of entries that are each text, and this text"),
        ({"names": [1]}, "names must be a list of entries that are each text, and a list is not"),
        ({"path": "a\0b"}, "path must be a path with names of at most 255 letters"),
        ({"path": "x" * 300}, "path must be a path with names of at most 255 letters"),
        ({"ledger": 5}, "ledger must be a Ledger or None, and an int is not"),
        ({"some": b"12"}, "some must be an Iterable"),
    ],
)
def test_what_does_not_fit_is_told_by_its_type(given, message):
    with pytest.raises(ParameterError) as refused:
        called(**given)
    assert str(refused.value).startswith(message)
    assert "secret" not in str(refused.value)
    assert "12345" not in str(refused.value)


def test_what_fits_is_taken_as_what_is_asked_for():
    many = called(many=np.int64(2**63 - 1))[1]
    assert type(many) is int  # which does not wrap
    assert many + 1 == 2**63
    assert called(colour="red")[2] is Colour.RED
    assert isinstance(called(array=pd.Series([1.0, 2.0]))[3], np.ndarray)
    mine = type("Ledger", (), {})()  # known by its name, as to type checkers
    assert called(ledger=mine)[6] is mine
    assert list(called(some=iter([1, 2]))[7]) == [1, 2]  # not walked by the check
    with pytest.raises(TypeError, match="unexpected keyword argument 'amuont'"):
        called(amuont=1.0)
