"""What a publication holds before it is written: tables, their errors and their guarantee."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sunveil.arguments import check_fields
from sunveil.privacy.guarantee import Guaranteed

if TYPE_CHECKING:  # a publication can be made without a ledger
    from sunveil.ledger.records import Question


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a published table.

    Parameters
    ----------
    name
        Its name.
    kind
        ``string``, ``integer``, ``number`` or, for a list of planes, ``array``: Frictionless'
        words.
    about
        What it holds, with its unit.
    """

    name: str
    kind: str
    about: str


@dataclass(frozen=True, slots=True, eq=False)
class PublishedTable:
    """One table, every value of which may be published.

    Parameters
    ----------
    name
        Stem of its files.
    about
        What it is, in a sentence.
    columns
        Its columns, in order.
    rows
        Its rows, plain JSON types.
    """

    name: str
    about: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain JSON types."""
        return {
            "name": self.name,
            "about": self.about,
            "columns": [[each.name, each.kind, each.about] for each in self.columns],
            "rows": [list(row) for row in self.rows],
        }

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> PublishedTable:
        """Return the table that :meth:`to_dict` gave."""
        return cls(
            name=fields["name"],
            about=fields["about"],
            columns=tuple(Column(*each) for each in fields["columns"]),
            rows=tuple(tuple(row) for row in fields["rows"]),
        )

    def column(self, name: str) -> list[Any]:
        """Return the values of one column."""
        place = [column.name for column in self.columns].index(name)
        return [row[place] for row in self.rows]


@dataclass(frozen=True, slots=True, eq=False)
class Publication:
    """A publication: everything in it is public.

    Parameters
    ----------
    title
        What it is.
    tables
        Its tables.
    guarantee
        What all of it together promises.
    mechanism
        Which mechanisms drew it, in words.
    public
        The public choices it was made with.
    question
        What the ledger was asked for it; None where there was no ledger.
    """

    title: str
    tables: tuple[PublishedTable, ...]
    guarantee: Guaranteed
    mechanism: str
    public: dict[str, Any] = field(default_factory=dict)
    question: Question | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_fields(self)
