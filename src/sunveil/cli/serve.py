"""``sunveil serve``: the analyst's portal and the curator's console."""

from __future__ import annotations

from pathlib import Path

import click
from click.core import ParameterSource

from sunveil.extras import require_extras

DATA, DEMO_DATA = Path("sunveil-data"), Path("demo") / "service"


@click.command("serve", context_settings={"show_default": True})
@click.option(
    "--database",
    metavar="FILE|URL",
    envvar="SUNVEIL_LEDGER",
    show_envvar=True,
    help="The ledger's database, which also holds the service's tables: a file, or a postgresql://"
    " URL; sunveil.db in the data folder if left out.",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help=f"Folder for datasets and uploads, made if need be: private.  [default: {DATA}]",
)
@click.option("--host", default="127.0.0.1", help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8321, help="0 takes any.")
@click.option(
    "--https",
    is_flag=True,
    help="Browsers reach the service over TLS, through a proxy: cookies are for TLS only.",
)
@click.option(
    "--demo",
    is_flag=True,
    help="Bring up everything with a simulated fleet, and print ready credentials.",
)
@click.pass_context
def serve_command(
    context: click.Context,
    *,
    database: str | None,
    data: Path | None,
    host: str,
    port: int,
    https: bool,
    demo: bool,
) -> None:
    """Serve the analyst's portal and the curator's console to browsers and programs.

    The first start prints a link, good for once, that makes the first curator's account. Stop with
    Ctrl-C; work in the background goes on.
    """
    require_extras("service", purpose="the service")
    if demo:  # what is imported next takes a second or two
        click.echo("Starting the service ...", err=True)
    from sunveil.service.running import run_service
    from sunveil.service.settings import ServiceSettings

    # a demo is never put into the ledger that the environment names for earnest
    if demo and context.get_parameter_source("database") is ParameterSource.ENVIRONMENT:
        database = None

    settings = ServiceSettings(
        data=(data or (DEMO_DATA if demo else DATA)).absolute(),
        database=database or "",
        host=host,
        port=port,
        https=https,
    )
    run_service(settings, say=click.echo, demo=demo)
