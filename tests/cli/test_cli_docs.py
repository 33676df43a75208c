from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from sunveil.cli import cli

TEXT = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")


def section(command: str) -> str:
    """Return what the reference says of a command."""
    parts = re.split(r"^## `sunveil ([\w-]+)`$", TEXT, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True)).get(command, "")


def options_of(command: click.Command) -> set[str]:
    """Return the long options of a command, and of the commands below it."""
    own = {
        name
        for parameter in command.params
        for name in (*parameter.opts, *parameter.secondary_opts)
        if name.startswith("--")
    }
    below = command.commands.values() if isinstance(command, click.Group) else ()
    return own.union(*map(options_of, below))


@pytest.mark.parametrize("command", cli.commands)
def test_every_command_and_option_is_documented(command):
    told = set(re.findall(r"`(--[\w-]+)`", section(command)))
    options = options_of(cli.commands[command])
    assert options
    assert told == options
    # of a group's commands each has its part, and what stands before the first is said of all
    parts = re.split(rf"^### `sunveil {command} ([\w-]+)`$", section(command), flags=re.MULTILINE)
    below = dict(zip(parts[1::2], parts[2::2], strict=True))
    for name, each in getattr(cli.commands[command], "commands", {}).items():
        assert options_of(each) <= set(re.findall(r"`(--[\w-]+)`", parts[0] + below[name]))


def test_the_number_of_commands_is_told():
    words = ["six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen"]
    words += ["fourteen", "fifteen", "sixteen"]
    assert f"`sunveil` has {words[len(cli.commands) - 6]} commands." in TEXT


def test_every_general_option_is_documented():
    for parameter in cli.params:
        assert any(name in TEXT for name in parameter.opts)
