"""Colour on a terminal, plain text in a pipe or where NO_COLOR is set."""

from __future__ import annotations

import os
import re

import click

# What cells of tables are coloured by; everything is said in words as well.
COLOURS = {
    "fine": "green",
    "good": "green",
    "fair": "yellow",
    "look": "yellow",
    "poor": "red",
    "refused": "red",
    "unknown": "red",
}
_CELL = re.compile(rf"(?<=  )({'|'.join(COLOURS)})(?=  |$)", re.MULTILINE)
_HEAD = re.compile(r"^(.+)$(?=\n-+(  -+)*$)", re.MULTILINE)


def say(text: str, *, err: bool = False) -> None:
    """Print a text, in colours where it is read on a terminal.

    Parameters
    ----------
    text
        The text, which may be styled.
    err
        Whether it goes to stderr.
    """
    # https://no-color.org: set to anything, no colours are wanted
    click.echo(tinted(text), err=err, color=False if os.environ.get("NO_COLOR") else None)


def tinted(text: str) -> str:
    """Return a text with the heads of its tables in bold, and cells coloured by what they say."""
    bold = _HEAD.sub(lambda found: click.style(found[1], bold=True), text)
    return _CELL.sub(lambda found: click.style(found[1], fg=COLOURS[found[1]]), bold)
