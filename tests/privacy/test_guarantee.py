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
from sunveil.privacy.guarantees import rho_to_epsilon

SAME = {"unit": Readings(1), "epsilon": 0.1, "delta": 0.1, "proof": "docs/proof.md"}


def test_a_conditional_guarantee_is_never_taken_for_one_of_the_worst_case():
    worst = Guarantee(**SAME)
    conditional = ConditionalGuarantee(**SAME, condition="")
    assert worst != conditional
    assert conditional != worst
    assert not isinstance(conditional, Guarantee)
    assert not isinstance(worst, ConditionalGuarantee)
    assert not issubclass(ConditionalGuarantee, Guarantee)
    assert worst.to_dict()["kind"] != conditional.to_dict()["kind"]
    assert len({worst, conditional}) == 2


def test_a_concentrated_guarantee_is_taken_for_neither_of_the_others():
    concentrated = ConcentratedGuarantee(Readings(1), 0.1, "docs/proof.md")
    for other in (Guarantee, ConditionalGuarantee):
        assert not isinstance(concentrated, other)
        assert not issubclass(ConcentratedGuarantee, other)
        assert not issubclass(other, ConcentratedGuarantee)
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
    assert concentrated.epsilon_at(1e-6) < 0.25 + 2.0 * math.sqrt(0.25 * math.log(1e6))
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
    assert "worst case" not in said


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf])
def test_an_epsilon_out_of_range_is_refused(epsilon):
    with pytest.raises(ParameterError, match="epsilon must be a finite number above 0"):
        Guarantee(**{**SAME, "epsilon": epsilon})
    with pytest.raises(ParameterError, match="epsilon"):
        ConditionalGuarantee(**{**SAME, "epsilon": epsilon}, condition="")


@pytest.mark.parametrize("delta", [-1e-9, math.nan, math.inf])
def test_a_delta_out_of_range_is_refused(delta):
    with pytest.raises(ParameterError, match="delta must be a finite number, 0 or more"):
        Guarantee(**{**SAME, "delta": delta})
    with pytest.raises(ParameterError, match="delta"):
        ConditionalGuarantee(**{**SAME, "delta": delta}, condition="")
