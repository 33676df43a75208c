"""NEM12, the meter data file of Australia's market operator.

Records begin with their kind: 100 the file, 200 a data stream (NMI, its configuration, register,
suffix, ..., meter serial, unit, interval length, next read date), 300 one day of a stream (date,
1440/length values, quality, reason, description, two times), 400 events in a day of variable
quality, 500 transactions, 900 the end. Suffixes E are consumption, B generation or export; the
clock is the market's, UTC+10 in every season, and a day's first value is the one after midnight.
Source: AEMO's MDFF specification, and public readers and writers of it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from .sample import FormatSample, energy, expect, plant

MARKET = "Etc/GMT-10"
HEADER = "100,NEM12,202406211149,UNITEDDP,NEMMCO"


def _stream(
    nmi: str,
    suffix: str,
    values: pd.Series,
    *,
    unit: str,
    minutes: int,
    digits: int,
    suffixes: str = "B1",
    events: bool = False,
) -> list[str]:
    lines = [f"200,{nmi},{suffixes},1,{suffix},N1,01009,{unit},{minutes},20240710"]
    for number, (day, part) in enumerate(values.groupby(values.index.date)):
        cells = ",".join(f"{each:.{digits}f}" for each in part)
        if events and number == 0:
            lines.append(f"300,{day:%Y%m%d},{cells},V,,,20240621000000,")
            half = len(part) // 2
            lines.append(f"400,1,{half},A,,")
            lines.append(f"400,{half + 1},{len(part)},S14,79,POWER DOWN")
        else:
            lines.append(f"300,{day:%Y%m%d},{cells},A,,,20240621000000,")
    return lines


def _file(*streams: Sequence[str]) -> bytes:
    lines = [HEADER, *(line for stream in streams for line in stream), "900"]
    return ("\r\n".join(lines) + "\r\n").encode()


def _kwh(power: pd.Series, scale: float = 1.0) -> pd.Series:
    return pd.Series(energy(power, scale), index=power.index)


def generation(days: int) -> FormatSample:
    """Half hours of a gross generation meter in kWh."""
    power = plant("sydney", days).power(30, MARKET)
    return FormatSample(
        "nem12-generation",
        "nem12",
        "nem12_roof.csv",
        _file(_stream("NEM1201009", "B1", _kwh(power), unit="KWH", minutes=30, digits=4)),
        (expect(power, system_id="NEM1201009"),),
        label_said=True,
        schema={},
    )


def quarters(days: int) -> FormatSample:
    """Quarters of an hour in Wh, with a day of variable quality and its events."""
    power = plant("sydney", days).power(15, MARKET)
    stream = _stream(
        "4103000001", "B1", _kwh(power, 1000.0), unit="Wh", minutes=15, digits=1, events=True
    )
    return FormatSample(
        "nem12-quarters-wh",
        "nem12",
        "4103000001_20240609_20240620.csv",
        _file(stream),
        (expect(power, system_id="4103000001"),),
        label_said=True,
        schema={},
    )


def two_meters(days: int) -> FormatSample:
    """Five-minute values of two sites, one after the other, in MWh and in kWh."""
    large = plant("sydney", days).power(5, MARKET)
    small = plant("sydney", days).power(5, MARKET, share=0.4)
    return FormatSample(
        "nem12-two-sites",
        "nem12",
        "NEM12#5MIN#SITES.csv",
        _file(
            _stream("NEM1200001", "B1", _kwh(large, 1e-3), unit="MWh", minutes=5, digits=8),
            _stream("NEM1200002", "B1", _kwh(small), unit="kWh", minutes=5, digits=5),
        ),
        (expect(large, system_id="NEM1200001"), expect(small, system_id="NEM1200002")),
        label_said=True,
        schema={},
    )


def net(days: int) -> FormatSample:
    """Consumption beside export: a net meter."""
    known = plant("sydney", days)
    power = known.power(30, MARKET) - known.load(30, MARKET)
    return FormatSample(
        "nem12-net",
        "nem12",
        "nem12_home.csv",
        _file(
            _stream(
                "NEM1201010",
                "E1",
                _kwh((-power).clip(lower=0.0)),
                unit="KWH",
                minutes=30,
                digits=4,
                suffixes="E1B1",
            ),
            _stream(
                "NEM1201010",
                "B1",
                _kwh(power.clip(lower=0.0)),
                unit="KWH",
                minutes=30,
                digits=4,
                suffixes="E1B1",
            ),
        ),
        (expect(power, system_id="NEM1201010"),),
        label_said=True,
        schema={},
    )


def consumption(days: int) -> FormatSample:
    """A meter that counts consumption alone: nothing can be inferred from it."""
    power = plant("sydney", days).power(30, MARKET)
    used = pd.Series(0.2 + 0.1 * np.sin(np.arange(len(power))), index=power.index)
    return FormatSample(
        "nem12-consumption",
        "nem12",
        "nem12_usage.csv",
        _file(_stream("NEM1201011", "E1", used, unit="KWH", minutes=30, digits=4, suffixes="E1")),
        (),
        must_refuse=True,
        words=("generation",),
    )


WRITERS = (generation, quarters, two_meters, net, consumption)
