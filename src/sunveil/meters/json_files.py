"""Enphase, SolarEdge and other JSON."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from sunveil.errors import MeterError
from sunveil.meters.csv_parquet_excel import HEAD, RoleCells, cells_of_rows
from sunveil.meters.file_types import Content, decode, sound_text, unreadable
from sunveil.meters.find_columns import ColumnRoles, find_roles
from sunveil.meters.header_and_units import TableColumn, find_unit
from sunveil.meters.numbers_and_dates import is_stamp
from sunveil.meters.reading_options import MeterOptions

# Enphase's interval fields: the end of an interval, mean power in W and energy in Wh.
_ENPHASE = {
    "end_at": "end at",
    "powr": "powr W",
    "enwh": "enwh Wh",
    "wh_del": "production Wh",
    "wh_exported": "export Wh",
    "wh_imported": "import Wh",
}
_STEPS = frozenset({"DAY", "WEEK", "MONTH", "YEAR"})

# Lists of records are not looked for below this depth, and cells are not nested so deep.
_DEEPEST = 5
_DECODER = json.JSONDecoder(parse_int=str, strict=False)
_STRING = r'"(?:[^"\\]|\\.)*"'
_NESTING = re.compile(_STRING + r"|[\[\]{}]", re.DOTALL)
_FIRST_OBJECT = re.compile(r"\[\s*(?=\{)")

# Where an object ends and another begins, whatever quotes are open.
_NEXT_OBJECT = re.compile(r"\}\s*,\s*(?=\{)")
_NEXT_LINE = re.compile(r"\}(,?)[^\S\n]*\n\s*(?=\{)")
_NEXT = re.compile(r"\s*,\s*")
_LAST = re.compile(r"\}\s*(?=\])")

# A key with its value, behind which another key or the end of the object follows.
_PAIR = re.compile(
    rf'({_STRING})\s*:\s*({_STRING}|[-+.\w]+)\s*(?=\}}|,\s*"(?:[^"\\]|\\.)*"\s*:)', re.DOTALL
)


@dataclass(frozen=True, slots=True)
class _Table:
    """Rows under the names of their columns, and what stands beside them."""

    names: Sequence[str]
    rows: Sequence[Sequence[str]]
    said: Mapping[str, str]


def read_json(content: Content, options: MeterOptions) -> list[RoleCells]:
    """Return the tables of a JSON file."""
    with content.open() as file:
        found = parse_json(file.read(), where=content.name)
    said = _said(found)
    if _is_solaredge(found):
        tables = list(_solaredge(found, options, content))
    elif objects := _records(found):
        return _tables_of_objects(objects, options, content, said)
    else:
        tables = [_Table(names, rows, said) for names, rows in _by_columns(found)]
    if not tables:
        raise MeterError(
            f"{content.name} has no list of readings with their times: give a list of objects"
            ' such as {"time": ..., "power_kw": ...}'
        )
    return [_cells(each, options, content) for each in tables]


def _cells(table: _Table, options: MeterOptions, content: Content) -> RoleCells:
    columns = _columns(table.names, table.rows, options)
    roles = find_roles(columns, options, where=content.name)
    return cells_of_rows(columns, roles, table.rows, content=content, said=dict(table.said))


def _columns(
    names: Sequence[str], rows: Sequence[Sequence[str]], options: MeterOptions
) -> tuple[TableColumn, ...]:
    sample = () if options.declared_only else rows[:HEAD]
    return tuple(
        TableColumn(name, cells=tuple(row[at] for row in sample)) for at, name in enumerate(names)
    )


def parse_json(data: bytes, *, where: str) -> Any:
    """Return what JSON holds, whole numbers as texts; what is damaged spoils its object alone."""
    # Of a damaged object in a list, or on a line of its own, the keys with values that can be read
    # are kept.
    text = decode(data).removeprefix("\ufeff").strip()
    for attempt in (str, _shallow, _mended):
        try:
            return _DECODER.decode(attempt(text))
        except (ValueError, RecursionError):
            pass
    raise unreadable(where, ValueError())


def _shallow(text: str) -> str:
    """Return JSON in which cells that are nested too deep are null."""
    parts, depth, begin, done = [], 0, 0, 0
    for sign in _NESTING.finditer(text):
        if sign[0] in "[{":
            if depth == 2 * _DEEPEST:
                begin = sign.start()
            depth += 1
        elif sign[0] in "]}":
            depth -= 1
            if depth == 2 * _DEEPEST:
                parts += [text[done:begin], "null"]
                done = sign.end()
    return "".join([*parts, text[done:]])


def _mended(text: str) -> str:
    # A damaged object ends where the next one begins, with its line, or with the list.
    commas = Counter(map(bool, _NEXT_LINE.findall(text)))
    if commas[False] > commas[True] and not text.startswith("["):
        lines = [line.strip() for line in text.split("\n") if line.strip()]
        return f"[{','.join(line if _is_value(line) else _rest(line) for line in lines)}]"
    start = _FIRST_OBJECT.search(text)
    if start is None:
        return text
    at, before, kept = start.end(), text[: start.end()], []
    while True:
        end = _end_of_value(text, at)
        more = None if end is None else _NEXT.match(text, end)
        if end is None or not (more or _is_end(before, text, end)):
            next_object = _NEXT_OBJECT.search(text, at)
            end = next_object.start() + 1 if next_object else _end_of_list(before, text, at)
            more = _NEXT.match(text, end)
            kept.append(_rest(text[at:end]))
        else:
            kept.append(text[at:end])
        if more is None:
            return before + ",".join(kept) + text[end:]
        at = more.end()


def _end_of_list(before: str, text: str, at: int) -> int:
    # what stands in the last object cannot end the list earlier
    ends = [found.start() + 1 for found in _LAST.finditer(text, at)]
    return next((end for end in reversed(ends) if _is_end(before, text, end)), len(text))


def _is_end(before: str, text: str, at: int) -> bool:
    return bool(_LAST.match(text, at - 1)) and _is_value(before + text[at:])


def _end_of_value(text: str, at: int) -> int | None:
    try:
        return _DECODER.raw_decode(text, at)[1]
    except (ValueError, RecursionError):
        return None


def _is_value(text: str) -> bool:
    try:
        _DECODER.decode(text)
    except (ValueError, RecursionError):
        return False
    return True


def _rest(text: str) -> str:
    """Return a damaged object without what cannot be read of it."""
    text = _shallow(text)
    if _is_value(text):
        return text
    pairs = (f"{key}:{value}" for key, value in _PAIR.findall(text))
    return "{" + ",".join(pair for pair in pairs if _is_value(f"{{{pair}}}")) + "}"


def _is_solaredge(found: Any) -> bool:
    return isinstance(found, dict) and any(
        isinstance(inner, dict) and "timeUnit" in inner for inner in found.values()
    )


def _solaredge(
    found: Mapping[str, Any], options: MeterOptions, content: Content
) -> Iterator[_Table]:
    """Yield the readings of SolarEdge's energy, power, energyDetails and powerDetails."""
    # Stamps are the start of their interval on the site's own clock.
    for inner in found.values():
        if not isinstance(inner, dict) or "timeUnit" not in inner:
            continue
        if str(inner["timeUnit"]).upper() in _STEPS:
            raise MeterError(
                f"{content.name} holds one value for a day or more: ask SolarEdge for"
                " timeUnit=QUARTER_OF_AN_HOUR or HOUR"
            )
        said = {"unit": "Wh", **_said(found), **_said(inner), "label": "start"}
        if inner.get("values") is not None:
            yield _by_date({"value": _objects(inner["values"])}, said)
        else:
            yield _by_date(_solaredge_meters(inner, options, content), said)


