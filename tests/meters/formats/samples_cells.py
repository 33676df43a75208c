"""How stamps and numbers are written: epochs, 24:00, thousands, units in cells, MW, languages.

Each is a plain table in which one thing is unusual. Epochs count from 1970 in UTC (POSIX); 24:00
ends a day (ISO 8601:2004); thousands are parted by a comma, a point or a narrow space, after the
country (Unicode CLDR); decimal commas stand wherever thousands have points or spaces.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from .sample import FormatSample, energy, expect, numbers, plant, stamps, table


def _sample(name: str, family: str, content: bytes, power: pd.Series, **facts: Any) -> FormatSample:
    zone = str(power.index.tz)
    facts = {"options": {} if zone == "UTC" else {"timezone": zone}, **facts}
    schema = {
        "label": facts.get("label", "start"),
        "interval_minutes": expect(power).interval_minutes,
        **facts["options"],
        **facts.pop("schema", {}),
    }
    return FormatSample(
        f"{family}-{name}",
        family,
        f"{family}_{name}.csv",
        content,
        (expect(power),),
        schema=schema,
        **facts,
    )


def _epoch(unit: str, scale: int) -> Any:
    def write(days: int) -> FormatSample:
        power = plant("munich", days).power(15, "UTC")
        cells = [str(int(each.timestamp()) * scale) for each in power.index]
        rows = zip(cells, numbers(power, 4), strict=True)
        return _sample(f"epoch-{unit}", "stamps", table(rows, header=["time", "power_kw"]), power)

    write.__doc__ = f"Stamps in {unit} since 1970."
    return write


def apart(days: int) -> FormatSample:
    """A column of dates and one of times."""
    power = plant("denver", days).power(15)
    rows = zip(
        stamps(power, "%m/%d/%Y"), stamps(power, "%I:%M:%S %p"), numbers(power, 4), strict=True
    )
    return _sample(
        "date-and-time",
        "stamps",
        table(rows, header=["Date", "Time", "Power (kW)"]),
        power,
        schema={
            "date_column": "Date",
            "time_column": "Time",
            "time_format": "%m/%d/%Y %I:%M:%S %p",
            "power_column": "Power (kW)",
            "decimal": ".",
        },
    )


def apart_unnamed(days: int) -> FormatSample:
    """A column of dates and one of times under names that nobody knows: both must be named."""
    power = plant("munich", days).power(15)
    rows = zip(stamps(power, "%Y-%m-%d"), stamps(power, "%H:%M"), numbers(power, 4), strict=True)
    names = {"date_column": "dzien", "time_column": "godzina"}
    return _sample(
        "apart-named",
        "stamps",
        table(rows, header=["dzien", "godzina", "moc_kw"]),
        power,
        words=("date_column",),
        remedy=names,
        schema={**names, "power_column": "moc_kw", "unit": "kW", "time_format": "%Y-%m-%d %H:%M"},
    )


def day_end(days: int) -> FormatSample:
    """Quarters that end at their stamp, the last of a day at 24:00."""
    power = plant("munich", days).power(15)
    cells = []
    for start, text in zip(power.index, stamps(power, "%d.%m.%Y %H:%M", "end"), strict=True):
        late = start.hour == 23 and start.minute == 45
        cells.append(f"{start:%d.%m.%Y} 24:00" if late else text)
    rows = zip(cells, numbers(energy(power), 5, decimal=","), strict=True)
    return _sample(
        "24-oclock",
        "stamps",
        table(rows, header=["Zeit", "Energie kWh"], separator=";"),
        power,
        label="end",
        schema={
            "time_column": "Zeit",
            "power_column": "Energie kWh",
            "time_format": "%d.%m.%Y %H:%M",
            "decimal": ",",
            "separator": ";",
        },
    )


def saving(days: int) -> FormatSample:
    """Stamps of a wall clock that jumps forward within the file."""
    power = plant("munich", 100).power(60)
    power = power[power.index >= pd.Timestamp("2024-03-28", tz="Europe/Berlin")]
    power = power[: 24 * max(days, 5)]
    rows = zip(stamps(power, "%Y-%m-%d %H:%M"), numbers(power, 4), strict=True)
    return _sample(
        "daylight-saving",
        "stamps",
        table(rows, header=["Time", "Power [kW]"]),
        power,
        schema={"time_format": "%Y-%m-%d %H:%M", "decimal": "."},
    )


def ambiguous(days: int) -> FormatSample:
    """Days and months below 13 throughout: which is which must be said, not guessed."""
    power = plant("denver", 20).power(60)
    power = power[power.index < pd.Timestamp("2024-06-13", tz="America/Denver")]
    power = power[power.index >= pd.Timestamp("2024-06-03", tz="America/Denver")]
    power = power[: 24 * max(2, min(days, 9))]
    # from 3 to 11 June, every date is one of March to November too: 06/03 to 06/11
    rows = zip(stamps(power, "%m/%d/%Y %H:%M"), numbers(power, 4), strict=True)
    form = {"time_format": "%m/%d/%Y %H:%M"}
    return _sample(
        "which-is-the-month",
        "stamps",
        table(rows, header=["Time", "Power [kW]"]),
        power,
        words=("time_format",),
        remedy=form,
        schema={**form, "decimal": "."},
    )


NAMED = {"time_column": "Timestamp", "time_format": "%Y-%m-%d %H:%M"}


def _numbers(
    name: str,
    cells: Sequence[str],
    power: pd.Series,
    header: str,
    separator: str = ",",
    encoding: str = "utf-8",
    **facts: Any,
) -> FormatSample:
    rows = zip(stamps(power, "%Y-%m-%d %H:%M"), cells, strict=True)
    content = table(rows, header=["Timestamp", header], separator=separator, encoding=encoding)
    schema = {**NAMED, "power_column": header, "separator": separator, **facts.pop("schema", {})}
    return _sample(name, "numbers", content, power, schema=schema, **facts)


def american(days: int) -> FormatSample:
    """``1,234.5`` in quotation marks."""
    power = plant("denver", days).power(15)
    cells = [f'"{each}"' for each in numbers(power * 1000.0, 1, thousands=",")]
    return _numbers("american", cells, power, "Power (W)", schema={"decimal": "."})


def german(days: int) -> FormatSample:
    """``1.234,5``: a reader that drops points only would make it a thousand times too large."""
    power = plant("munich", days).power(15)
    cells = numbers(power * 1000.0, 1, decimal=",", thousands=".")
    return _numbers("german", cells, power, "Leistung (W)", ";", schema={"decimal": ","})


def french(days: int) -> FormatSample:
    """``1 234,5`` with the narrow space that French spreadsheets write."""
    power = plant("munich", days).power(15)
    cells = numbers(power * 1000.0, 1, decimal=",", thousands="\u202f")
    return _numbers("french", cells, power, "Puissance (W)", ";", schema={"decimal": ","})


def swiss(days: int) -> FormatSample:
    """``1'234.5``."""
    power = plant("munich", days).power(15)
    cells = numbers(power * 1000.0, 1, thousands="'")
    return _numbers("swiss", cells, power, "Leistung (W)", ";", schema={"decimal": "."})


