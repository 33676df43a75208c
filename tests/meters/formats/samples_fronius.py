"""Fronius Solar.web: a line of names, then a line of formats in brackets, then the rows.

The first column is ``Datum und Uhrzeit`` or ``Date and time`` with ``[dd.MM.yyyy HH:mm]`` below it;
energies of 5 minutes stand below ``[Wh]``, one column per inverter (``Energie | Symo 8.2-3-M (1)``)
and the plant's ``PV Produktion``. Workbooks hold the same rows on one sheet.
Source: readers of these exports in public code.
"""

from __future__ import annotations

import numpy as np

from .sample import FormatSample, energy, expect, numbers, plant, stamps, table
from .workbooks import workbook

GERMAN = ["Datum und Uhrzeit", "Energie | Symo 8.2-3-M (1)", "PV Produktion"]
GERMAN_UNITS = ["[dd.MM.yyyy HH:mm]", "[Wh]", "[Wh]"]


def german_csv(days: int) -> FormatSample:
    """One plant, its total alone, decimal comma."""
    known = plant("munich", days)
    power = known.power(5)
    rows = [
        ["[dd.MM.yyyy HH:mm]", "[Wh]"],
        *zip(
            stamps(power, "%d.%m.%Y %H:%M"),
            numbers(energy(power, 1000.0), 2, decimal=","),
            strict=True,
        ),
    ]
    return FormatSample(
        "fronius-german-csv",
        "fronius",
        "solarweb_2024.csv",
        table(
            rows,
            header=["Datum und Uhrzeit", "PV Produktion"],
            separator=";",
            line_end="\r\n",
            encoding="utf-8-sig",
        ),
        (expect(power),),
        options={"timezone": known.timezone},
        schema={
            "timezone": known.timezone,
            "label": "start",
            "decimal": ",",
            "interval_minutes": 5,
        },
    )


def english_csv(days: int) -> FormatSample:
    """Production beside consumption, months first as the format line says."""
    known = plant("denver", days)
    power = known.power(5)
    use = np.full(len(power), 31.25)
    rows = [
        ["[MM/dd/yyyy HH:mm]", "[Wh]", "[Wh]"],
        *zip(
            stamps(power, "%m/%d/%Y %H:%M"),
            numbers(use, 2),
            numbers(energy(power, 1000.0), 2),
            strict=True,
        ),
    ]
    return FormatSample(
        "fronius-english-csv",
        "fronius",
        "Energy_balance.csv",
        table(rows, header=["Date and time", "Consumption", "PV production"]),
        (expect(power),),
        options={"timezone": known.timezone},
        words=("power_column",),
        remedy={"power_column": "PV production"},
        schema={
            "timezone": known.timezone,
            "label": "start",
            "power_column": "PV production",
            "decimal": ".",
            "interval_minutes": 5,
        },
    )


def german_workbook(days: int) -> FormatSample:
    """Stamps as text, energies as numbers, an inverter's column beside the plant's."""
    known = plant("munich", days)
    power = known.power(5)
    counts = [round(float(each), 2) for each in energy(power, 1000.0)]
    rows = zip(stamps(power, "%d.%m.%Y %H:%M"), counts, counts, strict=True)
    return FormatSample(
        "fronius-german-workbook",
        "fronius",
        "Solarweb_Export.xlsx",
        workbook({"Daten": [GERMAN, GERMAN_UNITS, *rows]}),
        (expect(power),),
        options={"timezone": known.timezone},
        words=("power_column",),
        remedy={"power_column": "PV Produktion"},
        schema={
            "timezone": known.timezone,
            "label": "start",
            "power_column": "PV Produktion",
            "interval_minutes": 5,
        },
    )


def english_workbook(days: int) -> FormatSample:
    """Stamps as a spreadsheet's own dates, power in W."""
    known = plant("munich", days)
    power = known.power(15)
    watts = [round(float(each) * 1000.0, 1) for each in power]
    dates = [each.tz_localize(None).to_pydatetime() for each in power.index]
    rows = zip(dates, watts, strict=True)
    return FormatSample(
        "fronius-english-workbook",
        "fronius",
        "Solarweb_Export_en.xlsx",
        workbook(
            {
                "Data": [
                    ["Date and time", "PV power"],
                    ["[dd.MM.yyyy HH:mm]", "[W]"],
                    *rows,
                ]
            }
        ),
        (expect(power),),
        options={"timezone": known.timezone},
        schema={"timezone": known.timezone, "label": "start", "interval_minutes": 15},
    )


WRITERS = (german_csv, english_csv, german_workbook, english_workbook)
