from __future__ import annotations

import json
import re
import stat

import click
import pandas as pd

from sunveil.cli._text import tinted


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
    assert any("a gap of 30 days" in doubt for doubt in found["gap"]["doubts"])
    assert any("only 20 days" in doubt for doubt in found["short"]["doubts"])
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
