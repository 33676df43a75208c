"""Words of meter files in English, German, Dutch, French, Spanish, Portuguese and Italian.

Spellings of units, names of columns and of kinds of rows, names of months and of
time zones. Names are written as ``fold`` returns them: small plain letters, words parted by single
spaces.
"""

from __future__ import annotations

import re
import unicodedata


def fold(text: str) -> str:
    """Return a text in small plain letters, words parted by single spaces."""
    plain = unicodedata.normalize("NFKD", text.replace("ß", "ss"))
    plain = "".join(each for each in plain if not unicodedata.combining(each))
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", plain)
    return " ".join(re.sub(r"[^a-z0-9]+", " ", spaced.lower()).split())


def _names(*lists: str) -> tuple[str, ...]:
    """Return the names of comma-separated lists, the likeliest first."""
    return tuple(each.strip() for each in ",".join(lists).split(","))


def _any_of(*words: str) -> re.Pattern[str]:
    """Return a pattern that finds any of some words, each a pattern of its own."""
    return re.compile(rf"\b({'|'.join(words)})\b")


# Units

# A prefix of one letter stands right before its watt; elsewhere a space, a dash, a dot or a cross
# may stand between. Case says nothing: mW is a megawatt too, since nobody meters PV in milliwatts.
KILO, MEGA = ("kilo", "quilo", "chilo"), ("mega",)
WATT = ("w", "watt", "watts", "vatio", "vatios")
HOUR = (
    *("h", "hs", "hr", "hrs", "hour", "hours"),
    *("std", "stunde", "stunden"),
    *("uur", "uren"),
    *("heure", "heures"),
    *("hora", "horas"),
    *("ora", "ore"),
)
PER = ("per", "pro", "je", "par", "por")

# Energy by the interval is what every reading of energy is.
INTERVAL = ("interval", "intervall", "intervalle", "intervalo", "intervallo")

# A number of kW with one of these words is the size of a plant.
SIZES = ("p", "peak", "spitze", "crete", "pico", "picco", "piek", "nominal", "rated", "installed")

# Apparent and reactive power, and multiples that are not read.
OTHER_UNITS = ("va", "kva", "mva", "var", "kvar", "mvar", "gw", "tw", "gigawatt", "gigawatts")

# Money and mass by the kWh.
PRICES = (
    *("€", "$", "£", "ct", "cts", "cent", "cents", "eur", "euro", "usd", "gbp", "chf", "aud"),
    *("g", "kg", "t", "lb", "lbs", "co2"),
)

# A lone W may be west: it is a watt behind these words or an underscore, in brackets and by itself.
BEFORE_W = (
    *("power", "leistung", "potencia", "potenza", "puissance", "vermogen", "moc", "p", "pac"),
    *("ac", "active", "output", "total", "generation", "production", "solar", "pv", "in", "net"),
    *("grid", "load", "export", "exported", "import", "imported", "consumption"),
)

# After these words a small k or m belongs to the unit: PowerkW.
BEFORE_KW = ("power", "energy", "generation", "production", "yield", "output", "total")

# Columns of times
TIMES = _names(
    "time, timestamp, datetime, date time, measured on, time utc, utc time, utc, datetime utc,"
    " timestamp utc, local time, ts, interval start, start, start time, starttime, hour start,"
    " from, von, end at, interval end, end time, end, local 15min, localhour, localminute,"
    " local 1hour, reading time, read date and end time, date and time, date, statistical period,"
    " last changed, last updated",
    "datum und uhrzeit, datum uhrzeit, zeitstempel, zeitpunkt, messzeitpunkt, datum von,"
    " von datum, zeitraum, datum, zeit",
    "datum en tijd, datum tijd, datum en tijd van, datum tijd van, tijdstip, van datum, van",
    "date et heure, date heure, horodatage, horodate, de date",
    "fecha y hora, fecha hora, fecha",
    "data ora, data e ora, data hora, data e hora, data",
    "tid, tidspunkt, interval, period, hour ending, time stamp",
)

# Names of columns of times that may be something else, or a word of a sentence.
_UNSURE_TIMES = _names(
    "utc, ts, start, from, von, end, van, data, tid, tidspunkt, interval, period, hour ending,"
    " starttime, zeitraum, zeitpunkt, local time"
)

# Words that nothing but the name of a column of times is.
SURE_TIMES = frozenset({*TIMES, "uhrzeit"} - {*_UNSURE_TIMES})
DATES = _names(
    "date, day, usage date, reading date, interval date, from date",
    "datum, von datum, tag, van datum, de date, fecha, data, giorno, dato",
)
CLOCKS = _names(
    "time, start time, starttime, from, start, hour, hour ending, he, time of day, from time",
    "zeit, uhrzeit, uhrzeit von, zeit von, von uhrzeit, von zeit, von, stunde",
    "van tijdstip, van tijd, tijd, uur, de heure, heure, hora, ora, tid",
    "interval, period, end time, endtime, to, bis, end",
)
ENDING = _any_of("ending", "end", "ends", "end at", "he", "ende", "to", "bis", "fin")
STARTING = _any_of(
    *("start", "starting", r"begin\w*", "from", "von", "anfang", "beginn"),
    *("van", "de (date|heure)", "debut", "inicio", "inizio"),
)

