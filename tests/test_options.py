"""Options are declared once: checks, keywords, commands and schema files are made from them."""

from __future__ import annotations

from enum import StrEnum
from typing import get_args, get_type_hints

import numpy as np
import pytest

import sunveil
from sunveil._options import declared_options, fits
from sunveil.errors import ParameterError
from sunveil.estimates.inference_options import InferKeywords, InferOptions
from sunveil.meters import MeterOptions
from sunveil.meters.reading_options import MeterKeywords

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
