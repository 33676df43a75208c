"""Units as headers write them: read right, or refused with the option that says them."""

from __future__ import annotations

import csv
import json

import numpy as np
import pandas as pd
import pytest
from meter_makers import refusal, sunny

import sunveil
from sunveil.meters import read_meters

QUARTER = 4.0  # kWh in a quarter of an hour, as kW
SPELLINGS = {
    "W": """W|Watt|Watts|watts AC|Power [W]|P/W|AC Power (Watts)|power_w|PowerW|Leistung in Watt
        |inv2_ac_power_w__1047|Potencia (vatios)|WATTS|Puissance (W)|acPowerW|Wh/h|Leistung W""",
    "kW": """kW|KW|Kw|kilowatt|Kilowatts|kilo-watts|Kilo Watt|kiloWatts|powerKW|PowerkW|kW AC
        |Power / kW|Leistung (kW)|INV1 AC Power [kW]|Potencia (kilovatios)|Potenza (chilowatt)
        |Potência (quilowatts)|㎾|kWh/h|kilowatt-hours per hour|Active power kW mean of 15 min
        |SMA 5000TL kW|generation_kw_1""",
    "MW": "MW|mw|Mw|mW|Megawatt|mega watts|Megavatios|power_mw|Generation (MW)|powerMW",
    "Wh": """Wh|W h|W-h|W·h|watt hours|Watt-hours|watthours|Wattstunden|wattuur|Watt-uur
        |Wattheures|watt-heure|vatios hora|vatios-hora|Watts-hora|wattora|ENERGY (WH)|energyWh
        |Energy Produced (Wh)|Energia [Wh]|wattHours""",
    "kWh": """kWh|KWH|Kwh|kwH|kW h|kW-h|kW·h|kW⋅h|kW•h|kW∙h|kW.h|kW*h|kW×h|kW_h|kWhr|kWhrs|kW-hr
        |kWhs|kilowatt-hours|kilowatt hours|KILOWATTHOURS|Kilowatt Hour|Generated Kilowatt Hours
        |kilo watt hour|kilo-watt-hours|KiloWattHours|kWattHours|kilowatt–hours|kilowatt‑hours
        |kilowatt_hours|GeneratedKilowattHours|generationKWh|energy_kwh|Real energy in kilowatt-hours
        |Kilowattstunden|Kilowatt-Stunden|Kilowattstunde|kWStd|Erzeugung (kWh)|Zählwert [kWh]
        |kilowattuur|kilowatt-uur|Opbrengst kWh|kilowattheures|kilowatts-heures|kilowatts heure
        |Énergie (kWh)|kilovatio-hora|kilovatios hora|kilovatioshora|kWh generados|quilowatt-hora
        |quilowatts-hora|quilovátio-hora|chilowattora|kilowattora|chilowatt ora|㎾h|kWh per interval
        |kWh/interval|kWh je Intervall|Energy / kWh|Roof 5kWp Energy (kWh)|SMA 5kW Energy (kWh)
        |kWh 15 min""",
    "MWh": """MWh|MWH|mwh|mWh|Megawatt hours|Megawatt-hours|megawatthours|Megawattstunden
        |Megawattuur|mégawattheures|megavatios hora|energy_mwh|EnergyMWh""",
}
UNKNOWN = """kWp|kWpeak|kW peak|Wp|kVA|kVAr|kvarh|kVAh|Real kW or kVA|VA|kWh/15min|kWh per 15 minutes
    |kWh/day|kWh pro Tag|kWh/kWp|kWh per kWp|W/Wp|kW/kWp|Wh per panel|kW/h|kW per hour|W/h
    |W/m2|W/m²|kWh/m2|W m-2|kWh d-1|kWh kWp^-1|kilowatt hours per square meter|GWh|GW
    |gigawatt hours|power kW energy kWh|kW / kWh|k W h|k-Wh|m Wh|Ertrag €/kWh|ct per kWh
    |Earned per kWh|g CO2/kWh|PeakW|peakkW|Solarparkkwh|Roof W|Dach W|Roof-W|Array W|String E+W
    |Roof W 30deg|W of chimney|Windows|Show|kwiksolar|workwatch|wattage|watted|hwatt|kWx
    |kWmean|15minkWhx|SMA 5kW|Array 3.6 kW|power w/ losses|power w/o losses|MJ|BTU
    |kilowattpeak|megajoules"""


def split(text: str) -> list[str]:
    return [each.strip() for each in text.split("|")]


def write(path, name, values, minutes=15):
    times = pd.date_range("2016-07-01", periods=len(values), freq=f"{minutes}min")
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows(
            [("time", name), *zip(times.strftime("%Y-%m-%d %H:%M"), values, strict=True)]
        )
    return path


def factor(unit: str) -> float:
    """Return what a quarter's reading in a unit is in kW."""
    scale = {"W": 1e-3, "k": 1.0, "M": 1e3}[unit[0]]
    return scale * (QUARTER if unit.endswith("h") else 1.0)


@pytest.mark.parametrize(
    ("name", "unit"), [(name, unit) for unit, names in SPELLINGS.items() for name in split(names)]
)
def test_a_spelling_of_a_unit_is_that_unit_in_an_inference_and_in_a_release(tmp_path, name, unit):
    power = sunny(2)
    path = write(tmp_path / "a.csv", name, power.tolist())
    for cleaning in ("record", "each"):
        (record,) = read_meters(path, timezone="UTC", cleaning=cleaning)
        assert record.unit == unit
        assert record.power_kw.max() == pytest.approx(power.max() * factor(unit), rel=1e-6)


@pytest.mark.parametrize("name", split(UNKNOWN))
def test_what_is_no_unit_of_a_reading_or_not_surely_one_is_refused(tmp_path, name):
    path = write(tmp_path / "a.csv", name, sunny(2).tolist())
    for cleaning in ("record", "each"):
        assert "unit=" in refusal(path, timezone="UTC", cleaning=cleaning)
        (record,) = read_meters(path, timezone="UTC", cleaning=cleaning, unit="kW")
        assert record.unit == "kW"
