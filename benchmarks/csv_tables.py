"""Tables of benchmarks, as CSV files that ``docs/measured.md`` shows."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "docs" / "measured"
Rows = list[list[str]]


def save(lines: Iterable[str], prefix: str, folder: Path = FOLDER) -> list[Path]:
    """Write each table in lines of Markdown to ``PREFIX-HEADING.csv``, and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for title, rows in tables("\n".join(lines)):
        stem = f"{prefix}-{slug(title)}".strip("-")
        same = sum(path.stem == stem or path.stem.startswith(f"{stem}--") for path in written)
        path = folder / f"{stem}--{same + 1}.csv" if same else folder / f"{stem}.csv"
        write(path, rows)
        written.append(path)
    return written


def tables(text: str) -> Iterator[tuple[str, Rows]]:
    """Yield each table of a Markdown text, with the heading above it."""
    title, rows = "", Rows()
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            fields = [field.strip().strip("`") for field in line.strip("| \n").split(" | ")]
            if len(rows) == 1 and set("".join(fields)) <= set("-| :"):
                continue
            rows.append(fields)
        elif rows:
            width = max(map(len, rows))
            yield title, [row + [""] * (width - len(row)) for row in rows]
            rows = []
        if line.startswith("#"):
            title = line.lstrip("# ")


def write(path: Path, rows: Rows) -> None:
    """Write rows, the first of which is the header."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def read(path: Path) -> Rows:
    """Return the rows of a table; none if it has not been written."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def slug(title: str) -> str:
    """Return a heading as a part of a file name."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
