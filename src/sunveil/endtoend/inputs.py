"""Datasets as files of every kind, cell by cell and byte by byte."""

from __future__ import annotations

import json
import math
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from xml.sax.saxutils import escape

import pyarrow as pa
import pyarrow.parquet as pq

from sunveil.endtoend.cells import SITE, PrivateCells

# Writes a dataset into a folder and returns what a reader is given.
Writer = Callable[[Path, PrivateCells], Path]

# What a meter of two columns has counted of the other. [kW]
IMPORTED = b"0.25"
_BASE = "https://utility.example/espi/1_1/resource"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class CannotHold(Exception):
    """A format has no way to hold these bytes in a cell: there is no such neighbour in it."""


def comma_csv(folder: Path, data: PrivateCells) -> Path:
    """Write all systems into one CSV file."""
    return _long_csv(folder / "meters.csv", data, b",")


def semicolon_csv(folder: Path, data: PrivateCells) -> Path:
    """Write all systems into one CSV file with semicolons."""
    return _long_csv(folder / "meters.csv", data, b";")


def unnamed_csv(folder: Path, data: PrivateCells) -> Path:
    """Write the first system beside temperatures, its column named for nothing."""
    return _beside_temperatures(folder, data, b"value")


def beside_csv(folder: Path, data: PrivateCells) -> Path:
    """Write the first system beside temperatures."""
    return _beside_temperatures(folder, data, b"power_kw")


def two_columns_csv(folder: Path, data: PrivateCells) -> Path:
    """Write all systems into one CSV file, beside what each took from the grid meanwhile."""
    lines = [b"system_id,time,import_kw,export_kw"]
    lines += [
        b",".join((name.encode(), stamp.encode(), IMPORTED, cell))
        for name, cells in data.by_system.items()
        for stamp, cell in zip(data.columns, cells, strict=True)
    ]
    return _written(folder / "meters.csv", b"\n".join([*lines, b""]))


def csv_folder(folder: Path, data: PrivateCells) -> Path:
    """Write one CSV file for each system."""
    made = folder / "meters"
    made.mkdir()
    for name, text in _single_csvs(data):
        _written(made / f"{name}.csv", text)
    return made


def zipped_folder(folder: Path, data: PrivateCells) -> Path:
    """Write an archive of a folder with one CSV file for each system."""
    path = folder / "meters.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in _single_csvs(data):
            archive.writestr(zipfile.ZipInfo(f"meters/{name}.csv"), text)
    return path


def number_parquet(folder: Path, data: PrivateCells) -> Path:
    """Write Parquet whose readings are numbers, which hold no text."""
    cells = pa.array([_number(cell) for cell in _in_order(data)], pa.float64())
    return _long_parquet(folder / "meters.parquet", data, cells)


def text_parquet(folder: Path, data: PrivateCells) -> Path:
    """Write Parquet whose readings are texts."""
    cells = pa.array([_text(cell) or None for cell in _in_order(data)], pa.string())
    return _long_parquet(folder / "meters.parquet", data, cells)


def green_button(folder: Path, data: PrivateCells) -> Path:
    """Write one Green Button feed of Wh for each system."""
    made = folder / "meters"
    made.mkdir()
    for name, cells in data.by_system.items():
        _written(made / f"{name}.xml", _feed(data.columns, cells).encode())
    return made


def fleet_folder(write: Writer) -> Writer:
    """Return what writes meters beside a table of systems, as a fleet has it."""

    def written(folder: Path, data: PrivateCells) -> Path:
        lines = ["system_id,latitude,longitude,timezone"]
        lines += [f"{name},{SITE.latitude},{SITE.longitude},UTC" for name in data.by_system]
        _written(folder / "systems.csv", "\n".join([*lines, ""]).encode())
        return write(folder, data)

    return written


def estimates_csv(folder: Path, data: PrivateCells) -> Path:
    """Write a table of estimates as CSV."""
    return _estimates_csv(folder, data, b",")


def estimates_semicolon_csv(folder: Path, data: PrivateCells) -> Path:
    """Write a table of estimates as CSV with semicolons."""
    return _estimates_csv(folder, data, b";")


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
        {"system_id": name, **dict(zip(data.columns, map(_json, cells), strict=True))}
        for name, cells in data.by_system.items()
    ]
    return _written(folder / "estimates.json", json.dumps(rows).encode())


def estimates_planes(folder: Path, data: PrivateCells) -> Path:
    """Write estimates as JSON, each system on two planes; a cell is a share and a flag as well."""
    rows = []
    for name, cells in data.by_system.items():
        azimuth, tilt, capacity = map(_json, cells)
        own = {"surface_azimuth": azimuth, "surface_tilt": tilt, "share": capacity}
        other = {"surface_azimuth": 90.0, "surface_tilt": 20.0, "share": 2.0}
        values = dict(zip(data.columns, (azimuth, tilt, capacity), strict=True))
        listed = {"planes": [own, other], "flags": [capacity], "tracker": capacity}
        rows.append({"system_id": name, **values, **listed})
    return _written(folder / "estimates.json", json.dumps(rows).encode())


