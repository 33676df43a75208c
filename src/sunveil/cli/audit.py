"""``sunveil audit``: what is claimed of every mechanism, held against what can be found."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from sunveil.cli.files import check_target, write_whole
from sunveil.cli.progress import progress

if TYPE_CHECKING:
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
) -> None:
    """Try to break the privacy of every mechanism, on simulated records.

    For neighbours made to tell most, the exact privacy loss is held against the claim; what is
    drawn is held against the computed probabilities; and releases are replayed to see that nothing
    public changes with the readings.

    Exit code 0: all holds that must. Exit code 1: something does not. Exit code 2: bad input.
    """
    from sunveil.releases.auditing import run_audit

    if out is not None:
        check_target(out)
    found = run_audit(epsilon=epsilon, pairs=pairs, draws=draws, seed=seed, watch=_watch)
    text = _as_json(found) if as_json else show_audit(found)
    if out is None:
        click.echo(text)
    else:
        write_whole(out, text + "\n")
        click.echo(f"{verdict(found)} Wrote {out}")
    if not found.holds:
        context.exit(BROKEN)


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


def _as_json(found: Audit) -> str:
    return json.dumps(found.to_dict(), indent=2, allow_nan=False)


def _watch(items: Iterable[Item], doing: str, total: int, /) -> Iterable[Item]:
    return progress(items, doing, total=total, unit="pair")
