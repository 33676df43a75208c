"""``sunveil release`` and ``sunveil publish system`` over a whole fleet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sunveil.cli.files import check_target, write_whole
from sunveil.cli.infer import PLACE_OPTIONS
from sunveil.cli.options import pointing_to_schema, server_options
from sunveil.cli.progress import counting

if TYPE_CHECKING:
    from sunveil.meters import MeterOptions
    from sunveil.publish.fleet_open import OpenFleet

PLACES_OPTIONS = (
    *PLACE_OPTIONS,
    click.option(
        "--systems",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="A whole fleet: the table of its systems, as for infer.",
    ),
    click.option(
        "--refused",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Write there, for yourself, which systems of a fleet are left out, and why.",
    ),
)
_SITE = ("latitude", "longitude", "altitude")


def is_fleet_asked(context: click.Context) -> bool:
    """Whether a fleet is given; options that do not belong to what is given are refused."""
    given = context.params
    if given["systems"] is not None:
        for name in _SITE:
            if given[name] is not None:
                raise click.UsageError(
                    f"--{name} is for one site: the places of a fleet stand in its table of"
                    " systems",
                    context,
                )
        return True
    if given["refused"] is not None:
        raise click.UsageError("--refused is for a fleet: give its --systems", context)
    for parameter in context.command.params:
        if parameter.name in _SITE[:2] and given[parameter.name] is None:
            raise click.MissingParameter(ctx=context, param=parameter)
    return False


@contextmanager
def opened_fleet(
    meters: Path, options: MeterOptions, given: dict[str, Any], *, work: Path | None = None
) -> Iterator[OpenFleet]:
    """Yield a fleet that has been looked through, and tell the curator who is left out.

    Parameters
    ----------
    meters
        The readings.
    options
        How to read them.
    given
        The command's options.
    work
        The folder for what is needed on the way, where a run may be taken up again.
    """
    from sunveil.fleet import FleetSettings
    from sunveil.publish.fleet_open import open_fleet

    weather, refused = given["weather"], given["refused"]
    if refused is not None:
        check_target(refused, meters, given["systems"])
    settings = FleetSettings(meters=options, weather=weather)
    with ExitStack() as held:
        with counting("reading") as show, pointing_to_schema(meters, given["schema"]):
            fleet = held.enter_context(
                open_fleet(
                    meters,
                    given["systems"],
                    settings=settings,
                    server=server_options(weather, given),
                    work=work,
                    on_progress=show,
                )
            )
        _say_refused(fleet, refused)
        yield fleet


def _say_refused(fleet: OpenFleet, path: Path | None) -> None:
    from sunveil.publish.fleet_roster import refusals_csv

    if path is not None:
        write_whole(path, refusals_csv(fleet.refused), private=True)
    if not fleet.refused:
        return
    kinds = Counter(each.kind for each in fleet.refused)
    counted = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items()))
    where = f"the reasons are in {path}" if path else "name a file with --refused for the reasons"
    click.echo(f"sunveil: left out: {counted}; {where}", err=True)
