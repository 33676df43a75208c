"""The ``sunveil`` command: a thin skin over the library.

Nothing heavy is imported here: a command is loaded when it is asked for, and brings what it needs
when it runs.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Sequence

import click

from sunveil import __version__
from sunveil.cli.colour import say
from sunveil.cli.commands import Commands
from sunveil.cli.errors import DEFECTIVE, FAILURE, INTERRUPTED, sentence
from sunveil.errors import INTERFACE, Interface, SunveilError, debugging, speak, spoken

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

DEFECT = "unexpected {kind}; run it again with SUNVEIL_DEBUG=1 to see where, and report it"
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
    exception is a defect of Sunveil's: its kind is said, with exit code 70. With SUNVEIL_DEBUG=1,
    tracebacks stand above.
    """
    before = spoken()
    # a service that starts a command shows what it says to its own readers
    speak(os.environ.get(INTERFACE, Interface.COMMAND))
    try:
        code = command.main(arguments, prog_name=command.name, standalone_mode=False)
    except click.Abort:
        return INTERRUPTED
    except (SunveilError, click.ClickException, OSError) as error:
        return _failed(error, sentence(error), FAILURE)
    except MemoryError as error:
        return _failed(error, NO_MEMORY, FAILURE)
    except Exception as error:
        # what it says may hold a reading, also of a release
        return _failed(error, DEFECT.format(kind=type(error).__name__), DEFECTIVE)
    finally:
        speak(before)
    return code if isinstance(code, int) else 0


def _failed(error: Exception, said: str, code: int) -> int:
    if debugging():
        traceback.print_exception(error)
    say(f"{click.style('sunveil:', fg='red', bold=True)} {said}", err=True)
    return code