Objects = Sequence[Mapping[str, Any]]


def _solaredge_meters(
    inner: Mapping[str, Any], options: MeterOptions, content: Content
) -> dict[str, Objects]:
    """Return the values of SolarEdge's meters to be read, by what their column is called."""
    meters = {
        str(each.get("type", "")).lower(): _objects(each.get("values"))
        for each in _objects(inner.get("meters"))
    }
    if "production" in meters and not options.net:
        return {"value": meters["production"]}
    pairs = (("feedin", "purchased"), ("production", "consumption"))
    for given, taken in pairs:
        if given in meters and taken in meters:
            return {"export": meters[given], "import": meters[taken]}
    if "feedin" in meters:
        return {"export": meters["feedin"]}
    raise MeterError(
        f"{content.name} has no meter of type Production, nor FeedIn and Purchased: ask SolarEdge"
        " for them"
    )


def _by_date(columns: Mapping[str, Objects], said: Mapping[str, str]) -> _Table:
    """Return a table of values that each have a date; dates are those of the first column."""
    by_date = [
        {_cell(each.get("date")): _cell(each.get("value")) for each in values}
        for values in columns.values()
    ]
    dates = [_cell(each.get("date")) for each in next(iter(columns.values()))]
    rows = [[date, *(k.get(date, "") for k in by_date)] for date in dates]
    return _Table(["date", *columns], rows, said)


