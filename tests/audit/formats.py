"""Datasets as files of every kind, cell by cell and byte by byte."""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from itertools import groupby
from pathlib import Path
from xml.sax.saxutils import escape

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq

from audit.datasets import PAIRS, SITE, TEARING, CannotHold, PrivateCells, Raw

# Writes a dataset into a folder and returns what a reader is given.
Writer = Callable[[Path, PrivateCells], Path]
Kinds = Mapping[str, Sequence[tuple[int, Raw]]]

IMPORTED = b"0.25"  # [kW] what a meter of two columns has counted of the other
_BASE = "https://utility.example/espi/1_1/resource"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
DEEP = 20_000

# Text tables


def text_table(
    mark: bytes = b",", *, by_time: bool = False, notes: bool = False, encoding: str = ""
) -> Writer:
    """Return what writes all systems into one text table, a row for each reading."""

    def write(folder: Path, data: PrivateCells) -> Path:
        names = (b"system_id", b"time", b"power_kw") + (b"note",) * notes
        lines = [mark.join(names)]
        for name, stamp, cell in data.rows(by_time=by_time):
            cells = (name.encode(), stamp.encode(), cell) + (b"20",) * notes
            lines.append(mark.join(cells))
        return _written(folder / "meters.csv", b"\n".join([*lines, b""]))

    def write_utf_16(folder: Path, data: PrivateCells) -> Path:
        made = "\ufeffsystem_id,time,power_kw\n".encode(encoding)
        for name, stamp, cell in data.rows(by_time=by_time):
            # an odd byte as it is; all else as the text that it is
            held = cell if isinstance(cell, Raw) else _text(cell).encode(encoding)
            made += f"{name},{stamp},".encode(encoding) + held + "\n".encode(encoding)
        return _written(folder / "meters.csv", made)

    return write_utf_16 if encoding else write


def days_csv(folder: Path, data: PrivateCells) -> Path:
    """Write a row for each day of each system, and a column for each time of day."""
    times = ",".join(stamp[11:] for stamp in data.columns[: data.per_day])
    lines = [f"system_id,date,{times}".encode()]
    for (name, day), rows in groupby(data.rows(), key=lambda row: (row[0], row[1][:10])):
        lines.append(b",".join([name.encode(), day.encode(), *(cell for _, _, cell in rows)]))
    return _written(folder / "meters.csv", b"\n".join([*lines, b""]))


def nem12(folder: Path, data: PrivateCells) -> Path:
    """Write a register of half hours for each system, a line for each day."""
    lines = [b"100,NEM12,202001010000,MDP,Retailer"]
    for name, rows in groupby(data.rows(), key=lambda row: row[0]):
        lines.append(f"200,{name},B1,B1,B1,N1,METER1,kWh,30,".encode())
        for day, own in groupby(rows, key=lambda row: row[1][:10]):
            head = f"300,{day.replace('-', '')}".encode()
            lines.append(b",".join([head, *(cell for _, _, cell in own), b"A,,,,"]))
    return _written(folder / "meters.csv", b"\n".join([*lines, b"900", b""]))


def unnamed_csv(folder: Path, data: PrivateCells) -> Path:
    """Write the first system beside temperatures, its column named for nothing."""
    return _beside_temperatures(folder, data, b"value")


def beside_csv(folder: Path, data: PrivateCells) -> Path:
    """Write the first system beside temperatures."""
    return _beside_temperatures(folder, data, b"power_kw")


def _beside_temperatures(folder: Path, data: PrivateCells, name: bytes) -> Path:
    """Write one system, whose last line has a reading and no stamp, as loggers leave them."""
    system, cells = next(iter(data.by_system.items()))
    lines = [b"time," + name + b",temperature"]
    for number, (stamp, cell) in enumerate(zip(data.columns, cells, strict=True)):
        shown = b"" if number == len(cells) - 1 else stamp.encode()
        lines.append(b",".join((shown, cell, f"{20.0 + number % 24 / 2.0:.1f}".encode())))
    return _written(folder / f"{system}.csv", b"\n".join([*lines, b""]))


def two_columns_csv(folder: Path, data: PrivateCells) -> Path:
    """Write all systems into one CSV file, beside what each took from the grid meanwhile."""
    lines = [b"system_id,time,import_kw,export_kw"]
    for name, stamp, cell in data.rows():
        lines.append(b",".join((name.encode(), stamp.encode(), IMPORTED, cell)))
    return _written(folder / "meters.csv", b"\n".join([*lines, b""]))


