"""Arrow arrays out of numbers and texts, and numbers out of them, without pandas.

``pyarrow.array``, ``scalar``, ``to_numpy`` and ``read_table`` load pandas, whatever they are given,
which takes a quarter of a second: as long as hundreds of systems. ``take``, ``filter`` and
``sort_by`` load Arrow's functions, which takes a tenth of that. These know the memory's layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

# Rows that lie in more pieces than this are picked by Arrow's own functions.
_PIECES = 100


def numbers(values: NDArray[Any], valid: NDArray[np.bool_] | None = None) -> pa.Array:
    """Return numbers as an array of their own type.

    Parameters
    ----------
    values
        One dimension of integers or floating-point numbers.
    valid
        Which of them are known; all when left out.
    """
    values = np.ascontiguousarray(values)
    known = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [known, pa.py_buffer(values)])


def truths(values: NDArray[np.bool_]) -> pa.Array:
    """Return an array of what is true and what is not."""
    data = pa.py_buffer(np.packbits(values, bitorder="little"))
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, data])


def texts(values: Sequence[str]) -> pa.Array:
    """Return texts as an array of strings."""
    written = [value.encode() for value in values]
    data = pa.py_buffer(b"".join(written))
    return pa.Array.from_buffers(pa.string(), len(written), [None, _ends(written), data])


def lists(values: Sequence[Sequence[str]]) -> pa.Array:
    """Return lists of texts as an array of lists of strings."""
    inner = texts([text for value in values for text in value])
    kind = pa.list_(pa.string())
    return pa.Array.from_buffers(kind, len(values), [None, _ends(values)], children=[inner])


def rows_at(column: Any, rows: NDArray[Any]) -> pa.Array:
    """Return some rows of a column, blank where a row is below zero.

    Parameters
    ----------
    column
        An array of any type, chunked or not.
    rows
        Which rows; those that follow each other are taken together.
    """
    column = _whole(column)
    if not len(rows):
        return column.slice(0, 0)
    before, after = rows[:-1], rows[1:]
    follows = (after == before + 1) & (before >= 0) | (after < 0) & (before < 0)
    starts = np.concatenate([[0], np.flatnonzero(~follows) + 1, [len(rows)]]).tolist()
    if len(starts) > _PIECES:
        return column.take(numbers(rows, rows >= 0))
    pieces = [
        column.slice(int(rows[a]), b - a) if rows[a] >= 0 else pa.nulls(b - a, column.type)
        for a, b in pairwise(starts)
    ]
    return pieces[0] if len(pieces) == 1 else pa.concat_arrays(pieces)


def flat(column: pa.ListArray) -> pa.Array:
    """Return what the lists of an array hold, one after the other."""
    first, last = (column.offsets[place].as_py() for place in (0, len(column)))
    return column.values.slice(first, last - first)


def plain(column: Any) -> NDArray[Any]:
    """Return a column's numbers, NaN where they are missing; without a copy where possible.

    Parameters
    ----------
    column
        An array, chunked or not.
    """
    column = _whole(column)
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    if column.null_count:
        column = column.cast(kind if pa.types.is_floating(kind) else pa.float64(), safe=False)
        column = column.fill_null(numbers(np.array([np.nan])).cast(column.type)[0])
    dtype = np.dtype(column.type.to_pandas_dtype())
    data = column.buffers()[1]
    if data is None or len(column) == 0:
        return np.empty(0, dtype)
    return np.frombuffer(data, dtype, len(column), column.offset * dtype.itemsize)


def read_file(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Return a Parquet file, or some of its columns."""
    with pq.ParquetFile(path) as file:
        return file.read(columns=None if columns is None else list(columns))


def _whole(column: Any) -> pa.Array:
    """Return a column in one piece."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _ends(values: Sequence[Any]) -> pa.Buffer:
    """Return where each value begins and ends among all."""
    ends = np.zeros(len(values) + 1, dtype=np.int64)
    np.cumsum([len(value) for value in values], out=ends[1:])
    if ends[-1] > np.iinfo(np.int32).max:
        raise OverflowError("so many texts do not fit into one array")
    return pa.py_buffer(ends.astype(np.int32))
