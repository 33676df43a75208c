"""What is asked of every system that is released, and what can be asked so."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable

from sunveil.arguments import check_fields
from sunveil.checked import checked
from sunveil.errors import ParameterError
from sunveil.ledger.promise import Promise
from sunveil.privacy.guarantee import Guarantee, check_release_epsilon
from sunveil.privacy.units import System, Unit
from sunveil.releases.answer import ExpectedErrors
from sunveil.releases.choices import Choices
from sunveil.releases.drawing import Scored
from sunveil.releases.frame import Frame
from sunveil.releases.release import Mechanism

PROOFS = {
    "window": "docs/proofs/window.md",
    "permute-and-flip": "docs/proofs/permute-and-flip.md",
    "exponential": "docs/proofs/exponential.md",
}
# Called with how many systems are done, and of how many.
OnProgress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class ReleaseTerms:
    """What is asked of every system; :meth:`of` refuses what cannot be asked.

    Parameters
    ----------
    unit, epsilon
        What each release protects, and what it costs.
    mechanism
        The name under which the mechanism is charged.
    choices
        The public choices.
    """

    unit: Unit
    epsilon: float
    mechanism: str
    choices: Choices

    def __post_init__(self) -> None:
        check_fields(self)

    @classmethod
    @checked
    def of(
        cls,
        unit: Unit,
        epsilon: float,
        *,
        mechanism: Mechanism | str = Mechanism.DEFAULT,
        choices: Choices | None = None,
        promise: Promise | None = None,
    ) -> ReleaseTerms:
        """Return the terms of releases.

        Parameters
        ----------
        unit, epsilon
            What each release protects, and what it costs.
        mechanism
            ``default``, ``exponential`` or ``permute-and-flip``.
        choices
            The public choices; the defaults when left out.
        promise
            What the releases are charged to. Under one with a δ the default is the exponential
            mechanism, which costs a quarter of permute-and-flip there.
        """
        check_release_epsilon(epsilon)
        concentrated = promise is not None and promise.delta > 0.0
        if mechanism == Mechanism.DEFAULT and concentrated and not isinstance(unit, System):
            mechanism = Mechanism.EXPONENTIAL
        return cls(unit, epsilon, mechanism_name(mechanism, unit), choices or Choices())

    def choices_for(self, *, net: bool) -> Choices:
        """Return the public choices for meters of generation, or for those that are declared net.

        How days vote is settled by the frames that are made with them.
        """
        return self.choices.for_meter(net=net)

    @property
    def net_choices(self) -> dict[str, Any]:
        """What is chosen otherwise for net meters, as plain JSON types."""
        usual, net = (self.choices_for(net=each).to_dict() for each in (False, True))
        return {name: value for name, value in net.items() if usual.get(name) != value}

    @property
    def guarantee(self) -> Guarantee:
        """What every release promises."""
        return Guarantee(self.unit, self.epsilon, 0.0, PROOFS[self.mechanism])


@dataclass(frozen=True, slots=True, eq=False)
class SystemsPart:
    """Some of the systems, whose draws are put aside together.

    Parameters
    ----------
    number, size
        Which part it is, and how many systems it has.
    scores
        Yields each system's name, its frame, and what its release is drawn from: private. It draws
        nothing, so that it may be called again.
    """

    number: int
    size: int
    scores: Callable[[], Iterator[tuple[str, Frame, Scored]]]


@runtime_checkable
class SystemsToRelease(Protocol):
    """Systems that can be released: records in memory, or a whole fleet on disk."""

    def __len__(self) -> int:
        """Return how many systems there are."""

    @property
    def draws_folder(self) -> Path | None:
        """A private folder for draws that are not kept yet; None to hold them in memory."""

    @property
    def net(self) -> int:
        """How many of the systems have meters that are declared net: public."""

    def listed(self) -> Collection[str]:
        """Return the names of all systems that are said to be there, with readings or without."""

    def only(self, names: Collection[str]) -> Self:
        """Return some of the systems, by name."""

    def about(self) -> Mapping[str, str]:
        """Return what is public of each system by its name: another text is another question."""

    def check(self) -> None:
        """Refuse systems that could not be released."""

    def expected(self, terms: ReleaseTerms) -> ExpectedErrors:
        """Return the errors to expect, averaged over the systems, from what is public of them."""

    def parts(self, terms: ReleaseTerms) -> Iterator[SystemsPart]:
        """Yield the systems part by part."""


def mechanism_name(mechanism: Mechanism | str, unit: Unit) -> str:
    """Return the name under which a mechanism is charged; the paper's is none of them."""
    if mechanism not in (Mechanism.DEFAULT, Mechanism.EXPONENTIAL, "permute-and-flip"):
        raise ParameterError(
            "systems are published by the default mechanism, the exponential one or"
            " permute-and-flip; the paper's is for single releases"
        )
    if isinstance(unit, System):
        if mechanism != Mechanism.DEFAULT:
            raise ParameterError(
                "a whole system is released by the window, which is the default mechanism"
            )
        return "window"
    return "exponential" if mechanism == Mechanism.EXPONENTIAL else "permute-and-flip"


def ignore_progress(done: int, total: int) -> None:
    """Tell nobody how many systems are done."""
    del done, total
