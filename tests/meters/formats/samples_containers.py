"""Plain tables in other wrappings: workbooks, archives, Feather, UTF-16.

What they hold is what a CSV file could hold; only the bytes differ. RFC 1952 (gzip), ECMA-376
(XLSX), Unicode's byte order marks, Arrow's IPC file format.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather

from .sample import FormatSample, energy, expect, numbers, plant, stamps, table
from .workbooks import workbook

SCHEMA: dict[str, Any] = {"label": "start", "interval_minutes": 15}


def _csv(power: pd.Series, encoding: str = "utf-8") -> bytes:
    rows = zip(stamps(power, "%Y-%m-%dT%H:%M:%SZ"), numbers(power, 4), strict=True)
    return table(rows, header=["time", "power_kw"], encoding=encoding)


def _sample(
    name: str, file_name: str, content: bytes, power: pd.Series, **facts: Any
) -> FormatSample:
    facts = {"schema": SCHEMA, **facts}
    family = facts.pop("family", "container")
    return FormatSample(f"{family}-{name}", family, file_name, content, (expect(power),), **facts)


def _plain(days: int) -> pd.Series:
    return plant("munich", days).power(15, "UTC")


def gzipped(days: int) -> FormatSample:
    """One CSV through gzip."""
    power = _plain(days)
    return _sample("gzip", "roof.csv.gz", gzip.compress(_csv(power), mtime=0), power)


def bzipped(days: int) -> FormatSample:
    """One CSV through bzip2."""
    power = _plain(days)
    return _sample("bzip2", "roof.csv.bz2", bz2.compress(_csv(power)), power)


def xz(days: int) -> FormatSample:
    """One CSV through xz."""
    power = _plain(days)
    return _sample("xz", "roof.csv.xz", lzma.compress(_csv(power)), power)


def _zip(files: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2024, 6, 21, 0, 0, 0)), content)
    return file.getvalue()


def zipped(days: int) -> FormatSample:
    """One CSV in an archive."""
    power = _plain(days)
    return _sample("zip", "roof.zip", _zip({"roof.csv": _csv(power)}), power)


def zipped_days(days: int) -> FormatSample:
    """A file for each day in folders by month, each naming its system: one record."""
    power = _plain(days)
    files = {}
    for day, part in power.groupby(power.index.date):
        rows = zip(
            ["roof-3"] * len(part),
            stamps(part, "%Y-%m-%dT%H:%M:%SZ"),
            numbers(part, 4),
            strict=True,
        )
        files[f"data/{day:%Y-%m}/{day:%d}.csv"] = table(
            rows, header=["system_id", "time", "power_kw"]
        )
    sample = _sample("zip-of-days", "export.zip", _zip(files), power)
    return FormatSample(
        sample.name,
        sample.family,
        sample.file_name,
        sample.content,
        (expect(power, system_id="roof-3"),),
        schema=sample.schema,
    )


def utf16_little(days: int) -> FormatSample:
    """UTF-16 as Windows' spreadsheets write "Unicode text": little end first, tabs."""
    power = _plain(days)
    text = _csv(power).decode().replace(",", "\t").replace("\n", "\r\n")
    content = b"\xff\xfe" + text.encode("utf-16-le")
    declared = {**SCHEMA, "decimal": "."}  # between tabs it may be a comma
    return _sample("utf16-le", "roof.txt", content, power, schema=declared)


def utf16_big(days: int) -> FormatSample:
    """UTF-16, big end first."""
    power = _plain(days)
    content = b"\xfe\xff" + _csv(power).decode().encode("utf-16-be")
    return _sample("utf16-be", "roof.csv", content, power)


def utf8_mark(days: int) -> FormatSample:
    """UTF-8 with a mark at its start, and semicolons."""
    power = _plain(days)
    content = _csv(power, "utf-8-sig").replace(b",", b";")
    declared = {**SCHEMA, "decimal": "."}  # between semicolons it may be a comma
    return _sample("utf8-mark", "roof.csv", content, power, schema=declared)


