"""What a reproduction makes: figures with their data, and statements held against the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sunveil._options import check_fields
from sunveil.plots.style import Drawing, embedded

if TYPE_CHECKING:
    from matplotlib.figure import Figure


VERDICTS = {True: "yes", False: "no", None: "cannot be told"}


@dataclass(frozen=True, eq=False)
class Artefact:
    """One figure, with the numbers it is drawn from.

    Parameters
    ----------
    name
        Stem of its files, such as ``3a-irradiance-by-azimuth``.
    title
        What it shows, in a few words, with the figure of the paper it stands for.
    words
        What is to be seen in it, in a sentence or two.
    figure
        The picture.
    data
        The numbers it is drawn from, as plain JSON types.
    """

    name: str
    title: str
    words: str
    figure: Figure
    data: dict[str, Any]

    def __post_init__(self) -> None:
        check_fields(self)

    @cached_property
    def drawing(self) -> Drawing:
        """The figure as an SVG, drawn once for its file and for the page."""
        return embedded(self.figure, f"{self.title}. {self.words}")


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of the paper next to what was measured, on one subject or on several.

    Parameters
    ----------
    paper
        What the paper says, in our words.
    measured
        What was measured, with its numbers; one line for each of several subjects.
    holds
        Whether it reproduces; None where it cannot be told.
    why
        Why not, or why it could not but hold.
    numbers
        What was measured, as plain JSON types.
    section
        Where the paper says it.
    subjects
        What was found on each subject, by its name; empty where no subject is needed.
    """

    paper: str
    measured: str
    holds: bool | None
    why: str = ""
    numbers: dict[str, Any] = field(default_factory=dict)
    section: str = ""
    subjects: tuple[tuple[str, Statement], ...] = ()

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def verdict(self) -> str:
        """Whether it holds, in words: on some subjects and not on others, it holds in part."""
        told = {each.holds for _, each in self.subjects} - {None}
        return "in part" if len(told) > 1 else VERDICTS[self.holds]

    def to_dict(self) -> dict[str, Any]:
        """Return the statement as plain JSON types."""
        found: dict[str, Any] = {
            "section": self.section,
            "paper": self.paper,
            "verdict": self.verdict,
            "holds": self.holds,
            "measured": self.measured,
            "why": self.why,
            "numbers": self.numbers,
        }
        found["subjects"] = [
            {
                "subject": name,
                "verdict": each.verdict,
                "measured": each.measured,
                "why": each.why,
                "numbers": each.numbers,
            }
            for name, each in self.subjects
        ]
        return found


def over_subjects(found: Sequence[tuple[str, Statement]]) -> Statement:
    """Return one statement from what was found of it on several subjects.

    It holds where it does on every subject on which it can be told.

    Parameters
    ----------
    found
        The name of each subject, and the statement held against it; the first leads.
    """
    first = found[0][1]
    told = [each.holds for _, each in found if each.holds is not None]
    return replace(
        first,
        measured="\n".join(f"{name}: {each.measured}" for name, each in found),
        holds=all(told) if told else None,
        subjects=tuple(found),
        numbers={},
    )
