"""Exports of inverters and their portals, and Australia's NEM12.

As public readers and writers of these files and the published descriptions of the interfaces have
them: Sunny Explorer and SBFspot, Sunny Portal, Solar.web, Enlighten, SolarEdge, PVOutput, AEMO's
MDFF.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .sample import Reading, Rows, Writer, answer, book, by_day, comma, having, lined, made, text

# SMA. Sunny Explorer and its imitators: the file's properties, then devices, quantities and kinds,
# and last the form of the stamps and the units. Power is the yield since the stamp before, so
# stamps name ends. An inverter's own pages write "CSV3", units in brackets and NaN at night.
SERIAL = "2130005541"
EXPLORER = f"""sep=;
Version CSV1|Tool SE|Linebreaks CR/LF|Delimiter semicolon|Decimalpoint dot|Precision 3

;SN: {SERIAL};SN: {SERIAL}
;SB 4000TL-21;SB 4000TL-21
;{SERIAL};{SERIAL}
;Total yield;Power
;Counter;Analog
dd/MM/yyyy HH:mm:ss;kWh;kW"""
GERMAN_EXPLORER = (
    EXPLORER.replace("dot", "comma")
    .replace("Total yield;Power", "Gesamtertrag;Leistung")
    .replace("dd/MM/yyyy", "dd.MM.yyyy")
)
SPOT = (
    EXPLORER.replace(";", ",")
    .replace("semicolon", "comma")
    .replace("Tool SE", "Tool SBFspot3.9.7 (Linux)")
    .replace("CR/LF", "LF")
)
MONTH = EXPLORER.replace(";Power", ";Day yield").replace(" HH:mm:ss", "") + "h"
TWO_INVERTERS = """sep=;
Version CSV1|Tool SE|Linebreaks CR/LF|Delimiter semicolon|Decimalpoint comma|Precision 3

;SN: 2100070361;SN: 2100070361;SN: 2100070559;SN: 2100070559
;SB 4000TL-20;SB 4000TL-20;SB 4000TL-20;SB 4000TL-20
;2100070361;2100070361;2100070559;2100070559
;Gesamtertrag;Leistung;Gesamtertrag;Leistung
;Counter;Analog;Counter;Analog
dd.MM.yyyy HH:mm:ss;kWh;kW;kWh;kW"""
PAGES = f"""sep=,
Version CSV3|Tool WebUI|Linebreaks CR/LF|Delimiter comma

