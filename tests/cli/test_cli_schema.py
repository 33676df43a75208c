from __future__ import annotations

import json
import re

import pytest

from sunveil.meters.schema_files import read_schema

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
    path = tmp_path / "schema.yaml"
    path.write_text(SCHEMA)
    return path


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


def test_a_release_without_a_schema_says_how_to_get_one_and_with_it_is_made(
    sunveil, foreign, schema, place
):
    words = ("release", foreign, *place, *RELEASE)
    said = sunveil(*words)
    assert (said.code, said.out) == (2, "")
    assert f"with --schema FILE, which sunveil schema {foreign} proposes" in said.err
    assert sunveil(*words, "--schema", schema).code == 0


def test_a_refusal_of_a_release_names_the_option_that_it_has(sunveil, foreign, place):
    columns = ("--time-column", "Zeitpunkt", "--power-column", "Wert", "--timezone", "UTC")
    said = sunveil("release", foreign, *place, *RELEASE, *columns)
    assert said.code == 2
    assert "option `power_unit`" in said.err
    assert "option `power_unit`" in sunveil("infer", foreign, *place, *columns).err


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
    assert (found["time_column"], found["power_unit"], found["label"]) == (
        "Zeitpunkt",
        "kW",
        "start",
    )
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
