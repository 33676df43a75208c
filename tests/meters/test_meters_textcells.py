"""Whatever one reading's cell holds, all other readings are read the same."""

from __future__ import annotations

import csv
import io

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sunveil.meters import MeterOptions, Record, iter_systems
from sunveil.meters.file_types import cut, iter_blocks, read_text_table
from sunveil.meters.read_files import iter_raw_systems

ROWS = 3 * 24
SYSTEMS = ("a", "b")
COLUMNS = ("system_id", "time", "power_kw", "temperature")
POWER_FIRST = ("power_kw", "time", "system_id", "temperature")
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


def table(order: tuple[str, ...]) -> list[list[str]]:
    rows = [list(order)]
    for name in SYSTEMS:
        for row in range(ROWS):
            hour = np.datetime64("2016-07-01T00:00") + np.timedelta64(row, "h")
            power = max(0.0, np.sin((row % 24 - 6) * np.pi / 12)) * (1 + (name == "b"))
            cells = {
                "system_id": name,
                "time": f"{hour}Z",
                "power_kw": f"{power:.4f}",
                "temperature": "20",
            }
            rows.append([cells[each] for each in order])
    return rows


def written(rows: list[list[str]], separator: str, *, raw: bool) -> bytes:
    """Write rows properly quoted, or as whoever does not know how."""
    if raw:
        return "\n".join(separator.join(row) for row in rows).encode("utf-8", "surrogatepass")
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator="\n").writerows(rows)
    return text.getvalue().encode("utf-8", "surrogatepass")


def readings(path, content: bytes, separator: str, cleaning: str) -> dict[tuple[str, str], float]:
    """Return each reading by system and time, and refusals by their reasons."""
    path.write_bytes(content)
    decimal = "auto" if separator == "," else "."
    found: dict[tuple[str, str], float] = {}
    options = MeterOptions(label="start", cleaning=cleaning, decimal=decimal)
    for each in iter_systems(path, options):
        if isinstance(each, Record):
            times = zip(each.times, each.power_kw, strict=True)
            found |= {(each.system_id, str(time)): power for time, power in times}
        else:
            found[each.system_id, each.reason] = np.inf
    return found


@settings(max_examples=150, deadline=None)
@given(
    cell=HOSTILE,
    place=st.integers(1, 2 * ROWS),
    order=st.permutations(COLUMNS),
    separator=st.sampled_from(",;\t"),
    raw=st.booleans(),
)
@example(cell="1\n2016-07-01T03:00Z,5", place=1, order=COLUMNS, separator=",", raw=False)
@example(cell='"', place=1, order=POWER_FIRST, separator=",", raw=True)
@example(cell="1,5", place=1, order=POWER_FIRST, separator=",", raw=True)
@example(cell="W\n5", place=1, order=POWER_FIRST, separator=",", raw=False)
def test_one_cell_changes_its_own_reading_alone(
    tmp_path_factory, cell, place, order, separator, raw
):
    if "\r" in cell or (raw and "\n" in cell):
        return  # a raw line break makes another line: no reader could know
    path = tmp_path_factory.mktemp("cell") / "a.csv"
    rows = table(tuple(order))
    before = readings(path, written(rows, separator, raw=raw), separator, "each")
    assert len(before) == 2 * ROWS
    at = order.index("power_kw")
    name, time = (rows[place][order.index(each)] for each in ("system_id", "time"))
    rows[place][at] = cell
    after = readings(path, written(rows, separator, raw=raw), separator, "each")
    own = name, f"{time[:-1]}:00"
    before.pop(own)
    after.pop(own, None)
    if "\n" in cell and separator in cell:
        # it may hold a line as wide as any: that is one more line, though no other system's
        (other,) = {*SYSTEMS} - {name}
        before, after = (
            {key: power for key, power in found.items() if key[0] == other}
            for found in (before, after)
        )
    assert after == before


@pytest.mark.parametrize("cleaning", ["each", "record"])
def test_whatever_one_system_holds_another_is_read_the_same(tmp_path, cleaning):
    rows = table(COLUMNS)
    before = readings(tmp_path / "a.csv", written(rows, ",", raw=False), ",", cleaning)
    for cell in ("", "nan", "inf", "1e308", "text", "0", "5,5", "1.234,5", "3 W", '"', "0,5"):
        for row in rows[1 : ROWS + 1]:
            row[2] = cell
        after = readings(tmp_path / "a.csv", written(rows, ",", raw=False), ",", cleaning)
        others = [
            {key: each for key, each in found.items() if key[0] == "b"} for found in (before, after)
        ]
        assert others[0] == others[1]
        assert len(others[0]) == ROWS


