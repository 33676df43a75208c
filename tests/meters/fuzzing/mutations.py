"""Ways to spoil a file: its bytes, its cells, its columns, its rows, its header."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from .draft import DECIMAL, Draft, decode, encode, first_row, rows_of_readings, separator_of

CANARY = "Zq{:04d}x"
HOSTILE = (
    *("", " ", "NaN", "nan", "inf", "-inf", "Infinity", "null", "None", "N/A", "-", "--", "#REF!"),
    *("1e308", "-1e308", "1e-308", "1e400", "9" * 400, "-9999", "0x1F", "1_000", "1,2,3", "1.2.3"),
    *('"', '""', "'", "\\", "\x00", "\x1a", "\ufeff", "\u202e", "٣٫٥", "½", "1e5", "+5", "5-"),
    "(5)",
    *("=1+1", "<b>", "%s%n", "{0}", "a" * 5000, "24:00", "25:61", "31/02/2024", "2024-02-30 00:00"),
    *("0000-00-00", "99999999999999999999", "1e18", "-1", "true", "5 kW", "5 GW", "5 W", "5e3 Wh"),
    *("2262-04-12 00:00", "1677-01-01 00:00", "9999-12-31 23:59", "10000-01-01", "1970-01-01"),
)
NAMES = (
    *("time", "power_kw", "kWh", "W", "", "system_id", "Date", "x" * 300, "a,b", '"', "Total"),
    "unit",
)
# Formats whose cells mean what they mean by their place alone, and rows by the row before.
BY_PLACE = ("nem12", "pvoutput")

Mutation = Callable[[random.Random, Draft], Draft]


def _lines(draft: Draft) -> tuple[list[str], str]:
    text, encoding = decode(draft.content)
    return text.splitlines(keepends=True), encoding


def _joined(lines: list[str], encoding: str) -> bytes:
    return encode("".join(lines), encoding)


def _body(rng: random.Random, lines: list[str]) -> int | None:
    body = rows_of_readings(lines)
    return rng.choice(body) if body else None


def _split(line: str, separator: str) -> tuple[list[str], str]:
    bare = line.rstrip("\r\n")
    return bare.split(separator), line[len(bare) :]


def hostile_cells(rng: random.Random, draft: Draft) -> Draft:
    """Put hostile texts into one to twenty cells of rows."""
    lines, encoding = _lines(draft)
    separator = separator_of(lines)
    for _ in range(rng.randint(1, 20)):
        number = _body(rng, lines)
        if number is None:
            return draft
        cells, end = _split(lines[number], separator)
        place = rng.randrange(len(cells))
        cells[place] = rng.choice(HOSTILE)
        lines[number] = separator.join(cells) + end
    return draft.done("hostile cells", _joined(lines, encoding))


def canary_cells(rng: random.Random, draft: Draft) -> Draft:
    """Put a text of our own where a reading was: no message may hold it."""
    lines, encoding = _lines(draft)
    separator = separator_of(lines)
    canary = CANARY.format(rng.randrange(10_000))
    for _ in range(rng.choice((1, 1, 3, 200))):
        number = _body(rng, lines)
        if number is None:
            return draft
        cells, end = _split(lines[number], separator)
        readings = [place for place, cell in enumerate(cells) if DECIMAL.fullmatch(cell)]
        if readings:
            cells[rng.choice(readings)] = rng.choice((canary, f'"{canary}"', f"{canary} kW"))
            lines[number] = separator.join(cells) + end
    return draft.done("planted cells", _joined(lines, encoding), planted=canary)


def preamble(rng: random.Random, draft: Draft) -> Draft:
    """Put lines with a customer's name above everything."""
    lines, encoding = _lines(draft)
    canary = CANARY.format(rng.randrange(10_000))
    separator = separator_of(lines)
    above = [
        rng.choice(
            (f"Name{separator}{canary}\n", f"{canary}\n", "\n", f"# {canary}\n", f'"{canary}\n')
        )
        for _ in range(rng.randint(1, 5))
    ]
    return draft.done("preamble", _joined([*above, *lines], encoding), planted=canary)


