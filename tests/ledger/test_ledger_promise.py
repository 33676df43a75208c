"""What a promise holds, and what releases cost of it."""

from __future__ import annotations

import json
import math
import sqlite3
from contextlib import closing
from fractions import Fraction

import numpy as np
import pytest
from click.testing import CliRunner
from dp_accounting import SelfComposedDpEvent, ZCDpEvent
from dp_accounting.pld import privacy_loss_distribution
from dp_accounting.rdp import RdpAccountant
from hypothesis import given
from hypothesis import strategies as st
from ledger_makers import concentrated, conditional, execute, guarantee, question

from sunveil.cli import cli
from sunveil.errors import BudgetExceeded, LedgerConflict, ParameterError
from sunveil.ledger import Promise, YearlySchedule
from sunveil.ledger import statements as ledger_rows
from sunveil.ledger.hash_chain import Entry
from sunveil.ledger.promises import SystemHome, promise_text, read_promise
from sunveil.ledger.yearly_schedule import spent_by_year, years_of
from sunveil.privacy import Days, Readings, System
from sunveil.privacy.guarantees import (
    NANO,
    from_nano,
    implies,
    rho_to_epsilon,
    to_nano,
    to_nano_below,
)

UNITS = [Readings(1), Readings(7), Days(1), Days(7), System()]


@pytest.mark.parametrize("promised", UNITS, ids=str)
@pytest.mark.parametrize("released", UNITS, ids=str)
def test_larger_units_are_charged_to_smaller_and_smaller_refused(promised, released):
    promise = Promise(promised, 2.0)
    if implies(released, promised):
        cost = promise.cost(guarantee(0.5, released), mechanism="permute-and-flip")
        assert cost == 500_000_000
    else:
        with pytest.raises(ParameterError, match="or a larger unit"):
            promise.cost(guarantee(0.5, released), mechanism="permute-and-flip")


def test_a_conditional_guarantee_is_refused_unless_it_is_named_and_costs_its_epsilon():
    for promise in (Promise(System(), 2.0), Promise(System(), 2.0, conditional=("other",))):
        with pytest.raises(ParameterError, match="conditional"):
            promise.cost(conditional(), mechanism="paper")
        assert "conditional" not in str(Promise(System(), 2.0))
    allowed = Promise(System(), 2.0, conditional=("paper",))
    assert allowed.cost(conditional(), mechanism="paper") == 10**9
    assert str(allowed).endswith("; conditional for releases by: paper")
    # and is never counted as the exponential mechanism
    promise = Promise(System(), 10.0, 1e-6, ("exponential",))
    assert promise.cost(conditional(), mechanism="exponential") == 500_000_000
    assert "(ε = 10, δ = 1e-06)" in str(promise)


def test_what_a_promise_cannot_count_is_refused_and_gaussian_noise_costs_its_rho():
    promise = Promise(System(), 2.0, 1e-6)
    noise = "discrete-gaussian"
    for promised, released, said in (
        (promise, guarantee(delta=1e-9), "delta of its own"),
        (promise, concentrated(0.01, Days(1)), "choose system or a larger unit"),
        (Promise(System(), 2.0), concentrated(0.01), "use Laplace noise, or promise a delta"),
    ):
        with pytest.raises(ParameterError, match=said):
            promised.cost(released, mechanism=noise)
    # whatever it calls itself, ρ is what it costs
    for mechanism in (noise, "exponential"):
        assert promise.cost(concentrated(0.01), mechanism=mechanism) == 10_000_000


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("conversion", [None, "plain", "tight"])
def test_a_promise_of_another_conversion_is_refused(where, open_ledger, delta, conversion):
    """A total by another conversion may be smaller: read by this one it would be enlarged."""
    ledger = open_ledger(where)
    ledger.create_dataset("d", Promise(System(), 4.0, delta))
    text = promise_text(Promise(System(), 4.0, delta))
    fields = {**json.loads(text), "conversion": conversion}
    if conversion is None:
        del fields["conversion"]
    execute(where, f"UPDATE datasets SET promise = '{json.dumps(fields)}'")
    if conversion == ("tight" if delta else None):
        assert ledger.dataset("d").promise == Promise(System(), 4.0, delta)
        return
    for use in (ledger.dataset, lambda name: ledger.charge(name, question(epsilon=0.1))):
        with pytest.raises(LedgerConflict, match=r"cannot be (read|trusted)"):
            use("d")


