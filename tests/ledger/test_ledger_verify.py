from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger_makers import question

from sunveil.ledger import Promise
from sunveil.ledger.hash_chain import GENESIS, Entry, HighWaterMark, canonical
from sunveil.ledger.promises import promise_text
from sunveil.ledger.statements import StoredState
from sunveil.ledger.verify_chain import ChainReplay, mark_faults, verify
from sunveil.privacy import System

TWO = Promise(System(), 2.0)


def chain(*bodies):
    """Return entries of some kinds and bodies, bound as they must be."""
    previous, found = GENESIS, []
    for place, (kind, body) in enumerate([("promise", TWO.to_dict()), *bodies], start=1):
        entry = Entry(place, kind, canonical(body), previous)
        previous = entry.digest
        found.append((entry, previous))
    return found


def charge(cost=10**9, *, systems=None, analyst=None, asked="q"):
    said = {"systems": systems, "analyst": analyst, "question": asked}
    return "charge", {"cost": cost, "meters": 1, **said}


def replayed(*bodies):
    replay = ChainReplay()
    replay.extend(chain(*bodies))
    return replay


def stored_state(replay):
    """Return what a database would say that agrees with a chain."""
    return StoredState(
        name="d",
        promise=promise_text(TWO),
        total=TWO.total,
        fleet_spent=replay.fleet,
        largest_spent=replay.largest,
        length=replay.length,
        head=replay.head,
        accounts=dict(replay.accounts),
        shares=replay.shares,
        answers=replay.answered,
    )


@pytest.mark.parametrize(
    "meaningless",
    [
        ("promise", TWO.to_dict()),
        ("gift", {}),
        ("charge", {"cost": 1}),
        ("charge", {**charge()[1], "cost": "much"}),
        ("charge", {name: each for name, each in charge()[1].items() if name != "meters"}),
        charge(analyst="nobody"),
        ("answer", {}),
    ],
)
def test_an_entry_that_means_nothing_is_said(meaningless):
    replay = replayed(charge(), meaningless)
    assert replay.fault == "entry 3 cannot be understood"
    assert verify(stored_state(replay), replay, ()).faults == (replay.fault,)


def test_a_chain_begins_with_a_promise():
    first = Entry(1, "charge", canonical(charge()[1]), GENESIS)
    replay = ChainReplay()
    replay.extend([(first, first.digest)])
    assert replay.fault == "entry 1 cannot be understood"


def test_spending_beyond_the_promise_is_said():
    replay = replayed(charge(1_500_000_000), charge(500_000_001, systems=["a"]))
    assert verify(stored_state(replay), replay, ()).faults == ("more was spent than was promised",)


@pytest.mark.parametrize("place", [1, 2, 9])
def test_an_answer_without_its_charge_is_said(place):
    answer = ("answer", {"charge": place, "question": "other", "answer": "digest"})
    replay = replayed(charge(), answer)
    faults = verify(stored_state(replay), replay, ()).faults
    assert faults == ("an answer stands without a charge",)


@given(st.lists(st.tuples(st.integers(0, 10**8), st.sampled_from([None, "a", "b"])), max_size=12))
def test_a_chain_gone_through_in_parts_says_the_same(charges):
    bodies = [charge(cost, systems=None if name is None else [name]) for cost, name in charges]
    whole = replayed(*bodies)
    parts = ChainReplay()
    for each in chain(*bodies):
        parts.extend([each])
    assert parts == whole
    assert whole.fleet == sum(cost for cost, name in charges if name is None)
    assert verify(stored_state(whole), whole, ()).holds


def test_a_database_that_says_something_else_is_noticed():
    replay = replayed(charge(systems=["a"]))
    state = stored_state(replay)
    for other in (
        replace(state, total=1),
        replace(state, promise="{}"),
        replace(state, fleet_spent=1),
        replace(state, largest_spent=1),
        replace(state, length=1),
        replace(state, head=GENESIS),
        replace(state, accounts={}),
        replace(state, shares={"ada": (1, 0)}),
        replace(state, answers={2: ("q", "x")}),
    ):
        assert len(verify(other, replay, ()).faults) == 1


def test_a_mark_is_held_against_the_entry_at_its_place():
    mark = HighWaterMark(2, "x")
    assert list(mark_faults(mark, "x")) == []
    assert list(mark_faults(mark, "y")) == ["entry 2 is not the one that the high-water mark saw"]
    assert "forgotten" in next(mark_faults(mark, None))
    assert "no high-water mark" in next(mark_faults(None, None))


def test_a_question_does_not_show_what_it_is_about():
    assert repr(question(7, systems=("house 7",))) == "Question('test', 'permute-and-flip')"


def test_a_promise_says_its_delta():
    assert "(ε = 1, δ = 1e-06)" in str(Promise(System(), 1.0, 1e-6))
