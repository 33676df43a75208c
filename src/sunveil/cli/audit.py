"""``sunveil audit``: what is claimed of every mechanism, and the worst neighbours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sunveil._files import write_whole
from sunveil.cli._options import check_target

if TYPE_CHECKING:
    from sunveil.privacy.mechanism_audit import ExactFinding, SamplerFinding

BROKEN = 1  # something that must hold does not; 2 is for what the user can put right


@click.command("audit", context_settings={"show_default": True})
@click.option(
    "--pairs", type=int, default=2000, help="Number of neighbouring pairs for each mechanism."
)
@click.option("--epsilon", type=float, default=1.0, help="Claimed ε.")
@click.option(
    "--seed", type=int, default=1, help="Random seed; the same seed gives the same pairs."
)
@click.option("--draws", type=int, default=1000, help="Number of draws for each test of a sampler.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE", help="Write to this file instead."
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
    """Test the privacy of every mechanism on worst-case neighbouring records.

    Compares the exact privacy loss of each pair with the claim, and draws with the computed
    probabilities. Reads no file.

    Exit code 0: all claims hold. Exit code 1: a claim does not hold. Exit code 2: bad input.
    """
    from sunveil.privacy.mechanism_audit import run_audit

    if out is not None:
        check_target(out)
    exact, samplers = run_audit(epsilon=epsilon, pairs=pairs, draws=draws, seed=seed)
    found: dict[str, list[Any]] = {"exact": exact, "samplers": samplers}
    holds = all(each.holds for these in found.values() for each in these)
    good = f"All {len(exact)} claims hold, over {pairs:,} pairs each, and so do the draws."
    verdict = good if holds else "Something that must hold does not: see the verdicts."
    text = f"{show_audit(exact, samplers)}\n\n{verdict}"
    if as_json:
        told = {name: [each.to_dict() for each in these] for name, these in found.items()}
        about = {"epsilon": epsilon, "seed": seed, "holds": holds}
        text = json.dumps({**about, **told}, indent=2, allow_nan=False)
    if out is not None:
        write_whole(out, text + "\n")
        text = f"{verdict} Wrote {out}"
    click.echo(text)
    if not holds:
        context.exit(BROKEN)


def show_audit(exact: list[ExactFinding], samplers: list[SamplerFinding]) -> str:
    """Return what was found as tables that a person can read."""
    from sunveil.cli._text import aligned

    claims = [("mechanism", "protects", "claimed ε", "largest", "share", "pairs", "verdict")]
    for each in exact:
        numbers = (f"{each.largest:.6f}", f"{100.0 * each.share:.1f}%", f"{each.pairs:,}")
        claims.append((each.mechanism, each.unit, f"{each.epsilon:g}", *numbers, each.verdict))
    drawn = [("drawn from", "protects", "draws", "cells", "p-value", "verdict")]
    for some in samplers:
        numbers = (f"{some.draws:,}", str(some.cells), f"{some.p_value:.2g}")
        drawn.append((some.mechanism, some.unit, *numbers, some.verdict))
    return (
        f"{aligned(claims)}\n\n{aligned(drawn)}\n\nlargest: the largest privacy loss of a pair, in"
        " exact probabilities; tight: 80% of the claim or more."
    )
