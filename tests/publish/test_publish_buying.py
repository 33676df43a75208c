from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sunveil.errors import ParameterError
from sunveil.publish.fleet_tables import TABLES, buy

NAN = float("nan")


@given(
    st.floats(0.1, 20.0),
    st.dictionaries(st.sampled_from(TABLES), st.floats(0.01, 1.0), min_size=1),
    st.booleans(),
)
def test_the_parts_add_up_to_the_whole_and_never_above(epsilon, shares, concentrated):
    found = buy(epsilon, tables=None, shares=shares, quantiles=(0.5,), concentrated=concentrated)
    amounts = {name: part.amount for name, part in found.parts.items()}
    assert sum(map(Fraction, amounts.values())) <= Fraction(found.whole.amount)
    whole = epsilon**2 / 2.0 if concentrated else epsilon
    for name, share in shares.items():
        assert amounts[name] == pytest.approx(whole * share / sum(shares.values()))


def amounts(**asked):
    found = buy(1.0, **{"tables": None, "shares": None, "quantiles": (0.5,), **asked})
    return {name: part.amount for name, part in found.parts.items()}


def test_the_usual_tables_are_the_joint_one_totals_and_quantiles():
    assert amounts() == {"counts": 0.5, "totals": 0.25, "quantiles": 0.25}
    assert list(amounts(quantiles=())) == ["counts", "totals"]


def test_epsilon_goes_to_what_is_bought_alone():
    assert amounts(tables=("sectors",)) == {"sectors": 1.0}
    assert amounts(tables=("totals", "sectors")) == {"sectors": 0.5, "totals": 0.5}
    assert amounts(tables=("totals", "sectors"), shares={"sectors": 1, "totals": 3}) == {
        "sectors": 0.25,
        "totals": 0.75,
    }


@pytest.mark.parametrize(
    ("tables", "shares", "quantiles"),
    [
        (None, {"counts": -1.0}, ()), (None, {"counts": NAN}, ()), (None, {"sums": 1.0}, ()),
        (None, {"counts": 0.0}, ()), ((), None, ()), (("counts", "counts"), None, ()),
        (("sums",), None, ()), (("quantiles",), None, ()), (("counts",), {"totals": 1.0}, ()),
        (("counts", "totals"), {"totals": 1.0}, ()), (("counts",), None, (2.0,)),
    ],
)  # fmt: skip
def test_what_cannot_be_bought_is_refused_in_a_sentence(tables, shares, quantiles):
    with pytest.raises(ParameterError) as caught:
        buy(1.0, tables=tables, shares=shares, quantiles=quantiles)
    assert "\n" not in str(caught.value)
