"""Whatever stands in one system's part of a file, the others are read the same.

The spoilt system is "b", of three; what becomes of it is its own affair, but it never stops the
reader. Files are written as bytes, by hand where a writer of the format would refuse the cell.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from formats import feeds
from formats.tables import zip_of
from meter_makers import refusal, sunny, write_table

from audit.datasets import PrivateCells, Raw
from audit.formats import JSON_KINDS, WORKBOOK_KINDS, ZIP_KINDS, workbook, zipped_folder
from sunveil.meters import MeterOptions, Record, iter_systems
from sunveil.meters.dataframes import systems_of_frame

HOMES = {name: sunny(3, minutes=60, seed=seed) for seed, name in enumerate("abc")}
CLEANINGS = pytest.mark.parametrize("cleaning", ["each", "record"])
# the first of b's rows, and a bright one
SPOTS = (0, 12)
DEEP = 20_000


def told(systems) -> dict[str, object]:
    """Return what a reader says of each system."""
    found = {}
    for each in systems:
        assert each.system_id not in found
        if isinstance(each, Record):
            readings = each.times.tolist(), each.power_kw.tolist()
            found[each.system_id] = *readings, each.notes, each.unit, each.extent, each.label
        else:
            found[each.system_id] = each.reason
    return found


def read(path, cleaning, **options) -> dict[str, object]:
    return told(iter_systems(path, MeterOptions(timezone="UTC", cleaning=cleaning, **options)))


def assert_alone(quiet, spoilt, *, kept: bool = True) -> None:
    """Fail unless the other systems are the same, and b is still there if it is to be kept."""
    # rows that name no system are refused as ""
    assert set(spoilt) <= {*quiet, ""}
    for name in "ac":
        assert isinstance(quiet[name], tuple)
        np.testing.assert_equal(spoilt[name], quiet[name])
    if kept:
        assert isinstance(spoilt["b"], tuple)
        assert spoilt["b"][4][0] == quiet["b"][4][0]


def assert_each_alone(cases, spoilt, quiet, *, kept=lambda kind: False) -> None:
    """Fail with the cases in which other systems are not read the same, and how."""
    wrong = {}
    for kind, case in cases.items():
        try:
            assert_alone(quiet, spoilt(case), kept=kept(kind))
        except Exception as error:  # whatever it is, it has stopped the reader
            wrong[kind] = repr(error)[:300]
    assert wrong == {}


def homes_with(spoilt: bytes | None = None, *, spots=SPOTS) -> PrivateCells:
    """Return the homes as the audit writes them, with other cells of b's."""
    cells = {name: tuple(f"{kw}".encode() for kw in power) for name, power in HOMES.items()}
    stamps = tuple(f"{stamp:%Y-%m-%d %H:%M}" for stamp in HOMES["a"].index)
    homes = PrivateCells(cells, stamps)
    return homes if spoilt is None else homes.replaced("b", spots, [Raw(spoilt)] * len(spots))


def homes_csv(path: Path, head: str, lines) -> Path:
    """Write lines for each reading: lines of a home, a number, a stamp and a value."""
    rows = [
        line
        for name, power in HOMES.items()
        for number, (stamp, value) in enumerate(power.items())
        for line in lines(name, number, f"{stamp:%Y-%m-%d %H:%M}", value)
    ]
    path.write_text("\n".join([head, *rows, ""]))
    return path


# JSON


def rows_of_homes() -> list[dict[str, object]]:
    return [
        {"system_id": name, "time": f"{stamp:%Y-%m-%dT%H:%MZ}", "power_kw": value}
        for name, power in HOMES.items()
        for stamp, value in power.items()
    ]


def json_file(path, layout: str, change=None):
    """Write a list of objects of which one of b's is changed, as bytes."""
    objects = [json.dumps(each).encode() for each in rows_of_homes()]
    for spot in SPOTS if change else ():
        at = len(HOMES["a"]) + spot
        objects[at] = change(objects[at])
    text = {
        "list": b"[" + b",".join(objects) + b"]",
        "pretty": b"[\n  " + b",\n  ".join(objects) + b"\n]\n",
        "wrapped": b'{"status":"ok","data":[' + b", ".join(objects) + b'],"unit":"W"}',
        "lines": b"\n".join(objects) + b"\n",
    }[layout]
    path.write_bytes(text)
    return path


def cell(value: bytes):
    return lambda row: row[: row.index(b'"power_kw"')] + b'"power_kw": ' + value + b"}"


def with_key(key: bytes, value: bytes = b'"W"'):
    return lambda row: row[:-1] + b", " + key + b": " + value + b"}"


