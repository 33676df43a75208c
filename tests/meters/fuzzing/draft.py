"""A file while it is being spoilt: its bytes, as text where they are text."""

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
from dataclasses import dataclass, replace

# A cell that holds a reading: a number with decimals, its unit, its quotation marks.
DECIMAL = re.compile(r'\s*"?\d{1,3}(?:[.,\'\u202f]?\d{3})*[.,]\d+(?:\s*[kM]?Wh?)?"?\s*')
_SEPARATORS = (";", "\t", "|", ",")
# What the standard library says of archives that are spoilt already.
_BROKEN = (
    *(OSError, EOFError, ValueError, RuntimeError, KeyError, struct.error, zlib.error),
    *(zipfile.BadZipFile, lzma.LZMAError),
)
_MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


@dataclass(frozen=True)
class Draft:
    """A spoilt file, and what may be said of it."""

    content: bytes
    family: str  # the format it was
    scale_kept: bool = True  # whether readings are still in the unit that its names say
    planted: tuple[str, ...] = ()  # texts in cells and preambles, which no message may hold
    steps: tuple[str, ...] = ()  # what was done to it

    def done(
        self, step: str, content: bytes, *, scale_kept: bool = True, planted: str = ""
    ) -> Draft:
        """Return the file after one more step."""
        return replace(
            self,
            content=content,
            scale_kept=self.scale_kept and scale_kept,
            planted=(*self.planted, planted) if planted else self.planted,
            steps=(*self.steps, step),
        )


def decode(content: bytes) -> tuple[str, str]:
    """Return a file's text and the encoding that gives the same bytes back."""
    encoding = _MARKS.get(content[:2])
    if encoding is not None and len(content) % 2 == 0:
        try:
            return content.decode(encoding), encoding
        except UnicodeDecodeError:
            pass
    return content.decode("latin-1"), "latin-1"


def encode(text: str, encoding: str) -> bytes:
    """Return a text's bytes; what an encoding does not have becomes a question mark."""
    return text.encode(encoding, errors="replace")


def separator_of(lines: list[str]) -> str:
    """Return the separator of a table's rows; a comma may be a decimal mark beside any other."""
    row = lines[len(lines) // 2] if lines else ""
    return next((each for each in _SEPARATORS if each in row), ",")


def first_row(lines: list[str]) -> int:
    """Return where the rows begin: at the first of four lines that are mostly digits."""
    digits = [_mostly_digits(line) for line in lines]
    for number in range(len(lines)):
        if all(digits[number : number + 4]):
            return number
    return len(lines)


def _mostly_digits(line: str) -> bool:
    return len(line) > 8 and sum(each.isdigit() for each in line) > 0.35 * len(line)


def rows_of_readings(lines: list[str]) -> list[int]:
    """Return the lines that hold readings; NEM12's own headers stand among them."""
    first = first_row(lines)
    return [
        number
        for number in range(first, len(lines))
        if not lines[number].startswith(("100,", "200,", "900"))
    ]


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


def inside(content: bytes, change: Callable[[bytes], bytes], rng: random.Random) -> bytes | None:
    """Return an archive with a changed member; None where the bytes are no archive."""
    try:
        if content[:4] == b"PK\x03\x04":
            return _wrapped_zip(change, content, rng)
        if content[:2] == b"\x1f\x8b":
            return gzip.compress(change(gzip.decompress(content)), mtime=0)
        if content[:3] == b"BZh":
            return bz2.compress(change(bz2.decompress(content)))
        if content[:6] == b"\xfd7zXZ\x00":
            return lzma.compress(change(lzma.decompress(content)))
    except _BROKEN:
        return None
    return None