def whole_thousands(days: int) -> FormatSample:
    """``1.234`` for one thousand two hundred and thirty-four, beside ``87`` and ``0``."""
    power = plant("munich", days).power(15)
    cells = numbers(power * 1000.0, 0, decimal=",", thousands=".")
    return _numbers(
        "whole-thousands",
        cells,
        power,
        "Leistung (W)",
        ";",
        words=("decimal",),
        remedy={"decimal": ","},
        schema={"decimal": ","},
    )


def units_in_cells(days: int) -> FormatSample:
    """``850 W`` in every cell, no unit in the name."""
    power = plant("denver", days).power(15)
    cells = [f"{each * 1000:.1f} W" for each in power]
    return _numbers("unit-in-cells", cells, power, "Production", schema={"unit": "W"})


def changing_units(days: int) -> FormatSample:
    """``850 W`` below one kilowatt and ``1.2 kW`` above it, as displays write."""
    power = plant("denver", days).power(15)
    cells = [f"{each * 1000:.0f} W" if each < 1.0 else f"{each:.3f} kW" for each in power]
    return _numbers("two-units-in-cells", cells, power, "Production", schema={"unit": "W"})


def energy_in_cells(days: int) -> FormatSample:
    """``0,85 kWh``."""
    power = plant("munich", days).power(15)
    cells = [each + " kWh" for each in numbers(energy(power), 4, decimal=",")]
    return _numbers(
        "energy-in-cells",
        cells,
        power,
        "Ertrag",
        ";",
        tolerance=0.0003,
        schema={"unit": "kWh", "decimal": ","},
    )


