"""Enphase: Enlighten's reports as CSV, and what its interface answers as JSON.

Reports have ``Date/Time`` and ``Energy Produced (Wh)``, further columns of energy where the site
has meters for them, numbers above 999 in quotation marks with a comma, and a last row ``Total``.
The interface's telemetry has a list ``intervals`` with ``end_at`` in seconds since 1970, mean
``powr`` in W and ``enwh`` in Wh; production meters (``rgm_stats``) have ``wh_del`` instead.
Source: the interface's published schema and examples; readers of the reports in public code.
"""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from .sample import FormatSample, energy, expect, plant, stamps, table


def offsets(days: int) -> FormatSample:
    """The plain report: stamps that carry their offset, whole Wh, and the ``Total`` row."""
    power = plant("denver", days).power(15)
    counts = np.rint(energy(power, 1000.0)).astype(int)
    rows = zip(stamps(power, "%Y-%m-%d %H:%M:%S %z"), map(str, counts), strict=True)
    return FormatSample(
        "enphase-csv-offsets",
        "enphase-csv",
        "9999999_site_energy_production_report.csv",
        table(
            rows,
            header=["Date/Time", "Energy Produced (Wh)"],
            below=[f"Total,{counts.sum()}"],
        ),
        (expect(power),),
        tolerance=0.0021,
        schema={"label": "start", "interval_minutes": 15, "decimal": "."},
    )


def all_flows(days: int) -> FormatSample:
    """The custom report of a site with meters: four energies, local stamps, quoted thousands."""
    known = plant("denver", days)
    power = known.power(60)
    made = np.rint(energy(power, 1000.0)).astype(int)
    used = np.full(len(made), 413)
    cells = [
        [f'"{each:,}"' if each > 999 else str(each) for each in column]
        for column in (made, used, np.maximum(made - used, 0), np.maximum(used - made, 0))
    ]
    totals = ",".join(f'"{column.sum():,}"' for column in (made, used))
    header = [
        "Date/Time",
        "Energy Produced (Wh)",
        "Energy Consumed (Wh)",
        "Exported to Grid (Wh)",
        "Imported from Grid (Wh)",
    ]
    return FormatSample(
        "enphase-csv-all-flows",
        "enphase-csv",
        "9999998_custom_report.csv",
        table(
            zip(stamps(power, "%m/%d/%Y %H:%M"), *cells, strict=True),
            header=header,
            below=[f"Total,{totals},,"],
        ),
        (expect(power),),
        options={"timezone": known.timezone},
        words=("power_column",),
        remedy={"power_column": "Energy Produced (Wh)"},
        schema={
            "timezone": known.timezone,
            "label": "start",
            "power_column": "Energy Produced (Wh)",
            "time_format": "%m/%d/%Y %H:%M",
            "decimal": ".",
            "interval_minutes": 60,
        },
    )


def day_first(days: int) -> FormatSample:
    """The report of a European account: days first, quarters of an hour, ``Total`` last."""
    known = plant("munich", days)
    power = known.power(15)
    counts = np.rint(energy(power, 1000.0)).astype(int)
    cells = [f'"{each:,}"' if each > 999 else str(each) for each in counts]
    return FormatSample(
        "enphase-csv-day-first",
        "enphase-csv",
        "1234567_energy.csv",
        table(
            zip(stamps(power, "%d/%m/%Y %H:%M"), cells, strict=True),
            header=["Date/Time", "Energy Produced (Wh)"],
            below=[f'Total,"{counts.sum():,}"'],
            line_end="\r\n",
        ),
        (expect(power),),
        options={"timezone": known.timezone},
        tolerance=0.0021,
        schema={
            "timezone": known.timezone,
            "label": "start",
            "time_format": "%d/%m/%Y %H:%M",
            "decimal": ".",
            "interval_minutes": 15,
        },
    )


def daily(days: int) -> FormatSample:
    """The usual report of a year: one energy a day."""
    known = plant("denver", max(days, 5))
    power = known.power(60).resample("1D").sum()
    rows = zip(
        power.index.strftime("%m/%d/%Y"), [f"{each * 1000:.0f}" for each in power], strict=True
    )
    return FormatSample(
        "enphase-csv-daily",
        "enphase-csv",
        "9999999_daily.csv",
        table(
            rows,
            header=["Date/Time", "Energy Produced (Wh)"],
            below=[f"Total,{power.sum() * 1000:.0f}"],
        ),
        (),
        options={"timezone": known.timezone},
        must_refuse=True,
        words=("minutes",),
    )


def _ends(power: pd.Series) -> list[int]:
    minutes = pd.Timedelta(power.index[1] - power.index[0])
    return [int(each.timestamp()) for each in power.index + minutes]


def telemetry(days: int) -> FormatSample:
    """``/telemetry/production_meter`` of version 4: quarters of an hour."""
    power = plant("denver", days).power(15)
    answer = {
        "system_id": 1234567,
        "granularity": "week",
        "total_devices": 1,
        "start_at": int(power.index[0].timestamp()),
        "end_at": int(power.index[-1].timestamp()) + 900,
        "items": "intervals",
        "intervals": [
            {
                "end_at": end,
                "devices_reporting": 1,
                "powr": round(watts * 1000.0),
                "enwh": round(watts * 250.0),
            }
            for end, watts in zip(_ends(power), power, strict=True)
        ],
        "meta": {"status": "normal", "last_report_at": 1718949600, "operational_at": 1543708800},
    }
    return FormatSample(
        "enphase-json-telemetry",
        "enphase-json",
        "production_meter.json",
        json.dumps(answer).encode(),
        (expect(power),),
        tolerance=0.0021,
        label="end",
        label_said=True,
        schema={},
    )


def stats(days: int) -> FormatSample:
    """``stats`` of version 2: intervals of 5 minutes, indented, the metadata first."""
    power = plant("denver", days).power(5)
    answer = {
        "system_id": 66,
        "total_devices": 24,
        "meta": {"status": "normal", "last_report_at": 1718949600, "operational_at": 1357023600},
        "intervals": [
            {
                "end_at": end,
                "devices_reporting": 24,
                "powr": round(watts * 1000.0),
                "enwh": round(watts * 1000.0 / 12.0),
            }
            for end, watts in zip(_ends(power), power, strict=True)
        ],
    }
    return FormatSample(
        "enphase-json-stats",
        "enphase-json",
        "stats.json",
        json.dumps(answer, indent=2).encode(),
        (expect(power),),
        tolerance=0.0061,
        label="end",
        label_said=True,
        schema={},
    )


def meters(days: int) -> FormatSample:
    """``rgm_stats``: the energy delivered through the site's production meter."""
    power = plant("denver", days).power(15)
    intervals = [
        {"end_at": end, "channels_reporting": 1, "wh_del": round(watts * 250.0, 1)}
        for end, watts in zip(_ends(power), power, strict=True)
    ]
    answer = {
        "system_id": 66,
        "total_devices": 1,
        "meta": {"status": "normal"},
        "intervals": intervals,
        "meter_intervals": [{"meter_serial_number": "1218347675", "intervals": intervals}],
    }
    return FormatSample(
        "enphase-json-meter",
        "enphase-json",
        "rgm_stats.json",
        json.dumps(answer).encode(),
        (expect(power),),
        label="end",
        label_said=True,
        schema={},
        secrets=("1218347675",),
    )


WRITERS = (offsets, all_flows, day_first, daily, telemetry, stats, meters)
