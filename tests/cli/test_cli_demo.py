from __future__ import annotations

import contextlib
import io
import re
import shlex

import pytest

from sunveil.cli import main
from sunveil.estimates import Flag


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("a demo") / "out"


@pytest.fixture(scope="module")
def said(folder):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["demo", "--out", str(folder), "--systems", "6", "--seed", "3"])
    assert (code, err.getvalue()) == (0, "")
    return out.getvalue()


def test_a_report_and_a_publication_are_made_and_charged_to_a_ledger(said, folder):
    lines = said.splitlines()
    assert lines[-4] == f"Report: {folder / 'report.html'}"
    assert lines[-1] == f"Publication: {folder / 'publication'}"
    assert (folder / "report.html").stat().st_size > 1000
    made = {path.name for path in folder.iterdir() if not path.name.startswith("ledger.db.")}
    assert made == {"meters.csv", "report.html", "ledger.db", "publication"}
    promised = "Promised: differential privacy for any one day of any household with at most"
    assert promised in said
    assert "Published: 6 rows at ε = 1 each; 1 is left." in said
    rows = (folder / "publication" / "systems.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 7
    assert not any("sim-" in row for row in rows)


def test_the_same_demo_again_publishes_the_same_draw_at_no_cost(said, folder, sunveil, monkeypatch):
    # the report is drawn for the other tests
    monkeypatch.setattr("sunveil.plots.html_report.write_report", lambda *_: None)
    again = sunveil("demo", "--out", folder, "--systems", "6", "--seed", "3")
    assert "1 is left" in again.out
    first, second = (
        (folder / name / "systems.csv").read_bytes() for name in ("publication", "publication-2")
    )
    assert first == second


def test_true_stands_beside_inferred_and_systems_with_a_story_are_flagged(said):
    rows = [line for line in said.splitlines() if re.match(r"sim-\d+ ", line)]
    off = [float(found) for row in rows for found in re.findall(r"kW \([^)]*\)  +([\d.]+)°", row)]
    assert len(rows) == len(off) == 6
    assert max(off) < 8.0
    flags = (Flag.TWO_PLANES, Flag.CLIPPING, Flag.CLOCK_REPAIRED)
    assert all(flag.value in row for row, flag in zip(rows[3:], flags, strict=True))


def test_the_command_for_the_same_by_hand_works(said, sunveil):
    line = next(line for line in said.splitlines() if line.startswith("The same by hand: "))
    command = shlex.split(line.removeprefix("The same by hand: "))
    assert command[0] == "sunveil"
    by_hand = sunveil(*command[1:])
    assert by_hand.code == 0
    assert by_hand.out.count("\nsim-") >= 6
