"""Lower bounds of ε from counts, and cases: leaks of every size are found, and no others."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from audit.__main__ import rows_of_case
from audit.cases import REFUSED
from audit.comparing import AuditCase, audit_case, epsilon_bound, runs_needed
from audit.datasets import READING, neighbours
from audit.formats import number_parquet, text_table
from audit.outcomes import Outcome, anything


@pytest.mark.parametrize("claim", [0.01, 0.1, 1.0, 3.0])
def test_as_many_runs_as_are_needed_exceed_a_claim_and_fewer_do_not(claim):
    runs = runs_needed(claim, alpha=1e-6)
    assert epsilon_bound(runs, 0, runs, alpha=1e-6) > claim
    assert epsilon_bound(runs - 1, 0, runs - 1, alpha=1e-6) <= claim


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.5), (0.731, 0.269), (0.9, 0.332), (0.05, 0.0184)])
def test_bounds_are_too_high_no_more_often_than_they_may(p, q):
    rng = np.random.default_rng(7)
    true = max(math.log(p / q), math.log((1.0 - q) / (1.0 - p)))
    alpha, runs, audits = 0.2, 80, 2000
    pairs = zip(rng.binomial(runs, p, audits), rng.binomial(runs, q, audits), strict=True)
    wrong = sum(epsilon_bound(int(a), int(b), runs, alpha=alpha) > true for a, b in pairs)
    assert wrong <= alpha * audits


def test_bounds_are_not_so_wide_that_they_find_nothing():
    rng = np.random.default_rng(7)
    pairs = zip(rng.binomial(400, 0.9, 50), rng.binomial(400, 0.1, 50), strict=True)
    assert all(epsilon_bound(int(a), int(b), 400, alpha=1e-6) > 1.0 for a, b in pairs)


ALPHA = 1e-5


def case(data, run, **changes) -> AuditCase:
    made = tuple(neighbours(data, READING, kinds=["nan", "text"], spots=1))
    return replace(
        AuditCase("made up", "CSV", READING, 1.0, data, made, text_table(), run, anything),
        **changes,
    )


def is_changed(path) -> bool:
    return b"nan" in path.read_bytes()


def test_what_never_differs_is_run_once(five_days, place):
    found = audit_case(case(five_days, lambda _: Outcome({"code": "0"})), place, alpha=ALPHA)
    assert (found.holds, found.bound, found.pairs) == (True, 0.0, 2)
    assert found.runs == 5
    assert not found.answered


@pytest.mark.parametrize("source", ["CSV", *REFUSED])
@pytest.mark.parametrize("drawn", [(), ({"one": True},)])
def test_a_file_that_should_be_answered_fails_where_all_is_refused(five_days, place, source, drawn):
    asked = case(five_days, lambda _: Outcome({"code": "0"}, drawn), source=source)
    (row,) = rows_of_case(asked, place, ALPHA)
    assert row.ok is (bool(drawn) == (source == "CSV"))


def test_one_byte_that_always_differs_exceeds_the_claim(five_days, place):
    def leak(path):
        return Outcome({"code": "0", "stderr": "1 note" if is_changed(path) else ""})

    found = audit_case(case(five_days, leak), place, alpha=ALPHA)
    assert not found.holds
    assert found.worst == "nan in home00, from cell 1: stderr differs: nothing | 1 note"


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
    assert (audit_case(asked, place, alpha=ALPHA).pairs, len(asked.neighbours)) == (1, 2)


def test_only_the_readings_that_a_neighbour_replaces_may_differ(five_days, place):
    """Readings that come out by name: another's that is lost is found, one's own is not."""

    def run(path):
        lost = is_changed(path)
        public = {"home00 at 2019-06-01T00:00": "?" if lost else "0", "home01 at x": "1"}
        return Outcome({**public, **({} if lost and takes_along else {"home02 at x": "2"})})

    takes_along = False
    assert audit_case(case(five_days, run, readings=True), place, alpha=ALPHA).holds
    assert not audit_case(case(five_days, run), place, alpha=ALPHA).holds
    takes_along = True
    found = audit_case(case(five_days, run, readings=True), place, alpha=ALPHA)
    assert (found.holds, found.worst.split(": ")[1]) == (False, "home02 at x is there for one only")
