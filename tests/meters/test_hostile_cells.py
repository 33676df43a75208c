"""Whatever cells hold, they change no other reading, no line's ends and no header."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sunveil.errors import MeterError
from sunveil.meters import MeterOptions, Record, iter_systems, read_meters
from sunveil.meters.file_types import cut, read_text_table
from sunveil.meters.read_files import iter_raw_systems

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


def fleet(
    layout: tuple[str, ...] = LAYOUTS[0], cells: dict[tuple[str, int], str] | None = None
) -> list[list[str]]:
    """Return three systems hour by hour, some of whose readings are other cells."""
    rows = [list(layout)]
    for hour in range(HOURS):
        for name in SYSTEMS:
            power = (cells or {}).get((name, hour), POWER[hour])
            row = {"system_id": name, "time": STAMPS[hour], "power_kw": power, "note": "20"}
            rows.append([row[column] for column in layout])
    return rows


def fleet_lines(*layout: object, cells: dict[tuple[str, int], str] | None = None) -> list[str]:
    return [",".join(row) for row in fleet(*layout, cells=cells)]


def written(rows: list[list[str]], separator: str = ",", *, raw: bool = False) -> bytes:
    """Write rows properly quoted, or as whoever does not know how."""
    if raw:
        return "\n".join(separator.join(row) for row in rows).encode("utf-8", "surrogatepass")
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator="\n").writerows(rows)
    return text.getvalue().encode("utf-8", "surrogatepass")


def read(
    path: Path, content: list[str] | bytes, **options: object
) -> dict[str, dict[str, float] | str]:
    """Return the readings of every system by their times, or why there are none."""
    if isinstance(content, list):
        content = "\n".join([*content, ""]).encode()
    path.write_bytes(content)
    choices = MeterOptions(**{"label": "start", **options})
    return {
        found.system_id: dict(zip(found.times.astype(str), found.power_kw, strict=True))
        if isinstance(found, Record)
        else found.reason
        for found in iter_systems(path, choices)
    }


POWER_FIRST = ("power_kw", "time", "system_id", "note")
SYSTEM_FIRST = ("system_id", "power_kw", "time", "note")
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
    after = read(path, fleet_lines(layout, cells=cells), cleaning="each")
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
        after = read(tmp_path / "meters.csv", fleet_lines(layout, cells=cells))
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
    whole = read(tmp_path / "meters.csv", fleet_lines(LAYOUTS[0], cells=cells))
    monkeypatch.setattr("sunveil.meters.file_types._BLOCK", size)
    assert read(tmp_path / "meters.csv", fleet_lines(LAYOUTS[0], cells=cells)) == whole


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
        spoilt = fleet_lines(layout, cells={("b", hour): cell})
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
    for lines in (fleet_lines(), fleet_lines(LAYOUTS[0], cells=cell)):
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


HOSTILE = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        [
            *("", '"', '""', "nan", "inf", "-1e308", "1e-30", "1,5", "1;5", "5\n", "5\r\n6"),
            *("a\nb", "\x00", "2016-07-01 05:00", "time", "W", "kWh", "5 kW", "x" * 3000),
            *("1\n2016-07-01T03:00Z,5", 'a,2016-07-01T03:00Z,7,20"\n"', "\ufeff", "sep=;"),
        ]
    ),
)


@settings(max_examples=150, deadline=None)
@given(
    cell=HOSTILE,
    place=st.integers(1, 3 * HOURS),
    order=st.permutations(LAYOUTS[0]),
    separator=st.sampled_from(",;\t"),
    raw=st.booleans(),
)
@example(cell="1\n2016-07-01T03:00Z,5", place=1, order=LAYOUTS[0], separator=",", raw=False)
@example(cell="1\n2016-07-01T03:00Z,5", place=1, order=SYSTEM_FIRST, separator=",", raw=False)
@example(cell='"', place=1, order=POWER_FIRST, separator=",", raw=True)
@example(cell="1,5", place=1, order=POWER_FIRST, separator=",", raw=True)
@example(cell="W\n5", place=1, order=POWER_FIRST, separator=",", raw=False)
def test_one_cell_changes_its_own_reading_alone(
    tmp_path_factory, cell, place, order, separator, raw
):
    if "\r" in cell or (raw and "\n" in cell):
        return  # a raw line break makes another line: no reader could know
    path = tmp_path_factory.mktemp("cell") / "a.csv"
    options = {"cleaning": "each", "decimal": "auto" if separator == "," else "."}
    rows = fleet(tuple(order))
    before = read(path, written(rows, separator, raw=raw), **options)
    assert sum(map(len, before.values())) == 3 * HOURS
    name, time = (rows[place][order.index(each)] for each in ("system_id", "time"))
    rows[place][order.index("power_kw")] = cell
    after = read(path, written(rows, separator, raw=raw), **options)
    for found in (before, after):
        if "\n" in cell and separator in cell:
            # it may hold a line as wide as any: one more, of its system or of none of the others
            found.pop(name)
            found.pop(cell.split("\n")[-1].split(separator)[0], None)
        else:
            found[name].pop(f"{time[:-1]}:00", None)
    assert after == before


@pytest.mark.parametrize("cleaning", ["each", "record"])
def test_whatever_one_system_holds_another_is_read_the_same(tmp_path, cleaning):
    before = read(tmp_path / "a.csv", written(fleet()), cleaning=cleaning)
    for cell in ("", "nan", "inf", "1e308", "text", "0", "5,5", "1.234,5", "3 W", '"', "0,5"):
        rows = written(fleet(LAYOUTS[0], {("a", hour): cell for hour in range(HOURS)}))
        after = read(tmp_path / "a.csv", rows, cleaning=cleaning)
        assert (after["b"], after["c"]) == (before["b"], before["c"])


def test_commas_of_one_system_are_no_thousands_of_another(tmp_path):
    of_b = {("b", hour): "532" if POWER[hour] == "0.0000" else "1.234" for hour in range(HOURS)}
    for decimal in ".,":
        of_a = {("a", hour): POWER[hour].replace(".", decimal) for hour in range(HOURS)}
        (tmp_path / "a.csv").write_bytes(written(fleet(LAYOUTS[0], of_a | of_b)))
        found = {
            raw.system_id: raw for raw, _ in iter_raw_systems(tmp_path / "a.csv", MeterOptions())
        }
        assert set(found["b"].values) == {532.0, 1.234}
        assert found["a"].values.max() == 1.0


def test_a_long_first_reading_hides_no_row(tmp_path):
    lines = ["time,power_kw", *(f"2016-07-01T{hour:02d}:00Z,1" for hour in range(24))]
    before = read(tmp_path / "a.csv", lines, cleaning="each")["a"]
    lines[1] = lines[1][:-1] + "9" * 200_000
    after = read(tmp_path / "a.csv", lines, cleaning="each")["a"]
    for found in (before, after):
        found.pop("2016-07-01T00:00:00", None)
    assert after == before


def test_quotes_are_cut_as_they_are_meant():
    assert cut('a,"b,c","d ""e"""', ",") == ["a", "b,c", 'd "e"']
    assert cut('a,"b,c', ",") == ["a", '"b', "c"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_names_are_read_in_every_encoding(tmp_path, encoding):
    (tmp_path / "a.csv").write_bytes("Straße;kW\nGässchen;1\n".encode(encoding))
    table = read_text_table(tmp_path / "a.csv", where="a.csv")
    assert table["Straße"].to_pylist() == ["Gässchen"]


@pytest.mark.parametrize("layout", LAYOUTS[::2])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("cleaning", ["each", "record"])
def test_an_odd_byte_in_utf_16_shifts_no_other_cell(tmp_path, layout, encoding, cleaning):
    row = fleet(layout)[34]
    power, end = row[layout.index("power_kw")].encode(encoding), "\r\n".encode(encoding)
    for mark in ("", "\ufeff"):
        lines = [line.encode(encoding) for line in fleet_lines(layout)]
        lines[0] = mark.encode(encoding) + lines[0]
        before = read(tmp_path / "a.csv", end.join(lines), cleaning=cleaning)
        for stray in (b"\x01", b"\x00", b"\x01\x02\x03"):
            spoilt = [*lines[:34], lines[34].replace(power, power + stray), *lines[35:]]
            after = read(tmp_path / "a.csv", end.join(spoilt), cleaning=cleaning)
            lost = before["a"].keys() - after["a"].keys()
            assert len(lost) <= 1
            before_a = {time: each for time, each in before["a"].items() if time not in lost}
            assert after == {**before, "a": before_a}


def test_stray_bytes_change_no_other_cell(tmp_path):
    (tmp_path / "a.csv").write_bytes("ä,b\nö,1\n".encode() + b"\xff\xe4,\xc3\n" + "ü,2\n".encode())
    table = read_text_table(tmp_path / "a.csv", where="a.csv")
    assert table["ä"].to_pylist() == ["ö", "ÿä", "ü"]
    assert table["b"].to_pylist() == ["1", "Ã", "2"]


def test_a_plain_table_gives_nulls_for_empty_cells(tmp_path):
    (tmp_path / "a.csv").write_text('n,v\na,\n\n"b","1,5"\nc,1\n2\n')
    table = read_text_table(tmp_path / "a.csv", where="a.csv")
    assert table["n"].to_pylist() == ["a", "b", "c"]
    assert table["v"].to_pylist() == [None, "1,5", "1"]
    assert table["v"].type == pa.string()


def test_a_separator_in_a_private_cell_leaves_the_public_ones(tmp_path):
    (tmp_path / "a.csv").write_text("id,tilt,kw,feeder\na,1,5,F1\nb,1,2,3,5,F2\nc,2,6,F1\n")
    table = read_text_table(tmp_path / "a.csv", where="a.csv", private=("tilt", "kw"))
    assert table["id"].to_pylist() == ["a", "b", "c"]
    assert table["feeder"].to_pylist() == ["F1", "F2", "F1"]
    assert table["kw"].to_pylist() == ["5", None, "6"]
