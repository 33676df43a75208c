from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import pytest
from ledger_makers import execute, question

from sunveil.errors import BudgetExceeded, LedgerConflict, ParameterError
from sunveil.ledger import Promise
from sunveil.ledger.promises import SystemHome
from sunveil.privacy import Days, System

FOUR = ("a", "b", "c", "d")
ONE, FIVE = Promise(System(), 1.0), Promise(System(), 5.0)
PAIRED = Promise(System(), 1.0, meters=2)


def homes(*keys, meters=()):
    """Return systems s1, s2, … of the households named, with their meters' keys."""
    padded = [*meters, *[None] * (len(keys) - len(meters))]
    return [
        SystemHome(f"s{number}", key, meter, number)
        for number, (key, meter) in enumerate(zip(keys, padded, strict=True), 1)
    ]


def create(ledger, **promises):
    for name, promise in promises.items():
        ledger.create_dataset(name, promise)


def holds(ledger):
    return all(ledger.verify(name).holds for name in ledger.names())


def test_a_household_is_one_account_in_two_datasets(ledger):
    create(ledger, one=ONE, five=FIVE)
    for name in ("one", "five"):
        ledger.register(name, FOUR)
    ledger.charge("one", question(1, systems=FOUR, epsilon=0.75))
    ledger.charge("five", question(2, systems=FOUR, epsilon=0.25))
    before = ledger.entries("five")
    for asked in (question(3, systems=("c",), epsilon=0.1), question(4, epsilon=0.1)):
        with pytest.raises(BudgetExceeded) as refusal:
            ledger.charge("five", asked)
        assert refusal.value.remaining == 0.0
    assert ledger.entries("five") == before
    assert [ledger.dataset(name).spent for name in ("one", "five")] == [1.0, 1.0]
    assert [ledger.dataset(name).remaining for name in ("one", "five")] == [0.0, 0.0]
    assert holds(ledger)


def test_releases_about_all_systems_are_spent_by_whoever_is_elsewhere_too(ledger):
    create(ledger, one=ONE, five=FIVE)
    ledger.register("one", ("a", "b"))
    ledger.register("five", ("b", "c"))
    ledger.charge("one", question(1, epsilon=0.5))
    ledger.charge("five", question(2, epsilon=0.25))
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.charge("one", question(3, epsilon=0.5))
    assert refusal.value.remaining == 0.25
    # whoever is in one of them only has more left
    ledger.charge("one", question(4, systems=("a",), epsilon=0.5))
    ledger.charge("five", question(5, systems=("c",), epsilon=4.75))
    assert ledger.dataset("five").spent == 5.0
    assert holds(ledger)


@pytest.mark.parametrize(
    "other",
    [Promise(Days(1), 1.0), Promise(System(), 1.0, 1e-6), Promise(System(), 1.0, 0.0, ("paper",))],
)
def test_promises_that_cannot_be_added_up_share_nobody(ledger, other):
    create(ledger, one=ONE, other=other)
    ledger.register("one", FOUR)
    with pytest.raises(ParameterError, match="cannot be added up"):
        ledger.register("other", ("z", "a"))
    ledger.register("other", ("z",))
    assert holds(ledger)


def test_who_has_spent_too_much_elsewhere_is_not_promised_less(ledger):
    ledger.create_dataset("five", FIVE)
    ledger.register("five", FOUR)
    ledger.charge("five", question(systems=FOUR, epsilon=2.0))
    ledger.create_dataset("one", ONE)
    with pytest.raises(ParameterError, match="already spent more"):
        ledger.register("one", FOUR)
    assert ledger.dataset("one").households == 0
    assert holds(ledger)


def test_a_renamed_file_opens_no_account(ledger):
    ledger.create_dataset("one", ONE)
    ledger.register("one", FOUR)
    ledger.charge("one", question(systems=FOUR))
    with pytest.raises(ParameterError, match="not registered") as refusal:
        ledger.register("one", ("a", "renamed"))
    assert "renamed" not in str(refusal.value)
    with pytest.raises(ParameterError, match="not registered"):
        ledger.charge("one", question(1, systems=("renamed",)))
    ledger.register("one", ("new",), add=True)
    ledger.charge("one", question(2, systems=("new",)))
    assert holds(ledger)


