from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sunveil.errors import WeatherError
from sunveil.site import Plane
from sunveil.weather.sources import SiteWeather

KEYS = {
    "system_id",
    "surface_azimuth",
    "surface_azimuth_interval",
    "surface_tilt",
    "surface_tilt_interval",
    "dc_capacity_kw",
    "dc_capacity_kw_interval",
    "clock_offset_minutes",
    "agreement",
    "flags",
    "assumptions",
}


def angle(told: dict, plane: tuple[float, float]) -> float:
    return Plane(told["surface_azimuth"], told["surface_tilt"]).angle_to(Plane(*plane))


def test_a_long_file_of_three_systems_gives_three_json_objects(
    sunveil, three_systems, planes, place
):
    said = sunveil("infer", three_systems, *place, "--json")
    assert (said.code, said.err) == (0, "")
    told = json.loads(said.out)
    assert [each["system_id"] for each in told] == ["east", "south", "west"]
    for each in told:
        assert set(each) >= KEYS
        assert angle(each, planes[each["system_id"]]) < 3.0
        assert each["dc_capacity_kw"] == pytest.approx(5.0, rel=0.06)
        assert each["assumptions"]["weather"] == "clearsky"


def spoilt(path: Path, lines: list[str], cells: dict[int, str]) -> Path:
    """Write a long file by time, some of whose readings are other cells."""
    head, *rows = lines
    rows.sort(key=lambda row: row.split(",")[1])
    for at, cell in cells.items():
        rows[at] = ",".join([*rows[at].split(",")[:2], cell])
    path.write_text("\n".join([head, *rows, ""]))
    return path


STRAY = {at + more: cell for at in range(0, 8600, 18) for more, cell in ((0, '"1'), (15, '1"'))}


@pytest.mark.parametrize(
    "cells",
    [STRAY, {0: '"see\ntime,note\nbelow"'}, {0: '"x\ntime,system_id,power_w\nz"'}],
    ids=["quotes", "note", "header"],
)
def test_cells_of_one_system_move_no_line_of_another(
    sunveil, three_systems, place, tmp_path, cells, monkeypatch
):
    lines = three_systems.read_text().splitlines()
    path = spoilt(tmp_path / "meters.csv", lines, cells)
    said = sunveil("infer", path, *place, "--json")
    told = json.loads(said.out)
    assert [each["system_id"] for each in told] == ["east", "south", "west"]
    for each in told[1:]:
        assert each["dc_capacity_kw"] == pytest.approx(5.0, rel=0.06)
    monkeypatch.setenv("SUNVEIL_LEDGER", str(tmp_path / "ledger.db"))
    sunveil("dataset", "create", "d", "--protect", "system", "--epsilon", "2")
    asked = ("--dataset", "d", "--protect", "system", "--epsilon", "1", "--dry-run")
    dry = [sunveil("publish", "system", each, *place, *asked) for each in (three_systems, path)]
    assert "3 systems. Errors to expect" in dry[0].out
    assert dry[1] == dry[0]


def test_a_table_shows_intervals_and_names_what_was_assumed(sunveil, three_systems, place):
    said = sunveil("infer", three_systems, *place, "--losses", "0.1", "--albedo", "0.25")
    assert (said.code, said.err) == (0, "")
    head, rule, *rows = said.out.splitlines()
    assert head.split()[:3] == ["system", "azimuth", "tilt"]
    assert [row.split()[0] for row in rows[:3]] == ["east", "south", "west"]
    assert rule.startswith("---")
    assert "° (" in rows[0]
    assert " to " in rows[0]
    assert " kW (" in rows[0]
    assert "system losses 10%" in rows[-1]
    assert "inverter efficiency 96%" in rows[-1]
    assert "albedo 0.25" in rows[-1]


def test_a_folder_gives_one_system_for_each_file(sunveil, three_roofs, tmp_path, place):
    for name, power in three_roofs.items():
        power.rename("power_kw").to_csv(tmp_path / f"{name}.csv", index_label="time")
    said = sunveil("infer", tmp_path, *place, "--json")
    assert said.code == 0
    assert [each["system_id"] for each in json.loads(said.out)] == ["east", "south", "west"]


