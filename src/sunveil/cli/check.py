"""``sunveil check``: what was read of meters, without inferring anything."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sunveil.cli.colour import say
from sunveil.cli.errors import Refusal, printable
from sunveil.cli.options import AS_JSON, METER_OPTIONS, declared_options, taking
from sunveil.errors import SunveilError
from sunveil.progress import progress

if TYPE_CHECKING:
    from sunveil.fleet.systems import SystemTable
    from sunveil.meters import MeterOptions
    from sunveil.meters.checkup import SystemCheckup

SYSTEMS = click.option(
    "--systems",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Of a fleet, the table of its systems, whose clocks then count and whose places are"
    " matched with the meters.",
)
# Sentences that so many systems share are told once.
MOST_NAMED = 5

Checked = list["SystemCheckup | Refusal"]


@click.command("check", context_settings={"show_default": True})
@click.argument("meters", type=click.Path(path_type=Path))
@taking((SYSTEMS,), METER_OPTIONS, (AS_JSON,))
def check_command(meters: Path, *, systems: Path | None, as_json: bool, **given: Any) -> None:
    """Say what was read of METERS: systems, spans, units, clocks, gaps, and what looks wrong.

    METERS is a file, an archive or a folder of files, as for sunveil infer. Nothing is inferred,
    and no place is needed. What it prints is found from readings, and is the curator's alone.

    Exit code 2: the input cannot be read, or no system in it can be used. stderr says why in one
    sentence.
    """
    from sunveil.fleet.systems import read_systems

    options = declared_options(given)
    table = None if systems is None else read_systems(systems, options)
    checked = _check(meters, options, table)
    unmatched = [] if table is None else _without_readings(table, checked)
    if all(isinstance(each, Refusal) for each in checked):
        raise _error(checked)
    if as_json:
        rows = [each.to_dict() for each in checked]
        say(json.dumps(rows, indent=2, allow_nan=False))
    else:
        say(_as_text(checked))
    if unmatched:
        say(f"sunveil: {_listed(unmatched)} of the table of systems: no readings", err=True)


def _check(meters: Path, options: MeterOptions, table: SystemTable | None) -> Checked:
    """Return what was read of each system, or why it cannot be used."""
    from sunveil.meters import Record
    from sunveil.meters.checkup import check_record
    from sunveil.meters.clock import clock_elsewhere
    from sunveil.meters.read import iter_systems

    places = {} if table is None else {name: at for at, name in enumerate(table.ids.to_pylist())}

    def own(name: str, read: MeterOptions) -> MeterOptions:
        return read if table is None or name not in places else table.options_of(places[name], read)

    checked: Checked = []
    turned_away = {} if table is None else {each.system_id: each.reason for each in table.refused}
    for each in progress(iter_systems(meters, options, options_of=own), "reading"):
        name, reason = each.system_id, None
        if not isinstance(each, Record):
            reason = each.reason
        elif table is not None and name not in places:
            reason = turned_away.get(name, f"system {name} is not in the table of systems")
        elif table is not None:
            reason = clock_elsewhere(each.timezone, float(table.longitude[places[name]]))
        if isinstance(each, Record) and reason is None:
            checked.append(check_record(each))
        else:
            checked.append(Refusal(name, str(reason)))
    return sorted(checked, key=lambda each: each.system_id)


def _without_readings(table: SystemTable, checked: Checked) -> list[str]:
    seen = {each.system_id for each in checked}
    return [name for name in table.ids.to_pylist() if name not in seen]


def _error(checked: Checked) -> SunveilError:
    reasons = [each.reason for each in checked if isinstance(each, Refusal)]
    if len(reasons) == 1:
        return SunveilError(reasons[0])
    return SunveilError(f"none of {len(reasons)} systems can be used; the first: {reasons[0]}")


def _as_text(checked: Checked) -> str:
    from sunveil.cli.show import aligned

    head = (
        "system",
        "from",
        "to",
        "days",
        "every",
        "unit",
        "clock",
        "stamps name",
        "missing",
        "state",
    )
    lines = [aligned([head, *map(_row, checked)]), ""]
    lines += _grouped(checked)
    used = sum(not isinstance(each, Refusal) for each in checked)
    lines.append(
        f"{used} of {len(checked)} system{'' if len(checked) == 1 else 's'} can be read."
        " Times are in UTC; a question mark says that nobody told the unit or the label."
    )
    return "\n".join(lines)


def _row(each: SystemCheckup | Refusal) -> tuple[str, ...]:
    if isinstance(each, Refusal):
        return (each.system_id, *("-" for _ in range(8)), "refused")
    sure = "" if each.unit_known else "?"
    label = each.label if each.label_known else f"{each.label}?"
    return (
        each.system_id,
        each.first[:10],
        each.last[:10],
        f"{each.days:.0f}",
        f"{each.interval_minutes:g} min",
        f"{each.unit}{sure}{' net' if each.net else ''}",
        each.timezone,
        label,
        f"{100.0 * each.missing:.1f}%",
        "look" if each.doubts else "fine",
    )


def _grouped(checked: Checked) -> list[str]:
    """Return what looks wrong and what the reader did, each sentence once with its systems."""
    about: dict[str, list[str]] = {}
    for each in checked:
        if isinstance(each, Refusal):
            said: Sequence[str] = [each.reason]
        else:
            said = [*(f"look: {doubt}" for doubt in each.doubts), *each.notes]
        for remark in said:
            about.setdefault(remark, []).append(each.system_id)
    return [
        printable(f"{_listed(names)}: {sentence.rstrip('.')}.") for sentence, names in about.items()
    ]


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    told = ", ".join(names[:MOST_NAMED])
    return f"{told} and {more} more" if more > 0 else told
