"""What a ledger states of a publication."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from sunveil._options import check_fields
from sunveil.ledger.promises import Promise, read_promise


@dataclass(frozen=True, slots=True)
class PublicationAccount:
    """What a ledger stated when a publication had been drawn and kept: all of it public.

    Parameters
    ----------
    dataset, promise
        The dataset's name, and its promise.
    total, spent, remaining
        The promised total, the largest amount that any household has spent of it, and what can be
        spent now on a release about all systems, in the promise's measure.
    spent_epsilon
        The amount spent, as ε at the promise's δ.
    plain_epsilon
        The plain sum of the ε of its releases, where all of them have one.
    charges
        Number of charges, this one included.
    mark
        Length and last digest of the dataset's chain: ``entries:digest``.
    charge, question, cost
        Place of the publication's own charge, digest of its question, and the largest charge to a
        household; None where nothing was charged for it.
    meters
        Largest number of meters of one household in the publication; None where it is not known,
        as for rows that were drawn in several years.
    schema
        Digest of the schema that the meter files were read by, where they were read for it.
    interactive
        Whether an analyst asked for it through the service.
    """

    dataset: str
    promise: Promise
    total: float
    spent: float
    remaining: float
    spent_epsilon: float
    plain_epsilon: float | None
    charges: int
    mark: str
    charge: int | None = None
    question: str | None = None
    cost: float | None = None
    meters: int | None = None
    schema: str | None = None
    interactive: bool = False

    def __post_init__(self) -> None:
        check_fields(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the account as plain JSON types."""
        return {**asdict(self), "promise": self.promise.to_dict()}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> PublicationAccount:
        """Return the account from what :meth:`to_dict` returned."""
        return cls(**{**fields, "promise": read_promise(json.dumps(fields["promise"]))})

    @property
    def household_rule(self) -> str:
        """How households are counted, in sentences."""
        most = self.promise.meters
        meters = "one meter" if most == 1 else f"up to {most} meters, which count as one"
        return (
            "Each account is a household, named by the curator's key, or by the system's own name"
            f" where none was given. The promise is to households with {meters}. Everything"
            " published of a household's meters, in this dataset and in every other one of the same"
            " ledger, is added up against its smallest promise."
        )

    @property
    def spending(self) -> str:
        """Charge of this publication and spending so far, in sentences."""
        sign = "ε" if self.promise.measure == "epsilon" else "ρ"
        text = ""
        if self.cost is not None:
            text = (
                f"A household was charged {sign} = {self.cost:.9g} at most for this publication. "
            )
        text += (
            f"With it, the household that spent most has spent {sign} = {self.spent:.9g} of"
            f" {self.total:.9g}, and {sign} = {self.remaining:.9g} may be spent now on a release"
            " about all systems."
        )
        if self.promise.delta == 0.0:
            return text
        text += (
            f" This spending is ε = {self.spent_epsilon:.4g} at δ = {self.promise.delta:g}, by the"
            " tight conversion of zero-concentrated DP"
        )
        if self.plain_epsilon is None:
            return f"{text}; there is no plain sum of the releases' ε."
        return f"{text}; the plain sum of the releases' ε is {self.plain_epsilon:.9g}."

    @property
    def record(self) -> str:
        """Its place in the ledger, and how to verify it, in sentences."""
        if self.charge is None:
            text = "Nothing was charged for this publication: all of it was drawn before."
        else:
            others = "the only charge" if self.charges == 1 else f"one of {self.charges} charges"
            text = (
                f"It was paid by entry {self.charge} of the dataset's chain, {others} so far, for"
                f" the question {self.question}."
            )
        return (
            f"{text} This is stated as of the ledger's mark {self.mark}; the holder of the ledger"
            f" checks it with: sunveil ledger verify --dataset '{self.dataset}' --mark"
            f" {self.mark}"
        )
