"""What came out of a run, parted into what must not change and what noise decides.

What is fixed here, in advance, is which columns and fields hold drawn numbers; everything else
(exit codes, texts, names, counts of rows, statuses) must be the same for neighbours, to the letter.
Drawn answers are sorted into a few public bins, chosen around what the simulated systems are: a
promise of ε bounds how much more likely any set of answers is for one of two neighbours.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from audit.datasets import VALUES, Truth

# What is drawn, or random by itself; of these it only matters that something is there.
DRAWN = frozenset(
    {
        "release_id",
        "surface_azimuth",
        "surface_tilt",
        "dc_capacity_kw",
        "noisy",
        "total_kw",
        "noisy_total_kw",
        "mean_kw",
        # follow from the clip, which is drawn
        "held_at_kw",
        "total_sd_kw",
        "error_kw",
        "error_90_kw",
        "cut_kw",
        "cut_at_most_kw",
        "mean_sd_kw",
        "value",
        "measured",
        "synthetic",
        "difference",
        # of a correlation, it follows from the noisy counts
        "noise_error",
    }
)
# What a release says of a system's modules: even whether there is one is drawn, since a tracker has
# no planes, and two planes have two rows in the flat table of them.
DRAWN_WHOLE = frozenset({"planes", "tracker", "axis_azimuth", "gcr", "PVArrays"})
DRAWN_MOUNT, PUBLIC_MOUNTS = "mount", "mounts"
PLANE_ROWS = "planes"
# The same name is a public size in one table and a consistent count in others.
DRAWN_COUNT, PUBLIC_COUNTS = "systems", "totals"
# What tells nothing but when, or under which random name, it was made.
RANDOM = frozenset({"id", "made", "created", "hash", "bytes", "release", "location"})
_NAMES = (
    (re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<id>"),
    (re.compile(r"\b(?:[0-9a-f]{32,64}|[0-9a-f]{12})\b"), "<id>"),
    (re.compile(r"\b\d{4}-\d{2}-\d{2}(?:T[\d:.]+(?:Z|\+00:00))?"), "<date>"),
)
_LIKE_NUMBERS = re.compile(r"-?\d+(?:\.\d+)?")

# How much is shown of texts that differ, and how much before they do. [letters]
SHOWN, LEAD = 100, 20

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out of one run."""

    public: Mapping[str, str]
    drawn: tuple[Row, ...] = ()

    def difference(
        self, other: Outcome, may_differ: Callable[[str], bool] = lambda name: False
    ) -> str:
        """Return what differs first, in words; an empty text where nothing does."""
        if self.public == other.public:
            return ""
        for name in dict.fromkeys((*self.public, *other.public)):
            ours, theirs = self.public.get(name), other.public.get(name)
            if ours == theirs or may_differ(name):
                continue
            if ours is None or theirs is None:
                return f"{name} is there for one only"
            return f"{name} differs" + _short(ours, theirs)
        return ""


def masked_text(text: str, *places: Path | str) -> str:
    """Return a text without ids, dates, and the names of the places it was made at."""
    for place in sorted(map(str, places), key=len, reverse=True):
        text = text.replace(place, "<place>")
    for pattern, word in _NAMES:
        text = pattern.sub(word, text)
    return text


def masked_json(value: Any) -> Any:
    """Return plain JSON types without what is drawn or random."""
    if isinstance(value, dict):
        if {"columns", "rows"} <= set(value):
            return _masked_table(value)
        return {name: _masked(name, each) for name, each in value.items()}
    if isinstance(value, list):
        return [masked_json(each) for each in value]
    return masked_text(value) if isinstance(value, str) else value


def _masked(name: str, value: Any) -> Any:
    if name in RANDOM:
        return "<random>"
    if name in DRAWN_WHOLE:
        return "<drawn>"
    return kind_of(value) if name in DRAWN else masked_json(value)


