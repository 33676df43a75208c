"""What ``sunveil audit --end-to-end`` says of what it found."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sunveil.endtoend.audit import EndToEndAudit
    from sunveil.endtoend.comparing import CaseFinding
    from sunveil.endtoend.faults import FaultFinding


def show_end_to_end(found: EndToEndAudit) -> str:
    """Return what was found as tables that a person can read, the verdict last."""
    from sunveil.cli.show import aligned

    head = ("door", "files", "differ in", "claimed ε", "at least", "pairs", "runs", "verdict")
    faults = ("planted fault", "door", "at least", "verdict")
    worst = [f"{each.door}, {each.source}: {each.worst}" for each in found.cases if not each.holds]
    return "\n".join(
        [
            aligned([head, *map(_case_row, found.cases)]),
            "",
            aligned([faults, *map(_fault_row, found.faults)]),
            "",
            *worst,
            *([""] if worst else []),
            "at least: what ε surely is, from how often neighbours were told apart; with"
            f" {100.0 * found.confidence:g}%, no",
            "claim that is kept is called broken anywhere in this table.",
            "",
            verdict_end_to_end(found),
        ]
    )


def verdict_end_to_end(found: EndToEndAudit) -> str:
    """Return in one line whether all claims hold and all planted faults were caught."""
    missed = sum(not each.caught for each in found.faults)
    if missed:
        return f"The audit itself is not to be trusted: {missed} of its planted faults passed."
    if not found.holds:
        return "A claim is exceeded: see the verdicts."
    return (
        f"No claim is exceeded over {found.pairs:,} pairs of neighbours, and all"
        f" {len(found.faults)} planted faults were caught, in {found.seconds:,.0f} s."
    )


def _case_row(found: CaseFinding) -> tuple[str, ...]:
    return (
        found.door,
        found.source,
        found.unit,
        f"{found.claim:g}",
        f"{found.bound:.2f}",
        f"{found.pairs:,}",
        f"{found.runs:,}",
        _case_verdict(found),
    )


def _case_verdict(found: CaseFinding) -> str:
    if not found.holds:
        return "BROKEN"
    return "holds" if found.answered else "holds, all refused"


def _fault_row(found: FaultFinding) -> tuple[str, ...]:
    verdict = "caught" if found.caught else "PASSED"
    return found.name, found.finding.door, f"{found.finding.bound:.2f}", verdict
