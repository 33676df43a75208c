from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sunveil.ledger import Promise
from sunveil.privacy import System

KILLED_ASKERS = Path(__file__).with_name("killed_askers.py")


@pytest.mark.parametrize(
    ("where", "rounds"), [("sqlite", 40), ("postgresql", 20)], indirect=["where"]
)
def test_a_kill_at_any_instant_leaves_no_answer_without_a_charge(
    where, rounds, open_ledger, tmp_path
):
    ledger = open_ledger(where)
    ledger.create_dataset("d", Promise(System(), 100.0))
    ledger.close()
    seen = tmp_path / "seen"
    done = subprocess.run(
        [sys.executable, KILLED_ASKERS, where, seen, str(rounds)], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) == 3 * rounds

    verdict = ledger.verify("d")
    assert verdict.holds, verdict.faults
    facts = [(entry.kind, entry.facts()) for entry in ledger.entries("d")]
    charged = {body["question"] for kind, body in facts if kind == "charge"}
    kept = {body["question"] for kind, body in facts if kind == "answer"}
    got_out = set(seen.read_text().split())
    assert kept <= got_out <= charged
    # the kills did fall between the steps
    assert len(kept) < len(charged)
    assert (verdict.charges, verdict.answered) == (len(charged), len(kept))
