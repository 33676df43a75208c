"""What a reproduction makes: figures with their data, and statements held against the paper's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, eq=False)
class Artefact:
    """One figure, with the numbers it is drawn from.

    Parameters
    ----------
    name
        Stem of its files, such as ``1a-irradiance-by-azimuth``.
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


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of the paper next to what was measured.

    Parameters
    ----------
    paper
        What the paper says, in our words.
    measured
        What was measured, with its numbers.
    holds
        Whether it reproduces; None where it cannot be told.
    why
        Why not, or why it could not but hold.
    """

    paper: str
    measured: str
    holds: bool | None
    why: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the statement as plain JSON types."""
        return {
            "paper": self.paper,
            "measured": self.measured,
            "holds": self.holds,
            "why": self.why,
        }
