"""Units, columns and dates in the words of headers, and what is asked for."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from formats.catalogue import sample
from formats.sample import lined
from meter_makers import refusal, sunny

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
        |kilowatt_hours|GeneratedKilowattHours|generationKWh|energy_kwh
        |Real energy in kilowatt-hours
        |Kilowattstunden|Kilowatt-Stunden|Kilowattstunde|kWStd|Erzeugung (kWh)|Zählwert [kWh]
        |kilowattuur|kilowatt-uur|Opbrengst kWh|kilowattheures|kilowatts-heures|kilowatts heure
        |Énergie (kWh)|kilovatio-hora|kilovatios hora|kilovatioshora|kWh generados|quilowatt-hora
        |quilowatts-hora|quilovátio-hora|chilowattora|kilowattora|chilowatt ora|㎾h|kWh per interval
        |kWh/interval|kWh je Intervall|Energy / kWh|Roof 5kWp Energy (kWh)|SMA 5kW Energy (kWh)
        |kWh 15 min""",
    "MWh": """MWh|MWH|mwh|mWh|Megawatt hours|Megawatt-hours|megawatthours|Megawattstunden
        |Megawattuur|mégawattheures|megavatios hora|energy_mwh|EnergyMWh""",
}
UNKNOWN = """kWp|kWpeak|kW peak|Wp|kVA|kVAr|kvarh|kVAh|Real kW or kVA|VA|kWh/15min
    |kWh per 15 minutes|kWh/day|kWh pro Tag|kWh/kWp|kWh per kWp|W/Wp|kW/kWp|Wh per panel|kW/h
    |kW per hour|W/h
    |W/m2|W/m²|kWh/m2|W m-2|kWh d-1|kWh kWp^-1|kilowatt hours per square meter|GWh|GW
    |gigawatt hours|power kW energy kWh|kW / kWh|k W h|k-Wh|m Wh|Ertrag €/kWh|ct per kWh
    |Earned per kWh|g CO2/kWh|PeakW|peakkW|Solarparkkwh|Roof W|Dach W|Roof-W|Array W
    |String E+W|Roof W 30deg|W of chimney|Windows|Show|kwiksolar|workwatch|wattage|watted
    |hwatt|kWx|kWmean|15minkWhx|SMA 5kW|Array 3.6 kW|power w/ losses|power w/o losses|MJ|BTU
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
        assert "option `power_unit`" in refusal(path, timezone="UTC", cleaning=cleaning)
        (record,) = read_meters(path, timezone="UTC", cleaning=cleaning, power_unit="kW")
        assert record.unit == "kW"


def edison(path, blocks, heading):
    """Write an export of Southern California Edison's: a block of quarters below each heading."""
    lines = ["Energy Usage Information", '"For location: 1234 EXAMPLE ST"', ""]
    lines += ["Meter Reading Information", '"Type of readings: Electricity"', "", "Detailed Usage"]
    for kind, power in blocks:
        lines += ["", '"Data for period starting: 2016-07-01 00:00:00  for 24 hours"']
        lines.append(heading.format(kind))
        for start, value in power.items():
            end = start + pd.Timedelta("15min")
            period = f"{start:%Y-%m-%d %H:%M:%S}\xa0to {end:%Y-%m-%d %H:%M:%S}"
            lines.append(f'"{period}","{value / QUARTER:.4f}",""')
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


EDISON = 'Energy {} time period,"Usage(Real energy in kilowatt-hours)",Reading quality'


def test_an_export_of_edison_s_says_a_net_meter_with_net_and_negate(tmp_path):
    power = sunny(3, noon=20.0) - 0.9
    path = edison(tmp_path / "a.csv", [("consumption", -power)], EDISON)
    for cleaning in ("record", "each"):
        options = {"timezone": "America/Los_Angeles", "cleaning": cleaning}
        for given in ({}, {"net": True}):
            message = refusal(path, **options, **given)
            assert "options `net` and `negate`" in message
        (record,) = read_meters(path, **options, net=True, negate=True)
        assert record.net
        assert record.label_known
        assert record.unit == "kWh"
        np.testing.assert_allclose(record.power_kw, power.to_numpy(), atol=3e-4)


@pytest.mark.parametrize("first", ["Delivered", " Received"])
@pytest.mark.parametrize(
    "given", [{}, {"net": True}, {"power_column": "2"}, {"export_column": "2"}]
)
def test_edison_s_blocks_of_delivered_and_received_are_refused_with_what_to_do(
    tmp_path, first, given
):
    power = sunny(3, noon=20.0)
    both = [(first, power), ("Received", power + 1.0)]
    for name, blocks in (("both", both), ("one", both[:1])):
        path = edison(tmp_path / f"{name}.csv", blocks, EDISON)
        for cleaning in ("record", "each"):
            message = refusal(path, timezone="UTC", cleaning=cleaning, **given)
            assert "time,export_kwh,import_kwh" in message


