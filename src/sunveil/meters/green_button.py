"""Green Button (ESPI XML) reader."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from xml.etree.ElementTree import ParseError
from xml.parsers.expat import ExpatError, ParserCreate

import numpy as np
from defusedxml import DefusedXmlException
from defusedxml import ElementTree as SafeTree

from sunveil.errors import MeterError
from sunveil.meters.build_record import RawSystem, matched
from sunveil.meters.file_types import Content, unreadable
from sunveil.meters.numbers_and_dates import name_rows, parse_number
from sunveil.meters.reading_options import MeterOptions, Unit, name_offset
from sunveil.meters.record import RefusedSystem
from sunveil.meters.time_steps import Stamps

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
    """What the counts of a meter reading mean, in ESPI's codes."""

    flow: int  # direction of the energy, seen from the utility
    multiplier: int  # power of ten that counts are multiplied by
    uom: int  # unit of measure: 72 for Wh, 38 for W
    accumulation: int  # whether counts are of intervals or of a register
    commodity: int  # what is metered: electricity, gas, water
    interval: int  # [s] usual length of an interval


@dataclass(frozen=True, slots=True)
class _Flow:
    """The interval blocks of one meter reading, and what they count; None where it is not known."""

    kind: ReadingType | None
    blocks: list[Element]


# What is counted, and the interval blocks of the counts.
_Groups = list[tuple[ReadingType, "list[Element]"]]


@dataclass(slots=True)
class _Entry:
    """One Atom entry: its content and where it hangs."""

    content: Element
    kind: str
    self_link: str = ""
    up: str = ""
    related: list[str] = field(default_factory=list)


def read_green_button(
    content: Content, options: MeterOptions
) -> Iterator[RawSystem | RefusedSystem]:
    """Read the generation at each usage point of a Green Button feed, or its net meter."""
    # Each usage point stands alone: one that cannot be used is refused, and raises its reason where
    # it is the only one.
    where = content.name
    entries = _entries(_parse(content))
    points = _by_point(entries)
    if not points:
        raise MeterError(
            f"{where} is XML without interval blocks, so not a Green Button feed of readings"
        )
    if not any(entry.kind == "ReadingType" for entry in entries):
        raise MeterError(f"{where} has no ReadingType, so its counts have no unit: fetch it again")
    points = {link: flows for link, flows in points.items() if _is_electric(flows)} or points
    _refuse_parted_flows(points.values(), where)
    alone = len(points) == 1
    for number, (link, flows) in enumerate(points.items(), start=1):
        name = content.stem if alone else f"{content.stem}-{number}"
        meters = (each for each in entries if each.kind == "UsagePoint")
        point = next((each for each in meters if alone or each.self_link == link), None)
        said = where if alone else f"{where}, system {name},"
        try:
            raws = list(_systems(flows, point, options, where=said))
        except MeterError as error:
            if alone:
                raise
            yield RefusedSystem(name, "meter", str(error))
            continue
        notes = _local_time(entries, point)
        for place, raw in enumerate(raws, start=1):
            own = name if len(raws) == 1 else f"{name}-{place}"
            yield replace(raw, system_id=own, notes=(*raw.notes, *notes))


def _parse(content: Content) -> Element:
    where = content.name
    try:
        with content.open() as file:
            data = file.read()
        try:
            return _parsed(data)
        except ParseError:
            return _parsed(_without_damaged(data))
    except DefusedXmlException:
        raise MeterError(
            f"{where} declares a document type or entities, which no Green Button feed needs and"
            " Sunveil refuses"
        ) from None
    except (ParseError, ExpatError, ValueError, LookupError):
        raise MeterError(f"{where} is not well-formed XML: fetch the feed again") from None
    except OSError as error:
        raise unreadable(where, error) from None


def _parsed(data: bytes) -> Element:
    root: Element = SafeTree.fromstring(data, forbid_dtd=True)
    return root


