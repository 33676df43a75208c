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

from sunveil.errors import MeterError, ask
from sunveil.meters.assemble import RawSystem, matched
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


@dataclass(frozen=True, slots=True)
class _Flow:
    """The interval blocks of one meter reading: what they count, and their usage point."""

    kind: ReadingType
    blocks: list[Element]
    point: str = ""


@dataclass(slots=True)
class _Entry:
    """One Atom entry: its content and where it hangs."""

    content: Element
    kind: str
    self_link: str = ""
    up: str = ""
    related: list[str] = field(default_factory=list)


def read_green_button(content: Content, options: MeterOptions) -> Iterator[RawSystem]:
    """Read the generation in a Green Button feed, or its net meters.

    Parameters
    ----------
    content
        The file.
    options
        How to read it.
    """
    where = content.name
    entries = _entries(_parse(content))
    blocks = [entry for entry in entries if entry.kind == "IntervalBlock"]
    if not blocks:
        raise MeterError(
            f"{where} is XML without interval blocks, so not a Green Button feed of readings"
        )
    groups = _by_type(entries, blocks, where)
    notes = _local_time(entries)
    raws = list(_systems(groups, entries, options, where=where))
    for number, raw in enumerate(raws, start=1):
        system = content.stem if len(raws) == 1 else f"{content.stem}-{number}"
        yield replace(raw, system_id=system, notes=(*raw.notes, *notes))


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


def _by_type(entries: list[_Entry], blocks: list[_Entry], where: str) -> list[_Flow]:
    """Give each interval block to its reading type, through its meter reading's links."""
    types = {
        entry.self_link: _reading_type(entry.content)
        for entry in entries
        if entry.kind == "ReadingType"
    }
    if not types:
        raise MeterError(f"{where} has no ReadingType, so its counts have no unit: fetch it again")
    if len(types) == 1:
        return [_Flow(next(iter(types.values())), [block.content for block in blocks])]
    meters = [entry for entry in entries if entry.kind == "MeterReading"]
    groups: dict[str, _Flow] = {}
    for block in blocks:
        meter = next((each for each in meters if _holds(each, block)), None)
        link = next((href for href in meter.related if href in types), None) if meter else None
        if meter is None or link is None:
            raise MeterError(
                f"{where} does not link its interval blocks to their reading types: fetch it again"
            )
        point = meter.self_link.split("/MeterReading")[0]
        flow = groups.setdefault(meter.self_link, _Flow(types[link], [], point))
        flow.blocks.append(block.content)
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


def _systems(
    groups: list[_Flow], entries: list[_Entry], options: MeterOptions, *, where: str
) -> Iterator[RawSystem]:
    """Yield the systems of a feed: its generation, or its net meters.

    Parameters
    ----------
    groups
        What it holds, by reading types.
    entries
        All of its entries.
    options
        What the curator says of it.
    where
        Its name, for messages.
    """
    usable = [group for group in groups if group.kind.commodity in _ELECTRICITY]
    usable = [group for group in usable if group.kind.uom in (_ENERGY_WH, _POWER_W)]
    if not usable:
        raise MeterError(f"{where} counts neither energy in Wh nor power in W, so no generation")
    if all(group.kind.accumulation in _REGISTERS for group in usable):
        raise MeterError(f"{where} holds a register that only counts up: fetch its interval data")
    usable = [group for group in usable if group.kind.accumulation not in _REGISTERS]
    by_flow = {
        flow: [group for group in usable if group.kind.flow == flow]
        for flow in (_FORWARD, _NET, _REVERSE)
    }
    if any(_is_generator(entry) for entry in entries):
        note = "The feed says that its usage point is a generator."
        yield from _raws(by_flow[_REVERSE] or usable, note, where)
    elif by_flow[_FORWARD] and by_flow[_REVERSE]:
        yield from _joined_flows(by_flow[_FORWARD], by_flow[_REVERSE], where)
    elif by_flow[_NET]:
        note = "A net meter, of energy delivered to the customer less energy received: turned."
        for raw in _raws(by_flow[_NET], note, where):
            yield replace(raw, values=-raw.values, net=True)
    elif by_flow[_REVERSE]:
        note = "The energy received from the customer was taken to be all of the generation."
        yield from _raws(by_flow[_REVERSE], "" if options.net else note, where)
    else:
        yield from _raws(usable, _of_other_flows(usable, options, where), where)


def _of_other_flows(groups: list[_Flow], options: MeterOptions, where: str) -> str:
    """Return the note on a feed that does not say its flow; others are refused."""
    flows = {group.kind.flow for group in groups}
    if flows & {_FORWARD, _TOTAL}:
        what = "a consumption meter" if _FORWARD in flows else "the sum of both flows"
        raise MeterError(
            f"{where} is {what}, in which no generation can be told: fetch a feed with the energy"
            " received from the customer too"
        )
    if options.declared_only and not options.net:
        raise MeterError(
            f"{where} does not say its flow direction: declare a net meter with {ask('net')}, or"
            " give the generation alone"
        )
    said = "as said" if options.net else "as if it were generation"
    return f"The feed does not say its flow direction; it was read {said}."


def _raws(groups: list[_Flow], note: str, where: str) -> Iterator[RawSystem]:
    notes = (note,) if note else ()
    return (_raw(group.kind, group.blocks, notes=notes, where=where) for group in groups)


def _joined_flows(delivered: list[_Flow], received: list[_Flow], where: str) -> Iterator[RawSystem]:
    """Yield the net meters of a feed: of each usage point what it gives less what it takes."""
    points = [sorted(group.point for group in flows) for flows in (delivered, received)]
    if points[0] != points[1] or len(set(points[0])) < len(points[0]):
        raise MeterError(
            f"{where} has usage points without one meter of each flow: fetch one usage point with"
            " both flows, delivered and received"
        )
    note = "A net meter: the energy received from the customer less the energy delivered."
    taken = {group.point: group for group in delivered}
    for given in received:
        (raw,) = _raws([given], note, where)
        (other,) = _raws([taken[given.point]], "", where)
        yield replace(raw, net=True, imported=matched(raw, other))


def _is_generator(entry: _Entry) -> bool:
    if entry.kind != "UsagePoint":
        return False
    text = _text(entry.content, "roleFlags") or "0"
    try:
        return bool(int(text, 16) & _IS_DER)
    except ValueError:
        return False


def _raw(
    kind: ReadingType, blocks: list[Element], *, notes: tuple[str, ...], where: str
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
    return RawSystem("", where, rows, stamps, watts, Unit.W, notes)


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
