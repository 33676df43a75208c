from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from fleet_makers import PublicSystems
from roof_fleets import (
    CHOICES,
    PLANES,
    TERMS,
    in_memory,
    long_frame,
    open_to_release,
    write_files,
    write_systems,
)

from sunveil.errors import BudgetExceeded, LedgerConflict, ParameterError
from sunveil.ledger import Ledger, Promise
from sunveil.ledger import statements as ledger_rows
from sunveil.ledger.hash_chain import HighWaterMarks
from sunveil.ledger.promises import SystemHome, account_of
from sunveil.meters import from_pandas
from sunveil.privacy import System
from sunveil.publish.publisher import Publisher
from sunveil.publish.system_rows import SystemRows
from sunveil.releases import fleet_releases, release
from sunveil.releases.fleet_releases import ReleaseTerms
from sunveil.weather import clearsky

YEARS = (2019, 2020, 2021)
# who is in the fleet in each year: c joins, a leaves and comes back
FLEETS = {2019: "ab", 2020: "bc", 2021: "abcd"}


@pytest.fixture(scope="module")
def powers(clear_power):
    return {year: clear_power(200.0, 30.0, start=f"{year}-03-10", days=12) for year in YEARS}


@pytest.fixture(scope="module")
def systems_of(powers, golden_site):
    """Return the maker of a year's systems, by letters."""
    weather = {year: clearsky(golden_site, f"{year}-03-01", f"{year}-04-15") for year in YEARS}

    def make(year, names=None):
        one = from_pandas(powers[year], label="start", cleaning="each", power_unit="kW")
        named = [replace(one, system_id=name) for name in names or FLEETS[year]]
        return in_memory(named, weather[year])

    return make


@pytest.fixture
def ledger(tmp_path):
    where = tmp_path / "l.db"
    with Ledger(where, create=True, marks=HighWaterMarks(Path(f"{where}.mark"))) as book:
        book.create_dataset("d", Promise(System(), 60.0, meters=2))
        book.register("d", [SystemHome(name, f"home-{name}") for name in "abcd"])
        yield book


@pytest.fixture
def draws(monkeypatch):
    """Count what is drawn."""
    made, real = [], release.draw_release

    def draw(*args, **options):
        made.append(1)
        return real(*args, **options)

    monkeypatch.setattr(fleet_releases, "draw_release", draw)
    return made


def rows_of(systems, terms=TERMS, **options):
    return SystemRows(systems, terms, **{"standing": True, **options})


@pytest.fixture
def plan(ledger):
    return lambda *args, **options: Publisher(ledger, "d").plan(rows_of(*args, **options))


@pytest.fixture
def publish(ledger):
    return lambda *args, **options: Publisher(ledger, "d").publish(rows_of(*args, **options))


def year_is(monkeypatch, year):
    monkeypatch.setattr(ledger_rows, "now", lambda: f"{year}-05-01T00:00:00+00:00")


def spent(ledger):
    """What each account has spent, in whole ε, by the chain."""
    found: dict[str, int] = {}
    for entry in ledger.entries("d"):
        for account in entry.facts().get("systems") or () if entry.kind == "charge" else ():
            found[account] = found.get(account, 0) + entry.facts()["cost"] // 10**9
    return {name: found.get(account_of("d", name), 0) for name in "abcd"}


def row_of(ledger, name):
    """The row that stands for a system, by the ledger's own keeping."""
    answers = ledger.kept_series("d", rows_of(PublicSystems()).series)
    found = [each.value["rows"].get(account_of("d", name)) for each in answers]
    return tuple([row for row in found if row is not None][-1])


def test_three_years_charge_each_system_once_and_give_its_row_again(
    ledger, systems_of, draws, monkeypatch, plan, publish
):
    rows = {}
    for year, new in zip(YEARS, (2, 1, 1), strict=True):
        year_is(monkeypatch, year)
        systems, before = systems_of(year), len(draws)
        planned = plan(systems)
        assert (planned.given_again, planned.drawn) == (len(FLEETS[year]) - new, new)
        assert (planned.cost, planned.kept) == (28.0, False)
        found = publish(systems)
        assert len(draws) - before == new
        rows[year] = set(found.tables[0].rows)
        assert rows[year] == {row_of(ledger, name) for name in FLEETS[year]}
        assert list(found.tables[0].rows) == sorted(found.tables[0].rows)
    assert spent(ledger) == dict.fromkeys("abcd", 28)
    assert len(rows[2019] & rows[2020]) == 1
    assert rows[2019] | rows[2020] < rows[2021]
    told = [(each["year"], each["systems"]) for each in found.public["drawn"]]
    assert told == [(2019, 2), (2020, 1), (2021, 1)]
    assert ledger.verify("d").holds
    assert account_of("d", "a") not in json.dumps([found.public, found.tables[0].to_dict()])


def test_the_same_again_costs_nothing_and_other_choices_leave_what_stands(
    ledger, systems_of, draws, plan, publish
):
    first = publish(systems_of(2019))
    other = ReleaseTerms.of(System(), 28.0, choices=replace(CHOICES, albedo=0.3))
    planned = plan(systems_of(2020, "ab"), other)
    assert (planned.cost, planned.kept, planned.given_again, planned.drawn) == (0.0, True, 2, 0)
    again = publish(systems_of(2020, "ab"), other)
    assert again.tables[0].rows == first.tables[0].rows
    assert len(draws) == 2
    # another ε is another series
    assert plan(systems_of(2019), ReleaseTerms.of(System(), 2.0, choices=CHOICES)).drawn == 2
    # who has left is given only where that is asked
    kept = publish(systems_of(2020, "b"), keep_gone=True)
    assert kept.tables[0].rows == first.tables[0].rows
    assert set(publish(systems_of(2020, "b")).tables[0].rows) == {row_of(ledger, "b")}


