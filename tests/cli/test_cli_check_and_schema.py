from __future__ import annotations

import json
import re
import stat

import click
import pandas as pd
import pytest

from sunveil.cli._text import tinted
from sunveil.meters.schema_files import read_schema


def test_what_was_read_is_said_of_every_system_without_a_place(sunveil, three_systems):
    said = sunveil("check", three_systems)
    assert said.code == 0
    head, _, *rows = said.out.splitlines()
    assert head.split()[:4] == ["system", "from", "to", "days"]
    assert [row.split()[0] for row in rows[:3]] == ["east", "south", "west"]
    assert rows[0].split()[1:4] == ["2019-03-01", "2019-06-29", "120"]
    assert "60 min" in rows[0]
    assert said.out.rstrip().splitlines()[-1].startswith("3 of 3 systems can be read.")
    assert "\x1b" not in said.out


def test_what_looks_wrong_is_told(sunveil, write_long, three_roofs, tmp_path):
    south = three_roofs["south"]
    gap = pd.concat([south.iloc[:480], south.iloc[1200:]])
    night = south.set_axis(south.index + pd.Timedelta(hours=12))
    systems = {"gap": gap, "short": south.iloc[:480], "turned": night}
    said = sunveil("check", write_long(tmp_path / "odd.csv", systems), "--json")
    assert said.code == 0
    found = {each["system_id"]: each for each in json.loads(said.out)}
    assert any("a gap of 30 days" in each for each in found["gap"]["warnings"])
    assert any("only 20 days" in each for each in found["short"]["warnings"])
    assert found["gap"]["missing"] == round(720 / (720 + len(gap)), 4)
    # stamps in UTC say nothing of its clock: the place is not known here
    assert found["turned"]["brightest_hour"] < 10.0
    local = south.set_axis(south.index.tz_localize(None)).rename("power_kw")
    local.to_csv(tmp_path / "roof.csv", index_label="time")
    declared = sunveil("check", tmp_path / "roof.csv", "--timezone", "UTC-07:00")
    assert re.search(r"days are brightest at 1[89]", declared.out)
    assert "check the time zone" in declared.out


def test_refused_systems_keep_their_row_and_none_at_all_is_an_error(
    sunveil, write_long, three_roofs, tmp_path
):
    south = three_roofs["south"]
    path = write_long(tmp_path / "some.csv", {"good": south, "none": south * 0.0})
    said = sunveil("check", path)
    assert said.code == 0
    assert "refused" in said.out
    assert "1 of 2 systems can be read." in said.out
    bad = write_long(tmp_path / "bad.csv", {"none": south * 0.0})
    said = sunveil("check", bad)
    assert (said.code, said.out) == (2, "")
    assert "only zeros" in said.err
    assert sunveil("check", tmp_path / "nothing.csv").code == 2


def test_a_table_of_systems_is_held_against_the_meters(sunveil, three_systems, tmp_path):
    table = tmp_path / "systems.csv"
    table.write_text(
        "system_id,latitude,longitude,timezone\neast,39.7,-105.2,America/Denver\n"
        "south,39.7,-105.2,America/Denver\nmoon,39.7,-105.2,America/Denver\n"
    )
    said = sunveil("check", three_systems, "--systems", table)
    assert said.code == 0
    assert "west: system west is not in the table of systems." in said.out
    assert "moon of the table of systems: no readings" in said.err


def test_a_report_of_ones_own_file_is_written_beside_the_table(
    sunveil, one_system, place, tmp_path
):
    page = tmp_path / "out.html"
    said = sunveil("infer", one_system, *place, "--report", page, "--json")
    assert said.code == 0
    assert json.loads(said.out)[0]["system_id"] == "south"
    assert "report: " in said.err
    text = page.read_text(encoding="utf-8")
    assert "Private to the curator" in text
    assert "south" in text
    assert stat.S_IMODE(page.stat().st_mode) == 0o600


def test_tables_are_tinted_by_what_their_cells_say():
    plain = "system  quality\n------  -------\na       good\nb       poor     good deal\n"
    shown = tinted(plain)
    assert "\x1b[1msystem  quality\x1b[0m" in shown
    assert "\x1b[32mgood\x1b[0m" in shown
    assert "\x1b[31mpoor\x1b[0m" in shown
    assert "good deal" in shown
    assert click.unstyle(shown) == plain


RELEASE = ("--protect", "days:1", "--epsilon", "10")
SCHEMA = (
    'time_column: "Zeitpunkt"\npower_column: "Wert"\npower_unit: kW\ntimezone: UTC\nlabel: start\n'
)


@pytest.fixture(scope="session")
def foreign(three_roofs, tmp_path_factory):
    """A file whose header does not say what its columns are."""
    path = tmp_path_factory.mktemp("foreign") / "south.csv"
    rows = [f"{when:%Y-%m-%d %H:%M},{value:.5f},7" for when, value in three_roofs["south"].items()]
    path.write_text("\n".join(["Zeitpunkt,Wert,Nummer", *rows]) + "\n")
    return path


