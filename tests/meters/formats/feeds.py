"""Green Button XML (NAESB REQ.21, ESPI), entry by entry."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

FORWARD, NET, REVERSE, TOTAL = 1, 4, 19, 20
BASE = "https://utility.example/espi/1_1/resource"


def feed(*entries: str) -> str:
    return (
        '<?xml version="1.0" encoding="UTF-8"?><feed xmlns="http://www.w3.org/2005/Atom"'
        f' xmlns:espi="http://naesb.org/espi">{"".join(entries)}</feed>'
    )


def entry(content: str, *, own: str, up: str = "", related: Sequence[str] = ()) -> str:
    links = "".join(f'<link rel="related" href="{BASE}{href}"/>' for href in related)
    return (
        f'<entry><link rel="self" href="{BASE}{own}"/><link rel="up" href="{BASE}{up}"/>{links}'
        f"<content>{content}</content></entry>"
    )


def reading_type(number: object, flow: int | None, **fields: int | None) -> str:
    fields = {"flowDirection": flow, "powerOfTenMultiplier": 0, "uom": 72} | fields
    cells = "".join(
        f"<espi:{name}>{value}</espi:{name}>" for name, value in fields.items() if value is not None
    )
    return entry(f"<espi:ReadingType>{cells}</espi:ReadingType>", own=f"/ReadingType/{number}")


def meter_reading(meter: object, kind: object, point: str = "") -> str:
    own = f"{point}/MeterReading/{meter}"
    related = (f"{own}/IntervalBlock", f"/ReadingType/{kind}")
    return entry("<espi:MeterReading/>", own=own, related=related)


def block(
    meter: object, number: int, readings: Iterable[tuple[object, int, object]], point: str = ""
) -> str:
    """Return an entry of readings: their start, their length in seconds, their value."""
    cells = "".join(
        f"<espi:IntervalReading><espi:timePeriod><espi:duration>{length}</espi:duration>"
        f"<espi:start>{start}</espi:start></espi:timePeriod><espi:value>{value}</espi:value>"
        "</espi:IntervalReading>"
        for start, length, value in readings
    )
    up = f"{point}/MeterReading/{meter}/IntervalBlock"
    content = f"<espi:IntervalBlock>{cells}</espi:IntervalBlock>"
    return entry(content, own=f"{up}/{number}", up=up)