def test_the_paper_s_method_is_had_by_name(sunveil, one_system, place):
    said = sunveil("infer", one_system, *place, "--method", "paper", "--group", "quarter", "--json")
    (told,) = json.loads(said.out)
    assert told["assumptions"]["method"] == "paper"
    assert told["surface_azimuth"] == int(told["surface_azimuth"])


def test_a_fast_clock_is_repaired_and_said_unless_it_is_given(
    sunveil, three_roofs, write_long, tmp_path, place
):
    power = three_roofs["south"]
    path = tmp_path / "fast.csv"
    write_long(path, {"fast": power.set_axis(power.index + pd.Timedelta(hours=1))})
    repaired = sunveil("infer", path, *place)
    assert "clock_repaired: the declared clock did not fit the sun" in repaired.out
    assert "fast: the time stamps run 60 minutes ahead" in repaired.out
    given = sunveil("infer", path, *place, "--clock", "given", "--json")
    (told,) = json.loads(given.out)
    assert told["clock_offset_minutes"] == 0
    assert told["flags"] == []
    assert angle(told, (180.0, 35.0)) > 5.0


@pytest.fixture(scope="module")
def home(three_roofs, write_long, tmp_path_factory):
    """Return a file of one net meter, and its generation by the hour."""
    power = three_roofs["south"]
    hours = power.index.tz_convert("Etc/GMT+7").hour
    load = (0.4 + 0.5 * (hours >= 17)) * np.random.default_rng(0).lognormal(0.0, 0.4, len(power))
    path = write_long(tmp_path_factory.mktemp("home") / "home.csv", {"home": power - load})
    return path, power


def test_a_net_meter_is_inferred_whether_it_is_said_or_seen(sunveil, home, place, planes):
    seen = sunveil("infer", home[0], *place)
    assert seen.code == 0, seen.err
    assert "Net meter: the household consumes 0." in seen.out
    said = sunveil("infer", home[0], *place, "--net", "--json")
    (told,) = json.loads(said.out)
    assert "net_meter" in told["flags"]
    assert angle(told, planes["south"]) < 8.0
    assert told["household_load"]["mean_load_kw"] == pytest.approx(0.59, rel=0.15)
    assert np.shape(told["household_load"]["load_kw"]) == (4, 24)


def test_what_was_told_apart_is_written_for_its_owner(sunveil, home, place, tmp_path):
    path, power = home
    (tmp_path / "apart.csv").write_text("old")
    for name in ("apart.csv", "apart.parquet"):
        said = sunveil("infer", path, *place, "--net", "--json", "--separated", tmp_path / name)
        assert said.code == 0, said.err
        assert "wrote 2,880 intervals" in said.err
        json.loads(said.out)
        assert (tmp_path / name).stat().st_mode & 0o077 == 0
    text, table = pd.read_csv(tmp_path / "apart.csv"), pd.read_parquet(tmp_path / "apart.parquet")
    assert list(text) == [
        "time", "generation_kw", "generation_low_kw", "generation_high_kw", "load_kw",
    ]  # fmt: skip
    assert text["time"][0] == "2019-03-01T00:00Z"
    np.testing.assert_allclose(text.iloc[:, 1:], table.iloc[:, 1:])
    read = pd.read_csv(path)["power_kw"]
    np.testing.assert_allclose(text["generation_kw"] - text["load_kw"], read, atol=2e-4)
    assert np.corrcoef(text["generation_kw"], power)[0, 1] > 0.97
    assert (text["generation_low_kw"] <= text["generation_kw"]).all()
    assert (text["generation_kw"] <= text["generation_high_kw"]).all()


def test_the_inverter_s_efficiency_sets_the_capacity(sunveil, one_system, place):
    usual, ideal = (
        json.loads(sunveil("infer", one_system, *place, "--json", *more).out)[0]
        for more in ((), ("--inverter-efficiency", "1"))
    )
    assert ideal["dc_capacity_kw"] == pytest.approx(0.96 * usual["dc_capacity_kw"], rel=0.01)
    assert ideal["assumptions"]["inverter_efficiency"] == 1.0


