"""Text tables: CSV and its relatives, streamed line by line."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sunveil.errors import MeterError, ask
from sunveil.meters.cells import RoleCells
from sunveil.meters.columns import ColumnRoles, find_roles
from sunveil.meters.contents import Content
from sunveil.meters.header import TableHead, find_head
from sunveil.meters.options import AUTO, MeterOptions
from sunveil.meters.textcells import LineBlock, iter_blocks, read_head

# Wider than any line.
_ANY_WIDTH = 1 << 40


def read_text(content: Content, options: MeterOptions) -> RoleCells:
    """Return the columns of a text table that hold what is read.

    Parameters
    ----------
    content
        The file.
    options
        What the curator says of it.
    """
    where = content.name
    with content.open() as file:
        lines = read_head(file)
    if is_status_line(lines):
        with content.open() as file:
            content = Content(where, data=file.read().replace(b";", b"\n"))
        lines = lines[0].split(";")
    head = find_head(lines, options, where=where)
    roles = find_roles(head.columns, options, where=where)
    _refuse_open_decimal(head, options, where)
    if options.declared_only:
        _refuse_parted_flows(roles, where)
    return _streamed(content, head, roles)


def is_status_line(lines: Sequence[str]) -> bool:
    """Whether a file is one line of records parted by semicolons, as PVOutput's API answers."""
    return len(lines) == 1 and bool(re.match(r"\d{8},\d\d:\d\d,[^;]*;\d{8},", lines[0]))


def _refuse_open_decimal(head: TableHead, options: MeterOptions, where: str) -> None:
    """Refuse a release whose decimal mark nobody states: readings must not tell it."""
    stated = options.decimal != AUTO or head.decimal is not None
    if options.declared_only and not stated and head.separator != ",":
        parted = {";": "semicolons", "\t": "tabs"}.get(head.separator, "another mark than commas")
        raise MeterError(
            f"{where} parts its cells by {parted}, so its decimal mark may be a comma or a point:"
            f" state it with {ask('decimal', ',')} or {ask('decimal', '.')}, or with"
            f" {ask('schema')}"
        )


def _refuse_parted_flows(roles: ColumnRoles, where: str) -> None:
    """Refuse a release whose stamps stand between readings: a spoilt one would take them along."""
    if roles.minutes is not None or len(roles.counted) == 1:
        return
    first, last = min(roles.counted), max(roles.counted)
    others = (roles.time, roles.date, roles.system)
    if any(at is not None and first < at < last for at in others):
        raise MeterError(
            f"{where} has its times or systems between the columns of what is given to the grid and"
            " what is taken from it: put these side by side"
        )


def _streamed(content: Content, head: TableHead, roles: ColumnRoles) -> RoleCells:
    places = {
        "time": roles.time,
        "date": roles.date,
        "system": roles.system,
        "kind": roles.kind,
        "unit": roles.unit,
    }
    # a line of a whole day is torn as a whole, and so are the columns of a net meter
    read = roles.counted
    # without a header nothing but a line itself says how many cells it has
    width = len(head.columns) if head.named else _ANY_WIDTH
    private = (min(read), max(read)) if head.named else None
    cells: dict[str, list[pa.Array]] = {name: [] for name, at in places.items() if at is not None}
    power: list[list[pa.Array]] = [[] for _ in read]
    rows, torn, short = [], [], []
    with content.open() as file:
        blocks = iter_blocks(
            file, skip=head.skip, separator=head.separator, width=width, private=private
        )
        for block in blocks:
            kept = _is_row(block, roles, width=width, private=private)
            mask = pa.array(kept)
            for name, at in places.items():
                if at is not None:
                    found = block.column(at, width=width, private=private)
                    cells[name].append(found.filter(mask).dictionary_encode())
            for place, held in zip(read, power, strict=True):
                held.append(block.column(place, width=width, private=private).filter(mask))
            rows.append(block.rows[kept])
            torn.append(block.is_torn(width)[kept])
            short.append((block.counts < width)[kept] & head.named)
    if not rows:
        raise MeterError(f"{content.name} has a header but no readings")
    whole = [pa.concat_arrays(held) for held in power]
    return RoleCells(
        content.name,
        content.stem,
        head.columns,
        roles,
        np.concatenate(rows),
        power=tuple(whole[: len(roles.power)]),
        imported=tuple(whole[len(roles.power) :]),
        torn=np.concatenate(torn),
        short=np.concatenate(short),
        separator=head.separator,
        said={} if head.decimal is None else {"decimal": head.decimal},
        **{name: _unified(held) for name, held in cells.items()},
    )


def _is_row(
    block: LineBlock, roles: ColumnRoles, *, width: int, private: tuple[int, int] | None
) -> NDArray[np.bool_]:
    """Return which lines are rows: others are blank, or end before their time or system."""
    kept = block.counts > 1
    for at in (roles.time, roles.date, roles.system):
        if at is not None:
            kept &= np.asarray(block.column(at, width=width, private=private).is_valid())
    return kept


def _unified(chunks: list[pa.Array]) -> pa.Array:
    """Return coded cells of several blocks under one code."""
    return pa.concat_arrays(pa.chunked_array(chunks).unify_dictionaries().chunks)
