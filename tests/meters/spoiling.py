"""Ways to spoil a file: its bytes, its cells, its columns, its rows, its header."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

# A cell that holds a reading: a number with decimals, its unit, its quotation marks.
DECIMAL = re.compile(r'\s*"?\d{1,3}(?:[.,\'\u202f]?\d{3})*[.,]\d+(?:\s*[kM]?Wh?)?"?\s*')
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
_MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
# What the standard library says of archives that are spoilt already.
_BROKEN = (
    *(OSError, EOFError, ValueError, RuntimeError, KeyError, struct.error, zlib.error),
    *(zipfile.BadZipFile, lzma.LZMAError),
)


@dataclass
class Draft:
    """A file while it is spoilt, and what may be said of it."""

    content: bytes = field(repr=False)
    family: str  # the format it was
    scale_kept: bool = True  # whether readings are still in the unit that its names say
    planted: list[str] = field(default_factory=list)  # texts that no message may hold
    steps: list[str] = field(default_factory=list)  # what was done to it

    def plant(self, rng: random.Random) -> str:
        """Return a text of our own."""
        self.planted.append(f"Zq{rng.randrange(10_000):04d}x")
        return self.planted[-1]

    @property
    def encoding(self) -> str:
        """The encoding that gives the same bytes back."""
        found = _MARKS.get(self.content[:2], "latin-1")
        try:
            self.content.decode(found)
        except UnicodeDecodeError:
            return "latin-1"
        return found

    @property
    def text(self) -> str:
        return self.content.decode(self.encoding)

    @text.setter
    def text(self, text: str) -> None:
        self.content = text.encode(self.encoding, errors="replace")

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines(keepends=True)


Spoil = Callable[[random.Random, Draft], None]


def separator_of(lines: list[str]) -> str:
    """Return the separator of a table's rows; a comma may be a decimal mark beside any other."""
    row = lines[len(lines) // 2] if lines else ""
    return next((each for each in ";\t|" if each in row), ",")


def first_row(lines: list[str]) -> int:
    """Return where the rows begin: at the first of four lines that are mostly digits."""
    digits = [len(line) > 8 and sum(map(str.isdigit, line)) > 0.35 * len(line) for line in lines]
    starts = (number for number in range(len(lines)) if all(digits[number : number + 4]))
    return next(starts, len(lines))


def _change_rows(
    rng: random.Random, draft: Draft, times: int, change: Callable[[str, str], str]
) -> None:
    """Change some rows of readings, of which each is given without its end, and the separator."""
    lines = draft.lines
    separator = separator_of(lines)
    # NEM12's own headers stand among the rows
    heads = ("100,", "200,", "900")
    body = [n for n in range(first_row(lines), len(lines)) if not lines[n].startswith(heads)]
    for _ in range(times if body else 0):
        number = rng.choice(body)
        bare = lines[number].rstrip("\r\n")
        lines[number] = change(bare, separator) + lines[number][len(bare) :]
    draft.text = "".join(lines)


def hostile_cells(rng: random.Random, draft: Draft) -> None:
    """Put hostile texts into one to twenty cells of rows."""

    def change(row: str, separator: str) -> str:
        cells = row.split(separator)
        cells[rng.randrange(len(cells))] = rng.choice(HOSTILE)
        return separator.join(cells)

    _change_rows(rng, draft, rng.randint(1, 20), change)


def planted_cells(rng: random.Random, draft: Draft) -> None:
    """Put a text of our own where readings were: no message may hold it."""
    planted = draft.plant(rng)
    some = random.Random(rng.randrange(1000))

    def change(row: str, separator: str) -> str:
        cells = row.split(separator)
        readings = [place for place, cell in enumerate(cells) if DECIMAL.fullmatch(cell)]
        if readings:
            new = some.choice((planted, f'"{planted}"', f"{planted} kW"))
            cells[some.choice(readings)] = new
        return separator.join(cells)

    _change_rows(some, draft, rng.choice((1, 1, 3, 200)), change)


def stray_marks(rng: random.Random, draft: Draft) -> None:
    """Put a quotation mark, a separator or a NUL anywhere into the rows."""

    def change(row: str, separator: str) -> str:
        place = rng.randrange(len(row) + 1)
        mark = rng.choice(('"', "'", ",", ";", "\t", "\x00", "\r", " ", '""'))
        return row[:place] + mark + row[place:]

    _change_rows(rng, draft, rng.randint(1, 5), change)


def preamble(rng: random.Random, draft: Draft) -> None:
    """Put lines with a customer's name above everything."""
    name, separator = draft.plant(rng), separator_of(draft.lines)
    kinds = (f"Name{separator}{name}\n", f"{name}\n", "\n", f"# {name}\n", f'"{name}\n')
    draft.text = "".join(rng.choice(kinds) for _ in range(rng.randint(1, 5))) + draft.text


def columns(rng: random.Random, draft: Draft) -> None:
    """Leave out a column, write it twice, or let it change places with another."""
    lines = draft.lines
    separator = separator_of(lines)
    width = lines[len(lines) // 2].count(separator) + 1 if lines else 1
    one, other = rng.randrange(width), rng.randrange(width)
    way = rng.choice(("dropped", "swapped", "repeated"))
    for number, line in enumerate(lines):
        bare = line.rstrip("\r\n")
        cells = bare.split(separator)
        if max(one, other) >= len(cells):
            continue
        if way == "dropped":
            del cells[one]
        elif way == "repeated":
            cells.append(cells[one])
        else:
            cells[one], cells[other] = cells[other], cells[one]
        lines[number] = separator.join(cells) + line[len(bare) :]
    # a cell in quotes may hold a separator, and is then torn apart
    if way == "dropped" or draft.family in BY_PLACE or (way == "swapped" and b'"' in draft.content):
        draft.scale_kept = False
    draft.text = "".join(lines)


def rows(rng: random.Random, draft: Draft) -> None:
    """Drop, repeat, turn or shuffle rows."""
    lines = draft.lines
    first = first_row(lines)
    head, body = lines[:first], lines[first:]
    way = rng.choice(("dropped", "repeated", "turned", "shuffled", "blank lines"))
    some = random.Random(rng.randrange(1000))
    if way == "dropped":
        share = some.random()
        body = [line for line in body if some.random() > share]
    elif way == "repeated":
        body = [line for line in body for _ in range(2 if some.random() < 0.2 else 1)]
    elif way == "turned":
        body = body[::-1]
    elif way == "shuffled":
        some.shuffle(body)
    else:
        body = [line + "\n" * (some.random() < 0.1) for line in body]
    draft.text = "".join(head + body)
    draft.scale_kept &= draft.family != "nem12"


def line_ends(rng: random.Random, draft: Draft) -> None:
    """End lines otherwise, or with nothing at the last one."""
    end = rng.choice(("\n", "\r\n", "\r", "\n\n", ""))
    draft.text = (end or "\n").join(draft.text.splitlines()) + end


def header(rng: random.Random, draft: Draft) -> None:
    """Rename a column, rename a unit, or leave the header out."""
    lines = draft.lines
    first = first_row(lines)
    if not 0 < first < len(lines):
        return
    way = rng.choice(("renamed", "renamed", "unit changed", "left out"))
    if way == "left out":
        lines = lines[first:]
    elif way == "unit changed":
        for number in range(first):
            unit = rng.choice(("W", "kW", "Wh", "MWh", "GJ"))
            lines[number] = re.sub(r"[kM]?Wh?\b", unit, lines[number])
    else:
        separator = separator_of(lines)
        bare = lines[first - 1].rstrip("\r\n")
        cells = bare.split(separator)
        cells[rng.randrange(len(cells))] = rng.choice((*NAMES, *HOSTILE))
        lines[first - 1] = separator.join(cells) + lines[first - 1][len(bare) :]
    draft.text = "".join(lines)
    draft.scale_kept = False


def tree_parts(rng: random.Random, draft: Draft) -> None:
    """Replace numbers of JSON or XML, rename a key, drop a brace, or say an object twice."""
    text, planted = draft.text, draft.plant(rng)
    start = max(text.find("IntervalBlock>"), 0)
    numbers = list(re.finditer(r"(?<=[ >:])-?\d+(?:\.\d+)?(?=[,}<\s])", text[start:]))
    parts = list(re.finditer(r'"\w+":|</?\w[^>]*>|[{}\[\]]', text[start:]))
    wild = ("null", '"NaN"', f'"{planted}"', "1e999", "-1e308", "true", "[]", "{}", "", planted)
    others = ("", '"date":', "<x>", "}")
    draft.scale_kept &= (of_numbers := rng.choice((True, True, False)))
    places, new = (numbers, wild) if of_numbers else (parts, others)
    chosen = {rng.choice(places) for _ in range(rng.choice((1, 3, 10)))} if places else set()
    for found in sorted(chosen, key=lambda each: -each.start()):
        begin, end = start + found.start(), start + found.end()
        text = text[:begin] + rng.choice((*new, 2 * found.group())) + text[end:]
    draft.text = text


def flip_bytes(rng: random.Random, draft: Draft) -> None:
    """Change some bytes."""
    content = bytearray(draft.content)
    for _ in range(rng.choice((1, 1, 2, 5, 50)) if content else 0):
        content[rng.randrange(len(content))] = rng.randrange(256)
    draft.content, draft.scale_kept = bytes(content), False


def truncate(rng: random.Random, draft: Draft) -> None:
    """Cut the file off, anywhere."""
    draft.content = draft.content[: rng.randrange(len(draft.content) + 1)]


def recode(rng: random.Random, draft: Draft) -> None:
    """Write the text in another encoding, or say the wrong one."""
    text = draft.text.removeprefix("\ufeff").removeprefix("ï»¿")
    encoding = rng.choice(("utf-8", "utf-8-sig", "utf-16", "utf-16-be", "cp1252", "utf-32"))
    draft.content = text.encode(encoding, errors="replace")


BYTES: tuple[Spoil, ...] = (flip_bytes, truncate)
TEXT: tuple[Spoil, ...] = (
    *(hostile_cells, hostile_cells, planted_cells, planted_cells, preamble, columns, columns),
    *(rows, rows, stray_marks, recode, line_ends, header, *BYTES),
)
TREE: tuple[Spoil, ...] = (*[tree_parts] * 3, recode, *BYTES)


def spoil(rng: random.Random, draft: Draft, file_name: str) -> None:
    """Take one step: in a file of text or of a tree, in a member of an archive, or in bytes."""
    ways = TREE if file_name.endswith((".json", ".jsonl", ".xml", ".xlsx")) else TEXT
    way = rng.choice(BYTES if draft.content[:4] in (b"PAR1", b"ARRO") else ways)
    packed = file_name.endswith((".xlsx", ".zip", ".gz", ".bz2", ".xz"))
    if packed and rng.randrange(5) < 4:
        inner = Draft(b"", draft.family)

        def change(data: bytes) -> bytes:
            inner.content = data
            way(rng, inner)
            return inner.content

        draft.content = _inside(draft.content, change, rng)
        draft.planted += inner.planted
        draft.scale_kept &= inner.scale_kept and not file_name.endswith(".xlsx")
    else:
        way(rng, draft)
    draft.steps.append(way.__name__)


def _inside(content: bytes, change: Callable[[bytes], bytes], rng: random.Random) -> bytes:
    """Return an archive with a changed member; the same bytes where they are no archive."""
    try:
        if content[:4] == b"PK\x03\x04":
            return _wrapped_zip(change, content, rng)
        for pack in (gzip, bz2, lzma):
            if content[:2] == pack.compress(b"")[:2]:
                return pack.compress(change(pack.decompress(content)))
    except _BROKEN:
        pass
    return content


def _wrapped_zip(change: Callable[[bytes], bytes], content: bytes, rng: random.Random) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w") as new:
        names = old.namelist()
        tables = [name for name in names if name.endswith((".csv", "sheet1.xml", "Strings.xml"))]
        chosen = rng.choice(tables or names)
        for name in names:
            data = old.read(name)
            new.writestr(zipfile.ZipInfo(name), change(data) if name == chosen else data)
    return file.getvalue()
