"""SMA: Sunny Explorer, its imitators, and an inverter's own pages.

Sunny Explorer and SBFspot write ``sep=;``, one line of the file's own properties (``Version CSV1``,
the delimiter and the decimal point by name), an empty line, then one line each of device names,
device types, serial numbers, quantities (``Total yield``, ``Power``, in the user's language) and
kinds (``Counter``, ``Analog``), and last a line that holds the format of the stamps and the units.
The power of a stamp is the yield since the stamp before, so stamps name ends. An inverter's own
pages write ``Version CSV3|Tool WebUI`` with units in brackets, channel names and ``NaN`` at night.
Source: the writers and readers of these files in public code (SBFspot and others).
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from .sample import FormatSample, energy, expect, numbers, plant, stamps, table

SERIAL = "2130005541"


def _explorer(
    power: pd.Series,
    *,
    words: tuple[str, str],
    stamp: tuple[str, str],
    separator: str = ";",
    decimal: str = ".",
    line_end: str = "\r\n",
    tool: str = "SE",
    space: str = "",
) -> bytes:
    total = 41_230.5 + np.cumsum(energy(power))
    columns = [numbers(total, 3, decimal=decimal), numbers(power, 3, decimal=decimal)]
    names = {";": "semicolon", ",": "comma"}, {".": "dot", ",": "comma"}
    breaks = "CR/LF" if line_end == "\r\n" else "LF"
    above = [
        f"sep={separator}",
        f"Version CSV1|Tool {tool}|Linebreaks {breaks}"
        f"|Delimiter {names[0][separator]}|Decimalpoint {names[1][decimal]}|Precision 3",
        "",
        separator.join(["", f"SN: {SERIAL}", f"SN: {SERIAL}"]),
        separator.join(["", "SB 4000TL-21", "SB 4000TL-21"]),
        separator.join(["", SERIAL, SERIAL]),
        separator.join(["", *words]),
        separator.join(["", "Counter", "Analog"]),
    ]
    rows = zip(
        stamps(power, stamp[1], "end"),
        *([space + each for each in c] for c in columns),
        strict=True,
    )
    header = [stamp[0], "kWh", "kW"]
    return table(rows, header=header, above=above, separator=separator, line_end=line_end)


def english(days: int) -> FormatSample:
    """Sunny Explorer in English."""
    known = plant("munich", days)
    power = known.power(5)
    return FormatSample(
        "sma-explorer-english",
        "sma",
        "sma_explorer-20240620.csv",
        _explorer(
            power,
            words=("Total yield", "Power"),
            stamp=("dd/MM/yyyy HH:mm:ss", "%d/%m/%Y %H:%M:%S"),
        ),
        (expect(power),),
        options={"timezone": known.timezone},
        label="end",
        schema={"timezone": known.timezone, "label": "end"},
        secrets=(SERIAL,),
    )


def german(days: int) -> FormatSample:
    """Sunny Explorer in German: decimal comma, a space before each number."""
    known = plant("munich", days)
    power = known.power(5)
    return FormatSample(
        "sma-explorer-german",
        "sma",
        "Anlage-Tag.csv",
        _explorer(
            power,
            words=("Gesamtertrag", "Leistung"),
            stamp=("dd.MM.yyyy HH:mm:ss", "%d.%m.%Y %H:%M:%S"),
            decimal=",",
            space=" ",
        ),
        (expect(power),),
        options={"timezone": known.timezone},
        label="end",
        schema={"timezone": known.timezone, "label": "end"},
        secrets=(SERIAL,),
    )


def spot(days: int) -> FormatSample:
    """SBFspot with commas, bare line feeds, and no rows at night."""
    known = plant("denver", days)
    power = known.power(5)
    power = power[(power > 0.0005).to_numpy()]
    return FormatSample(
        "sma-sbfspot-comma",
        "sma",
        "MyPlant-20240620.csv",
        _explorer(
            power,
            words=("Total yield", "Power"),
            stamp=("dd/MM/yyyy HH:mm:ss", "%d/%m/%Y %H:%M:%S"),
            separator=",",
            line_end="\n",
            tool="SBFspot3.9.7 (Linux)",
        ),
        (expect(power),),
        options={"timezone": known.timezone},
        label="end",
        schema={"timezone": known.timezone, "label": "end"},
    )


def month(days: int) -> FormatSample:
    """A month's file holds one yield a day, which no plane can be inferred from."""
    known = plant("munich", days)
    daily = known.power(5).resample("1D").sum() / 12.0
    total = 41_230.5 + np.cumsum(daily.to_numpy())
    above = [
        "sep=;",
        "Version CSV1|Tool SE|Linebreaks CR/LF|Delimiter semicolon|Decimalpoint dot|Precision 3",
        "",
        f";SN: {SERIAL};SN: {SERIAL}",
        ";SB 4000TL-21;SB 4000TL-21",
        f";{SERIAL};{SERIAL}",
        ";Total yield;Day yield",
        ";Counter;Analog",
    ]
    rows = zip(daily.index.strftime("%d/%m/%Y"), numbers(total, 3), numbers(daily, 3), strict=True)
    header = ["dd/MM/yyyy", "kWh", "kWh"]
    return FormatSample(
        "sma-month",
        "sma",
        "sma-202406.csv",
        table(rows, header=header, above=above, separator=";", line_end="\r\n"),
        (),
        options={"timezone": known.timezone},
        must_refuse=True,
        words=("minutes",),
    )