def test_a_system_has_one_account_however_its_name_is_written(ledger):
    ledger.create_dataset("one", ONE)
    ledger.register("one", ("7", "caf\u00e9"))
    ledger.charge("one", question(1, systems=("7.0", "cafe\u0301 "), epsilon=0.75))
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.charge("one", question(2, systems=(" 7",), epsilon=0.5))
    assert refusal.value.remaining == 0.25
    ledger.create_dataset("five", FIVE)
    ledger.register("five", [SystemHome("7", "40031.0")])
    ledger.register("five", [SystemHome("7.0", "40031")])
    assert ledger.dataset("five").households == 1
    assert holds(ledger)


def test_systems_that_two_tables_make_different_households_are_counted(ledger):
    for name in ("one", "two"):
        ledger.create_dataset(name, ONE)
    ledger.register("one", homes("x", "y", None))
    told = homes("x", "0y", "z")
    assert [ledger.two_keys_warning(name) for name in ("one", "two")] == ["", ""]
    assert "1 system is one household" in ledger.two_keys_warning("two", told)
    ledger.register("two", told)
    for name in ("one", "two"):
        assert "1 system is one household" in ledger.two_keys_warning(name)


def test_registering_again_changes_nothing(ledger):
    ledger.create_dataset("one", PAIRED)
    ledger.register("one", homes("x", "x", "y", meters=("m1", "m2")))
    before = ledger.entries("one")
    ledger.register("one", homes("x", "x", "y", meters=("m1", "m2")))
    ledger.register("one", ("s1", "s3"))
    assert ledger.entries("one") == before
    assert ledger.dataset("one").households == 2


def test_meters_of_one_home_count_as_one(ledger):
    ledger.create_dataset("one", ONE)
    with pytest.raises(ParameterError, match=r"^rows 1 and 2 below .*more meters than the 1"):
        ledger.register("one", homes("x", "x", "y"))
    ledger.create_dataset("two", PAIRED)
    ledger.register("two", homes("x", "x", "y"))
    ledger.set_share("two", "ann", 0.9)
    asked = question(1, systems=("s1", "s2", "s3"), epsilon=0.4, analyst="ann")
    assert ledger.cost("two", asked) == 0.8
    ledger.charge("two", asked)
    assert ledger.dataset("two").remaining == pytest.approx(0.2)
    # a share pays for all meters of one home
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.charge("two", question(2, systems=("s3",), epsilon=0.3, analyst="ann"))
    assert refusal.value.remaining == pytest.approx(0.1)
    for systems, epsilon in ((("s1",), 0.3), (None, 0.11)):
        with pytest.raises(BudgetExceeded):
            ledger.charge("two", question(2, systems=systems, epsilon=epsilon))
    ledger.charge("two", question(4, epsilon=0.1))
    ledger.charge("two", question(5, systems=("s3",), epsilon=0.4))
    assert ledger.dataset("two").spent == 1.0
    assert holds(ledger)


@pytest.mark.parametrize(("delta", "factor"), [(0.0, 3), (1e-6, 9)])
def test_a_release_about_all_systems_counts_all_meters(small, delta, factor):
    small.create_dataset("one", Promise(System(), 9.0, delta))
    small.create_dataset("three", Promise(System(), 9.0, delta, meters=3))
    asked = question(epsilon=0.4)
    assert small.cost("three", asked) == pytest.approx(factor * small.cost("one", asked))
    small.charge("three", asked)
    assert small.dataset("three").spent == small.cost("three", asked)


def test_a_home_with_more_meters_than_were_promised_once_is_counted_in_full(ledger):
    ledger.create_dataset("one", Promise(System(), 1.0))
    ledger.register("one", ("s1", "s2", "s3"))
    ledger.charge("one", question(1, epsilon=0.5))
    ledger.create_dataset("two", Promise(System(), 2.0, meters=2))
    ledger.register("two", homes("x", "x"))
    # its two meters were in the other dataset's release, which had counted one
    assert ledger.dataset("two").spent == 1.0
    with pytest.raises(BudgetExceeded):
        ledger.charge("two", question(2, epsilon=0.6))
    ledger.charge("two", question(3, epsilon=0.5))
    assert holds(ledger)


def test_one_meter_has_one_name(ledger):
    for name in ("one", "two"):
        ledger.create_dataset(name, Promise(System(), 1.0, meters=3))
    for keys in (("x", "x"), ("x", "y")):
        with pytest.raises(ParameterError, match=r"^rows 1 and 2 below .*one meter"):
            ledger.register("one", homes(*keys, meters=("m", "m")))
    ledger.register("one", homes("x", meters=("m",)))
    for name in ("one", "two"):
        with pytest.raises(ParameterError, match=r"^row 7 below .*one meter") as refusal:
            ledger.register(name, [SystemHome("renamed", "y", "m", 7)])
        assert "renamed" not in str(refusal.value)
    ledger.register("two", [SystemHome("renamed", "x", "m", 7)])
    ledger.charge("one", question(systems=("s1",), epsilon=0.3))
    assert ledger.dataset("two").spent == pytest.approx(0.3)