def test_what_was_spent_is_told_as_an_epsilon():
    assert Promise(System(), 2.0).spent_epsilon(500_000_000) == 0.5
    promise = Promise(System(), 2.0, 1e-6)
    assert promise.spent_epsilon(0) == 0.0
    assert promise.spent_epsilon(10_000_000) == rho_to_epsilon(0.01, 1e-6)
    assert 2.0 * (1 - 1e-6) < promise.spent_epsilon(promise.total) <= 2.0


@pytest.mark.parametrize(
    ("epsilon", "delta", "said"),
    [
        *[(epsilon, 0.0, "a promise's epsilon") for epsilon in (0.0, -1.0, math.inf, math.nan)],
        (1001.0, 0.0, "a promise's epsilon"),
        *[(1.0, delta, "a promise's delta") for delta in (-1e-9, 1e-16, 0.02, math.nan)],
        (1e-10, 0.0, "too small"),
    ],
)
def test_what_is_no_promise_is_refused(epsilon, delta, said):
    with pytest.raises(ParameterError, match=said):
        Promise(System(), epsilon, delta)


@given(
    st.sampled_from(UNITS),
    st.floats(0.01, 1000.0),
    st.one_of(st.just(0.0), st.floats(1e-12, 1e-2)),
    st.lists(st.text(max_size=5), max_size=3),
)
def test_a_promise_survives_being_written(unit, epsilon, delta, names):
    promise = Promise(unit, epsilon, delta, tuple(names))
    assert read_promise(promise_text(promise)) == promise
    assert promise.measure == ("epsilon" if delta == 0.0 else "rho")


EPSILONS = st.floats(1e-4, 50.0)
DELTAS = st.floats(1e-15, 1e-2)


@given(st.lists(EPSILONS, min_size=1, max_size=30))
def test_whole_numbers_never_count_less_than_was_spent(amounts):
    spent = sum(Fraction(repr(amount)) for amount in amounts)
    counted = Fraction(sum(to_nano(amount) for amount in amounts), NANO)
    assert spent <= counted < spent + Fraction(len(amounts), NANO)


@given(EPSILONS, st.fractions(0, 100), st.integers(0, 10**12))
def test_costs_are_rounded_up_promises_down_and_whole_numbers_stay(amount, fraction, whole):
    assert Fraction(to_nano_below(amount), NANO) <= Fraction(repr(amount))
    assert 0 <= to_nano(amount) - to_nano_below(amount) <= 1
    assert Fraction(to_nano(fraction) - 1, NANO) < fraction <= Fraction(to_nano(fraction), NANO)
    assert to_nano(from_nano(whole)) == whole == to_nano_below(from_nano(whole))


def test_a_tenth_is_a_tenth_whoever_made_it_and_whole_numbers_of_numpy_do_not_wrap():
    assert to_nano(0.1) == to_nano_below(0.1) == to_nano(np.float64(0.1)) == 10**8
    assert sum(to_nano(0.1) for _ in range(10)) == to_nano_below(1.0)
    for amount in (np.uint8(200), np.int32(3), np.uint64(20_000_000_000)):
        assert to_nano(amount) == int(amount) * 10**9


@pytest.mark.parametrize("amount", [math.nan, math.inf, -1e-9, Fraction(-1, 3)])
def test_what_is_no_amount_is_refused(amount):
    with pytest.raises(ParameterError, match="an amount of privacy loss must"):
        to_nano(amount)


@given(EPSILONS)
def test_the_cost_in_rho_is_rounded_up_from_the_exact_one(epsilon):
    promise = Promise(System(), 100.0, 1e-6)
    square = Fraction(repr(epsilon)) ** 2
    for mechanism, share in (("exponential", 8), ("permute-and-flip", 2)):
        cost = promise.cost(guarantee(epsilon), mechanism=mechanism)
        assert 0 <= Fraction(cost, NANO) - square / share < Fraction(1, NANO)