@pytest.mark.parametrize("cell", ["kilowatt-hours", "KWH", "kW·h", "Kilowattstunden"])
def test_a_column_of_units_has_every_spelling(tmp_path, cell):
    power = sunny(3)
    frame = pd.DataFrame({"time": power.index, "generation": power.to_numpy(), "units": cell})
    frame.to_csv(tmp_path / "a.csv", index=False)
    (record,) = read_meters(tmp_path / "a.csv")
    assert record.unit == "kWh"
    # cells are readers' own: a release takes a unit from the header or from the curator
    assert "option `power_unit`" in refusal(tmp_path / "a.csv", cleaning="each")


def test_a_column_of_units_that_are_no_reading_s_is_not_passed_over(tmp_path):
    power = sunny(3)
    for units in (["kVAh"] * len(power), (["kWh", "Wh"] * len(power))[: len(power)]):
        frame = pd.DataFrame({"time": power.index, "power_kw": power.to_numpy(), "units": units})
        frame.to_csv(tmp_path / "a.csv", index=False)
        assert "option `power_unit`" in refusal(tmp_path / "a.csv")


@pytest.mark.parametrize(
    ("unit", "scale"), [("kilowatt-hours", 1.0), ("Watt hours", 1e-3), ("kVAh", None)]
)
def test_a_unit_that_json_states_has_every_spelling(tmp_path, unit, scale):
    power = sunny(3)
    rows = [{"time": str(time), "generation": value} for time, value in power.items()]
    (tmp_path / "a.json").write_text(json.dumps({"unit": unit, "readings": rows}))
    if scale is None:
        assert "option `power_unit`" in refusal(tmp_path / "a.json")
        return
    (record,) = read_meters(tmp_path / "a.json")
    assert record.power_kw.max() == pytest.approx(power.max() * QUARTER * scale, rel=1e-6)


def test_a_row_of_units_in_words_is_no_row_of_names(tmp_path):
    power = sunny(3)
    rows = [f"{time:%Y-%m-%d %H:%M},{value},{value + 1.0}" for time, value in power.items()]
    above = ["Time,Solar production,Grid consumption", ",kilowatt-hours,Kilowattstunden"]
    (tmp_path / "a.csv").write_text("\n".join([*above, *rows]) + "\n", encoding="utf-8")
    for cleaning in ("record", "each"):
        (record,) = read_meters(tmp_path / "a.csv", timezone="UTC", cleaning=cleaning)
        assert record.power_kw.max() == pytest.approx(power.max() * QUARTER, rel=1e-6)


def test_two_flows_in_units_of_which_one_is_no_reading_s_are_refused(tmp_path):
    power = sunny(3)
    names = {"export (kWh)": power / 4.0, "import (kVAh)": power / 8.0}
    pd.DataFrame({"time": power.index, **names}).to_csv(tmp_path / "a.csv", index=False)
    for cleaning in ("record", "each"):
        assert "another unit" in refusal(tmp_path / "a.csv", cleaning=cleaning)


def test_a_parquet_fleet_reads_units_in_words(tmp_path):
    power = sunny(3)
    named = {"system_id": "a", "time": power.index, "kilowatt-hours": power.to_numpy()}
    pd.DataFrame(named).to_parquet(tmp_path / "a.parquet")
    (record,) = read_meters(tmp_path / "a.parquet")
    assert record.power_kw.max() == pytest.approx(power.max() * QUARTER, rel=1e-6)


HOURS = sunny(4, minutes=60, start="2024-06-20")
POWER = HOURS.to_numpy()
HOUR_ROWS = [f"{time:%Y-%m-%dT%H:%M}Z,{power:.3f},1" for time, power in HOURS.items()]
TWO_COLUMNS = [row.removesuffix(",1") for row in HOUR_ROWS]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        # a header is there, though no column of readings is known by its name
        (lined(["hour_start,electricity1,gas"], HOUR_ROWS), "several columns of readings"),
        (lined(["entity_id,start,sum,state"], HOUR_ROWS), "'sum', 'state'"),
        (lined(['time,"Consumo registado, Ativa (kW)",Estado'], HOUR_ROWS), "power_column"),
        (lined(["time,Consumption (kWh)"], TWO_COLUMNS), "readings of consumption alone"),
        (lined(["Type;Consommation", "Horodate;Valeur"]), "readings of consumption alone"),
        (lined(["time,unit,elektra opwek"], HOUR_ROWS), "unit of its column 'elektra opwek'"),
    ],
)
def test_a_refusal_says_what_is_there(content, words, tmp_path):
    path = tmp_path / "a.csv"
    if b"Horodate" in content:
        content += lined(TWO_COLUMNS).replace(b",", b";")
    path.write_bytes(content)
    message = refusal(path)
    assert words in message
    assert "no header" not in message


