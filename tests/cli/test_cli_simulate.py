from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
from pathlib import Path

import duckdb
import pvlib
import pytest

import sunveil.simulate.places as orders
from sunveil.cli import main
from sunveil.cli.simulate import simulate_command
from sunveil.estimates import Flag
from sunveil.simulate import REAL_FLEET


def test_a_fleet_is_written_and_named(sunveil, tmp_path):
    out = tmp_path / "fleet"
    said = sunveil("simulate", "--systems", 3, "--cells", 2, "--out", out)
    assert (said.code, said.err) == (0, "")
    assert said.out.splitlines() == [
        "Wrote 3 systems in 2 weather cells, a reading every 60 minutes of 2019.",
        f"Fleet: {out}",
    ]
    assert (out / "readings" / "part-00000.parquet").is_file()


def told_of(folder):
    return json.loads((folder / "fleet.json").read_text(encoding="utf-8"))


def test_the_options_are_what_is_made(sunveil, tmp_path):
    sites, out = tmp_path / "sites.csv", tmp_path / "fleet"
    sites.write_text("latitude,longitude,name\n52.1,5.1,Utrecht\n")
    said = sunveil(
        *("simulate", "--systems", 2, "--out", out, "--seed", 9, "--sites", sites),
        *("--year", 2020, "--interval", 30, "--layout", "lists", "--no-faults"),
    )
    assert said.code == 0
    made = {"seed": 9, "year": 2020, "interval_minutes": 30, "layout": "lists"}
    assert told_of(out).items() >= (made | {"realism": "clean"}).items()
    assert [cell["name"] for cell in told_of(out)["cells"]] == ["Utrecht"]


def test_a_share_of_meters_sees_the_net_in_the_columns_that_are_asked_for(sunveil, tmp_path):
    said = sunveil(
        "simulate",
        *("--systems", 8, "--cells", 1, "--out", tmp_path / "fleet", "--net", 1),
        *("--batteries", 0.5, "--cars", 0.5, "--net-columns", "two"),
    )
    assert (said.code, said.err) == (0, "")
    assert told_of(tmp_path / "fleet")["net"] == {
        "share": 1.0,
        "batteries": 0.5,
        "cars": 0.5,
        "columns": "two",
    }
    rows = duckdb.execute(f"DESCRIBE SELECT * FROM '{tmp_path}/fleet/readings/*.parquet'")
    assert [row[0] for row in rows.fetchall()][2:] == ["import_kw", "export_kw"]


def test_a_utility_says_how_many_of_its_systems_stand_on_two_planes_or_turn(sunveil, tmp_path):
    said = sunveil(
        "simulate",
        *("--systems", 8, "--cells", 1, "--out", tmp_path / "fleet", "--no-faults"),
        *("--two-planes", 1, "--trackers", 0.25),
    )
    assert (said.code, said.err) == (0, "")
    found = told_of(tmp_path / "fleet")["found"]
    assert 0 < found["trackers"] < 8
    assert found["two_planes"] == 8 - found["trackers"]


def test_real_weather_makes_a_fleet_about_its_site_alone(sunveil, tmp_path):
    file = Path(pvlib.__file__).parent / "data" / "723170TYA.CSV"
    sites, out = tmp_path / "sites.csv", tmp_path / "fleet"
    words = ("simulate", "--systems", 2, "--weather", file, "--out", out)
    sites.write_text("latitude,longitude\n36.2,-79.9\n52.1,5.1\n")
    far = sunveil(*words, "--sites", sites)
    assert far.code == 2
    assert "site 2 is more than 100 km from the weather" in far.err
    said = sunveil(*words, "--plain")
    assert (said.code, said.err) == (0, "")
    told = told_of(out)
    assert (told["weather"], told["realism"], told["year"]) == ("723170TYA.CSV", "plain", 2019)
    assert (told["cells"][0]["latitude"], told["cells"][0]["longitude"]) == (36.1, -80.0)
    assert "the weather of 723170TYA.CSV" in (out / "README.md").read_text(encoding="utf-8")


