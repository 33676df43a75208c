"""One self-contained page: every figure with its words, and the paper's statements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reproduction.artefact import Artefact, Statement
from reproduction.subject import Subject
from sunveil.plots.html_report import page_template
from sunveil.privacy.guarantees import ConditionalGuarantee

TITLE = "The paper's figures, made anew"
PIXELS_PER_INCH, BROAD = 105, 1.75
KINDS = {"yes": "yes", "no": "no", "in part": "part", "cannot be told": "open"}


@dataclass(frozen=True, slots=True)
class Section:
    """Some artefacts that tell one part of the story.

    Parameters
    ----------
    heading
        What the part is about.
    words
        A sentence or two to read them by.
    artefacts
        The figures, in order.
    """

    heading: str
    words: str
    artefacts: tuple[Artefact, ...]


@dataclass(frozen=True, slots=True)
class DrawGuarantees:
    """What the draws of the reproduction promise.

    Parameters
    ----------
    count
        How many were drawn from one run.
    one, together
        What one of them promises, and what all of them do.
    """

    count: int
    one: ConditionalGuarantee
    together: ConditionalGuarantee


def render_page(
    subject: Subject,
    sections: Sequence[Section],
    *,
    statements: Sequence[Statement],
    draws: DrawGuarantees,
    files: Sequence[str],
) -> str:
    """Return the page as text.

    Parameters
    ----------
    subject
        The system that the paper's section IV was done again on.
    sections
        The figures.
    statements
        The paper's statements next to what was measured.
    draws
        What the DP draws promise.
    files
        Names of the files beside the page.
    """
    return page_template("page.html.j2", folder=Path(__file__).parent).render(
        title=TITLE,
        subject=subject,
        readings=len(subject.record.times),
        counts=_counts(statements),
        statements=[_row(statement) for statement in statements],
        sections=[_drawn(section) for section in sections],
        draws=draws,
        files=_groups(files),
    )


def _row(statement: Statement) -> dict[str, Any]:
    return {
        "section": statement.section,
        "paper": statement.paper,
        "measured": statement.measured.splitlines(),
        "holds": statement.verdict,
        "kind": KINDS[statement.verdict],
        "why": statement.why,
    }


def _counts(statements: Sequence[Statement]) -> dict[str, int]:
    return {
        kind: sum(statement.verdict == name for statement in statements)
        for name, kind in KINDS.items()
    }


def _drawn(section: Section) -> dict[str, Any]:
    return {
        "heading": section.heading,
        "words": section.words,
        "figures": [_figure(each) for each in section.artefacts],
    }


def _figure(artefact: Artefact) -> dict[str, Any]:
    width, height = artefact.figure.get_size_inches()
    return {
        "title": artefact.title,
        "words": artefact.words,
        "drawing": artefact.drawing,
        # all in one scale, so that letters are of one size
        "width": round(PIXELS_PER_INCH * width),
        # too wide to be read on a phone without moving it
        "broad": bool(width > BROAD * height),
    }


def _groups(files: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Return the files by their stems, with their endings."""
    groups: dict[str, list[str]] = {}
    for name in files:
        stem, _, ending = name.rpartition(".")
        groups.setdefault(stem, []).append(ending)
    return list(groups.items())
