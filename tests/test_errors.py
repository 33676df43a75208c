from __future__ import annotations

import pickle

import pytest

import sunveil
from sunveil import errors
from sunveil.errors import (
    BudgetExceeded,
    LedgerConflict,
    LedgerError,
    LedgerUnavailable,
    MeterError,
    MissingExtra,
    ParameterError,
    ReleaseNotFound,
    SourceError,
    SunveilError,
    TooLittleData,
    WeatherError,
)

PLAIN = (
    SourceError,
    MeterError,
    WeatherError,
    ParameterError,
    TooLittleData,
    MissingExtra,
    LedgerError,
    LedgerConflict,
    ReleaseNotFound,
)
EVERY = (*PLAIN, BudgetExceeded, LedgerUnavailable)


def test_every_error_is_caught_as_a_sunveil_error():
    for kind in PLAIN:
        with pytest.raises(SunveilError, match="what went wrong"):
            raise kind("what went wrong")


def test_an_error_names_its_option_in_the_message_and_as_an_attribute(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("time,power_kw\n2024-06-01 00:00,1\n2024-06-01 01:00,1\n")
    with pytest.raises(MeterError, match=r"option `timezone`") as refused:
        sunveil.read_meters(path)
    assert refused.value.option == "timezone"
    assert pickle.loads(pickle.dumps(refused.value)).option == "timezone"
    assert SunveilError("what went wrong").option is None


def test_a_budget_that_is_exceeded_says_by_how_much():
    with pytest.raises(LedgerError, match="too much") as refused:
        raise BudgetExceeded("too much", requested=2.0, remaining=0.5)
    assert (refused.value.requested, refused.value.remaining) == (2.0, 0.5)


def test_a_ledger_out_of_reach_gives_its_reason_apart_from_where_it_is():
    with pytest.raises(LedgerError, match="the ledger here: full") as refused:
        raise LedgerUnavailable("the ledger here: full", reason="full")
    assert refused.value.reason == "full"


def test_no_error_of_the_module_is_left_out_of_the_tree():
    found = {
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, Exception)
    }
    assert found == {SunveilError, *EVERY}


def test_meters_and_weather_are_sources_and_cannot_be_taken_for_each_other():
    assert issubclass(MeterError, SourceError)
    assert issubclass(WeatherError, SourceError)
    assert not issubclass(MeterError, WeatherError)
    assert not issubclass(TooLittleData, SourceError)


def test_a_bad_argument_is_a_value_error_too():
    assert issubclass(ParameterError, ValueError)


def test_the_tree_in_the_docstring_names_every_error():
    assert errors.__doc__ is not None
    for kind in (SunveilError, *EVERY):
        assert kind.__name__ in errors.__doc__
