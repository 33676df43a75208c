"""Exports in other languages, encodings, separators, and columns in another order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .cells import plain_sample
from .sample import FormatSample, energy, numbers, plant, stamps, table


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
        return plain_sample(
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

    write.__name__ = name
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
    return plain_sample(
        "columns-in-another-order",
        "language",
        table(rows, header=header),
        power,
        words=("power_column",),
        remedy={"power_column": "AC Power (W)"},
        schema={"power_column": "AC Power (W)", "time_column": "Timestamp", "decimal": "."},
    )


WRITERS = (
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
