"""Exports of grid operators, portals and apps of six languages, at their users' own words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .plant import KnownPlant
from .sample import Reading, Rows, Writer, answer, book, comma, having, lined, made, readings, text

DECIMAL = {"decimal": ","}
BRUSSELS, AMSTERDAM, LISBON = "Europe/Brussels", "Europe/Amsterdam", "Europe/Lisbon"
MADRID, BERLIN = "Europe/Madrid", "Europe/Berlin"


def _user(
    clock: str, declared: dict[str, Any] | None = None, *, zone: bool = True, **facts: Any
) -> dict[str, Any]:
    """Return what a user gives: the label, and the clock where stamps do not say it."""
    options = {"label": "start", **facts.pop("options", {})}
    return having(clock=clock, zone=zone, options=options, declared=declared or {}, **facts)


def _fluvius(header: str, taken: str, given: str, day: str, night: str) -> Writer:
    def line(r: Reading) -> str:
        tariff = day if 7 <= r.t.hour < 22 else night
        begin = f'{r.t:%d-%m-%Y;%H:%M:%S};{r.end:%d-%m-%Y;%H:%M:%S};="541448";1SAG;D'
        flows = ((taken, r.taken / 4), (given, r.given / 4))
        return "\n".join(f"{begin};{way} {tariff};{comma(kwh, 4)};kWh;V;" for way, kwh in flows)

    told = {**DECIMAL, "power_unit": "kWh"}
    return text("history.csv", "munich", 15, header, line, **_user(BRUSSELS, told, net=True))


def _e_redes(
    file: str, header: Sequence[str], row: Callable[[Reading], list[Any]], **facts: Any
) -> Writer:
    above = [["Dados Globais"], [], ["CPE", "PT0002"], ["Data de Início", "2024-06-20"]]
    above += [["Data de Fim", "2024-06-24"], ["Intervalo", "15 min"], [], [*header, "Estado"]]
    return book(
        *(file, "munich", 15, {"Sheet": above}, lambda r: [*row(r), "Real"]),
        **_user(LISBON, **facts),
    )


def _dutch(lines: str) -> Writer:
    return text("meter.csv", "munich", 15, lines, **_user(AMSTERDAM, DECIMAL, net=True))


def _german(lines: str, *line: Callable[[Reading], str], net: bool = False, **told: str) -> Writer:
    return text("netz.csv", "munich", 15, lines, *line, **_user(BERLIN, DECIMAL | told, net=net))


def _balance(r: Reading) -> str:
    flows = (0, r.given, r.taken, r.kw, r.load)
    return f"{r.t:%d.%m.%Y %H:%M};" + ";".join(comma(each * 250.0, 4) for each in flows)


def _nodes(rows: Rows) -> object:
    nodes = [{"from": r.t.isoformat(), "to": r.end.isoformat(), "production": r.kwh} for r in rows]
    for node in nodes:
        node["productionUnit"] = "kWh"
    return {"data": {"viewer": {"homes": [{"production": {"nodes": nodes}}]}}}


def _dsmr(rows: Rows) -> bytes:
    """Return a Dutch meter's four registers, of which one pair counts at a time."""
    lines = ["timestamp,delivered_1,returned_1,delivered_2,returned_2"]
    counts = [1000.0] * 4
    for r in rows:
        lines.append(f"{r.t:%Y-%m-%d %H:%M:%S}," + ",".join(f"{each:.4f}" for each in counts))
        pair = 0 if r.t.hour < 7 or r.t.hour == 23 else 2
        counts[pair] += r.taken / 4
        counts[pair + 1] += r.given / 4
    return lined(lines)


