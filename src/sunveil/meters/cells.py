"""The cells of a table that hold what is read, and what they turn out to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sunveil.meters.columns import ColumnRoles
from sunveil.meters.dates import NO_TIME
from sunveil.meters.header import TableColumn
from sunveil.meters.numbers import CellNumbers
from sunveil.meters.wording import Rows

_MINUTE = 60_000_000


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

    def keep(self, which: NDArray[np.bool_]) -> RoleCells:
        """Return some of the rows."""
        mask = pa.array(which)
        cells: dict[str, Any] = {
            name: None if (held := getattr(self, name)) is None else held.filter(mask)
            for name in ("time", "date", "system", "kind", "unit")
        }
        return replace(
            self,
            rows=self.rows[which],
            power=tuple(each.filter(mask) for each in self.power),
            imported=tuple(each.filter(mask) for each in self.imported),
            torn=None if self.torn is None else self.torn[which],
            short=None if self.short is None else self.short[which],
            **cells,
        )


@dataclass(frozen=True, slots=True, eq=False)
class RowReadings:
    """The readings of a table, row by row.

    Parameters
    ----------
    rows
        The number of each row, from 1.
    wall, offset
        What the clock showed, ``NO_TIME`` where the stamp cannot be read [µs since 1970], and how
        far it was ahead of UTC, NaN where it does not say. [min]
    numbers
        What the cells hold, read with a decimal point or with the mark that is declared.
    commas, evidence
        The numbers read with a decimal comma, and what each cell says of the mark, where it is for
        each system to tell.
    codes
        The number of each row's system, None where there is one only.
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
    wall: NDArray[np.int64]
    offset: NDArray[np.float64]
    numbers: CellNumbers
    commas: NDArray[np.float64] | None
    evidence: NDArray[np.int8] | None
    codes: NDArray[np.int64] | None
    blank_stamp: NDArray[np.bool_]
    torn: NDArray[np.bool_] | None
    imported: RowReadings | None = None
    added: tuple[RowReadings, ...] = ()

    def by_interval(self, minutes: Sequence[float]) -> RowReadings:
        """Return rows of days, whose numbers are column after column, as rows of one interval.

        Parameters
        ----------
        minutes
            What the clock shows at each column. [min]
        """
        size, days = len(minutes), len(self.rows)

        def turned(flat: Any) -> Any:
            return None if flat is None else flat.reshape(size, days).T.reshape(-1)

        def spread(each: Any) -> Any:
            return None if each is None else np.repeat(each, size)

        lost = np.repeat(self.wall == NO_TIME, size)
        shown = np.tile((np.asarray(minutes) * _MINUTE).astype(np.int64), days)
        return RowReadings(
            rows=spread(self.rows),
            wall=np.where(
                lost, NO_TIME, spread(np.where(self.wall == NO_TIME, 0, self.wall)) + shown
            ),
            offset=spread(self.offset),
            numbers=CellNumbers(
                turned(self.numbers.values),
                turned(self.numbers.text),
                turned(self.numbers.with_unit),
                turned(self.numbers.energy),
            ),
            commas=turned(self.commas),
            evidence=turned(self.evidence),
            codes=spread(self.codes),
            blank_stamp=spread(self.blank_stamp),
            torn=spread(self.torn),
        )