def test_commas_of_one_system_are_no_thousands_of_another(tmp_path):
    rows = table(COLUMNS)
    for row in rows[ROWS + 1 :]:
        row[2] = "532" if row[2] == "0.0000" else "1.234"
    for decimal in ".,":
        for row in rows[1 : ROWS + 1]:
            row[2] = row[2].replace(".", decimal)
        (tmp_path / "a.csv").write_bytes(written(rows, ",", raw=False))
        found = {
            raw.system_id: raw for raw, _ in iter_raw_systems(tmp_path / "a.csv", MeterOptions())
        }
        assert set(found["b"].values) == {532.0, 1.234}
        assert found["a"].values.max() == 1.0


def test_a_long_first_reading_hides_no_row(tmp_path):
    lines = ["time,power_kw", *(f"2016-07-01T{hour:02d}:00Z,1" for hour in range(24))]
    before = readings(tmp_path / "a.csv", "\n".join(lines).encode(), ",", "each")
    lines[1] = lines[1][:-1] + "9" * 200_000
    after = readings(tmp_path / "a.csv", "\n".join(lines).encode(), ",", "each")
    first = "a", "2016-07-01T00:00:00"
    before.pop(first)
    after.pop(first, None)
    assert after == before


def test_quotes_are_cut_as_they_are_meant():
    assert cut('a,"b,c","d ""e"""', ",") == ["a", "b,c", 'd "e"']
    assert cut('a,"b,c', ",") == ["a", '"b', "c"]


def test_rows_stay_in_order_across_blocks(monkeypatch):
    monkeypatch.setattr("sunveil.meters.file_types._BLOCK", 64)
    data = b"n,v\n" + b"".join(b"%d,x\n" % each for each in range(500))
    blocks = list(iter_blocks(io.BytesIO(data), skip=1, separator=",", width=2))
    assert len(blocks) > 10
    numbers = [int(each) for block in blocks for each in block.column(0, width=2).to_pylist()]
    assert numbers == list(range(500))
    assert [int(row) for block in blocks for row in block.rows] == list(range(1, 501))


def test_a_torn_line_keeps_what_stands_around_its_reading():
    data = b"a,1,x\nb,1,2,3,y\nc,1\nd,1,z,,\n"
    (block,) = iter_blocks(io.BytesIO(data), skip=0, separator=",", width=3)
    assert block.column(0, width=3, private=(1, 1)).to_pylist() == ["a", "b", "c", "d"]
    assert block.column(1, width=3, private=(1, 1)).to_pylist() == ["1", None, "1", "1"]
    # separators at the end of a line may be the reading's own: the cell is counted from the end
    assert block.column(2, width=3, private=(1, 1)).to_pylist() == ["x", "y", None, ""]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_names_are_read_in_every_encoding(tmp_path, encoding):
    (tmp_path / "a.csv").write_bytes("Straße;kW\nGässchen;1\n".encode(encoding))
    table = read_text_table(tmp_path / "a.csv", where="a.csv")
    assert table["Straße"].to_pylist() == ["Gässchen"]


@pytest.mark.parametrize("order", [COLUMNS, POWER_FIRST])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("cleaning", ["each", "record"])
def test_an_odd_byte_in_utf_16_shifts_no_other_cell(tmp_path, order, encoding, cleaning):
    rows = table(order)
    for mark in ("", "\ufeff"):
        lines = [(mark * (not at) + ",".join(row)).encode(encoding) for at, row in enumerate(rows)]
        end = "\r\n".encode(encoding)
        before = readings(tmp_path / "a.csv", end.join(lines), ",", cleaning)
        power = rows[12][order.index("power_kw")].encode(encoding)
        for stray in (b"\x01", b"\x00", b"\x01\x02\x03"):
            spoilt = [*lines[:12], lines[12].replace(power, power + stray), *lines[13:]]
            after = readings(tmp_path / "a.csv", end.join(spoilt), ",", cleaning)
            lost = before.keys() - after.keys()
            assert len(lost) <= 1
            assert after == {key: each for key, each in before.items() if key not in lost}


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