def test_a_simulated_fleet_can_be_inferred_by_the_command_line(sunveil, tmp_path):
    sites = tmp_path / "sites.csv"
    sites.write_text("latitude,longitude,altitude,timezone\n39.7,-105.0,1609,America/Denver\n")
    out = tmp_path / "fleet"
    sunveil("simulate", "--systems", 2, "--sites", sites, "--out", out, "--no-faults")
    said = sunveil(
        "infer",
        out / "readings" / "part-00000.parquet",
        *("--latitude", 39.7, "--longitude", -105.0, "--altitude", 1609, "--label", "start"),
        "--json",
    )
    assert said.code == 0
    truth = {
        row[0]: row[1:]
        for row in duckdb.execute(
            f"SELECT system_id, surface_tilt, dc_capacity_kw FROM '{out / 'truth.parquet'}'"
        ).fetchall()
    }
    found = json.loads(said.out)
    assert {each["system_id"] for each in found} == set(truth)
    for each in found:
        tilt, capacity = truth[each["system_id"]]
        assert abs(each["surface_tilt"] - tilt) < 5.0
        assert each["dc_capacity_kw"] == pytest.approx(capacity, rel=0.15)


def test_a_fleet_is_replaced_only_when_asked(sunveil, tmp_path):
    arguments = ("simulate", "--systems", 1, "--out", tmp_path / "fleet")
    assert sunveil(*arguments).code == 0
    refused = sunveil(*arguments, "--seed", 2)
    assert (refused.code, refused.out) == (2, "")
    assert "--replace" in refused.err
    assert sunveil(*arguments, "--seed", 2, "--replace").code == 0


def test_folders_that_hold_other_things_are_left_alone(sunveil, tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    said = sunveil("simulate", "--systems", 1, "--out", tmp_path, "--replace")
    assert said.code == 2
    assert "holds other files" in said.err
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_the_choices_are_the_library_s_own():
    given = {each.name: each for each in simulate_command.params}
    assert set(given["layout"].type.choices) == {each.value for each in orders.ReadingsLayout}
    assert {int(each) for each in given["interval"].type.choices} == set(orders.INTERVALS)
    fresh = orders.FleetSpec.of(1)
    assert given["seed"].default == fresh.seed
    assert int(given["interval"].default) == fresh.interval_minutes
    assert given["layout"].default == fresh.layout
    assert given["faults"].default is True
    assert fresh.rates is REAL_FLEET


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("a demo") / "out"


@pytest.fixture(scope="module")
def said(folder):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["demo", "--out", str(folder), "--systems", "6", "--seed", "3"])
    assert (code, err.getvalue()) == (0, "")
    return out.getvalue()


def test_a_report_and_a_publication_are_made_and_charged_to_a_ledger(said, folder):
    lines = said.splitlines()
    assert lines[-4] == f"Report: {folder / 'report.html'}"
    assert lines[-1] == f"Publication: {folder / 'publication'}"
    assert (folder / "report.html").stat().st_size > 1000
    made = {path.name for path in folder.iterdir() if not path.name.startswith("ledger.db.")}
    assert made == {"meters.csv", "report.html", "ledger.db", "publication"}
    promised = "Promised: differential privacy for any one day of any household with at most"
    assert promised in said
    assert "Published: 6 rows at ε = 1 each; 1 is left." in said
    rows = (folder / "publication" / "systems.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 7
    assert not any("sim-" in row for row in rows)


def test_the_same_demo_again_publishes_the_same_draw_at_no_cost(said, folder, sunveil, monkeypatch):
    # the report is drawn for the other tests
    monkeypatch.setattr("sunveil.plots.html_report.write_report", lambda *_: None)
    again = sunveil("demo", "--out", folder, "--systems", "6", "--seed", "3")
    assert "1 is left" in again.out
    first, second = (
        (folder / name / "systems.csv").read_bytes() for name in ("publication", "publication-2")
    )
    assert first == second


def test_true_stands_beside_inferred_and_systems_with_a_story_are_flagged(said):
    rows = [line for line in said.splitlines() if re.match(r"sim-\d+ ", line)]
    off = [float(found) for row in rows for found in re.findall(r"kW \([^)]*\)  +([\d.]+)°", row)]
    assert len(rows) == len(off) == 6
    assert max(off) < 8.0
    flags = (Flag.TWO_PLANES, Flag.CLIPPING, Flag.CLOCK_REPAIRED)
    assert all(flag.value in row for row, flag in zip(rows[3:], flags, strict=True))


def test_the_command_for_the_same_by_hand_works(said, sunveil):
    line = next(line for line in said.splitlines() if line.startswith("The same by hand: "))
    command = shlex.split(line.removeprefix("The same by hand: "))
    assert command[0] == "sunveil"
    by_hand = sunveil(*command[1:])
    assert by_hand.code == 0
    assert by_hand.out.count("\nsim-") >= 6
