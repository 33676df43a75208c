"""The ``sunveil`` command: a thin skin over the library.

Nothing heavy is imported here: a command is loaded when it is asked for, and brings what it needs
when it runs.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from sunveil import __version__
from sunveil.cli.colour import say
from sunveil.cli.commands import Commands
from sunveil.cli.errors import FAILURE, INTERRUPTED, sentence
from sunveil.errors import INTERFACE, Interface, SunveilError, speak, spoken

__all__ = ["cli", "main"]


_NAMES = (
    "infer",
    "check",
    "schema",
    "demo",
    "simulate",
    "release",
    "publish",
    "power",
    "utility",
    "audit",
    "dataset",
    "ledger",
    "serve",
    "service",
)

NO_MEMORY = "this takes more memory than there is; give fewer systems or readings at a time"


@click.group(
    "sunveil",
    commands=Commands(__name__, _NAMES),
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="sunveil", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Infer how solar PV systems face and how large they are, and publish it privately."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main(arguments: Sequence[str] | None = None, *, command: click.Command = cli) -> int:
    """Run the command line and return its exit code.

    What a user can put right is said in one sentence on stderr, with exit code 2. Any other
    exception is a defect of Sunveil's and keeps its traceback.
    """
    before = spoken()
    # a service that starts a command shows what it says to its own readers
    speak(os.environ.get(INTERFACE, Interface.COMMAND))
    try:
        code = command.main(arguments, prog_name=command.name, standalone_mode=False)
    except click.Abort:
        return INTERRUPTED
    except (SunveilError, click.ClickException, OSError) as error:
        say(f"{click.style('sunveil:', fg='red', bold=True)} {sentence(error)}", err=True)
        return FAILURE
    except MemoryError:
        say(f"{click.style('sunveil:', fg='red', bold=True)} {NO_MEMORY}", err=True)
        return FAILURE
    finally:
        speak(before)
    return code if isinstance(code, int) else 0