@pytest.mark.parametrize("epsilon", [0.02, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
def test_many_exponential_releases_cost_no_less_than_dp_accounting_says(epsilon, delta):
    promise = Promise(System(), 4.0, delta)
    cost = promise.cost(guarantee(epsilon), mechanism="exponential")
    count = promise.total // cost
    assert count >= 1
    ours = rho_to_epsilon(from_nano(count * cost), delta)
    assert ours <= promise.epsilon
    assert ours <= count * epsilon or count < 4.0 / epsilon + 1

    event = SelfComposedDpEvent(ZCDpEvent(epsilon**2 / 8.0), int(count))
    theirs = RdpAccountant().compose(event).get_epsilon(delta)
    assert theirs <= ours * 1.02
    # its orders are coarse, but it is the same conversion
    assert theirs >= ours * (1.0 - 1e-6)


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_the_worst_exponential_mechanisms_lose_no_more_together_than_was_counted(share):
    epsilon, count, delta = 0.5, 60, 1e-6
    # two outcomes, whose losses are a range of epsilon apart
    high, low = share * epsilon, (share - 1.0) * epsilon
    p = math.expm1(-low) / (math.exp(-low) - math.exp(-high))
    here = {0: math.log(p), 1: math.log1p(-p)}
    there = {0: here[0] - high, 1: here[1] - low}
    one = privacy_loss_distribution.from_two_probability_mass_functions(
        here, there, value_discretization_interval=1e-4
    )
    lost = one.self_compose(count).get_epsilon_for_delta(delta)
    cost = Promise(System(), 100.0, delta).cost(guarantee(epsilon), mechanism="exponential")
    assert 0.5 * rho_to_epsilon(from_nano(count * cost), delta) < lost
    assert lost <= rho_to_epsilon(from_nano(count * cost), delta)


TEN = Promise(System(), 2.0, schedule=YearlySchedule(2026, 10))


@pytest.fixture
def year(monkeypatch):
    """Return what sets the ledger's clock."""

    def make(number):
        monkeypatch.setattr(ledger_rows, "now", lambda: f"{number}-06-30T12:00:00+00:00")

    make(2026)
    return make


def ask(ledger, number, epsilon, **options):
    return ledger.ask("d", question(number, epsilon=epsilon, **options), lambda: number)


def test_each_year_allows_one_part_more_and_never_more_than_all():
    schedule = YearlySchedule(2026, 3)
    assert [schedule.allowed(10, year) for year in range(2025, 2031)] == [0, 3, 6, 10, 10, 10]
    later = YearlySchedule(2026, 3, start=4e-9)
    assert [later.allowed(10, year) for year in range(2025, 2029)] == [0, 6, 8, 10]
    more = [schedule.more_after(year) for year in (2020, 2026, 2027, 2028)]
    assert more == [2026, 2027, 2028, None]


@pytest.mark.parametrize(
    "given", [(2026, 0), (2026, 101), (1999, 2), (2026, 2, -1.0), (2026, 2, 3.0)]
)
def test_a_schedule_that_cannot_be_is_refused(given):
    with pytest.raises(ParameterError, match="schedule"):
        Promise(System(), 2.0, schedule=YearlySchedule(*given))


def test_only_a_promise_with_a_schedule_says_so():
    assert read_promise(promise_text(TEN)) == TEN
    budget = "total budget ε = 2 for everything ever published"
    assert str(TEN).endswith(f"{budget}, spent in even parts over 10 years from 2026")
    half = Promise(System(), 2.0, schedule=YearlySchedule(2026, 10, 1.0))
    assert read_promise(promise_text(half)) == half
    assert "1 of it at the start and the rest in even parts" in str(half)
    assert "schedule" not in promise_text(Promise(System(), 2.0))


def test_what_a_year_does_not_allow_is_refused_until_it_does(ledger, year):
    ledger.create_dataset("d", TEN)
    ask(ledger, 0, 0.15)
    assert ledger.dataset("d").remaining == 0.05
    with pytest.raises(BudgetExceeded, match=r"leaves 0\.05 in 2026 and adds 0\.2 in 2027") as no:
        ask(ledger, 1, 0.1)
    assert (no.value.requested, no.value.remaining) == (0.1, 0.05)
    with pytest.raises(BudgetExceeded, match="2027"):
        ask(ledger, 1, 0.1, systems=("a",))
    year(2027)
    ask(ledger, 1, 0.1, systems=("a",))
    assert ledger.dataset("d").remaining == 0.15
    year(2040)
    ask(ledger, 2, 1.75)
    with pytest.raises(BudgetExceeded, match="lower epsilon or ask for less"):
        ask(ledger, 3, 0.1)
    assert ledger.verify("d").holds


def test_nothing_is_spent_before_the_first_year_and_two_meters_are_held_to_it_as_one(ledger, year):
    ledger.create_dataset("d", Promise(System(), 2.0, meters=2, schedule=YearlySchedule(2026, 10)))
    year(2025)
    with pytest.raises(BudgetExceeded, match=r"leaves 0 in 2025 and adds 0\.2 in 2026"):
        ask(ledger, 0, 0.1)
    year(2026)
    ledger.register("d", [SystemHome("a", "one"), SystemHome("b", "one")])
    ask(ledger, 0, 0.15, systems=("a",))
    with pytest.raises(BudgetExceeded, match=r"leaves 0\.05 in 2026"):
        ask(ledger, 1, 0.15, systems=("b",))
    ask(ledger, 2, 0.05, systems=("b",))
    assert ledger.dataset("d").remaining == 0.0


def test_a_charge_that_came_too_early_is_found_by_its_date(small, path, year):
    small.create_dataset("d", TEN)
    year(2030)
    ask(small, 0, 0.9)
    assert small.verify("d").holds
    # the same charge, dated four years before: a chain written again, with its digests
    first, *later = small.entries("d")
    previous = first.digest
    with closing(sqlite3.connect(path)) as database, database:
        for one in later:
            entry = Entry(one.place, one.kind, one.body.replace("2030-", "2026-"), previous)
            previous = entry.digest
            database.execute(
                "UPDATE entries SET body = ?, previous = ?, digest = ? WHERE place = ?",
                (entry.body, entry.previous, entry.digest, entry.place),
            )
        database.execute("UPDATE datasets SET head = ?", (previous,))
    faults = small.verify("d").faults
    assert "entry 2 spent more than its year allows by the promise's schedule" in faults


def test_years_tell_what_was_spent_by_their_ends(small, year):
    small.create_dataset("d", TEN)
    ask(small, 0, 0.1, systems=("a", "b"))
    year(2028)
    ask(small, 1, 0.3, systems=("b",))
    ask(small, 2, 0.05)
    spent = spent_by_year(small.entries("d"))
    assert spent == {2026: 10**8, 2028: 45 * 10**7}
    found = years_of(TEN.schedule, TEN.total, spent, present=2029)
    assert [each.spent for each in found[:5]] == [10**8, 10**8, 45 * 10**7, 45 * 10**7, None]
    assert found[4].to_dict() == {"year": 2030, "allowed": 1.0, "spent": None, "left": None}


def test_the_command_shows_a_schedule_and_plans_one(tmp_path, year):
    def run(*words):
        return CliRunner().invoke(cli, ["dataset", *words, "--ledger", str(tmp_path / "l.db")])

    promised = ("--protect", "system", "--epsilon", "2")
    made = run("create", "ten", *promised, "--years", "10")
    assert "0.2 is left of what its schedule allows this year" in made.output
    run("create", "half", *promised, "--years", "10", "--start", "1")
    half = run("schedule", "half").output.splitlines()[-10]
    assert half.split()[2:] == ["1.1", "0", "1.1"]
    assert run("create", "odd", *promised, "--start", "1").exit_code == 2
    run("create", "free", *promised)
    table = run("schedule", "ten").output.splitlines()
    assert table[0].split() == ["year", "measure", "may", "be", "spent", "spent", "left"]
    assert table[-10].split() == ["2026", "ε", "0.2", "0", "0.2"]
    assert table[-1].split() == ["2035", "ε", "2"]
    planned = json.loads(run("schedule", "free", "--over", "4", "--json").output)
    assert (planned["held"], len(planned["years"])) == (False, 4)
    assert planned["years"][0] == {"year": 2026, "allowed": 0.5, "spent": 0.0, "left": 0.5}
    assert "--over" in run("schedule", "free").output
    assert "of its own" in run("schedule", "ten", "--over", "4").output
