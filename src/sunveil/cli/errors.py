"""Error messages of the command line, one printable sentence each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

FAILURE = 2
INTERRUPTED = 130
# What --unit meant, by the options' names.
UNITS = {"--protect": "what is protected", "--power-unit": "the unit of the readings"}


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
    said = _renamed(error) or error.format_message().rstrip(".")
    path = "sunveil" if error.ctx is None else error.ctx.command_path
    return f"{said[:1].lower()}{said[1:]}; see {path} --help"


def _renamed(error: click.UsageError) -> str | None:
    """Return what --unit is called in a command that had it, None for other errors."""
    if not isinstance(error, click.NoSuchOption) or error.option_name != "--unit" or not error.ctx:
        return None
    has = {name for each in error.ctx.command.params for name in each.opts}
    names = [f"{name} for {what}" for name, what in UNITS.items() if name in has]
    return f"there is no --unit: use {' or '.join(names)}" if names else None


def _system(error: OSError) -> str:
    where = "" if error.filename is None else f"{error.filename}: "
    reason = error.strerror or type(error).__name__
    return f"{where}{reason[:1].lower()}{reason[1:]}; check the path, its rights and the disk"
