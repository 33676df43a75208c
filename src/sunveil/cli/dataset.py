"""``sunveil dataset``: promises, one for each dataset."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sunveil.cli.errors import printable
from sunveil.errors import SourceError
from sunveil.ledger.amounts import from_nano

if TYPE_CHECKING:
    from sunveil.ledger.records import Dataset
    from sunveil.ledger.shares import AnalystShare
    from sunveil.ledger.statement import LedgerStatement

ledger_option = click.option(
    "--ledger",
    "where",
    envvar="SUNVEIL_LEDGER",
    show_envvar=True,
    required=True,
    metavar="FILE|URL",
    help="The ledger: a file, or a postgresql:// URL.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="JSON instead of a table.")


def show_help(context: click.Context) -> None:
    """Show the commands of a group that was called by itself."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@click.group("dataset", invoke_without_command=True, context_settings={"show_default": True})
@click.pass_context
def dataset_command(context: click.Context) -> None:
    """Make a promise for a dataset, and see what is left of it."""
    show_help(context)


@dataset_command.command("create")
@click.argument("name")
@ledger_option
@click.option(
    "--protect",
    required=True,
    metavar="readings:K|days:K|system",
    help="What is protected: any K readings, any K days, or the whole record.",
)
@click.option("--epsilon", type=float, required=True, help="The total of all releases, for ever.")
@click.option(
    "--delta",
    type=float,
    default=0.0,
    help="0: every release's ε is added up. From 1e-15 to 0.01: releases are added up as ρ of"
    " zero-concentrated DP, which lets many small ones cost less together.",
)
@click.option(
    "--allow",
    multiple=True,
    metavar="MECHANISM",
    help="A mechanism whose guarantee is conditional and which is allowed all the same, such as"
    " paper.",
)
@click.option(
    "--meters",
    type=int,
    default=1,
    help="The largest number of meters that a household has; they count as one.",
)
@click.option(
    "--years",
    type=int,
    help="Spend it in even parts, one for each of so many years from this one; at any time when"
    " left out.",
)
@click.option(
    "--start",
    type=float,
    help="With --years: so much of it may be spent at once, in the promise's measure, and the rest"
    " in even parts.",
)
@json_option
def create_command(
    name: str,
    *,
    where: str,
    protect: str,
    epsilon: float,
    delta: float,
    allow: tuple[str, ...],
    meters: int,
    years: int | None,
    start: float | None,
    as_json: bool,
) -> None:
    """Promise, for the new dataset NAME, what publishing it may ever cost a household.

    The ledger is made if there is none. A promise is never changed.
    """
    from sunveil.ledger.ledger import Ledger, Promise
    from sunveil.ledger.records import check_name
    from sunveil.ledger.rows import present_year
    from sunveil.ledger.schedule import YearlySchedule
    from sunveil.privacy.units import parse_unit

    if start is not None and years is None:
        raise click.UsageError("--start is for a promise over --years")
    # all of it before a file is made
    promise = Promise(
        parse_unit(protect),
        epsilon,
        delta,
        tuple(dict.fromkeys(allow)),
        meters=meters,
        schedule=None if years is None else YearlySchedule(present_year(), years, start or 0.0),
    )
    check_name("dataset", name)
    with Ledger(where, create=True) as ledger:
        _show([ledger.create_dataset(name, promise)], as_json=as_json, one=True)


@dataset_command.command("households")
@click.argument("name")
@ledger_option
@click.option(
    "--table",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="CSV, Parquet or .xlsx with system_id, household (a key of yours) and, if known, meter.",
)
@click.option(
    "--add", multiple=True, metavar="SYSTEM", help="A system that is a household of its own."
)
@json_option
def households_command(
    name: str, *, where: str, table: Path | None, add: tuple[str, ...], as_json: bool
) -> None:
    """Register the households of the dataset NAME, by a table or one by one.

    An account is a household's, in all datasets of a ledger. The first publication registers its
    systems, each as a household of its own; whoever comes later is registered here first. The
    ledger keeps digests only.
    """
    from sunveil.ledger.ledger import Ledger
    from sunveil.publish.households import read_households

    if table is None and not add:
        raise click.UsageError("give a --table, or systems to --add")
    homes = [] if table is None else read_households(table)
    if table is not None and not homes:
        raise SourceError(f"{table.name} has neither a column household nor meter; add one")
    with Ledger(where) as ledger:
        ledger.register(name, [*homes, *add], add=True)
        if warning := ledger.two_keys_warning(name):
            click.echo(f"sunveil: {warning}", err=True)
        _show([ledger.dataset(name)], as_json=as_json, one=True)


@dataset_command.command("list")
@ledger_option
@json_option
def list_command(where: str, *, as_json: bool) -> None:
    """List the datasets, with what is left of each promise."""
    from sunveil.ledger.ledger import Ledger

    with Ledger(where) as ledger:
        _show(ledger.datasets(), as_json=as_json, one=False)


@dataset_command.command("show")
@click.argument("name")
@ledger_option
@json_option
def show_command(name: str, *, where: str, as_json: bool) -> None:
    """Show what was promised for the dataset NAME, and what is left of it.

    Under a promise with δ, what was spent is told as ρ, as ε at δ, and as the plain sum of ε.
    """
    from sunveil.ledger.ledger import Ledger

    with Ledger(where) as ledger:
        stated = ledger.statement(name)
        if warning := ledger.two_keys_warning(name):
            click.echo(f"sunveil: {warning}", err=True)
    if as_json:
        click.echo(json.dumps(stated.to_dict(), indent=2, ensure_ascii=False))
    else:
        click.echo("\n".join([_paragraph(stated.dataset), *_converted(stated)]))


