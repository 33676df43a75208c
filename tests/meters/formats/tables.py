"""Plain tables in which one thing is unusual: the wrapping, stamps, numbers, the language.

What they hold is what a CSV file could hold. RFC 1952 (gzip), RFC 8259 (JSON), ECMA-376 (XLSX),
Unicode's byte order marks and CLDR, Arrow's IPC file format, POSIX epochs, ISO 8601:2004's 24:00.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather

from .plant import KnownPlant
from .sample import Reading, Rows, Writer, answer, book, by_day, comma, having, lined, made, text

# Other wrappings.
QUARTERS = {"interval_minutes": 15}
POINT = {**QUARTERS, "decimal": "."}  # between tabs or semicolons it may be a comma
UTC: dict[str, Any] = {"clock": "UTC"}
HEAD = "time,power_kw"


def _plain_line(r: Reading) -> str:
    return f"{r.t:%Y-%m-%dT%H:%M:%SZ},{r.kw:.4f}"


def _csv(rows: Rows, end: str = "\n", encoding: str = "utf-8") -> bytes:
    return lined([HEAD], map(_plain_line, rows), end=end, encoding=encoding)


def _wrapped(
    file: str, wrap: Callable[[Rows], bytes], declared: Any = None, **facts: Any
) -> Writer:
    facts = {"declared": QUARTERS if declared is None else declared, **UTC, **facts}
    return made(file, "munich", 15, wrap, **facts)


def zip_of(files: Mapping[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2024, 6, 21, 0, 0, 0)), content)
    return file.getvalue()


def _days(rows: Rows) -> bytes:
    """Return a file for each day in folders by month, each naming its system: one record."""
    files = {}
    for day, part in by_day(rows):
        lines = [f"roof-3,{_plain_line(r)}" for r in part]
        files[f"data/{day:%Y-%m}/{day:%d}.csv"] = lined([f"system_id,{HEAD}"], lines)
    return zip_of(files)


def _feather(columns: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    feather.write_feather(pa.table(columns), file, **options)
    return file.getvalue()


def _aware(rows: Rows) -> bytes:
    frame = pd.DataFrame({"time": [r.t for r in rows], "power_kw": [round(r.kw, 4) for r in rows]})
    return _feather(pa.Table.from_pandas(frame))


def _texts(rows: Rows) -> bytes:
    """Return Feather of texts, uncompressed, as somebody saved a CSV."""
    columns = {
        "measured_on": [f"{r.t:%Y-%m-%d %H:%M:%S+00:00}" for r in rows],
        "ac_energy_wh": [f"{r.wh:.2f}" for r in rows],
    }
    return _feather(columns, compression="uncompressed")


def _parquet(rows: Rows) -> bytes:
    file = io.BytesIO()
    frame = pd.DataFrame({"timestamp": [r.naive for r in rows], "watts": [r.w for r in rows]})
    frame.to_parquet(file, index=False)
    return file.getvalue()


CONTAINERS = {
    "gzipped": _wrapped("roof.csv.gz", lambda rows: gzip.compress(_csv(rows), mtime=0)),
    "bzipped": _wrapped("roof.csv.bz2", lambda rows: bz2.compress(_csv(rows))),
    "xz": _wrapped("roof.csv.xz", lambda rows: lzma.compress(_csv(rows))),
    "zipped": _wrapped("roof.zip", lambda rows: zip_of({"roof.csv": _csv(rows)})),
    "zipped_days": _wrapped("export.zip", _days, shares=[("roof-3", 1.0)]),
    # as Windows' spreadsheets write "Unicode text"
    "utf16_little": _wrapped(
        "roof.txt",
        lambda rows: b"\xff\xfe" + _csv(rows, "\r\n", "utf-16-le").replace(b",", b"\t"),
        POINT,
    ),
    "utf16_big": _wrapped("roof.csv", lambda rows: b"\xfe\xff" + _csv(rows, "\n", "utf-16-be")),
    "utf8_mark": _wrapped(
        "roof.csv", lambda rows: b"\xef\xbb\xbf" + _csv(rows).replace(b",", b";"), POINT
    ),
    "feathered": _wrapped("roof.feather", _aware),
    "feathered_text": _wrapped("roof.arrow", _texts),
    "parquet": made("roof.parquet", "denver", 15, _parquet, declared=QUARTERS),
    "workbook_dates": book(
        *("roof.xlsx", "munich", 15, {"Sheet1": [["time", "power_kw"]]}),
        lambda r: [r.naive, round(r.kw, 4)],
        declared=QUARTERS,
    ),
    "workbook_preamble": book(
        *("report.xlsx", "munich", 15),
        {
            "Cover": [["Report for Maria Exempla"], ["Account", "9000012345"]],
            "Readings": [["Generation of June", None], [None, None], ["Time", "Power (kW)"]],
        },
        lambda r: _plain_line(r).split(","),
        **having(words=("sheet",), secrets=("Maria", "Exempla", "9000012345")),
        **having(declared=QUARTERS, **UTC),
    ),
    "workbook_apart": book(
        *("Ertrag.xlsx", "munich", 15, {"Tabelle1": [["Datum", "Uhrzeit", "Energie (Wh)"]]}),
        lambda r: [
            r.t.tz_localize(None).normalize().to_pydatetime(),
            r.t.time(),
            round(r.kw * 250, 2),
        ],
        declared=having(
            **having(date_column="Datum", time_column="Uhrzeit", power_column="Energie (Wh)"),
            interval_minutes=15,
        ),
    ),
}


def _json_lines(*homes: Rows) -> bytes:
    """Return an object a line, two systems in turn, some values null."""
    return lined(
        json.dumps(
            {
                "system_id": home,
                "time": f"{r.t:%Y-%m-%dT%H:%M:%S+00:00}",
                "energy_kwh": None if pair[0].dark else round(r.kwh, 5),
            }
        )
        for pair in zip(*homes, strict=True)
        for home, r in zip("ab", pair, strict=True)
    )


def _wrapped_rows(rows: Rows) -> object:
    """Return an object with the list in ``data``, beside what else an interface answers."""
    data = [
        {"timestamp": int(r.t.timestamp()), "temperature": 21.5, "power_w": round(r.kw * 1000, 1)}
        for r in rows
    ]
    return {"status": "ok", "count": len(rows), "data": data, "next": None}


JSON = {
    "records": answer(
        *("roof.json", "munich", 15),
        lambda rows: [
            {"time": f"{r.t:%Y-%m-%dT%H:%M:%SZ}", "power_kw": round(r.kw, 4)} for r in rows
        ],
        **having(declared=QUARTERS, **UTC),
    ),
    "wrapped": answer(
        *("answer.json", "munich", 15, _wrapped_rows),
        **having(indent=1, asks={"power_column": "power_w"}, declared=QUARTERS, **UTC),
    ),
    "lines": made(
        *("roofs.jsonl", "munich", 15, _json_lines),
        **having(shares=[("a", 1.0), ("b", 0.5)], lit=True, declared=QUARTERS, **UTC),
    ),
}

# How stamps are written.
STAMP = "%Y-%m-%d %H:%M"


def _epoch(unit: str, scale: int) -> Writer:
    return text(
        *(f"stamps_epoch-{unit}.csv", "munich", 15, HEAD),
        lambda r: f"{int(r.t.timestamp()) * scale},{r.kw:.4f}",
        **having(declared=QUARTERS, **UTC),
    )


def _day_end(r: Reading) -> str:
    """Return a quarter that ends at its stamp, the last of a day at 24:00."""
    stamp = f"{r.end:%d.%m.%Y %H:%M}"
    if r.end.hour == r.end.minute == 0:
        stamp = f"{r.t:%d.%m.%Y} 24:00"
    return f"{stamp};{comma(r.kwh, 5)}"


def _saving(days: int) -> pd.Series:
    """Return hours in which the clock on the wall jumps forward."""
    power = KnownPlant("munich", 100).power(60)
    return power[power.index >= pd.Timestamp("2024-03-28", tz="Europe/Berlin")][: 24 * max(days, 5)]


def _ambiguous(days: int) -> pd.Series:
    """Return 3 to 11 June: every date is one of March to November too, 06/03 to 06/11."""
    power = KnownPlant("denver", 20).power(60)
    first, end = (pd.Timestamp(f"2024-06-{day}", tz="America/Denver") for day in ("03", "13"))
    return power[(power.index >= first) & (power.index < end)][: 24 * max(2, min(days, 9))]


STAMPS = {
    "epoch_seconds": _epoch("seconds", 1),
    "epoch_milliseconds": _epoch("milliseconds", 10**3),
    "epoch_microseconds": _epoch("microseconds", 10**6),
    "epoch_nanoseconds": _epoch("nanoseconds", 10**9),
    "apart": text(
        *("stamps_date-and-time.csv", "denver", 15),
        "Date,Time,Power (kW)\n{t:%m/%d/%Y,%I:%M:%S %p},{kw:.4f}",
        declared=having(
            **having(date_column="Date", time_column="Time", power_column="Power (kW)"),
            **having(time_format="%m/%d/%Y %I:%M:%S %p", **POINT),
        ),
    ),
    # names that nobody knows: both must be given
    "apart_unnamed": text(
        *("stamps_apart-named.csv", "munich", 15),
        "dzien,godzina,moc_kw\n{t:%Y-%m-%d,%H:%M},{kw:.4f}",
        **having(asks={"date_column": "dzien", "time_column": "godzina"}, words=("date_column",)),
        declared=having(power_column="moc_kw", power_unit="kW", time_format=STAMP, **QUARTERS),
    ),
    "day_end": text(
        *("stamps_24-oclock.csv", "munich", 15, "Zeit;Energie kWh", _day_end),
        label="end",
        declared=having(
            **having(time_column="Zeit", power_column="Energie kWh", time_format="%d.%m.%Y %H:%M"),
            **having(decimal=",", separator=";", **QUARTERS),
        ),
    ),
    "saving": text(
        *("stamps_daylight-saving.csv", "munich", 60),
        "Time,Power [kW]\n{t:%Y-%m-%d %H:%M},{kw:.4f}",
        **having(
            power=_saving, declared=having(time_format=STAMP, decimal=".", interval_minutes=60)
        ),
    ),
    "ambiguous": text(
        *("stamps_which-is-the-month.csv", "denver", 60),
        "Time,Power [kW]\n{t:%m/%d/%Y %H:%M},{kw:.4f}",
        **having(power=_ambiguous, asks={"time_format": "%m/%d/%Y %H:%M"}),
        declared=having(decimal=".", interval_minutes=60),
    ),
}

# How numbers are written: thousands parted by a comma, a point, an apostrophe or a narrow space;
# decimal commas wherever thousands have points or spaces; units in cells.


def _numbers(
    name: str,
    place: str,
    head: str,
    cell: str,
    marks: str = ",.",
    *,
    minutes: int = 15,
    scale: float = 1.0,
    tolerance: float = 0.001,
    asks: dict[str, str] | None = None,
    **declared: str,
) -> Writer:
    """Return the writer of numbers with a mark between thousands and one before decimals."""
    separator, power = head[0], head[1:]
    marked = str.maketrans(dict(zip(",.", marks, strict=True)))

    def line(r: Reading) -> str:
        own = cell if cell != DISPLAY else "{w:.0f} W" if r.kw < 1.0 else "{kw:.3f} kW"
        return f"{r.t:{STAMP}}{separator}{own.format_map(r).translate(marked)}"

    return text(
        *(f"numbers_{name}.csv", place, minutes, f"Timestamp{head}", line),
        **having(scale=scale, tolerance=tolerance, asks=asks),
        declared=having(time_column="Timestamp", time_format=STAMP, power_column=power)
        | having(separator=separator, interval_minutes=minutes, **declared),
    )


DISPLAY = "W below one kilowatt, kW above it"
NUMBERS = {
    "american": _numbers("american", "denver", ",Power (W)", '"{w:,.1f}"', decimal="."),
    # a reader that drops points only would make it a thousand times too large
    "german": _numbers("german", "munich", ";Leistung (W)", "{w:,.1f}", ".,", decimal=","),
    "french": _numbers("french", "munich", ";Puissance (W)", "{w:,.1f}", "\u202f,", decimal=","),
    "swiss": _numbers("swiss", "munich", ";Leistung (W)", "{w:,.1f}", "'.", decimal="."),
    # "1.234" for one thousand two hundred and thirty-four, beside "87" and "0"
    "whole_thousands": _numbers(
        *("whole-thousands", "munich", ";Leistung (W)", "{w:,.0f}", ".,"), asks={"decimal": ","}
    ),
    "units_in_cells": _numbers(
        "unit-in-cells", "denver", ",Production", "{w:.1f} W", power_unit="W"
    ),
    "changing_units": _numbers(
        "two-units-in-cells", "denver", ",Production", DISPLAY, power_unit="W"
    ),
    "energy_in_cells": _numbers(
        *("energy-in-cells", "munich", ";Ertrag", "{kwh:.4f} kWh", ".,"),
        **having(power_unit="kWh", decimal=",", tolerance=0.0003),
    ),
    # a park
    "megawatts": _numbers(
        "megawatts", "denver", ",Output (MW)", "{mw:.6f}", scale=1000.0, decimal="."
    ),
    "megawatt_hours": _numbers(
        *("megawatt-hours", "denver", ",net_generation_mwh", "{mwh:.6f}"),
        **having(minutes=60, scale=1000.0, decimal="."),
    ),
}


def _foreign(
    name: str,
    head: str,
    form: str,
    cell: str,
    *,
    separator: str = ";",
    decimal: str = ",",
    encoding: str = "utf-8",
) -> Writer:
    time, power = head.split(separator)
    return text(
        *(f"language_{name}.csv", "munich", 15, f"{head}\n{{t:{form}}}{separator}{cell}"),
        encoding=encoding,
        declared=having(
            **having(time_column=time, power_column=power, time_format=form),
            **having(decimal=decimal, separator=separator, interval_minutes=15),
        ),
    )


def _among_others(rows: Rows) -> bytes:
    """Return temperature and irradiance before the power, the stamps last."""
    lines = [
        f"{20.0 + 8.0 * np.sin(n / 96.0 * 2 * np.pi):.2f},{r.kw * 180.0:.1f},{r.w:.1f},"
        f"{r.t:%Y-%m-%d %H:%M:%S}"
        for n, r in enumerate(rows)
    ]
    return lined(["Temp (°C),Irradiance (W/m2),AC Power (W),Timestamp"], lines)


SLASHES = "%d/%m/%Y %H:%M"
LANGUAGES = {
    "latin1": _foreign(
        *("latin1", "Zeitpunkt;Leistung Süddach [kW]", "%d.%m.%Y %H:%M", "{kw:.5c}"),
        encoding="latin-1",
    ),
    "spanish": _foreign("spanish", "Fecha y hora;Producción (kWh)", SLASHES, "{kwh:.5c}"),
    "french": _foreign("french", "Horodatage;Énergie produite (Wh)", SLASHES, "{wh:.5c}"),
    "dutch": _foreign("dutch", "Tijd;Opbrengst (Wh)", "%d-%m-%Y %H:%M", "{wh:.5c}"),
    "italian": _foreign(
        *("italian", "Data e ora\tPotenza (W)", SLASHES, "{w:.5c}"), separator="\t"
    ),
    "polish": _foreign(
        *("polish", "Data|Moc [kW]", STAMP, "{kw:.5f}"),
        **having(separator="|", decimal=".", encoding="cp1250"),
    ),
    "among_others": made(
        *("language_columns-in-another-order.csv", "denver", 15, _among_others),
        **having(
            asks={"power_column": "AC Power (W)"}, declared=having(time_column="Timestamp", **POINT)
        ),
    ),
}
