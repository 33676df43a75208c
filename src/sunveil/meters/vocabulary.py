"""The words by which headers name what their columns hold, in the languages of their makers.

All are folded: small plain letters, words parted by single spaces. The first of several wins.
"""

from __future__ import annotations

import re


def _listed(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(","))


TIMES = _listed(
    "time, timestamp, datetime, date time, measured on, time utc, utc time, utc, datetime utc,"
    " timestamp utc, local time, ts, interval start, start, start time, starttime, from, von, end"
    " at, interval end, end time, end, local 15min, localhour, localminute, local 1hour, reading"
    " time, read date and end time, date and time, date, datum und uhrzeit, datum uhrzeit,"
    " zeitstempel, zeitpunkt, datum, zeit, fecha y hora, fecha hora, fecha, date et heure, date"
    " heure, horodatage, data ora, data e ora, datum en tijd, tijdstip, data, tid, tidspunkt,"
    " interval, period, hour ending, time stamp"
)
# Words that nothing but the name of a column of times is.
PLAIN_TIMES = frozenset(
    _listed(
        "time, timestamp, datetime, date time, measured on, time utc, utc time, datetime utc,"
        " timestamp utc, local time, interval start, interval end, start time, end time, date,"
        " date and time, datum, datum und uhrzeit, zeitstempel, fecha, fecha y hora, time stamp,"
        " local 15min, uhrzeit, zeit, end at"
    )
)
DATES = _listed("date, datum, fecha, data, day, tag, dato, usage date, reading date, interval date")
CLOCKS = _listed(
    "time, start time, starttime, from, von, start, hour, hour ending, he, zeit, uhrzeit, hora,"
    " heure, ora, tijd, tid, time of day, interval, period, end time, endtime, to, bis, end"
)
SYSTEMS = _listed(
    "system id, systemid, system, meter id, site id, plant id, ss id, meter, dataid, data id, home"
    " id, homeid, house id, houseid, household id, home, customer id, customer, lclid, nmi, mpan,"
    " meter number, meter no, installation, installation id, inverter id, inverter, plant, site,"
    " station, station id"
)
UNITS = _listed("unit, units, uom, einheit, unite, unidad")
# Columns that say what a row counts, where rows of several kinds stand in one table.
KINDS = _listed(
    "consumption category, category, type, channel, stream, direction, flow, register, measurement,"
    " data type, meter type, suffix, nmi suffix, reading type, con gen"
)
# What rows of generation are called; Ausgrid's gross generation first.
GENERATION_KINDS = _listed(
    "gg, generation, gross generation, production, solar, pv, generated, solar generation, pv"
    " generation, erzeugung, produktion, gen"
)
CONSUMPTION_KINDS = frozenset(
    _listed(
        "consumption, gc, cl, load, import, usage, use, verbrauch, bezug, controlled load, general"
        " consumption, electric usage, delivered"
    )
)
# What a net meter that counts both ways apart calls them; the first that one column has wins. A
# utility delivers to its customers and receives from them; OBIS numbers both ways.
EXPORTS = (
    re.compile(r"\b(exports?|exported|feed in|feedin|fed in|to grid|2 (8 [0-4]|(29|7) 0))\b"),
    re.compile(
        r"\b(netzeinspeisung|einspeisung|eingespeist|teruglevering|teruggeleverd|injectie|injection"
        r"|received|returned)\b"
    ),
)
IMPORTS = (
    re.compile(r"\b(imports?|imported|from grid|purchased|1 (8 [0-4]|(29|7) 0))\b"),
    re.compile(
        r"\b(netzbezug|bezug|bezogen|delivered|afname|afgenomen|levering|geleverd|prelevement"
        r"|grid consumption)\b"
    ),
    re.compile(r"\b(consumed|consumption|usage|used|verbrauch|verbruik)\b"),
)
# What the register of one tariff has in its name beside what all have: OBIS numbers tariffs, the
# Netherlands and Belgium say low and normal, day and night.
OBIS_TARIFF = re.compile(r"\b([12] 8) [1-4]\b")
TARIFF = re.compile(
    r"\b((t|tarif|tariff|tarief|rate) ?[1-4]|(laag|normaal|hoog|dal|dag|nacht|piek)(tarief)?|low"
    r"|high|normal|day|night|off peak|offpeak|peak|jour|nuit|tag|[1-4]$)(?!\w)"
)
ALL_TARIFFS = re.compile(r"\b([12] 8 0|totals?|totaal|gesamt|summe|sum)\b")
# Columns of times that say which way their readings flow, as Southern California Edison's do.
FLOWING_TIMES = re.compile(r"\b(delivered|received|consumption)\b")
# One column of what flows at the grid, both ways in one.
NETS = re.compile(r"\b(net|netto|grid|mains|saldo|residual)\b")
# Rows of either, where a column says what each row counts.
EXPORT_KINDS = frozenset(
    _listed(
        "export, exported, feed in, to grid, received, einspeisung, teruglevering, injectie,"
        " injection, 2 8, 2 8 0"
    )
)
IMPORT_KINDS = frozenset(
    _listed(
        "import, imported, from grid, delivered, consumption, usage, use, bezug, levering, afname,"
        " prelevement, 1 8, 1 8 0"
    )
)
# What may tell several homes apart under another name, for the advice.
IDENTIFYING = re.compile(r"\b(id|home|house|meter|customer|account|unit|device|serial|name|no)\b")
UNNAMED = re.compile(r"(unnamed: \d+|index|__index_level_0__|column0|)", re.IGNORECASE)
GENERATION = re.compile(
    r"\b(power|generation|generated|production|produced|producing|pv|solar|yield|ac|output|gen|gg"
    r"|energie|energy|erzeugung|erzeugt|leistung|ertrag|produktion|produccion|produzione|potencia"
    r"|puissance|potenza|opbrengst|energia|inverter|powr|enwh|wechselrichter|einspeisung|moc)\b"
)
# Words for energy rather than power.
ENERGY = re.compile(r"\b(energ\w*|yield|ertrag|opbrengst|enwh)\b")
SURELY_GENERATION = re.compile(r"\b(generat\w*|produc\w*|pv|solar|erzeug\w*)\b")
# Whatever unit they are in, these are not generation.
OTHERS = re.compile(
    r"\b(temp\w*|irradiance|ghi|dni|dhi|poa|volt\w*|spannung|current|strom|ampere|humidity|wind"
    r"|consum\w*|verbrauch|consumo|consommation|load|last|demand|import\w*|bezug|purchased"
    r"|grid(?! ms)|battery|batterie|soc|charge|discharge|capacity|nominal|rated|latitude|longitude"
    r"|lat|lon"
    r"|altitude|elevation|id|postcode|zip|efficiency|cost|price|expected|forecast|limit|setpoint"
    r"|frequency|reactive|quality|flag|status|devices|reporting|apparent|use|usage|dc|row)\b"
)
COUNTERS = re.compile(
    r"\b([12] 8 [0-4]|counter|cumulative|lifetime|odometer|register|zahlerstand|meter reading"
    r"|total yield|gesamtertrag|kumuliert\w*|cumulated|accumulated|tot wh out)\b"
)
DAILY_COUNTERS = re.compile(
    r"\b(today|etoday|e today|daily|day yield|tagesertrag|heute|since midnight)\b"
)
DIFFERENCES = re.compile(r"\b(differ\w*|delta|interval)\b")
# What is not the power of an interval, beside a column that is.
DERIVED = re.compile(r"\b(net|max|min|peak|day)\b")
ENDING = re.compile(r"\b(ending|end|ends|end at|he|ende|to|bis|fin)\b")
STARTING = re.compile(r"\b(start|starting|begin\w*|from|von|anfang|beginn|debut|inicio)\b")


def without_tariff(folded: str) -> str:
    """Return the name of a register without what tells its tariff from others."""
    return " ".join(TARIFF.sub("", OBIS_TARIFF.sub(r"\1", folded)).split())
