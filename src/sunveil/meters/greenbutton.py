"""Green Button feeds: the XML of NAESB REQ.21, Energy Services Provider Interface (ESPI).

A feed is a list of Atom entries. A meter reading links a reading type, which says what is counted,
to interval blocks, which hold the counts with their start (UTC) and duration.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from xml.etree.ElementTree import ParseError

import numpy as np
from defusedxml import DefusedXmlException
from defusedxml import ElementTree as SafeTree

from sunveil.errors import MeterError
from sunveil.meters.assemble import RawSystem
from sunveil.meters.clock import Stamps, name_offset
from sunveil.meters.contents import Content, unreadable
from sunveil.meters.numbers import parse_number
from sunveil.meters.options import MeterOptions, Unit
from sunveil.meters.wording import name_rows

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

# FlowDirectionKind: what passes the meter, seen from the utility.
_FORWARD, _NET, _REVERSE, _TOTAL = 1, 4, 19, 20
_ENERGY_WH, _POWER_W = 72, 38
# AccumulationKind: bulk quantity, continuous cumulative, cumulative.
_REGISTERS = frozenset({1, 2, 3})
# CommodityKind: electricity on the secondary or the primary side, or not said.
_ELECTRICITY = frozenset({0, 1, 2})
# RoleFlags of a usage point, as in IEEE 2030.5: it meters a distributed energy resource.
_IS_DER = 0x0008


@dataclass(frozen=True, slots=True)
class ReadingType:
    """What the counts of a meter reading mean, in ESPI's codes.

    Parameters
    ----------
    flow
        Direction of the energy, seen from the utility.
    multiplier
        Power of ten that counts are multiplied by.
    uom
        Unit of measure: 72 for Wh, 38 for W.
    accumulation
        Whether counts are of intervals or of a register.
    commodity
        What is metered: electricity, gas, water.
    interval
        Usual length of an interval. [s]
    """

    flow: int
    multiplier: int
    uom: int
    accumulation: int
    commodity: int
    interval: int


@dataclass(slots=True)
class _Entry:
    """One Atom entry: its content and where it hangs."""

    content: Element
    kind: str
    self_link: str = ""
    up: str = ""
    related: list[str] = field(default_factory=list)


def read_green_button(content: Content, options: MeterOptions) -> Iterator[RawSystem]:
    """Read the generation in a Green Button feed.

    Parameters
    ----------
    content
        The file.
    options
        How to read it. For a release a feed of anything but generation is refused; otherwise it
        is read, and its systems say what they are, so that an inference refuses them.
    """
    where = content.name
    entries = _entries(_parse(content))
    blocks = [entry for entry in entries if entry.kind == "IntervalBlock"]
    if not blocks:
        raise MeterError(
            f"{where} is XML without interval blocks, so not a Green Button feed of readings"
        )
    groups = _by_type(entries, blocks, where)
    chosen, note, net = _choose(groups, entries, where=where)
    if net and options.declared_only:
        raise MeterError(f"{where} {net}: give the generation alone")
    notes = (note, *_local_time(entries))
    for number, (kind, own) in enumerate(chosen, start=1):
        system = content.stem if len(chosen) == 1 else f"{content.stem}-{number}"
        yield replace(_raw(system, kind, own, notes=notes, where=where), net=net)


def _parse(content: Content) -> Element:
    where = content.name
    try:
        with content.open() as file:
            root = SafeTree.parse(file, forbid_dtd=True).getroot()
    except DefusedXmlException:
        raise MeterError(
            f"{where} declares a document type or entities, which no Green Button feed needs and"
            " Sunveil refuses"
        ) from None
    except (ParseError, ValueError, LookupError):
        raise MeterError(f"{where} is not well-formed XML: fetch the feed again") from None
    except OSError as error:
        raise unreadable(where, error) from None
    assert root is not None
    return root


def _entries(root: Element) -> list[_Entry]:
    found: list[_Entry] = []
    for entry in (each for each in root.iter() if _local(each) == "entry"):
        links = [(each.get("rel", ""), each.get("href", "")) for each in _children(entry, "link")]
        found.extend(
            _Entry(
                resource,
                _local(resource),
                self_link=next((href for rel, href in links if rel == "self"), ""),
                up=next((href for rel, href in links if rel == "up"), ""),
                related=[href for rel, href in links if rel == "related"],
            )
            for content in _children(entry, "content")
            for resource in content
        )
    return found


def _by_type(
    entries: list[_Entry], blocks: list[_Entry], where: str
) -> list[tuple[ReadingType, list[Element]]]:
    """Give each interval block to its reading type, through its meter reading's links."""
    types = {
        entry.self_link: _reading_type(entry.content)
        for entry in entries
        if entry.kind == "ReadingType"
    }
    if not types:
        raise MeterError(f"{where} has no ReadingType, so its counts have no unit: fetch it again")
    if len(types) == 1:
        return [(next(iter(types.values())), [block.content for block in blocks])]
    meters = [entry for entry in entries if entry.kind == "MeterReading"]
    groups: dict[str, tuple[ReadingType, list[Element]]] = {}
    for block in blocks:
        meter = next((each for each in meters if _holds(each, block)), None)
        link = next((href for href in meter.related if href in types), None) if meter else None
        if meter is None or link is None:
            raise MeterError(
                f"{where} does not link its interval blocks to their reading types: fetch it again"
            )
        groups.setdefault(meter.self_link, (types[link], []))[1].append(block.content)
    return list(groups.values())


