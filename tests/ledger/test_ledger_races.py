"""Many processes charge one ledger, and are killed at any instant."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest
from ledger_makers import question

from sunveil.ledger import Promise
from sunveil.privacy import System

CHILDREN = Path(__file__).with_name("ledger_children.py")
# More budgets than these would let nearly all of the processes have what they ask for.
PROCESSES, BUDGETS = 6, 4
# What each of the processes charges, in turn: None is the fleet.
KINDS = {
    "fleet": [None],
    "one system": ["a"],
    "fleet and one system": [None, "a"],
    "two systems": ["a", "b"],
    "fleet and two systems": [None, "a", "b"],
}
# each kind with each budget
ROUNDS = len(KINDS) * BUDGETS


def allowed(granted: list[str | None], budget: int) -> bool:
    """Return whether grants of one each keep a promise, and no further one of any kind would."""
    fleet = granted.count(None)
    single = Counter(system for system in granted if system is not None)
    return fleet + max(single.values(), default=0) <= budget


def racing(where: str, processes: int) -> subprocess.Popen[str]:
    """Start processes that race, which say that they are ready."""
    return subprocess.Popen(
        [sys.executable, CHILDREN, "racing", where, str(processes)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("where", ["sqlite", "postgresql"], indirect=True)
def test_racing_processes_are_granted_exactly_what_the_budget_holds(where, open_ledger):
    with racing(where, PROCESSES) as racers:
        assert json.loads(racers.stdout.readline()) == ["ready"] * PROCESSES
        ledger = open_ledger(where)
        for number in range(ROUNDS):
            one_round(ledger, racers, number)
        racers.stdin.close()
    assert racers.returncode == 0


def one_round(ledger, racers, number):
    kind, systems = list(KINDS.items())[number % len(KINDS)]
    budget, dataset = 1 + number % BUDGETS, f"{kind} {number}"
    # thirds, whose whole numbers are rounded up: three of them must still be granted
    ledger.create_dataset(dataset, Promise(System(), budget * 0.333333334))
    wanted = [systems[each % len(systems)] for each in range(PROCESSES)]
    order = {"dataset": dataset, "systems": wanted, "epsilon": 1 / 3}
    racers.stdin.write(json.dumps(order) + "\n")
    racers.stdin.flush()
    said = json.loads(racers.stdout.readline())
    assert set(said) <= {"granted", "refused"}

    granted = [system for system, word in zip(wanted, said, strict=True) if word == "granted"]
    assert allowed(granted, budget)
    for system, word in zip(wanted, said, strict=True):
        if word == "refused":
            assert not allowed([*granted, system], budget)
    if len(systems) == 1:
        assert len(granted) == budget
    verdict = ledger.verify(dataset)
    assert verdict.holds, verdict.faults
    assert verdict.charges == verdict.answered == len(granted)


def test_a_verification_amid_charges_sees_one_instant(where, open_ledger):
    ledger, other = open_ledger(where), open_ledger(where)
    ledger.create_dataset("d", Promise(System(), 100.0))
    done = threading.Event()

    def charge():
        for number in range(80):
            other.ask("d", question(number, epsilon=0.01, systems=(f"s{number}",)), lambda: 1)
        done.set()

    worker = threading.Thread(target=charge)
    worker.start()
    found = []
    while not done.is_set():
        found.append(ledger.verify("d"))
    worker.join()
    assert [verdict.faults for verdict in found if not verdict.holds] == []
    assert found[-1].entries > found[0].entries


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
        [sys.executable, CHILDREN, "killed", where, seen, str(rounds)],
        capture_output=True,
        text=True,
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
