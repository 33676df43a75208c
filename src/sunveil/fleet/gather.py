"""Readings of a system that are spread over files, brought together."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sunveil._extras import optional_package
from sunveil.fleet.duckdb_reader import cursor, hashes, parquet, quoted
from sunveil.fleet.file_layouts import SourceFile, named
from sunveil.fleet.run_context import RunContext

if TYPE_CHECKING:
    import duckdb
else:
    duckdb = optional_package("duckdb", purpose="a fleet")

# Small files are taken together up to this size. [readings]
_TOGETHER = 4_000_000

_UNREAD = "unread.json"


def gather(context: RunContext, bucket: NDArray[np.int32], *, workers: int) -> None:
    """Part every file of a source by the parts that its systems belong to."""
    parts = int(bucket.max(initial=0)) + 1
    table = pa.table({"key": hashes(context.systems.ids), "part": bucket})
    target = context.job.work / "gathered"
    target.mkdir(parents=True, exist_ok=True)

    def one(numbered: tuple[int, list[SourceFile]]) -> None:
        _gather(context, *numbered, table=table, parts=parts)

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(one, enumerate(_batches(context.job.source.files))))


def gathered_files(work: Path, number: int) -> list[Path]:
    """Return the files of a part, in the order of the source's files."""
    return sorted((work / "gathered").glob(f"[0-9]*/part={number}/*.parquet"))


def not_gathered(work: Path) -> list[tuple[str, str]]:
    """Return the files that could not be read to their end, each with the reason."""
    listed = sorted((work / "gathered").glob(f"[0-9]*/{_UNREAD}"))
    return [
        (name, reason)
        for path in listed
        for name, reason in json.loads(path.read_text(encoding="utf-8"))
    ]


def _batches(files: Sequence[SourceFile]) -> Iterator[list[SourceFile]]:
    batch: list[SourceFile] = []
    for file in files:
        if batch and sum(each.rows for each in batch) + file.rows > _TOGETHER:
            yield batch
            batch = []
        batch.append(file)
    if batch:
        yield batch


def _gather(
    context: RunContext, number: int, batch: Sequence[SourceFile], *, table: pa.Table, parts: int
) -> None:
    done = context.job.work / "gathered" / f"{number:05d}"
    if done.is_dir():
        return
    made = done.with_name(f".{done.name}.part")
    names = [file.name for file in batch]
    try:
        _copy(context, names, made, table=table, parts=parts)
    except duckdb.Error:
        names, unread = _sound(context, names, made, table=table, parts=parts)
        _copy(context, names, made, table=table, parts=parts)
        (made / _UNREAD).write_text(json.dumps(unread), encoding="utf-8")
    made.rename(done)


def _sound(
    context: RunContext, names: Sequence[str], made: Path, *, table: pa.Table, parts: int
) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the files that can be read to their end, and the others with the reason."""
    sound: list[str] = []
    unread: list[tuple[str, str]] = []
    for name in names:
        try:
            _copy(context, [name], made, table=table, parts=parts)
        except duckdb.Error:
            unread.append((name, f"{name} cannot be read: it is damaged"))
        else:
            sound.append(name)
    return sound, unread


def _copy(
    context: RunContext, names: Sequence[str], made: Path, *, table: pa.Table, parts: int
) -> None:
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    if not names:
        return
    columns = context.job.source.columns
    source = context.job.source
    picked = ", ".join(f"r.{named(name)}" for name in columns.in_files)
    key = f"hash({columns.name_sql('r.')})"
    connection = cursor()
    connection.execute("SET preserve_insertion_order=true")
    connection.register("buckets", table)
    connection.execute(
        # rows of systems that nobody knows go anywhere: the reader that meets them names them
        f"COPY (SELECT {picked}, coalesce(b.part, ({key} % {parts})::INTEGER) AS part"
        f" FROM {parquet(source.paths(names), hive=bool(columns.hive))} r"
        f" LEFT JOIN buckets b ON {key} = b.key)"
        f" TO {quoted(str(made))} (FORMAT parquet, PARTITION_BY (part), COMPRESSION zstd)"
    )
