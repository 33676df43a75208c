from __future__ import annotations

import contextlib
import io
import json
from dataclasses import replace

import pytest

from sunveil.cli import main
from sunveil.cli.audit import show_audit
from sunveil.privacy.audit import ExactFinding, SamplerFinding
from sunveil.privacy.independence import IndependenceFinding
from sunveil.privacy.units import Days, Readings, System
from sunveil.releases import auditing
from sunveil.releases.auditing import Audit

EXACT = ExactFinding("exponential", "any one day", "worst-case", 1.0, 0.0, 0.9, 0.0, 1234)
PAPER = ExactFinding("paper", "any one reading", "conditional", 1.0, 0.1, 2.5, 0.0, 4)
DRAWN = SamplerFinding("window", "a system's whole record", 1000, 5, 0.5)
REPLAYED = IndependenceFinding("hourly readings", "any one day", 50, 0, 0, 0, 0)
RUN = ("--pairs", 240, "--draws", 250, "--seed", 2)
ROWS = [
    ("permute-and-flip", "any one reading"),
    ("exponential", "any one reading"),
    ("permute-and-flip", "any one day"),
    ("exponential", "any one day"),
    ("permute-and-flip, net meters", "any one reading"),
    ("exponential, net meters", "any one reading"),
    ("permute-and-flip, net meters", "any one day"),
    ("exponential, net meters", "any one day"),
    ("window", "a system's whole record"),
    ("paper", "any one reading"),
]


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


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What a run over what is there says, and writes."""
    out, err = io.StringIO(), io.StringIO()
    path = tmp_path_factory.mktemp("audit") / "audit.json"
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["audit", *map(str, RUN), "--json", "--out", str(path)])
    assert (code, err.getvalue()) == (0, "")
    assert out.getvalue() == f"All holds that must, over 840 pairs of neighbours. Wrote {path}\n"
    return json.loads(path.read_text(encoding="utf-8"))


def test_every_mechanism_and_unit_is_audited(found):
    assert [(each["mechanism"], each["unit"]) for each in found["exact"]] == ROWS
    noise = [(name, str(System())) for name in ("discrete-laplace", "discrete-gaussian")]
    drawn = [row for row in ROWS if "net" not in row[0]]  # the draw is the same
    assert [(each["mechanism"], each["unit"]) for each in found["samplers"]] == [*drawn, *noise]
    units = [str(unit) for unit in (Readings(1), Days(1), System())]
    assert [each["unit"] for each in found["independence"]] == 3 * units


def test_no_loss_exceeds_its_claim_and_each_comes_close(found):
    *held, paper = found["exact"]
    for each in held:
        assert each["kind"] == "worst-case"
        net = "net" in each["mechanism"]
        assert each["pairs"] == (60 if net else 240)
        assert (0.7 if net else 0.8) * each["epsilon"] <= each["largest"] <= each["epsilon"]
    assert paper["kind"] == "conditional"
    assert paper["delta"] == 0.1
    assert 0.0 < paper["largest"] < 0.2
    assert found["pairs"] == 3 * 240 + 2 * 60
    assert (found["holds"], found["epsilon"], found["seed"]) == (True, 1.0, 2)


def test_samplers_and_replays_hold(found):
    assert all(each["holds"] and each["draws"] == 250 for each in found["samplers"])
    assert all(each["cells"] > 1 for each in found["samplers"])
    assert all(each["holds"] and each["pairs"] >= 10 for each in found["independence"])


def test_a_broken_audit_ends_with_one_and_is_written_down(sunveil, tmp_path, monkeypatch):
    broken = Audit(1.0, 1, (replace(EXACT, largest=1.5),), (DRAWN,), (REPLAYED,))
    monkeypatch.setattr(auditing, "run_audit", lambda **asked: broken)
    out = tmp_path / "audit.json"
    said = sunveil("audit", "--json", "--out", out)
    assert said.code == 1
    assert said.out.startswith("Something that must hold does not")
    assert str(out) in said.out
    assert json.loads(out.read_text()) == broken.to_dict()
    assert [path.name for path in tmp_path.iterdir()] == ["audit.json"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--pairs", 0), "pairs must be a whole number from 40 to 10,000,000, and 0 is not"),
        (("--pairs", "many"), "'many' is not a valid integer"),
        (("--draws", 1), "draws must be a whole number from 200 to 10,000,000, and 1 is not"),
        (("--seed", -5), "seed must be a whole number from 0 to 4,294,967,295, and -5 is not"),
        (("--epsilon", "nan"), "epsilon must be a finite number above 0, and nan is not"),
        (("--epsilon", 0), "epsilon must be a finite number above 0, and 0 is not"),
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
