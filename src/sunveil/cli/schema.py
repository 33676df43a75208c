"""``sunveil schema``: how a meter file is written, proposed for its curator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sunveil.cli.files import check_target, write_whole
from sunveil.cli.options import METER_OPTIONS, declared_options, taking
from sunveil.errors import ParameterError

PRIVATE = (
    "FOR THE CURATOR ALONE: some of it may be found from readings; check it, and keep it private."
)
OUT = click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write there, whole or not at all, instead of printing.",
)


@click.command("schema", context_settings={"show_default": True})
@click.argument("meters", type=click.Path(path_type=Path))
@taking((OUT,), METER_OPTIONS)
def schema_command(meters: Path, *, out: Path | None, **given: Any) -> None:
    """Propose a schema for METERS: how the file is written, one YAML line for each thing.

    Each line says where it is from: the header, the format's definition, the stamps, or what was
    declared. Lines marked CHECK are found from readings or assumed; keep them only if you
    know them from elsewhere. The file is then given to every other command as --schema FILE, which
    private releases need wherever a header does not say it all.
    """
    from sunveil.meters.describe import describe_source
    from sunveil.meters.schema import CHECK, schema_text

    if meters.is_dir():
        raise ParameterError(
            f"{meters} is a folder: name one of its files, whose schema holds for all written alike"
        )
    if out is not None:
        check_target(out, meters)
    found = describe_source(meters, declared_options(given))
    systems = f"{found.systems} system{'' if found.systems == 1 else 's'}"
    text = schema_text(
        found.options, found.origins, about=f"{meters.name}, {found.format}, {systems}"
    )
    if out is None:
        click.echo(text, nl=False)
    else:
        write_whole(out, text, private=True)
        click.echo(f"Wrote {out}")
    click.echo(f"sunveil: {text.count(CHECK)} lines to check. {PRIVATE}", err=True)