def csv_folder(folder: Path, data: PrivateCells) -> Path:
    """Write one CSV file for each system."""
    made = folder / "meters"
    made.mkdir()
    for name, text in _single_csvs(data):
        _written(made / f"{name}.csv", text)
    return made


def zipped_folder(folder: Path, data: PrivateCells) -> Path:
    """Write an archive with one CSV file for each system; a raw cell says how it is damaged."""
    members = {f"meters/{name}.csv": text for name, text in _single_csvs(data)}
    damage = {name: cells[0] for name, cells in data.by_system.items() if type(cells[0]) is Raw}
    for name, how in damage.items():
        member = f"meters/{name}.csv"
        if how == b"nested":
            for depth in range(4):
                members[member] = _packed({f"{depth}.zip": members[member]})
        elif how in (b"cut", b"Parquet"):
            members[member] = {b"cut": b"PK\x03\x04", b"Parquet": b"PAR1"}[how] + b"x" * 99
        else:
            members[member] = b"time,power_kw\n2019-06-01 00:00,1\n"
    made = _packed(members)
    for name, how in damage.items():
        entry = made.rindex(f"meters/{name}.csv".encode()) - 46
        if how == b"checksum":
            made = made[: entry + 16] + b"\0\0\0\0" + made[entry + 20 :]
        elif how == b"password":
            made = made[: entry + 8] + b"\1\0" + made[entry + 10 :]
        elif how == b"packing":
            made = made[: entry + 10] + b"\x63\0" + made[entry + 12 :]
        elif how == b"head":
            begin = made.index(f"meters/{name}.csv".encode()) - 30
            made = made[:begin] + b"\xff" * 30 + made[begin + 30 :]
    return _written(folder / "meters.zip", made)


def _single_csvs(data: PrivateCells) -> Iterator[tuple[str, bytes]]:
    for name, rows in groupby(data.rows(), key=lambda row: row[0]):
        lines = [stamp.encode() + b"," + cell for _, stamp, cell in rows]
        yield name, b"\n".join([b"time,power_kw", *lines, b""])


