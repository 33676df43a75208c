"""Text tables: CSV and its relatives, streamed line by line."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from sunveil.errors import MeterError, ask
from sunveil.meters.cells import RoleCells
from sunveil.meters.columns import ColumnRoles, find_roles
from sunveil.meters.contents import Content
from sunveil.meters.header import TableHead, find_head
from sunveil.meters.options import AUTO, MeterOptions
from sunveil.meters.textcells import LineBlock, iter_blocks, read_head


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


def _streamed(content: Content, head: TableHead, roles: ColumnRoles) -> RoleCells:
    width = len(head.columns)
    places = {
        "time": roles.time,
        "date": roles.date,
        "system": roles.system,
        "kind": roles.kind,
        "unit": roles.unit,
    }
    # a line of a whole day is torn as a whole
    private = roles.power[0], roles.power[-1]
    cells: dict[str, list[pa.Array]] = {name: [] for name, at in places.items() if at is not None}
    power: list[list[pa.Array]] = [[] for _ in roles.power]
    rows, torn = [], []
    with content.open() as file:
        for block in iter_blocks(file, skip=head.skip, separator=head.separator, width=width):
            kept = _filled(block)
            mask = pa.array(kept)
            for name, at in places.items():
                if at is not None:
                    found = block.column(at, width=width, private=private)
                    cells[name].append(found.filter(mask).dictionary_encode())
            for place, held in zip(roles.power, power, strict=True):
                held.append(block.column(place, width=width, private=private).filter(mask))
            rows.append(block.rows[kept])
            torn.append(block.is_torn(width)[kept])
    if not rows:
        raise MeterError(f"{content.name} has a header but no readings")
    return RoleCells(
        content.name,
        content.stem,
        head.columns,
        roles,
        np.concatenate(rows),
        power=tuple(pa.concat_arrays(held) for held in power),
        torn=np.concatenate(torn),
        separator=head.separator,
        said={} if head.decimal is None else {"decimal": head.decimal},
        **{name: _unified(held) for name, held in cells.items()},
    )


def _filled(block: LineBlock) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which lines have more than one cell: others are blank, or remains of torn ones."""
    return np.asarray(block.counts > 1)


def _unified(chunks: list[pa.Array]) -> pa.Array:
    """Return coded cells of several blocks under one code."""
    return pa.concat_arrays(pa.chunked_array(chunks).unify_dictionaries().chunks)