def web(days: int) -> FormatSample:
    """An inverter's own page: bracketed units, channel names, ``NaN`` at night, two DC inputs."""
    known = plant("munich", days)
    power = known.power(5)
    total = 35_596_202 + np.cumsum(energy(power, 1000.0))
    night = (power < 0.0005).to_numpy()
    cells = [
        "NaN" if dark else f"{value * 1000:.0f}" for value, dark in zip(power, night, strict=True)
    ]
    third = [
        "NaN" if dark else f"{value * 1000 / 3:.0f}"
        for value, dark in zip(power, night, strict=True)
    ]
    names = (
        "Metering.TotWhOut",
        "Operation.Evt.Msg",
        "GridMs.Hz (Avg)",
        "GridMs.TotW (Avg)",
        "GridMs.W.phsA (Avg)",
        "DcMs.Watt (Avg)",
        "DcMs.Vol (Avg)",
    )
    above = [
        "sep=,",
        "Version CSV3|Tool WebUI|Linebreaks CR/LF|Delimiter comma",
        "",
        *(
            "," + ",".join([text] * 7)
            for text in ("STP6.0-3AV-40 033", "SUNNY TRIPOWER 6.0", SERIAL)
        ),
        "," + ",".join(names),
        ",Analog,Status,Analog,Analog,Analog,Analog,Analog",
    ]
    rows = zip(
        stamps(power, "%d.%m.%Y %H:%M:%S", "end"),
        [f"{each:.0f}" for each in total],
        ["NoneMsg"] * len(power),
        ["50.00"] * len(power),
        cells,
        third,
        ["NaN" if dark else "153" for dark in night],
        ["NaN" if dark else "370.15" for dark in night],
        strict=True,
    )
    header = ["DD.MM.YYYY hh:mm:ss", "[Wh]", "", "[Hz]", "[W]", "[W]", "[W]", "[V]"]
    return FormatSample(
        "sma-inverter-pages",
        "sma",
        "SUNNY_TRIPOWER_6.0_5Min.csv",
        table(rows, header=header, above=above, line_end="\r\n"),
        (expect(power),),
        options={"timezone": known.timezone},
        label="end",
        # the counter goes on through the night, where the power is NaN, in whole Wh of 5 minutes
        tolerance=0.0125,
        coverage=float((~night).mean()),
        words=("power_column",),
        remedy={"power_column": "GridMs.TotW (Avg)"},
        schema={
            "timezone": known.timezone,
            "label": "end",
            "power_column": "GridMs.TotW (Avg)",
        },
        secrets=(SERIAL,),
    )


def two_inverters(days: int) -> FormatSample:
    """Two inverters side by side: neither is the plant, and one of them must not pass for it."""
    known = plant("munich", days)
    parts = [known.power(5, share=share) for share in (0.6, 0.4)]
    above = [
        "sep=;",
        "Version CSV1|Tool SE|Linebreaks CR/LF|Delimiter semicolon|Decimalpoint comma|Precision 3",
        "",
        ";SN: 2100070361;SN: 2100070361;SN: 2100070559;SN: 2100070559",
        ";SB 4000TL-20;SB 4000TL-20;SB 4000TL-20;SB 4000TL-20",
        ";2100070361;2100070361;2100070559;2100070559",
        ";Gesamtertrag;Leistung;Gesamtertrag;Leistung",
        ";Counter;Analog;Counter;Analog",
    ]
    columns = []
    for part in parts:
        columns.append(numbers(70_000 + np.cumsum(energy(part)), 3, decimal=","))
        columns.append(numbers(part, 3, decimal=","))
    rows = zip(stamps(parts[0], "%d.%m.%Y %H:%M:%S", "end"), *columns, strict=True)
    header = ["dd.MM.yyyy HH:mm:ss", "kWh", "kW", "kWh", "kW"]
    return FormatSample(
        "sma-two-inverters",
        "sma",
        "zwei-wechselrichter.csv",
        table(rows, header=header, above=above, separator=";", line_end="\r\n"),
        tuple(expect(part) for part in parts),
        options={"timezone": known.timezone},
        label="end",
        words=("power_column",),
    )


WRITERS = (english, german, spot, month, web, two_inverters)
