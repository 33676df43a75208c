"""``sunveil infer FLEET --systems SYSTEMS``: a whole fleet into a folder."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sunveil.cli.options import choice, declared_options, server_options
from sunveil.cli.progress import compile_first, counting
from sunveil.errors import SunveilError

if TYPE_CHECKING:
    from sunveil.fleet import FleetProgress, FleetResult, FleetSettings

FLEET_OPTIONS = (
    click.option(
        "--systems",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="A whole fleet: the table of its systems, with system_id, latitude, longitude and, if"
        " known, altitude, timezone and metering (generation or net); other columns are public"
        " keys that are carried along.",
    ),
    click.option(
        "--engine",
        type=choice("local", "dask"),
        default="local",
        help="Processes of this machine, or Dask; for a fleet.",
    ),
    click.option("--scheduler", metavar="ADDRESS", help="A Dask scheduler that runs already."),
    click.option(
        "--workers",
        type=click.IntRange(1, 1024),
        help="Parts of a fleet worked on at a time; as many as there are processors if left out.",
    ),
    click.option(
        "--restart", is_flag=True, help="Throw away what --out holds of another run over a fleet."
    ),
)
# Kinds of refusals that may lie in the readings: whatever one record holds, a run ends alike.
READINGS_KINDS = frozenset({"meter", "too little data", "failed"})
_SITE = ("latitude", "longitude", "altitude")
_FLEET = ("engine", "scheduler", "workers", "restart")


def refuse_fleet_options(context: click.Context) -> None:
    """Refuse what only a fleet takes, and ask for what one site needs."""
    for name in _FLEET:
        if _is_given(context, name):
            raise click.UsageError(f"--{name} is for a fleet: give its --systems", context)
    for parameter in context.command.params:
        if parameter.name in _SITE[:2] and context.params[parameter.name] is None:
            raise click.MissingParameter(ctx=context, param=parameter)


def run_fleet(
    context: click.Context,
    fleet: Path,
    out: Path | None,
    *,
    weather: str,
    as_json: bool,
    given: dict[str, Any],
) -> None:
    """Infer a fleet, telling how far it is.

    Parameters
    ----------
    context
        The command as it was called.
    fleet
        The readings.
    out
        The folder to write.
    weather
        Where irradiance comes from.
    as_json
        Whether to tell it in JSON lines.
    given
        The other options.
    """
    for name in _SITE:
        if given[name] is not None:
            raise click.UsageError(
                f"--{name} is for one site: the places of a fleet stand in its table of systems",
                context,
            )
    if given["method"] != "default":
        raise click.UsageError("a fleet is inferred by the default method only", context)
    if out is None:
        raise click.UsageError("a fleet is written to a folder: name it with --out", context)
    # every processor has a worker; more threads of numpy's would wait in loops, and take theirs
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if as_json:
        click.echo(json.dumps(_beginning("compiling")))
    from sunveil.fleet import infer_fleet

    compile_first()
    if as_json:
        click.echo(json.dumps(_beginning("reading")))
    with counting("inferring") as show:

        def tell(progress: FleetProgress) -> None:
            show(progress.systems, progress.all_systems)
            if as_json:
                click.echo(json.dumps(progress.to_dict()))

        result = infer_fleet(
            fleet,
            given["systems"],
            out,
            settings=_settings(weather, given),
            engine=given["engine"],
            workers=given["workers"],
            scheduler=given["scheduler"],
            restart=given["restart"],
            server=server_options(weather, given),
            tell=tell,
        )
    _write_page(result.folder)
    _say(result, out, as_json=as_json)


def _write_page(folder: Path) -> None:
    """Write the summary as a page, where what draws it is installed."""
    from sunveil.report.fleet import write_fleet_page

    try:
        write_fleet_page(folder)
    except ModuleNotFoundError as error:
        if error.name not in ("jinja2", "matplotlib"):
            raise
        click.echo(
            "sunveil: left out: summary.html, which needs pip install 'sunveil[report]'", err=True
        )


def _is_given(context: click.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source not in (None, click.core.ParameterSource.DEFAULT)


def _settings(weather: str, given: dict[str, Any]) -> FleetSettings:
    from sunveil.fleet import FleetSettings
    from sunveil.site import Losses, Mount

    return FleetSettings(
        meters=declared_options(given),
        clock=given["clock"],
        losses=Losses(system=given["losses"], inverter_efficiency=given["inverter_efficiency"]),
        albedo=given["albedo"],
        mount=Mount(given["mount"]),
        force=given["force"],
        weather=weather,
    )


def _beginning(doing: str) -> dict[str, object]:
    """Return the line that says what is done before the first part is worked on."""
    return {"event": "progress", "doing": doing, "done": 0, "total": 0}


def _say(result: FleetResult, out: Path, *, as_json: bool) -> None:
    summary = json.loads((result.folder / "summary.json").read_text(encoding="utf-8"))
    if as_json:
        click.echo(json.dumps(_done(result, out, summary)))
    total = result.inferred + result.refused
    for reason in summary["unread_files"][:5]:
        click.echo(f"sunveil: left out: {reason}", err=True)
    kinds = summary["refused_by_kind"]
    if not result.inferred and not READINGS_KINDS & set(kinds):
        counted = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        raise SunveilError(
            f"none of {total} systems can be inferred ({counted}); the reasons are in"
            f" {out / 'refused.parquet'}"
        )
    if not as_json:
        net = summary["flags"]["net_meter"]
        of_them = f", {net:,} of them net meters" if net else ""
        click.echo(f"Wrote {result.inferred:,} of {total:,} systems to {out}{of_them}")
    if result.refused:
        click.echo(
            f"sunveil: left out {result.refused:,} systems; the reasons are in"
            f" {out / 'refused.parquet'}",
            err=True,
        )


def _done(result: FleetResult, out: Path, summary: dict[str, Any]) -> dict[str, Any]:
    return {
        "event": "done",
        "out": str(out),
        "estimates": str(out / "estimates"),
        "refused_table": str(out / "refused.parquet"),
        "summary": str(out / "summary.json"),
        "page": str(out / "summary.html"),
        "inferred": result.inferred,
        "refused": result.refused,
        "refused_by_kind": summary["refused_by_kind"],
        "unread_files": summary["unread_files"],
        "parts": result.parts,
        "resumed": result.resumed,
    }
