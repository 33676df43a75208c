"""The words of six languages in headers and dates, and exports that are refused or changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from formats.catalogue import sample
from formats.sample import lined
from meter_makers import refusal, sunny

from sunveil.meters import read_meters

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
