"""Dataset, ledger."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sunveil._files import write_whole
from sunveil.cli._options import check_target
from sunveil.cli._text import aligned, printable
from sunveil.errors import SourceError

if TYPE_CHECKING:
    from sunveil.ledger.hash_chain import Entry, HighWaterMark
    from sunveil.ledger.ledger import Ledger
    from sunveil.ledger.promises import Dataset
    from sunveil.ledger.statements import AnalystShare, LedgerStatement
    from sunveil.ledger.verify_chain import Verdict

ledger_option = click.option(
    "--ledger",
    "where",
    envvar="SUNVEIL_LEDGER",
    show_envvar=True,
    required=True,
    metavar="FILE|URL",
    help="Ledger: a file, or a postgresql:// URL.",
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


def show_help(context: click.Context) -> None:
    """Show the commands of a group that was called by itself."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@click.group("dataset", invoke_without_command=True, context_settings={"show_default": True})
@click.pass_context
def dataset_command(context: click.Context) -> None:
    """Create datasets with their promises, and show what is left of them."""
    show_help(context)


@dataset_command.command("create")
@click.argument("name")
@ledger_option
@click.option(
    "--protect",
    required=True,
    metavar="readings:K|days:K|system",
    help="Unit of protection: any K readings, any K days, or the whole record of a system.",
)
@click.option(
    "--epsilon", type=float, required=True, help="Total budget of all releases, for ever."
)
@click.option(
    "--delta",
    type=float,
    default=0.0,
    help="0: pure DP, ε of the releases is added up. From 1e-15 to 0.01: releases are added up as ρ"
    " of zero-concentrated DP, which composes many small ones better.",
)
@click.option(
    "--allow",
    multiple=True,
    metavar="MECHANISM",
    help="Also allow a mechanism with a conditional guarantee, such as paper.",
)
@click.option(
    "--meters",
    type=int,
    default=1,
    help="Largest number of meters of a household; they count as one.",
)
@click.option(
    "--years", type=int, help="Split the budget evenly over this many years. Default: no schedule."
)
@click.option(
    "--start",
    type=float,
    help="With --years: amount that can be spent at once, in the promise's measure; the rest is"
    " split evenly.",
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
    """Create the dataset NAME with its promise: the largest privacy cost to any household.

    Creates the ledger if there is none. A promise cannot be changed.
    """
    from sunveil.ledger.ledger import Ledger
    from sunveil.ledger.promises import Promise, check_name
    from sunveil.ledger.statements import present_year
    from sunveil.ledger.yearly_schedule import YearlySchedule
    from sunveil.privacy.guarantees import parse_unit

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
    help="CSV, Parquet or .xlsx: system_id, household (any id), meter (its number, if known).",
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
    systems, each as a household of its own; later ones are registered here first. The
    ledger keeps digests only.
    """
    from sunveil.ledger.ledger import Ledger
    from sunveil.publish.publisher import read_households

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
def dataset_show_command(name: str, *, where: str, as_json: bool) -> None:
    """Show what was promised for the dataset NAME, and what is left of it.

    Under a promise with δ, what was spent is shown as ρ, as ε at δ, and as the plain sum of ε.
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
    from sunveil.cli._text import aligned

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
        click.echo(_datasets_table(datasets))


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
    from sunveil.privacy.guarantees import from_nano

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


def _datasets_table(datasets: Sequence[Dataset]) -> str:
    from sunveil.cli._text import aligned

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


# The exit code of a verification that found something.
FAULTY = 1

dataset_option = click.option(
    "--dataset", "name", metavar="NAME", help="Only this dataset; all datasets if not given."
)


@click.group("ledger", invoke_without_command=True, context_settings={"show_default": True})
@click.pass_context
def ledger_command(context: click.Context) -> None:
    """Show what was spent, and verify that promises were kept."""
    show_help(context)


@ledger_command.command("show")
@ledger_option
@dataset_option
@json_option
def ledger_show_command(where: str, *, name: str | None, as_json: bool) -> None:
    """Show the entries: promises, households, shares, charges and answers, in their order."""
    from sunveil.ledger.ledger import Ledger

    with Ledger(where) as ledger:
        found = {each: ledger.entries(each) for each in _names(ledger, name)}
    if as_json:
        click.echo(_as_json({each: [entry.to_dict() for entry in found[each]] for each in found}))
    else:
        click.echo(_entries_table(found))


@ledger_command.command("verify")
@ledger_option
@dataset_option
@click.option(
    "--mark",
    metavar="ENTRIES:DIGEST",
    help="A high-water mark noted elsewhere, to compare with --dataset.",
)
@json_option
def verify_command(where: str, *, name: str | None, mark: str | None, as_json: bool) -> int:
    """Recompute all spending from the entries and compare it with what the ledger says.

    What a household has spent is added up over all its meters and datasets.

    The exit code is 0 when everything holds, and 1 with the faults when something does not.
    """
    from sunveil.ledger.ledger import Ledger

    written = None if mark is None else _mark(mark, name)
    with Ledger(where) as ledger:
        forgotten = [each for each in ledger.forgotten() if name in (None, each)]
        names = [each for each in _names(ledger, name, known=forgotten) if each not in forgotten]
        verdicts = [ledger.verify(each, mark=written) for each in names]
    holds = not forgotten and all(verdict.holds for verdict in verdicts)
    if as_json:
        listed = [verdict.to_dict() for verdict in verdicts]
        click.echo(_as_json({"holds": holds, "datasets": listed, "forgotten": forgotten}))
    else:
        click.echo("\n".join(_verdict_lines(verdicts, forgotten)))
    return 0 if holds else FAULTY


@ledger_command.command("export")
@ledger_option
@dataset_option
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="Write to this file, completely or not at all.",
)
def export_command(where: str, *, name: str | None, out: Path) -> None:
    """Write everything that a verification needs as JSON, to be kept or handed to an auditor.

    Systems are named by digests; anyone who knows a system's id can find its charges.
    """
    from sunveil.ledger.ledger import Ledger
    from sunveil.ledger.ledger_database import is_url

    check_target(out, *([] if is_url(where) else [Path(where)]))
    with Ledger(where) as ledger:
        exported = [
            {
                **ledger.dataset(each).to_dict(),
                "verdict": ledger.verify(each).to_dict(),
                "entries": [entry.to_dict() for entry in ledger.entries(each)],
                "members": ledger.members(each),
            }
            for each in _names(ledger, name)
        ]
    write_whole(out, _as_json({"datasets": exported}) + "\n", private=True)