def rows_of(value: Any) -> tuple[Row, ...]:
    """Return all rows of tables in plain JSON types, each with the name of its table."""
    if isinstance(value, dict):
        if {"columns", "rows"} <= set(value):
            names = [_column_name(column) for column in value["columns"]]
            table = {"table": value.get("name", "")}
            return tuple(
                table | dict(zip(names, row, strict=False))
                if isinstance(row, list)
                else table | row
                for row in value["rows"]
            )
        return tuple(row for each in value.values() for row in rows_of(each))
    if isinstance(value, list):
        return tuple(row for each in value for row in rows_of(each))
    return ()


def folder_outcome(folder: Path, *places: Path | str) -> Outcome:
    """Return a publication's files: names, shapes and texts, without what is drawn and places."""
    public = {"files": " ".join(sorted(path.name for path in folder.iterdir()))}
    drawn: list[Row] = []
    for path in sorted(folder.iterdir()):
        if path.suffix == ".csv":
            rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
            public[f"file {path.name}"] = _table_text(path.stem, rows)
            drawn += [{"table": path.stem, **row} for row in rows]
        elif path.suffix == ".parquet":
            table = pq.read_table(path)
            drawn_rows = _are_rows_drawn(path.stem, table.column_names)
            count = "<drawn>" if drawn_rows else table.num_rows
            public[f"file {path.name}"] = f"{table.schema} {count}"
        elif path.suffix in (".json", ".yaml", ".md"):
            text = masked_text(path.read_text(encoding="utf-8"), *places)
            if path.name.endswith(".orange-button.json"):
                text = _LIKE_NUMBERS.sub("<n>", json.dumps(masked_json(json.loads(text))))
            if path.name == "datapackage.json":
                text = json.dumps(masked_json(json.loads(text)))
            public[f"file {path.name}"] = text
    return Outcome(public, tuple(drawn))


def kind_of(value: Any) -> str:
    """Return what kind of thing stands where a drawn value is: a number, a text or nothing."""
    if value is None or value == "":
        return "<nothing>"
    try:
        float(value)
    except (TypeError, ValueError):
        return "<text>"
    return "<number>"


def _masked_table(table: Mapping[str, Any]) -> dict[str, Any]:
    rest = {name: each for name, each in table.items() if name != "rows"}
    rows = rows_of(table)
    return {
        **{name: masked_json(each) for name, each in rest.items()},
        "rows": _table_text(str(table.get("name", "")), rows),
    }


def _table_text(name: str, rows: Sequence[Row]) -> str:
    """Return a table with drawn cells replaced by their kinds; rows of systems have no order."""
    if _are_rows_drawn(name, rows[0] if rows else ()):
        return "<drawn>"
    masked = [
        {column: _masked_cell(name, column, each) for column, each in row.items()} for row in rows
    ]
    texts = [json.dumps(row, default=str) for row in masked]
    ordered = sorted(texts) if rows and "release_id" in rows[0] else texts
    return f"{len(rows)} rows\n" + "\n".join(ordered)


def _masked_cell(table: str, column: str, value: Any) -> Any:
    if column in DRAWN_WHOLE or (column == DRAWN_MOUNT and table != PUBLIC_MOUNTS):
        return "<drawn>"
    drawn = column in DRAWN or (column == DRAWN_COUNT and table != PUBLIC_COUNTS)
    return kind_of(value) if drawn else value


def _are_rows_drawn(table: str, columns: Collection[str]) -> bool:
    """Return whether even the number of rows is drawn: that of the planes of released systems.

    A fleet's table of the same name has a row for every sector and band.
    """
    return table == PLANE_ROWS and (not columns or "release_id" in columns)


def _column_name(column: Any) -> str:
    if isinstance(column, dict):
        return str(column["name"])
    return str(column[0]) if isinstance(column, list) else str(column)


