from __future__ import annotations

import json
import shutil

import pytest
from ledger_makers import execute, question

from sunveil.cli import main
from sunveil.ledger import Ledger
from sunveil.ledger.hash_chain import GENESIS, Entry
from sunveil.privacy.guarantees import rho_to_epsilon

PROMISE = ("--protect", "system", "--epsilon", "2")


@pytest.fixture
def sunveil(capsys, path):
    """Return the command line on one ledger: its exit code, its output and its errors."""

    def run(*arguments, where=path):
        capsys.readouterr()
        code = main([*map(str, arguments), "--ledger", str(where)])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.fixture
def used(sunveil, path):
    """Make a ledger with a charge, a share, and an answer."""
    assert sunveil("dataset", "create", "roofs", *PROMISE)[0] == 0
    with Ledger(path) as ledger:
        ledger.set_share("roofs", "ada", 1.0)
        ledger.ask("roofs", question(0, epsilon=0.5, analyst="ada"), lambda: "private?")
        ledger.charge("roofs", question(1, epsilon=0.25, systems=("house 7",)))
    return path


def test_a_dataset_is_created_listed_and_shown(sunveil, used):
    code, out, err = sunveil("dataset", "list")
    assert (code, err) == (0, "")
    row = " ".join(out.splitlines()[2].split())
    assert row == "roofs a system's whole record ε 2 0.75 1.25"
    code, out, _ = sunveil("dataset", "show", "roofs")
    assert "total budget ε = 2 for everything ever published." in out
    assert "1.25 is left" in out
    assert json.loads(sunveil("dataset", "show", "roofs", "--json")[1])["remaining"] == 1.25
    assert json.loads(sunveil("dataset", "list", "--json")[1])[0]["dataset"] == "roofs"


def test_under_delta_an_officer_sees_rho_epsilon_and_the_plain_sum(sunveil, path):
    create = ("dataset", "create", "d", "--protect", "system", "--epsilon", "4", "--delta", "1e-6")
    code, out, _ = sunveil(*create, "--allow", "paper", "--json")
    promise = json.loads(out)["promise"]
    assert (code, promise["measure"], promise["conditional"]) == (0, "rho", ["paper"])
    with Ledger(path) as ledger:
        for number in range(8):
            ledger.ask("d", question(number, epsilon=0.5, mechanism="exponential"), lambda: "x")
    out = sunveil("dataset", "show", "d")[1]
    told = json.loads(sunveil("dataset", "show", "d", "--json")[1])
    assert (told["spent"], told["plain_epsilon"]) == (0.25, 4.0)
    assert told["spent_epsilon"] == rho_to_epsilon(0.25, 1e-6)
    epsilon = f"{told['spent_epsilon']:.4g}"
    assert f"ε = {epsilon} at δ = 1e-06; the plain sum of ε over its releases is 4." in out


@pytest.mark.parametrize(
    "command",
    [
        *("dataset list", "dataset show x", "ledger show", "ledger verify"),
        *[f"dataset create d --protect {wrong}" for wrong in (
            "weeks:1 --epsilon 1", "system --epsilon 0", "system",
            "system --epsilon 1 --delta 0.5",
        )],
    ],
)  # fmt: skip
def test_what_is_refused_makes_no_ledger(sunveil, path, command):
    code, out, err = sunveil(*command.split())
    assert (code, out, err.count("\n")) == (2, "", 1)
    there = "create" in command
    assert err.startswith("sunveil: " if there else "sunveil: there is no ledger at")
    assert not path.exists()


def test_the_ledger_may_be_named_by_the_environment(used, monkeypatch, capsys):
    monkeypatch.setenv("SUNVEIL_LEDGER", str(used))
    assert main(["ledger", "verify"]) == 0
    assert "roofs: holds; 0.75 of 2 spent" in capsys.readouterr().out
    for group in ("dataset", "ledger"):
        assert main([group]) == 0
        assert "Commands:" in capsys.readouterr().out


def test_the_entries_are_shown_without_ids_and_answers(sunveil, used):
    code, out, _ = sunveil("ledger", "show", "--dataset", "roofs")
    assert code == 0
    kinds = [line.split()[3] for line in out.splitlines()[2:]]
    assert kinds == ["promise", "analyst", "charge", "answer", "charge"]
    assert "0.5 for test by permute-and-flip, all systems, asked by ada" in out
    for text in (out, sunveil("ledger", "show", "--json")[1]):
        assert "house 7" not in text
        assert "private?" not in text


def test_a_verification_says_what_holds(sunveil, used):
    code, out, _ = sunveil("ledger", "verify")
    assert code == 0
    assert "2 charges, 1 of them without an answer; mark 5:" in out
    printed = json.loads(sunveil("ledger", "verify", "--json")[1])
    assert (printed["holds"], printed["forgotten"]) == (True, [])
    head = printed["datasets"][0]["head"]
    for expected, options in (
        (0, ("--dataset", "roofs", "--mark", f"5:{head}")),
        (1, ("--dataset", "roofs", "--mark", f"6:{head}")),
        (2, ("--dataset", "roofs", "--mark", "x")),
        (2, ("--mark", f"5:{head}")),
        (2, ("--dataset", "other")),
    ):
        assert sunveil("ledger", "verify", *options)[0] == expected


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("UPDATE entries SET body = '[' WHERE place = 3", "entry 3 was changed"),
        ("UPDATE datasets SET promise = '['", "the promise is not the one that was made"),
    ],
)
def test_a_verification_that_finds_something_exits_with_1(sunveil, used, statement, fault):
    execute(used, statement)
    code, out, err = sunveil("ledger", "verify")
    assert (code, err) == (1, "")
    assert "roofs: DOES NOT HOLD" in out
    assert f"  {fault}" in out.splitlines()
    assert json.loads(sunveil("ledger", "verify", "--json")[1])["holds"] is False
    assert sunveil("ledger", "show")[0] == 0
    if "promise" in statement:
        code, _, err = sunveil("dataset", "list")
        assert (code, err.count("\n")) == (2, 1)
        assert "the promise of 'roofs' cannot be read" in err


