"""Serve, service accounts, backup, restore."""

from __future__ import annotations

import os
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from sunveil._extras import require_extras
from sunveil.cli._text import printable
from sunveil.cli.ledger import json_option, show_help
from sunveil.errors import ParameterError
from sunveil.service.settings import LOOPBACK, ServiceSettings, parse_network, read_oidc

if TYPE_CHECKING:
    from sunveil.service.store.database import Account, Transaction

DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")

DATA, DEMO_DATA = Path("sunveil-data"), Path("demo") / "service"


@click.command("serve", context_settings={"show_default": True})
@click.option(
    "--database",
    metavar="FILE|URL",
    envvar="SUNVEIL_LEDGER",
    show_envvar=True,
    help="The ledger's database, which also holds the service's tables: a file, or a postgresql://"
    " URL; sunveil.db in the data folder by default.",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help=f"Folder for datasets and uploads, made if need be: private.  [default: {DATA}]",
)
@click.option(
    "--host",
    default="127.0.0.1",
    help="Address to listen on; without a proxy, only one of this machine.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8321, help="Port to listen on; 0 for any."
)
@click.option(
    "--address",
    default="",
    metavar="URL",
    help="Public address of the service behind a proxy, such as https://sunveil.example.org;"
    " requests for other names are refused.",
)
@click.option(
    "--trusted-proxy",
    "trusted_proxies",
    metavar="ADDRESS|NETWORK",
    multiple=True,
    help="Proxy with a trusted X-Forwarded-For header; may be given several times. Sign-in limits"
    " then apply to each client.",
)
@click.option(
    "--metrics-from",
    metavar="ADDRESS|NETWORK",
    multiple=True,
    help="Who can read /metrics; may be given several times.  [default: this machine]",
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    help="Format of log lines on stderr.",
)
@click.option("--access-log", is_flag=True, help="Log every request.")
@click.option(
    "--oidc",
    type=click.Path(path_type=Path),
    metavar="FILE",
    envvar="SUNVEIL_OIDC",
    show_envvar=True,
    help="TOML file with the provider of single sign-on by OpenID Connect.",
)
@click.option(
    "--demo", is_flag=True, help="Start with a simulated fleet, and print links to sign in."
)
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=1,
    help="Number of server processes; several need a PostgreSQL database.",
)
@click.option(
    "--open",
    "open_browser",
    is_flag=True,
    help="Open the first page in a browser, if there is a display.",
)
@click.pass_context
def serve_command(
    context: click.Context,
    *,
    database: str | None,
    data: Path | None,
    host: str,
    port: int,
    address: str,
    trusted_proxies: tuple[str, ...],
    metrics_from: tuple[str, ...],
    log_format: str,
    access_log: bool,
    oidc: Path | None,
    demo: bool,
    workers: int,
    open_browser: bool,
) -> None:
    """Serve the analyst's portal and the curator's console to browsers and programs.

    The first start prints a link, good for once, that makes the first curator's account. Stop with
    Ctrl-C; work in the background goes on.
    """
    require_extras("service", purpose="the service")
    if demo and workers > 1:
        raise click.UsageError("a demo is served by one process; leave out --workers")
    # a demo is never put into the ledger that the environment names for earnest
    if demo and context.get_parameter_source("database") is ParameterSource.ENVIRONMENT:
        database = None

    settings = ServiceSettings(
        data=(data or (DEMO_DATA if demo else DATA)).absolute(),
        database=database or "",
        host=host,
        port=port,
        address=address,
        trusted_proxies=tuple(map(parse_network, trusted_proxies)),
        metrics_from=tuple(map(parse_network, metrics_from)) or LOOPBACK,
        log_format=log_format,
        access_log=access_log,
        oidc=None if oidc is None else read_oidc(oidc),
        workers=workers,
    )
    if demo:
        _serve_demo(settings, open_browser=open_browser)
        return
    from sunveil.service.app import run_service

    run_service(settings, say=click.echo)


def _serve_demo(settings: ServiceSettings, *, open_browser: bool) -> None:
    """Take the socket and say so at once, then load what makes a demo, which takes long."""
    from sunveil.service.app import bind, run_demo

    with bind(settings) as bound:
        click.echo("Starting the service ...")

        def ready(address: str) -> None:
            if open_browser and any(each in os.environ for each in DISPLAYS):
                webbrowser.open(address)

        run_demo(settings, bound=bound, say=click.echo, ready=ready)


ROLES, SCOPES = ("curator", "auditor", "analyst"), ("read", "ask")

database_option = click.option(
    "--database",
    metavar="FILE|URL",
    envvar="SUNVEIL_LEDGER",
    show_envvar=True,
    help="The service's database: a file, or a postgresql:// URL; sunveil.db in the data folder by"
    " default.",
)

data_option = click.option(
    "--data",
    type=click.Path(path_type=Path),
    default=DATA,
    metavar="FOLDER",
    help="Data folder of the service.",
)

