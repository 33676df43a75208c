"""One case: leaks of every size are found, and noise that keeps its promise is not called one."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from sunveil.endtoend.comparing import AuditCase, audit_case, pairs_of
from sunveil.endtoend.hostile import READING, neighbours
from sunveil.endtoend.inputs import comma_csv, number_parquet
from sunveil.endtoend.outcomes import Outcome
from sunveil.endtoend.rules import anything

ALPHA = 1e-5


def case(data, run, **changes) -> AuditCase:
    made = tuple(neighbours(data, READING, kinds=["nan", "text"], spots=1))
    return replace(
        AuditCase("made up", "CSV", READING, 1.0, data, made, comma_csv, run, anything), **changes
    )


def is_changed(path) -> bool:
    return b"nan" in path.read_bytes()


def test_what_never_differs_is_run_once(five_days, place):
    found = audit_case(case(five_days, lambda _: Outcome({"code": "0"})), place, alpha=ALPHA)
    assert (found.holds, found.bound, found.differing, found.pairs) == (True, 0.0, (), 2)
    assert found.runs == 5
    assert not found.answered


def test_one_byte_that_always_differs_exceeds_the_claim(five_days, place):
    def leak(path):
        return Outcome({"code": "0", "stderr": "1 note" if is_changed(path) else ""})

    found = audit_case(case(five_days, leak), place, alpha=ALPHA)
    assert not found.holds
    assert (found.differing, found.worst) == (
        ("nan",),
        "nan in home00, from cell 1: stderr differs: nothing | 1 note",
    )


def noisy(share: float, other: float):
    """Return a door that draws ones with a share, and with another for the neighbour."""
    rng = np.random.default_rng(3)

    def run(path):
        one = rng.random() < (other if is_changed(path) else share)
        return Outcome({}, ({"one": bool(one)},))

    return run


def is_one(rows) -> str:
    return str(rows[0]["one"])


# e / (1 + e) and 1 / (1 + e) are e apart: all that a claim of 1 allows
@pytest.mark.parametrize(
    ("share", "other", "holds"), [(0.269, 0.731, True), (0.5, 0.5, True), (0.95, 0.05, False)]
)
def test_draws_are_judged_by_how_likely_they_are(five_days, place, share, other, holds):
    asked = case(five_days, noisy(share, other), rule=is_one, runs=300)
    found = audit_case(asked, place, alpha=ALPHA)
    assert found.holds is holds
    assert found.answered
    assert found.runs > 600


def test_an_unsteady_door_is_not_called_leaking(five_days, place):
    numbers = itertools.count()

    def run(_):
        return Outcome({"sometimes": str(next(numbers) % 2)})

    found = audit_case(case(five_days, run), place, alpha=ALPHA)
    assert found.holds


def test_neighbours_that_a_format_cannot_hold_are_none(five_days, place):
    asked = case(five_days, lambda _: Outcome({}), write=number_parquet)
    assert audit_case(asked, place, alpha=ALPHA).pairs == 1
    assert pairs_of([asked]) == 2


def test_a_finding_is_plain_json(five_days, place):
    told = audit_case(case(five_days, lambda _: Outcome({})), place, alpha=ALPHA).to_dict()
    assert (told["holds"], told["door"], told["claim"]) == (True, "made up", 1.0)
