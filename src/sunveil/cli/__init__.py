"""The ``sunveil`` command: a thin skin over the library.

Nothing heavy is imported here: each command brings what it needs when it runs.
"""

from __future__ import annotations

from collections.abc import Sequence

import click

from sunveil import __version__
from sunveil.cli.audit import audit_command
from sunveil.cli.dataset import dataset_command
from sunveil.cli.demo import demo_command
from sunveil.cli.errors import FAILURE, INTERRUPTED, sentence
from sunveil.cli.infer import infer_command
from sunveil.cli.ledger import ledger_command
from sunveil.cli.publish import publish_command
from sunveil.cli.release import release_command
from sunveil.cli.reproduce import reproduce_command
from sunveil.cli.serve import serve_command
from sunveil.cli.simulate import simulate_command
from sunveil.cli.utility import utility_command
from sunveil.errors import SunveilError

__all__ = ["cli", "main"]


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="sunveil", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Infer how solar PV systems face and how large they are, and publish it privately."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


cli.add_command(infer_command)
cli.add_command(demo_command)
cli.add_command(simulate_command)
cli.add_command(release_command)
cli.add_command(publish_command)
cli.add_command(utility_command)
cli.add_command(audit_command)
cli.add_command(dataset_command)
cli.add_command(ledger_command)
cli.add_command(reproduce_command)
cli.add_command(serve_command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    What a user can put right is said in one sentence on stderr, with exit code 2. Any other
    exception is a defect of Sunveil's and keeps its traceback.
    """
    try:
        code = cli.main(arguments, prog_name="sunveil", standalone_mode=False)
    except click.Abort:
        return INTERRUPTED
    except (SunveilError, click.ClickException, OSError) as error:
        click.echo(f"sunveil: {sentence(error)}", err=True)
        return FAILURE
    return code if isinstance(code, int) else 0