def test_weather_comes_from_a_file(sunveil, one_system, weather_file, planes, place):
    path = weather_file(2019)
    said = sunveil("infer", one_system, *place, "--weather", path, "--json")
    assert said.code == 0, said.err
    (told,) = json.loads(said.out)
    assert "sky2019.csv" in told["assumptions"]["weather"]
    assert angle(told, planes["south"]) < 3.0


def test_out_writes_what_would_have_been_printed(sunveil, one_system, tmp_path, place):
    out = tmp_path / "result.json"
    out.write_text("old")
    printed = sunveil("infer", one_system, *place, "--json")
    said = sunveil("infer", one_system, *place, "--json", "--out", out)
    assert said.code == 0
    assert str(out) in said.out
    assert out.read_text() == printed.out
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


def test_a_system_that_cannot_be_inferred_leaves_the_others(
    sunveil, three_roofs, write_long, tmp_path, place
):
    systems = {"good": three_roofs["south"], "short": three_roofs["west"].iloc[:48]}
    path = write_long(tmp_path / "mixed.csv", systems)
    table = sunveil("infer", path, *place)
    assert table.code == 0
    rows = {line.split()[0]: line.split() for line in table.out.splitlines()[2:4]}
    assert set(rows) == {"good", "short"}
    assert rows["short"][1:5] == ["unknown", "unknown", "unknown", "-"]
    assert "there are 2" in table.out
    assert table.err.count("\n") == 1
    assert table.err.startswith("sunveil: skipped short: ")
    told = json.loads(sunveil("infer", path, *place, "--json").out)
    assert [each["system_id"] for each in told] == ["good", "short"]
    assert set(told[1]) == {"system_id", "error"}
    assert "longer record" in told[1]["error"]


@pytest.mark.parametrize("hostile", ["blank", "zero", "constant", "infinite", "huge", "tiny"])
@pytest.mark.parametrize("as_json", [True, False])
def test_whatever_one_system_holds_the_rows_of_the_others_are_the_same(
    sunveil, three_roofs, write_long, tmp_path, place, hostile, as_json
):
    south = three_roofs["south"]
    spoilt = {
        "blank": south * float("nan"),
        "zero": south * 0.0,
        "constant": south * 0.0 + 3.0,
        "infinite": south.where(south.index != south.index[700], float("inf")),
        "huge": south * 1e300,
        "tiny": south * 1e-300,
    }[hostile]
    shown = ("--json",) if as_json else ()
    before = sunveil("infer", write_long(tmp_path / "a.csv", three_roofs), *place, *shown)
    systems = {**three_roofs, "south": spoilt}
    after = sunveil("infer", write_long(tmp_path / "b.csv", systems), *place, *shown)
    assert (before.code, after.code) == (0, 0)
    assert list(rows_of(after.out)) == list(rows_of(before.out)) == ["east", "south", "west"]
    for name in ("east", "west"):
        assert rows_of(after.out)[name] == rows_of(before.out)[name]
    # of an infinite reading nothing but itself is left out
    spoilt_shown = rows_of(after.out)["south"]
    assert hostile == "infinite" or spoilt_shown != rows_of(before.out)["south"]


def rows_of(out: str) -> dict[str, str]:
    """Return the row of each system, of a table without the spaces that align it."""
    if out.startswith("["):
        return {each["system_id"]: json.dumps(each) for each in json.loads(out)}
    lines = out.split("\n\n")[0].splitlines()[2:]
    return {line.split()[0]: " ".join(line.split()) for line in lines}


def test_systems_of_which_none_can_be_inferred_are_all_unknown_and_one_alone_is_an_error(
    sunveil, three_roofs, write_long, tmp_path, place
):
    systems = {name: power.iloc[:48] for name, power in three_roofs.items()}
    said = sunveil("infer", write_long(tmp_path / "short.csv", systems), *place, "--json")
    assert said.code == 0
    assert ["error" in each for each in json.loads(said.out)] == [True] * 3
    # one reason of three systems is one line
    assert said.err.startswith("sunveil: skipped 3 systems, east, south, west: there are 22")
    path = write_long(tmp_path / "one.csv", {"a": systems["south"]})
    alone = sunveil("infer", path, *place, "--json")
    assert (alone.code, alone.out, alone.err.count("\n")) == (2, "", 1)