def megawatts(days: int) -> FormatSample:
    """A park's MW."""
    power = plant("denver", days).power(15) * 1000.0
    cells = numbers(power / 1000.0, 6)
    return _numbers("megawatts", cells, power, "Output (MW)", schema={"decimal": "."})


def megawatt_hours(days: int) -> FormatSample:
    """A park's MWh of each hour."""
    power = plant("denver", days).power(60) * 1000.0
    cells = numbers(energy(power) / 1000.0, 6)
    return _numbers("megawatt-hours", cells, power, "net_generation_mwh", schema={"decimal": "."})


def _foreign(
    name: str,
    header: Sequence[str],
    form: str,
    *,
    scale: float,
    decimal: str = ",",
    separator: str = ";",
    encoding: str = "utf-8",
    of_energy: bool = True,
) -> Any:
    def write(days: int) -> FormatSample:
        power = plant("munich", days).power(15)
        values = energy(power, scale) if of_energy else power.to_numpy() * scale
        rows = zip(stamps(power, form), numbers(values, 5, decimal=decimal), strict=True)
        return _sample(
            name,
            "language",
            table(rows, header=header, separator=separator, encoding=encoding),
            power,
            schema={
                "time_column": header[0],
                "power_column": header[1],
                "time_format": form,
                "decimal": decimal,
                "separator": separator,
            },
        )

    write.__doc__ = f"An export in another language: {name}."
    return write


def among_others(days: int) -> FormatSample:
    """Temperature and irradiance before the power, the stamps last."""
    power = plant("denver", days).power(15)
    warm = 20.0 + 8.0 * np.sin(np.arange(len(power)) / 96.0 * 2 * np.pi)
    rows = zip(
        numbers(warm, 2),
        numbers(power * 180.0, 1),
        numbers(power * 1000.0, 1),
        stamps(power, "%Y-%m-%d %H:%M:%S"),
        strict=True,
    )
    header = ["Temp (°C)", "Irradiance (W/m2)", "AC Power (W)", "Timestamp"]
    return _sample(
        "columns-in-another-order",
        "language",
        table(rows, header=header),
        power,
        words=("power_column",),
        remedy={"power_column": "AC Power (W)"},
        schema={"power_column": "AC Power (W)", "time_column": "Timestamp", "decimal": "."},
    )


WRITERS = (
    _epoch("seconds", 1),
    _epoch("milliseconds", 10**3),
    _epoch("microseconds", 10**6),
    _epoch("nanoseconds", 10**9),
    apart,
    apart_unnamed,
    day_end,
    saving,
    ambiguous,
    american,
    german,
    french,
    swiss,
    whole_thousands,
    units_in_cells,
    changing_units,
    energy_in_cells,
    megawatts,
    megawatt_hours,
    _foreign(
        "latin1",
        ["Zeitpunkt", "Leistung Süddach [kW]"],
        "%d.%m.%Y %H:%M",
        scale=1.0,
        encoding="latin-1",
        of_energy=False,
    ),
    _foreign("spanish", ["Fecha y hora", "Producción (kWh)"], "%d/%m/%Y %H:%M", scale=1.0),
    _foreign("french", ["Horodatage", "Énergie produite (Wh)"], "%d/%m/%Y %H:%M", scale=1000.0),
    _foreign("dutch", ["Tijd", "Opbrengst (Wh)"], "%d-%m-%Y %H:%M", scale=1000.0),
    _foreign(
        "italian",
        ["Data e ora", "Potenza (W)"],
        "%d/%m/%Y %H:%M",
        scale=1000.0,
        separator="\t",
        of_energy=False,
    ),
    _foreign(
        "polish",
        ["Data", "Moc [kW]"],
        "%Y-%m-%d %H:%M",
        scale=1.0,
        decimal=".",
        separator="|",
        encoding="cp1250",
        of_energy=False,
    ),
    among_others,
)