def _holds(meter: _Entry, block: _Entry) -> bool:
    below = meter.self_link.rstrip("/") + "/"
    return (
        block.up in meter.related
        or block.self_link in meter.related
        or (len(below) > 1 and block.self_link.startswith(below))
    )


def _reading_type(content: Element) -> ReadingType:
    return ReadingType(
        flow=_number(content, "flowDirection", 0),
        multiplier=_number(content, "powerOfTenMultiplier", 0),
        uom=_number(content, "uom", 0),
        accumulation=_number(content, "accumulationBehaviour", 4),
        commodity=_number(content, "commodity", 0),
        interval=_number(content, "intervalLength", 0),
    )


Group = tuple[ReadingType, list["Element"]]


def _choose(
    groups: list[Group], entries: list[_Entry], *, where: str
) -> tuple[list[Group], str, str]:
    """Return the groups that come nearest to generation, a note, and what they count instead."""
    usable = [group for group in groups if group[0].commodity in _ELECTRICITY]
    usable = [group for group in usable if group[0].uom in (_ENERGY_WH, _POWER_W)]
    if not usable:
        raise MeterError(f"{where} counts neither energy in Wh nor power in W, so no generation")
    if all(group[0].accumulation in _REGISTERS for group in usable):
        raise MeterError(f"{where} holds a register that only counts up: fetch its interval data")
    usable = [group for group in usable if group[0].accumulation not in _REGISTERS]
    if any(_is_generator(entry) for entry in entries):
        note = "The feed says that its usage point is a generator."
        return _preferred(usable, _REVERSE), note, ""
    flows = {group[0].flow for group in usable}
    if flows == {_REVERSE}:
        note = "The energy received from the customer was taken to be all of the generation."
        return usable, note, ""
    note = f"This is {_named(flows)}, read as if it were a generation meter."
    return _preferred(usable, _REVERSE), note, f"is {_named(flows)}, not a generation meter"


def _named(flows: set[int]) -> str:
    if _NET in flows or _TOTAL in flows:
        return "a net meter (generation and consumption in one)"
    if _REVERSE in flows:
        return "a net-export meter (only what consumption leaves of the generation)"
    if _FORWARD in flows:
        return "a consumption meter (energy delivered to the customer)"
    return "a meter that does not say its flow direction"


def _preferred(groups: list[Group], flow: int) -> list[Group]:
    return [group for group in groups if group[0].flow == flow] or groups


def _is_generator(entry: _Entry) -> bool:
    if entry.kind != "UsagePoint":
        return False
    text = _text(entry.content, "roleFlags") or "0"
    try:
        return bool(int(text, 16) & _IS_DER)
    except ValueError:
        return False


def _raw(
    system_id: str,
    kind: ReadingType,
    blocks: list[Element],
    *,
    notes: tuple[str, ...],
    where: str,
) -> RawSystem:
    cells = [
        _cells(reading, kind.interval)
        for block in blocks
        for reading in _children(block, "IntervalReading")
    ]
    if not cells:
        raise MeterError(f"{where} has interval blocks without readings")
    table = np.array(cells, dtype=np.float64)
    rows = np.arange(1, len(table) + 1, dtype=np.int64)
    start, duration, value = table.T
    bad = ~(np.abs(start) < 1e11) | ~(duration > 0)
    if bad.any():
        raise MeterError(
            f"{where} has interval readings without a start or a duration, at"
            f" {name_rows(rows[bad])}: fetch the feed again"
        )
    # a count that is text or missing is a missing reading, and nothing else hangs on it
    other = duration != np.median(duration)
    if other.any():
        raise MeterError(
            f"{where} has interval readings of different lengths, at {name_rows(rows[other])};"
            " fetch a feed of one length"
        )
    hours = duration / 3600.0 if kind.uom == _ENERGY_WH else 1.0
    with np.errstate(over="ignore"):  # what is too large is infinite, and missing like any other
        watts = value * 10.0**kind.multiplier / hours
    stamps = Stamps((start * 1e6).astype(np.int64), np.zeros(len(start)), "UTC")
    return RawSystem(system_id, where, rows, stamps, watts, Unit.W, notes)


def _cells(reading: Element, usual: int) -> tuple[float, float, float]:
    period = next(_children(reading, "timePeriod"), None)
    if period is None:
        return np.nan, np.nan, np.nan
    return (
        parse_number(_text(period, "start"), ".")[0],
        parse_number(_text(period, "duration") or str(usual), ".")[0],
        parse_number(_text(reading, "value"), ".")[0],
    )


def _local_time(entries: list[_Entry]) -> tuple[str, ...]:
    for entry in entries:
        if entry.kind == "LocalTimeParameters":
            offset = name_offset(_number(entry.content, "tzOffset", 0) / 60)
            saving = _number(entry.content, "dstOffset", 0) // 60
            summer = f", and {saving} minutes more in summer" if saving else ""
            return (f"The feed's times are UTC; its place keeps {offset}{summer}.",)
    return ()


def _local(element: Element) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _children(element: Element, name: str) -> Iterator[Element]:
    return (child for child in element if _local(child) == name)


def _text(element: Element, name: str) -> str | None:
    child = next(_children(element, name), None)
    return None if child is None or child.text is None else child.text.strip()


def _number(element: Element, name: str, default: int) -> int:
    try:
        return int(_text(element, name) or default)
    except ValueError:
        return default
