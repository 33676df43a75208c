from __future__ import annotations

import json
from dataclasses import replace

import pytest

from sunveil.privacy import mechanism_audit
from sunveil.privacy.mechanism_audit import ExactFinding, SamplerFinding

EXACT = ExactFinding("exponential", "any one day", 1.0, 0.9, 1234)
DRAWN = SamplerFinding("window", "a system's whole record", 1000, 5, 0.5)


@pytest.fixture
def shown(sunveil, monkeypatch):
    """Return what shows findings that are made up: the exit code, and the lines of the tables."""

    def show(exact=EXACT, drawn=DRAWN, *more):
        monkeypatch.setattr(mechanism_audit, "run_audit", lambda **asked: ([exact], [drawn]))
        said = sunveil("audit", *more)
        return said.code, said.out.splitlines()

    return show


def row(lines: list[str], name: str) -> str:
    (line,) = [line for line in lines if line.startswith(name)]
    return line


def test_the_table_says_what_was_claimed_and_what_was_found(shown):
    code, lines = shown()
    assert code == 0
    assert row(lines, "exponential").endswith("holds, tight")
    for part in ("any one day", "0.900000", "90.0%", "1,234"):
        assert part in row(lines, "exponential")
    assert row(lines, "window").endswith("holds")
    assert lines[-1] == "All 1 claims hold, over 2,000 pairs each, and so do the draws."
    assert max(map(len, lines)) <= 105


PEAKED = replace(DRAWN, cells=1, p_value=1.0)


@pytest.mark.parametrize(
    ("exact", "drawn", "name", "verdict"),
    [
        (replace(EXACT, largest=1.5), DRAWN, "exponential", "BROKEN"),
        (replace(EXACT, largest=float("inf")), DRAWN, "exponential", "BROKEN"),
        (EXACT, replace(DRAWN, p_value=0.0), "window", "BROKEN"),
        (replace(EXACT, largest=0.5), PEAKED, "exponential", "holds"),
        (EXACT, PEAKED, "window", "too peaked, not tested"),
    ],
)
def test_what_is_broken_or_looser_is_named(shown, exact, drawn, name, verdict):
    code, lines = shown(exact, drawn)
    assert row(lines, name).endswith(verdict)
    assert code == (verdict == "BROKEN")
    assert lines[-1].startswith("Something that must hold does not") is (verdict == "BROKEN")


def test_every_mechanism_is_audited_and_written_down(sunveil, tmp_path):
    path = tmp_path / "audit.json"
    said = sunveil("audit", "--pairs", 40, "--draws", 250, "--seed", 2, "--json", "--out", path)
    assert (said.code, said.err) == (0, "")
    verdict = "All 9 claims hold, over 40 pairs each, and so do the draws."
    assert said.out == f"{verdict} Wrote {path}\n"
    found = json.loads(path.read_text(encoding="utf-8"))
    assert (found["holds"], found["epsilon"], found["seed"]) == (True, 1.0, 2)
    assert all(each["holds"] and each["pairs"] == 40 for each in found["exact"])
    assert all(each["holds"] and each["draws"] == 250 for each in found["samplers"])
    assert len({each["mechanism"] for each in found["samplers"]}) == 5


def test_a_broken_audit_ends_with_one_and_is_written_down(shown, tmp_path):
    out = tmp_path / "audit.json"
    code, lines = shown(replace(EXACT, largest=1.5), DRAWN, "--json", "--out", out)
    assert code == 1
    assert lines[-1].startswith("Something that must hold does not")
    assert json.loads(out.read_text())["exact"][0]["largest"] == 1.5
    assert [path.name for path in tmp_path.iterdir()] == ["audit.json"]
