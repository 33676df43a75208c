from __future__ import annotations

import json

import pandas as pd
import pytest

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


@pytest.fixture
def ledger(sunveil, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("SUNVEIL_LEDGER", str(tmp_path / "ledger.db"))
    made = sunveil("dataset", "create", "homes", "--protect", "system", "--epsilon", "2")
    assert made.code == 0, made.err
    return tmp_path / "ledger.db"


PRIVATE = ("--protect", "system", "--epsilon", "2")


def left(sunveil) -> float:
    return json.loads(sunveil("dataset", "show", "homes", "--json").out)["remaining"]


def test_a_fleet_is_released_system_by_system_and_who_is_left_out_is_counted(
    sunveil, fleet, tmp_path
):
    out, refused = tmp_path / "releases.json", tmp_path / "refused.csv"
    said = sunveil("release", *fleet, *PRIVATE, "--json", "--out", out, "--refused", refused)
    assert said.code == 0, said.err
    found = json.loads(out.read_text())
    assert [each["mechanism"] for each in found] == ["window"] * 3
    assert not any(name in out.read_text().replace('"', " ").split() for name in PLANES)
    assert "left out: 1 no readings" in said.err
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
    assert left(sunveil) == 2.0
    for name in ("first", "second"):
        said = sunveil(*command, "--out", tmp_path / name)
        assert said.code == 0, said.err
        assert left(sunveil) == 0.0
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
    assert left(sunveil) == 2.0
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
