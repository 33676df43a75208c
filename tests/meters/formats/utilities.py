"""Files of utilities, grid operators and researchers: rows of days, homes, registers, net meters.

Sources: Ausgrid's notes on its solar home data, PVOutput's forum for retailers' half hours, public
readers of Green Button and Pecan Street files, NAESB REQ.21 (ESPI).
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from .feeds import block, feed, meter_reading, reading_type
from .plant import KnownPlant
from .sample import Reading, Rows, Writer, answer, book, by_day, comma, having, lined, made, text

# One row a day. Ausgrid: a title, categories GG (gross generation), GC (consumption) and CL
# (controlled load), kWh, columns named by the end of their half hour. Columns that run from 1 or
# end at 24:00 name ends (HE01 ends at 1); those that begin with 0 or 0:00 name starts.
STANDARD = "Etc/GMT+7"
TITLE = "2012-2013 Solar home electricity data - please read the notes before using this data"


def _clock(minutes: int, *, first: int, form: str = "{:02d}:{:02d}", last: int = 0) -> list[str]:
    """Return the names of a day's columns; ``last`` is the hour that midnight is called."""
    hours = (divmod(each, 60) for each in range(first, first + 1440, minutes))
    return [form.format(last if hour == 24 else hour, minute) for hour, minute in hours]


def _ausgrid(name: str, categories: list[str], date: str, **facts: Any) -> Writer:
    quality = "," * (len(categories) > 1)
    fixed = "Customer,Generator Capacity,Postcode,Consumption Category,date"
    names = ",".join(_clock(30, first=30, form="{:d}:{:02d}"))
    header = f"{fixed},{names}{quality and ',Row Quality'}"

    def content(*homes: Rows) -> bytes:
        lines = []
        for home, rows in enumerate(homes, 1):
            for category in categories:
                for day, part in by_day(rows):
                    cells = [f"{r.kwh if category == 'GG' else 0.313:.4f}" for r in part]
                    fields = f"{home},7.20,2076,{category},{day.strftime(date).lstrip('0')}"
                    lines.append(f"{fields},{','.join(cells)}{quality}")
        return lined([TITLE + "," * 52, header], lines, end="\r\n")

    return made(
        *(f"ausgrid_{name}.csv", "sydney", 30, content),
        **having(shares=[("1", 1.0), ("2", 0.3)], label="end", label_said=True),
        **having(schema={"timezone": "Australia/Sydney"}, **facts),
    )


def _wide(
    name: str,
    place: str,
    minutes: int,
    head: str,
    row: Callable[[pd.Timestamp, Rows], str],
    *,
    clock: str,
    unit: str,
    end: str = "\n",
    more: dict[str, Any] | None = None,
    **facts: Any,
) -> Writer:
    schema = {"timezone": clock, "power_unit": unit, **(more or {})}

    def content(*homes: Rows) -> bytes:
        rows = [(day, number, row(day, part)) for number, home in enumerate(homes, 1)
                for day, part in by_day(home)]  # fmt: skip
        named = [f"m{number},{line}" if homes[1:] else line for _, number, line in sorted(rows)]
        return lined([head], named, end=end)

    return made(
        *(f"wide_{name}.csv", place, minutes, content),
        **having(clock=clock, zone=True, options={"power_unit": unit}, label_said=True),
        **{"schema": schema, **facts},
    )


def _cells(rows: Rows, cell: Callable[[Reading], str], separator: str = ",") -> str:
    return separator.join(map(cell, rows))


def _half_hours(day: pd.Timestamp, rows: Rows) -> str:
    """Return a day of a retailer's, consumption and generation in turn."""
    fields = f"4103111111,217000001,{{}},{day.day}/{day.month}/{day.year},No"
    used, given = "0.212" + ",0.212" * 47, _cells(rows, lambda r: f"{r.kwh:.4f}")
    return f"{fields.format('Consumption')},{used}\n{fields.format('Generation')},{given}"


