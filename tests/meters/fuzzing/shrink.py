"""The shortest file that still shows a finding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from .cases import Case
from .draft import decode, encode
from .judge import Finding, judge

TRIES = 400


def shrink(case: Case, found: Finding, folder: Path) -> Case:
    """Return a case with as few lines as show the same finding, and the same sample."""
    text, encoding = decode(case.draft.content)
    lines = text.splitlines(keepends=True)

    def shows(some: list[str]) -> bool:
        other = judge(_with_lines(case, some, encoding), folder)
        return other is not None and _place(other) == _place(found)

    return _with_lines(case, _fewer(lines, shows), encoding)


def _place(found: Finding) -> tuple[str, str]:
    return found.kind, found.signature.partition(": readings are")[0]


def _with_lines(case: Case, lines: list[str], encoding: str) -> Case:
    return replace(case, draft=replace(case.draft, content=encode("".join(lines), encoding)))


def _fewer(lines: list[str], shows: Callable[[list[str]], bool]) -> list[str]:
    """Take away ever smaller stretches of lines, as long as the finding stays."""
    size, tries = max(len(lines) // 2, 1), 0
    while tries < TRIES:
        start = 0
        while start < len(lines) and tries < TRIES:
            rest = lines[:start] + lines[start + size :]
            tries += 1
            if rest and shows(rest):
                lines = rest
            else:
                start += size
        if size == 1:
            break
        size //= 2
    return lines
