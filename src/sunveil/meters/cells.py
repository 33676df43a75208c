"""The cells of a table that hold what is read, and what they turn out to be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sunveil.meters.columns import ColumnRoles
from sunveil.meters.header import TableColumn
from sunveil.meters.numbers import CellNumbers
from sunveil.meters.wording import Rows


@dataclass(frozen=True, slots=True, eq=False)
class RoleCells:
    """The columns of a table that hold what is read.

    Parameters
    ----------
    where
        The name of the file, for messages.
    stem
        The name of its system, where no column names them.
    columns
        All columns of the table.
    roles
        Which of them hold what.
    rows
        The number of each row, from 1.
    time, date, system, kind, unit
        Their cells: texts, or times where the file has types.
    power
        The cells of each column of readings: texts, or numbers where the file has types.
    imported
        Those of each column of what was taken from the grid, where a net meter counts it apart.
    torn, short
        Lines that have more cells than the header, and lines that have fewer.
    separator
        What stands between cells, where the table is a text.
    zone
        The clock that a file states beside its instants.
    said
        What the file says of itself outside its table: unit, timezone, label.
    """

    where: str
    stem: str
    columns: tuple[TableColumn, ...]
    roles: ColumnRoles
    rows: Rows
    time: pa.Array
    power: tuple[pa.Array, ...]
    date: pa.Array | None = None
    system: pa.Array | None = None
    kind: pa.Array | None = None
    unit: pa.Array | None = None
    imported: tuple[pa.Array, ...] = ()
    torn: NDArray[np.bool_] | None = None
    short: NDArray[np.bool_] | None = None
    separator: str | None = None
    zone: str | None = None
    said: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class RowReadings:
    """The readings of a table, row by row; of a table of days, column after column.

    Parameters
    ----------
    rows
        The number of each row, from 1.
    numbers
        What the cells hold, read with a decimal point or with the mark that is declared.
    commas, evidence
        The numbers read with a decimal comma, and what each cell says of the mark, where it is for
        each system to tell.
    blank_stamp
        Rows that have words or nothing where the stamp should be.
    torn
        Lines that have more cells than the header.
    imported
        The same rows with the numbers of what was taken from the grid, where it stands apart.
    added
        The same rows with the numbers of further columns that are added to these.
    """

    rows: Rows
    numbers: CellNumbers
    commas: NDArray[np.float64] | None
    evidence: NDArray[np.int8] | None
    blank_stamp: NDArray[np.bool_]
    torn: NDArray[np.bool_] | None
    imported: RowReadings | None = None
    added: tuple[RowReadings, ...] = ()

    def of(self, part: Rows, size: int) -> RowReadings:
        """Return the readings of some rows, which hold so many each, in the order of time."""

        def turned(flat: Any) -> Any:
            return None if flat is None else flat.reshape(size, -1)[:, part].T.reshape(-1)

        def spread(each: Any) -> Any:
            return None if each is None else np.repeat(each[part], size)

        numbers = self.numbers
        return RowReadings(
            rows=spread(self.rows),
            numbers=CellNumbers(
                turned(numbers.values),
                turned(numbers.text),
                turned(numbers.with_unit),
                turned(numbers.energy),
            ),
            commas=turned(self.commas),
            evidence=turned(self.evidence),
            blank_stamp=spread(self.blank_stamp),
            torn=spread(self.torn),
            imported=None if self.imported is None else self.imported.of(part, size),
            added=tuple(each.of(part, size) for each in self.added),
        )