# Columns of times that say which way their readings flow, as Southern California Edison's do.
FLOWING_TIMES = _any_of("delivered", "received", "consumption")

# Columns that name the system, unit or kind of a row
SYSTEMS = _names(
    "system id, systemid, system, meter id, site id, plant id, ss id, meter, dataid, data id, home"
    " id, homeid, house id, houseid, household id, home, customer id, customer, lclid, nmi, mpan,"
    " meter number, meter no, installation, installation id, inverter id, inverter, plant, site,"
    " station, station id, plant name, site name, entity id, inverter serial number",
    "zahlernummer, zahlpunkt, compteur, contador, ean code, code ean, ean, prm, cups, cpe, pod",
)

# What may tell several homes apart under another name, for the advice.
IDENTIFYING = _any_of(
    *("id", "home", "house", "meter", "customer", "account", "unit", "device", "serial"),
    *("name", "no"),
)
UNITS = _names(
    "unit, units, uom, unit of measurement, production unit, consumption unit",
    "einheit, eenheid, unite, unidad, unidade, unita, unita di misura",
)

# Columns of readings that say neither kind nor unit.
VALUES = frozenset(
    _names("value, volume, reading, wert, messwert, waarde, valeur, valor, valore, volume k wh")
)

# Columns that say what a row counts, where rows of several kinds stand in one table.
KINDS = _names(
    "consumption category, category, type, channel, stream, direction, flow, register, measurement,"
    " data type, meter type, suffix, nmi suffix, reading type, con gen",
    "registre",
)
UNNAMED = re.compile(r"(unnamed: \d+|index|__index_level_0__|column0|)", re.IGNORECASE)

# Kinds of rows
# What rows of generation are called; Ausgrid's gross generation first.
GENERATION_KINDS = _names(
    "gg, generation, gross generation, production, solar, pv, generated, solar generation, pv"
    " generation",
    "erzeugung, produktion, opwek, produccion, producao, produzione, gen",
)
CONSUMPTION_KINDS = frozenset(
    _names(
        "consumption, gc, cl, load, import, usage, use, controlled load, general consumption,"
        " electric usage, delivered, offtake",
        "verbrauch, bezug, afname, verbruik, prelevement, consommation, consumo",
    )
)
EXPORT_KINDS = frozenset(
    _names(
        "export, exported, feed in, to grid, received, injection, 2 8, 2 8 0",
        "einspeisung, teruglevering, injectie, injectie actief, injecao",
    )
)
IMPORT_KINDS = frozenset(
    _names(
        "import, imported, from grid, delivered, consumption, usage, use, offtake, 1 8, 1 8 0",
        "bezug, levering, afname, afname actief, prelevement, consumo",
    )
)

# Columns of readings
# What a net meter that counts both ways apart calls them; the first that one column has wins. A
# utility delivers to its customers and receives from them; OBIS numbers both ways.
EXPORTS = (
    _any_of(
        "exports?", "exported", "feed in", "feedin", "fed in", "to grid", "2 (8 [0-4]|(29|7) 0)"
    ),
    _any_of(
        *("received", "returned"),
        *("netzeinspeisung", "einspeisung", "eingespeist"),
        *("teruglevering", "teruggeleverd", "injectie", "injection"),
        *("vertid[ao]s?", "excedentes?", "injecao", "injetad[ao]", r"immess\w*"),
    ),
)
IMPORTS = (
    _any_of("imports?", "imported", "from grid", "purchased", "1 (8 [0-4]|(29|7) 0)"),
    _any_of(
        *("delivered", "offtake", "grid consumption"),
        *("netzbezug", "bezug", "bezogen"),
        *("afname", "afgenomen", "levering", "geleverd", "prelevement", "soutirage", "prelevata"),
    ),
    _any_of("consumed", "consumption", "usage", "used", "verbrauch", "verbruik", "consumo"),
)

# One column of what flows at the grid, both ways in one.
NETS = _any_of("net", "netto", "grid", "mains", "saldo", "residual")

# What the register of one tariff has in its name beside what all have: OBIS numbers tariffs, the
# Netherlands and Belgium say low and normal, day and night.
OBIS_TARIFF = re.compile(r"\b([12] 8) [1-4]\b")
TARIFF = re.compile(
    r"\b((t|tarif|tariff|tarief|rate) ?[1-4]|(laag|normaal|hoog|dal|dag|nacht|piek)(tarief)?|low"
    r"|high|normal|day|night|off peak|offpeak|peak|jour|nuit|tag|[1-4]$)(?!\w)"
)
ALL_TARIFFS = _any_of("[12] 8 0", "totals?", "totaal", "gesamt", "summe", "sum")
GENERATION = _any_of(
    *("power", "generation", "generated", "production", "produced", "producing", "pv", "solar"),
    *("yield", "ac", "output", "gen", "gg", "energy", "inverter", "powr", "enwh", "moc"),
    *("energie", "erzeugung", "erzeugt", "leistung", "ertrag", "produktion", "wechselrichter"),
    *("einspeisung", "opbrengst", "opwek", "opgewekt", "puissance", "potencia", "potenza"),
    *("energia", "produccion", "producao", "produzione"),
)
SURELY_GENERATION = _any_of(
    *(r"generat\w*", r"produc\w*", "pv", "solar", r"erzeug\w*", "produktion"),
    *("opwek", "opgewekt", r"produi\w*", r"produz\w*"),
)
ENERGY = _any_of(r"energ\w*", "yield", "ertrag", "opbrengst", "enwh")