def test_a_changed_roof_is_drawn_once_more_and_charged_again(ledger, systems_of, draws, publish):
    publish(systems_of(2019))
    old = {name: row_of(ledger, name) for name in "ab"}
    for _ in range(2):  # the second is the same question, as after a stop
        found = publish(systems_of(2020, "ab"), redraw={"a": "2020-02-01"})
    assert spent(ledger) == {"a": 56, "b": 28, "c": 0, "d": 0}
    assert row_of(ledger, "a") != old["a"]
    assert set(found.tables[0].rows) == {row_of(ledger, "a"), old["b"]}
    # next year it stands, and a change of an earlier day is no other
    later = publish(systems_of(2021, "ab"), redraw={"a": "2019-12-01"})
    assert later.tables[0].rows == found.tables[0].rows
    assert len(draws) == 3
    with pytest.raises(BudgetExceeded):
        publish(systems_of(2021, "ab"), redraw={"a": "2021-01-01"})
    assert ledger.verify("d").holds


@pytest.mark.parametrize("redraw", [{"a": "last year"}, {"a": "20200201"}, {"x": "2020-02-01"}])
def test_a_redraw_names_a_system_with_readings_and_a_day(systems_of, redraw, publish):
    with pytest.raises(ParameterError, match="again") as caught:
        publish(systems_of(2019), redraw=redraw)
    assert "'x'" not in str(caught.value)


def test_a_stopped_run_is_taken_up_and_single_publications_share_the_account(
    ledger, systems_of, monkeypatch, plan, publish
):
    publish(systems_of(2019))
    with monkeypatch.context() as broken:
        broken.setattr(fleet_releases, "draw_release", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            publish(systems_of(2020))
    assert (plan(systems_of(2020)).cost, plan(systems_of(2020)).drawn) == (0.0, 1)
    publish(systems_of(2020))
    assert spent(ledger)["c"] == 28
    publish(systems_of(2019), standing=False)
    assert spent(ledger) == {"a": 56, "b": 56, "c": 28, "d": 0}
    with pytest.raises(BudgetExceeded):
        publish(systems_of(2020), standing=False)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE answers SET answer = replace(answer, '2019', '2018') WHERE series IS NOT NULL",
        "UPDATE answers SET series = NULL",
        "DELETE FROM answers",
    ],
)
def test_a_kept_row_that_was_changed_is_noticed(
    ledger, systems_of, tmp_path, monkeypatch, statement, publish
):
    year_is(monkeypatch, 2019)
    publish(systems_of(2019))
    with closing(sqlite3.connect(tmp_path / "l.db")) as database, database:
        assert database.execute(statement).rowcount == 1
    assert not ledger.verify("d").holds
    if "2018" in statement:
        with pytest.raises(LedgerConflict, match="an answer was changed"):
            ledger.kept_series("d", rows_of(PublicSystems()).series)
    marks = HighWaterMarks(tmp_path / "l.db.mark")
    with Ledger(tmp_path / "l.db", marks=marks) as again, pytest.raises(LedgerConflict):
        Publisher(again, "d").publish(rows_of(systems_of(2020)))


def test_of_a_fleet_only_new_systems_are_scored_and_others_need_no_readings(
    clear_power, ledger, draws, tmp_path
):
    roofs = {
        name: clear_power(*PLANES[name], start="2019-03-10", days=12) for name in ("a1", "b1", "b2")
    }
    frame = long_frame(roofs)
    settings = {"part_rows": 1}
    homes = [SystemHome(name, f"home-{name}") for name in roofs]
    few = frame[frame.system_id != "b2"]
    table = write_systems(tmp_path / "few.csv", ["a1", "b1"])
    with open_to_release(write_files(tmp_path / "1", few), table, **settings) as one:
        first = Publisher(ledger, "d", homes=homes).publish(rows_of(one))
    # the next year's readings are those of the new system alone
    late = frame[frame.system_id == "b2"].copy()
    late["time"] += pd.Timedelta(days=364)
    table = write_systems(tmp_path / "all.csv", ["a1", "b1", "b2"])
    with open_to_release(write_files(tmp_path / "2", late), table, **settings) as two:
        assert [part.size for part in two.only(["b2"]).parts(TERMS)] == [1]
        second = Publisher(ledger, "d", homes=homes).publish(rows_of(two))
    assert set(first.tables[0].rows) < set(second.tables[0].rows)
    assert (len(second.tables[0].rows), len(draws)) == (3, 3)


def test_some_of_a_fleet_have_frames_and_parts_of_their_own(clear_power, tmp_path):
    roofs = {name: clear_power(*PLANES[name], start="2019-03-10", days=6) for name in ("a1", "a2")}
    roofs["a2"] = roofs["a2"].iloc[48:]
    folder = write_files(tmp_path / "r", long_frame(roofs))
    table = write_systems(tmp_path / "s.csv", roofs)
    with open_to_release(folder, table, part_rows=1) as fleet:
        some = fleet.only({"a2"})
        assert (len(some), list(some.about())) == (1, ["a2"])
        (whole,), (own,) = fleet.roster.time_grids.values(), some.roster.time_grids.values()
        assert (whole.count - own.count) == 48
        assert list(fleet.listed()) == ["a1", "a2"]