def _columns(
    draft: Draft, step: str, change: Callable[[list[str]], list[str]], *, scale_kept: bool
) -> Draft:
    lines, encoding = _lines(draft)
    separator = separator_of(lines)
    rows = [_split(line, separator) for line in lines]
    new = [separator.join(change(cells)) + end for cells, end in rows]
    return draft.done(step, _joined(new, encoding), scale_kept=scale_kept)


def _width(draft: Draft) -> int:
    lines, _ = _lines(draft)
    return len(_split(lines[len(lines) // 2], separator_of(lines))[0]) if lines else 1


def drop_column(rng: random.Random, draft: Draft) -> Draft:
    """Leave out a column: perhaps the one that mattered."""
    place = rng.randrange(_width(draft))
    change = lambda cells: cells[:place] + cells[place + 1 :]  # noqa: E731
    return _columns(draft, f"column {place} dropped", change, scale_kept=False)


def swap_columns(rng: random.Random, draft: Draft) -> Draft:
    """Let two columns change places, names and all."""
    width = _width(draft)
    one, other = rng.randrange(width), rng.randrange(width)

    def change(cells: list[str]) -> list[str]:
        if max(one, other) < len(cells):
            cells[one], cells[other] = cells[other], cells[one]
        return cells

    # a cell in quotes may hold a separator, and is then torn apart
    kept = draft.family not in BY_PLACE and b'"' not in draft.content
    return _columns(draft, f"columns {one} and {other} swapped", change, scale_kept=kept)


def repeat_column(rng: random.Random, draft: Draft) -> Draft:
    """Write a column twice, under one name."""
    place = rng.randrange(_width(draft))

    def change(cells: list[str]) -> list[str]:
        return [*cells, cells[place]] if place < len(cells) else cells

    kept = draft.family not in BY_PLACE
    return _columns(draft, f"column {place} repeated", change, scale_kept=kept)


def rows(rng: random.Random, draft: Draft) -> Draft:
    """Drop, repeat, turn or shuffle rows."""
    lines, encoding = _lines(draft)
    first = first_row(lines)
    head, body = lines[:first], lines[first:]
    way = rng.choice(("dropped", "repeated", "turned", "shuffled", "blank lines"))
    if way == "dropped":
        share = rng.random()
        body = [line for line in body if rng.random() > share]
    elif way == "repeated":
        body = [line for line in body for _ in range(2 if rng.random() < 0.2 else 1)]
    elif way == "turned":
        body = body[::-1]
    elif way == "shuffled":
        rng.shuffle(body)
    else:
        body = [line for each in body for line in ([each, "\n"] if rng.random() < 0.1 else [each])]
    kept = draft.family != "nem12"
    return draft.done(f"rows {way}", _joined(head + body, encoding), scale_kept=kept)


def quote_marks(rng: random.Random, draft: Draft) -> Draft:
    """Put a quotation mark, a separator or a NUL anywhere into the rows."""
    lines, encoding = _lines(draft)
    for _ in range(rng.randint(1, 5)):
        number = _body(rng, lines)
        if number is None:
            return draft
        place = rng.randrange(len(lines[number]) + 1)
        mark = rng.choice(('"', "'", ",", ";", "\t", "\x00", "\r", " ", '""'))
        lines[number] = lines[number][:place] + mark + lines[number][place:]
    return draft.done("stray marks", _joined(lines, encoding))


def flip_bytes(rng: random.Random, draft: Draft) -> Draft:
    """Change some bytes, of the rows or of anything."""
    content = bytearray(draft.content)
    if not content:
        return draft
    lines, encoding = _lines(draft)
    start = len(encode("".join(lines[: first_row(lines)]), encoding))
    anywhere = rng.random() < 0.5 or start >= len(content)
    count = rng.choice((1, 1, 2, 5, 50))
    for _ in range(count):
        place = rng.randrange(0 if anywhere else start, len(content))
        content[place] = rng.randrange(256)
    # fifty bytes may well be all decimal points of a short file
    kept = not anywhere and count <= 5 and draft.family != "nem12"
    return draft.done("bytes flipped", bytes(content), scale_kept=kept)


def truncate(rng: random.Random, draft: Draft) -> Draft:
    """Cut the file off, anywhere."""
    return draft.done("truncated", draft.content[: rng.randrange(len(draft.content) + 1)])


def recode(rng: random.Random, draft: Draft) -> Draft:
    """Write the text in another encoding, or say the wrong one."""
    text, _ = decode(draft.content)
    text = text.removeprefix("\ufeff").removeprefix("ï»¿")
    encoding = rng.choice(("utf-8", "utf-8-sig", "utf-16", "utf-16-be", "cp1252", "utf-32"))
    return draft.done(f"as {encoding}", encode(text, encoding))


def line_ends(rng: random.Random, draft: Draft) -> Draft:
    """End lines otherwise, or with nothing at the last one."""
    text, encoding = decode(draft.content)
    end = rng.choice(("\n", "\r\n", "\r", "\n\n", ""))
    lines = text.splitlines()
    joined = (end or "\n").join(lines) + end
    return draft.done("other line ends", encode(joined, encoding))


def spoil_header(rng: random.Random, draft: Draft) -> Draft:
    """Rename a column, rename a unit, or leave the header out."""
    lines, encoding = _lines(draft)
    first = first_row(lines)
    if first == 0 or first >= len(lines):
        return draft
    way = rng.choice(("renamed", "renamed", "unit changed", "left out"))
    if way == "left out":
        lines = lines[first:]
    elif way == "unit changed":
        for number in range(first):
            lines[number] = re.sub(
                r"[kM]?Wh?\b", lambda _: rng.choice(("W", "kW", "Wh", "MWh", "GJ")), lines[number]
            )
    else:
        separator = separator_of(lines)
        cells, end = _split(lines[first - 1], separator)
        cells[rng.randrange(len(cells))] = rng.choice((*NAMES, *HOSTILE))
        lines[first - 1] = separator.join(cells) + end
    return draft.done(f"header {way}", _joined(lines, encoding), scale_kept=False)


def spoil_numbers(rng: random.Random, draft: Draft) -> Draft:
    """Replace numbers of JSON or XML by what may stand there instead."""
    text, encoding = decode(draft.content)
    start = max(text.find("IntervalBlock>"), 0)
    places = list(re.finditer(r"(?<=[ >:])-?\d+(?:\.\d+)?(?=[,}<\s])", text[start:]))
    if not places:
        return draft
    canary = CANARY.format(rng.randrange(10_000))
    wild = (
        *("null", '"NaN"', f'"{canary}"', "1e999", "-1e308", "true", "[]", "{}", "", canary, "NaN"),
    )
    some = rng.sample(places, min(len(places), rng.choice((1, 3, 10))))
    for found in sorted(some, key=lambda each: each.start(), reverse=True):
        begin, stop = start + found.start(), start + found.end()
        text = text[:begin] + rng.choice(wild) + text[stop:]
    return draft.done("numbers replaced", encode(text, encoding), planted=canary)


def drop_parts(rng: random.Random, draft: Draft) -> Draft:
    """Rename a key, drop a brace, or say an object twice, in JSON or XML."""
    text, encoding = decode(draft.content)
    places = list(re.finditer(r'"\w+":|</?\w[^>]*>|[{}\[\]]', text))
    if not places:
        return draft
    found = rng.choice(places)
    new = rng.choice(("", found.group() * 2, '"date":', "<x>", "}"))
    text = text[: found.start()] + new + text[found.end() :]
    return draft.done("a part changed", encode(text, encoding), scale_kept=False)


TEXT: tuple[Mutation, ...] = (
    *(hostile_cells, hostile_cells, canary_cells, canary_cells, preamble, drop_column),
    *(swap_columns, repeat_column, rows, rows, quote_marks, flip_bytes, truncate, recode),
    *(line_ends, spoil_header),
)
TREE: tuple[Mutation, ...] = (
    *(spoil_numbers, spoil_numbers, drop_parts, flip_bytes, truncate, recode),
)
BYTES: tuple[Mutation, ...] = (flip_bytes, truncate)
