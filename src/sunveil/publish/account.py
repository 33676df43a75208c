"""What the ledger says of a publication: promise, charge, what was spent so far, and its mark.

All of it is public. It depends on which systems and households are registered and on what was
asked, never on a reading, and names no household: the largest spending of one is an amount alone.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sunveil.arguments import check_fields
from sunveil.checked import checked
from sunveil.ledger.promise import Promise, read_promise

if TYPE_CHECKING:  # what is written without a ledger needs no database
    from sunveil.ledger.ledger import Ledger
    from sunveil.publish.publication import Publication

# The public choice of a publication in which rows of several years stand: when each was drawn.
DRAWN = "drawn"


@dataclass(frozen=True, slots=True)
class PublicationAccount:
    """What a ledger stated when a publication had been drawn and kept.

    Parameters
    ----------
    dataset, promise
        The dataset's name, and what was promised for it.
    total, spent, remaining
        Of the promise: all of it, the most that any household has spent of it, and what may be
        spent now on a release about all systems, in the promise's measure.
    spent_epsilon
        What was spent, as ε at the promise's δ.
    plain_epsilon
        The plain sum of the ε of its releases, where all of them have one.
    charges
        How many charges there have been, this one with them.
    mark
        Length and last digest of the dataset's chain: ``entries:digest``.
    charge, question, cost
        Place of the publication's own charge, digest of its question, and what a household was
        charged at most; None where nothing was charged for it.
    meters
        How many meters of one household are in the publication at most; None where it is not known,
        as of rows that were drawn in several years.
    schema
        Digest of how the meters' files were read, where they were read for it.
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

    @classmethod
    @checked
    def of(
        cls,
        ledger: Ledger,
        dataset: str,
        publication: Publication,
        *,
        schema: str | None = None,
        interactive: bool = False,
    ) -> PublicationAccount:
        """Return what the ledger states now, once the publication has been drawn.

        Parameters
        ----------
        ledger, dataset
            What was charged, and the name of the dataset in it.
        publication
            What was published.
        schema
            Digest of how the meters' files were read
            (:func:`~sunveil.meters.schema.schema_digest`).
        interactive
            Whether an analyst asked for it through the service.
        """
        asked = publication.question
        if asked is not None and asked.systems == ():
            asked = None  # all of its rows stand from earlier publications
        found = ledger.statement(dataset, asked)
        known, charge = found.dataset, found.charge
        # a household may have rows that stand from earlier charges, too
        standing = DRAWN in publication.public
        return cls(
            dataset=dataset,
            promise=known.promise,
            total=known.total,
            spent=known.spent,
            remaining=known.remaining,
            spent_epsilon=found.spent_epsilon,
            plain_epsilon=found.plain_epsilon,
            charges=found.charges,
            mark=f"{found.mark.length}:{found.mark.head}",
            charge=None if charge is None else charge.place,
            question=None if charge is None else charge.question,
            cost=None if charge is None else charge.cost,
            meters=None if charge is None or standing else charge.meters,
            schema=schema,
            interactive=interactive,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the account as plain JSON types."""
        return {**asdict(self), "promise": self.promise.to_dict()}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> PublicationAccount:
        """Return the account that :meth:`to_dict` gave."""
        return cls(**{**fields, "promise": read_promise(json.dumps(fields["promise"]))})

    @property
    def household_rule(self) -> str:
        """Whose accounts are charged, across what, and how many meters are one household's."""
        most = self.promise.meters
        meters = "one meter" if most == 1 else f"up to {most} meters, which count as one"
        return (
            "Accounts are households', named by the curator's key, or by the system's own name"
            f" where none was given. The promise is to households with {meters}. Whatever is"
            " published of a household's meters, in this dataset and in every other one of the same"
            " ledger, is added up against the smallest promise that it is under."
        )

    @property
    def spending(self) -> str:
        """What was charged and spent so far, in sentences."""
        sign = "ε" if self.promise.measure == "epsilon" else "ρ"
        said = ""
        if self.cost is not None:
            said = (
                f"A household was charged {sign} = {self.cost:.9g} at most for this publication. "
            )
        said += (
            f"With it, the household that spent most has spent {sign} = {self.spent:.9g} of"
            f" {self.total:.9g}, and {sign} = {self.remaining:.9g} may be spent now on a release"
            " about all systems."
        )
        if self.promise.delta == 0.0:
            return said
        said += (
            f" What is spent is ε = {self.spent_epsilon:.4g} at δ = {self.promise.delta:g}, by the"
            " tight conversion of zero-concentrated DP"
        )
        if self.plain_epsilon is None:
            return f"{said}; there is no plain sum of the releases' ε."
        return f"{said}; the plain sum of the releases' ε is {self.plain_epsilon:.9g}."

    @property
    def record(self) -> str:
        """Where it stands in the ledger, and how that is verified, in sentences."""
        if self.charge is None:
            said = "Nothing was charged for this publication: all of it was drawn before."
        else:
            others = "the only charge" if self.charges == 1 else f"one of {self.charges} charges"
            said = (
                f"It was paid by entry {self.charge} of the dataset's chain, {others} so far, for"
                f" the question {self.question}."
            )
        return (
            f"{said} What is stated here is of the ledger's mark {self.mark}; whoever holds the"
            f" ledger checks that by: sunveil ledger verify --dataset '{self.dataset}' --mark"
            f" {self.mark}"
        )