def test_a_table_says_of_households_what_ids_alone_did_not(ledger):
    create(ledger, one=PAIRED, two=PAIRED)
    ledger.register("one", ("s1", "s2"))
    ledger.register("two", ("s1",))
    ledger.charge("one", question(1, systems=("s2",), epsilon=0.75))
    ledger.charge("two", question(2, systems=("s1",), epsilon=0.25))
    ledger.register("two", homes("x", "x"))
    with pytest.raises(BudgetExceeded):
        ledger.charge("two", question(3, systems=("s1",), epsilon=0.1))
    with pytest.raises(ParameterError, match="differ in the household"):
        ledger.register("two", homes("y"))
    assert holds(ledger)


def test_ids_that_meet_by_chance_need_tables(ledger):
    for name, key in (("one", "x"), ("two", "y"), ("three", None)):
        ledger.create_dataset(name, ONE)
        if key is not None:
            ledger.register(name, homes(key))
            ledger.charge(name, question(systems=("s1",)))
    with pytest.raises(ParameterError, match="two tables give"):
        ledger.register("three", ("s1",))
    ledger.register("three", homes("x"))
    with pytest.raises(BudgetExceeded):
        ledger.charge("three", question(systems=("s1",)))
    assert holds(ledger)


def test_a_ledger_keeps_no_key_and_no_id(small, path):
    small.create_dataset("one", PAIRED)
    known = [SystemHome("unmistakable-id", "unmistakable-key", "unmistakable-meter")]
    small.register("one", known)
    small.close()
    assert all(b"unmistakable" not in each.read_bytes() for each in path.parent.glob("ledger.db*"))
    assert "unmistakable" not in repr(known)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE members SET household = name WHERE dataset_id = 2",
        "DELETE FROM members WHERE dataset_id = 2",
        "UPDATE members SET place = 9 WHERE dataset_id = 2",
        "UPDATE system_keys SET key = 'x'",
        "DELETE FROM system_keys",
        "UPDATE datasets SET shared = 0 WHERE id = 2",
        "UPDATE datasets SET households = 7 WHERE id = 2",
        "UPDATE datasets SET meters = 7 WHERE id = 2",
        "UPDATE accounts SET spent = 0 WHERE dataset_id = 1",
    ],
)
def test_what_was_changed_by_hand_is_found(where, open_ledger, change):
    ledger = open_ledger(where)
    for name in ("one", "two"):
        ledger.create_dataset(name, PAIRED)
        ledger.register(name, homes("x", "x", "y"))
        ledger.charge(name, question(systems=("s1",), epsilon=0.2))
    assert holds(ledger)
    execute(where, change)
    assert not holds(ledger)
    with pytest.raises(LedgerConflict):
        open_ledger(where).charge("two", question(1, systems=("s1",), epsilon=0.1))


def test_a_household_that_spent_too_much_is_found(where, open_ledger, monkeypatch):
    ledger = open_ledger(where)
    for name in ("one", "two"):
        ledger.create_dataset(name, ONE)
        ledger.register(name, FOUR)
    execute(where, "UPDATE datasets SET shared = 0")
    with monkeypatch.context() as patch:
        no_faults = SimpleNamespace(faults=())
        patch.setattr("sunveil.ledger.verify_chain.verify", lambda *_: no_faults)
        for name in ("one", "two"):
            ledger.charge(name, question(systems=("a",)))
    execute(where, "UPDATE datasets SET shared = 1")
    said = ledger.verify("two").faults
    assert said == ("a household has spent more, over all its datasets, than is promised",)


def test_racing_datasets_grant_a_household_exactly_its_budget(where, open_ledger):
    names = [f"d{number}" for number in range(4)]
    ledger = open_ledger(where)
    for number, name in enumerate(names):
        ledger.create_dataset(name, Promise(System(), 1.0 + number))
        ledger.register(name, FOUR if number % 2 else FOUR[::-1])
    ledgers = [open_ledger(where, create=False) for _ in range(8)]

    def spend(number: int) -> int:
        granted = 0
        for turn in range(5):
            systems = None if (number + turn) % 3 == 0 else FOUR[number % 2 :]
            asked = question((number, turn), systems=systems, epsilon=0.1)
            try:
                ledgers[number].charge(names[(number + turn) % 4], asked)
                granted += 1
            except BudgetExceeded:
                pass
        return granted

    with ThreadPoolExecutor(8) as pool:
        granted = sum(pool.map(spend, range(8)))
    # every charge concerns the systems b, c and d
    assert granted == 10
    assert holds(ledger)


