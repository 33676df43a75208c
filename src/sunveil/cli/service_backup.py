"""``sunveil service backup`` and ``sunveil service restore``."""

from __future__ import annotations

from pathlib import Path

import click

from sunveil.extras import require_extras
from sunveil.service.settings import ServiceSettings

FILE = click.Path(dir_okay=False, path_type=Path)
DATABASE_HELP = (
    "The service's database: a file, or a postgresql:// URL; sunveil.db in the folder if left out."
)


@click.command("backup")
@click.option(
    "--data", type=click.Path(path_type=Path), required=True, help="The service's data folder."
)
@click.option("--database", metavar="FILE|URL", help=DATABASE_HELP)
@click.option("--out", type=FILE, required=True, help="The backup: a new file, private.")
def backup_command(*, data: Path, database: str | None, out: Path) -> None:
    """Write a service's database and data folder into one file, while it runs.

    PostgreSQL's program pg_dump must be installed for a database there.
    """
    require_extras("service", purpose="the service")
    from sunveil.service.backup import back_up_service

    made = back_up_service(ServiceSettings(data=data.absolute(), database=database or ""), out)
    files = "1 file" if made.files == 1 else f"{made.files:,} files"
    click.echo(f"Backed up: the database and {files}, {made.size / 1e6:,.1f} MB.")
    for name, mark in sorted(made.marks.items()):
        click.echo(f"  {name}: {mark.length} entries of the ledger, up to {mark.head[:16]}")
    if made.skipped:
        click.echo(f"Links in the folder are not in it: {made.skipped}.")


@click.command("restore")
@click.argument("backup", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    required=True,
    help="The new data folder: empty, or not there yet.",
)
@click.option("--database", metavar="FILE|URL", help=f"{DATABASE_HELP} It must be empty.")
@click.option(
    "--mark",
    type=FILE,
    help="A high-water mark that was kept apart, such as sunveil.db.mark of the old folder: a"
    " backup behind it is refused.",
)
@click.pass_context
def restore_command(
    context: click.Context, *, backup: Path, data: Path, database: str | None, mark: Path | None
) -> None:
    """Bring a service back from BACKUP, log everybody out, and verify its ledger.

    All tokens and sessions are revoked; passwords stay. A backup that is known to be behind what
    was spent is refused.
    """
    require_extras("service", purpose="the service")
    from sunveil.service.backup import restore_service

    settings = ServiceSettings(data=data.absolute(), database=database or "")
    found = restore_service(backup, settings, mark=mark)
    click.echo(f"Restored what was backed up at {found.made}; all tokens and sessions are revoked.")
    for verdict in found.verdicts:
        words = "holds" if verdict.holds else f"does not hold: {verdict.faults[0]}"
        click.echo(f"  {verdict.dataset}: {verdict.charges} charges, the ledger {words}")
    for name in found.missing:
        click.echo(f"  {name}: its files are missing; it was removed while the backup was made")
    click.echo("What was spent after the backup is not in it: let no other copy go on beside this.")
    if not all(verdict.holds for verdict in found.verdicts):
        context.exit(2)
