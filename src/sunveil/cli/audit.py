"""``sunveil audit``: what is claimed of every mechanism, held against what can be found."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click
from click.core import ParameterSource

from sunveil.cli.files import check_target, write_whole
from sunveil.extras import require_extras
from sunveil.progress import progress

if TYPE_CHECKING:
    from sunveil.endtoend.audit import EndToEndAudit
    from sunveil.privacy.audit import ExactFinding, SamplerFinding
    from sunveil.privacy.independence import IndependenceFinding
    from sunveil.releases.auditing import Audit

Item = TypeVar("Item")

# Something that must hold does not; 2 is for what the user can put right.
BROKEN = 1


@click.command("audit", context_settings={"show_default": True})
@click.option("--pairs", type=int, default=2000, help="Pairs of neighbours for each unit.")
@click.option("--epsilon", type=float, default=1.0, help="The ε that is claimed.")
@click.option("--seed", type=int, default=1, help="The same seed gives the same pairs.")
@click.option("--draws", type=int, default=1000, help="Draws for each test of a sampler.")
@click.option("--json", "as_json", is_flag=True, help="A JSON object instead of tables.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write there, whole or not at all, instead of printing.",
)
@click.option(
    "--end-to-end",
    is_flag=True,
    help="Go through the public doors instead: Python, the command, publication folders, HTTP.",
)
@click.option("--short", is_flag=True, help="With --end-to-end: a minute instead of many.")
@click.pass_context
def audit_command(
    context: click.Context,
    /,
    *,
    pairs: int,
    epsilon: float,
    seed: int,
    draws: int,
    as_json: bool,
    out: Path | None,
    end_to_end: bool,
    short: bool,
) -> None:
    """Try to break the privacy of every mechanism, on simulated records.

    For neighbours made to tell most, the exact privacy loss is held against the claim; what is
    drawn is held against the computed probabilities; and releases are replayed to see that nothing
    public changes with the readings.

    With --end-to-end, simulated files that differ in one reading, day or system, by any bytes, go
    through every public door, and what comes out must not tell them apart by more than is claimed.
    Faults are planted at the end, each of which must be caught. It takes no other numbers.

    Exit code 0: all holds that must. Exit code 1: something does not. Exit code 2: bad input.
    """
    from sunveil.releases.auditing import run_audit

    _check_options(context, end_to_end=end_to_end, short=short)
    if out is not None:
        check_target(out)
    found: Audit | EndToEndAudit
    if end_to_end:
        found, told, summary = _through_doors(short=short)
    else:
        made = run_audit(epsilon=epsilon, pairs=pairs, draws=draws, seed=seed, watch=_watch)
        found, told, summary = made, show_audit(made), verdict(made)
    text = json.dumps(found.to_dict(), indent=2, allow_nan=False) if as_json else told
    if out is None:
        click.echo(text)
    else:
        write_whole(out, text + "\n")
        click.echo(f"{summary} Wrote {out}")
    if not found.holds:
        context.exit(BROKEN)


def _check_options(context: click.Context, *, end_to_end: bool, short: bool) -> None:
    """Refuse options that belong to the other audit."""
    if short and not end_to_end:
        raise click.UsageError("--short is for --end-to-end", context)
    for name in ("pairs", "epsilon", "seed", "draws") if end_to_end else ():
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise click.UsageError(f"--{name} is not for --end-to-end", context)


def _through_doors(*, short: bool) -> tuple[EndToEndAudit, str, str]:
    """Return what an end-to-end audit found, as tables, and in one line."""
    extras = ("publish", "service") if short else ("publish", "service", "synthetic")
    require_extras(*extras, purpose="an end-to-end audit")
    from sunveil.cli import main
    from sunveil.cli.audited import show_end_to_end, verdict_end_to_end
    from sunveil.endtoend.audit import audit_end_to_end

    found = audit_end_to_end(main, short=short, watch=_watch_cases)
    return found, show_end_to_end(found), verdict_end_to_end(found)


def show_audit(found: Audit) -> str:
    """Return what was found as tables that a person can read, the verdict last."""
    from sunveil.cli.show import aligned

    exact = ("mechanism", "protects", "claimed ε", "largest", "share", "pairs", "verdict")
    drawn = ("drawn from", "protects", "draws", "cells", "p-value", "verdict")
    replayed = ("replayed", "protects", "pairs", "verdict")
    return "\n".join(
        [
            aligned([exact, *map(_exact_row, found.exact)]),
            "",
            aligned([drawn, *map(_sampler_row, found.samplers)]),
            "",
            aligned([replayed, *map(_independence_row, found.independence)]),
            "",
            "largest: the largest privacy loss of a pair, in exact probabilities; tight: 80% of the"
            " claim or more.",
            "The paper's claim is conditional: it is shown beside the others and need not hold.",
            "",
            verdict(found),
        ]
    )


def verdict(found: Audit) -> str:
    """Return in one line whether everything held that must."""
    if not found.holds:
        return "Something that must hold does not: see the verdicts."
    return f"All holds that must, over {found.pairs:,} pairs of neighbours."


def _exact_row(found: ExactFinding) -> tuple[str, ...]:
    claim = f"{found.epsilon:g}" + (f", δ = {found.delta:g}" if found.delta else "")
    return (
        found.mechanism,
        found.unit,
        claim,
        f"{found.largest:.6f}",
        f"{100.0 * found.share:.1f}%",
        f"{found.pairs:,}",
        _exact_verdict(found),
    )


def _exact_verdict(found: ExactFinding) -> str:
    if not found.required:
        return "conditional" if found.holds else "conditional, exceeded"
    if not found.holds:
        return "BROKEN"
    return "holds, tight" if found.tight else "holds"


def _sampler_row(found: SamplerFinding) -> tuple[str, ...]:
    fair = "holds" if found.tested else "too peaked, not tested"
    return (
        found.mechanism,
        found.unit,
        f"{found.draws:,}",
        str(found.cells),
        f"{found.p_value:.2g}",
        fair if found.holds else "BROKEN",
    )


def _independence_row(found: IndependenceFinding) -> tuple[str, ...]:
    faults = {
        "choices changed": found.choices_changed,
        "frames changed": found.frames_changed,
        "scores changed": found.scores_changed,
        "refused": found.refused,
    }
    listed = ", ".join(f"{what} in {count:,}" for what, count in faults.items() if count)
    return found.name, found.unit, f"{found.pairs:,}", f"BROKEN: {listed}" if listed else "holds"


def _watch(items: Iterable[Item], doing: str, total: int, /) -> Iterable[Item]:
    return progress(items, doing, total=total, unit="pair")


def _watch_cases(items: Iterable[Item], doing: str, total: int, /) -> Iterable[Item]:
    return progress(items, doing, total=total, unit="case")
