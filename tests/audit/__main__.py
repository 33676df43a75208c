"""``make audit``: everything that is audited, and every planted fault; exit code 1 if any fails."""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import partial

from audit.cases import REFUSED, Scope
from audit.comparing import CONFIDENCE, EVENTS, AuditCase, audit_case
from audit.entries import EPSILON, Workplace, open_workplace
from audit.faults import audit_accounts, keys_as_written, planted_faults
from audit.releases import (
    audit_midsummer,
    audit_nights,
    nights_told_from_midnight,
    run_audit,
    sums_in_16_bits,
)
from audit.service import open_service
from sunveil.privacy import mechanism_audit as mechanisms

PAIRS, DRAWS = 10_000, 5_000
SHORT_PAIRS, SHORT_DRAWS = 240, 250


@dataclass(frozen=True, slots=True)
class Row:
    """What one check found."""

    ok: bool
    name: str
    words: str

    def __str__(self) -> str:
        return f"{'ok    ' if self.ok else 'FAILED'}  {self.name}: {self.words}"


Check = Callable[[], Iterator[Row]]


def checks(place: Workplace, *, short: bool) -> Generator[tuple[str, Check], None, None]:
    """Yield every check by its name, and hold the service open meanwhile."""
    pairs, draws = (SHORT_PAIRS, SHORT_DRAWS) if short else (PAIRS, DRAWS)
    yield "mechanisms", partial(_mechanisms, pairs, draws)
    yield "releases", partial(_releases, pairs, draws)
    with open_service(place) as service:
        scope = Scope(place, service, short)
        cases = scope.all()
        # one chance in a thousand, shared by all events of all pairs
        alpha = (1.0 - CONFIDENCE) / (EVENTS * sum(len(case.neighbours) for case in cases))
        for case in cases:
            yield case.name, partial(rows_of_case, case, place, alpha)
        for name, case in planted_faults():
            yield f"fault {name}", partial(_fault, f"fault {name}", case, place, alpha)
        yield "accounts", partial(_accounts, place)
        for name, patch, audit in (
            ("fault 3: sums of a day in 16 bits", sums_in_16_bits, audit_midsummer),
            ("fault 5: readings about midnight count", nights_told_from_midnight, audit_nights),
        ):
            yield name, partial(_patched, name, patch, audit)
        yield "fault 4: keys as their files write them", partial(_keys, place)


def _mechanisms(pairs: int, draws: int) -> Iterator[Row]:
    exact, samplers = mechanisms.run_audit(pairs=pairs, draws=draws)
    for each in exact:
        yield Row(each.holds, f"mechanism {each.mechanism}, {each.unit}", _of_loss(each))
    for drawn in samplers:
        name = f"draws of {drawn.mechanism}, {drawn.unit}"
        yield Row(drawn.holds, name, f"p = {drawn.p_value:.2g} in {drawn.draws:,} draws")


def _releases(pairs: int, draws: int) -> Iterator[Row]:
    found = run_audit(pairs=pairs, draws=draws)
    for each in found.exact:
        yield Row(each.holds, f"releases by {each.mechanism}, {each.unit}", _of_loss(each))
    yield Row(True, "releases by the paper, conditional", _of_loss(found.paper))
    for drawn in found.samplers:
        name = f"draws of releases by {drawn.mechanism}, {drawn.unit}"
        yield Row(drawn.holds, name, f"p = {drawn.p_value:.2g} in {drawn.draws:,} draws")
    for again in found.independence:
        changed = f"choices changed in {again.choices_changed}, frames in {again.frames_changed},"
        words = f"{changed} scores in {again.scores_changed}, refused {again.refused}"
        yield Row(again.holds, f"replays of {again.name}, {again.unit}", words)


def _of_loss(found: mechanisms.ExactFinding) -> str:
    return f"loss {found.largest:.6f} of {found.epsilon:g} claimed, {found.pairs:,} pairs"


def rows_of_case(case: AuditCase, place: Workplace, alpha: float) -> Iterator[Row]:
    """Yield what was found of a case, which fails where what is to be answered is refused."""
    found = audit_case(case, place, alpha=alpha)
    words = f"at least {found.bound:.2f} of {found.claim:g}, {found.pairs} pairs, {found.runs} runs"
    refused = "" if found.answered else ", all refused"
    worst = "" if found.holds else f"; {found.worst}"
    ok = found.holds and found.answered != (case.source in REFUSED)
    yield Row(ok, case.name, words + refused + worst)


def _fault(name: str, case: AuditCase, place: Workplace, alpha: float) -> Iterator[Row]:
    found = audit_case(case, place, alpha=alpha)
    # other than by being refused altogether
    caught = not found.holds and found.answered
    words = f"at least {found.bound:.2f}; {found.worst}"
    yield Row(caught, name, f"{'caught' if caught else 'PASSED'}, {words}")


def _accounts(place: Workplace) -> Iterator[Row]:
    spent = audit_accounts(place)
    words = f"{spent:g} spent of {EPSILON:g}"
    yield Row(spent <= EPSILON, "a household in files of three types", words)


def _keys(place: Workplace) -> Iterator[Row]:
    with keys_as_written():
        spent = audit_accounts(place)
    words = f"{spent:g} spent of {EPSILON:g}"
    yield Row(spent > EPSILON, "fault 4: keys as their files write them", words)


def _patched(
    name: str,
    patch: Callable[[], contextlib.AbstractContextManager[None]],
    audit: Callable[[float], mechanisms.ExactFinding],
) -> Iterator[Row]:
    with patch():
        found = audit(EPSILON)
    yield Row(not found.holds, name, _of_loss(found))


NOTHING = 3  # exit code of a part without a check of that name


def run(*, short: bool, part: tuple[int, int] = (1, 1), only: str = "") -> int:
    """Run the checks, or a part of them, print what each found, and return an exit code."""
    begun, rows = time.monotonic(), []
    with open_workplace() as place, contextlib.closing(checks(place, short=short)) as every:
        for number, (name, check) in enumerate(every):
            if number % part[1] == part[0] - 1 and only in name:
                for row in check():
                    rows.append(row)
                    print(row, flush=True)
    failed = sum(not row.ok for row in rows)
    print(f"{len(rows)} checks, {failed} failed, in {time.monotonic() - begun:,.0f} s.", flush=True)
    return int(failed > 0) if rows else NOTHING


def main() -> int:
    """Run the audit, in several processes by default."""
    parser = argparse.ArgumentParser(prog="make audit", description=__doc__)
    parser.add_argument("--short", action="store_true", help="what broke a reader before, once")
    parser.add_argument("--only", default="", help="checks with this in their name")
    parser.add_argument("--part", help="a part, as in 2/9")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    if given.part:
        number, parts = map(int, given.part.split("/"))
        return run(short=given.short, part=(number, parts), only=given.only)
    count = given.processes
    line = [sys.executable, "-m", "audit", "--only", given.only, *["--short"] * given.short]
    running = [subprocess.Popen([*line, "--part", f"{at + 1}/{count}"]) for at in range(count)]
    codes = {each.wait() for each in running}
    failed = bool(codes - {0, NOTHING}) or codes == {NOTHING}
    print("The audit failed." if failed else "All holds, and every planted fault was caught.")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