{",STP6.0-3AV-40 033" * 7}
{",SUNNY TRIPOWER 6.0" * 7}
{f",{SERIAL}" * 7}
,Metering.TotWhOut,Operation.Evt.Msg,GridMs.Hz (Avg),GridMs.TotW (Avg),GridMs.W.phsA (Avg)\
,DcMs.Watt (Avg),DcMs.Vol (Avg)
,Analog,Status,Analog,Analog,Analog,Analog,Analog
DD.MM.YYYY hh:mm:ss,[Wh],,[Hz],[W],[W],[W],[V]"""


def _pages_row(r: Reading) -> str:
    night = r.dark
    power, third = ("NaN" if night else f"{each:.0f}" for each in (r.w, r.w / 3))
    direct = "NaN,NaN" if night else "153,370.15"
    count = f"{35_596_202 + r.total * 1000.0:.0f}"
    return f"{r.end:%d.%m.%Y %H:%M:%S},{count},NoneMsg,50.00,{power},{third},{direct}"


def _two_inverters(one: Rows, other: Rows) -> bytes:
    rows = []
    for pair in zip(one, other, strict=True):
        cells = (f"{comma(70_000 + r.total, 3)};{comma(r.kw, 3)}" for r in pair)
        rows.append(";".join([f"{pair[0].end:%d.%m.%Y %H:%M:%S}", *cells]))
    return lined(TWO_INVERTERS.split("\n"), rows, end="\r\n")


SMA = {
    "english": text(
        *("sma_explorer-20240620.csv", "munich", 5, EXPLORER),
        "{end:%d/%m/%Y %H:%M:%S};{count:.3f};{kw:.3f}",
        **having(end="\r\n", label="end", declared={}, secrets=(SERIAL,)),
    ),
    # a space before each number
    "german": text(
        *("Anlage-Tag.csv", "munich", 5, GERMAN_EXPLORER),
        "{end:%d.%m.%Y %H:%M:%S}; {count:.3c}; {kw:.3c}",
        **having(end="\r\n", label="end", declared={}, secrets=(SERIAL,)),
    ),
    # no rows at night
    "spot": text(
        *("MyPlant-20240620.csv", "denver", 5, SPOT),
        lambda r: None if r.dark else f"{r.end:%d/%m/%Y %H:%M:%S},{r.count:.3f},{r.kw:.3f}",
        **having(lit=True, label="end", declared={}),
    ),
    # one yield a day, which no plane can be inferred from
    "month": text(
        *("sma-202406.csv", "munich", 1440, MONTH, "{t:%d/%m/%Y};{count:.3f};{kwh:.3f}"),
        **having(end="\r\n", must_refuse=True, words=("minutes",)),
    ),
    # the counter goes on through the night, where the power is NaN, in whole Wh of 5 minutes
    "web": text(
        *("SUNNY_TRIPOWER_6.0_5Min.csv", "munich", 5, PAGES, _pages_row),
        **having(end="\r\n", label="end", secrets=(SERIAL,), tolerance=0.0125),
        coverage=lambda rows: np.mean([not r.dark for r in rows]),
        **having(asks={"power_column": "GridMs.TotW (Avg)"}, declared={}),
    ),
    # neither of two inverters is the plant, and one of them must not pass for it
    "two_inverters": made(
        *("zwei-wechselrichter.csv", "munich", 5, _two_inverters),
        **having(shares=[(None, 0.6), (None, 0.4)], label="end", words=("power_column",)),
    ),
}

# Sunny Portal: a line of "plant / quantity / Mean Values [kW]" whose first cell is empty; stamps
# follow the account's country and name ends. A day's chart holds times alone.
_TIMES_ALONE = text(
    *("Roof_Analysis_2024_06_20.csv", "denver", 15),
    ";Roof / Power / Mean Values [kW]\n{end:%I:%M %p};{kw:.3f}",
    **having(must_refuse=True, words=("date",)),
)
SUNNY_PORTAL = {
    "portal": text(
        *("Sunny_Portal_Analyse.csv", "munich", 15),
        ";Dach Süd / Leistung / Mittelwerte  [kW]\n{end:%d.%m.%Y %H:%M};{kw:.3c}",
        **having(end="\r\n", encoding="utf-8-sig", label="end"),
        declared=having(
            time_format="%d.%m.%Y %H:%M", decimal=",", separator=";", interval_minutes=15
        ),
    ),
    "portal_english": text(
        *("Energy_and_Power.csv", "denver", 15),
        ";My Roof / Total yield / Difference values [kWh]\n{end:%m/%d/%Y %I:%M %p};{kwh:.4f}",
        **having(tolerance=0.0003, label="end"),
        declared=having(
            time_format="%m/%d/%Y %I:%M %p", decimal=".", separator=";", interval_minutes=15
        ),
    ),
    "portal_day": lambda days: _TIMES_ALONE(1),
}

# Fronius Solar.web: a line of names, then one of formats and units in brackets; workbooks hold the
# same rows on one sheet.
FRONIUS = {
    "german_csv": text(
        *("solarweb_2024.csv", "munich", 5),
        "Datum und Uhrzeit;PV Produktion\n[dd.MM.yyyy HH:mm];[Wh]\n{t:%d.%m.%Y %H:%M};{wh:.2c}",
        **having(end="\r\n", encoding="utf-8-sig"),
        declared=having(decimal=",", interval_minutes=5),
    ),
    "english_csv": text(
        *("Energy_balance.csv", "denver", 5),
        "Date and time,Consumption,PV production\n[MM/dd/yyyy HH:mm],[Wh],[Wh]\n"
        "{t:%m/%d/%Y %H:%M},31.25,{wh:.2f}",
        asks={"power_column": "PV production"},
        declared=having(decimal=".", interval_minutes=5),
    ),
    "german_workbook": book(
        *("Solarweb_Export.xlsx", "munich", 5),
        {
            "Daten": [
                ["Datum und Uhrzeit", "Energie | Symo 8.2-3-M (1)", "PV Produktion"],
                ["[dd.MM.yyyy HH:mm]", "[Wh]", "[Wh]"],
            ]
        },
        lambda r: [f"{r.t:%d.%m.%Y %H:%M}", round(r.wh, 2), round(r.wh, 2)],
        **having(asks={"power_column": "PV Produktion"}, declared={"interval_minutes": 5}),
    ),
    # stamps as a spreadsheet's own dates
    "english_workbook": book(
        *("Solarweb_Export_en.xlsx", "munich", 15),
        {"Data": [["Date and time", "PV power"], ["[dd.MM.yyyy HH:mm]", "[W]"]]},
        lambda r: [r.naive, round(r.w, 1)],
        declared={"interval_minutes": 15},
    ),
}

# Enphase: Enlighten's reports, with thousands in quotation marks and a last row "Total", and what
# its interface answers: "end_at" since 1970, mean "powr" in W, "enwh" or "wh_del" in Wh.
PRODUCED = "Date/Time,Energy Produced (Wh)"
STATUS = {"status": "normal", "last_report_at": 1718949600}


def _quoted(count: int) -> str:
    return f'"{count:,}"' if count > 999 else str(count)


def _all_flows(r: Reading) -> str:
    wh = round(r.wh)
    cells = ",".join(map(_quoted, (wh, 413, max(wh - 413, 0), max(413 - wh, 0))))
    return f"{r.t:%m/%d/%Y %H:%M},{cells}"


def _sum(rows: Rows) -> int:
    return sum(round(r.wh) for r in rows)


def _interval(r: Reading, devices: int) -> dict[str, int]:
    end = int(r.end.timestamp())
    return {"end_at": end, "devices_reporting": devices, "powr": round(r.w), "enwh": round(r.wh)}


def _telemetry(rows: Rows) -> dict[str, Any]:
    return {
        "system_id": 1234567,
        "granularity": "week",
        "total_devices": 1,
        "start_at": int(rows[0].t.timestamp()),
        "end_at": int(rows[-1].end.timestamp()),
        "items": "intervals",
        "intervals": [_interval(r, 1) for r in rows],
        "meta": {**STATUS, "operational_at": 1543708800},
    }


def _meters(rows: Rows) -> dict[str, Any]:
    intervals = [
        {"end_at": int(r.end.timestamp()), "channels_reporting": 1, "wh_del": round(r.wh, 1)}
        for r in rows
    ]
    return {
        "system_id": 66,
        "total_devices": 1,
        "meta": {"status": "normal"},
        "intervals": intervals,
        "meter_intervals": [{"meter_serial_number": "1218347675", "intervals": intervals}],
    }


BY_DEFINITION: dict[str, Any] = {"zone": False, "label_said": True, "schema": {}}
ENPHASE = {
    "offsets": text(
        *("9999999_site_energy_production_report.csv", "denver", 15, PRODUCED),
        "{t:%Y-%m-%d %H:%M:%S %z},{wh:.0f}",
        below=lambda rows: f"Total,{_sum(rows)}",
        **having(tolerance=0.0021, zone=False, declared=having(interval_minutes=15, decimal=".")),
    ),
    "all_flows": text(
        *("9999998_custom_report.csv", "denver", 60),
        f"{PRODUCED},Energy Consumed (Wh),Exported to Grid (Wh),Imported from Grid (Wh)",
        _all_flows,
        below=lambda rows: f'Total,"{_sum(rows):,}","{413 * len(rows):,}",,',
        asks={"power_column": "Energy Produced (Wh)"},
        declared=having(time_format="%m/%d/%Y %H:%M", decimal=".", interval_minutes=60),
    ),
    "day_first": text(
        *("1234567_energy.csv", "munich", 15, PRODUCED),
        lambda r: f"{r.t:%d/%m/%Y %H:%M},{_quoted(round(r.wh))}",
        below=lambda rows: f'Total,"{_sum(rows):,}"',
        **having(end="\r\n", tolerance=0.0021),
        declared=having(time_format="%d/%m/%Y %H:%M", decimal=".", interval_minutes=15),
    ),
    # one energy a day
    "daily": text(
        *("9999999_daily.csv", "denver", 1440, PRODUCED, "{t:%m/%d/%Y},{wh:.0f}"),
        below=lambda rows: f"Total,{sum(r.wh for r in rows):.0f}",
        **having(must_refuse=True, words=("minutes",)),
    ),
    "telemetry": answer(
        *("production_meter.json", "denver", 15, _telemetry),
        **having(tolerance=0.0021, label="end", **BY_DEFINITION),
    ),
    # version 2 of the interface, indented, the metadata first
    "stats": answer(
        *("stats.json", "denver", 5),
        lambda rows: {
            "system_id": 66,
            "total_devices": 24,
            "meta": {**STATUS, "operational_at": 1357023600},
            "intervals": [_interval(r, 24) for r in rows],
        },
        **having(indent=2, tolerance=0.0061, label="end", **BY_DEFINITION),
    ),
    "meters": answer(
        *("rgm_stats.json", "denver", 15, _meters),
        **having(label="end", secrets=("1218347675",), **BY_DEFINITION),
    ),
}

# SolarEdge: "values" of a date on the site's clock and a value, null where nothing was measured;
# details list meters by their type. Charts have "Time" and a column per series.
QUARTER = "QUARTER_OF_AN_HOUR"
CHART = having(time_format="%m/%d/%Y %H:%M", decimal=".", interval_minutes=15)


def _values(rows: Rows, numbers: list[float]) -> dict[str, Any]:
    return {
        "values": [
            {"date": f"{r.t:%Y-%m-%d %H:%M:%S}", "value": None if r.dark else round(value, 2)}
            for r, value in zip(rows, numbers, strict=True)
        ]
    }


def _watts(rows: Rows) -> dict[str, Any]:
    return _values(rows, [r.w for r in rows])


def _watt_hours(rows: Rows) -> dict[str, Any]:
    return _values(rows, [r.wh for r in rows])


def _used(rows: Rows) -> dict[str, Any]:
    return _values(rows, [320.0] * len(rows))


SOLAREDGE = {
    "power_json": answer(
        *("site_power.json", "munich", 15),
        lambda rows: {
            "power": {"timeUnit": QUARTER, "unit": "W", "measuredBy": "INVERTER", **_watts(rows)}
        },
        **having(lit=True, declared={}),
    ),
    "energy_json": answer(
        *("site_energy.json", "munich", 60),
        lambda rows: {
            "energy": {"timeUnit": "HOUR", "unit": "Wh", "measuredBy": "METER", **_watt_hours(rows)}
        },
        **having(lit=True, declared={}),
    ),
    # production beside consumption, which is listed first
    "power_details": answer(
        *("site_powerDetails.json", "munich", 15),
        lambda rows: {
            "powerDetails": {
                "timeUnit": QUARTER,
                "unit": "W",
                "meters": [
                    {"type": "Consumption", **_used(rows)},
                    {"type": "Production", **_watts(rows)},
                ],
            }
        },
        **having(lit=True, declared={}),
    ),
    "energy_details": answer(
        *("site_energyDetails.json", "munich", 15),
        lambda rows: {
            "energyDetails": {
                "timeUnit": QUARTER,
                "unit": "Wh",
                "meters": [{"type": "Production", **_watt_hours(rows)}],
            }
        },
        **having(lit=True, declared={}),
    ),
    "chart": text(
        *("Chart.csv", "denver", 15, "Time,System Production (W)\n{t:%m/%d/%Y %H:%M},{w:.3f}"),
        declared=CHART,
    ),
    "chart_of_all": text(
        *("Chart (1).csv", "denver", 15),
        "Time,Consumption (W),System Production (W),StoragePower.Power (W),Export (W)\n"
        "{t:%m/%d/%Y %H:%M},250.5,{w:.3f},250.5,250.5",
        **having(asks={"power_column": "System Production (W)"}, declared=CHART),
    ),
    "chart_energy": text(
        *("Chart_energy.csv", "munich", 15),
        '"Time","Energy (Wh)"\n"{t:%d/%m/%Y %H:%M}","{wh:.2f}"',
        **having(end="\r\n", declared={**CHART, "time_format": "%d/%m/%Y %H:%M"}),
    ),
}

# PVOutput: rows without a header, newest first, date and time apart: date, time, energy since
# midnight [Wh], efficiency, power [W], mean power, normalised output, energy and power used,
# temperature, voltage. The page's own table writes units into its cells.
NUMBERED: dict[str, Any] = {
    "asks": {"power_column": "5", "power_unit": "W"},
    "words": ("power_column",),
    "declared": {"date_column": "1", "time_column": "2"},
}


def _history(r: Reading) -> str:
    return (
        f"{r.t:%Y%m%d,%H:%M},{r.today * 1000.0:.0f},2.199,{r.w:.0f},{r.w:.0f},0.280,15409,NaN,"
        "27.0,240.7"
    )


PVOUTPUT = {
    "history": text(
        *("getstatus.csv", "sydney", 5, "", _history), **having(newest_first=True, **NUMBERED)
    ),
    # as it comes over the wire
    "one_line": made(
        *("getstatus.txt", "sydney", 5),
        lambda rows: ";".join(_history(r) for r in rows[::-1]).encode(),
        **NUMBERED,
    ),
    "page": text(
        *("intraday.csv", "sydney", 5),
        '{t:%d/%m/%y,%I:%M%p},"{today:.3f}kWh",0.561kWh/kW,"{w:,.0f}W",-',
        **having(newest_first=True, asks={"power_column": "5"}),
        declared={**NUMBERED["declared"], "power_unit": "W"},
    ),
    # named by somebody: energy since midnight beside power
    "named": text(
        *("pvoutput_live.csv", "sydney", 5),
        "Date,Time,Energy (Wh),Power (W)\n{t:%Y%m%d,%H:%M},{today_wh:.0f},{w:.0f}",
        **having(newest_first=True, asks={"power_column": "Power (W)"}),
        declared=having(
            **having(date_column="Date", time_column="Time", time_format="%Y%m%d %H:%M"),
            **having(decimal=".", interval_minutes=5),
        ),
    ),
}

# NEM12 of Australia's market operator. Records begin with their kind: 100 the file, 200 a stream
# (NMI, configuration, ..., unit, interval length), 300 a day of it, 400 events of a day of variable
# quality, 900 the end. Suffixes E are consumption, B generation; the clock is UTC+10 always.
MARKET: dict[str, Any] = {"clock": "Etc/GMT-10", **BY_DEFINITION}


def _stream(
    nmi: str,
    unit: str,
    rows: Rows,
    cells: list[str],
    *,
    suffix: str = "B1",
    suffixes: str = "",
    events: bool = False,
) -> list[str]:
    minutes = (rows[0].end - rows[0].t).seconds // 60
    lines = [f"200,{nmi},{suffixes or suffix},1,{suffix},N1,01009,{unit},{minutes},20240710"]
    size = 1440 // minutes
    for number, (day, _) in enumerate(by_day(rows)):
        uneven = events and number == 0
        own = ",".join(cells[number * size : (number + 1) * size])
        lines.append(f"300,{day:%Y%m%d},{own},{'V' if uneven else 'A'},,,20240621000000,")
        if uneven:
            lines.append(f"400,1,{size // 2},A,,")
            lines.append(f"400,{size // 2 + 1},{size},S14,79,POWER DOWN")
    return lines


def _nem12(*streams: list[str]) -> bytes:
    return lined(["100,NEM12,202406211149,UNITEDDP,NEMMCO"], *streams, ["900"], end="\r\n")


def _two_meters(large: Rows, small: Rows) -> bytes:
    """Return two sites, one after the other, in MWh and in kWh."""
    return _nem12(
        _stream("NEM1200001", "MWh", large, [f"{r.kwh * 1e-3:.8f}" for r in large]),
        _stream("NEM1200002", "kWh", small, [f"{r.kwh:.5f}" for r in small]),
    )


def _net(rows: Rows) -> bytes:
    taken, given = ([f"{r.taken / 2:.4f}" for r in rows], [f"{r.given / 2:.4f}" for r in rows])
    return _nem12(
        _stream("NEM1201010", "KWH", rows, taken, suffix="E1", suffixes="E1B1"),
        _stream("NEM1201010", "KWH", rows, given, suffix="B1", suffixes="E1B1"),
    )


def _consumption(rows: Rows) -> bytes:
    used = [f"{0.2 + 0.1 * np.sin(number):.4f}" for number in range(len(rows))]
    return _nem12(_stream("NEM1201011", "KWH", rows, used, suffix="E1"))


NEM12 = {
    "generation": made(
        *("nem12_roof.csv", "sydney", 30),
        lambda rows: _nem12(_stream("NEM1201009", "KWH", rows, [f"{r.kwh:.4f}" for r in rows])),
        **having(shares=[("NEM1201009", 1.0)], **MARKET),
    ),
    # a day of variable quality and its events
    "quarters": made(
        *("4103000001_20240609_20240620.csv", "sydney", 15),
        lambda rows: _nem12(
            _stream("4103000001", "Wh", rows, [f"{r.wh:.1f}" for r in rows], events=True)
        ),
        **having(shares=[("4103000001", 1.0)], **MARKET),
    ),
    "two_meters": made(
        *("NEM12#5MIN#SITES.csv", "sydney", 5, _two_meters),
        **having(shares=[("NEM1200001", 1.0), ("NEM1200002", 0.4)], **MARKET),
    ),
    "net": made(
        *("nem12_home.csv", "sydney", 30, _net),
        **having(net=True, shares=[("NEM1201010", 1.0)], **MARKET),
    ),
    "consumption": made(
        *("nem12_usage.csv", "sydney", 30, _consumption),
        **having(clock="Etc/GMT-10", must_refuse=True, words=("generation",)),
    ),
}
VENDORS: dict[str, dict[str, Writer]] = {
    "sma": SMA,
    "sunny_portal": SUNNY_PORTAL,
    "fronius": FRONIUS,
    "enphase": ENPHASE,
    "solaredge": SOLAREDGE,
    "pvoutput": PVOUTPUT,
    "nem12": NEM12,
}
