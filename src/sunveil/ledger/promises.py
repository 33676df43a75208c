"""Promises, questions, answers, datasets and households."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sunveil._options import check_fields, checked, whole
from sunveil.errors import ParameterError
from sunveil.household_keys import key_of
from sunveil.ledger.hash_chain import canonical, digest_of
from sunveil.ledger.yearly_schedule import YearlySchedule
from sunveil.privacy.guarantees import (
    ConcentratedGuarantee,
    ConditionalGuarantee,
    Guarantee,
    Guaranteed,
    Unit,
    as_fraction,
    epsilon_to_rho,
    from_nano,
    implies,
    parse_unit,
    rho_to_epsilon,
    to_nano,
    to_nano_below,
    unit_name,
)

# The kinds of keys that a table may give of a system.
HOUSEHOLD, METER = "household", "meter"


@dataclass(frozen=True, slots=True, repr=False)
class SystemHome:
    """A system and its household: its keys in the form of :mod:`sunveil.household_keys`."""

    system_id: str  # the curator's name of the system
    household: str | None = None  # the curator's key of its household; None for one of its own
    meter: str | None = None
    row: int | None = None  # its number in the curator's table, from 1: what refusals name it by

    def __post_init__(self) -> None:
        object.__setattr__(self, "system_id", key_of(self.system_id) or "")
        object.__setattr__(self, "household", key_of(self.household))
        object.__setattr__(self, "meter", key_of(self.meter))

    @property
    def name(self) -> str:
        """Digest of its id, the same in all datasets; of its household, too, without a key."""
        return digest_of(f"system\n{self.system_id}")

    def keys(self) -> dict[str, str]:
        """Return digests of the keys that are known of it, by their kind."""
        given = {HOUSEHOLD: self.household, METER: self.meter}
        return {kind: digest_of(f"{kind}\n{key}") for kind, key in given.items() if key is not None}


def distinct_homes(systems: Iterable[SystemHome | str]) -> dict[str, SystemHome]:
    """Return systems by the digests of their ids, and refuse rows that contradict each other."""
    found: dict[str, SystemHome] = {}
    for each in systems:
        home = SystemHome(each) if isinstance(each, str) else each
        if not home.system_id:
            raise ParameterError("a system to be registered has no name; give each an id")
        before = found.setdefault(home.name, home)
        if before.keys() != home.keys():
            raise ParameterError(
                f"{rows_text([before, home])} give one system two households or meters; leave the"
                " right one"
            )
    return found


def rows_text(homes: Iterable[SystemHome | None]) -> str:
    """Return which rows of a table are meant, never who stands in them."""
    rows = sorted({home.row for home in homes if home is not None and home.row is not None})
    listed = [str(row) for row in rows[:5]]
    if not listed:
        return "some of the systems"
    if len(listed) == 1:
        return f"row {listed[0]} below the header, and one registered before,"
    more = f" and {len(rows) - 5} more" if len(rows) > 5 else ""
    return f"rows {', '.join(listed[:-1])} and {listed[-1]}{more} below the header"


def roster_digest(members: Iterable[Sequence[str]], keys: Iterable[Sequence[str]]) -> str:
    """Return the digest of what one entry has registered, in whichever order it is given."""
    lines = [" ".join(each) for each in members] + [" ".join(each) for each in keys]
    whole = hashlib.sha256()
    for line in sorted(lines):
        whole.update(f"{line}\n".encode())
    return whole.hexdigest()


LARGEST_PROMISE = 1000.0

MOST_METERS = 1000

# How ρ is turned into ε at δ, as promises state it.
CONVERSION = "tight"


@dataclass(frozen=True, slots=True)
class Promise:
    """The total privacy budget of a dataset, per household and for all time.

    Parameters
    ----------
    unit
        What is protected.
    epsilon
        The total over all releases, for ever.
    delta
        Zero: every release's ε is added up. Above zero: releases are added up as ρ of
        zero-concentrated DP, and (ε, δ) is what they give together, which lets many small releases
        of the exponential mechanism cost less, and allows Gaussian noise.
    conditional
        Names of mechanisms that are allowed although their guarantee is conditional.
    meters
        Largest number of meters of a household; they count as one.
    schedule
        When it may be spent; default: at any time.
    """

    unit: Unit
    epsilon: float
    delta: float = 0.0
    conditional: tuple[str, ...] = ()
    meters: int = 1
    schedule: YearlySchedule | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if not (math.isfinite(self.epsilon) and 0.0 < self.epsilon <= LARGEST_PROMISE):
            raise ParameterError(
                f"a promise's epsilon is above 0 and at most {LARGEST_PROMISE:g}, and"
                f" {self.epsilon:g} is not"
            )
        if not (self.delta == 0.0 or 1e-15 <= self.delta <= 1e-2):
            raise ParameterError(
                f"a promise's delta is 0, or from 1e-15 to 0.01, and {self.delta:g} is not"
            )
        if not 1 <= self.meters <= MOST_METERS:
            raise ParameterError(
                f"a household has 1 to {MOST_METERS} meters, and {self.meters} is not"
            )
        if self.total < 1:
            raise ParameterError("the promise is too small to hold any release")
        if self.schedule is not None and to_nano_below(self.schedule.start) > self.total:
            raise ParameterError("a schedule's start is at most what is promised; give less")

    @property
    def measure(self) -> str:
        """What is added up: ``epsilon`` or ``rho``."""
        return "epsilon" if self.delta == 0.0 else "rho"

    @property
    def total(self) -> int:
        """The whole budget in billionths of its measure, rounded down."""
        if self.delta == 0.0:
            return to_nano_below(self.epsilon)
        return to_nano_below(epsilon_to_rho(self.epsilon, self.delta))

    @checked
    def allowed(self, year: int) -> int:
        """Return what may be spent by the end of a year, in billionths of the measure."""
        return self.total if self.schedule is None else self.schedule.allowed(self.total, year)

    @checked
    def cost(self, guarantee: Guaranteed, *, mechanism: str) -> int:
        """Return the privacy cost of a release, in billionths; refuse what the promise excludes.

        Parameters
        ----------
        guarantee
            What the release promises. One for a larger unit covers a smaller one.
        mechanism
            Which mechanism draws it.
        """
        if not implies(guarantee.unit, self.unit):
            raise ParameterError(
                f"this release protects only {guarantee.unit}, but the dataset's promise protects"
                f" {self.unit}; choose {unit_name(self.unit)} or a larger unit"
            )
        if isinstance(guarantee, ConditionalGuarantee) and mechanism not in self.conditional:
            raise ParameterError(
                f"the guarantee of the {mechanism} mechanism is conditional, and the dataset's"
                " promise does not allow it by name"
            )
        if isinstance(guarantee, Guarantee) and guarantee.delta > 0.0:
            raise ParameterError(
                "a release with a delta of its own cannot be added up under this promise; use a"
                " mechanism without one"
            )
        if isinstance(guarantee, ConcentratedGuarantee):
            if self.delta == 0.0:
                raise ParameterError(
                    "Gaussian noise has no epsilon of its own, and the dataset's promise has no"
                    " delta to give it one; use Laplace noise, or promise a delta"
                )
            return to_nano(as_fraction(guarantee.rho))
        epsilon = as_fraction(guarantee.epsilon)
        if self.delta == 0.0:
            return to_nano(epsilon)
        # The exponential mechanism's loss stays within a range of ε, which halves ε in ε²/2.
        bounded_range = mechanism == "exponential" and isinstance(guarantee, Guarantee)
        return to_nano(epsilon**2 / (8 if bounded_range else 2))

    @checked
    def spent_epsilon(self, spent: int) -> float:
        """Return what has been spent, in billionths of the measure, as ε at the promise's δ.

        With a δ by the tight conversion, which holds for every sum of ρ.
        """
        whole("spent", spent, low=0, high=2**63 - 1)
        if self.delta == 0.0:
            return from_nano(spent)
        return rho_to_epsilon(from_nano(spent), self.delta)

    @checked
    def cost_of_all(self, cost: int) -> int:
        """Return what a release about all systems costs a household: all its meters are in it.

        Neighbours differ in all records of a household: ε grows with their number, and ρ with its
        square. Proof: ``docs/proofs/households.md``.
        """
        return cost * self.meters ** (1 if self.delta == 0.0 else 2)

    def to_dict(self) -> dict[str, Any]:
        """Return the promise as plain JSON types."""
        said: dict[str, Any] = {
            "unit": unit_name(self.unit),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "measure": self.measure,
            "conditional": list(self.conditional),
            "meters": self.meters,
        }
        if self.delta > 0.0:
            said["conversion"] = CONVERSION
        if self.schedule is not None:
            said["schedule"] = self.schedule.to_dict()
        return said

    def __str__(self) -> str:
        amount = f"ε = {self.epsilon:g}"
        if self.delta > 0.0:
            amount = f"({amount}, δ = {self.delta:g})"
        meters = f"{self.meters} meter" + ("" if self.meters == 1 else "s")
        said = (
            f"differential privacy for {self.unit} of any household with at most {meters},"
            f" total budget {amount} for everything ever published"
        )
        said += "" if self.schedule is None else f", spent {self.schedule}"
        if not self.conditional:
            return said
        return f"{said}; conditional for releases by: {', '.join(self.conditional)}"


def promise_text(promise: Promise) -> str:
    """Return a promise as canonical JSON."""
    return canonical(promise.to_dict())


def read_promise(text: str) -> Promise:
    """Return the promise that a text of JSON holds, beside whatever else."""
    # One that names another conversion of ρ, or none, had another total and raises ValueError.
    fields = json.loads(text)
    if fields.get("conversion") != (CONVERSION if fields["delta"] else None):
        raise ValueError("conversion")
    return Promise(
        parse_unit(fields["unit"]),
        fields["epsilon"],
        fields["delta"],
        tuple(fields["conditional"]),
        meters=int(fields["meters"]),
        schedule=YearlySchedule(**fields["schedule"]) if "schedule" in fields else None,
    )


@dataclass(frozen=True, slots=True)
class HouseholdSpending:
    """What some households have spent, in billionths of their promises' measure."""

    most: int  # the most that one of them has spent
    left: int

    def within(self, allowed: int | None) -> int:
        # It is negative where more was spent.
        return self.left if allowed is None else min(self.left, allowed - self.most)


LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset as the ledger knows it."""

    name: str  # unique within the ledger
    promise: Promise  # what was promised for it, for ever
    fleet_nano: int
    largest_nano: int
    households: int = 0  # how many households are registered
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
    """A question to a dataset.

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
        Digest shared by answers that belong together, such as rows drawn in several years.
    homes
        Systems to register with the charge if they are new. Like ``analyst``, not part of the
        question itself.
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
    """An answer that was drawn once and is kept."""

    value: Any  # the answer, as plain JSON types
    charge: int  # the place of its charge in the dataset's chain
    fresh: bool  # whether it was drawn now, rather than found


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
    """Refuse a name that is empty, too long or cannot be printed; ``what`` names its owner."""
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise ParameterError(
            f"the name of {'an' if what == 'analyst' else 'a'} {what} is 1 to {LONGEST_NAME}"
            " printable letters"
        )