WIDE = {
    "ausgrid_generation": _ausgrid("gg", ["GG"], "%d/%m/%Y"),
    # dates as in the first year's file
    "ausgrid_all": _ausgrid("all", ["GC", "CL", "GG"], "%d-%b-%y"),
    "ausgrid_no_clock": _ausgrid(
        *("no-clock", ["GC", "GG"], "%d/%m/%Y"),
        **having(zone=False, must_refuse=True, asks={"timezone": "Australia/Sydney"}),
    ),
    "hour_ending": _wide(
        *("he24", "denver", 60),
        ",".join(["Date", *(f"HE{hour:02d}" for hour in range(1, 25))]),
        lambda day, rows: f"{day:%Y-%m-%d}," + _cells(rows, lambda r: f"{r.kwh:.4f}"),
        **having(clock=STANDARD, unit="kWh", label="end"),
    ),
    "hour_numbers": _wide(
        *("numbers24", "denver", 60),
        ",".join(["Date", *map(str, range(1, 25))]),
        lambda day, rows: f"{day:%m/%d/%Y}," + _cells(rows, lambda r: f"{r.kwh:.4f}"),
        **having(clock=STANDARD, unit="kWh", label="end"),
    ),
    "hour_beginning": _wide(
        *("begin24", "denver", 60),
        ",".join(["day", *(f"{hour}:00" for hour in range(24))]),
        lambda day, rows: f"{day:%Y-%m-%d}," + _cells(rows, lambda r: f"{r.kw:.3f}"),
        **having(clock=STANDARD, unit="kW"),
    ),
    "quarters_of_homes": _wide(
        *("homes96", "denver", 15),
        ",".join(["meter_id", "date", *_clock(15, first=0)]),
        lambda day, rows: f"{day:%Y-%m-%d}," + _cells(rows, lambda r: f"{r.w:.1f}"),
        **having(clock=STANDARD, unit="W", shares=[("m1", 1.0), ("m2", 1.0 / 2), ("m3", 1.0 / 3)]),
    ),
    "quarters_ending": _wide(
        *("lastgang96", "munich", 15),
        ";".join(["Datum", *_clock(15, first=15, last=24)]),
        lambda day, rows: f"{day:%d.%m.%Y};" + _cells(rows, lambda r: comma(r.kwh, 4), ";"),
        **having(clock="Europe/Berlin", unit="kWh", end="\r\n", label="end", tolerance=0.0003),
        more={"decimal": ",", "separator": ";"},
    ),
    "half_hours": _wide(
        *("retailer48", "sydney", 30),
        "NMI,METER SERIAL NUMBER,CON/GEN,DATE,ESTIMATED?,"
        + ",".join(map(" - ".join, zip(_clock(30, first=0), _clock(30, first=30), strict=True))),
        _half_hours,
        **having(clock="Etc/GMT-10", unit="kWh", words=("system_column",), schema=None),
    ),
}

# A preamble with the customer's name above the table. A Green Button CSV begins with Name, Address,
# Account Number and Service and names the last minute of each interval as its end (00:14, 00:59).
NAME, ADDRESS, ACCOUNT = "Maria Exempla", "123 Example St, SAN JOSE CA 95124", "9000012345"
SECRETS = ("Maria", "Exempla", "Example St", ACCOUNT)
MINUTE = pd.Timedelta(minutes=1)


def _homes(
    name: str, place: str, minutes: int, head: str, lines: Callable[..., list[str]],
    column: str, homes: list[str], **facts: Any,
) -> Writer:  # fmt: skip
    """Return the writer of several homes in one file, each a smaller part of the plant."""
    return made(
        *(f"homes_{name}.csv", place, minutes),
        lambda *rows: lined([head], lines(dict(zip(homes, rows, strict=True)))),
        shares=[(home, 1.0 / (1 + number)) for number, home in enumerate(homes)],
        **having(asks={"system_column": column}, words=("system_column", column), **facts),
    )


def _shuffled(homes: dict[str, Rows]) -> list[str]:
    rows = [
        f"{home},{r.t:%Y-%m-%d %H:%M:%S},{r.kwh:.4f}" for home, rows in homes.items() for r in rows
    ]
    return [rows[each] for each in np.random.default_rng(5).permutation(len(rows))]