def _short(ours: str, theirs: str) -> str:
    """Return what both say from where they part, as far as a line holds it."""
    same = next(
        (place for place, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b),
        min(len(ours), len(theirs)),
    )
    begin = max(0, same - LEAD)
    shown = [" ".join(text[begin : begin + SHOWN].split()) or "nothing" for text in (ours, theirs)]
    return f": {shown[0]} | {shown[1]}"


# From what was drawn to the name of a bin.
Rule = Callable[[Sequence[Row]], str]

# How far from a truth an answer is still near: of a release of readings, which is sharp, of one of
# a few weeks' days, which is less so, and of one of a whole record, which is not at all. The last
# are the corners of about the ball that its window is. [degrees, degrees, log of capacity]
SHARP, WIDER, BALL = (40.0, 20.0, 0.5), (100.0, 45.0, 0.5), (200.0, 90.0, 3.0)


def each_near(truths: Sequence[Truth], reach: tuple[float, float, float] = SHARP) -> Rule:
    """Return the rule that asks of every system whether a row is near what it is."""

    def rule(rows: Sequence[Row]) -> str:
        answers = _planes(rows)
        found = ["near" if any(_near(a, t, reach) for a in answers) else "off" for t in truths]
        return " ".join(found)

    return rule


def most_near(truths: Sequence[Truth]) -> Rule:
    """Return the rule that asks whether a row is near each of the systems, but for one."""
    every = each_near(truths, WIDER)

    def rule(rows: Sequence[Row]) -> str:
        return "most near" if every(rows).split().count("off") <= 1 else "few near"

    return rule


def many_near(truth: Truth, least: int) -> Rule:
    """Return the rule that asks whether many rows are near what all systems are."""

    def rule(rows: Sequence[Row]) -> str:
        near = sum(_within_ball(answer, truth) for answer in _planes(rows))
        return "many near" if near >= least else "few near"

    return rule


def total_within(total: float, reach: float) -> Rule:
    """Return the rule that asks on which side of a public total, or near it, a noisy one is."""

    def rule(rows: Sequence[Row]) -> str:
        drawn = [float(row["noisy_total_kw"]) for row in rows if "noisy_total_kw" in row]
        if not drawn:
            return "no total"
        apart = sum(drawn) - total
        return "near" if abs(apart) <= reach else ("above" if apart > 0.0 else "below")

    return rule


def counted(table: str, label: str, ours: Sequence[str], theirs: Sequence[str]) -> Rule:
    """Return the rule that asks which of two lists of cells has drawn more systems."""

    def rule(rows: Sequence[Row]) -> str:
        drawn = {row[label]: float(row["noisy"]) for row in rows if row["table"] == table}
        more = sum(drawn[name] for name in ours) > sum(drawn[name] for name in theirs)
        return " ".join(ours if more else theirs)

    return rule


def anything(rows: Sequence[Row]) -> str:
    """Return the same for all rows: only what must not change is looked at."""
    return "drawn" if rows else "nothing drawn"


def _planes(rows: Sequence[Row]) -> list[Truth]:
    held = [row for row in rows if all(row.get(name) not in (None, "") for name in VALUES)]
    return [Truth(*(float(row[name]) for name in VALUES)) for row in held]


def _near(answer: Truth, truth: Truth, reach: tuple[float, float, float]) -> bool:
    return all(a <= b + 1e-9 for a, b in zip(_apart(answer, truth), reach, strict=True))


def _within_ball(answer: Truth, truth: Truth) -> bool:
    shares = (a / b for a, b in zip(_apart(answer, truth), BALL, strict=True))
    return sum(shares) <= 1.0


def _apart(answer: Truth, truth: Truth) -> tuple[float, float, float]:
    """Return how far an answer is from a truth. [degrees, degrees, log of capacity]"""
    turned = abs(answer.surface_azimuth - truth.surface_azimuth) % 360.0
    return (
        min(turned, 360.0 - turned),
        abs(answer.surface_tilt - truth.surface_tilt),
        abs(math.log(answer.dc_capacity_kw / truth.dc_capacity_kw)),
    )