def test_a_dataset_that_was_forgotten_does_not_hold(sunveil, used, tmp_path):
    shutil.copy(used, tmp_path / "backup.db")
    sunveil("dataset", "create", "more", *PROMISE)
    shutil.copy(tmp_path / "backup.db", used)
    assert "more: DOES NOT HOLD" in sunveil("ledger", "verify")[1]
    for expected, options in ((1, ()), (1, ("more",)), (0, ("roofs",))):
        named = ("--dataset", *options) if options else ()
        assert sunveil("ledger", "verify", *named)[0] == expected


def test_an_export_can_be_verified_without_the_ledger_and_never_spoils_it(sunveil, used, tmp_path):
    out, before = tmp_path / "export.json", used.read_bytes()
    assert sunveil("ledger", "export", "--out", out) == (0, "", "")
    (printed,) = json.loads(out.read_text())["datasets"]
    previous = GENESIS
    for each in printed["entries"]:
        entry = Entry(each["place"], each["kind"], each["body"], previous)
        previous = entry.digest
        assert previous == each["digest"]
    assert printed["verdict"]["head"] == previous
    assert out.stat().st_mode & 0o077 == 0
    for out in (used, tmp_path / "nowhere" / "x.json"):
        code, _, err = sunveil("ledger", "export", "--out", out)
        assert (code, err.count("\n")) == (2, 1)
    assert used.read_bytes() == before


def test_shares_are_given_changed_and_listed(sunveil, used):
    assert "ada" in sunveil("dataset", "shares", "roofs")[1]
    code, out, err = sunveil("dataset", "share", "roofs", "bob", "0.25")
    assert (code, err) == (0, "")
    assert out.splitlines()[2].split() == ["bob", "ε", "0.25", "0", "0.25"]
    assert sunveil("dataset", "share", "roofs", "ada", "1.5")[0] == 0
    rows = [line.split() for line in sunveil("dataset", "shares", "roofs")[1].splitlines()[2:]]
    assert rows == [["ada", "ε", "1.5", "0.5", "1"], ["bob", "ε", "0.25", "0", "0.25"]]
    found = json.loads(sunveil("dataset", "shares", "roofs", "--json")[1])
    assert (found["dataset"], found["measure"]) == ("roofs", "epsilon")
    assert found["shares"][0] == {"analyst": "ada", "share": 1.5, "spent": 0.5, "remaining": 1.0}
    one = json.loads(sunveil("dataset", "share", "roofs", "bob", "0.5", "--json")[1])
    assert [each["share"] for each in one["shares"]] == [0.5]
    sunveil("dataset", "create", "none", *PROMISE)
    assert sunveil("dataset", "shares", "none")[1] == "no analyst has a share of none\n"


def test_households_are_registered_by_a_table_or_one_by_one(sunveil, tmp_path):
    sunveil("dataset", "create", "roofs", *PROMISE, "--meters", "2")
    table = tmp_path / "homes.csv"
    table.write_text("system_id,household,meter\ns1,40031,m1\ns2,40031,m2\ns3,51774,\n")
    code, out, _ = sunveil("dataset", "households", "roofs", "--table", table)
    assert code == 0
    assert "of any household with at most 2 meters, total budget" in out
    assert "2 households are registered; over all" in out
    assert sunveil("dataset", "households", "roofs", "--add", "s4", "--add", "s5")[0] == 0
    shown = json.loads(sunveil("dataset", "show", "roofs", "--json")[1])
    assert (shown["households"], shown["promise"]["meters"]) == (4, 2)
    assert "3 system(s) registered, and 5 key(s) of them" in sunveil("ledger", "show")[1]
    exported = tmp_path / "ledger.json"
    assert sunveil("ledger", "export", "--out", exported)[0] == 0
    written = exported.read_text()
    assert len(json.loads(written)["datasets"][0]["members"]) == 5
    assert "40031" not in written
    assert sunveil("ledger", "verify")[0] == 0


def test_a_table_that_cannot_be_right_is_refused_without_a_name(sunveil, tmp_path):
    sunveil("dataset", "create", "roofs", *PROMISE, "--meters", "9")
    table = tmp_path / "homes.csv"
    for text, said in (
        ("system_id,household,meter\nanna,40031,m1\nbert,51774,m1\n", "rows 1 and 2"),
        ("system_id,household\nanna,40031\nanna,51774\n", "rows 1 and 2"),
        ("system_id,latitude\nanna,1\n", "neither a column household nor meter"),
    ):
        table.write_text(text)
        code, _, err = sunveil("dataset", "households", "roofs", "--table", table)
        assert (code, err.count("\n")) == (2, 1)
        assert said in err
        assert not any(each in err for each in ("anna", "40031", "m1"))
    assert sunveil("dataset", "households", "roofs")[0] == 2
    assert "No household is registered yet" in sunveil("dataset", "show", "roofs")[1]
