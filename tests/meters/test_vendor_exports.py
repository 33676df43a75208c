"""Exports of vendors and grid operators, and the words of six languages in their headers."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pytest
from meter_makers import refusal

from sunveil.meters import read_meters

DAYS = 4
STEP = pd.Timedelta


@dataclass(frozen=True)
class Readings:
    """Generation and consumption over some days. [kW]"""

    times: pd.DatetimeIndex
    power: np.ndarray
    load: np.ndarray

    @property
    def hours(self) -> float:
        return (self.times[1] - self.times[0]) / STEP(hours=1)

    def rows(self, write: Callable[..., Any]) -> list[Any]:
        """Write each interval: start, end, generation, consumption, export and import. [kWh]"""
        step = self.times[1] - self.times[0]
        return [
            write(t, t + step, *(np.array([p, d, max(p - d, 0.0), max(d - p, 0.0)]) * self.hours))
            for t, p, d in zip(self.times, self.power, self.load, strict=True)
        ]


def readings(minutes: int, zone: str, start: str = "2024-06-20", days: int = DAYS) -> Readings:
    """Return readings in a clock of its own."""
    times = pd.date_range(start, periods=days * 1440 // minutes, freq=f"{minutes}min", tz=zone)
    hour = np.asarray(times.hour + times.minute / 60.0)
    power = 5.0 * np.clip(np.sin((hour - 5.0) * np.pi / 15.0), 0.0, None)
    power[(hour < 5.0) | (hour > 20.0)] = 0.0
    cloudy = 1.0 - 0.1 * np.asarray(times.day_of_year % 3)
    return Readings(times, np.round(power * cloudy, 3), np.round(0.4 + 0.2 * np.sin(hour), 3))


def comma(value: float) -> str:
    return f"{value:.4f}".replace(".", ",")


def workbook(*sheets: Sequence[Sequence[Any]]) -> bytes:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for rows in sheets:
        sheet = book.create_sheet()
        for row in rows:
            sheet.append(list(row))
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def text(*lines: str | list[str]) -> bytes:
    flat = [line for each in lines for line in ([each] if isinstance(each, str) else each)]
    return ("\n".join(flat) + "\n").encode()


@dataclass(frozen=True)
class Export:
    """A file, what it holds, and what a release has to be told beside its time zone."""

    file: str
    content: bytes
    source: Readings
    net: bool = False
    zone: str | None = None
    declared: dict[str, str] = field(default_factory=dict)


SEMICOLONS = {"decimal": ","}
BRUSSELS, AMSTERDAM = readings(15, "Europe/Brussels"), readings(15, "Europe/Amsterdam")
DUTCH_HOURS, LISBON = readings(60, "Europe/Amsterdam"), readings(15, "Europe/Lisbon")
SPANISH, GERMAN = readings(60, "Europe/Madrid"), readings(15, "Europe/Berlin")


def fluvius(header: str, taken: str, given: str, day: str, night: str) -> Export:
    def rows(t: Any, e: Any, _p: float, _d: float, x: float, i: float) -> str:
        tariff = day if 7 <= t.hour < 22 else night
        begin = f'{t:%d-%m-%Y};{t:%H:%M:%S};{e:%d-%m-%Y};{e:%H:%M:%S};="541448"'
        ways = ((taken, i), (given, x))
        return "\n".join(f"{begin};1SAG;D;{way} {tariff};{comma(v)};kWh;V;" for way, v in ways)

    told = {**SEMICOLONS, "power_unit": "kWh"}
    content = text(header, BRUSSELS.rows(rows))
    return Export("history.csv", content, BRUSSELS, True, "Europe/Brussels", told)


def e_redes(header: Sequence[str], row: Callable[..., Sequence[Any]]) -> bytes:
    above = [["Dados Globais"], [], ["CPE", "PT0002"], ["Data de Início", "2024-06-20"]]
    above += [["Data de Fim", "2024-06-24"], ["Intervalo", "15 min"], []]
    return workbook([*above, header, *LISBON.rows(row)])


def dutch(header: str, row: Callable[..., str], source: Readings = AMSTERDAM) -> Export:
    content = text(header, source.rows(row))
    return Export("meter.csv", content, source, True, "Europe/Amsterdam", SEMICOLONS)


def german(*lines: Any, net: bool = False) -> Export:
    return Export("netz.csv", text(*lines), GERMAN, net, "Europe/Berlin", SEMICOLONS)


HOURS_IN_A_BOOK = DUTCH_HOURS.rows(lambda t, e, p, *_: [t.tz_localize(None).to_pydatetime(), p])
EXPORTS = {
    "fluvius-nl": fluvius(
        "Van (datum);Van (tijdstip);Tot (datum);Tot (tijdstip);EAN-code;Meter;Metertype;Register;"
        "Volume;Eenheid;Validatiestatus;Omschrijving",
        *("Afname", "Injectie", "Dag", "Nacht"),
    ),
    "fluvius-en": fluvius(
        "From (date);From (time);To (date);To (time);EAN code;Meter;Meter type;Register;Volume;"
        "Unit;Validation status;Description",
        *("Offtake", "Injection", "Day", "Night"),
    ),
    "fluvius-fr": fluvius(
        "De (date);De (heure);À (date);À (heure);Code EAN;Compteur;Type de compteur;Registre;"
        "Volume;Unité;Statut de validation;Description",
        *("Prélèvement", "Injection", "Jour", "Nuit"),
    ),
    "liander": dutch(
        "EAN;Datum en tijd van;Datum en tijd tot;Levering laag (kWh);Levering normaal (kWh);"
        "Teruglevering laag (kWh);Teruglevering normaal (kWh)",
        lambda t, e, p, d, x, i: (
            f"8716;{t:%d-%m-%Y %H:%M};{e:%d-%m-%Y %H:%M};0,0;{comma(i)};{comma(x)};0,0"
        ),
    ),
    "slimmemeterportal": dutch(
        "Tijdstip;levering normaaltarief [kWh];levering laagtarief [kWh];"
        "teruglevering normaaltarief [kWh];teruglevering laagtarief [kWh]",
        # what is given to the grid may have a minus
        lambda t, e, p, d, x, i: (
            f"{t:%Y-%m-%d %H:%M:%S};{comma(i)};{comma(0)};{comma(-x)};{comma(0)}"
        ),
    ),
    "nextenergy": Export(
        "nextenergy.csv",
        text(
            "Datum,Uur,Verbruik (kWh),Teruglevering (kWh),Prijs (EUR/kWh)",
            DUTCH_HOURS.rows(lambda t, e, p, d, x, i: f"{t:%d-%m-%Y},{t.hour},{i:.4f},{x:.4f},0.2"),
        ),
        *(DUTCH_HOURS, True, "Europe/Amsterdam"),
    ),
    "energie-manager": Export(
        "em.csv",
        text(
            'Datum/Tijd;"Opwek (kWh)";"Verbruik (kWh)";"Levering (kWh)"',
            DUTCH_HOURS.rows(
                lambda t, e, p, d, x, i: f"{t:%d-%m-%Y %H:%M};{comma(p)};{comma(d)};{comma(x)}"
            ),
        ),
        *(DUTCH_HOURS, False, "Europe/Amsterdam", SEMICOLONS),
    ),
    "e-redes": Export(
        "Consumos.xlsx",
        e_redes(
            [
                *("Contador", "Data", "Hora", "Consumo registado, Ativa (kW)"),
                *("Injeção registada, Ativa (kW)", "Estado"),
            ],
            lambda t, e, p, d, x, i: [101, f"{t:%Y/%m/%d}", f"{t:%H:%M}", 4 * i, 4 * x, "Real"],
        ),
        *(LISBON, True, "Europe/Lisbon"),
    ),
    "e-redes, generation": Export(
        "Producao.xlsx",
        e_redes(
            ["Data", "Hora", "Produção registada, Ativa (kW)", "Estado"],
            lambda t, e, p, *_: [f"{t:%Y/%m/%d}", f"{t:%H:%M}", 4 * p, "Real"],
        ),
        *(LISBON, False, "Europe/Lisbon"),
    ),
    "datadis": Export(
        "consumos.csv",
        text(
            "CUPS;Fecha;Hora;Consumo_kWh;Metodo_obtencion;ENERGIA_VERTIDA_kWh",
            SPANISH.rows(
                lambda t, e, p, d, x, i: (
                    f"ES0031;{t:%Y/%m/%d};{t.hour}-{t.hour + 1};{comma(i)};Real;{comma(x)}"
                )
            ),
        ),
        *(SPANISH, True, "Europe/Madrid", SEMICOLONS),
    ),
    "enedis": Export(
        "courbe.csv",
        text(
            "Identifiant PRM;Date de debut;Date de fin;Grandeur metier;Unite;Pas en minutes",
            "12345678901234;20/06/2024;24/06/2024;Production;W;15",
            "Horodate;Valeur",
            GERMAN.rows(lambda t, e, p, *_: f"{t.isoformat()};{p * 4000:.0f}"),
        ),
        *(GERMAN, False, None, SEMICOLONS),
    ),
    "grid operator, from and to": german(
        "Datum von;Datum bis;Wert (kWh);Status",
        GERMAN.rows(lambda t, e, p, *_: f"{t:%d.%m.%Y %H:%M};{e:%d.%m.%Y %H:%M};{comma(p)};W"),
    ),
    "grid operator, unit above the header": german(
        *("Zählpunkt;DE000123", "Einheit;kWh", "Datum;Uhrzeit von;Uhrzeit bis;Wert"),
        GERMAN.rows(lambda t, e, p, *_: f"{t:%d.%m.%Y};{t:%H:%M};{e:%H:%M};{comma(p)}"),
    ),
    "inverter in a balance": german(
        "Datum und Uhrzeit;Eigenverbrauch;Einspeisung;Netzbezug;PV Produktion;Verbrauch",
        "[dd.MM.yyyy HH:mm];[Wh];[Wh];[Wh];[Wh];[Wh]",
        GERMAN.rows(
            lambda t, e, p, d, x, i: (
                f"{t:%d.%m.%Y %H:%M};{comma(0)};{comma(x * 1e3)};{comma(i * 1e3)};{comma(p * 1e3)};"
                + comma(d * 1e3)
            )
        ),
    ),
    "zone and offset": german(
        "Zeit;Leistung (kW)",
        GERMAN.rows(lambda t, e, p, *_: f"{t:%d.%m.%Y %H:%M} CEST+0200;{comma(4 * p)}"),
    ),
    "as C writes times": Export(
        "log.csv",
        text(
            "Timestamp,Power (kW)",
            GERMAN.rows(lambda t, e, p, *_: f"{t:%a %b %d %H:%M:%S} CEST {t:%Y},{4 * p:.4f}"),
        ),
        GERMAN,
    ),
    "huawei": Export(
        "inverter.xlsx",
        workbook(
            [
                ["ManageObject", "Site Name", "Start Time", "Active power(kW)", "Total yield(kWh)"],
                *SPANISH.rows(
                    lambda t, e, p, *_: ["Inverter-1", "A", f"{t:%Y-%m-%d %H:%M:%S} DST", p, 1e3]
                ),
            ]
        ),
        *(SPANISH, False, "Europe/Madrid"),
    ),
    "growatt": Export(
        "plant.xlsx",
        workbook(
            [
                ["Inverter Serial Number", "Time", "Vpv1(V)", "Ppv(W)", "Pac(W)"],
                *SPANISH.rows(
                    lambda t, e, p, *_: ["A1", f"{t:%Y-%m-%d %H:%M}", 3, p * 999, p * 1e3]
                ),
            ]
        ),
        *(SPANISH, False, "Europe/Madrid"),
    ),
    "tibber": Export(
        "tibber.csv",
        text(
            "From;To;Production;ProductionUnit;UnitPrice",
            SPANISH.rows(
                lambda t, e, p, *_: f"{t.isoformat()};{e.isoformat()};{comma(p)};kWh;{comma(0.2)}"
            ),
        ),
        *(SPANISH, False, None, {**SEMICOLONS, "power_unit": "kWh"}),
    ),
    "tibber, JSON": Export(
        "tibber.json",
        json.dumps(
            {
                "data": {
                    "viewer": {
                        "homes": [
                            {
                                "production": {
                                    "nodes": SPANISH.rows(
                                        lambda t, e, p, *_: {
                                            "from": t.isoformat(),
                                            "to": e.isoformat(),
                                            "production": p,
                                            "productionUnit": "kWh",
                                        }
                                    )
                                }
                            }
                        ]
                    }
                }
            }
        ).encode(),
        *(SPANISH, False, None, {"power_unit": "kWh"}),
    ),
    "solaredge, zone": Export(
        "solaredge.json",
        json.dumps(
            {
                "energy": {
                    "timeUnit": "HOUR",
                    "unit": "Wh",
                    "timeZone": "Europe/Madrid",
                    "values": SPANISH.rows(
                        lambda t, e, p, *_: {"date": f"{t:%Y-%m-%d %H:%M:%S}", "value": p * 1e3}
                    ),
                }
            }
        ).encode(),
        SPANISH,
    ),
}


def assert_read(export: Export, folder: Any, **options: Any) -> None:
    path = folder / export.file
    path.write_bytes(export.content)
    if export.zone is not None:
        options["timezone"] = export.zone
    (record,) = read_meters(path, label="start", **options)
    source = export.source
    wanted = source.power - source.load if export.net else source.power
    starts = source.times.tz_convert("UTC").tz_localize(None).to_numpy().astype("M8[s]")
    np.testing.assert_array_equal(record.times, starts)
    np.testing.assert_allclose(record.power_kw, wanted, atol=0.005)
    assert record.net == export.net


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_is_read(name, tmp_path):
    assert_read(EXPORTS[name], tmp_path)


@pytest.mark.parametrize("name", EXPORTS)
def test_a_release_reads_the_same_with_what_it_is_told(name, tmp_path):
    export = EXPORTS[name]
    assert_read(export, tmp_path, cleaning="each", **export.declared)


def test_the_sheet_of_hours_is_read_not_that_of_days(tmp_path):
    days = [["Datum", "Ertrag (kWh)"]]
    days += [[pd.Timestamp("2024-06-20") + STEP(days=day), 20.0 + day] for day in range(DAYS)]
    content = workbook(days, [["Datum", "Ertrag (kWh)"], *HOURS_IN_A_BOOK])
    assert_read(Export("a.xlsx", content, DUTCH_HOURS, False, "Europe/Amsterdam"), tmp_path)


HOUR_ROWS = SPANISH.rows(lambda t, e, p, *_: f"{t.tz_convert('UTC'):%Y-%m-%dT%H:%M}Z,{p:.3f},1")
TWO_COLUMNS = [row.removesuffix(",1") for row in HOUR_ROWS]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        # a header is there, though no column of readings is known by its name
        (text("hour_start,electricity1,gas", HOUR_ROWS), "several columns of readings"),
        (text("entity_id,start,sum,state", HOUR_ROWS), "'sum', 'state'"),
        (text('time,"Consumo registado, Ativa (kW)",Estado', HOUR_ROWS), "power_column"),
        (text("time,Consumption (kWh)", TWO_COLUMNS), "readings of consumption alone"),
        (text("Type;Consommation", "Horodate;Valeur"), "readings of consumption alone"),
        (text("time,unit,elektra opwek", HOUR_ROWS), "unit of its column 'elektra opwek'"),
    ],
)
def test_a_refusal_says_what_is_there(content, words, tmp_path):
    path = tmp_path / "a.csv"
    if b"Horodate" in content:
        content += text(TWO_COLUMNS).replace(b",", b";")
    path.write_bytes(content)
    message = refusal(path)
    assert words in message
    assert "no header" not in message


def test_a_release_says_that_the_unit_stands_in_a_column(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(text("time,production,unit", [row[:-1] + "kWh" for row in HOUR_ROWS]))
    assert "in column 'unit'" in refusal(path, cleaning="each")


def test_the_number_of_a_register_may_name_energy_of_each_interval(tmp_path):
    lines = GERMAN.rows(lambda t, e, p, d, x, i: f"{t:%d.%m.%Y %H:%M};{comma(i)};{comma(x)}")
    header = "Messzeitpunkt;Bezug (1.8.0) [kWh];Lieferung (2.8.0) [kWh]"
    export = german(header, lines, net=True)
    assert_read(export, tmp_path)


TIMES = {
    "en": "Time, Timestamp, Date/Time, Hour start, Statistical Period, Date and time",
    "de": "Zeit, Zeitstempel, Zeitpunkt, Messzeitpunkt, Datum und Uhrzeit, Datum von, Zeitraum",
    "nl": "Tijdstip, Datum/tijd, Datum en tijd, Datum en tijd van",
    "fr": "Horodate, Horodatage, Date et heure",
    "es": "Fecha, Fecha y hora",
    "pt": "Data, Data e hora, Data/Hora",
    "it": "Data, Data e ora",
}
GENERATION = {
    "en": "Generation, PV production, Solar yield",
    "de": "Erzeugung, Ertrag, PV-Leistung, Produktion",
    "nl": "Opwek, Opbrengst, Opgewekt",
    "fr": "Énergie produite, Production",
    "es": "Producción, Energía",
    "pt": "Produção, Energia produzida",
    "it": "Produzione, Energia",
}
UNITS = {
    "kWh": "kWh, kilowatt hours, Kilowattstunden, kilowattuur, kilowatt-heure, kilovatios hora,"
    " quilowatt hora, chilowattora",
    "W": "W, watt, Watt, vatios",
}
WORDS = [
    *((time, "Power kW", 1.0) for names in TIMES.values() for time in names.split(", ")),
    *(
        ("Time", f"{name} (kWh)", 1.0)
        for names in GENERATION.values()
        for name in names.split(", ")
    ),
    *(("Time", f"Power ({unit})", 1000.0) for unit in UNITS["W"].split(", ")),
]


def one_column(folder: Any, time: str, reading: str, stamps: Sequence[str], **options: Any) -> Any:
    rows = [f"{stamp}\t{power:.3f}\t-" for stamp, power in zip(stamps, SPANISH.power, strict=True)]
    (folder / "a.csv").write_bytes(text(f"{time}\t{reading}\tTemp (C)", rows))
    options = {"timezone": "Europe/Madrid", "decimal": ".", "label": "start", **options}
    (record,) = read_meters(folder / "a.csv", **options)
    return record.power_kw


@pytest.mark.parametrize("cleaning", ["record", "each"])
@pytest.mark.parametrize(("time", "reading", "scale"), WORDS)
def test_a_header_is_known_in_each_language(time, reading, scale, cleaning, tmp_path):
    stamps = SPANISH.times.strftime("%Y-%m-%d %H:%M")
    found = one_column(tmp_path, time, reading, stamps, cleaning=cleaning)
    np.testing.assert_allclose(found * scale, SPANISH.power, atol=0.001)


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
        times = pd.date_range(f"2023-{month}-10", periods=DAYS * 24, freq="h")
        stamps = [form.format(each, names[each.month - 1]) for each in times]
        found = one_column(tmp_path, "Datum", "Power kW", stamps, timezone="UTC", cleaning="each")
        np.testing.assert_allclose(found, SPANISH.power, atol=0.001)


@pytest.mark.parametrize(
    "form",
    ["{0:%d} de {1} de {0:%Y %H:%M}", "{0:%d}. {1} {0:%Y %H:%M}", "{0:%d}/{1}/{0:%Y %H:%M}"],
)
def test_dates_in_words_are_read(form, tmp_path):
    stamps = [form.format(each, "junio") for each in SPANISH.times]
    found = one_column(tmp_path, "Fecha", "Power kW", stamps)
    np.testing.assert_allclose(found, SPANISH.power, atol=0.001)


@pytest.mark.parametrize(
    ("zone", "hours"),
    [
        *(("Z", 0), (" UTC", 0), (" GMT", 0), (" WET", 0), (" WEST", 1), (" CET", 1)),
        *((" CEST", 2), (" MEZ", 1), (" MESZ", 2), (" EET", 2), (" EEST", 3)),
        *(
            (" CEST+0200", 2),
            (" UTC+2", 2),
            (" GMT-03:00", -3),
            (" (UTC+05:30)", 5.5),
            ("-0330", -3.5),
        ),
    ],
)
def test_zones_and_offsets_behind_times_are_known(zone, hours, tmp_path):
    rows = [f"{each:%Y-%m-%d %H:%M}{zone},1" for each in SPANISH.times]
    (tmp_path / "a.csv").write_bytes(text("time,power_kw", rows))
    (record,) = read_meters(tmp_path / "a.csv", label="start")
    first = SPANISH.times[0].tz_localize(None).to_datetime64() - np.timedelta64(
        int(60 * hours), "m"
    )
    assert record.times[0] == first


@pytest.mark.parametrize("unit", ["kW", "kWh"])
@pytest.mark.parametrize("label", ["start", "end"])
def test_two_spacings_are_brought_to_the_longer_one(label, unit, tmp_path):
    long = readings(10, "UTC", days=2)
    short = readings(1, "UTC", start="2024-06-22", days=2)
    rows = []
    for part, minutes in ((long, 10), (short, 1)):
        late = STEP(minutes=minutes if label == "end" else 0)
        scale = minutes / 60 if unit == "kWh" else 1.0
        rows += [
            f"{time + late:%Y-%m-%dT%H:%M}Z,{power * scale:.6f}"
            for time, power in zip(part.times, part.power, strict=True)
        ]
    rows.pop(1000)  # one of the short ones: its ten minutes are left out
    path = tmp_path / "a.csv"
    path.write_bytes(text(f"time,power {unit}", rows))
    (record,) = read_meters(path, label=label)
    (again,) = read_meters(path, label=label, interval_minutes=10)
    np.testing.assert_array_equal(again.power_kw, record.power_kw)
    assert record.interval_minutes == 10
    lost = (1000 - len(long.times)) // 10
    means = np.delete(short.power.reshape(-1, 10).mean(axis=1), lost)
    np.testing.assert_allclose(record.power_kw, [*long.power, *means], atol=1e-3)
    assert np.diff(record.times).max() == np.timedelta64(20, "m")
    assert any("averaged to 10 minutes" in note for note in record.notes)
    assert "option `label`" in refusal(path)
    assert "one spacing" in refusal(path, cleaning="each", label=label)


@pytest.mark.parametrize("place", [0, 7, 9])
@pytest.mark.parametrize("cell", [b"Injectie", b"Afname Dag", b"Tot", b"kWh", b'"', b"9,9;9", b"x"])
def test_one_meter_of_an_export_changes_no_other(cell, place, tmp_path):
    header, *rows = EXPORTS["fluvius-nl"].content.splitlines()
    path = tmp_path / "a.csv"
    others = [row.replace(b"1SAG", b"2SAG") for row in rows]
    found = []
    for own in (rows, [*rows[:50], b";".join(cells(rows[50], place, cell)), *rows[51:]]):
        path.write_bytes(b"\n".join([header, *own, *others]))
        for cleaning in ("record", "each"):
            told = {**SEMICOLONS, "power_unit": "kWh"} if cleaning == "each" else {}
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