def test_many_households_are_registered_and_charged(small):
    many = [SystemHome(f"s{number}", f"h{number // 2}") for number in range(12_000)]
    small.create_dataset("one", PAIRED)
    small.register("one", many)
    small.charge("one", question(1, systems=tuple(home.system_id for home in many), epsilon=0.25))
    assert (small.dataset("one").households, small.dataset("one").remaining) == (6000, 0.5)
    assert holds(small)


def test_what_is_no_household_or_is_refused_registers_nobody(ledger):
    ledger.create_dataset("one", ONE)
    before = ledger.entries("one")
    with pytest.raises(ParameterError, match="no name"):
        ledger.register("one", (" ",))
    with pytest.raises(ParameterError, match="two households"):
        ledger.register("one", [SystemHome("a", "x", None, 1), SystemHome("a", "y", None, 2)])
    homes_of_two = (SystemHome("a"), SystemHome("b"))
    for asked in (question(epsilon=2.0), question(epsilon=2.0, systems=("a", "b"))):
        with pytest.raises(BudgetExceeded):
            ledger.charge("one", replace(asked, homes=homes_of_two))
    assert ledger.entries("one") == before
    assert ledger.dataset("one").households == 0
    ledger.charge("one", replace(question(epsilon=1.0), homes=homes_of_two))
    assert ledger.dataset("one").households == 2
    # households are no part of the question
    assert ledger.pending("one", question(epsilon=1.0)) is not None
    assert holds(ledger)


# -- accounts that were charged before anybody was registered


@pytest.fixture
def charged(ledger):
    """Return a ledger of two datasets whose systems were charged and never registered."""
    ledger.create_dataset("roofs", Promise(System(), 2.0))
    ledger.create_dataset("homes", ONE)
    ledger.ask("roofs", question(1, epsilon=0.25), lambda: "tables")
    ledger.ask("roofs", question(2, epsilon=0.25, systems=("a", "b")), lambda: [1, 2])
    ledger.ask("homes", question(1, epsilon=0.25, systems=("b", "c")), lambda: [3])
    ledger.charge("homes", question(2, epsilon=0.125))
    return ledger


def test_a_charged_dataset_takes_those_whom_it_knows(charged):
    with pytest.raises(ParameterError, match="not registered"):
        charged.register("roofs", ("a", "renamed"))
    charged.register("roofs", ("a", "b"))
    # b is in the other dataset too, which has not registered anybody
    assert charged.dataset("roofs").spent == 0.875
    assert charged.dataset("homes").households == 1
    with pytest.raises(BudgetExceeded) as refusal:
        charged.charge("roofs", question(9, epsilon=0.25, systems=("b",)))
    assert refusal.value.remaining == 0.125
    charged.charge("roofs", question(9, epsilon=1.5, systems=("a",)))
    charged.register("homes", ("b", "c"))
    with pytest.raises(BudgetExceeded):
        charged.charge("homes", question(9, epsilon=0.25))
    assert charged.dataset("homes").households == 2
    assert holds(charged)


def test_a_new_dataset_counts_what_accounts_of_others_spent(charged):
    charged.create_dataset("new", Promise(System(), 5.0, meters=2))
    charged.register("new", [SystemHome("a", "x"), SystemHome("c", "x"), SystemHome("d", "y")])
    # a in roofs 0.25 + 0.25, c in homes 0.25 + 0.125
    assert charged.dataset("new").spent == 0.875
    charged.charge("new", question(9, epsilon=0.0625, systems=("a", "c", "d")))
    with pytest.raises(BudgetExceeded):
        charged.charge("new", question(10, epsilon=0.0625, systems=("c",)))
    charged.charge("new", question(11, epsilon=4.0, systems=("d",)))
    assert holds(charged)


def test_who_spent_too_much_before_registration_is_published_no_more(charged):
    charged.charge("roofs", question(9, epsilon=1.0, systems=("b",)))
    before = charged.entries("roofs")
    with pytest.raises(ParameterError, match="already spent more"):
        charged.register("roofs", ("a", "b"))
    assert charged.entries("roofs") == before
    assert charged.ask("roofs", question(1, epsilon=0.25), lambda: None).value == "tables"
    assert holds(charged)