def _long_csv(path: Path, data: PrivateCells, mark: bytes) -> Path:
    lines = [mark.join((b"system_id", b"time", b"power_kw"))]
    lines += [
        mark.join((name.encode(), stamp.encode(), cell))
        for name, cells in data.by_system.items()
        for stamp, cell in zip(data.columns, cells, strict=True)
    ]
    return _written(path, b"\n".join([*lines, b""]))


def _beside_temperatures(folder: Path, data: PrivateCells, name: bytes) -> Path:
    """Write one system, whose last line has a reading and no stamp, as loggers leave them."""
    (cells, *_) = data.by_system.values()
    lines = [b"time," + name + b",temperature"]
    for number, (stamp, cell) in enumerate(zip(data.columns, cells, strict=True)):
        shown = b"" if number == len(cells) - 1 else stamp.encode()
        lines.append(b",".join((shown, cell, f"{20.0 + number % 24 / 2.0:.1f}".encode())))
    return _written(folder / "home.csv", b"\n".join([*lines, b""]))


def _single_csvs(data: PrivateCells) -> Iterator[tuple[str, bytes]]:
    for name, cells in data.by_system.items():
        lines = [
            stamp.encode() + b"," + cell for stamp, cell in zip(data.columns, cells, strict=True)
        ]
        yield name, b"\n".join([b"time,power_kw", *lines, b""])


def _estimates_csv(folder: Path, data: PrivateCells, mark: bytes) -> Path:
    lines = [mark.join((b"system_id", *(name.encode() for name in data.columns)))]
    lines += [mark.join((name.encode(), *cells)) for name, cells in data.by_system.items()]
    return _written(folder / "estimates.csv", b"\n".join([*lines, b""]))


def _long_parquet(path: Path, data: PrivateCells, cells: pa.Array) -> Path:
    names = [name for name in data.by_system for _ in data.columns]
    stamps = [_instant(stamp) for stamp in data.columns] * len(data.by_system)
    times = pa.array(stamps, pa.timestamp("ms", "UTC"))
    pq.write_table(pa.table({"system_id": names, "time": times, "power_kw": cells}), path)
    return path


def _in_order(data: PrivateCells) -> Iterator[bytes]:
    for cells in data.by_system.values():
        yield from cells


def _feed(stamps: Sequence[str], cells: Sequence[bytes]) -> str:
    readings = "".join(
        "<espi:IntervalReading><espi:timePeriod><espi:duration>3600</espi:duration>"
        f"<espi:start>{_instant(stamp).timestamp():.0f}</espi:start></espi:timePeriod>"
        f"<espi:value>{_xml(cell)}</espi:value></espi:IntervalReading>"
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


def _json(cell: bytes) -> float | str | None:
    try:
        value = _number(cell)
    except CannotHold:
        return _text(cell)
    # what JSON has no number for is written as a text
    return value if value is None or math.isfinite(value) else str(value)


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@dataclass(frozen=True, slots=True)
class MeterSource:
    """A kind of meter file.

    Parameters
    ----------
    write
        Writes it.
    options
        What must be said of it in public, as fields of ``MeterOptions``.
    """

    write: Writer
    options: Mapping[str, str | bool] = field(default_factory=dict)


METER_SOURCES: Mapping[str, MeterSource] = {
    "CSV": MeterSource(comma_csv),
    "CSV, semicolons": MeterSource(semicolon_csv, {"decimal": ","}),
    "CSV, column to be told": MeterSource(unnamed_csv),
    "CSV, beside temperatures": MeterSource(beside_csv),
    "folder of CSV": MeterSource(csv_folder),
    "zipped folder": MeterSource(zipped_folder),
    "Parquet, numbers": MeterSource(number_parquet),
    "Parquet, texts": MeterSource(text_parquet),
    "Green Button": MeterSource(green_button),
    "CSV, net": MeterSource(comma_csv, {"net": True}),
    "CSV, import and export": MeterSource(two_columns_csv, {"net": True}),
}
# Files of net meters, of which releases tell too little to be near what they are.
NET_SOURCES = ("CSV, net", "CSV, import and export")
ESTIMATE_WRITERS: Mapping[str, Writer] = {
    "CSV": estimates_csv,
    "CSV, semicolons": estimates_semicolon_csv,
    "Parquet": estimates_parquet,
    "JSON": estimates_json,
    "JSON with planes": estimates_planes,
}
