"""``sunveil service accounts``: who may sign in to a service, on the machine that it runs on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sunveil.cli.dataset import json_option, show_help
from sunveil.cli.errors import printable
from sunveil.cli.serve import DATA
from sunveil.errors import ParameterError
from sunveil.extras import require_extras

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from sunveil.service.store.accounts import Account

ROLES, SCOPES = ("curator", "auditor", "analyst"), ("read", "ask")

database_option = click.option(
    "--database",
    metavar="FILE|URL",
    envvar="SUNVEIL_LEDGER",
    show_envvar=True,
    help="The service's database: a file, or a postgresql:// URL; sunveil.db in the data folder if"
    " left out.",
)
data_option = click.option(
    "--data",
    type=click.Path(path_type=Path),
    default=DATA,
    metavar="FOLDER",
    help="The service's data folder.",
)
address_option = click.option(
    "--address",
    default="http://127.0.0.1:8321",
    metavar="URL",
    help="Where browsers reach the service: links begin with it.",
)


@click.group("accounts", invoke_without_command=True, context_settings={"show_default": True})
@click.pass_context
def accounts_command(context: click.Context) -> None:
    """See who may sign in to the service, make accounts, and let people in again."""
    show_help(context)


def where_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say where the service's tables are."""
    return database_option(data_option(command))


@accounts_command.command("list")
@where_options
@json_option
def list_command(*, database: str | None, data: Path, as_json: bool) -> None:
    """List all accounts, with their roles and when they were last signed in to."""
    import json

    from sunveil.cli.show import aligned
    from sunveil.service.store.accounts import all_accounts

    with _changing(database, data) as connection:
        found = [_plain(each) for each in all_accounts(connection)]
    if as_json:
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    head = ["name", "role", "analyst", "signs in", "state", "last signed in"]
    rows = [[printable(str(each[key] or "-")) for key in head] for each in found]
    click.echo(aligned([head, *rows]) if rows else "there are no accounts yet")


@accounts_command.command("add")
@click.argument("name")
@click.option("--role", type=click.Choice(ROLES), required=True, help="What it may do.")
@click.option(
    "--analyst", default="", help="For an analyst: the name in the ledger; NAME if left out."
)
@click.option(
    "--scope", type=click.Choice(SCOPES), default="ask", help="What an analyst may do at most."
)
@where_options
@address_option
def add_command(
    name: str,
    *,
    role: str,
    analyst: str,
    scope: str,
    database: str | None,
    data: Path,
    address: str,
) -> None:
    """Make a local account NAME, and print the link by which its holder sets a password."""
    from sunveil.service.store.accounts import add_account
    from sunveil.service.store.links import new_link

    with _changing(database, data) as connection:
        made = add_account(connection, name, role=role, analyst=analyst, scope=scope)
        secret = new_link(connection, made.id)
    click.echo(f"{printable(name)} is made. This link, good for once within 48 hours, sets its")
    click.echo(f"password: {address.rstrip('/')}/links/{secret}")


@accounts_command.command("role")
@click.argument("name")
@click.argument("role", type=click.Choice(ROLES))
@click.option(
    "--analyst", default="", help="For an analyst: the name in the ledger; NAME if left out."
)
@click.option(
    "--scope", type=click.Choice(SCOPES), default="ask", help="What an analyst may do at most."
)
@where_options
def role_command(
    name: str, role: str, *, analyst: str, scope: str, database: str | None, data: Path
) -> None:
    """Give the account NAME another ROLE; its sessions end.

    The last curator who can sign in stays one.
    """
    from sunveil.service.store.accounts import account_named, change_role

    with _changing(database, data) as connection:
        account = account_named(connection, name)
        change_role(connection, account, role=role, analyst=analyst, scope=scope)
    click.echo(f"{printable(account.name)} has the role {role} now, and signs in anew.")


@accounts_command.command("reset")
@click.argument("name")
@click.option(
    "--break-glass",
    is_flag=True,
    help="Print a link, good for once within 15 minutes, that signs in as NAME without a password:"
    " also where local accounts are switched off, or the provider is down.",
)
@where_options
@address_option
def reset_command(
    name: str, *, break_glass: bool, database: str | None, data: Path, address: str
) -> None:
    """Print a link by which the holder of the local account NAME sets a new password."""
    from sunveil.service.store.accounts import account_named
    from sunveil.service.store.links import PASSWORD, SIGN_IN, new_link

    with _changing(database, data) as connection:
        account = account_named(connection, name)
        if account.disabled is not None:
            raise ParameterError("this account is disabled; enable it first")
        if not (account.local or break_glass):
            raise ParameterError("this account signs in through its provider; reset it there")
        secret = new_link(connection, account.id, SIGN_IN if break_glass else PASSWORD)
    does = "signs in as" if break_glass else "sets the password of"
    within = "15 minutes" if break_glass else "48 hours"
    click.echo(f"This link, good for once within {within}, {does} {printable(account.name)}:")
    click.echo(f"{address.rstrip('/')}/links/{secret}")


@accounts_command.command("disable")
@click.argument("name")
@where_options
def disable_command(name: str, *, database: str | None, data: Path) -> None:
    """Let nobody use the account NAME: its sessions and its own tokens end.

    The last curator who can sign in is never disabled.
    """
    from sunveil.service.store.accounts import account_named, disable_account

    with _changing(database, data) as connection:
        account = account_named(connection, name)
        disable_account(connection, account)
    click.echo(f"{printable(account.name)} is disabled.")


@accounts_command.command("enable")
@click.argument("name")
@where_options
def enable_command(name: str, *, database: str | None, data: Path) -> None:
    """Let the account NAME, which was disabled, be used again."""
    from sunveil.service.store.accounts import account_named, enable_account

    with _changing(database, data) as connection:
        account = account_named(connection, name)
        enable_account(connection, account)
    click.echo(f"{printable(account.name)} can sign in again.")


@contextmanager
def _changing(database: str | None, data: Path) -> Iterator[Connection]:
    """Yield a transaction of a service's tables; a service that never ran is refused."""
    require_extras("service", purpose="the service")
    from sunveil.ledger.ledger import Ledger
    from sunveil.service.store.base import Store

    where = database or str(data / "sunveil.db")
    Ledger(where).close()  # says that there is none
    store = Store(where)
    try:
        with store.changing() as connection:
            yield connection
    finally:
        store.close()


def _plain(account: Account) -> dict[str, str | None]:
    """Return what is public about an account, by column."""
    waiting = account.local and account.password is None
    state = "disabled" if account.disabled else "no password yet" if waiting else "enabled"
    return {
        "name": account.name,
        "role": account.role,
        "analyst": account.analyst or None,
        "signs in": "password" if account.local else account.issuer,
        "state": state,
        "last signed in": account.signed_in,
    }