def test_a_release_says_that_the_unit_stands_in_a_column(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(lined(["time,production,unit"], [row[:-1] + "kWh" for row in HOUR_ROWS]))
    assert "in column 'unit'" in refusal(path, cleaning="each")


TIMES = """Time, Timestamp, Date/Time, Hour start, Statistical Period, Date and time, Zeit
    , Zeitstempel, Zeitpunkt, Messzeitpunkt, Datum und Uhrzeit, Datum von, Zeitraum, Tijdstip
    , Datum/tijd, Datum en tijd, Datum en tijd van, Horodate, Horodatage, Date et heure, Fecha
    , Fecha y hora, Data, Data e hora, Data/Hora, Data e ora"""
GENERATION = """Generation, PV production, Solar yield, Erzeugung, Ertrag, PV-Leistung, Produktion
    , Opwek, Opbrengst, Opgewekt, Énergie produite, Production, Producción, Energía, Produção
    , Energia produzida, Produzione, Energia"""
WORDS = [
    *((time.strip(), "Power kW", 1.0) for time in TIMES.split(",")),
    *(("Time", f"{name.strip()} (kWh)", 1.0) for name in GENERATION.split(",")),
    *(("Time", f"Power ({unit})", 1000.0) for unit in ("W", "watt", "Watt", "vatios")),
]


def one_column(folder: Any, time: str, reading: str, stamps: Sequence[str], **options: Any) -> Any:
    rows = [f"{stamp}\t{power:.3f}\t-" for stamp, power in zip(stamps, POWER, strict=True)]
    (folder / "a.csv").write_bytes(lined([f"{time}\t{reading}\tTemp (C)"], rows))
    options = {"timezone": "Europe/Madrid", "decimal": ".", "label": "start", **options}
    (record,) = read_meters(folder / "a.csv", **options)
    return record.power_kw


@pytest.mark.parametrize("cleaning", ["record", "each"])
@pytest.mark.parametrize(("time", "reading", "scale"), WORDS)
def test_a_header_is_known_in_each_language(time, reading, scale, cleaning, tmp_path):
    stamps = HOURS.index.strftime("%Y-%m-%d %H:%M")
    found = one_column(tmp_path, time, reading, stamps, cleaning=cleaning)
    np.testing.assert_allclose(found * scale, POWER, atol=0.001)


MONTHS = {
    "en": "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
    "de": "Jan. Feb. Mär. Apr. Mai Jun. Jul. Aug. Sep. Okt. Nov. Dez.",
    "de, long": "Januar Februar März April Mai Juni Juli August September Oktober November"
    " Dezember",
    "nl": "jan. feb. mrt. apr. mei jun. jul. aug. sep. okt. nov. dec.",
    "nl, long": "januari februari maart april mei juni juli augustus september oktober november"
    " december",
    "fr": "janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc.",
    "fr, long": "janvier février mars avril mai juin juillet août septembre octobre novembre"
    " décembre",
    "es": "ene feb mar abr may jun jul ago sep oct nov dic",
    "es, long": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre"
    " diciembre",
    "pt": "jan fev mar abr mai jun jul ago set out nov dez",
    "pt, long": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro"
    " dezembro",
    "it": "gen feb mar apr mag giu lug ago set ott nov dic",
    "it, long": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre"
    " novembre dicembre",
}


@pytest.mark.parametrize("form", ["{0:%d} {1} {0:%Y %H:%M}", "{0:%d}-{1}-{0:%Y %H:%M:%S}"])
@pytest.mark.parametrize("language", MONTHS)
def test_months_are_known_by_their_names(language, form, tmp_path):
    names = MONTHS[language].split()
    for month in range(1, 13, 1 if "}-{" in form else 5):
        times = pd.date_range(f"2023-{month}-10", periods=len(POWER), freq="h")
        stamps = [form.format(each, names[each.month - 1]) for each in times]
        found = one_column(tmp_path, "Datum", "Power kW", stamps, timezone="UTC", cleaning="each")
        np.testing.assert_allclose(found, POWER, atol=0.001)


@pytest.mark.parametrize(
    "form", ["{0:%d} de {1} de {0:%Y %H:%M}", "{0:%d}. {1} {0:%Y %H:%M}", "{0:%d}/{1}/{0:%Y %H:%M}"]
)
def test_dates_in_words_are_read(form, tmp_path):
    stamps = [form.format(each, "junio") for each in HOURS.index]
    found = one_column(tmp_path, "Fecha", "Power kW", stamps)
    np.testing.assert_allclose(found, POWER, atol=0.001)


ZONES = {
    "Z": 0,
    " UTC": 0,
    " GMT": 0,
    " WET": 0,
    " WEST": 1,
    " CET": 1,
    " CEST": 2,
    " MEZ": 1,
    " MESZ": 2,
    " EET": 2,
    " EEST": 3,
    " CEST+0200": 2,
    " UTC+2": 2,
    " GMT-03:00": -3,
    " (UTC+05:30)": 5.5,
    "-0330": -3.5,
}


@pytest.mark.parametrize(("zone", "hours"), ZONES.items())
def test_zones_and_offsets_behind_times_are_known(zone, hours, tmp_path):
    rows = [f"{each:%Y-%m-%d %H:%M}{zone},1" for each in HOURS.index]
    (tmp_path / "a.csv").write_bytes(lined(["time,power_kw"], rows))
    (record,) = read_meters(tmp_path / "a.csv", label="start")
    first = HOURS.index[0].tz_localize(None).to_datetime64() - np.timedelta64(int(60 * hours), "m")
    assert record.times[0] == first


@pytest.mark.parametrize("unit", ["kW", "kWh"])
@pytest.mark.parametrize("label", ["start", "end"])
def test_two_spacings_are_brought_to_the_longer_one(label, unit, tmp_path):
    long = sunny(2, minutes=10, start="2024-06-20")
    short = sunny(2, minutes=1, start="2024-06-22")
    rows = []
    for part, minutes in ((long, 10), (short, 1)):
        late = pd.Timedelta(minutes=minutes if label == "end" else 0)
        scale = minutes / 60 if unit == "kWh" else 1.0
        rows += [
            f"{time + late:%Y-%m-%dT%H:%M}Z,{power * scale:.6f}" for time, power in part.items()
        ]
    rows.pop(1000)  # one of the short ones: its ten minutes are left out
    path = tmp_path / "a.csv"
    path.write_bytes(lined([f"time,power {unit}"], rows))
    (record,) = read_meters(path, label=label)
    (again,) = read_meters(path, label=label, interval_minutes=10)
    np.testing.assert_array_equal(again.power_kw, record.power_kw)
    assert record.interval_minutes == 10
    lost = (1000 - len(long)) // 10
    means = np.delete(short.to_numpy().reshape(-1, 10).mean(axis=1), lost)
    np.testing.assert_allclose(record.power_kw, [*long, *means], atol=1e-3)
    assert np.diff(record.times).max() == np.timedelta64(20, "m")
    assert any("averaged to 10 minutes" in note for note in record.notes)
    assert "option `label`" in refusal(path)
    assert "one spacing" in refusal(path, cleaning="each", label=label)


@pytest.mark.parametrize("place", [0, 7, 9])
@pytest.mark.parametrize("cell", [b"Injectie", b"Afname Dag", b"Tot", b"kWh", b'"', b"9,9;9", b"x"])
def test_one_meter_of_an_export_changes_no_other(cell, place, tmp_path):
    header, *rows = sample("fluvius-nl", 4).content.splitlines()
    path = tmp_path / "a.csv"
    others = [row.replace(b"1SAG", b"2SAG") for row in rows]
    found = []
    for own in (rows, [*rows[:50], b";".join(cells(rows[50], place, cell)), *rows[51:]]):
        path.write_bytes(b"\n".join([header, *own, *others]))
        for cleaning in ("record", "each"):
            told = {"decimal": ",", "power_unit": "kWh"} if cleaning == "each" else {}
            refused: list[Any] = []
            read = read_meters(
                path, timezone="Europe/Brussels", cleaning=cleaning, refused=refused, **told
            )
            found.append([each.power_kw.tobytes() for each in read if each.system_id == "2SAG"])
    assert found[:2] == found[2:]
    assert all(len(each) == 1 for each in found)


def cells(row: bytes, place: int, cell: bytes) -> list[bytes]:
    """Return the cells of a row with another one in one place."""
    return [cell if at == place else each for at, each in enumerate(row.split(b";"))]
