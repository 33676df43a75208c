"""Text in a terminal: tables, colour, progress, errors."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from sunveil._files import make_bar, shows_bars
from sunveil.errors import SunveilError

if TYPE_CHECKING:
    from sunveil.releases.release_answer import ExpectedErrors

# What cells of tables are coloured by; everything is said in words as well.
COLOURS = {
    "fine": "green",
    "good": "green",
    "fair": "yellow",
    "look": "yellow",
    "poor": "red",
    "refused": "red",
    "unknown": "red",
}

_CELL = re.compile(rf"(?<=  )({'|'.join(COLOURS)})(?=  |$)", re.MULTILINE)

_HEAD = re.compile(r"^(.+)$(?=\n-+(  -+)*$)", re.MULTILINE)


def say(text: str, *, err: bool = False) -> None:
    """Print a text, in colours where it is read on a terminal."""
    # https://no-color.org: set to anything, no colours are wanted
    click.echo(tinted(text), err=err, color=False if os.environ.get("NO_COLOR") else None)


def tinted(text: str) -> str:
    """Return a text with the heads of its tables in bold, and cells coloured by what they say."""
    bold = _HEAD.sub(lambda found: click.style(found[1], bold=True), text)
    return _CELL.sub(lambda found: click.style(found[1], fg=COLOURS[found[1]]), bold)


FAILURE = 2

INTERRUPTED = 130

# As sysexits.h has it: a defect of the program itself.
DEFECTIVE = 70


@dataclass(frozen=True, slots=True)
class Refusal:
    """A system that could not be inferred, and why in one sentence."""

    system_id: str
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Return the refusal as plain JSON types."""
        return {"system_id": self.system_id, "error": self.reason}


def sentence(error: Exception) -> str:
    """Return an error in one line, without a full stop."""
    if isinstance(error, click.UsageError):
        text = _usage(error)
    elif isinstance(error, click.ClickException):
        text = error.format_message()
    elif isinstance(error, OSError):
        text = _system(error)
    else:
        text = str(error)
    return printable(" ".join(text.split())).rstrip(".")


MOST_NAMED = 5  # systems that a line names


def named(systems: Sequence[str]) -> str:
    """Return the names of a few systems, and how many more there are."""
    more = len(systems) - MOST_NAMED
    names = ", ".join(systems[:MOST_NAMED])
    return f"{names} and {more} more" if more > 0 else names


def own_reason(refusal: Refusal) -> str:
    """Return why a system was refused, without its name."""
    return refusal.reason.split(f"system {refusal.system_id}", 1)[-1].lstrip(":, ")


def say_left_out(refusals: Sequence[Refusal]) -> None:
    """Print which systems were skipped to stderr: a line for each reason, with its systems."""
    systems: dict[str, list[str]] = {}  # a system may be skipped in several files
    for each in {(each.system_id, each.reason): each for each in refusals}.values():
        systems.setdefault(own_reason(each), []).append(each.system_id)
    reasons = {own_reason(each): each.reason for each in refusals}
    for reason, names in systems.items():
        count = "" if len(names) == 1 else f"{len(names):,} systems, "
        why = sentence(SunveilError(reasons[reason] if len(names) == 1 else reason))
        click.echo(f"sunveil: skipped {count}{printable(named(names))}: {why}", err=True)


def printable(text: str) -> str:
    """Return text without what would move a terminal's cursor or change its colours."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _usage(error: click.UsageError) -> str:
    said = error.format_message().rstrip(".")
    path = "sunveil" if error.ctx is None else error.ctx.command_path
    return f"{said[:1].lower()}{said[1:]}; see {path} --help"


def _system(error: OSError) -> str:
    where = "" if error.filename is None else f"{error.filename}: "
    reason = error.strerror or type(error).__name__
    return f"{where}{reason[:1].lower()}{reason[1:]}; check the path, its rights and the disk"


def compile_first(*, net: bool = False) -> None:
    """Compile the engine's kernels where that was never done, saying so on stderr."""
    from sunveil.engine.infer import compile_kernels

    compile_kernels(lambda text: print(text, file=sys.stderr, flush=True), net=net)


@contextmanager
def counting(doing: str, *, unit: str = "system") -> Iterator[Callable[[int, int], None]]:
    """Yield what shows how many of how many are done, with rate and time left, on a terminal."""
    if not shows_bars():
        yield lambda done, total: None
        return
    with make_bar(desc=doing, unit=f" {unit}") as bar:

        def show(done: int, total: int) -> None:
            if bar.total is None:
                # what an earlier run has done says nothing of the rate
                bar.reset(total)
                bar.initial = bar.n = done
            bar.update(done - bar.n)

        yield show


@contextmanager
def interruptible() -> Iterator[Callable[[], None]]:
    """Yield what raises KeyboardInterrupt if one was asked for and got lost."""
    # Python drops an interrupt that comes while it runs a destructor or a callback; work of many
    # steps asks here between them.
    asked: list[int] = []

    def remember(number: int, _frame: FrameType | None) -> None:
        asked.append(number)
        raise KeyboardInterrupt

    def stop() -> None:
        if asked:
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = signal.signal(signal.SIGINT, remember)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


def errors_line(expected: ExpectedErrors) -> str:
    """Return the errors to expect of single systems as a sentence."""
    from sunveil.releases.expected_errors import UNKNOWN_LABEL

    parts = [
        f"azimuth {expected.azimuth.mean:.1f}° ({expected.azimuth.within:.0f}°)",
        f"tilt {expected.tilt.mean:.1f}° ({expected.tilt.within:.0f}°)",
    ]
    if expected.capacity is not None:
        parts.append(f"capacity {expected.capacity.mean:.0f}% ({expected.capacity.within:.0f}%)")
    said = f"Errors to expect, mean (nine in ten within): {', '.join(parts)}; {expected.basis}."
    return f"{said} Set it with option `label`." if UNKNOWN_LABEL in expected.basis else said


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as lines with their columns aligned, the first row underlined."""
    clean = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*clean, strict=True)]
    clean.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in clean
    )
