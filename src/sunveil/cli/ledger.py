"""``sunveil ledger``: what was spent, and the proof of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sunveil.cli.dataset import json_option, ledger_option, show_help
from sunveil.cli.errors import printable
from sunveil.cli.files import check_target, write_whole

if TYPE_CHECKING:
    from sunveil.ledger.chain import Entry
    from sunveil.ledger.high_water import HighWaterMark
    from sunveil.ledger.ledger import Ledger, Verdict

# The exit code of a verification that found something.
FAULTY = 1

dataset_option = click.option(
    "--dataset", "name", metavar="NAME", help="This dataset alone; all of them if left out."
)


@click.group("ledger", invoke_without_command=True, context_settings={"show_default": True})
@click.pass_context
def ledger_command(context: click.Context) -> None:
    """See what was spent, and prove afterwards that promises were kept."""
    show_help(context)


@ledger_command.command("show")
@ledger_option
@dataset_option
@json_option
def show_command(where: str, *, name: str | None, as_json: bool) -> None:
    """Show the entries: promises, households, shares, charges and answers, in their order."""
    from sunveil.ledger.ledger import Ledger

    with Ledger(where) as ledger:
        found = {each: ledger.entries(each) for each in _names(ledger, name)}
    if as_json:
        click.echo(_as_json({each: [_plain(entry) for entry in found[each]] for each in found}))
    else:
        click.echo(_table(found))


@ledger_command.command("verify")
@ledger_option
@dataset_option
@click.option(
    "--mark",
    metavar="ENTRIES:DIGEST",
    help="A high-water mark that was written down elsewhere, to be held against --dataset.",
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
    help="Write there, whole or not at all.",
)
def export_command(where: str, *, name: str | None, out: Path) -> None:
    """Write everything that a verification needs as JSON, to be kept or handed to an auditor.

    Systems are named by digests; whoever knows a system's id can find its charges.
    """
    from sunveil.ledger.database import is_url
    from sunveil.ledger.ledger import Ledger

    check_target(out, *([] if is_url(where) else [Path(where)]))
    with Ledger(where) as ledger:
        exported = [
            {
                **ledger.dataset(each).to_dict(),
                "verdict": ledger.verify(each).to_dict(),
                "entries": [_plain(entry) for entry in ledger.entries(each)],
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
    help="An empty database: a file that is not there yet, or a postgresql:// URL.",
)
@json_option
def move_command(where: str, *, target: str, as_json: bool) -> None:
    """Move the ledger to another database, verify it there, and close the old one for good.

    Stop the service first. A move that fails leaves the old ledger in use; one that was interrupted
    is finished by the same command.
    """
    from sunveil.ledger.moving import move_ledger
    from sunveil.service.store.schema import SERVICE_TABLES

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
    from sunveil.ledger.high_water import HighWaterMark

    length, _, head = text.partition(":")
    if name is None:
        raise click.UsageError("--mark is held against one dataset: name it with --dataset")
    if not (length.isdecimal() and int(length) > 0 and head):
        raise click.UsageError("--mark is a number of entries, a colon and a digest")
    return HighWaterMark(int(length), head)


def _plain(entry: Entry) -> dict[str, Any]:
    """Return an entry with its body as it stands: its digest is of that text."""
    return {
        "place": entry.place,
        "kind": entry.kind,
        "body": entry.body,
        "previous": entry.previous,
        "digest": entry.digest,
    }


def _as_json(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False)


def _table(found: dict[str, list[Entry]]) -> str:
    from sunveil.cli.show import aligned

    head = ["dataset", "entry", "at", "kind", "what"]
    rows = [
        [name, str(entry.place), *_described(entry)]
        for name, chain in found.items()
        for entry in chain
    ]
    return aligned([head, *rows]) if rows else "the ledger has no datasets"


def _described(entry: Entry) -> tuple[str, str, str]:
    """Return when an entry was made, its kind and what it says, as far as it can be understood."""
    from sunveil.ledger.acting import actor_of

    try:
        facts = entry.facts()
        by = actor_of(facts)
        said = _what(entry, facts) if by is None else f"{_what(entry, facts)}, by account {by}"
        return str(facts["at"]), entry.kind, said
    except (KeyError, TypeError, ValueError):
        return "-", entry.kind, "CHANGED: it cannot be understood"


def _what(entry: Entry, facts: dict[str, Any]) -> str:
    from sunveil.ledger.amounts import from_nano

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