EXPORTS = {
    "fluvius-nl": _fluvius(
        "Van (datum);Van (tijdstip);Tot (datum);Tot (tijdstip);EAN-code;Meter;Metertype;Register;"
        "Volume;Eenheid;Validatiestatus;Omschrijving",
        *("Afname", "Injectie", "Dag", "Nacht"),
    ),
    "fluvius-en": _fluvius(
        "From (date);From (time);To (date);To (time);EAN code;Meter;Meter type;Register;Volume;"
        "Unit;Validation status;Description",
        *("Offtake", "Injection", "Day", "Night"),
    ),
    "fluvius-fr": _fluvius(
        "De (date);De (heure);À (date);À (heure);Code EAN;Compteur;Type de compteur;Registre;"
        "Volume;Unité;Statut de validation;Description",
        *("Prélèvement", "Injection", "Jour", "Nuit"),
    ),
    "liander": _dutch(
        "EAN;Datum en tijd van;Datum en tijd tot;Levering laag (kWh);Levering normaal (kWh);"
        "Teruglevering laag (kWh);Teruglevering normaal (kWh)\n"
        "8716;{t:%d-%m-%Y %H:%M};{end:%d-%m-%Y %H:%M};0,0;{taken_kwh:.4c};{given_kwh:.4c};0,0"
    ),
    # what is given to the grid may have a minus
    "slimmemeterportal": _dutch(
        "Tijdstip;levering normaaltarief [kWh];levering laagtarief [kWh];"
        "teruglevering normaaltarief [kWh];teruglevering laagtarief [kWh]\n"
        "{t:%Y-%m-%d %H:%M:%S};{taken_kwh:.4c};0,0;-{given_kwh:.4c};0,0"
    ),
    "nextenergy": text(
        *("nextenergy.csv", "munich", 60),
        "Datum,Uur,Verbruik (kWh),Teruglevering (kWh),Prijs (EUR/kWh)\n"
        "{t:%d-%m-%Y},{hour},{taken:.4f},{given:.4f},0.2",
        **_user(AMSTERDAM, net=True),
    ),
    "energie-manager": text(
        *("em.csv", "munich", 60),
        'Datum/Tijd;"Opwek (kWh)";"Verbruik (kWh)";"Levering (kWh)"\n'
        "{t:%d-%m-%Y %H:%M};{kw:.4c};{load:.4c};{given:.4c}",
        **_user(AMSTERDAM, DECIMAL),
    ),
    "e-redes": _e_redes(
        "Consumos.xlsx",
        [
            *("Contador", "Data", "Hora", "Consumo registado, Ativa (kW)"),
            "Injeção registada, Ativa (kW)",
        ],
        lambda r: [101, f"{r.t:%Y/%m/%d}", f"{r.t:%H:%M}", r.taken, r.given],
        net=True,
    ),
    "e-redes, generation": _e_redes(
        *("Producao.xlsx", ["Data", "Hora", "Produção registada, Ativa (kW)"]),
        lambda r: [f"{r.t:%Y/%m/%d}", f"{r.t:%H:%M}", r.kw],
    ),
    "datadis": text(
        *("consumos.csv", "munich", 60),
        "CUPS;Fecha;Hora;Consumo_kWh;Metodo_obtencion;ENERGIA_VERTIDA_kWh",
        lambda r: (
            f"ES0031;{r.t:%Y/%m/%d};{r.t.hour}-{r.t.hour + 1};{comma(r.taken, 4)};Real;"
            f"{comma(r.given, 4)}"
        ),
        **_user(MADRID, DECIMAL, net=True),
    ),
    "enedis": text(
        *("courbe.csv", "munich", 15),
        "Identifiant PRM;Date de debut;Date de fin;Grandeur metier;Unite;Pas en minutes\n"
        "12345678901234;20/06/2024;24/06/2024;Production;W;15\nHorodate;Valeur\n{iso};{w:.0f}",
        **_user(BERLIN, DECIMAL, zone=False),
    ),
    "grid operator, from and to": _german(
        "Datum von;Datum bis;Wert (kWh);Status\n{t:%d.%m.%Y %H:%M};{end:%d.%m.%Y %H:%M};{kwh:.4c};W"
    ),
    "grid operator, unit above the header": _german(
        "Zählpunkt;DE000123\nEinheit;kWh\nDatum;Uhrzeit von;Uhrzeit bis;Wert\n"
        "{t:%d.%m.%Y;%H:%M};{end:%H:%M};{kwh:.4c}"
    ),
    # the number of a register may name the energy of each interval
    "grid operator, numbers of registers": _german(
        "Messzeitpunkt;Bezug (1.8.0) [kWh];Lieferung (2.8.0) [kWh]\n"
        "{t:%d.%m.%Y %H:%M};{taken_kwh:.4c};{given_kwh:.4c}",
        net=True,
        register="no",
    ),
    "inverter in a balance": _german(
        "Datum und Uhrzeit;Eigenverbrauch;Einspeisung;Netzbezug;PV Produktion;Verbrauch\n"
        "[dd.MM.yyyy HH:mm];[Wh];[Wh];[Wh];[Wh];[Wh]",
        _balance,
    ),
    "zone and offset": _german(
        "Zeit;Leistung (kW)", lambda r: f"{r.t:%d.%m.%Y %H:%M} CEST+0200;{comma(r.kw, 4)}"
    ),
    "as C writes times": text(
        *("log.csv", "munich", 15),
        "Timestamp,Power (kW)\n{t:%a %b %d %H:%M:%S} CEST {t:%Y},{kw:.4f}",
        **_user(BERLIN, zone=False),
    ),
    "huawei": book(
        *("inverter.xlsx", "munich", 60),
        {
            "Sheet": [
                ["ManageObject", "Site Name", "Start Time", "Active power(kW)", "Total yield(kWh)"]
            ]
        },
        lambda r: ["Inverter-1", "A", f"{r.t:%Y-%m-%d %H:%M:%S} DST", r.kw, 1e3],
        **_user(MADRID),
    ),
    "growatt": book(
        *("plant.xlsx", "munich", 60),
        {"Sheet": [["Inverter Serial Number", "Time", "Vpv1(V)", "Ppv(W)", "Pac(W)"]]},
        lambda r: ["A1", f"{r.t:%Y-%m-%d %H:%M}", 3, r.kw * 999, r.w],
        **_user(MADRID),
    ),
    # the sheet of hours is read, not that of days; a release takes the first
    "days and hours": book(
        *("a.xlsx", "munich", 60),
        {
            "days": [
                ["Datum", "Ertrag (kWh)"],
                *([r.naive, r.kwh] for r in readings(KnownPlant("munich", 12).power(1440))),
            ],
            "hours": [["Datum", "Ertrag (kWh)"]],
        },
        lambda r: [r.naive, r.kw],
        **having(clock=AMSTERDAM, zone=True, options={"label": "start"}),
    ),
    "tibber": text(
        *("tibber.csv", "munich", 60),
        "From;To;Production;ProductionUnit;UnitPrice\n{iso};{end_iso};{kwh:.4c};kWh;0,2000",
        **_user(MADRID, {**DECIMAL, "power_unit": "kWh"}, zone=False),
    ),
    "tibber, JSON": answer(
        *("tibber.json", "munich", 60, _nodes), **_user(MADRID, {"power_unit": "kWh"}, zone=False)
    ),
    "edison": text(
        *("sce.csv", "munich", 15),
        "Energy Usage Information\n\nDetailed Usage\n\nEnergy consumption time period,"
        '"Usage(Real energy in kilowatt-hours)",Reading quality',
        lambda r: (
            f'"{r.t:%Y-%m-%d %H:%M:%S}\xa0to {r.end:%Y-%m-%d %H:%M:%S}","{-r.net / 4:.4f}",""'
        ),
        **having(clock=BERLIN, zone=True, options={"net": True, "negate": True}, declared={}),
        **having(net=True, label_said=True),
    ),
    "dsmr": made(
        *("dsmr.csv", "munich", 15, _dsmr),
        **having(clock=AMSTERDAM, zone=True, options={"power_unit": "kWh"}),
        declared={"register": "cumulative"},
        **having(net=True, label_said=True, coverage=0.95),
    ),
    "home assistant, statistics": text(
        *("statistics.csv", "munich", 60, "start,change\n{t:%Y-%m-%dT%H:%M:%SZ},{kwh:.3f}"),
        **_user("UTC", zone=False, options={"power_column": "change", "power_unit": "kWh"}),
    ),
    "solaredge, zone": answer(
        *("solaredge.json", "munich", 60),
        lambda rows: {
            "energy": {
                "timeUnit": "HOUR",
                "unit": "Wh",
                "timeZone": MADRID,
                "values": [{"date": f"{r.t:%Y-%m-%d %H:%M:%S}", "value": r.wh} for r in rows],
            }
        },
        **_user(MADRID, zone=False),
    ),
}
