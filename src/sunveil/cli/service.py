"""``sunveil service``: looking after a service on the machine that it runs on."""

from __future__ import annotations

import click

from sunveil.cli.dataset import show_help
from sunveil.cli.service_accounts import accounts_command
from sunveil.cli.service_backup import backup_command, restore_command


@click.group("service", invoke_without_command=True, context_settings={"show_default": True})
@click.pass_context
def service_command(context: click.Context) -> None:
    """Look after a service, on the machine that it runs on."""
    show_help(context)


service_command.add_command(accounts_command)
service_command.add_command(backup_command)
service_command.add_command(restore_command)