def _frame(power: pd.Series) -> pd.DataFrame:
    return pd.DataFrame({"time": power.index, "power_kw": power.to_numpy().round(4)})


def feathered(days: int) -> FormatSample:
    """Feather with stamps that know their zone."""
    power = _plain(days)
    file = io.BytesIO()
    feather.write_feather(pa.Table.from_pandas(_frame(power)), file)
    return _sample("feather", "roof.feather", file.getvalue(), power)


def feathered_text(days: int) -> FormatSample:
    """Feather of texts, uncompressed, as somebody saved a CSV."""
    power = _plain(days)
    columns = {
        "measured_on": stamps(power, "%Y-%m-%d %H:%M:%S+00:00"),
        "ac_energy_wh": numbers(energy(power, 1000.0), 2),
    }
    file = io.BytesIO()
    feather.write_feather(pa.table(columns), file, compression="uncompressed")
    return _sample("feather-text", "roof.arrow", file.getvalue(), power)


def parquet(days: int) -> FormatSample:
    """Parquet with local stamps and W."""
    known = plant("denver", days)
    power = known.power(15)
    frame = pd.DataFrame(
        {"timestamp": power.index.tz_localize(None), "watts": power.to_numpy() * 1000.0}
    )
    file = io.BytesIO()
    frame.to_parquet(file, index=False)
    return _sample(
        "parquet",
        "roof.parquet",
        file.getvalue(),
        power,
        options={"timezone": known.timezone},
        schema={**SCHEMA, "timezone": known.timezone},
    )


def workbook_dates(days: int) -> FormatSample:
    """A workbook with dates and numbers as a spreadsheet keeps them."""
    known = plant("munich", days)
    power = known.power(15)
    dates = [each.tz_localize(None).to_pydatetime() for each in power.index]
    rows = zip(dates, [round(float(each), 4) for each in power], strict=True)
    content = workbook({"Sheet1": [["time", "power_kw"], *rows]})
    return _sample(
        "dates",
        "roof.xlsx",
        content,
        power,
        family="workbook",
        options={"timezone": known.timezone},
        schema={**SCHEMA, "timezone": known.timezone},
    )


def workbook_preamble(days: int) -> FormatSample:
    """A workbook with a cover sheet, a title, an empty row, and texts in its cells."""
    power = _plain(days)
    rows = zip(stamps(power, "%Y-%m-%dT%H:%M:%SZ"), numbers(power, 4), strict=True)
    content = workbook(
        {
            "Cover": [["Report for Maria Exempla"], ["Account", "9000012345"]],
            "Readings": [["Generation of June", None], [None, None], ["Time", "Power (kW)"], *rows],
        }
    )
    return _sample(
        "preamble",
        "report.xlsx",
        content,
        power,
        family="workbook",
        words=("sheet",),
        secrets=("Maria", "Exempla", "9000012345"),
    )


def workbook_apart(days: int) -> FormatSample:
    """A workbook with a column of dates and one of times of day."""
    known = plant("munich", days)
    power = known.power(15)
    rows = [
        [each.tz_localize(None).normalize().to_pydatetime(), each.time(), round(value * 250, 2)]
        for each, value in power.items()
    ]
    content = workbook({"Tabelle1": [["Datum", "Uhrzeit", "Energie (Wh)"], *rows]})
    return _sample(
        "date-and-time",
        "Ertrag.xlsx",
        content,
        power,
        family="workbook",
        options={"timezone": known.timezone},
        schema={
            **SCHEMA,
            "timezone": known.timezone,
            "date_column": "Datum",
            "time_column": "Uhrzeit",
            "power_column": "Energie (Wh)",
        },
    )


WRITERS = (
    gzipped,
    bzipped,
    xz,
    zipped,
    zipped_days,
    utf16_little,
    utf16_big,
    utf8_mark,
    feathered,
    feathered_text,
    parquet,
    workbook_dates,
    workbook_preamble,
    workbook_apart,
)