def _objects(found: Any) -> Objects:
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _records(found: Any) -> Objects:
    """Return the longest list of objects, or objects by their index; none where it is no list."""
    if lists := sorted(_lists(found, 0), key=len, reverse=True):
        return _objects(lists[0])
    inner = _inner(found)
    by_stamp = sum(bool(each) and is_stamp(next(iter(each))) for each in inner.values())
    if len(inner) < 2 or 2 * by_stamp > len(inner):
        return []
    return [{"index": name, **each} for name, each in inner.items()]


def _inner(found: Any) -> dict[str, dict[str, Any]]:
    """Return the objects in an object by their names."""
    items = found.items() if isinstance(found, dict) else ()
    return {name: each for name, each in items if isinstance(each, dict)}


def _lists(found: Any, depth: int) -> Iterator[Sequence[Any]]:
    """Yield lists of objects; those in the cells of others are none."""
    if depth > 2 * _DEEPEST:
        return
    if isinstance(found, list) and len(found) > 1:
        if 2 * len(_objects(found)) > len(found):
            yield found
        return
    for each in found.values() if isinstance(found, dict) else found or ():
        if isinstance(each, dict | list):
            yield from _lists(each, depth + 1)


_PLACES = ("date", "system", "kind", "unit")


@dataclass(frozen=True, slots=True)
class _Group:
    """Objects with keys of the same meaning, as rows under the keys of the first."""

    keys: Sequence[str]
    columns: tuple[TableColumn, ...]
    roles: ColumnRoles
    rows: dict[int, list[str]] = field(default_factory=dict)
    systems: Counter[str] = field(default_factory=Counter)

    def add(self, number: int, found: Mapping[str, Any], keys: Sequence[str]) -> None:
        """Add an object, which has its cells under some keys."""
        row = [""] * len(self.columns)
        for at, key in zip(_places(self.roles), keys, strict=True):
            row[at] = _cell(found.get(key))
        self.rows[number] = row
        if self.roles.system is not None:
            self.systems[row[self.roles.system]] += 1

    def cells(self, content: Content, said: dict[str, str], *, named: bool) -> RoleCells:
        """Return its rows as a table, which names no system where the others do."""
        numbers = sorted(self.rows)
        found = cells_of_rows(
            self.columns,
            self.roles,
            [self.rows[at] for at in numbers],
            numbers=[at + 1 for at in numbers],
            content=content,
            said=said,
        )
        nothing = pa.nulls(len(numbers), pa.string())
        return replace(found, system=nothing) if named and found.system is None else found

    def rows_like(self, found: Mapping[str, Any]) -> int:
        """Return how many rows there are of the system of an object that lacks a reading."""
        named = (self.roles.time, self.roles.date, self.roles.system)
        if not {self.keys[at] for at in named if at is not None} <= set(found):
            return 0
        if self.roles.system is None:
            return len(self.rows)
        return self.systems[_cell(found[self.keys[self.roles.system]])]


