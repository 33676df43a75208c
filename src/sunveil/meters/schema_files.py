"""Schema files: YAML declarations of how a meter file is written."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import yaml

from sunveil._options import Option, checked, declared_options, instance, options_of
from sunveil.errors import ParameterError, SourceError
from sunveil.meters.reading_options import MeterOptions

Schema = Mapping[str, Any] | str | Path
"""A schema file, or the fields that one declares."""

LARGEST_SCHEMA = 64 * 1024

# How a line begins that a curator must look at before a release may stand on it.
CHECK = "CHECK:"

_ORIGINS = {
    "declared": "Declared.",
    "header": "From the header.",
    "format": "By the definition of the format.",
    "stamps": "From the timestamps.",
    "readings": f"{CHECK} derived from readings; keep it only if you know it from elsewhere.",
    "default": f"{CHECK} assumed; nothing in the file says so.",
}

# Rules rather than facts about a file: not proposed unless somebody chose them.
_RULES = ("negate", "net", "duplicates")

_TRUTH = {"true": True, "yes": True, "false": False, "no": False}

_NOTHING = ("", "~", "null")

_DIGITS = re.compile("[0-9]{1,9}")

# What may be quoted of a key that is not a schema's.
_KEY = re.compile(r"[a-z_]{1,30}")

# How the one document of a file begins and ends: a second one would start again.
_BEGIN = (yaml.StreamStartEvent, yaml.DocumentStartEvent, yaml.MappingStartEvent)

_END = (yaml.MappingEndEvent, yaml.DocumentEndEvent, yaml.StreamEndEvent)

_DEFAULTS = MeterOptions()

# The options that a schema file may declare, in the order in which a proposal has them.
SCHEMA_FIELDS = {
    name: declared
    for name, declared in declared_options(MeterOptions).items()
    if name not in ("unit_switch", "cleaning")
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
    """Return options from a schema and from what is given beside it, which wins."""
    return options_of(MeterOptions, {**_fields(schema), **given})


def completed(options: MeterOptions, schema: Schema | None) -> MeterOptions:
    """Return options with what a schema says of the fields that they leave at their defaults."""
    left = {
        name: value
        for name, value in _fields(schema).items()
        if getattr(options, name, None) == getattr(_DEFAULTS, name, None)
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
    return dict(instance("schema", schema, kind, give=give))


@checked
def schema_text(
    options: MeterOptions, origins: Mapping[str, str] | None = None, *, about: str = ""
) -> str:
    """Return a schema file that declares some options, each with a comment for the curator.

    Values from readings (by ``origins``) and assumed ones are marked: the file is the curator's,
    and what was proposed from readings is public only once the curator knows it from elsewhere.
    """
    known = {name: _origin(name, options) for name in SCHEMA_FIELDS} | dict(origins or {})
    lines = [f"# How a meter file is written{about and f': {_one_line(about)}'}."]
    lines += ["# It was made for the curator of the file: check it, and keep it private."]
    for name, (_, option) in SCHEMA_FIELDS.items():
        value = getattr(options, name)
        if _needless(name, value, known[name]):
            continue
        if value is not None:
            comment = _comment(option, _ORIGINS[known[name]])
            lines += ["", *comment, f"{name}: {_scalar(value, option)}"]
        elif name == "timezone":
            lines += ["", *_comment(option, f"{CHECK} not known."), f"# {name}: UTC"]
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
        if key not in SCHEMA_FIELDS:
            allowed = ", ".join(SCHEMA_FIELDS)
            raise SourceError(f"{where} has the {named}, and a schema file has {allowed}")
        if key in seen:
            raise SourceError(f"{where} has the {named} twice: keep one of them")
        seen.add(key)
    return pairs


def _parsed(name: str, text: str | None, where: str) -> Any:
    hint, _ = SCHEMA_FIELDS[name]
    kinds = (hint, *get_args(hint))
    try:
        if text is None:
            return None
        if bool in kinds:
            return _TRUTH[text.lower()]
        if int in kinds:
            return int(text if _DIGITS.fullmatch(text) else "")
        return float(text) if float in kinds else text
    except (KeyError, ValueError):
        raise SourceError(f"{where}: {_allowed(name)}") from None


def _allowed(name: str) -> str:
    """Return what a field may be, without the value that it has."""
    hint, option = SCHEMA_FIELDS[name]
    if option.choices:
        return f"{name} must be one of {', '.join(option.choices)}"
    if math.isfinite(option.low):
        kind = "whole number" if int in get_args(hint) else "number"
        return f"{name} must be a {kind} from {option.low:g} to {option.high:g}"
    if hint is bool:
        return f"{name} must be true or false"
    return f"{name} is not valid: {option.help.rstrip('.')}"


def _blamed(given: Mapping[str, Any], error: ParameterError) -> str:
    """Return which field alone is wrong and what is allowed, or what is wrong with several."""
    for name, value in given.items():
        try:
            MeterOptions(**{name: value})
        except ParameterError:
            return _allowed(name)
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


def _comment(option: Option, origin: str) -> list[str]:
    lines = [option.help, origin] if origin.startswith(CHECK) else [f"{option.help} {origin}"]
    return [f"# {line}" for line in lines]


def _scalar(value: Any, option: Option) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    plain = option.choices and all(each.isalnum() for each in option.choices)
    if plain or not isinstance(value, str):
        return str(value)
    return yaml.safe_dump(
        str(value), default_style='"', allow_unicode=True, width=LARGEST_SCHEMA
    ).strip()


def _one_line(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)