JSON_CELLS = {
    **{kind: cell(cells[0][1]) for kind, cells in JSON_KINDS.items()},
    "a bare byte that is not UTF-8": cell(b"\xff"),
    "line breaks": cell(b'"1\n2\r3"'),
    "other line breaks": cell('"1\u20282\x853\x0b"'.encode()),
    "deep objects": cell(b'{"a":' * DEEP + b"1" + b"}" * DEEP),
    "deep nesting without an end": cell(b"[" * DEEP),
    "half a surrogate in a key": with_key(b'"\\ud800"'),
    "infinity": cell(b"-Infinity"),
    "too large": cell(b"1e999"),
    "a stray quote": cell(b'1"'),
    "quotes in quotes": cell(b'"a"b"c"'),
    "a bracket": cell(b"[1"),
    "brackets": cell(b"[{<&"),
    "closing brackets": cell(b"1]}"),
    "a true": cell(b"true"),
    "a list of objects": cell(b"[" + b", ".join([b'{"time": "2016-07-01", "W": 1}'] * 500) + b"]"),
    "nothing": cell(b""),
    "no key": lambda row: row[: row.index(b', "power_kw"')] + b"}",
    "a date": with_key(b'"date"', b'"2001-01-01"'),
    "another time": with_key(b'"timestamp"', b"5"),
    "a kind": with_key(b'"type"', b'"consumption"'),
    "what it exports": with_key(b'"export_kwh"', b"1"),
    "what it exports and imports": with_key(b'"export_kwh": 1, "import_kwh"', b"1"),
    "another system": with_key(b'"meter_id"', b'"a"'),
}
# what makes an object another reading than the system's others, or another time
OTHER_READINGS = {"a date", "a kind", "what it exports", "what it exports and imports"}
JSON_OBJECTS = {
    "a number": lambda row: b"17",
    "null": lambda row: b"null",
    "a list": lambda row: b'["b", 1]',
    "an empty object": lambda row: b"{}",
    "other keys": lambda row: b'{"x": 1, "y": 2}',
    "half of it": lambda row: row[: len(row) // 2],
    "no stamp": lambda row: row.replace(b'"time"', b'"tame"'),
    "no system": lambda row: row.replace(b'"system_id"', b'"x"'),
    "a null system": lambda row: row.replace(b'"b"', b"null"),
    "objects within, damaged": lambda row: row[:-1] + b', "d": [{"time": 1, "W": 1}, {"time": "',
    "nothing at all": lambda row: b"",
}


@CLEANINGS
@pytest.mark.parametrize("layout", ["list", "pretty", "wrapped", "lines"])
def test_an_object_of_a_list_stands_alone(layout, cleaning, tmp_path):
    quiet = read(json_file(tmp_path / "homes.json", layout), cleaning)
    assert_each_alone(
        {**JSON_CELLS, **JSON_OBJECTS},
        lambda change: read(json_file(tmp_path / "homes.json", layout, change), cleaning),
        quiet,
        kept=lambda kind: cleaning == "each" and kind not in {*JSON_OBJECTS, *OTHER_READINGS},
    )


@pytest.mark.parametrize("layout", ["list", "wrapped", "lines"])
def test_every_other_key_of_every_object_of_a_system_is_its_own(layout, tmp_path):
    """Whatever a system calls its readings, also where it has more of them than all others."""
    objects = rows_of_homes()
    quiet = read(json_file(tmp_path / "homes.json", layout), "each")
    for keys in ({"power_kw": "production_w"}, {"power_kw": "x", "time": "y"}, {"time": "z"}):
        renamed = [
            {keys.get(key, key): value for key, value in each.items()}
            if each["system_id"] == "b"
            else each
            for each in objects
        ]
        more = [*renamed, *[each for each in renamed if each["system_id"] == "b"] * 3]
        texts = [json.dumps(each).encode() for each in more]
        path = tmp_path / "homes.json"
        path.write_bytes(
            b"\n".join(texts) if layout == "lines" else b'{"d":[' + b",".join(texts) + b"]}"
        )
        if layout == "wrapped":
            quiet = read(json_file(tmp_path / "quiet.json", "list"), "each")
        assert_alone(quiet, read(path, "each"), kept=False)


def test_one_object_that_names_a_system_names_none_of_the_others(tmp_path):
    objects = [{key: each[key] for key in ("time", "power_kw")} for each in rows_of_homes()][:72]
    path = tmp_path / "home.json"
    path.write_text(json.dumps(objects))
    (whole,) = read(path, "each").values()
    objects[12] |= {"meter_id": "x"}
    path.write_text(json.dumps(objects))
    found = read(path, "each")["home"]
    assert found[0] == [time for at, time in enumerate(whole[0]) if at != 12]


@CLEANINGS
@pytest.mark.parametrize(
    "value",
    [b"9" * 5000, b'"\xff"', b'"\x01"', b'"\\ud800"', b"[" * DEEP + b"]" * DEEP, b'{"a": [1]}'],
)
def test_a_cell_of_lists_by_column_stands_alone(value, cleaning, tmp_path):
    columns = {name: [str(each[name]) for each in rows_of_homes()] for name in rows_of_homes()[0]}
    path = tmp_path / "homes.json"
    path.write_text(json.dumps(columns))
    quiet = read(path, cleaning)
    columns["power_kw"][len(HOMES["a"])] = "SPOILT"
    path.write_bytes(json.dumps(columns).encode().replace(b'"SPOILT"', value))
    assert_alone(quiet, read(path, cleaning), kept=cleaning == "each")


# workbooks


def text_cell(text: str) -> str:
    return f'<c t="inlineStr"><is><t>{text}</t></is></c>'


WORKBOOK_CELLS = {
    **{kind: cells[0][1].decode() for kind, cells in WORKBOOK_KINDS.items()},
    "a text in place of a number": "<c><v>n/a</v></c>",
    "a string without a number": '<c t="s"><v>x</v></c>',
    "a boolean": '<c t="b"><v>1</v></c>',
    "a boolean that is none": '<c t="b"><v>yes</v></c>',
    "a formula without its value": "<c><f>1+1</f></c>",
    "a date": '<c t="d"><v>2019-06-01T00:00:00</v></c>',
    "a date that is none": '<c t="d"><v>2019-99-99</v></c>',
    "a style that is none": '<c s="x"><v>1</v></c>',
    "another type": '<c t="quantum"><v>1</v></c>',
    "more than one value": "<c><v>1</v><v>2</v></c>",
    "no value": "<c/>",
    "not a cell": "<x/>",
    "the word for times": text_cell("time"),
    "a stamp": text_cell("2019-06-01 12:00"),
}


@CLEANINGS
def test_a_cell_of_a_workbook_stands_alone(cleaning, tmp_path):
    assert_each_alone(
        WORKBOOK_CELLS,
        lambda cell: read(workbook(tmp_path, homes_with(cell.encode())), cleaning),
        read(workbook(tmp_path, homes_with()), cleaning),
        kept=lambda kind: cleaning == "each",
    )


def test_a_damaged_sheet_costs_no_other_sheet(tmp_path):
    path = tmp_path / "homes.xlsx"
    with pd.ExcelWriter(path) as book:
        pd.DataFrame({"notes": []}).to_excel(book, sheet_name="first", index=False)
        pd.DataFrame(columns_of_homes()).to_excel(book, sheet_name="second", index=False)
    quiet = read(path, "each")
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    first = "xl/worksheets/sheet1.xml"
    whole = parts[first]
    parts[first] = whole.replace(b"<sheetData>", b"<sheetData><row><c><v>1</row>")
    assert parts[first] != whole
    path.write_bytes(zip_of(parts))
    assert len(quiet) == len(HOMES)
    assert read(path, "each") == quiet


# archives


def csv_of(power: pd.Series) -> bytes:
    lines = [f"{stamp:%Y-%m-%d %H:%M},{value}" for stamp, value in power.items()]
    return "\n".join(["time,power_kw", *lines, ""]).encode()


def spoilt_archives(folder: Path) -> dict[str, bytes]:
    """Return archives of three homes in which the member of b cannot be read."""
    files = {f"{name}.csv": csv_of(power) for name, power in HOMES.items()}
    whole = zip_of(files)
    data = whole.index(b"b.csv") + len("b.csv") + 50
    damaged = bytes(255 - each for each in whole[data : data + 20])
    members = {
        "a cut archive": whole[: len(whole) // 2],
        "no table": b"\x00\x01\x02" * 50,
        "nothing": b"",
        "a cut workbook": zip_of({"xl/workbook.xml": b"<"}),
        "JSON that is none": b"[" * DEEP,
        "JSON of another unit": (
            b'{"unit":"furlong","data":[{"time":"2016-07-01T00:00Z","v":1},{}]}'
        ),
        "JSON of another clock": b'{"timezone":"Mars","data":'
        + json.dumps([{"time": "2016-07-01 00:00", "kw": 1}] * 3).encode()
        + b"}",
        "SolarEdge that is none": (b'{"energy":{"timeUnit":"HOUR","values":[1,{"date":2},"x"]}}'),
        "a feed that is none": b"<feed><entry></feed>",
    }
    cut = {**files, "b.csv.gz": b"\x1f\x8b\x08\x00cut"}
    cut.pop("b.csv")
    return {
        **{
            kind: zipped_folder(folder, homes_with(cells[0][1], spots=[0])).read_bytes()
            for kind, cells in ZIP_KINDS.items()
        },
        "damaged data": whole[:data] + damaged + whole[data + 20 :],
        "a cut gzip": zip_of(cut),
        **{kind: zip_of({**files, "b.csv": data}) for kind, data in members.items()},
    }


@pytest.fixture
def homes_zip(tmp_path):
    (tmp_path / "made").mkdir()
    path = tmp_path / "homes.zip"
    path.write_bytes(zip_of({f"{name}.csv": csv_of(power) for name, power in HOMES.items()}))
    return path


@CLEANINGS
def test_a_member_of_an_archive_stands_alone(cleaning, homes_zip):
    quiet = read(homes_zip, cleaning)

    def spoilt(data: bytes) -> dict[str, object]:
        homes_zip.write_bytes(data)
        return read(homes_zip, cleaning)

    assert_each_alone(spoilt_archives(homes_zip.parent / "made"), spoilt, quiet)


@CLEANINGS
def test_an_archive_whose_first_member_has_a_damaged_head_keeps_the_others(cleaning, homes_zip):
    quiet = read(homes_zip, cleaning)
    homes_zip.write_bytes(b"\x00\x01\x02\x03" + homes_zip.read_bytes()[4:])
    found = read(homes_zip, cleaning)
    assert [found["b"], found["c"]] == [quiet["b"], quiet["c"]]


@pytest.mark.parametrize("keep", [0.5, 0.99])
def test_an_archive_without_its_directory_is_refused_in_a_sentence(keep, homes_zip):
    data = homes_zip.read_bytes()
    homes_zip.write_bytes(data[: int(keep * len(data))])
    assert "damaged" in refusal(homes_zip)


@CLEANINGS
def test_two_members_of_one_name_are_both_read(cleaning, tmp_path):
    """The second does not stand in for the first."""
    half = len(HOMES["b"]) // 2
    parts = [csv_of(HOMES["b"].iloc[:half]), csv_of(HOMES["b"].iloc[half:])]
    path = tmp_path / "homes.zip"
    data = zip_of({"b.csv": parts[0], "c.csv": parts[1]})
    path.write_bytes(data.replace(b"c.csv", b"b.csv"))
    whole = tmp_path / "b.csv"
    whole.write_bytes(csv_of(HOMES["b"]))
    assert read(path, cleaning)["b"][:2] == read(whole, cleaning)["b"][:2]


# Parquet, Feather and frames


STAMPS = HOMES["a"].index.tz_localize(None)
NAMES = [name for name in HOMES for _ in STAMPS]
FIRST_OF_B = len(STAMPS)


def columns_of_homes() -> dict[str, list[object]]:
    values = [float(value) for power in HOMES.values() for value in power]
    return {"system_id": NAMES, "time": [*STAMPS] * len(HOMES), "power_kw": values}


def arrow_table(change=None, kind: pa.DataType | None = None, times=None) -> pa.Table:
    columns = columns_of_homes()
    values = columns["power_kw"]
    if kind is not None and not pa.types.is_floating(kind):
        make = (lambda each: int(1e3 * each)) if pa.types.is_integer(kind) else str
        values = [make(value) for value in values]
    if change is not None:
        for spot in SPOTS:
            values[FIRST_OF_B + spot] = change
    column = "power_w" if kind is not None and pa.types.is_integer(kind) else "power_kw"
    arrow = times or pa.array(columns["time"], pa.timestamp("us", "UTC"))
    return pa.table({"system_id": NAMES, "time": arrow, column: pa.array(values, kind)})


NUMBERS = {
    "a whole number beyond doubles": (2**53 + 1, pa.int64()),
    "the largest of 64 bits": (2**63 - 1, pa.int64()),
    "the largest without a sign": (2**64 - 1, pa.uint64()),
    "the smallest": (-(2**63), pa.int64()),
    "no number": (float("nan"), pa.float64()),
    "infinity": (float("inf"), pa.float32()),
    "a text": ("n/a", pa.string()),
    "a long number": ("9" * 5000, pa.string()),
    "NUL": ("\x00", pa.string()),
    "a date": ("2019-06-01", pa.large_string()),
}


@CLEANINGS
@pytest.mark.parametrize("write", [pq.write_table, feather.write_feather])
def test_a_cell_of_a_table_with_types_stands_alone(write, cleaning, tmp_path):
    path = tmp_path / "homes.arrow"
    for value, kind in NUMBERS.values():
        write(arrow_table(kind=kind), path)
        quiet = read(path, cleaning)
        write(arrow_table(value, kind), path)
        assert_alone(quiet, read(path, cleaning), kept=cleaning == "each")


def times_of(kind: pa.DataType, change: int) -> pa.Array:
    seconds = [int(each.timestamp()) for each in columns_of_homes()["time"]]
    scale = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[getattr(kind, "unit", "s")]
    counts = [scale * each for each in seconds]
    for spot in SPOTS if change else ():
        counts[FIRST_OF_B + spot] = change
    if pa.types.is_floating(kind):
        return pa.array([float(each) for each in counts], kind)
    return pa.array(counts, pa.int64()).view(kind)


@CLEANINGS
@pytest.mark.parametrize("change", [2**62, -(2**62), -(2**63), 0, 1])
@pytest.mark.parametrize(
    "kind",
    [pa.timestamp("s", "UTC"), pa.timestamp("ms"), pa.timestamp("ns"), pa.int64(), pa.float64()],
)
def test_a_time_out_of_range_costs_its_own_system_alone(kind, change, cleaning, tmp_path):
    path = tmp_path / "homes.feather"
    feather.write_feather(arrow_table(times=times_of(kind, 0)), path)
    quiet = read(path, cleaning)
    feather.write_feather(arrow_table(times=times_of(kind, change)), path)
    assert_alone(quiet, read(path, cleaning), kept=False)


OBJECTS = {
    "a list": [1.0, 2.0],
    "an array": np.array([1.0, 2.0]),
    "an integer of 5,000 digits": 10**5000,
    "half a surrogate": "\ud800",
    "bytes": b"\xff",
    "a frame": pd.DataFrame({"a": [1]}),
    "what cannot be compared": pd.NA,
    "what cannot be shown": type("Silent", (), {"__str__": lambda self: 1 / 0})(),
}


@CLEANINGS
@pytest.mark.parametrize("wide", [False, True])
def test_a_cell_of_a_frame_stands_alone(wide, cleaning):
    options = MeterOptions(timezone="UTC", cleaning=cleaning, power_unit="kW")
    frame = pd.DataFrame(HOMES).astype(object) if wide else pd.DataFrame(columns_of_homes())
    frame = frame.astype({"b" if wide else "power_kw": object})
    quiet = told(systems_of_frame(frame, options))

    def spoil(value) -> dict[str, object]:
        spoilt = frame.copy()
        for spot in SPOTS:
            column = spoilt["b" if wide else "power_kw"]
            column.array[spot if wide else FIRST_OF_B + spot] = value
        return told(systems_of_frame(spoilt, options))

    assert_each_alone(OBJECTS, spoil, quiet, kept=lambda kind: cleaning == "each")


@CLEANINGS
@pytest.mark.parametrize("unit", ["W", "kWh", "furlong", ""])
def test_a_unit_in_a_column_is_its_own_system_s(unit, cleaning, tmp_path):
    def line(spoilt: str):
        return lambda name, number, stamp, value: [
            f"{name},{stamp},{value},{spoilt if (name, number) == ('b', 12) else 'kW'}"
        ]

    declared = {"power_unit": "kW"} if cleaning == "each" else {}
    path, head = tmp_path / "homes.csv", "system_id,time,generation,uom"
    quiet, spoilt = (
        read(homes_csv(path, head, line(each)), cleaning, **declared) for each in ("kW", unit)
    )
    assert_alone(quiet, spoilt, kept=False)


# stamps, kinds and units of rows


def rows_file(path: Path, form: str, rewrite=None, *, ending: str = "csv") -> Path:
    """Write a row for each reading, some of whose stamps, of b's, are written in another way."""
    table: dict[str, list[str]] = {"system_id": [], "time": [], "power_kw": []}
    for name, power in HOMES.items():
        for place, (stamp, value) in enumerate(power.items()):
            text = stamp.strftime(form)
            if rewrite is not None and name == "b":
                text = rewrite(place, stamp, text)
            for column, cell_text in zip(table, (name, text, str(value)), strict=True):
                table[column].append(cell_text)
    return write_table(pd.DataFrame(table), path.with_suffix(f".{ending}"))


def once(text: str, *, spots=SPOTS):
    return lambda place, stamp, was: text if place in spots else was


DAY_FIRST, SORTED = "%d/%m/%Y %H:%M", "%Y-%m-%d %H:%M"
REWRITTEN = {
    "a range": (SORTED, once("2016-07-01 12:00 - 2016-07-01 13:00")),
    "ranges": (SORTED, lambda place, stamp, was: f"{was} - {was}"),
    "month first": (DAY_FIRST, lambda place, stamp, was: f"{stamp:%m/%d/%Y %H:%M}"),
    "two digits of a year": (DAY_FIRST, lambda place, stamp, was: f"{stamp:%m/%d/%y %H:%M}"),
    "a month beyond the year": (DAY_FIRST, once("07/13/2016 12:00")),
    "a far year": (DAY_FIRST, once("01/01/2099 00:00")),
    "seconds since 1970": (SORTED, lambda place, stamp, was: f"{stamp.timestamp():.0f}"),
    "days of a spreadsheet": (SORTED, lambda place, stamp, was: f"{42552 + place / 24:.6f}"),
    "an offset": (SORTED, lambda place, stamp, was: f"{was}:00+02:00"),
    "words": (SORTED, lambda place, stamp, was: "yesterday"),
    "nothing": (SORTED, lambda place, stamp, was: ""),
}


@CLEANINGS
@pytest.mark.parametrize("ending", ["csv", "txt", "json", "xlsx", "parquet"])
@pytest.mark.parametrize("how", REWRITTEN)
def test_stamps_of_a_system_are_its_own(how, ending, cleaning, tmp_path):
    form, rewrite = REWRITTEN[how]
    declared = {"decimal": "."} if ending == "txt" else {}
    quiet = read(rows_file(tmp_path / "quiet", form, ending=ending), cleaning, **declared)
    path = rows_file(tmp_path / "spoilt", form, rewrite, ending=ending)
    assert_alone(quiet, read(path, cleaning, **declared), kept=False)
    for part in (rewrite, None):  # and with more rows than the others have together
        path = rows_file(tmp_path / "spoilt", form, part, ending=ending)
        if ending == "csv":
            rows = [each for each in path.read_text().splitlines() if each.startswith("b,")]
            path.write_text("\n".join([path.read_text(), *rows * 9, ""]))
            assert_alone(quiet, read(path, cleaning, duplicates="first"), kept=False)


@CLEANINGS
def test_hours_of_a_system_from_1_to_24_are_its_own(cleaning, tmp_path):
    def write(name: str, hours: dict[str, range], spoilt: str | None = None) -> Path:
        rows = [
            f"{each},2016-07-0{day},{hour},{max(0.0, 6.3 - abs(hour - 13))}"
            for each in "abc"
            for day in (1, 2, 3)
            for hour in hours.get(each, hours["a"])
        ]
        if spoilt is not None:
            rows.insert(100, f"b,2016-07-02,{spoilt},1")
        path = tmp_path / name
        path.write_text("\n".join(["system_id,date,hour,power_kw", *rows, ""]))
        return path

    options = {"date_column": "date", "time_column": "hour", "duplicates": "first"}
    for mine, other, cell_text in ((range(24), range(1, 25), "24"), (range(1, 25), range(24), "0")):
        quiet = read(write("homes.csv", {"a": mine}), cleaning, **options)
        assert all(isinstance(each, tuple) for each in quiet.values())
        spoilt = read(write("homes.csv", {"a": mine, "b": other}), cleaning, **options)
        assert_alone(quiet, spoilt)
        spoilt = read(write("homes.csv", {"a": mine}, cell_text), cleaning, **options)
        assert_alone(quiet, spoilt, kept=False)


KINDS = ("generation", "solar", "consumption", "export", "import", "export 2", "x", "")


@CLEANINGS
@pytest.mark.parametrize("net", [False, True])
@pytest.mark.parametrize("usual", [("generation",), ("x",), ("export", "import")])
def test_the_kind_of_a_row_is_its_own_system_s(usual, net, cleaning, tmp_path):
    def read_homes(of_b: str | None, spots=SPOTS) -> dict[str, object]:
        def lines(name: str, number: int, stamp: str, value: float) -> list[str]:
            spoilt = of_b is not None and name == "b" and number in spots
            return [
                f"{name},{stamp},{of_b if spoilt else kind},{0.3 if kind == 'import' else value}"
                for kind in usual
            ]

        path = homes_csv(tmp_path / "homes.csv", "system_id,time,type,power_kw", lines)
        return read(path, cleaning, net=net)

    quiet = read_homes(None)
    assert all(isinstance(quiet[name], tuple) for name in "abc")
    for kind in KINDS:
        for spots in (SPOTS, range(1000)):
            spoilt = read_homes(kind, spots)
            np.testing.assert_equal([spoilt[k] for k in "ac"], [quiet[k] for k in "ac"])


def test_a_unit_that_others_state_is_no_system_s_own(tmp_path):
    path, head, found = tmp_path / "homes.csv", "system_id,time,generation,uom", []
    for unit in ("kW", "W", "kWh", ""):
        units = {"a": "", "b": unit, "c": "kW"}
        homes_csv(
            path,
            head,
            lambda name, _, *cells, of=units: [f"{name},{cells[0]},{cells[1]},{of[name]}"],
        )
        found.append(read(path, "record"))
    for each in found:
        assert (each["a"], each["c"]) == (found[0]["a"], found[0]["c"])


# NEM12


def nem12_file(path, *, head: str | None = None, day: str | None = None, more: str = ""):
    """Write one register for each home, with b's head or its first day replaced."""
    lines = ["100,NEM12,202001010000,MDP,Retailer"]
    for name, power in HOMES.items():
        spoilt = name == "b"
        own = f"200,NMI{name},B1,B1,B1,N1,METER{name},kWh,30,"
        lines.append(head if spoilt and head is not None else own)
        days = np.repeat(power.to_numpy() / 2.0, 2).reshape(-1, 48)
        for number, values in enumerate(days):
            text = f"300,2016070{number + 1},{','.join(f'{each:.4f}' for each in values)},A,,,,"
            lines.append(day if spoilt and number == 0 and day is not None else text)
            if spoilt and number == 0 and more:
                lines.append(more)
    path.write_text("\n".join([*lines, "900", ""]), encoding="latin-1")
    return path


NEM12_LINES = {
    "a head cut short": {"head": "200,NMIb,B1"},
    "a head of its own number alone": {"head": "200"},
    "another interval": {"head": "200,NMIb,B1,B1,B1,N1,METERb,kWh,17,"},
    "no interval": {"head": "200,NMIb,B1,B1,B1,N1,METERb,kWh,,"},
    "another unit": {"head": "200,NMIb,B1,B1,B1,N1,METERb,furlong,30,"},
    "an open quote in its head": {"head": '200,NMIb,B1,B1,B1,N1,"METERb,kWh,30,'},
    "a head broken in two": {"head": "200,NMIb,B1,B1,B1\n,N1,METERb,kWh,30,"},
    "a day cut short": {"day": "300,20160701,1,2"},
    "a day alone": {"day": "300"},
    "no date": {"day": "300,20169901" + ",1" * 48},
    "other digits": {"day": "300,\xb2\xb2\xb2\xb2\xb2\xb2\xb2\xb2" + ",1" * 48},
    "an open quote": {"day": '300,20160701,"1' + ",1" * 47 + ",A"},
    "a line break in quotes": {"day": '300,20160701,"1\n2"' + ",1" * 47 + ",A"},
    "intervals of 5,000 digits": {"more": f"400,1,{'9' * 5000},N,,"},
    "intervals that are none": {"more": "400,x,y,N,,"},
    "intervals before the first": {"more": "400,0,0,N,,"},
    "an end too early": {"more": "900"},
    "a line of nothing": {"more": ",,,"},
    "a stray byte": {"more": "\xff"},
}


@CLEANINGS
def test_a_line_of_nem12_stands_alone(cleaning, tmp_path):
    def read_homes(change: dict[str, str]) -> dict[str, object]:
        nem12_file(tmp_path / "homes.csv", **change)
        found = read(tmp_path / "homes.csv", cleaning)
        return {name.removeprefix("NMI"): each for name, each in found.items()}

    assert_each_alone(NEM12_LINES, read_homes, read_homes({}))


def five_minutes(path: Path, cells: list[str], minutes: str = "5") -> Record:
    """Read a day of one register."""
    head = f"200,NMI,B1,B1,B1,N1,METER,kWh,{minutes},"
    day = f"300,20160701,{','.join(cells)},A,,,,"
    path.write_text("\n".join(["100,NEM12,202001010000,MDP,Retailer", head, day, "900", ""]))
    (record,) = iter_systems(path, MeterOptions(cleaning="each"))
    assert isinstance(record, Record)
    return record


@pytest.mark.parametrize("minutes", ["05", "5"])
def test_an_interval_of_nem12_may_have_a_leading_zero(minutes, tmp_path):
    cells = [f"{each:.4f}" for each in np.tile(HOMES["a"].to_numpy()[:24], 12)]
    record = five_minutes(tmp_path / "home.csv", cells, minutes)
    assert (record.interval_minutes, len(record.times)) == (5.0, 288)


def test_quotes_in_two_cells_of_a_line_of_nem12_move_no_other_reading(tmp_path):
    cells = [f"{each / 100.0:.4f}" for each in range(288)]
    quoted = [f'"{each}' if place in (100, 110) else each for place, each in enumerate(cells)]
    whole, spoilt = (five_minutes(tmp_path / "home.csv", each).power_kw for each in (cells, quoted))
    assert set(np.flatnonzero(whole != spoilt)) <= {100, 110}


# Green Button


def feed_file(path, change=None) -> None:
    """Write a feed with a usage point for each home, of which b's is changed as text."""
    entries = []
    for name, power in HOMES.items():
        point = f"/UsagePoint/{name}"
        readings = [(int(at.timestamp()), 3600, round(1000 * kw)) for at, kw in power.items()]
        own = [
            feeds.entry("<espi:UsagePoint/>", own=point),
            feeds.meter_reading(1, name, point),
            feeds.reading_type(name, feeds.REVERSE),
            feeds.block(1, 1, readings, point),
        ]
        text = "".join(own).replace("espi:", "")
        entries.append(change(text) if change is not None and name == "b" else text)
        assert change is None or name != "b" or entries[-1] != text
    path.write_text(feeds.feed(*entries), encoding="utf-8")


def swapped(old: str, new: str, count: int = 1):
    return lambda text: text.replace(old, new, count)


@pytest.mark.parametrize("wrong", ["&foo;", "&", "<", "\x01"])
def test_a_reading_of_a_feed_that_is_damaged_is_missing_at_its_time(wrong, tmp_path):
    def of_b(change):
        feed_file(tmp_path / "feed.xml", change)
        found = iter_systems(tmp_path / "feed.xml", MeterOptions(cleaning="each"))
        return [each for each in found if isinstance(each, Record)][1]

    whole, damaged = of_b(None), of_b(swapped("<value>", "<value>" + wrong))
    assert damaged.rows_span == whole.rows_span
    assert np.array_equal(damaged.times, whole.times[1:])
    assert np.array_equal(damaged.power_kw, whole.power_kw[1:])


def test_a_key_that_one_object_has_notes_nothing_of_a_release(tmp_path):
    hours = list(HOMES["a"].items())
    rows = [{"time": str(stamp), "power_kw": float(value)} for stamp, value in hours]
    rows[3]["unit"] = "kW"
    (tmp_path / "a.json").write_text(json.dumps(rows))
    (record,) = iter_systems(tmp_path / "a.json", MeterOptions(cleaning="each"))
    assert record.notes == ()


FEED_CHANGES = {
    "an unknown entity": swapped("<value>", "<value>&foo;"),
    "a bare ampersand": swapped("<value>", "<value>&"),
    "an open tag": swapped("<value>", "<value><"),
    "a control character": swapped("<value>", "<value>\x01"),
    "a reading that does not end": swapped("</IntervalReading>", ""),
    "a block that does not end": swapped("</IntervalBlock>", ""),
    "an entry that does not end": swapped("</entry>", ""),
    "no start": swapped("<start>", "<start>x"),
    "no duration": swapped("<duration>3600</duration>", "<duration>x</duration>"),
    "another duration": swapped("<duration>3600</duration>", "<duration>900</duration>"),
    "a start of 5,000 digits": swapped("<start>", "<start>" + "9" * 5000),
    "no time": swapped("<timePeriod>", "<timeless>"),
    "a power of ten beyond all": swapped("Multiplier>0<", "Multiplier>999<"),
    "a power of ten of 5,000 digits": swapped("Multiplier>0<", f"Multiplier>{'9' * 5000}<"),
    "another unit": swapped("<uom>72<", "<uom>42<"),
    "a register": swapped("<uom>", "<accumulationBehaviour>3</accumulationBehaviour><uom>"),
    "the net": swapped(">19<", ">4<"),
    "no reading type": swapped("ReadingType", "ReadingTune", 99),
    "no link to it": swapped('rel="related"', 'rel="x"'),
    "no readings": swapped("IntervalReading", "Interval", 999),
    "no content": swapped("<content>", "<tent/><content>", 9),
    "a generator": swapped("<UsagePoint/>", "<UsagePoint><roleFlags>8</roleFlags></UsagePoint>"),
}


@CLEANINGS
def test_a_usage_point_of_a_feed_stands_alone(cleaning, tmp_path):
    names = {"homes-1": "a", "homes-2": "b", "homes-3": "c"}

    def read_homes(change) -> dict[str, object]:
        feed_file(tmp_path / "homes.xml", change)
        found = read(tmp_path / "homes.xml", cleaning)
        return {names.get(name, name): each for name, each in found.items()}

    assert_each_alone(FEED_CHANGES, read_homes, read_homes(None))
