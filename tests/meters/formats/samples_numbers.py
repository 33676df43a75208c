"""How numbers are written: thousands, units in cells, MW.

Thousands are parted by a comma, a point, an apostrophe or a narrow space, after the country
(Unicode CLDR); decimal commas stand wherever thousands have points or spaces.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from .cells import plain_sample
from .sample import FormatSample, energy, numbers, plant, stamps, table

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
    return plain_sample(name, "numbers", content, power, schema=schema, **facts)


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
    return _numbers("unit-in-cells", cells, power, "Production", schema={"power_unit": "W"})


def changing_units(days: int) -> FormatSample:
    """``850 W`` below one kilowatt and ``1.2 kW`` above it, as displays write."""
    power = plant("denver", days).power(15)
    cells = [f"{each * 1000:.0f} W" if each < 1.0 else f"{each:.3f} kW" for each in power]
    return _numbers("two-units-in-cells", cells, power, "Production", schema={"power_unit": "W"})


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
        schema={"power_unit": "kWh", "decimal": ","},
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


WRITERS = (
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
)