def _without_damaged(data: bytes) -> bytes:
    """Return a feed without values, and entries, that are not well-formed: each alone."""
    head, entries, _ = _cut(data, b"entry")
    whole = [_is_whole(head, entry) for entry in entries]
    if not any(whole):
        return data
    kept = []
    for entry, sound in zip(entries, whole, strict=True):
        if not sound:
            begin, readings, end = _cut(entry, b"IntervalReading")
            readings = [each if _is_whole(head + begin, each) else _at(each) for each in readings]
            entry = b"".join([begin, *readings, end])
        if not _is_whole(head, entry):
            # which usage point it is of stays known
            links = b"".join(re.findall(rb"<(?:\w+:)?link\b[^<>]*/>", entry))
            block = b"<IntervalBlock/>" if b"IntervalBlock" in entry else b""
            entry = b"<entry>" + links + b"<content>" + block + b"</content></entry>"
        if _is_whole(head, entry):
            kept.append(entry)
    open_tags = _open_tags(head) or []
    closed = "".join(f"</{tag}>" for tag in reversed(open_tags))
    return b"".join([head, *kept, closed.encode()])


def _at(reading: bytes) -> bytes:
    """Return a damaged reading with its time alone: its value is then missing."""
    name = re.match(rb"<([\w:]+)", reading)
    period = re.search(rb"<((?:\w+:)?timePeriod)\b[^<>]*>.*?</\1\s*>", reading, re.DOTALL)
    if name is None or period is None:
        return b""
    whole = b"<%b>%b</%b>" % (name[1], period[0], name[1])
    return whole if _open_tags(b"<feed>" + re.sub(rb"\w+:", b"", whole)) == ["feed"] else b""


def _cut(data: bytes, tag: bytes) -> tuple[bytes, list[bytes], bytes]:
    """Return what is before the first element of a tag, such elements, and what is behind them."""
    starts = [each.start() for each in re.finditer(rb"<(?:\w+:)?" + tag + rb"[\s>]", data)]
    if not starts:
        return data, [], b""
    end = re.compile(rb"</(?:\w+:)?" + tag + rb"\s*>").search(data, starts[-1])
    ends = [*starts[1:], len(data) if end is None else end.end()]
    pieces = [data[start:end] for start, end in zip(starts, ends, strict=True)]
    return data[: starts[0]], pieces, data[ends[-1] :]


def _is_whole(before: bytes, piece: bytes) -> bool:
    tags = _open_tags(before + piece)
    return tags is not None and tags == _open_tags(before)


def _open_tags(data: bytes) -> list[str] | None:
    """Return the tags that are open at the end of some XML, None where it is not well-formed."""
    tags: list[str] = []
    parser = ParserCreate()
    parser.StartElementHandler = lambda name, _: tags.append(name)
    parser.EndElementHandler = lambda _: tags.pop()
    try:
        parser.Parse(data, False)
    except ExpatError:
        return None
    return tags


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


def _by_point(entries: list[_Entry]) -> dict[str, list[_Flow]]:
    """Return the flows of each usage point, by its link; interval blocks find theirs by links."""
    types = {
        entry.self_link: _reading_type(entry.content)
        for entry in entries
        if entry.kind == "ReadingType"
    }
    meters = [entry for entry in entries if entry.kind == "MeterReading"]
    points: dict[str, dict[str, _Flow]] = {}
    for block in (entry for entry in entries if entry.kind == "IntervalBlock"):
        meter = next((each for each in meters if _holds(each, block)), None)
        link = (meter or block).self_link
        kind = (
            next((types[each] for each in meter.related if each in types), None) if meter else None
        )
        if kind is None and len(types) == 1 and not (meter and meter.related):
            kind = next(iter(types.values()))
        point, _, rest = link.partition("/MeterReading")
        own = points.setdefault(point if rest else "", {})
        own.setdefault(link if meter else "", _Flow(kind, [])).blocks.append(block.content)
    return {point: list(flows.values()) for point, flows in points.items()}


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


def _refuse_parted_flows(points: Iterable[list[_Flow]], where: str) -> None:
    """Refuse a feed that may have the two flows of one household at two usage points."""
    flows = [{each.kind.flow for each in own if each.kind} for own in points]
    forward, reverse = (any(own == {flow} for own in flows) for flow in (_FORWARD, _REVERSE))
    if forward and reverse:
        raise MeterError(
            f"{where} has usage points without one meter of each flow: fetch one usage point with"
            " both flows, delivered and received"
        )