def _packed(members: Mapping[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return made.getvalue()


# Tables with types, and markup


def number_parquet(folder: Path, data: PrivateCells) -> Path:
    """Write Parquet whose readings are numbers, which hold no text."""
    cells = pa.array([_number(cell) for _, _, cell in data.rows()], pa.float64())
    return _long_parquet(folder / "meters.parquet", data, cells)


def text_parquet(folder: Path, data: PrivateCells) -> Path:
    """Write Parquet whose readings are texts."""
    cells = pa.array([_text(cell) or None for _, _, cell in data.rows()], pa.string())
    return _long_parquet(folder / "meters.parquet", data, cells)


def _long_parquet(path: Path, data: PrivateCells, cells: pa.Array) -> Path:
    rows = list(data.rows())
    times = pa.array([_instant(stamp) for _, stamp, _ in rows], pa.timestamp("ms", "UTC"))
    names = [name for name, _, _ in rows]
    pq.write_table(pa.table({"system_id": names, "time": times, "power_kw": cells}), path)
    return path


def json_rows(folder: Path, data: PrivateCells) -> Path:
    """Write an object for each reading, time after time."""
    objects = [
        b'{"system_id": "%s", "time": "%sZ", "power_kw": %s}'
        % (name.encode(), stamp.replace(" ", "T").encode(), _json(cell))
        for name, stamp, cell in data.rows(by_time=True)
    ]
    return _written(folder / "meters.json", b"[" + b",\n".join(objects) + b"]")


def workbook(folder: Path, data: PrivateCells) -> Path:
    """Write a workbook of one sheet, a row for each reading, time after time."""
    rows = [_sheet_row(1, *map(_sheet_text, ("system_id", "time", "power_kw")))]
    for number, (name, stamp, cell) in enumerate(data.rows(by_time=True), 2):
        texts = (_sheet_text(name), _sheet_text(stamp), _sheet_cell(cell))
        rows.append(_sheet_row(number, *texts))
    path = folder / "meters.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in _empty_workbook().items():
            if name == "xl/worksheets/sheet1.xml":
                part = part.replace(b"<sheetData>", b"<sheetData>" + "".join(rows).encode())
            archive.writestr(name, part)
    return path


@cache
def _empty_workbook() -> dict[str, bytes]:
    made = io.BytesIO()
    openpyxl.Workbook().save(made)
    with zipfile.ZipFile(made) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _sheet_row(number: int, *cells: str) -> str:
    return f'<row r="{number}">{"".join(cells)}</row>'


def _sheet_text(text: str) -> str:
    return f'<c t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'


def _sheet_cell(cell: bytes) -> str:
    if isinstance(cell, Raw):
        return cell.decode()
    if re.fullmatch(rb"-?\d+(\.\d+)?", cell):
        return f"<c><v>{cell.decode()}</v></c>"
    return _sheet_text(_xml(cell)) if cell else "<c/>"


def green_button(folder: Path, data: PrivateCells) -> Path:
    """Write one Green Button feed of Wh for each system."""
    made = folder / "meters"
    made.mkdir()
    for name, cells in data.by_system.items():
        _written(made / f"{name}.xml", _feed(data.columns, cells).encode())
    return made


def _feed(stamps: Sequence[str], cells: Sequence[bytes]) -> str:
    readings = "".join(
        "<espi:IntervalReading><espi:timePeriod><espi:duration>3600</espi:duration>"
        f"<espi:start>{_instant(stamp).timestamp():.0f}</espi:start></espi:timePeriod>"
        f"<espi:value>{cell.decode() if isinstance(cell, Raw) else _xml(cell)}</espi:value>"
        "</espi:IntervalReading>"
        for stamp, cell in zip(stamps, cells, strict=True)
    )
    kind = {"flowDirection": 19, "powerOfTenMultiplier": 0, "uom": 72}
    said = "".join(f"<espi:{name}>{value}</espi:{name}>" for name, value in kind.items())
    up = "/MeterReading/1/IntervalBlock"
    entries = (
        _entry(f"<espi:ReadingType>{said}</espi:ReadingType>", own="/ReadingType/1"),
        _entry(f"<espi:IntervalBlock>{readings}</espi:IntervalBlock>", own=f"{up}/1", up=up),
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?><feed xmlns="http://www.w3.org/2005/Atom"'
        f' xmlns:espi="http://naesb.org/espi">{"".join(entries)}</feed>'
    )


def _entry(content: str, *, own: str, up: str = "") -> str:
    return (
        f'<entry><link rel="self" href="{_BASE}{own}"/><link rel="up" href="{_BASE}{up}"/>'
        f"<content>{content}</content></entry>"
    )


# Fleets, and their tables


def fleet_folder(write: Writer) -> Writer:
    """Return what writes meters beside a table of systems, as a fleet has it."""

    def written(folder: Path, data: PrivateCells) -> Path:
        rows = [f"{name},{SITE.latitude},{SITE.longitude},UTC" for name in data.by_system]
        lines = ["system_id,latitude,longitude,timezone", *rows, ""]
        _written(folder / "systems.csv", "\n".join(lines).encode())
        return write(folder, data)

    return written


def systems_table(meters: PrivateCells) -> Writer:
    """Return what writes a table of systems with a private note on each, beside meters."""

    def written(folder: Path, data: PrivateCells) -> Path:
        place = f",{SITE.latitude},{SITE.longitude},UTC".encode()
        lines = [b"system_id,note,latitude,longitude,timezone"]
        lines += [name.encode() + b"," + cells[0] + place for name, cells in data.by_system.items()]
        _written(folder / "systems.csv", b"\n".join([*lines, b""]))
        return text_table()(folder, meters)

    return written


def estimates_text(mark: bytes = b",") -> Writer:
    """Return what writes a table of estimates as text."""

    def write(folder: Path, data: PrivateCells) -> Path:
        lines = [mark.join((b"system_id", *(name.encode() for name in data.columns)))]
        lines += [mark.join((name.encode(), *cells)) for name, cells in data.by_system.items()]
        return _written(folder / "estimates.csv", b"\n".join([*lines, b""]))

    return write


REGIONS = ("north", "south")


def estimates_regions(folder: Path, data: PrivateCells) -> Path:
    """Write a table of estimates as CSV, with a public region behind the private cells."""
    lines = [",".join(("system_id", *data.columns, "region")).encode()]
    for number, (name, cells) in enumerate(data.by_system.items()):
        lines.append(b",".join([name.encode(), *cells, REGIONS[number % 2].encode()]))
    return _written(folder / "estimates.csv", b"\n".join([*lines, b""]))


def estimates_parquet(folder: Path, data: PrivateCells) -> Path:
    """Write a table of estimates as Parquet of numbers."""
    columns: dict[str, object] = {"system_id": list(data.by_system)}
    for place, name in enumerate(data.columns):
        column = [_number(cells[place]) for cells in data.by_system.values()]
        columns[name] = pa.array(column, pa.float64())
    pq.write_table(pa.table(columns), folder / "estimates.parquet")
    return folder / "estimates.parquet"


def estimates_json(folder: Path, data: PrivateCells) -> Path:
    """Write estimates as ``sunveil infer --json`` does; cells that are no number become texts."""
    rows = [
        b'{"system_id": "%s", %s}' % (name.encode(), _fields(data.columns, cells))
        for name, cells in data.by_system.items()
    ]
    return _written(folder / "estimates.json", b"[" + b", ".join(rows) + b"]")


def estimates_planes(folder: Path, data: PrivateCells) -> Path:
    """Write estimates as JSON, each system on two planes; a cell is a share and a flag as well."""
    rows = []
    for name, cells in data.by_system.items():
        azimuth, tilt, capacity = map(_json, cells)
        rows.append(
            b'{"system_id": "%s", %s, "planes": [{"surface_azimuth": %s, "surface_tilt": %s,'
            b' "share": %s}, {"surface_azimuth": 90.0, "surface_tilt": 20.0, "share": 2.0}],'
            b' "flags": [%s], "tracker": %s}'
            % (name.encode(), _fields(data.columns, cells), azimuth, tilt, *[capacity] * 3)
        )
    return _written(folder / "estimates.json", b"[" + b", ".join(rows) + b"]")


def _fields(names: Sequence[str], cells: Sequence[bytes]) -> bytes:
    pairs = zip(names, cells, strict=True)
    return b", ".join(b'"%s": %s' % (name.encode(), _json(cell)) for name, cell in pairs)


# Cells


def _instant(stamp: str) -> datetime:
    return datetime.strptime(stamp, "%Y-%m-%d %H:%M").replace(tzinfo=UTC)


def _text(cell: bytes) -> str:
    try:
        return cell.decode()
    except UnicodeDecodeError:
        raise CannotHold from None


def _xml(cell: bytes) -> str:
    text = _text(cell)
    if _NOT_XML.search(text):
        raise CannotHold
    return escape(text)


def _number(cell: bytes) -> float | None:
    if not cell:
        return None
    try:
        return float(cell)
    except ValueError:
        raise CannotHold from None


def _json(cell: bytes) -> bytes:
    """Return a cell as JSON: what is no number of it is a text, and what is raw stays."""
    if isinstance(cell, Raw):
        return cell
    try:
        value = _number(cell)
    except CannotHold:
        return json.dumps(_text(cell)).encode()
    held = value is None or (math.isfinite(value) and len(cell) < 100)
    return json.dumps(value if held else _text(cell)).encode()


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def _kinds(cells: Mapping[str, bytes]) -> dict[str, Sequence[tuple[int, Raw]]]:
    return {kind: ((0, Raw(cell)),) for kind, cell in cells.items()}


# What only one format can hold in a cell.
JSON_KINDS: Kinds = _kinds(
    {
        "a number of 5,000 digits": b"9" * 5000,
        "a byte that is not UTF-8": b'"\xff1"',
        "control characters": b'"1\x01\t2"',
        "deep nesting": b"[" * DEEP + b"]" * DEEP,
        "half a surrogate": b'"\\ud800"',
        "no number": b"NaN",
        "an object": b'{"time": 3}',
        "an open quote": b'"1',
        "the end of the list": b"1}]",
        "the end of an object": b"1} {",
        "a key that cannot be read": b'1, "\\q": 5',
        "a decimal comma in JSON": b"1,5",
        "its own unit": b'1, "unit": "W"',
        "a unit that is none": b'1, "unit": "furlong"',
        "another reading": b'1, "energy_kwh": 5',
    }
) | {"two open quotes": ((0, Raw(b'"1')), (1, Raw(b'1"')))}
WORKBOOK_KINDS: Kinds = _kinds(
    {
        "infinity": b"<c><v>inf</v></c>",
        "no number": b"<c><v>NaN</v></c>",
        "a decimal comma in a number": b"<c><v>1,5</v></c>",
        "a string that is not there": b'<c t="s"><v>99999</v></c>',
        "an error of a formula": b'<c t="e"><f>A1/0</f><v>#REF!</v></c>',
        "a number of 5,000 digits": b"<c><v>" + b"9" * 5000 + b"</v></c>",
        "a date beyond all dates": b'<c s="1"><v>1e300</v></c>',
        "a style that is not there": b'<c s="99999"><v>1</v></c>',
        "a place that is none": b'<c r="??"><v>1</v></c>',
        "something else": b"<c><x><y/></x></c>",
    }
) | {"no numbers": tuple((at, Raw(b"<c><v>inf</v></c>")) for at in range(2))}
XML_KINDS: Kinds = _kinds(
    {"an unknown entity": b"&foo;", "a bare ampersand": b"&", "an open tag": b"<"}
)
UTF_16_KINDS: Kinds = _kinds({"an odd byte": b"1", "three bytes": b"1\x002"}) | {
    "two odd bytes": ((0, Raw(b"1")), (1, Raw(b"1")))
}
ZIP_KINDS: Kinds = _kinds(
    {
        each: each.encode()
        for each in ("checksum", "password", "packing", "head", "nested", "cut", "Parquet")
    }
)


@dataclass(frozen=True, slots=True)
class MeterSource:
    """A kind of meter file, with what must be said of it in public, as fields of MeterOptions."""

    write: Writer
    options: Mapping[str, str | bool] = field(default_factory=dict)
    raw: Kinds = field(default_factory=dict)
    # a cell that ends a line or a cell takes the rest of its row along
    rows_of_days: bool = False
    # releases of net meters tell too little to be near what they are
    net: bool = False
    one_system: bool = False
    # raw cells are those of a whole member
    members: bool = False


METER_SOURCES: Mapping[str, MeterSource] = {
    "CSV": MeterSource(text_table()),
    "CSV by time": MeterSource(text_table(by_time=True, notes=True)),
    "CSV of days": MeterSource(days_csv, {"power_unit": "kW"}, rows_of_days=True),
    "CSV, semicolons": MeterSource(text_table(b";"), {"decimal": ","}),
    "CSV, column to be told": MeterSource(unnamed_csv, one_system=True),
    "CSV, beside temperatures": MeterSource(beside_csv, one_system=True),
    "TSV by time": MeterSource(text_table(b"\t", by_time=True), {"decimal": "."}),
    "UTF-16": MeterSource(text_table(by_time=True, encoding="utf-16-le"), raw=UTF_16_KINDS),
    "JSON": MeterSource(json_rows, raw=JSON_KINDS),
    "workbook": MeterSource(workbook, raw=WORKBOOK_KINDS),
    "folder of CSV": MeterSource(csv_folder),
    "zipped folder": MeterSource(zipped_folder, raw=ZIP_KINDS, members=True),
    "Parquet, numbers": MeterSource(number_parquet),
    "Parquet, texts": MeterSource(text_parquet),
    "Green Button": MeterSource(green_button, raw=XML_KINDS),
    "NEM12": MeterSource(nem12, rows_of_days=True),
    "CSV, net": MeterSource(text_table(), {"net": True}, net=True),
    "CSV, import and export": MeterSource(two_columns_csv, {"net": True}, net=True),
}
# In a row of a day, these end a cell or the line, and so are no single reading's.
SEPARATING = TEARING | {"decimal comma", "thousands", "commas", "all decimal commas"}
SEPARATING |= {kind for kind, cells in PAIRS.items() if any(b"," in cell for _, cell in cells)}
ESTIMATE_SOURCES: Mapping[str, tuple[Writer, Kinds]] = {
    "CSV": (estimates_text(), {}),
    "CSV, semicolons": (estimates_text(b";"), {}),
    "CSV with regions": (estimates_regions, {}),
    "Parquet": (estimates_parquet, {}),
    "JSON": (estimates_json, JSON_KINDS),
    "JSON with planes": (estimates_planes, JSON_KINDS),
}