def test_stamps_that_nobody_can_use_are_an_error_whatever_the_readings(
    sunveil, three_systems, tmp_path, place
):
    naive = tmp_path / "naive.csv"
    naive.write_text(three_systems.read_text().replace("Z,", ","))
    said = sunveil("infer", naive, *place)
    assert (said.code, said.out) == (2, "")
    assert "none of 3 systems" in said.err
    assert "option `timezone`" in said.err


def test_months_of_all_meters_are_joined(sunveil, three_roofs, write_long, tmp_path, place):
    whole = sunveil("infer", write_long(tmp_path / "all.csv", three_roofs), *place, "--json")
    folder = tmp_path / "months"
    folder.mkdir()
    for month in range(3, 7):
        part = {name: power[power.index.month == month] for name, power in three_roofs.items()}
        write_long(folder / f"2019-{month:02}.csv", part)
    told = sunveil("infer", folder, *place, "--json")
    assert (told.code, told.out) == (whole.code, whole.out)


@pytest.mark.parametrize("broken", ["", "system_id,time,power\nsouth,2020-07-01T12:00Z,1\n"])
def test_a_broken_file_of_a_system_that_others_have_is_no_second_row(
    sunveil, three_roofs, write_long, tmp_path, place, broken
):
    for year, name in ((2019, "south"), (2020, "south"), (2020, "west"), (2021, "west")):
        (tmp_path / str(year)).mkdir(exist_ok=True)
        write_long(tmp_path / str(year) / f"{name}.csv", {name: three_roofs[name]})
    for year in (2020, 2021):
        for path in (tmp_path / str(year)).glob("*.csv"):
            path.write_text(broken.replace("south", path.stem))
    said = sunveil("infer", tmp_path, *place, "--json")
    told = json.loads(said.out)
    assert [(each["system_id"], "error" in each) for each in told] == [
        ("south", False),
        ("west", True),
    ]
    assert said.err.count("skipped west: ") == 1
    assert said.err.count("skipped south: ") == 1


def test_systems_of_different_years_share_one_command(
    sunveil, clear_power, three_roofs, write_long, weather_file, tmp_path, place
):
    systems = {"old": clear_power(start="2012-03-01"), "young": three_roofs["south"]}
    path = write_long(tmp_path / "years.csv", systems)
    told = json.loads(sunveil("infer", path, *place, "--json").out)
    assert ["error" in each for each in told] == [False, False]
    told = json.loads(sunveil("infer", path, *place, "--json", "--weather", weather_file(2019)).out)
    assert ["error" in each for each in told] == [True, False]
    assert "not a day in common" in told[0]["error"]


def span(start: str, end: str) -> tuple[pd.Timestamp, pd.Timestamp]:
    return pd.Timestamp(start, tz="UTC"), pd.Timestamp(end, tz="UTC")


def test_weather_of_one_site_is_loaded_once(golden_site, weather_file, tmp_path):
    path = tmp_path / "sky.csv"
    path.write_bytes(weather_file(2019).read_bytes())
    june, july = span("2019-06-01", "2019-07-02"), span("2019-07-01", "2019-08-01")
    weather = SiteWeather(str(path), golden_site, [june, july])
    assert weather.over(june).times[-1] < june[1]
    path.unlink()
    assert weather.over(july).times[0] >= july[0]


def test_weather_that_failed_is_not_asked_for_again(golden_site, weather_file, tmp_path):
    path = tmp_path / "sky.csv"
    june = span("2019-06-01", "2019-07-01")
    weather = SiteWeather(str(path), golden_site, [june])
    with pytest.raises(WeatherError):
        weather.over(june)
    path.write_bytes(weather_file(2019).read_bytes())
    with pytest.raises(WeatherError):
        weather.over(june)