def _is_electric(flows: list[_Flow]) -> bool:
    return any(each.kind is None or each.kind.commodity in _ELECTRICITY for each in flows)


def _systems(
    flows: list[_Flow], point: _Entry | None, options: MeterOptions, *, where: str
) -> Iterator[RawSystem]:
    """Yield the systems at a usage point: its generation, or its net meter."""
    groups = [(each.kind, each.blocks) for each in flows if each.kind is not None]
    if len(groups) < len(flows):
        raise MeterError(
            f"{where} does not link its interval blocks to their reading types: fetch it again"
        )
    groups = [each for each in groups if each[0].commodity in _ELECTRICITY]
    groups = [each for each in groups if each[0].uom in (_ENERGY_WH, _POWER_W)]
    if not groups:
        raise MeterError(f"{where} counts neither energy in Wh nor power in W, so no generation")
    if all(kind.accumulation in _REGISTERS for kind, _ in groups):
        raise MeterError(f"{where} holds a register that only counts up: fetch its interval data")
    usable = [each for each in groups if each[0].accumulation not in _REGISTERS]
    by_flow = {
        flow: [each for each in usable if each[0].flow == flow]
        for flow in (_FORWARD, _NET, _REVERSE)
    }
    if point is not None and _is_generator(point):
        note = "The feed says that its usage point is a generator."
        yield from _raws(by_flow[_REVERSE] or usable, note, where)
    elif by_flow[_FORWARD] and by_flow[_REVERSE]:
        yield _joined_flows(by_flow[_FORWARD], by_flow[_REVERSE], where)
    elif by_flow[_NET]:
        note = "A net meter, of energy delivered to the customer less energy received: turned."
        for raw in _raws(by_flow[_NET], note, where):
            yield replace(raw, values=-raw.values, net=True)
    elif by_flow[_REVERSE]:
        note = "The energy received from the customer was taken to be all of the generation."
        yield from _raws(by_flow[_REVERSE], "" if options.net else note, where)
    else:
        yield from _raws(usable, _of_other_flows(usable, options, where), where)


def _of_other_flows(groups: _Groups, options: MeterOptions, where: str) -> str:
    """Return the note on a feed that does not say its flow; others are refused."""
    flows = {kind.flow for kind, _ in groups}
    if flows & {_FORWARD, _TOTAL}:
        what = "a consumption meter" if _FORWARD in flows else "the sum of both flows"
        raise MeterError(
            f"{where} is {what}, which has no generation of its own: fetch a feed with the energy"
            " received from the customer too"
        )
    if options.declared_only and not options.net:
        raise MeterError(
            f"{where} does not say its flow direction: declare a net meter with option `net`, or"
            " give the generation alone"
        )
    said = "as said" if options.net else "as if it were generation"
    return f"The feed does not say its flow direction; it was read {said}."


def _raws(groups: _Groups, note: str, where: str) -> Iterator[RawSystem]:
    notes = (note,) if note else ()
    return (_raw(kind, blocks, notes=notes, where=where) for kind, blocks in groups)


def _joined_flows(delivered: _Groups, received: _Groups, where: str) -> RawSystem:
    """Return the net meter of a usage point: what it gives less what it takes."""
    if len(delivered) > 1 or len(received) > 1:
        raise MeterError(
            f"{where} has usage points without one meter of each flow: fetch one usage point with"
            " both flows, delivered and received"
        )
    note = "A net meter: the energy received from the customer less the energy delivered."
    (raw,) = _raws(received, note, where)
    (other,) = _raws(delivered, "", where)
    return replace(raw, net=True, imported=matched(raw, other))


def _is_generator(entry: _Entry) -> bool:
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
    # what is too large is infinite, and missing like any other
    with np.errstate(over="ignore", invalid="ignore"):
        watts = value * np.power(10.0, kind.multiplier) / hours
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


def _local_time(entries: list[_Entry], point: _Entry | None) -> tuple[str, ...]:
    """Return the note on the clock of a usage point, or of the feed where it has none."""
    clocks = [entry for entry in entries if entry.kind == "LocalTimeParameters"]
    linked = [entry for entry in clocks if point is not None and entry.self_link in point.related]
    for entry in linked or clocks[:1]:
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
