"""Error messages of the command line, one printable sentence each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

FAILURE = 2
INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Refusal:
    """A system that could not be inferred, and why in one sentence."""

    system_id: str
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Return the refusal as plain JSON types."""
        return {"system_id": self.system_id, "error": self.reason}


def sentence(error: Exception) -> str:
    """Return an error in one line, without a full stop."""
    if isinstance(error, click.UsageError):
        text = _usage(error)
    elif isinstance(error, click.ClickException):
        text = error.format_message()
    elif isinstance(error, OSError):
        text = _system(error)
    else:
        text = str(error)
    return printable(" ".join(text.split())).rstrip(".")


def printable(text: str) -> str:
    """Return text without what would move a terminal's cursor or change its colours."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _usage(error: click.UsageError) -> str:
    said = error.format_message().rstrip(".")
    path = "sunveil" if error.ctx is None else error.ctx.command_path
    return f"{said[:1].lower()}{said[1:]}; see {path} --help"


def _system(error: OSError) -> str:
    where = "" if error.filename is None else f"{error.filename}: "
    reason = error.strerror or type(error).__name__
    return f"{where}{reason[:1].lower()}{reason[1:]}; check the path, its rights and the disk"