@ledger_command.command("move")
@ledger_option
@click.option(
    "--to",
    "target",
    required=True,
    metavar="FILE|URL",
    help="New database: a file that does not exist yet, or the postgresql:// URL of an empty one.",
)
@json_option
def move_command(where: str, *, target: str, as_json: bool) -> None:
    """Move the ledger to another database, verify it there, and close the old one for good.

    Stop the service first. A move that fails leaves the old ledger in use; one that was interrupted
    is finished by the same command.
    """
    from sunveil.ledger.move_ledger import move_ledger
    from sunveil.service.store.database import SERVICE_TABLES

    verdicts = move_ledger(where, target, beside=[SERVICE_TABLES])
    if as_json:
        click.echo(_as_json({"datasets": [verdict.to_dict() for verdict in verdicts]}))
    else:
        click.echo("\n".join([*_verdict_lines(verdicts, []), "The old ledger is closed for good."]))


def _names(ledger: Ledger, name: str | None, *, known: Sequence[str] = ()) -> list[str]:
    names = ledger.names()
    if name is None:
        return names
    if name not in names and name not in known:
        ledger.dataset(name)  # says that there is none
    return [name]


def _mark(text: str, name: str | None) -> HighWaterMark:
    from sunveil.ledger.hash_chain import HighWaterMark

    if name is None:
        raise click.UsageError("--mark is compared with one dataset: name it with --dataset")
    found = HighWaterMark.parse(text)
    if found is None:
        raise click.UsageError("--mark is a number of entries, a colon and a digest")
    return found


def _as_json(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False)


def _entries_table(found: dict[str, list[Entry]]) -> str:
    from sunveil.cli._text import aligned

    head = ["dataset", "entry", "at", "kind", "what"]
    rows = [
        [name, str(entry.place), *_described(entry)]
        for name, chain in found.items()
        for entry in chain
    ]
    return aligned([head, *rows]) if rows else "the ledger has no datasets"


def _described(entry: Entry) -> tuple[str, str, str]:
    """Return when an entry was made, its kind and what it says, as far as it can be understood."""
    from sunveil.ledger.hash_chain import actor_of

    try:
        facts = entry.facts()
        by = actor_of(facts)
        said = _what(entry, facts) if by is None else f"{_what(entry, facts)}, by account {by}"
        return str(facts["at"]), entry.kind, said
    except (KeyError, TypeError, ValueError):
        return "-", entry.kind, "CHANGED: it cannot be understood"


def _what(entry: Entry, facts: dict[str, Any]) -> str:
    from sunveil.privacy.guarantees import from_nano

    if entry.kind == "promise":
        return f"{facts['unit']}, epsilon {facts['epsilon']:g}, delta {facts['delta']:g}"
    if entry.kind == "analyst":
        return f"{facts['analyst']} has a share of {from_nano(facts['share']):.9g}"
    if entry.kind == "households":
        return f"{facts['systems']} system(s) registered, and {facts['keys']} key(s) of them"
    if entry.kind == "answer":
        return f"of entry {facts['charge']}"
    if entry.kind == "withdrawn":
        return "nothing was charged to the promise"
    if entry.kind == "moved":
        return f"to {facts['to']}"
    if entry.kind == "arrived":
        return f"from {facts['from']}"
    about = "all systems" if facts["systems"] is None else f"{len(facts['systems'])} system(s)"
    who = "" if facts["analyst"] is None else f", asked by {facts['analyst']}"
    cost = facts["cost"] * facts["meters"]
    return f"{from_nano(cost):.9g} for {facts['kind']} by {facts['mechanism']}, {about}{who}"


def _verdict_lines(verdicts: Sequence[Verdict], forgotten: Sequence[str]) -> list[str]:
    lines = []
    for each in verdicts:
        word = "holds" if each.holds else "DOES NOT HOLD"
        lines.append(
            f"{printable(each.dataset)}: {word}; {each.spent:.9g} of {each.total:.9g} spent,"
            f" {each.charges} charges, {each.charges - each.answered} of them without an answer;"
            f" mark {each.entries}:{each.head}"
        )
        lines += [f"  {fault}" for fault in each.faults]
    for name in forgotten:
        lines.append(f"{printable(name)}: DOES NOT HOLD")
        lines.append("  the ledger has forgotten this dataset: an old copy was put back")
    return lines or ["the ledger has no datasets"]


def show_schedule(
    dataset: Dataset, entries: Sequence[Entry], *, over: int | None, as_json: bool
) -> None:
    """Show what may be spent of a promise year by year, what was, and what is left."""
    from sunveil.ledger.statements import present_year
    from sunveil.ledger.yearly_schedule import YearlySchedule, spent_by_year, years_of

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
