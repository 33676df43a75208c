"""No cell decides where a line or the header begins or ends, alone or together with others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sunveil.errors import MeterError
from sunveil.meters import MeterOptions, Record, iter_systems, read_meters

HOURS, SYSTEMS = 3 * 24, ("a", "b", "c")
STAMPS = [
    str(np.datetime64("2016-07-01T00:00") + np.timedelta64(hour, "h")) + "Z"
    for hour in range(HOURS)
]
POWER = [f"{max(0.0, np.sin((hour % 24 - 6) * np.pi / 12)):.4f}" for hour in range(HOURS)]
QUOTES = ('"', '"1', '1"', '"1"2', '""', '""1', "1,2", '1,"2', '"1,2', ',"', '",', '"1\n2"', "1")
LAYOUTS = (
    ("system_id", "time", "power_kw", "note"),
    ("time", "system_id", "power_kw", "note"),
    ("power_kw", "time", "system_id"),
    ("system_id", "power_kw", "time", "note"),
)


def fleet_lines(
    layout: tuple[str, ...] = LAYOUTS[0], cells: dict[tuple[str, int], str] | None = None
) -> list[str]:
    """Return three systems hour by hour, some of whose readings are other cells."""
    lines = [",".join(layout)]
    for hour in range(HOURS):
        for name in SYSTEMS:
            power = (cells or {}).get((name, hour), POWER[hour])
            row = {"system_id": name, "time": STAMPS[hour], "power_kw": power, "note": "20"}
            lines.append(",".join(row[column] for column in layout))
    return lines


def read(path: Path, lines: list[str], **options: object) -> dict[str, dict[str, float] | str]:
    """Return the readings of every system by their times, or why there are none."""
    path.write_text("\n".join([*lines, ""]))
    choices = MeterOptions(**{"label": "start", **options})
    return {
        found.system_id: dict(zip(found.times.astype(str), found.power_kw, strict=True))
        if isinstance(found, Record)
        else found.reason
        for found in iter_systems(path, choices)
    }


PLACES = st.tuples(st.sampled_from(SYSTEMS), st.integers(0, HOURS - 1))


@settings(max_examples=100)
@given(
    cells=st.dictionaries(PLACES, st.sampled_from(QUOTES), min_size=2, max_size=4),
    layout=st.sampled_from(LAYOUTS),
)
@example(cells={("a", 3): '"1', ("a", 9): '1"'}, layout=LAYOUTS[0])
@example(cells={("a", 3): '"1', ("b", 3): '1"'}, layout=LAYOUTS[1])
@example(cells={("a", 0): '"1\n2"', ("b", 0): '"1\n2"'}, layout=LAYOUTS[2])
def test_cells_of_a_release_change_their_own_readings_alone(tmp_path_factory, cells, layout):
    path = tmp_path_factory.mktemp("lines") / "meters.csv"
    before = read(path, fleet_lines(layout), cleaning="each")
    after = read(path, fleet_lines(layout, cells), cleaning="each")
    assert list(after) == list(SYSTEMS)
    for name in SYSTEMS:
        own = {f"{STAMPS[hour][:-1]}:00" for system, hour in cells if system == name}
        for time in before[name].keys() - own:
            assert after[name][time] == before[name][time]
        assert after[name].keys() <= before[name].keys()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_stray_quotes_of_one_system_take_no_line_of_another_along(tmp_path, layout):
    before = read(tmp_path / "meters.csv", fleet_lines(layout))
    for first, last in ((12, 13), (12, 18), (35, 36)):
        cells = {("b", first): '"1', ("b", last): '1"'}
        after = read(tmp_path / "meters.csv", fleet_lines(layout, cells))
        assert list(after) == list(SYSTEMS)
        assert (after["a"], after["c"]) == (before["a"], before["c"])
        assert len(after["b"]) >= HOURS - 2


def test_two_stray_quotes_hide_no_row_of_a_record_of_one_system(tmp_path):
    lines = fleet_lines(("time", "power_kw"))[:: len(SYSTEMS)]
    lines[0] = "time,power_kw"
    for cleaning in ("each", "record"):
        spoilt = list(lines)
        spoilt[10], spoilt[30] = f'{STAMPS[9]},"1', f'{STAMPS[29]},1"'
        found = read(tmp_path / "home.csv", spoilt, cleaning=cleaning)
        assert len(found["home"]) >= len(lines) - 3


@pytest.mark.parametrize("size", [64, 200, 1 << 24])
def test_where_a_file_is_cut_into_blocks_decides_nothing(tmp_path, monkeypatch, size):
    cells = {("a", 5): '"1\n2"', ("b", 7): '"1', ("c", 9): '1"', ("a", 30): '"x\ny\nz"'}
    whole = read(tmp_path / "meters.csv", fleet_lines(LAYOUTS[0], cells))
    monkeypatch.setattr("sunveil.meters.file_types._BLOCK", size)
    assert read(tmp_path / "meters.csv", fleet_lines(LAYOUTS[0], cells)) == whole


@pytest.mark.parametrize("cleaning", ["each", "record"])
@pytest.mark.parametrize(
    "cell",
    [
        '"see\ntime,note\nbelow"',
        '"x\ntimestamp,system_id,power_w\nz"',
        '"x\npower_w;time;system_id;note\nz"',
        '"kWh,kWh,kWh,kWh\n1"',
        '"W\n1"',
    ],
)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_line_break_in_quotes_moves_no_header(tmp_path, cell, layout, cleaning):
    for hour in (0, 1, 20):
        before = read(tmp_path / "meters.csv", fleet_lines(layout), cleaning=cleaning)
        spoilt = fleet_lines(layout, {("b", hour): cell})
        after = read(tmp_path / "meters.csv", spoilt, cleaning=cleaning)
        assert (after["a"], after["c"]) == (before["a"], before["c"])
        if cleaning == "record" and isinstance(after["b"], str):
            continue  # more than one in a hundred of its lines is torn
        others = {time: power for time, power in after["b"].items() if time in before["b"]}
        assert len(others) >= HOURS - 1
        assert sum(before["b"][time] != power for time, power in others.items()) <= 1


@pytest.mark.parametrize("cleaning", ["each", "record"])
@pytest.mark.parametrize(
    "above",
    [
        ['"Notes:', "time,power_w", 'end of notes"', ""],
        ['"Notes:', "system_id,time,power_w,note", 'end of notes"', ""],
        ["Interval,15 min", "Exported,2016-08-01 10:00", ""],
        ["Period;Hourly", ""],
        ['A 5" pipe, see below', ""],
        ["From,2016-07-01", "To,2016-07-03", ""],
    ],
)
def test_what_stands_above_a_header_is_none(tmp_path, above, cleaning):
    before = read(tmp_path / "meters.csv", fleet_lines(), cleaning=cleaning)
    assert read(tmp_path / "meters.csv", [*above, *fleet_lines()], cleaning=cleaning) == before


@pytest.mark.parametrize("skip", [1, 2])
def test_a_release_under_a_schema_takes_the_line_that_it_names(tmp_path, skip):
    titles = ["system_id,time,power_w,note"] * skip
    before = read(tmp_path / "meters.csv", fleet_lines(), cleaning="each")
    declared = {"cleaning": "each", "skip_rows": skip}
    cell = {("b", 0): '"x\nsystem_id,time,power_w,note\nz"'}
    for lines in (fleet_lines(), fleet_lines(LAYOUTS[0], cell)):
        after = read(tmp_path / "meters.csv", [*titles, *lines], **declared)
        assert (after["a"], after["c"]) == (before["a"], before["c"])


def test_no_reading_becomes_a_system_or_part_of_a_message(tmp_path):
    made = tmp_path / "meters"
    made.mkdir()
    for name in SYSTEMS:
        rows = [f"{time},{power},20" for time, power in zip(STAMPS, POWER, strict=True)]
        if name == "b":
            rows[0] = f'{STAMPS[0]},"x\ntime,system_id,note\n4321.5",20'
        lines = ["time,power_kw,note", *rows, ""]
        (made / f"{name}.csv").write_text("\n".join(lines))
    for cleaning in ("each", "record"):
        refused = []
        found = read_meters(made, label="start", cleaning=cleaning, refused=refused)
        assert [record.system_id for record in found] == list(SYSTEMS)
        assert not refused


def test_without_a_header_no_reading_says_how_many_columns_there_are(tmp_path):
    numbered = {"system_column": "1", "time_column": "2", "power_column": "3", "power_unit": "kW"}
    found = []
    for cells in ({("b", 9): "1,2"}, {("a", 0): "1,2", ("b", 9): "1,2"}):
        lines = fleet_lines(cells=cells)[1:]
        found.append(read(tmp_path / "meters.csv", lines, cleaning="each", **numbered))
    before, after = found
    assert (after["b"], after["c"]) == (before["b"], before["c"])
    assert after["a"].keys() == before["a"].keys()


def test_a_release_without_a_header_needs_its_columns_by_number(tmp_path):
    rows = [f"{time},{power}" for time, power in zip(STAMPS, POWER, strict=True)]
    path = tmp_path / "home.csv"
    for first in (rows[0], f"{rows[0]},5"):
        path.write_text("\n".join([first, *rows[1:], ""]))
        with pytest.raises(MeterError, match="has no header: name its columns"):
            read_meters(path, time_column="1", power_unit="kW", cleaning="each")
        (record,) = read_meters(
            path, time_column="1", power_column="2", power_unit="kW", cleaning="each", label="start"
        )
        assert len(record.times) == HOURS


@pytest.mark.parametrize("cleaning", ["each", "record"])
def test_the_first_reading_of_a_record_moves_no_header(tmp_path, cleaning):
    rows = [f"{power},{time}" for time, power in zip(STAMPS, POWER, strict=True)]
    before = read(tmp_path / "home.csv", ["power_kw,time", *rows], cleaning=cleaning)["home"]
    for cell in ('"x\npower_w,time\n1"', "x\npower_w,time\n1"):
        spoilt = ["power_kw,time", *f"{cell},{STAMPS[0]}".split("\n"), *rows[1:]]
        after = read(tmp_path / "home.csv", spoilt, cleaning=cleaning)["home"]
        changed = [time for time, power in before.items() if after.get(time) != power]
        assert len(changed) <= 1


def test_quotes_in_two_cells_of_a_line_take_no_stamp_between_them_along(tmp_path):
    path, spans = tmp_path / "meters.csv", []
    lines = fleet_lines(LAYOUTS[3])
    for first in (lines[2], f'b,"1,{STAMPS[0]},1"'):
        path.write_text("\n".join([*lines[:2], first, *lines[3:], ""]))
        found = iter_systems(path, MeterOptions(label="start", cleaning="each"))
        spans.append({each.system_id: each.extent for each in found})
    assert spans[0] == spans[1]