UTILITIES = {
    "generation": text(
        *("pge_interval_data.csv", "denver", 15),
        f'Name,{NAME}\nAddress,"{ADDRESS}"\nAccount Number,{ACCOUNT}\nService,1\n\n'
        "TYPE,DATE,START TIME,END TIME,GENERATION (kWh),COST,NOTES",
        lambda r: (
            f"Electric generation,{r.t:%Y-%m-%d,%H:%M},{r.end - MINUTE:%H:%M},{r.kwh:.4f},$0.12 ,"
        ),
        **having(encoding="utf-8-sig", tolerance=0.0003, label_said=True, secrets=SECRETS),
        declared=having(
            **having(skip_rows=5, date_column="DATE", time_column="START TIME"),
            **having(time_format="%Y-%m-%d %H:%M", power_column="GENERATION (kWh)"),
            **having(decimal=".", interval_minutes=15),
        ),
    ),
    # the unit in a column of its own, American dates without leading zeros
    "units_column": text(
        *("utility_hourly.csv", "denver", 60),
        f'Name:,{NAME}\nAddress:,"{ADDRESS}"\nAccount Number:,{ACCOUNT}\n\n'
        "TYPE,DATE,START TIME,END TIME,USAGE,UNITS",
        lambda r: (
            f"Solar generation,{r.t.month}/{r.t.day}/{r.t.year},{r.t.hour}:00,{r.t.hour}:59,"
            f"{r.kwh:.4f},kWh"
        ),
        **having(asks={"power_unit": "kWh"}, label_said=True, secrets=SECRETS),
        declared=having(
            **having(skip_rows=4, date_column="DATE", time_column="START TIME"),
            **having(time_format="%m/%d/%Y %H:%M", power_column="USAGE"),
            **having(decimal=".", interval_minutes=60),
        ),
    ),
    "german": text(
        *("Lastgang.csv", "munich", 15),
        f"Kunde;Maria Exempla\nStraße;Exempelgäßchen 12\nZählernummer;{ACCOUNT}\n"
        "OBIS-Kennzahl;1-1:2.29.0\n\nDatum;von;bis;Erzeugung (kWh);Status\n"
        "{t:%d.%m.%Y;%H:%M};{end:%H:%M};{kwh:.4c};W",
        **having(end="\r\n", encoding="cp1252", tolerance=0.0003),
        secrets=("Maria", "Exempla", "Exempelg", ACCOUNT),
        declared=having(
            **having(skip_rows=5, date_column="Datum", time_column="von"),
            **having(time_format="%d.%m.%Y %H:%M", power_column="Erzeugung (kWh)"),
            **having(decimal=",", separator=";", interval_minutes=15),
        ),
    ),
    # a preamble of prose that only the number of its lines shows to be no table
    "told_to_skip": text(
        *("report.csv", "denver", 15),
        f"Report for {NAME}, account {ACCOUNT}\nRequested on 2024-06-21 10:00, 12 pages\n"
        "Values are provisional\nInterval start,Generation kW\n{t:%Y-%m-%d %H:%M},{kw:.3f}",
        **having(asks={"skip_rows": 3}, secrets=SECRETS),
        declared=having(
            **having(time_column="Interval start", power_column="Generation kW"),
            **having(time_format="%Y-%m-%d %H:%M", decimal=".", interval_minutes=15),
        ),
    ),
    # which of three powers is the sun's has to be said
    "pecan": _homes(
        *("pecan", "denver", 15, "dataid,local_15min,grid,solar,air1"),
        lambda homes: [
            f"{home},{f'{r.t:%Y-%m-%d %H:%M:%S%z}'[:-2]},0.448,{r.kw:.3f},0.1"
            for home, rows in homes.items()
            for r in rows
        ],
        *("dataid", ["661", "1642", "2335"]),
        **having(zone=False, options={"power_column": "solar", "power_unit": "kW"}),
        declared=having(time_column="local_15min", decimal=".", interval_minutes=15),
    ),
    # homes in turn at every stamp, an id in the middle
    "by_time": _homes(
        *("in-turn", "munich", 30, "Zeitstempel;house_id;PV (W)"),
        lambda homes: sorted(
            f"{r.t:%Y-%m-%dT%H:%M:%S};{home};{r.w:.1f}" for home in homes for r in homes[home]
        ),
        *("house_id", ["haus-7", "haus-8"]),
        declared=having(
            **having(time_column="Zeitstempel", power_column="PV (W)"),
            **having(decimal=".", separator=";", interval_minutes=30),
        ),
    ),
    # rows in no order at all, customers by number
    "shuffled": _homes(
        *("shuffled", "denver", 60, "customer,reading_time,kwh", _shuffled),
        *("customer", ["10023", "10024", "10025"]),
        declared=having(
            **having(time_column="reading_time", power_column="kwh"),
            **having(decimal=".", interval_minutes=60),
        ),
    ),
}

# Registers only grow, or start again each midnight. Their stamp is an instant, and the energy of an
# interval the difference of the counts at its ends. Green Button XML counts intervals: UTC start,
# duration, a count whose unit (72 Wh, 38 W), power of ten and direction (19: towards the utility)
# its reading type says.


