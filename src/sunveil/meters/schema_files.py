"""Schema files: YAML declarations of how a meter file is written."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sunveil._options import checked, instance, shown
from sunveil.errors import ParameterError, SourceError
from sunveil.meters.reading_options import MeterOptions

Schema = Mapping[str, Any] | str | Path
"""A schema file, or the fields that one declares."""


LARGEST_SCHEMA = 64 * 1024


# How a line begins that a curator must look at before a release may stand on it.
CHECK = "CHECK:"


_ORIGINS = {
    "declared": "Declared.",
    "header": "Found in the header.",
    "format": "By the definition of its format.",
    "stamps": "Told by the stamps.",
    "readings": f"{CHECK} proposed from readings. Keep it only if you know it from elsewhere.",
    "default": f"{CHECK} assumed, since nothing says it.",
}


# Rules rather than facts about a file: not proposed unless somebody chose them.
_RULES = ("negate", "net", "duplicates")


# Fields that schema files had once, and what is done instead.
_GONE = {
    "allow_net": "remove its line, and declare a net meter with net: true",
    "unit": "write power_unit for the unit of the readings",
}


_NOTHING = ("", "~", "null")


# What may be quoted of a key that is not a schema's.
_KEY = re.compile(r"[a-z_]{1,30}")


# How the one document of a file begins and ends: a second one would begin anew.
_BEGIN = (yaml.StreamStartEvent, yaml.DocumentStartEvent, yaml.MappingStartEvent)


_END = (yaml.MappingEndEvent, yaml.DocumentEndEvent, yaml.StreamEndEvent)


_DEFAULTS = MeterOptions()


@dataclass(frozen=True, slots=True)
class SchemaField:
    """One field of a schema file."""

    meaning: str  # what it says, in one sentence
    allowed: str  # what may stand there, for messages
    parse: Callable[[str], Any] = str
    quoted: bool = False  # whether a proposal puts its value in quotes


def _flag(text: str) -> bool:
    words = {"true": True, "yes": True, "false": False, "no": False}
    if text.lower() not in words:
        raise ValueError
    return words[text.lower()]


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 9):
        raise ValueError
    return int(text)


_COLUMN = "a column's name, or its place counted from 1"


_COLUMNS = f'{_COLUMN}; several that are added up as "Export T1 + Export T2"'


_TIME = 'a time such as "2024-01-01T00:00"'


# In the order in which a proposal has them.
SCHEMA_FIELDS: dict[str, SchemaField] = {
    "skip_rows": SchemaField(
        "How many lines stand above the header.", "a whole number from 0 to 1000", _whole
    ),
    "separator": SchemaField("What stands between cells.", 'one character, such as ";"', str, True),
    "decimal": SchemaField("The decimal mark.", '".", "," or auto', str, True),
    "time_column": SchemaField("The column of times.", _COLUMN, str, True),
    "date_column": SchemaField(
        "The column of dates, where the other has the time of day alone.", _COLUMN, str, True
    ),
    "time_format": SchemaField(
        "How times are written, in the letters of strptime.", 'such as "%d/%m/%Y %H:%M"', str, True
    ),
    "timezone": SchemaField(
        "The clock of stamps without an offset.",
        "UTC, an offset such as UTC-07:00, or an IANA name such as America/Denver",
        str,
        True,
    ),
    "label": SchemaField(
        "Which instant of its interval a stamp names.", "start, middle, end or auto"
    ),
    "interval_minutes": SchemaField(
        "Length of the intervals. [minutes]", "a number from 1 to 60", float
    ),
    "first": SchemaField("The first stamp; rows before it are left out.", _TIME, str, True),
    "last": SchemaField("The last stamp; rows after it are left out.", _TIME, str, True),
    "system_column": SchemaField("The column of systems.", _COLUMN, str, True),
    "power_column": SchemaField("The column of readings.", _COLUMNS, str, True),
    "export_column": SchemaField(
        "The column of what is given to the grid, of a net meter.", _COLUMNS, str, True
    ),
    "import_column": SchemaField(
        "The column of what is taken from the grid, of a net meter.", _COLUMNS, str, True
    ),
    "power_unit": SchemaField("What readings count.", "W, kW, MW, Wh, kWh, MWh or auto"),
    "register": SchemaField(
        "Whether readings count up, so that their differences are taken.",
        "no, cumulative, daily or auto",
    ),
    "negate": SchemaField("Whether generation is counted as negative.", "true or false", _flag),
    "net": SchemaField(
        "Whether readings are generation less a household's load.", "true or false", _flag
    ),
    "duplicates": SchemaField(
        "What is done with different readings for one time.", "refuse, mean, first or last"
    ),
}


@checked
def read_schema(path: str | Path) -> dict[str, Any]:
    """Return the fields of :class:`MeterOptions` that a schema file declares.

    :func:`~sunveil.meters.read_files.read_meters` takes the file itself, as ``schema=``.

    Raises
    ------
    SourceError
        In one sentence, which key or line is wrong and what is allowed there. Neither values nor
        anything that is not a key's name is quoted.
    """
    path = Path(path)
    where = path.name
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_SCHEMA + 1)
    except (OSError, ValueError):
        raise SourceError(
            f"the schema file {str(path)!r} cannot be read: check its path and rights"
        ) from None
    if len(content) > LARGEST_SCHEMA:
        raise SourceError(
            f"{where} is larger than {LARGEST_SCHEMA // 1024} kB, so it is not a schema file:"
            " sunveil schema proposes one"
        )
    fields = {name: _parsed(name, text, where) for name, text in _pairs(content, where)}
    given = {name: value for name, value in fields.items() if value is not None}
    try:
        MeterOptions(**given)
    except ParameterError as error:
        raise SourceError(f"{where}: {_blamed(given, error)}") from None
    return given


def options_from(schema: Schema | None, **given: Any) -> MeterOptions:
    """Return options from a schema and from what is given beside it, which wins.

    Parameters
    ----------
    schema
        A schema file, or what :func:`read_schema` returned; None for none.
    **given
        Fields of :class:`MeterOptions`.
    """
    return MeterOptions(**{**_fields(schema), **given})


def completed(options: MeterOptions, schema: Schema | None) -> MeterOptions:
    """Return options with what a schema says of the fields that they leave at their defaults."""
    left = {
        name: value
        for name, value in _fields(schema).items()
        if getattr(options, name) == getattr(_DEFAULTS, name)
    }
    return options.changed(left)


def schema_digest(options: MeterOptions) -> str:
    """Return the digest of how files are read: of every field that a schema may declare."""
    # It is the SHA-256 of these fields as JSON with sorted keys. Declarations are public; what a
    # file's own header says beside them is not in it.
    said = {name: getattr(options, name) for name in SCHEMA_FIELDS}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def _fields(schema: Schema | None) -> dict[str, Any]:
    if schema is None:
        return {}
    if isinstance(schema, str | Path):
        return read_schema(schema)
    give = "the path of a schema file, or what read_schema returned"
    kind: type[Any] = Mapping
    fields = dict(instance("schema", schema, kind, give=give))
    unknown = [name for name in fields if name not in MeterOptions.__dataclass_fields__]
    if unknown:
        raise ParameterError(
            f"a schema has no field {shown(unknown[0])}; its fields are those of MeterOptions"
        )
    return fields


@checked
def schema_text(
    options: MeterOptions, origins: Mapping[str, str] | None = None, *, about: str = ""
) -> str:
    """Return a schema file that declares some options, each with a comment for the curator.

    Parameters
    ----------
    options
        How a file is written. What is None is left out.
    origins
        For each field where its value is from: ``declared``, ``header``, ``format``, ``stamps``,
        ``readings`` or ``default``. Those from readings, and those assumed, are marked with
        :data:`CHECK`. Where a field is not in it, a value that is not the default was declared.
    about
        What the first line says it is of, such as the name of the file and its format.

    Privacy
    -------
    None: it is the curator's. What was proposed from readings is public only once the curator
    knows it from elsewhere.
    """
    known = {name: _origin(name, options) for name in SCHEMA_FIELDS} | dict(origins or {})
    lines = [f"# How a meter file is written{about and f': {_one_line(about)}'}."]
    lines += ["# It was made for the curator of the file: check it, and keep it private."]
    for name, field in SCHEMA_FIELDS.items():
        value = getattr(options, name)
        if _needless(name, value, known[name]):
            continue
        if value is not None:
            comment = _comment(field, _ORIGINS[known[name]])
            lines += ["", *comment, f"{name}: {_scalar(value, field)}"]
        elif name == "timezone":
            unknown = f"{CHECK} not known. {field.allowed}."
            lines += ["", *_comment(field, unknown), f"# {name}: UTC"]
    return "\n".join(lines) + "\n"


def _pairs(content: bytes, where: str) -> list[tuple[str, str | None]]:
    """Return the keys of a document and the texts of their values, None where there is none."""
    try:
        texts = [_text(event) for event in _scalars(content.decode("utf-8-sig"), where)]
    except yaml.MarkedYAMLError as error:
        raise _not_a_schema(where, error.problem_mark) from None
    except (yaml.YAMLError, UnicodeDecodeError):
        raise _not_a_schema(where) from None
    keys = [key or "" for key in texts[::2]]
    return _checked(list(zip(keys, texts[1::2], strict=True)), where)


def _scalars(text: str, where: str) -> Iterator[yaml.ScalarEvent]:
    """Yield the keys and values of the one mapping of a text."""
    # It is taken event by event, up to the first that does not belong there, and nothing is built:
    # neither anchors nor depth can make it large, or slow.
    events = yaml.parse(text, Loader=yaml.SafeLoader)
    for number, event in enumerate(events):
        if number == 1 and isinstance(event, yaml.StreamEndEvent):
            return  # comments alone: of a format that leaves nothing to declare
        if number < len(_BEGIN):
            belongs = isinstance(event, _BEGIN[number])
        elif isinstance(event, yaml.ScalarEvent):
            belongs = event.tag is None
        else:
            belongs = isinstance(event, _END)
        if not belongs or getattr(event, "anchor", None) is not None:
            raise _not_a_schema(where, event.start_mark)
        if isinstance(event, yaml.ScalarEvent):
            yield event


def _text(event: yaml.ScalarEvent) -> str | None:
    nothing = event.style is None and event.value in _NOTHING
    return None if nothing else str(event.value)


def _checked(pairs: list[tuple[str, str | None]], where: str) -> list[tuple[str, str | None]]:
    """Refuse keys that are not a schema's, and keys that come twice."""
    seen = set()
    for number, (key, _) in enumerate(pairs, start=1):
        named = f"key {key!r}" if _KEY.fullmatch(key) else f"key number {number}"
        if key in _GONE:
            raise SourceError(f"{where} has the {named}, which is no longer one: {_GONE[key]}")
        if key not in SCHEMA_FIELDS:
            allowed = ", ".join(SCHEMA_FIELDS)
            raise SourceError(f"{where} has the {named}, and a schema file has {allowed}")
        if key in seen:
            raise SourceError(f"{where} has the {named} twice: keep one of them")
        seen.add(key)
    return pairs


