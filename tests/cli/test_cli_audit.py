from __future__ import annotations

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest

from sunveil.cli.audit import show_audit
from sunveil.privacy import mechanisms
from sunveil.privacy.audit import ExactFinding, SamplerFinding
from sunveil.privacy.guarantee import Guarantee
from sunveil.privacy.independence import IndependenceFinding
from sunveil.privacy.score import Score
from sunveil.releases import auditing
from sunveil.releases.auditing import Audit

EXACT = ExactFinding("exponential", "any one day", "worst-case", 1.0, 0.0, 0.9, 0.0, 1234)
PAPER = ExactFinding("paper", "any one reading", "conditional", 1.0, 0.1, 2.5, 0.0, 4)
DRAWN = SamplerFinding("window", "a system's whole record", 1000, 5, 0.5)
REPLAYED = IndependenceFinding("hourly readings", "any one day", 50, 0, 0, 0, 0)
SMALL = ("--pairs", 44, "--draws", 200)


def shown(*, exact=EXACT, drawn=DRAWN, replayed=REPLAYED) -> list[str]:
    return show_audit(Audit(1.0, 1, (exact, PAPER), (drawn,), (replayed,))).splitlines()


def row(lines: list[str], name: str) -> str:
    (line,) = [line for line in lines if line.startswith(name)]
    return line


def test_the_table_says_what_was_claimed_and_what_was_found():
    lines = shown()
    assert row(lines, "exponential").split("  ")[-1].strip() == "holds, tight"
    for part in ("any one day", "0.900000", "90.0%", "1,234"):
        assert part in row(lines, "exponential")
    assert row(lines, "paper").endswith("conditional")
    assert "1, δ = 0.1" in row(lines, "paper")
    assert row(lines, "window").endswith("holds")
    assert row(lines, "hourly").endswith("holds")
    assert lines[-1] == "All holds that must, over 1,234 pairs of neighbours."
    assert max(map(len, lines)) <= 105


@pytest.mark.parametrize(
    ("change", "name", "end"),
    [
        ({"exact": replace(EXACT, largest=1.5)}, "exponential", "BROKEN"),
        ({"exact": replace(EXACT, largest=float("inf"))}, "exponential", "BROKEN"),
        ({"drawn": replace(DRAWN, p_value=0.0)}, "window", "BROKEN"),
        (
            {"replayed": replace(REPLAYED, scores_changed=3, refused=1)},
            "hourly",
            "BROKEN: scores changed in 3, refused in 1",
        ),
    ],
)
def test_what_is_broken_is_named(change, name, end):
    lines = shown(**change)
    assert row(lines, name).endswith(end)
    assert lines[-1].startswith("Something that must hold does not")


def test_looser_findings_are_told_apart():
    assert row(shown(exact=replace(EXACT, largest=0.5)), "exponential").endswith("holds")
    peaked = replace(DRAWN, cells=1, p_value=1.0)
    assert row(shown(drawn=peaked), "window").endswith("too peaked, not tested")
    exceeded = replace(PAPER, delta_needed=0.5, mechanism="exceeding")
    assert row(shown(exact=exceeded), "exceeding").endswith("conditional, exceeded")


def test_an_audit_of_what_is_there_holds(sunveil):
    said = sunveil("audit", *SMALL)
    assert (said.code, said.err) == (0, "")
    assert "permute-and-flip" in said.out
    assert said.out.splitlines()[-1] == "All holds that must, over 132 pairs of neighbours."


@dataclass(frozen=True)
class FactorDropped:
    """Permute-and-flip with the factor 2 dropped from its exponent."""

    epsilon: float

    def guarantee(self, score: Score) -> Guarantee:
        return mechanisms.PermuteAndFlip(self.epsilon).guarantee(score)

    def probabilities(self, score: Score) -> np.ndarray:
        return mechanisms.PermuteAndFlip(2.0 * self.epsilon).probabilities(score)

    def draw(self, score: Score) -> int:
        return mechanisms.PermuteAndFlip(2.0 * self.epsilon).draw(score)


def test_a_planted_fault_ends_with_one_and_is_written_down(sunveil, tmp_path, monkeypatch):
    monkeypatch.setattr(auditing, "PermuteAndFlip", FactorDropped)
    out = tmp_path / "audit.json"
    said = sunveil("audit", *SMALL, "--json", "--out", out)
    assert said.code == 1
    assert said.out.startswith("Something that must hold does not")
    assert str(out) in said.out
    found = json.loads(out.read_text())
    assert found["holds"] is False
    broken = {each["mechanism"] for each in found["exact"] if not each["holds"]}
    assert broken == {"permute-and-flip"}
    assert [path.name for path in tmp_path.iterdir()] == ["audit.json"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--pairs", 0), "pairs must be a whole number from 40 to 10,000,000, and 0 is not"),
        (("--pairs", "many"), "'many' is not a valid integer"),
        (("--draws", 1), "draws must be a whole number from 200 to 10,000,000, and 1 is not"),
        (("--seed", -5), "seed must be a whole number from 0 to 4,294,967,295, and -5 is not"),
        (("--epsilon", "nan"), "epsilon must be a finite number above 0, and nan is not"),
        (("--epsilon", 0), "epsilon must be a finite number above 0, and 0.0 is not"),
        (("--epsilon", 1e9), "epsilon must be from 0.0001 to 50"),
        (("--out", "no/such/folder/x"), "is in a folder that does not exist"),
    ],
)
def test_bad_input_is_said_in_one_sentence(sunveil, given, said):
    got = sunveil("audit", *given)
    assert got.code == 2
    assert got.out == ""
    assert said in got.err
    assert len(got.err.splitlines()) == 1
