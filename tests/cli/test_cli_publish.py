from __future__ import annotations

import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from openpyxl import Workbook


@pytest.fixture
def ledger(sunveil, tmp_path, monkeypatch):
    """A ledger with a promise about whole records and one about days."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("SUNVEIL_LEDGER", str(tmp_path / "ledger.db"))
    for name, unit in (("homes", "system"), ("days", "days:1")):
        made = sunveil("dataset", "create", name, "--protect", unit, "--epsilon", "2")
        assert made.code == 0, made.err
    return tmp_path / "ledger.db"


@pytest.fixture
def estimates(tmp_path):
    rows = [
        {
            "system_id": f"s{i}",
            "surface_azimuth": 10.0 * i % 360.0,
            "surface_tilt": 5.0 + i % 40,
            "dc_capacity_kw": 2.0 + i % 10,
            "feeder": "F1" if i % 2 else "F2",
        }
        for i in range(120)
    ]
    (tmp_path / "estimates.json").write_text(json.dumps(rows))
    return tmp_path / "estimates.json"


def left(sunveil, dataset: str) -> float:
    return json.loads(sunveil("dataset", "show", dataset, "--json").out)["remaining"]


def test_tables_are_planned_and_then_written_with_everything_beside_them(
    sunveil, ledger, estimates, tmp_path
):
    fleet = ("publish", "fleet", estimates, "--dataset", "homes", "--epsilon", "1")
    planned = sunveil(*fleet, "--dry-run")
    assert planned.code == 0, planned.err
    assert planned.out.startswith("It would cost 1; 2 is left before it.")
    assert "total_kw" in planned.out
    assert left(sunveil, "homes") == 2.0
    said = sunveil(*fleet, "--out", tmp_path / "a")
    assert said.code == 0, said.err
    assert {path.name for path in (tmp_path / "a").iterdir()} >= {
        *("counts.csv", "counts.parquet", "datapackage.json", "release-card.yaml", "README.md"),
        *("map-of-planes.png", "map-of-planes.svg"),
    }
    assert left(sunveil, "homes") == 1.0
    again = sunveil(*fleet, "--out", tmp_path / "b")
    assert again.code == 0
    assert left(sunveil, "homes") == 1.0
    first, second = ((tmp_path / name / "counts.csv").read_bytes() for name in "ab")
    assert first == second
    assert sunveil("ledger", "verify").code == 0


def test_groups_are_those_whose_keys_are_given_in_advance(sunveil, ledger, estimates, tmp_path):
    fleet = ("publish", "fleet", estimates, "--dataset", "homes", "--epsilon", "1")
    said = sunveil(*fleet, "--key", "feeder", "--keys", "F1, F2, F3", "--out", tmp_path / "a")
    assert said.code == 0, said.err
    assert (tmp_path / "a" / "totals.csv").read_text().count("\n") == 4


def test_rows_of_systems_are_charged_to_each(sunveil, ledger, three_systems, place, tmp_path):
    rows = ("publish", "system", three_systems, *place, "--dataset", "days", "--protect", "days:1")
    dry = sunveil(*rows, "--epsilon", "1", "--dry-run")
    assert "3 systems. Errors to expect, mean (nine in ten within): azimuth" in dry.out
    said = sunveil(*rows, "--epsilon", "1", "--out", tmp_path / "rows")
    assert said.code == 0, said.err
    text = (tmp_path / "rows" / "systems.csv").read_text()
    assert text.count("\n") == 4
    assert not any(name in text for name in ("east", "south", "west"))
    assert (tmp_path / "rows" / "systems.orange-button.json").exists()
    assert left(sunveil, "days") == 1.0


def test_a_synthetic_table_comes_with_how_well_it_keeps_to_the_fleet(
    sunveil, ledger, estimates, tmp_path
):
    made = ("publish", "synthetic", estimates, "--dataset", "homes", "--epsilon", "1")
    dry = sunveil(*made, "--dry-run")
    assert dry.out.startswith("It would cost 1; 2 is left before it.")
    said = sunveil(*made, "--out", tmp_path / "out")
    assert said.code == 0, said.err
    text = (tmp_path / "out" / "synthetic-systems.csv").read_text()
    assert text.count("\n") == 121
    assert (tmp_path / "out" / "survival.csv").exists()
    assert left(sunveil, "homes") == 1.0
    other = sunveil(*made, "--edition", "2027", "--dry-run")
    assert other.out.startswith("It would cost 1; 1 is left before it.")


def test_a_tampered_ledger_is_refused(sunveil, ledger, estimates, tmp_path):
    import sqlite3

    with sqlite3.connect(ledger) as connection:
        connection.execute("UPDATE entries SET body = replace(body, 'homes', 'roofs')")
    fleet = ("publish", "fleet", estimates, "--dataset", "homes", "--epsilon", "1")
    said = sunveil(*fleet, "--out", tmp_path / "out")
    assert said.code == 2
    assert not (tmp_path / "out").exists()
    assert sunveil("ledger", "verify").code == 1


ESTIMATED = ("surface_azimuth", "surface_tilt", "dc_capacity_kw")


def write_table(path, columns):
    """Write a table as CSV, as Parquet, where a gap makes floats of numbers, or as Excel."""
    rows = list(zip(*columns.values(), strict=True))
    if path.suffix == ".csv":
        lines = [columns, *(["" if each is None else each for each in row] for row in rows)]
        path.write_text("".join(",".join(map(str, line)) + "\n" for line in lines))
    elif path.suffix == ".xlsx":
        book = Workbook()
        for row in (list(columns), *rows):
            book.active.append(row)
        book.save(path)
    else:
        numbers = {
            name: pa.array(cells, None if isinstance(cells[0], str) else pa.float64())
            for name, cells in columns.items()
        }
        pq.write_table(pa.table(numbers), path)


@pytest.fixture
def promises(sunveil, ledger):
    """Two datasets, for each of which ε = 1 is promised in all."""
    for name in ("first", "second"):
        made = sunveil("dataset", "create", name, "--protect", "system", "--epsilon", "1")
        assert made.code == 0, made.err


def publish(sunveil, dataset, systems, path):
    """Publish tables of some systems at ε = 1, which spends a promise."""
    write_table(path, {"system_id": systems, **dict.fromkeys(ESTIMATED, [5.0] * len(systems))})
    bought = ("--tables", "totals", "--clip", "0", "9", "--epsilon", "1")
    target = path.with_name(f"{dataset}-published")
    return sunveil("publish", "fleet", path, "--dataset", dataset, *bought, "--out", target)


@pytest.mark.parametrize("other", ["parquet", "xlsx", "csv"])
def test_a_promise_is_not_spent_twice_by_a_household_from_another_type_of_file(
    sunveil, promises, tmp_path, other
):
    keys = {"first": [40031, 40032], "second": [40031, None]}
    if other == "csv":
        keys["second"] = ["40031.0", ""]  # as pandas writes a column with a gap
    for dataset, ending in (("first", "csv"), ("second", other)):
        systems = [f"{dataset}-a", f"{dataset}-b"]
        table = tmp_path / f"{dataset}.{ending}"
        write_table(table, {"system_id": systems, "household": keys[dataset]})
        said = sunveil("dataset", "households", dataset, "--table", table)
        assert said.code == 0, said.err
    said = publish(sunveil, "first", ["first-a", "first-b"], tmp_path / "one.csv")
    assert said.code == 0, said.err
    assert [left(sunveil, name) for name in ("first", "second")] == [0.0, 0.0]
    said = publish(sunveil, "second", ["second-a", "second-b"], tmp_path / "two.csv")
    assert (said.code, "0 is left" in said.err) == (2, True), said.err
    assert sunveil("ledger", "verify").code == 0


def test_a_promise_is_not_spent_twice_by_a_system_from_another_type_of_file(
    sunveil, promises, tmp_path
):
    # as pandas writes whole numbers of a column with a gap
    assert publish(sunveil, "first", ["7.0", "8.0"], tmp_path / "one.csv").code == 0
    said = publish(sunveil, "second", [7, 9], tmp_path / "two.parquet")
    assert (said.code, "0 is left" in said.err) == (2, True), said.err
    assert not (tmp_path / "second-published").exists()


def test_a_system_with_two_keys_in_two_datasets_is_warned_of(sunveil, promises, tmp_path):
    said = {}
    for dataset, keys in (("first", ["40031", "7"]), ("second", ["0040031", "7"])):
        table = tmp_path / f"{dataset}.csv"
        write_table(table, {"system_id": ["a", "b"], "household": keys})
        said[dataset] = sunveil("dataset", "households", dataset, "--table", table)
    assert said["first"].err == ""
    assert "1 system is one household in 'second' and another in another" in said["second"].err
    assert said["second"].code == 0
    assert "two accounts" in sunveil("dataset", "show", "first").err
    assert json.loads(sunveil("dataset", "show", "first", "--json").out)["households"] == 2


PLANES = {"r1": (110.0, 25.0), "r2": (180.0, 35.0), "r3": (250.0, 20.0)}


@pytest.fixture(scope="module")
def fleet(clear_power, tmp_path_factory):
    """Three roofs in Parquet, the table of four systems, and what to call them by."""
    root = tmp_path_factory.mktemp("private")
    for name, plane in PLANES.items():
        power = clear_power(*plane, days=15)
        table = {"system_id": name, "time": power.index, "power_kw": power.to_numpy()}
        (root / "readings").mkdir(exist_ok=True)
        pd.DataFrame(table).to_parquet(root / "readings" / f"{name}.parquet", index=False)
    rows = [f"{name},39.742,-105.1727" for name in (*PLANES, "ghost")]
    systems = root / "systems.csv"
    systems.write_text("\n".join(["system_id,latitude,longitude", *rows]) + "\n")
    return (root / "readings", "--systems", systems)


PRIVATE = ("--protect", "system", "--epsilon", "2")


def test_a_fleet_is_released_system_by_system_and_who_is_left_out_is_counted(
    sunveil, fleet, tmp_path
):
    out, refused = tmp_path / "releases.json", tmp_path / "refused.csv"
    said = sunveil("release", *fleet, *PRIVATE, "--json", "--out", out, "--refused", refused)
    assert said.code == 0, said.err
    found = json.loads(out.read_text())
    assert [each["mechanism"] for each in found] == ["window"] * 3
    assert not any(name in out.read_text().replace('"', " ").split() for name in PLANES)
    assert "skipped: 1 no readings" in said.err
    assert "NOTHING WAS RECORDED" in said.err
    assert refused.read_text().startswith("system_id,kind,reason\nghost,no readings,")
    assert refused.stat().st_mode & 0o077 == 0
    table = sunveil("release", *fleet, "--protect", "readings:1", "--epsilon", "1")
    assert table.code == 0, table.err
    assert "permute-and-flip: ε = 1-DP in the worst case" in table.out
    assert "Errors to expect" in table.out
    assert "name a file with --refused" in table.err


def test_a_fleet_is_published_once_and_charged_once(sunveil, ledger, fleet, tmp_path):
    command = ("publish", "system", *fleet, "--dataset", "homes", *PRIVATE)
    planned = sunveil(*command, "--dry-run")
    assert planned.code == 0, planned.err
    assert planned.out.startswith("It would cost 2; 2 is left before it.\n3 systems.")
    assert left(sunveil, "homes") == 2.0
    for name in ("first", "second"):
        said = sunveil(*command, "--out", tmp_path / name)
        assert said.code == 0, said.err
        assert left(sunveil, "homes") == 0.0
    tables = [(tmp_path / name / "systems.csv").read_text() for name in ("first", "second")]
    assert tables[0] == tables[1]
    assert len(tables[0].splitlines()) == 4
    again = sunveil(*command, "--dry-run")
    assert again.out.startswith("Drawn before: it costs nothing.")
    assert not list(tmp_path.glob(".*"))


def test_what_is_refused_leaves_no_folder_and_no_charge(sunveil, ledger, fleet, tmp_path):
    command = ("publish", "system", *fleet, "--dataset", "homes", "--out", tmp_path / "out")
    for unit, epsilon, words in (("system", 3, "is left"), ("days:1", 1, "protects only")):
        said = sunveil(*command, "--protect", unit, "--epsilon", epsilon)
        assert said.code == 2
        assert words in said.err
    assert left(sunveil, "homes") == 2.0
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".*"))


def test_rows_stand_and_new_systems_alone_are_charged(sunveil, ledger, fleet, tmp_path):
    readings, option, table = fleet
    head, *rows = table.read_text().splitlines()
    few = tmp_path / "few.csv"
    few.write_text("\n".join([f"{head},household", *(f"{row},home-{row[:2]}" for row in rows[:2])]))
    many = tmp_path / "many.csv"
    many.write_text("\n".join([f"{head},household", *(f"{row},home-{row[:2]}" for row in rows)]))
    asked = ("--dataset", "homes", *PRIVATE)
    command = ("publish", "system", readings, option)
    for path, name in ((few, "2026"), (many, "2027")):
        said = sunveil(*command, path, *asked, "--standing", "--out", tmp_path / name)
        assert said.code == 0, said.err
    first, second = (
        set((tmp_path / name / "systems.csv").read_text().splitlines()) for name in ("2026", "2027")
    )
    assert (len(first), len(second), first < second) == (3, 4, True)
    anew = (*command, many, *asked, "--standing", "--redraw", "r1", "2028-05-01")
    planned = sunveil(*anew, "--dry-run")
    assert planned.out.startswith("2 rows are given again at no cost; 1 are drawn, each at a cost")
    refused = sunveil(*anew, "--out", tmp_path / "2028")
    assert (refused.code, "0 is left" in refused.err) == (2, True)
    odd = sunveil(*command, many, *asked, "--keep-gone", "--dry-run")
    assert (odd.code, "add --standing" in odd.err) == (2, True)