def _parsed(name: str, text: str | None, where: str) -> Any:
    field = SCHEMA_FIELDS[name]
    try:
        return None if text is None else field.parse(text)
    except ValueError:
        raise SourceError(f"{where}: {name} must be {field.allowed}") from None


def _blamed(given: Mapping[str, Any], error: ParameterError) -> str:
    """Return which field alone is wrong and what is allowed, or what is wrong with several."""
    for name, value in given.items():
        try:
            MeterOptions(**{name: value})
        except ParameterError:
            return f"{name} must be {SCHEMA_FIELDS[name].allowed}"
    return str(error)


def _not_a_schema(where: str, mark: yaml.Mark | None = None) -> SourceError:
    place = "" if mark is None else f" (line {mark.line + 1})"
    return SourceError(
        f"{where} is not a schema file{place}: it has lines such as power_unit: kW, one for each"
        " field, and text with signs in it stands in quotes"
    )


def _origin(name: str, options: MeterOptions) -> str:
    return "default" if getattr(options, name) == getattr(_DEFAULTS, name) else "declared"


def _needless(name: str, value: Any, origin: str) -> bool:
    """Whether there is nothing to say: a rule that nobody chose, or what the file says itself."""
    if value != getattr(_DEFAULTS, name):
        return False
    return origin in ("format", "stamps") or (name in _RULES and origin == "default")


def _comment(field: SchemaField, origin: str) -> list[str]:
    said = [field.meaning, origin] if origin.startswith(CHECK) else [f"{field.meaning} {origin}"]
    return [f"# {line}" for line in said]


def _scalar(value: Any, field: SchemaField) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    if not field.quoted:
        return str(value)
    return yaml.safe_dump(
        str(value), default_style='"', allow_unicode=True, width=LARGEST_SCHEMA
    ).strip()


def _one_line(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)
