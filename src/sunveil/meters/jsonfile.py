"""JSON: the answers of Enphase and SolarEdge, and lists of records of any kind."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sunveil.errors import MeterError
from sunveil.meters.cells import RoleCells
from sunveil.meters.contents import Content, unreadable
from sunveil.meters.dates import is_stamp
from sunveil.meters.options import MeterOptions
from sunveil.meters.sheets import cells_of_rows

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
_DEEPEST = 5


def read_json(content: Content, options: MeterOptions) -> Iterator[RoleCells]:
    """Yield the tables of a JSON file.

    Parameters
    ----------
    content
        The file.
    options
        What the curator says of it.
    """
    found = _loaded(content)
    tables = list(_solaredge(found, options, content) if _is_solaredge(found) else _records(found))
    if not tables:
        raise MeterError(
            f"{content.name} has no list of readings with their times: give a list of objects"
            ' such as {"time": ..., "power_kw": ...}'
        )
    for rows, said in tables:
        yield cells_of_rows(rows, options, content=content, said=said)


def _loaded(content: Content) -> Any:
    with content.open() as file:
        data = file.read()
    for encoding in ("utf-8-sig", "utf-16", "latin-1"):
        try:
            text = data.decode(encoding)
            break
        except UnicodeDecodeError:
            continue
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        # one object in each line
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError) as error:
        raise unreadable(content.name, error) from None


Table = tuple[list[list[str]], dict[str, str]]


def _is_solaredge(found: Any) -> bool:
    return isinstance(found, dict) and any(
        isinstance(inner, dict) and "timeUnit" in inner for inner in found.values()
    )


def _solaredge(
    found: Mapping[str, Any], options: MeterOptions, content: Content
) -> Iterator[Table]:
    """Yield the readings of SolarEdge's energy, power, energyDetails and powerDetails.

    Stamps are the start of their interval on the site's own clock.
    """
    for inner in found.values():
        if not isinstance(inner, dict) or "timeUnit" not in inner:
            continue
        if str(inner["timeUnit"]).upper() in _STEPS:
            raise MeterError(
                f"{content.name} holds one value for a day or more: ask SolarEdge for"
                " timeUnit=QUARTER_OF_AN_HOUR or HOUR"
            )
        said = {"unit": str(inner.get("unit", "Wh")), "label": "start"}
        if inner.get("values") is not None:
            yield _by_date({"value": inner["values"]}), said
        else:
            yield _by_date(_solaredge_meters(inner, options, content)), said


def _solaredge_meters(
    inner: Mapping[str, Any], options: MeterOptions, content: Content
) -> dict[str, Any]:
    """Return the values of SolarEdge's meters to be read, by what their column is called."""
    meters = {
        str(each.get("type", "")).lower(): each.get("values", [])
        for each in inner.get("meters", [])
        if isinstance(each, dict)
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


def _by_date(columns: Mapping[str, Any]) -> list[list[str]]:
    """Return a table of values that each have a date; dates are those of the first column."""
    by_date = [
        {_cell(each.get("date")): _cell(each.get("value")) for each in values}
        for values in columns.values()
    ]
    dates = [_cell(each.get("date")) for each in next(iter(columns.values()))]
    return [["date", *columns], *([date, *(k.get(date, "") for k in by_date)] for date in dates)]


def _records(found: Any) -> Iterator[Table]:
    """Yield the longest list of records, or what is written column by column."""
    said = _said(found)
    lists = sorted(_lists(found, 0), key=len, reverse=True)
    if lists:
        yield _enphase(_from_objects(lists[0])), said
        return
    if isinstance(found, dict) and isinstance(found.get("data"), list) and "columns" in found:
        index = found.get("index", [""] * len(found["data"]))
        rows = [
            [_cell(at), *map(_cell, row)] for at, row in zip(index, found["data"], strict=False)
        ]
        yield [["index", *map(_cell, found["columns"])], *rows], said
        return
    if isinstance(found, dict):
        yield from ((rows, said) for rows in _by_columns(found))


def _lists(found: Any, depth: int) -> Iterator[Sequence[Mapping[str, Any]]]:
    if depth > _DEEPEST:
        return
    if isinstance(found, list):
        objects = [each for each in found if isinstance(each, dict)]
        if len(objects) > 1 and 2 * len(objects) > len(found):
            yield objects
        inner: Sequence[Any] = found if len(found) <= 100 else ()
    else:
        inner = list(found.values()) if isinstance(found, dict) else ()
    for each in inner:
        yield from _lists(each, depth + 1)


def _from_objects(objects: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    names = list(dict.fromkeys(name for each in objects for name in each))
    return [names, *([_cell(each.get(name)) for name in names] for each in objects)]


def _enphase(rows: list[list[str]]) -> list[list[str]]:
    if "end_at" in rows[0]:
        rows[0] = [_ENPHASE.get(name, name) for name in rows[0]]
    return rows


def _by_columns(found: Mapping[str, Any]) -> Iterator[list[list[str]]]:
    """Yield tables of lists by name, of objects by index, or of readings by stamp."""
    lists = {name: each for name, each in found.items() if isinstance(each, list)}
    if len(lists) > 1:
        size = max(map(len, lists.values()))
        columns = {name: each for name, each in lists.items() if len(each) == size}
        yield [
            list(columns),
            *([_cell(each) for each in row] for row in zip(*columns.values(), strict=True)),
        ]
        return
    inner = {name: each for name, each in found.items() if isinstance(each, dict)}
    if inner:
        keys = list(dict.fromkeys(key for each in inner.values() for key in each))
        if all(is_stamp(key) for key in keys[:10]):
            yield [
                ["time", *inner],
                *([key, *(_cell(inner[n].get(key)) for n in inner)] for key in keys),
            ]
        elif all(set(each) == set(keys) for each in inner.values()) and keys:
            yield [["index", *keys], *([n, *(_cell(inner[n][key]) for key in keys)] for n in inner)]
        return
    if found and all(is_stamp(str(key)) for key in list(found)[:10]):
        yield [["time", "reading"], *([str(key), _cell(each)] for key, each in found.items())]


def _said(found: Any) -> dict[str, str]:
    """Return the unit and the clock that an object states beside its list."""
    if not isinstance(found, dict):
        return {}
    said = {}
    for name, each in found.items():
        key = str(name).lower().replace("_", "")
        if key in ("unit", "units", "uom") and isinstance(each, str):
            said["unit"] = each
        if key in ("timezone", "tz") and isinstance(each, str):
            said["timezone"] = each
    return said


def _cell(value: Any) -> str:
    if value is None or isinstance(value, bool | dict | list):
        return ""
    return str(value)
