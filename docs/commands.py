"""The tables of options in ``docs/cli.md``, made of what ``--help`` says.

A table stands between ``<!-- options: infer -->`` and ``<!-- end -->``. Options that describe
meter files have one table, ``reading``, and are named by the commands that take them.
``.venv/bin/python docs/commands.py`` renews all of them; ``tests/test_docs.py`` compares.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from sunveil.cli import cli

PAGE = Path(__file__).parent / "cli.md"
BLOCK = re.compile(r"<!-- options: ([\w -]+) -->\n.*?<!-- end -->\n", re.DOTALL)
# What stands in a table for the options of another command.
PLACE = ("latitude", "longitude", "altitude")
WEATHER = ("weather", "nsrdb_key", "nsrdb_email")


def renewed(page: str) -> str:
    """Return the page with its tables as the commands have them."""
    return BLOCK.sub(lambda block: "\n".join(table(block[1])) + "\n", page)


def table(name: str) -> Iterator[str]:
    """Yield the table of a command, or of all reading options, between its marks."""
    yield f"<!-- options: {name} -->"
    yield "| option | meaning |"
    yield "|---|---|"
    if name == "reading":
        shared = reading()
        yield from (row(each) for each in command("schema").params if each.name in shared)
    else:
        yield from rows(name)
    yield "<!-- end -->"


def rows(name: str) -> Iterator[str]:
    """Yield the rows of a command, what it shares with others last."""
    params = [each for each in command(name).params if isinstance(each, click.Option)]
    others = {"reading": reading()} | (
        {"place": PLACE, "weather": WEATHER} if name != "infer" else {}
    )
    apart = {one for names in others.values() for one in names} if name != "schema" else reading()
    yield from (row(each) for each in params if each.name not in apart)
    for what, names in others.items():
        taken = [each for each in params if each.name in names]
        if taken:
            link = "[as above](#reading-options)" if what == "reading" else "as for `sunveil infer`"
            listed = ", ".join(f"`{one}`" for each in taken for one in longs(each))
            yield f"| {listed} | {link} |"


def reading() -> set[str]:
    """Return the names of the options that say how a meter file is written."""
    own = {each.name or "" for each in command("schema").params if isinstance(each, click.Option)}
    return own - {"out", "json"}


def row(option: click.Parameter) -> str:
    """Return the row of an option."""
    assert isinstance(option, click.Option)
    text = " ".join((option.help or "").split()).replace("|", "\\|")
    if isinstance(option.type, click.Choice):
        choices = ", ".join(f"`{choice}`" for choice in option.type.choices)
        text += f" One of {choices}."
    default = option.to_info_dict()["default"]
    if option.required:
        text += " Required."
    elif default not in (None, (), [], False, ""):
        given = " ".join(map(str, default)) if isinstance(default, (list, tuple)) else default
        text += f" Default: {given}."
    names = ", ".join(f"`{one}`" for one in longs(option))
    return f"| {names} | {text} |"


def longs(option: click.Parameter) -> list[str]:
    """Return the long names of an option."""
    return [one for one in (*option.opts, *option.secondary_opts) if one.startswith("--")]


def command(name: str) -> click.Command:
    """Return a command by its words."""
    found: click.Command = cli
    for word in name.split():
        assert isinstance(found, click.Group)
        found = found.commands[word]
    return found


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