# Whatever unit they are in, these are not generation.
OTHER_QUANTITIES = re.compile(
    r"\b(temp\w*|irradiance|ghi|dni|dhi|poa|volt\w*|spannung|current|strom|ampere|humidity|wind"
    r"|consum\w*|verbrauch|verbruik|consumo|consommation|load|last|demand|import\w*|bezug|purchased"
    r"|levering|grid(?! ms)|battery|batterie|soc|charge|discharge|capacity|nominal|rated|latitude"
    r"|longitude|lat|lon"
    r"|altitude|elevation|id|postcode|zip|efficiency|cost|price|expected|forecast|limit|setpoint"
    r"|frequency|reactive|quality|flag|\w*status|estado|stato|etat|devices|reporting|apparent|use|usage|dc|row)\b"
)
CONSUMPTION = _any_of(
    *(
        "consumption",
        "consumed",
        r"\w*verbrauch",
        "verbruik",
        "consommation",
        "consumos?",
        "consumi",
    ),
    *("netzbezug", "bezug", "afname", "soutirage", "prelevement"),
)
COUNTERS = _any_of(
    *("counter", "cumulative", "lifetime", "odometer", "register", "meter reading", "total yield"),
    *("cumulated", "accumulated", "tot wh out", "zahlerstand", "gesamtertrag", r"kumuliert\w*"),
)

# A column named by the number of a register may hold its counts or the energy of each interval.
OBIS_COUNTERS = _any_of("[12] 8 [0-4]")
DAILY_COUNTERS = _any_of(
    *("today", "etoday", "e today", "daily", "day yield", "since midnight"),
    *("tagesertrag", "heute"),
)
DIFFERENCES = _any_of(r"differ\w*", "delta", "interval")

# What is not the AC power of an interval, beside a column that is.
DERIVED = _any_of("net", "max", "min", "peak", "day", "ppv")

# Dates
# Names of months in capitals, by their English abbreviations.
MONTHS = {
    "JAN": (
        *("JANUARY", "JANUAR", "JÄNNER", "JANUARI", "JANV", "JANVIER", "ENE", "ENERO"),
        *("JANEIRO", "GEN", "GENNAIO"),
    ),
    "FEB": (
        *("FEBRUARY", "FEBRUAR", "FEBRUARI", "FÉVR", "FÉV", "FÉVRIER", "FEBRERO", "FEV"),
        *("FEVEREIRO", "FEBBRAIO"),
    ),
    "MAR": ("MARCH", "MÄR", "MÄRZ", "MRZ", "MRT", "MAART", "MARS", "MARZO", "MARÇO"),
    "APR": ("APRIL", "AVR", "AVRIL", "ABR", "ABRIL", "APRILE"),
    "MAY": ("MAI", "MEI", "MAYO", "MAIO", "MAG", "MAGGIO"),
    "JUN": ("JUNE", "JUNI", "JUIN", "JUNIO", "JUNHO", "GIU", "GIUGNO"),
    "JUL": ("JULY", "JULI", "JUIL", "JUILLET", "JULIO", "JULHO", "LUG", "LUGLIO"),
    "AUG": ("AUGUST", "AUGUSTUS", "AOÛT", "AGO", "AGOSTO"),
    "SEP": ("SEPT", "SEPTEMBER", "SEPTEMBRE", "SEPTIEMBRE", "SET", "SETEMBRO", "SETTEMBRE"),
    "OCT": (
        *("OCTOBER", "OKT", "OKTOBER", "OCTOBRE", "OCTUBRE", "OUT", "OUTUBRO", "OTT"),
        "OTTOBRE",
    ),
    "NOV": ("NOVEMBER", "NOVEMBRE", "NOVIEMBRE", "NOVEMBRO"),
    "DEC": (
        *("DECEMBER", "DEZ", "DEZEMBER", "DÉC", "DÉCEMBRE", "DIC", "DICIEMBRE", "DEZEMBRO"),
        "DICEMBRE",
    ),
}

# Offsets of the zones that exports write behind a stamp; others are too ambiguous. [min]
ZONES = {
    "Z": 0,
    "UTC": 0,
    "GMT": 0,
    "WET": 0,
    "WEST": 60,
    "CET": 60,
    "CEST": 120,
    "MEZ": 60,
    "MESZ": 120,
    "EET": 120,
    "EEST": 180,
}
