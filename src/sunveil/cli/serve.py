"""``sunveil serve``: the analyst's portal and the curator's console."""

from __future__ import annotations

import os
import webbrowser
from pathlib import Path

import click
from click.core import ParameterSource

from sunveil.extras import require_extras
from sunveil.service.oidc.settings import read_oidc
from sunveil.service.security.networks import LOOPBACK, parse_network
from sunveil.service.settings import ServiceSettings
from sunveil.service.sockets import bind

DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")
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
    "--trusted-proxy",
    "trusted_proxies",
    metavar="ADDRESS|NETWORK",
    multiple=True,
    help="A proxy that is believed when it says by X-Forwarded-For who called it; may be given"
    " several times. Limits of sign-ins are then for each client, and not for the proxy.",
)
@click.option(
    "--metrics-from",
    metavar="ADDRESS|NETWORK",
    multiple=True,
    help="Who may read /metrics; may be given several times.  [default: this machine]",
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    help="How lines of the log are written to stderr.",
)
@click.option("--access-log", is_flag=True, help="Write a line for every request.")
@click.option(
    "--oidc",
    type=click.Path(path_type=Path),
    metavar="FILE",
    envvar="SUNVEIL_OIDC",
    show_envvar=True,
    help="TOML file with the provider of single sign-on by OpenID Connect.",
)
@click.option(
    "--demo",
    is_flag=True,
    help="Bring up everything with a simulated fleet, and print ready credentials.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=1,
    help="How many processes serve; several need a database in PostgreSQL. One of them charges,"
    " draws and watches over jobs, and another takes its place when it ends.",
)
@click.option(
    "--open", "open_browser", is_flag=True, help="Open the first page where there is a display."
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
        https=https,
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
    from sunveil.service.running import run_service

    run_service(settings, say=click.echo)


def _serve_demo(settings: ServiceSettings, *, open_browser: bool) -> None:
    """Take the socket and say so at once, then load what makes a demo, which takes long."""
    with bind(settings) as bound:
        click.echo("Starting the service ...")
        from sunveil.service.running import run_demo

        def ready(address: str) -> None:
            if open_browser and any(each in os.environ for each in DISPLAYS):
                webbrowser.open(address)

        run_demo(settings, bound=bound, say=click.echo, ready=ready)
