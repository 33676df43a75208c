"""What a service answers: plans and releases, with their tables as frames."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from sunveil.arguments import all_named, check_fields
from sunveil.checked import checked
from sunveil.errors import ParameterError

# Frictionless' words for what a column holds, and pandas' for the same with gaps.
KINDS = {"string": "string", "integer": "Int64", "number": "Float64", "array": "object"}


@dataclass(frozen=True, slots=True)
class PlanAdvice:
    """A change of a question that would make its answer better.

    Parameters
    ----------
    words
        What to change.
    verdict
        What the answer would be then.
    affordable
        Whether what is left holds it.
    question
        The changed question, as :meth:`~sunveil.client.Client.ask` takes it.
    """

    words: str
    verdict: str
    affordable: bool
    question: dict[str, Any]

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What a question would cost and the errors to expect; nothing was spent.

    Parameters
    ----------
    cost, measure
        What it would cost, in ``epsilon`` or ``rho``.
    kept
        Whether it was answered before, and costs nothing.
    affordable
        Whether promise and share hold it.
    verdict
        ``useful``, ``rough`` or ``only noise``; None where nothing is known.
    expected
        The errors to expect, one row each.
    advice
        What would make it better.
    """

    cost: float
    measure: str
    kept: bool
    affordable: bool
    verdict: str | None
    expected: pd.DataFrame = field(repr=False)
    advice: tuple[PlanAdvice, ...]

    def __post_init__(self) -> None:
        check_fields(self)

    @classmethod
    @checked
    @all_named("the plan", "what the API sent")
    def of(cls, fields: dict[str, Any]) -> Plan:
        """Return the plan that the API sent."""
        advice = (
            PlanAdvice(each["words"], each["verdict"], each["affordable"], each["question"])
            for each in fields["advice"]
        )
        return cls(
            cost=fields["cost"],
            measure=fields["measure"],
            kept=fields["kept"],
            affordable=fields["affordable"],
            verdict=fields["verdict"],
            expected=pd.DataFrame(fields["expected"]),
            advice=tuple(advice),
        )


@dataclass(frozen=True, slots=True, eq=False)
class ServedRelease:
    """A release: an answer that was drawn once and is kept.

    Parameters
    ----------
    fields
        All of it, as the API sends it.
    fetch
        What returns the bytes at an address of the API.
    """

    fields: dict[str, Any] = field(repr=False)
    fetch: Callable[[str], bytes] = field(repr=False)

    def __post_init__(self) -> None:
        check_fields(self)

    def __repr__(self) -> str:
        return (
            f"ServedRelease({self.id!r}, dataset={self.dataset!r}, kind={self.kind!r},"
            f" epsilon={self.epsilon:g}, tables={self.tables})"
        )

    @property
    def id(self) -> str:
        """What it is found by."""
        return str(self.fields["id"])

    @property
    def dataset(self) -> str:
        """The name of its dataset."""
        return str(self.fields["dataset"])

    @property
    def kind(self) -> str:
        """The kind of question that it answers."""
        return str(self.fields["kind"])

    @property
    def epsilon(self) -> float:
        """Its privacy loss."""
        return float(self.fields["epsilon"])

    @property
    def cost(self) -> float:
        """What was charged for it, in the promise's measure."""
        return float(self.fields["cost"])

    @property
    def guarantee(self) -> str:
        """What it promises, in a sentence."""
        return str(self.fields["guarantee"]["statement"])

    @property
    def tables(self) -> list[str]:
        """The names of its tables."""
        return [str(table["name"]) for table in self.fields["tables"]]

    @checked
    def table(self, name: str) -> pd.DataFrame:
        """Return one of its tables; ``frame.attrs["about"]`` says what it is."""
        found = [table for table in self.fields["tables"] if table["name"] == name]
        if not found:
            raise ParameterError(
                f"the release has no table {name!r}; it has {', '.join(self.tables)}"
            )
        columns = found[0]["columns"]
        names = [str(column["name"]) for column in columns]
        frame = pd.DataFrame(found[0]["rows"], columns=names, dtype=object)
        frame = frame.astype({str(each["name"]): KINDS[each["kind"]] for each in columns})
        frame.attrs["about"] = found[0]["about"]
        return frame

    @checked
    def file(self, name: str) -> bytes:
        """Return one of its files, such as ``totals.csv`` or ``release-card.yaml``."""
        return self.fetch(f"/releases/{self.id}/files/{name}")

    @checked
    def save(self, folder: Path | str) -> list[Path]:
        """Write all of its files into a folder, and return them."""
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        written = []
        with zipfile.ZipFile(io.BytesIO(self.fetch(f"/releases/{self.id}/bundle"))) as packed:
            for entry in packed.infolist():
                # whatever the archive says, nothing is written beside the folder
                target = place / Path(entry.filename).name
                target.write_bytes(packed.read(entry))
                written.append(target)
        return written
