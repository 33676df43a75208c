"""What ``sunveil dataset schedule`` says: a promise year by year."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from sunveil.cli.show import aligned
from sunveil.ledger.chain import Entry
from sunveil.ledger.records import Dataset
from sunveil.ledger.rows import present_year
from sunveil.ledger.schedule import YearlySchedule, spent_by_year, years_of


def show_schedule(
    dataset: Dataset, entries: Sequence[Entry], *, over: int | None, as_json: bool
) -> None:
    """Show what may be spent of a promise year by year, what was, and what is left.

    Parameters
    ----------
    dataset, entries
        The dataset, and its chain.
    over
        Years to plan for, where the promise has no schedule.
    as_json
        As JSON instead of a table.
    """
    promise, now, spent = dataset.promise, present_year(), spent_by_year(entries)
    if promise.schedule is None and over is None:
        raise click.UsageError("the promise has no schedule; plan one with --over YEARS")
    if promise.schedule is not None and over is not None:
        raise click.UsageError("the promise has a schedule of its own; leave --over out")
    schedule = promise.schedule or YearlySchedule(min([now, *spent]), over or 1)
    rows = [each.to_dict() for each in years_of(schedule, promise.total, spent, present=now)]
    held = promise.schedule is not None
    if as_json:
        found = {"dataset": dataset.name, "measure": promise.measure, "held": held, "years": rows}
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    sign = "ε" if promise.measure == "epsilon" else "ρ"
    cells = [
        [
            str(row["year"]),
            sign,
            *(
                "" if row[key] is None else f"{row[key]:.9g}"
                for key in ("allowed", "spent", "left")
            ),
        ]
        for row in rows
    ]
    head = ["year", "measure", "may be spent" if held else "planned", "spent", "left"]
    click.echo(aligned([head, *cells]))
