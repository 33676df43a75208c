"""Small figures as SVG, written straight into a page: no library is loaded to draw a bar."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

_INK, _QUIET, _FAINT, _ACCENT = "#262626", "#5f5f5f", "#e3e3e3", "#0072b2"
_TEXT = 'font-family="system-ui, -apple-system, Segoe UI, Helvetica Neue, Arial, sans-serif"'


def draw_bars(counts: Sequence[int], edges: Sequence[str], *, words: str, name: str) -> str:
    """Return a histogram as SVG.

    Parameters
    ----------
    counts
        How many systems each bin has.
    edges
        What stands under the edges of the bins; some may be empty.
    words
        What the figure shows, for those who cannot see it.
    name
        The name of the quantity, with its unit.
    """
    left, right, top, bottom, height = 56.0, 12.0, 30.0, 46.0, 200.0
    width = 520.0
    wide = (width - left - right) / max(len(counts), 1)
    ticks = _ticks(max(counts, default=0))
    scale = height / ticks[-1]
    parts = [_open(width, top + height + bottom, words)]
    parts.append(_words(left - 7, 14.0, "Systems", anchor="middle", colour=_INK))
    for tick in ticks:
        y = top + height - tick * scale
        parts.append(_line(left, y, width - right, y, _FAINT if tick else _QUIET))
        parts.append(_words(left - 7, y + 4, f"{tick:,}", anchor="end", colour=_QUIET))
    for place, count in enumerate(counts):
        tall = count * scale
        parts.append(
            f'<rect x="{left + place * wide + 0.75:.2f}" y="{top + height - tall:.2f}"'
            f' width="{wide - 1.5:.2f}" height="{tall:.2f}" fill="{_ACCENT}"/>'
        )
    for place, edge in enumerate(edges):
        if edge:
            x = left + place * wide
            parts.append(_words(x, top + height + 17, edge, anchor="middle", colour=_INK))
    middle = left + (width - left - right) / 2
    parts.append(_words(middle, top + height + 38, name, anchor="middle", colour=_INK))
    return "".join([*parts, "</svg>"])


def draw_rose(counts: Sequence[int]) -> str:
    """Return how many systems face each way, as petals on a compass, north up and clockwise.

    Parameters
    ----------
    counts
        Systems in equal sectors of azimuth, from north on; a petal's area is their number.
    """
    size, middle, reach = 320.0, 160.0, 124.0
    parts = [_open(size, size, "Systems by azimuth, on a compass")]
    most = max(counts, default=0)
    ticks = [tick for tick in _ticks(most) if tick] or [1]
    radius = [reach * math.sqrt(tick / ticks[-1]) for tick in ticks]
    parts += [
        f'<circle cx="{middle}" cy="{middle}" r="{ring:.2f}" fill="none" stroke="{_FAINT}"/>'
        for ring in radius
    ]
    for k in range(8):
        x, y = _polar(middle, reach, 45.0 * k)
        parts.append(_line(middle, middle, x, y, _FAINT))
    each = 360.0 / max(len(counts), 1)
    for place, count in enumerate(counts):
        if count:
            parts.append(_petal(middle, reach * math.sqrt(count / ticks[-1]), each * place, each))
    for k, point in enumerate(("N", "NE", "E", "SE", "S", "SW", "W", "NW")):
        x, y = _polar(middle, reach + 17.0, 45.0 * k)
        parts.append(_words(x, y + 4.5, point, anchor="middle", colour=_INK))
    for ring, tick in list(zip(radius, ticks, strict=True))[-1::-2][::-1]:
        x, y = _polar(middle, ring, 22.5)
        parts.append(_words(x, y, f"{tick:,}", anchor="middle", colour=_QUIET, halo=True))
    return "".join([*parts, "</svg>"])


def _petal(middle: float, radius: float, start: float, wide: float) -> str:
    a, b = _polar(middle, radius, start + 0.4), _polar(middle, radius, start + wide - 0.4)
    return (
        f'<path d="M{middle} {middle}L{a[0]:.2f} {a[1]:.2f}'
        f'A{radius:.2f} {radius:.2f} 0 0 1 {b[0]:.2f} {b[1]:.2f}Z" fill="{_ACCENT}"/>'
    )


def _polar(middle: float, radius: float, azimuth: float) -> tuple[float, float]:
    angle = math.radians(azimuth)
    return middle + radius * math.sin(angle), middle - radius * math.cos(angle)


def _ticks(most: int) -> list[int]:
    """Return round numbers from zero to no less than the highest count."""
    if most <= 0:
        return [0, 1]
    rough = most / 4
    power = 10 ** math.floor(math.log10(rough)) if rough >= 1 else 1
    step = next(int(power * each) for each in (1, 2, 5, 10) if power * each >= rough)
    return list(range(0, most + step, step)) if most % step else list(range(0, most + 1, step))


def _open(width: float, height: float, words: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img"'
        f' aria-label="{escape(words)}" {_TEXT} font-size="12">'
    )


def _line(x: float, y: float, to_x: float, to_y: float, colour: str) -> str:
    return f'<line x1="{x:.2f}" y1="{y:.2f}" x2="{to_x:.2f}" y2="{to_y:.2f}" stroke="{colour}"/>'


def _words(x: float, y: float, text: str, *, anchor: str, colour: str, halo: bool = False) -> str:
    edge = ' stroke="#fff" stroke-width="3" paint-order="stroke"' if halo else ""
    return (
        f'<text x="{x:.2f}" y="{y:.2f}" text-anchor="{anchor}" fill="{colour}"{edge}>'
        f"{escape(text)}</text>"
    )
