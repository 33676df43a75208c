"""Units of protection, which of them imply which, and guarantees for them."""

from __future__ import annotations

import json
import math

import pytest

from sunveil.errors import ParameterError
from sunveil.privacy import (
    ConcentratedGuarantee,
    ConditionalGuarantee,
    Days,
    Guarantee,
    Readings,
    System,
)
from sunveil.privacy.guarantees import implies, parse_unit, rho_to_epsilon, unit_name

SAME = {"unit": Readings(1), "epsilon": 0.1, "delta": 0.1, "proof": "docs/proof.md"}
# From the smallest to the largest as far as they can be compared, with all that each implies.
READINGS = [Readings(1), Readings(2), Readings(365)]
IMPLIED = {
    Readings(1): READINGS[:1],
    Readings(2): READINGS[:2],
    Readings(365): READINGS,
    Days(1): [Readings(1), Days(1)],
    Days(2): [*READINGS[:2], Days(1), Days(2)],
    Days(365): [*READINGS, Days(1), Days(2), Days(365)],
    System(): [*READINGS, Days(1), Days(2), Days(365), System()],
}


@pytest.mark.parametrize("larger", IMPLIED, ids=str)
def test_a_larger_unit_implies_the_smaller_and_never_the_reverse(larger):
    assert [unit for unit in IMPLIED if implies(larger, unit)] == IMPLIED[larger]


@pytest.mark.parametrize(
    ("unit", "name", "words"),
    [
        (Readings(), "readings:1", "any one reading"),
        (Readings(24), "readings:24", "any 24 readings"),
        (Days(), "days:1", "any one day"),
        (Days(7), "days:7", "any 7 days"),
        (System(), "system", "a system's whole record"),
    ],
)
def test_a_unit_says_what_it_protects_and_is_read_from_its_name(unit, name, words):
    assert (unit_name(unit), str(unit)) == (name, words)
    others = {f" {name.upper()} ", name.removesuffix(":1")}
    assert {parse_unit(text) for text in {name, *others}} == {unit}


@pytest.mark.parametrize(
    "text",
    ["", "reading:1", "readings:0", "days:-1", "days:1.5", "system:2", "days:x", "k", "days:²"],
)
def test_a_text_that_names_no_unit_is_refused(text):
    with pytest.raises(ParameterError, match="a unit"):
        parse_unit(text)


@pytest.mark.parametrize("unit", [Readings, Days])
@pytest.mark.parametrize("k", [0, -1, 1.0, 1.5, True, "1", None, math.nan])
def test_a_unit_counts_in_whole_numbers_from_one(unit, k):
    with pytest.raises(ParameterError, match=f"whole number of {unit.__name__.lower()}, 1 or more"):
        unit(k)


def test_guarantees_of_one_kind_are_never_taken_for_another():
    worst, conditional = Guarantee(**SAME), ConditionalGuarantee(**SAME, condition="")
    concentrated = ConcentratedGuarantee(Readings(1), 0.1, "docs/proof.md")
    assert worst != conditional
    assert conditional != worst
    assert len({worst, conditional}) == 2
    kinds = [type(each) for each in (worst, conditional, concentrated)]
    assert all(issubclass(a, b) is (a is b) for a in kinds for b in kinds)
    # nothing that asks for an ε finds one
    assert not hasattr(concentrated, "epsilon")
    assert not hasattr(concentrated, "delta")


def test_a_concentrated_guarantee_says_rho_and_is_an_epsilon_only_beside_a_delta():
    concentrated = ConcentratedGuarantee(System(), 0.25, "docs/proof.md")
    said = "ρ = 0.25 zero-concentrated DP in the worst case, for a system's whole record"
    assert str(concentrated) == said
    assert json.loads(json.dumps(concentrated.to_dict())) == {
        "kind": "concentrated",
        "unit": "a system's whole record",
        "adjacency": "replacement",
        "rho": 0.25,
        "proof": "docs/proof.md",
    }
    assert concentrated.epsilon_at(1e-6) == rho_to_epsilon(0.25, 1e-6)
    with pytest.raises(ParameterError, match="delta between 0 and 1"):
        concentrated.epsilon_at(0.0)


@pytest.mark.parametrize("rho", [0.0, -1.0, math.nan, math.inf, 1e-10, 1251.0, True])
def test_a_rho_out_of_range_is_refused(rho):
    with pytest.raises(ParameterError, match=r"rho (of .* )?must be"):
        ConcentratedGuarantee(System(), rho, "docs/proof.md")


def test_the_kind_is_the_first_thing_told_in_json():
    conditional = ConditionalGuarantee(**SAME, condition="If so.", caveats=("Not so.",))
    told = json.loads(json.dumps(conditional.to_dict()))
    assert told == {
        "kind": "conditional",
        "unit": "any one reading",
        "adjacency": "replacement",
        "epsilon": 0.1,
        "delta": 0.1,
        "proof": "docs/proof.md",
        "condition": "If so.",
        "caveats": ["Not so."],
    }
    worst = Guarantee(System(), 1.0, 0.0, "docs/other.md").to_dict()
    assert next(iter(told)) == next(iter(worst)) == "kind"
    assert worst["kind"] == "worst-case"
    assert (worst["unit"], worst["delta"]) == ("a system's whole record", 0.0)
    assert "condition" not in worst


def test_a_guarantee_reads_as_a_sentence_that_names_its_kind():
    assert str(Guarantee(Days(2), 0.5, 0.0, "p")) == "ε = 0.5-DP in the worst case, for any 2 days"
    assert str(Guarantee(**SAME)).startswith("(ε = 0.1, δ = 0.1)-DP in the worst case")
    said = str(ConditionalGuarantee(**SAME, condition="If so.", caveats=("Not so.",)))
    assert said == "(ε = 0.1, δ = 0.1)-DP for any one reading, conditional: If so. Not so."


@pytest.mark.parametrize("more", [{}, {"condition": ""}], ids=["worst case", "conditional"])
@pytest.mark.parametrize(
    ("name", "wrong", "words"),
    [
        ("epsilon", [0.0, -1.0, math.nan, math.inf], "epsilon must be a finite number above 0"),
        ("delta", [-1e-9, math.nan, math.inf], "delta must be a finite number, 0 or more"),
    ],
)
def test_an_epsilon_or_a_delta_out_of_range_is_refused(more, name, wrong, words):
    for value in wrong:
        with pytest.raises(ParameterError, match=words):
            (ConditionalGuarantee if more else Guarantee)(**SAME | {name: value} | more)
