"""The ``sunveil`` command: a thin skin over the library.

Nothing heavy is imported here: a command is loaded when it is asked for, and brings what it needs
when it runs.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from importlib import import_module

import click

from sunveil import __version__
from sunveil._extras import missing_extra
from sunveil.cli._text import DEFECTIVE, FAILURE, INTERRUPTED, say, sentence
from sunveil.errors import SunveilError, debugging


class Commands(MutableMapping[str, click.Command]):
    def __init__(self, package: str, modules: Mapping[str, str]) -> None:
        self._package, self._modules = package, modules
        self._found: dict[str, click.Command | None] = dict.fromkeys(modules)

    def __getitem__(self, name: str) -> click.Command:
        found = self._found[name]
        if found is None:
            module = import_module(f"{self._package}.{self._modules[name]}")
            found = self._found[name] = getattr(module, f"{name}_command")
        return found

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._found[name] = command

    def __delitem__(self, name: str) -> None:
        del self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __contains__(self, name: object) -> bool:
        return name in self._found


# the module of each command
_MODULES = {
    "infer": "infer",
    "check": "infer",
    "schema": "infer",
    "demo": "simulate",
    "simulate": "simulate",
    "release": "release",
    "publish": "publish",
    "power": "publish",
    "utility": "release",
    "audit": "release",
    "dataset": "ledger",
    "ledger": "ledger",
    "serve": "serve",
    "service": "serve",
}

DEFECT = "unexpected {kind}; run it again with SUNVEIL_DEBUG=1 to see where, and report it"

NO_MEMORY = "this takes more memory than there is; give fewer systems or readings at a time"


@click.group(
    "sunveil",
    commands=Commands(__name__, _MODULES),
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
    """Run the command line and return its exit code."""
    # What a user can put right is said in one sentence on stderr, with exit code 2. Any other
    # exception is a defect of Sunveil's: its kind is said, with exit code 70. With SUNVEIL_DEBUG=1,
    # tracebacks stand above.
    try:
        code = command.main(arguments, prog_name=command.name, standalone_mode=False)
    except click.Abort:
        return INTERRUPTED
    except (SunveilError, click.ClickException, OSError) as error:
        return _failed(error, sentence(error), FAILURE)
    except ModuleNotFoundError as error:
        missing = missing_extra(error)
        if missing is None:
            return _failed(error, DEFECT.format(kind=type(error).__name__), DEFECTIVE)
        return _failed(error, sentence(missing), FAILURE)
    except MemoryError as error:
        return _failed(error, NO_MEMORY, FAILURE)
    except Exception as error:
        # what it says may hold a reading, also of a release
        return _failed(error, DEFECT.format(kind=type(error).__name__), DEFECTIVE)
    return code if isinstance(code, int) else 0


def _failed(error: Exception, said: str, code: int) -> int:
    if debugging():
        traceback.print_exception(error)
    say(f"{click.style('sunveil:', fg='red', bold=True)} {said}", err=True)
    return code