def _converted(stated: LedgerStatement) -> list[str]:
    """Return what was spent under a promise with δ, as an officer compares it."""
    promise = stated.dataset.promise
    if promise.delta == 0.0:
        return []
    said = f"What is spent is ε = {stated.spent_epsilon:.4g} at δ = {promise.delta:g}"
    if stated.plain_epsilon is None:
        return [f"{said}; there is no plain sum of ε over its releases."]
    return [f"{said}; the plain sum of ε over its releases is {stated.plain_epsilon:.9g}."]


@dataset_command.command("schedule")
@click.argument("name")
@click.option("--over", type=int, metavar="YEARS", help="Years to plan for, without a schedule.")
@ledger_option
@json_option
def schedule_command(name: str, *, over: int | None, where: str, as_json: bool) -> None:
    """Show year by year what may be spent of the dataset NAME, what was, and what is left.

    Amounts are those from the beginning to each year's end, of its own releases, for the household
    that spent most. --over shows a plan for a promise without a schedule; nothing holds to it.
    """
    from sunveil.cli.schedule import show_schedule
    from sunveil.ledger.ledger import Ledger

    with Ledger(where) as ledger:
        show_schedule(ledger.dataset(name), ledger.entries(name), over=over, as_json=as_json)


@dataset_command.command("share")
@click.argument("name")
@click.argument("analyst")
@click.argument("amount", type=float)
@ledger_option
@json_option
def share_command(name: str, analyst: str, amount: float, *, where: str, as_json: bool) -> None:
    """Let ANALYST spend up to AMOUNT of the dataset NAME, in the promise's measure; or change it.

    Shares may add up to more than the promise; what is spent never does.
    """
    from sunveil.ledger.ledger import Ledger

    with Ledger(where) as ledger:
        ledger.set_share(name, analyst, amount)
        mine = [share for share in ledger.shares(name) if share.analyst == analyst]
        _show_shares(ledger.dataset(name), mine, as_json=as_json)


@dataset_command.command("shares")
@click.argument("name")
@ledger_option
@json_option
def shares_command(name: str, *, where: str, as_json: bool) -> None:
    """List the analysts' shares of the dataset NAME, with what each has spent and has left."""
    from sunveil.ledger.ledger import Ledger

    with Ledger(where) as ledger:
        _show_shares(ledger.dataset(name), ledger.shares(name), as_json=as_json)


def _show_shares(dataset: Dataset, shares: Sequence[AnalystShare], *, as_json: bool) -> None:
    from sunveil.cli.show import aligned

    if as_json:
        listed = [share.to_dict() for share in shares]
        measure = dataset.promise.measure
        found = {"dataset": dataset.name, "measure": measure, "shares": listed}
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    head = ["analyst", "measure", "share", "spent", "left"]
    rows = [
        [each.analyst, _sign(dataset), *(f"{amount:.9g}" for amount in _amounts(each))]
        for each in shares
    ]
    nobody = f"no analyst has a share of {printable(dataset.name)}"
    click.echo(aligned([head, *rows]) if rows else nobody)


def _amounts(share: AnalystShare) -> tuple[float, float, float]:
    return share.share, share.spent, share.remaining


def _show(datasets: Sequence[Dataset], *, as_json: bool, one: bool) -> None:
    if as_json:
        listed = [dataset.to_dict() for dataset in datasets]
        click.echo(json.dumps(listed[0] if one else listed, indent=2, ensure_ascii=False))
    elif one:
        click.echo(_paragraph(datasets[0]))
    else:
        click.echo(_table(datasets))


def _paragraph(dataset: Dataset) -> str:
    sign = _sign(dataset)
    return (
        f"{printable(dataset.name)}: {printable(str(dataset.promise))}.\n"
        f"Spent {sign} = {dataset.spent:.9g} of {dataset.total:.9g}"
        f" ({dataset.fleet_spent:.9g} on all systems together, and {dataset.largest_spent:.9g} on"
        f" the system that was released most); {dataset.remaining:.9g} is left"
        f"{'' if dataset.promise.schedule is None else ' of what its schedule allows this year'}.\n"
        f"{_households(dataset)}"
    )


def _households(dataset: Dataset) -> str:
    if not dataset.households:
        return "No household is registered yet: the first publication registers its systems."
    said = f"{dataset.households:,} household{'s are' if dataset.households > 1 else ' is'}"
    said += " registered"
    if dataset.elsewhere is None:
        return f"{said}, each with one meter and in no other dataset."
    return (
        f"{said}; over all its meters and datasets, one of them has spent"
        f" {from_nano(dataset.elsewhere.most):.9g} at most."
    )


def _table(datasets: Sequence[Dataset]) -> str:
    from sunveil.cli.show import aligned

    head = ["dataset", "protects", "measure", "total", "spent", "left"]
    rows = [
        [
            each.name,
            str(each.promise.unit),
            _sign(each),
            f"{each.total:.9g}",
            f"{each.spent:.9g}",
            f"{each.remaining:.9g}",
        ]
        for each in datasets
    ]
    return aligned([head, *rows]) if rows else "the ledger has no datasets"


def _sign(dataset: Dataset) -> str:
    return "ε" if dataset.promise.measure == "epsilon" else "ρ"
