from __future__ import annotations

import json
import math

import pytest

from sunveil.errors import ParameterError
from sunveil.privacy.guarantee import ConditionalGuarantee, Guarantee
from sunveil.privacy.units import Days, Readings, System

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