def _tables_of_objects(
    objects: Objects, options: MeterOptions, content: Content, said: dict[str, str]
) -> list[RoleCells]:
    """Return a table for each meaning that the keys of objects have; mostly there is one."""
    # An object that lacks a reading is a blank row where most objects of its system are.
    by_keys: dict[tuple[str, ...], list[int]] = {}
    for number, each in enumerate(objects):
        by_keys.setdefault(tuple(each), []).append(number)
    groups: dict[Hashable, _Group] = {}
    lacking: list[int] = []
    problem: MeterError | None = None
    for keys, numbers in by_keys.items():
        sample = [[_cell(objects[at][key]) for key in keys] for at in numbers[:HEAD]]
        columns = _columns([_ENPHASE.get(key, sound_text(key)) for key in keys], sample, options)
        try:
            roles = find_roles(columns, options, where=content.name)
        except MeterError as error:
            problem, lacking = problem or error, [*lacking, *numbers]
            continue
        group = groups.setdefault(_meaning(columns, roles), _Group(keys, columns, roles))
        for at in numbers:
            group.add(at, objects[at], [keys[place] for place in _places(roles)])
    if problem is not None and not groups:
        raise problem
    counted = [[group.rows_like(objects[at]) for group in groups.values()] for at in lacking]
    for at, counts in zip(lacking, counted, strict=True):
        if max(counts):
            group = list(groups.values())[counts.index(max(counts))]
            group.add(at, objects[at], [group.keys[place] for place in _places(group.roles)])
    # objects without a system are another's remains, unless most are: then the file is one system
    balance = sum(
        len(each.rows) if each.roles.system is not None else -len(each.rows)
        for each in groups.values()
    )
    tables = sorted(groups.values(), key=lambda each: len(each.rows), reverse=True)
    return [each.cells(content, said, named=balance > 0) for each in tables]


def _places(roles: ColumnRoles) -> list[int]:
    """Return the columns that hold what is read, in one order for all tables."""
    named = (getattr(roles, name) for name in _PLACES)
    return [roles.time, *roles.counted, *(at for at in named if at is not None)]


def _meaning(columns: Sequence[TableColumn], roles: ColumnRoles) -> Hashable:
    """Return what names of columns say, whatever the columns are called."""
    there: dict[str, Any] = {name: None if getattr(roles, name) is None else 0 for name in _PLACES}
    there["power"], there["imported"] = (0,) * len(roles.power), (0,) * len(roles.imported)
    return (
        replace(roles, time=0, **there),
        tuple(find_unit(columns[at].label)[0] for at in roles.counted),
        bool({"utc", "gmt"} & set(columns[roles.time].folded.split())),
    )


def _by_columns(found: Any) -> Iterator[tuple[Sequence[str], Sequence[Sequence[str]]]]:
    """Yield a table of lists by name, of objects by column, or of readings by stamp."""
    if not isinstance(found, dict):
        return
    if isinstance(found.get("data"), list) and isinstance(found.get("columns"), list):
        index = (
            found["index"] if isinstance(found.get("index"), list) else [""] * len(found["data"])
        )
        names = ["index", *map(_cell, found["columns"])]
        rows = [
            [_cell(at), *map(_cell, row if isinstance(row, list) else ())]
            for at, row in zip(index, found["data"], strict=False)
        ]
        yield names, [(row + [""] * len(names))[: len(names)] for row in rows]
        return
    lists = {name: each for name, each in found.items() if isinstance(each, list)}
    if len(lists) > 1:
        size = max(map(len, lists.values()))
        columns = {name: each for name, each in lists.items() if len(each) == size}
        rows = [[_cell(each) for each in row] for row in zip(*columns.values(), strict=True)]
        yield [sound_text(name) for name in columns], rows
        return
    if inner := _inner(found):
        keys = list(dict.fromkeys(key for each in inner.values() for key in each))
        rows = [[key, *(_cell(each.get(key)) for each in inner.values())] for key in keys]
        yield ["time", *map(sound_text, inner)], rows
        return
    if found and all(is_stamp(key) for key in list(found)[:10]):
        yield ["time", "reading"], [[key, _cell(each)] for key, each in found.items()]


def _said(found: Any) -> dict[str, str]:
    """Return the unit and the clock that an object states beside its list."""
    if not isinstance(found, dict):
        return {}
    said = {}
    for name, each in found.items():
        key = name.lower().replace("_", "")
        if key in ("unit", "units", "uom") and isinstance(each, str):
            said["unit"] = each
        if key in ("timezone", "tz") and isinstance(each, str):
            said["timezone"] = each
    return said


def _cell(value: Any) -> str:
    if value is None or isinstance(value, bool | dict | list):
        return ""
    return sound_text(str(value))
