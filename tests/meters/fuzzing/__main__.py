"""``python -m fuzzing``: 100,000 cases from fixed seeds over all processors."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from .cases import make_case
from .judge import Finding
from .shrink import shrink
from .workers import check_all


def main() -> int:
    """Run the cases, say how far they are, and list what was found."""
    parser = argparse.ArgumentParser(prog="make fuzz FUZZ=...", description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000, help="how many seeds")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--only", type=int, help="one seed, with what it does")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument(
        "--keep",
        type=Path,
        help="write the file of --only there, as short as it still shows the finding",
    )
    arguments = parser.parse_args()
    if arguments.only is not None:
        return repeat(arguments.only, arguments.keep)
    seeds = range(arguments.first, arguments.first + arguments.cases)
    return report(run(seeds, arguments.workers), len(seeds))


def run(seeds: range, workers: int) -> list[Finding]:
    """Check seeds on several processes, with a line of progress every few seconds."""
    began = said = time.monotonic()

    def say(done: int, found: int) -> None:
        nonlocal said
        now = time.monotonic()
        if now - said > 10.0 or done == len(seeds):
            said = now
            rate = done / (now - began)
            print(f"{done:,} of {len(seeds):,}, {rate:.0f}/s, {found} found", flush=True)

    return check_all(seeds, workers, say)


def report(found: list[Finding], cases: int) -> int:
    """Print findings by what they have in common and return the exit code."""
    groups: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for each in sorted(found, key=lambda finding: finding.seed):
        groups[each.kind, each.signature].append(each)
    for (kind, signature), same in sorted(groups.items(), key=lambda item: -len(item[1])):
        seeds = ", ".join(str(each.seed) for each in same[:5])
        print(f"\n{kind}: {signature}\n  {len(same)} cases, seeds {seeds}\n  {same[0].detail}")
    print(f"\n{cases:,} cases, {len(found)} findings of {len(groups)} kinds")
    if found:
        print('repeat one with make fuzz FUZZ="--only SEED --keep FOLDER"')
    return 1 if found else 0


def repeat(seed: int, keep: Path | None) -> int:
    """Run one seed again and say what it is made of."""
    case = make_case(seed)
    print(f"seed {seed}: {case.sample.name}, {case.sample.file_name}")
    print(f"  done to it: {', '.join(case.draft.steps) or 'nothing'}")
    print(f"  options: {dict(case.options)}")
    if case.command:
        print(f"  command: {' '.join(map(repr, case.command))}")
    if case.schema is not None:
        print(f"  schema: {case.schema[:400]!r}")
    # in a process of its own: it may end that
    found = next(iter(check_all(range(seed, seed + 1), 1, lambda done, findings: None)), None)
    if keep is not None and found is not None and found.kind != "crash":
        with tempfile.TemporaryDirectory() as folder:
            case = shrink(case, found, Path(folder))
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        (keep / case.sample.file_name).write_bytes(case.draft.content)
    print(
        "  nothing found"
        if found is None
        else f"  {found.kind}: {found.signature}\n  {found.detail}"
    )
    return 0 if found is None else 1


if __name__ == "__main__":
    sys.exit(main())