def _register(
    name: str, place: str, minutes: int, head: str, kind: str, lines: Any, **facts: Any
) -> Writer:
    time, power = head.split(",")
    schema = {"time_column": time, "power_column": power, "register": kind}
    zone = KnownPlant(place, 1).timezone
    return made(
        *(f"register_{name}.csv", place, minutes, lambda rows: lined([head], lines(rows))),
        **having(label_said=True, coverage=0.95, asks={"register": kind}),
        schema={"timezone": zone, **schema, "decimal": ".", "interval_minutes": minutes},
        **facts,
    )


def _today(rows: Rows) -> list[str]:
    return [f"{r.t:%Y-%m-%d %H:%M},{r.today - r.kwh:.4f}" for r in rows]


def _counts(rows: Rows, form: str, begin: float, scale: float, digits: int) -> list[str]:
    """Return a register at the start of each interval, and at the end of the last."""
    counts = [(rows[0].t, 0.0), *((r.end, r.total) for r in rows)]
    return [f"{time.strftime(form)},{begin + scale * count:.{digits}f}" for time, count in counts]


def _green(name: str, minutes: int, uom: int, multiplier: int, flow: int = 19) -> Writer:
    scale = (minutes / 60.0 if uom == 72 else 1.0) * 1000.0 / 10.0**multiplier
    sign = -1.0 if flow == 4 else 1.0  # delivered less received

    def content(rows: Rows) -> bytes:
        kind = reading_type(1, flow, powerOfTenMultiplier=multiplier, uom=uom)
        days: dict[int, list[tuple[object, int, object]]] = {}
        for r in rows:
            start = int(r.t.timestamp())
            reading = start, 60 * minutes, round(r.kw * sign * scale)
            days.setdefault(start // 86400, []).append(reading)
        blocks = [block(1, number, day) for number, day in enumerate(days.values())]
        return feed(kind, meter_reading(1, 1), *blocks).encode()

    return made(
        *(f"green_button_{name}.xml", "denver", minutes, content),
        **having(zone=False, net=flow == 4, tolerance=0.51 / scale, label_said=True, schema={}),
        coverage=0.99,  # a home that takes 999 W is taken for a logger without a reading
    )


REGISTERS = {
    "kilowatt_hours": _register(
        *("kwh", "munich", 15, "Time,Meter reading (kWh)", "cumulative"),
        lambda rows: _counts(rows, "%Y-%m-%d %H:%M", 18_233.4, 1.0, 4),
    ),
    # an inverter's lifetime energy in whole Wh
    "watt_hours": _register(
        *("wh", "denver", 60, "timestamp,lifetime_energy_wh", "cumulative"),
        lambda rows: _counts(rows, "%Y-%m-%dT%H:%M:%S", 0.0, 1000.0, 0),
        tolerance=0.0011,
    ),
    "daily": _register("daily", "munich", 15, "Time,Energy today (kWh)", "daily", _today),
    # under a name that could be any energy: never tens of kilowatts of power
    "daily_unsaid": _register("daily-unsaid", "munich", 15, "Time,Energy (kWh)", "daily", _today),
    "green_button_hours-wh": _green("hours-wh", 60, 72, 0),
    "green_button_quarters-milli": _green("quarters-milli", 15, 72, -3),
    "green_button_quarters-w": _green("quarters-w", 15, 38, 0),
    "green_button_net": _green("net", 60, 72, 0, flow=4),
}

# Net meters: what a home gives to the grid and what it takes, in one column or in two, called
# import and export, usage and received, or by OBIS codes: 1.8.0 is taken, 2.8.0 given.
NET_FACTS: dict[str, Any] = {"net": True, "declared": {}}


def _given(days: int) -> pd.Series:
    known = KnownPlant("denver", days)
    return (known.power(30) - known.load(30)).clip(lower=0.0)


def _obis(rows: Rows) -> bytes:
    """Return the two registers of a meter, which count up."""
    taken, given = 1e4, 7.0
    lines = [f"{rows[0].t:%Y-%m-%d %H:%M},{taken:.4f},{given:.4f}"]
    for r in rows:
        taken, given = taken + r.taken / 4, given + r.given / 4
        lines.append(f"{r.end:%Y-%m-%d %H:%M},{taken:.4f},{given:.4f}")
    return lined(["Time,1-0:1.8.0 (kWh),1-0:2.8.0 (kWh)"], lines)


def _parquet(rows: Rows) -> bytes:
    """Return a home's flows beside its generation, under names that only the curator knows."""
    columns = {
        "Time": [r.naive for r in rows],
        "PV (kW)": [r.kw for r in rows],
        "A+ (kW)": [r.taken for r in rows],
        "A- (kW)": [r.given for r in rows],
    }
    file = io.BytesIO()
    pd.DataFrame(columns).to_parquet(file)
    return file.getvalue()


def _grid_meter(rows: Rows) -> object:
    """Return SolarEdge's details of the meter at the grid."""
    flows = {"Purchased": [r.taken for r in rows], "FeedIn": [r.given for r in rows]}
    meters = [
        {
            "type": kind,
            "values": [
                {"date": f"{r.t:%Y-%m-%d %H:%M:%S}", "value": round(value / 4 * 1000.0, 2)}
                for r, value in zip(rows, values, strict=True)
            ],
        }
        for kind, values in flows.items()
    ]
    return {"energyDetails": {"timeUnit": "QUARTER_OF_AN_HOUR", "unit": "Wh", "meters": meters}}


def _day_rows(rows: Rows) -> bytes:
    """Return a row for each day and direction, with its 48 half hours."""
    lines = [
        f"{day:%Y-%m-%d},{kind},{_cells(part, cell)}"
        for kind, cell in (
            ("Import", lambda r: f"{r.taken:.4f}"),
            ("Export", lambda r: f"{r.given:.4f}"),
        )
        for day, part in by_day(rows)
    ]
    return lined([",".join(["Date", "Direction", *_clock(30, first=0)])], lines)


def _direction_rows(*homes: Rows) -> bytes:
    """Return two homes' readings, a row for each time and direction."""
    lines = []
    for home, rows in zip("ab", homes, strict=True):
        lines += [f"{home},{r.t:%Y-%m-%d %H:%M},delivered,{r.taken:.4f}" for r in rows]
        lines += [f"{home},{r.t:%Y-%m-%d %H:%M},received,{r.given:.4f}" for r in rows]
    return lined(["meter_id,time,flow,reading (kW)"], lines)


NET = {
    # beside what they cost
    "two_columns": text(
        *("net_two-columns.csv", "denver", 15, "Start Time,Import (kWh),Export (kWh),Cost ($)"),
        lambda r: (
            f"{r.t:%Y-%m-%d %H:%M},{r.taken / 4:.4f},{r.given / 4:.4f},{0.1 * (r.taken / 4):.4f}"
        ),
        **NET_FACTS,
    ),
    "german": text(
        *("net_german.csv", "munich", 15),
        "Zeitstempel;Bezug [W];Einspeisung [W]\n{t:%d.%m.%Y %H:%M};{taken_w:.1c};{given_w:.1c}",
        **having(net=True, encoding="latin-1", declared={"decimal": ","}),
    ),
    "obis": made("net_obis.csv", "munich", 15, _obis, label_said=True, coverage=0.95, **NET_FACTS),
    # what the home takes is positive: nights tell it, or the curator
    "signed": text(
        *("net_signed.csv", "denver", 60, "Time,Net usage (kW)\n{t:%Y-%m-%d %H:%M},{minus_kw:.4f}"),
        **having(net=True, declared={"net": True, "negate": True}),
    ),
    "export_alone": text(
        *("net_export.csv", "denver", 30, "Time,Export (kWh)\n{t:%Y-%m-%d %H:%M},{kwh:.5f}"),
        **having(power=_given, net=True, declared={}),
    ),
    "named": made(
        *("net_named.parquet", "denver", 15, _parquet),
        options={"export_column": "A- (kW)", "import_column": "A+ (kW)"},
        **NET_FACTS,
    ),
    # a home with a generation column too, asked for its net
    "sheet": book(
        *("net_sheet.xlsx", "denver", 60),
        {"Energy": [["Time", "Solar Production (kW)", "From Grid (kW)", "To Grid (kW)"]]},
        lambda r: [r.naive, round(r.kw + 1.0, 4), round(r.taken, 5), round(r.given, 5)],
        **having(options={"net": True}, **NET_FACTS),
    ),
    "solaredge": answer("net_solaredge.json", "munich", 15, _grid_meter, **NET_FACTS),
    "day_rows": made(
        *("net_days.csv", "denver", 30, _day_rows),
        **having(options={"power_unit": "kW"}, label_said=True, **NET_FACTS),
    ),
    "direction_rows": made(
        *("net_directions.csv", "denver", 60, _direction_rows),
        **having(shares=[("a", 1.0), ("b", 0.5)], **NET_FACTS),
    ),
}