address_option = click.option(
    "--address",
    default="http://127.0.0.1:8321",
    metavar="URL",
    help="Public address of the service, with which links begin.",
)


@click.group("accounts", invoke_without_command=True, context_settings={"show_default": True})
@click.pass_context
def accounts_command(context: click.Context) -> None:
    """List, create and change the accounts of a service."""
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

    from sunveil.cli._text import aligned
    from sunveil.service.store.accounts import all_accounts

    with _changing(database, data) as db:
        found = [_plain(each) for each in all_accounts(db)]
    if as_json:
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    head = ["name", "role", "analyst", "signs in", "state", "last signed in"]
    rows = [[printable(str(each[key] or "-")) for key in head] for each in found]
    click.echo(aligned([head, *rows]) if rows else "there are no accounts yet")


@accounts_command.command("add")
@click.argument("name")
@click.option("--role", type=click.Choice(ROLES), required=True, help="Role of the account.")
@click.option(
    "--analyst", default="", help="For an analyst: the name in the ledger; NAME by default."
)
@click.option(
    "--scope", type=click.Choice(SCOPES), default="ask", help="Largest scope of an analyst."
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
    from sunveil.service.store.accounts import add_account, new_link

    with _changing(database, data) as db:
        made = add_account(db, name, role=role, analyst=analyst, scope=scope)
        secret = new_link(db, made.id)
    click.echo(f"{printable(name)} is made. This link, good for once within 48 hours, sets its")
    click.echo(f"password: {address.rstrip('/')}/links/{secret}")


@accounts_command.command("role")
@click.argument("name")
@click.argument("role", type=click.Choice(ROLES))
@click.option(
    "--analyst", default="", help="For an analyst: the name in the ledger; NAME by default."
)
@click.option(
    "--scope", type=click.Choice(SCOPES), default="ask", help="Largest scope of an analyst."
)
@where_options
def role_command(
    name: str, role: str, *, analyst: str, scope: str, database: str | None, data: Path
) -> None:
    """Change the role of the account NAME to ROLE, and end its sessions.

    The last curator who can sign in stays curator.
    """
    from sunveil.service.store.accounts import account_named, change_role

    with _changing(database, data) as db:
        account = account_named(db, name)
        change_role(db, account, role=role, analyst=analyst, scope=scope)
    click.echo(f"{printable(account.name)} has the role {role} now, and signs in again.")


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
    from sunveil.service.store.accounts import PASSWORD, SIGN_IN, account_named, new_link

    with _changing(database, data) as db:
        account = account_named(db, name)
        if account.disabled is not None:
            raise ParameterError("this account is disabled; enable it first")
        if not (account.local or break_glass):
            raise ParameterError("this account signs in through its provider; reset it there")
        secret = new_link(db, account.id, SIGN_IN if break_glass else PASSWORD)
    does = "signs in as" if break_glass else "sets the password of"
    within = "15 minutes" if break_glass else "48 hours"
    click.echo(f"This link, good for once within {within}, {does} {printable(account.name)}:")
    click.echo(f"{address.rstrip('/')}/links/{secret}")


@accounts_command.command("disable")
@click.argument("name")
@where_options
def disable_command(name: str, *, database: str | None, data: Path) -> None:
    """Disable the account NAME, and end its sessions and tokens.

    The last curator who can sign in cannot be disabled.
    """
    from sunveil.service.store.accounts import account_named, disable_account

    with _changing(database, data) as db:
        account = account_named(db, name)
        disable_account(db, account)
    click.echo(f"{printable(account.name)} is disabled.")


@accounts_command.command("enable")
@click.argument("name")
@where_options
def enable_command(name: str, *, database: str | None, data: Path) -> None:
    """Enable the account NAME again."""
    from sunveil.service.store.accounts import account_named, enable_account

    with _changing(database, data) as db:
        account = account_named(db, name)
        enable_account(db, account)
    click.echo(f"{printable(account.name)} can sign in again.")


@contextmanager
def _changing(database: str | None, data: Path) -> Iterator[Transaction]:
    """Yield a transaction of a service's tables; a service that never ran is refused."""
    require_extras("service", purpose="the service")
    from sunveil.ledger.ledger import Ledger
    from sunveil.service.store.database import Store

    where = database or str(data / "sunveil.db")
    Ledger(where).close()  # says that there is none
    store = Store(where)
    try:
        with store.changing() as db:
            yield db
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


FILE = click.Path(dir_okay=False, path_type=Path)

DATABASE_HELP = (
    "The service's database: a file, or a postgresql:// URL; sunveil.db in the folder by default."
)


@click.command("backup")
@click.option(
    "--data", type=click.Path(path_type=Path), required=True, help="Data folder of the service."
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


@click.group("service", invoke_without_command=True, context_settings={"show_default": True})
@click.pass_context
def service_command(context: click.Context) -> None:
    """Manage a service: accounts, backup and restore."""
    show_help(context)


service_command.add_command(accounts_command)


service_command.add_command(backup_command)


service_command.add_command(restore_command)
