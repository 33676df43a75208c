"""What goes into a ledger and what comes out: datasets, questions and answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sunveil.arguments import check_fields
from sunveil.checked import checked
from sunveil.errors import ParameterError
from sunveil.keys import key_of
from sunveil.ledger.amounts import from_nano
from sunveil.ledger.chain import canonical, digest_of
from sunveil.ledger.households import SystemHome
from sunveil.ledger.promise import Promise
from sunveil.ledger.spending import HouseholdSpending
from sunveil.privacy.guarantee import Guaranteed

LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset as the ledger knows it.

    Parameters
    ----------
    name
        Unique within the ledger.
    promise
        What was promised for it, for ever.
    fleet_nano, largest_nano
        What releases about all systems together have spent, and what single releases of the system
        that had most of them have, in billionths of the promise's measure.
    households
        How many households are registered.
    elsewhere
        The most that one of them has spent over all its meters and datasets, and the least that is
        left of the smallest promise of one, in billionths; None where none of them has several.
    allowed_nano
        What the promise's schedule lets be spent by the end of this year, in billionths; None where
        that is all of it.
    """

    name: str
    promise: Promise
    fleet_nano: int
    largest_nano: int
    households: int = 0
    elsewhere: HouseholdSpending | None = None
    allowed_nano: int | None = None

    @property
    def fleet_spent(self) -> float:
        """What releases about all systems together have spent, in the promise's measure."""
        return from_nano(self.fleet_nano)

    @property
    def largest_spent(self) -> float:
        """What single releases of the system that had most of them have spent."""
        return from_nano(self.largest_nano)

    @property
    def spent(self) -> float:
        """The most that any household has spent, over all its meters and datasets."""
        across = 0 if self.elsewhere is None else self.elsewhere.most
        return from_nano(max(self.fleet_nano + self.largest_nano, across))

    @property
    def total(self) -> float:
        """The whole budget, in the promise's measure."""
        return from_nano(self.promise.total)

    @property
    def remaining(self) -> float:
        """What a release about all systems could spend now."""
        allowed = self.promise.total if self.allowed_nano is None else self.allowed_nano
        here = allowed - self.fleet_nano - self.largest_nano
        if self.elsewhere is not None:
            here = min(here, self.elsewhere.within(self.allowed_nano))
        return from_nano(max(here, 0))

    def to_dict(self) -> dict[str, Any]:
        """Return the dataset as plain JSON types."""
        return {
            "dataset": self.name,
            "promise": self.promise.to_dict(),
            "total": self.total,
            "fleet_spent": self.fleet_spent,
            "largest_spent": self.largest_spent,
            "spent": self.spent,
            "remaining": self.remaining,
            "households": self.households,
        }


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a dataset.

    Parameters
    ----------
    kind
        Such as ``fleet-counts`` or ``system``.
    parameters
        Everything that the answer depends on, as plain JSON types.
    mechanism
        Which mechanism draws the answer.
    guarantee
        What the answer promises.
    systems
        The systems it is about; None where it is about all of them.
    analyst
        Who asks; None for the curator.
    series
        Digest that answers to be found together have in common, such as rows that were drawn in
        several years.
    homes
        Systems that are registered with the charge, if they are not yet: those that are published.
        As who asks, they are no part of what is asked.
    """

    kind: str
    parameters: dict[str, Any]
    mechanism: str
    guarantee: Guaranteed
    systems: tuple[str, ...] | None = None
    analyst: str | None = None
    series: str | None = None
    homes: tuple[SystemHome, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self)

    def __repr__(self) -> str:
        return f"Question({self.kind!r}, {self.mechanism!r})"

    @checked
    def accounts(self, dataset: str) -> list[str] | None:
        """Return the accounts that it is about, each once; None for all of them."""
        if self.systems is None:
            return None
        if not self.systems:
            raise ParameterError("a question about systems names at least one of them")
        return sorted({account_of(dataset, system) for system in self.systems})

    @checked
    def digest(self, dataset: str) -> str:
        """Return the digest that identifies the question; who asks does not matter."""
        body = {
            "kind": self.kind,
            "parameters": self.parameters,
            "mechanism": self.mechanism,
            "guarantee": self.guarantee.to_dict(),
            "systems": self.accounts(dataset),
        }
        return digest_of(as_json(body, "a question's parameters are"))


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that was drawn once and is kept.

    Parameters
    ----------
    value
        The answer, as plain JSON types.
    charge
        The place of its charge in the dataset's chain.
    fresh
        Whether it was drawn now, rather than found.
    """

    value: Any
    charge: int
    fresh: bool


def account_of(dataset: str, system: str) -> str:
    """Return the name that a system's account has: a digest, since ids are the curator's own."""
    return digest_of(f"{dataset}\n{key_of(system)}")


def as_json(body: dict[str, Any], what: str) -> str:
    """Return a body as canonical text; ``what`` begins the refusal of what is no plain JSON."""
    try:
        return canonical(body)
    except (TypeError, ValueError, RecursionError):
        raise ParameterError(
            f"{what} plain JSON: texts, finite numbers, lists and objects of these"
        ) from None


def check_name(what: str, name: str) -> None:
    """Refuse a name that is empty, too long or cannot be printed; ``what`` says whose it is."""
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise ParameterError(
            f"the name of {'an' if what == 'analyst' else 'a'} {what} is 1 to {LONGEST_NAME}"
            " printable letters"
        )
