"""``sunveil infer --separated``: the generation of one net meter told from its load, as a file."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sunveil.cli.files import check_target, write_whole
from sunveil.errors import ParameterError, SunveilError

if TYPE_CHECKING:
    from sunveil.estimate import Estimate
    from sunveil.infer import SiteSkies
    from sunveil.meters import Record

SEPARATED = click.option(
    "--separated",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Of one net meter, a .csv or .parquet file to write with the generation of every interval,"
    " its 90% band and the load. Private.",
)
_ENDINGS = (".csv", ".parquet")


def check_separated(path: Path, *inputs: Path) -> None:
    """Refuse, before any work is done, a file that cannot be written or is of no known kind."""
    if path.suffix.lower() not in _ENDINGS:
        raise ParameterError(f"--separated {path} must end with {' or '.join(_ENDINGS)}")
    check_target(path, *inputs, option="--separated")


def check_one_system(count: int) -> None:
    """Refuse meters of several systems."""
    if count != 1:
        raise ParameterError(
            f"--separated is of one system, and there are {count}: give a file of one of them"
        )


def write_separated(
    path: Path,
    records: Sequence[Record],
    skies: SiteSkies,
    inferred: Sequence[Estimate | SunveilError],
) -> None:
    """Write what was told apart of the only system, unless it could not be inferred.

    Parameters
    ----------
    path
        The file, written whole or not at all, for its owner's eyes only.
    records, skies
        What was inferred from, and where.
    inferred
        What came of it.
    """
    from sunveil.separate import separate_record

    for record, estimate in zip(records, inferred, strict=True):
        if isinstance(estimate, SunveilError):
            continue
        if estimate.household is None:
            raise ParameterError(
                f"--separated is for net meters, and system {estimate.system_id} reads its"
                " generation; if it is a net meter, say so with --net"
            )
        frame = separate_record(record, skies, estimate).round(4)
        if path.suffix.lower() == ".csv":
            text = frame.to_csv(date_format="%Y-%m-%dT%H:%MZ", lineterminator="\n")
            write_whole(path, text, private=True)
        else:
            buffer = io.BytesIO()
            frame.reset_index().to_parquet(buffer, index=False)
            write_whole(path, buffer.getvalue(), private=True)
        click.echo(f"sunveil: wrote {len(frame):,} intervals to {path}", err=True)
