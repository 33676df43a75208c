"""Arguments checked against annotations, and what messages may say of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from sunveil._options import checked
from sunveil.errors import ParameterError

if TYPE_CHECKING:
    from elsewhere import Ledger


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
        ({"path": "a\0b"}, "path must be a path whose names have at most 255 letters"),
        ({"path": "x" * 300}, "path must be a path whose names have at most 255 letters"),
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


def test_numbers_of_numpys_become_pythons_which_do_not_wrap():
    many = called(many=np.int64(2**63 - 1))[1]
    assert type(many) is int
    assert many + 1 == 2**63


def test_a_text_names_a_member_and_a_series_is_an_array():
    assert called(colour="red")[2] is Colour.RED
    array = called(array=pd.Series([1.0, 2.0]))[3]
    assert isinstance(array, np.ndarray)


def test_a_type_for_type_checkers_alone_is_known_by_its_name():
    mine = type("Ledger", (), {})()
    assert called(ledger=mine)[6] is mine


def test_what_is_walked_once_is_not_walked_by_the_check():
    assert list(called(some=iter([1, 2]))[7]) == [1, 2]


def test_python_tells_of_parameters_that_are_missing_or_unknown():
    with pytest.raises(TypeError, match="unexpected keyword argument 'amuont'"):
        called(amuont=1.0)
