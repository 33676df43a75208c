from __future__ import annotations

import pickle

import pytest

import sunveil
from sunveil import errors
from sunveil.errors import (
    BudgetExceeded,
    LedgerError,
    LedgerUnavailable,
    MeterError,
    ParameterError,
    SourceError,
    SunveilError,
    TooLittleData,
    WeatherError,
)


def test_every_error_is_a_sunveil_error_and_in_the_tree_of_the_docstring():
    found = [each for each in vars(errors).values() if isinstance(each, type)]
    found = [each for each in found if issubclass(each, Exception)]
    assert len(found) == 12
    for kind in found:
        assert issubclass(kind, SunveilError)
        assert kind.__name__ in errors.__doc__
    assert issubclass(MeterError, SourceError)
    assert issubclass(WeatherError, SourceError)
    assert not issubclass(MeterError, WeatherError)
    assert not issubclass(TooLittleData, SourceError)
    assert issubclass(ParameterError, ValueError)


def test_an_error_names_its_option_in_the_message_and_as_an_attribute(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("time,power_kw\n2024-06-01 00:00,1\n2024-06-01 01:00,1\n")
    with pytest.raises(MeterError, match=r"option `timezone`") as refused:
        sunveil.read_meters(path)
    assert refused.value.option == "timezone"
    assert pickle.loads(pickle.dumps(refused.value)).option == "timezone"
    assert SunveilError("what went wrong").option is None


def test_errors_of_the_ledger_keep_their_facts():
    exceeded = BudgetExceeded("too much", requested=2.0, remaining=0.5)
    assert isinstance(exceeded, LedgerError)
    assert (exceeded.requested, exceeded.remaining) == (2.0, 0.5)
    away = LedgerUnavailable("the ledger here: full", reason="full")
    assert isinstance(away, LedgerError)
    assert (str(away), away.reason) == ("the ledger here: full", "full")
