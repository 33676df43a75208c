from __future__ import annotations

import re
from pathlib import Path

import pytest

from sunveil.cli import cli

TEXT = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")


def section(command: str) -> str:
    """Return what the reference says of a command."""
    parts = re.split(r"^## `sunveil ([\w-]+)`$", TEXT, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True)).get(command, "")


@pytest.mark.parametrize("command", cli.commands)
def test_every_command_and_option_is_documented(command):
    told = set(re.findall(r"`(--[\w-]+)`", section(command)))
    options = {
        name
        for parameter in cli.commands[command].params
        for name in (*parameter.opts, *parameter.secondary_opts)
        if name.startswith("--")
    }
    assert options
    assert told == options


def test_every_general_option_is_documented():
    for parameter in cli.params:
        assert any(name in TEXT for name in parameter.opts)
