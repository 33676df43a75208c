"""What a curator has promised for a dataset, and what a release costs against it."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from sunveil.arguments import check_fields, whole
from sunveil.checked import checked
from sunveil.errors import ParameterError
from sunveil.ledger.amounts import (
    as_fraction,
    from_nano,
    to_nano,
    to_nano_below,
)
from sunveil.ledger.chain import canonical
from sunveil.ledger.schedule import YearlySchedule
from sunveil.privacy.concentrated import epsilon_to_rho, rho_to_epsilon
from sunveil.privacy.guarantee import (
    ConcentratedGuarantee,
    ConditionalGuarantee,
    Guarantee,
    Guaranteed,
)
from sunveil.privacy.units import Unit, implies, parse_unit, unit_name

LARGEST_PROMISE = 1000.0
MOST_METERS = 1000
# How ρ is turned into ε at δ, as promises state it.
CONVERSION = "tight"


@dataclass(frozen=True, slots=True)
class Promise:
    """No unit of any household's records changes what is published by more than this, ever.

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
        Names of mechanisms whose guarantee is conditional and which are allowed all the same.
    meters
        The largest number of meters that a household has: they count as one.
    schedule
        When it may be spent; at any time when left out.
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
        """Return what a release costs, or refuse one that the promise does not cover.

        Parameters
        ----------
        guarantee
            What the release promises. One for a larger unit covers a smaller one.
        mechanism
            Which mechanism draws it.
        """
        if not implies(guarantee.unit, self.unit):
            raise ParameterError(
                f"the dataset promises to protect {self.unit}, and this release protects only"
                f" {guarantee.unit}; release for {unit_name(self.unit)} or a larger unit"
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
        whose = f"{self.unit} of any household, with at most {self.meters} meter"
        whose += "" if self.meters == 1 else "s"
        said = f"nothing that is ever published depends on {whose}, by more than {amount}"
        said += "" if self.schedule is None else f", {self.schedule}"
        if not self.conditional:
            return said
        return f"{said}, on condition for what is drawn by: {', '.join(self.conditional)}"


def promise_text(promise: Promise) -> str:
    """Return a promise as canonical JSON."""
    return canonical(promise.to_dict())


def read_promise(text: str) -> Promise:
    """Return the promise that a text of JSON holds, beside whatever else.

    One that names another conversion of ρ, or none, had another total and raises ValueError.
    """
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