@pytest.fixture
def schema(tmp_path):
    (tmp_path / "schema.yaml").write_text(SCHEMA)
    return tmp_path / "schema.yaml"


def test_a_file_that_does_not_say_how_it_is_written_is_inferred_by_its_schema(
    sunveil, foreign, schema, place
):
    said = sunveil("infer", foreign, *place, "--schema", schema, "--json")
    (told,) = json.loads(said.out)
    assert told["surface_azimuth"] == pytest.approx(180.0, abs=3.0)
    assert told["surface_tilt"] == pytest.approx(35.0, abs=3.0)
    watts = sunveil("infer", foreign, *place, "--schema", schema, "--power-unit", "W", "--json")
    capacity = json.loads(watts.out)[0]["dc_capacity_kw"]
    assert capacity == pytest.approx(told["dc_capacity_kw"] / 1000.0, rel=0.01)


def test_a_release_without_a_schema_says_what_is_missing_and_with_it_is_made(
    sunveil, foreign, schema, place
):
    words = ("release", foreign, *place, *RELEASE)
    said = sunveil(*words)
    assert (said.code, said.out) == (2, "")
    assert f"with --schema FILE, which sunveil schema {foreign} proposes" in said.err
    assert sunveil(*words, "--schema", schema).code == 0
    columns = ("--time-column", "Zeitpunkt", "--power-column", "Wert", "--timezone", "UTC")
    for asked in (words, ("infer", foreign, *place)):
        without = sunveil(*asked, *columns)
        assert (without.code, "option `power_unit`" in without.err) == (2, True)


def test_a_proposal_is_printed_for_the_curator_and_can_be_given_back(
    sunveil, foreign, tmp_path, place
):
    columns = ("--time-column", "Zeitpunkt", "--power-column", "Wert", "--power-unit", "kW")
    said = sunveil("schema", foreign, *columns, "--timezone", "UTC", "--label", "start")
    assert said.code == 0
    assert said.out.startswith("# How a meter file is written: south.csv, ")
    assert re.fullmatch(
        r"sunveil: \d+ lines to check\. FOR THE CURATOR ALONE: .* keep it private\.\n", said.err
    )
    (tmp_path / "s.yaml").write_text(said.out)
    found = read_schema(tmp_path / "s.yaml")
    declared = {"time_column": "Zeitpunkt", "power_unit": "kW", "label": "start"}
    assert found.items() >= declared.items()
    again = sunveil("infer", foreign, *place, "--schema", tmp_path / "s.yaml", "--json")
    assert json.loads(again.out)[0]["surface_azimuth"] == pytest.approx(180.0, abs=3.0)


def test_a_proposal_is_written_whole_for_its_owner_alone(sunveil, one_system, tmp_path):
    out = tmp_path / "s.yaml"
    said = sunveil("schema", one_system, "--out", out)
    assert (said.code, said.out) == (0, f"Wrote {out}\n")
    assert out.read_text() == sunveil("schema", one_system).out
    assert out.stat().st_mode & 0o077 == 0


def test_a_register_is_released_by_its_counts_and_refused_by_the_paper_s_mechanism(
    sunveil, three_roofs, tmp_path, place, planes
):
    power = three_roofs["south"]
    meters, systems = tmp_path / "meters", tmp_path / "systems.csv"
    meters.mkdir()
    counts = power.cumsum().shift(freq="1h")  # each at the end of its interval
    rows = [f"south,{when:%Y-%m-%dT%H:%MZ},{count:.5f}" for when, count in counts.items()]
    (meters / "south.csv").write_text("\n".join(["system_id,time,total_kwh", *rows]))
    systems.write_text("system_id,latitude,longitude\nsouth,39.742,-105.1727\n")
    (tmp_path / "s.yaml").write_text("register: cumulative\ndecimal: '.'\n")
    words = ("release", meters, "--schema", tmp_path / "s.yaml", "--protect", "readings:1")
    for where in (place, ("--systems", systems)):
        (told,) = json.loads(sunveil(*words, *where, "--epsilon", "4", "--json").out)
        assert told["surface_azimuth"] == pytest.approx(planes["south"][0], abs=10.0)
        assert told["guarantee"]["unit"] == "any one reading"
        expected = []
        for epsilon, register in (("0.05", "cumulative"), ("0.025", "no")):
            asked = ("--epsilon", epsilon, "--register", register, "--label", "end", "--json")
            (told,) = json.loads(sunveil(*words, *where, *asked).out)
            expected.append(told["expected_errors"]["surface_azimuth_degrees"]["mean"])
        assert expected[0] == pytest.approx(expected[1], rel=0.05)
    said = sunveil(*words, *place, "--epsilon", "1", "--mechanism", "paper")
    assert (said.code, said.out) == (2, "")
    assert "one reading of a register is part of two differences" in said.err
