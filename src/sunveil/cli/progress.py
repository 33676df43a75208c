"""Progress bars, on terminals only, and interrupts that are never lost."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

Item = TypeVar("Item")


def progress(
    items: Iterable[Item], doing: str, *, total: int | None = None, unit: str = "system"
) -> Iterable[Item]:
    """Return the items, with a bar on stderr while they are taken if that is a terminal.

    Parameters
    ----------
    items
        What is worked on.
    doing
        What is done with them, shown before the bar.
    total
        How many there are, where that is known.
    unit
        What one of them is.
    """
    if not sys.stderr.isatty():
        return items
    from tqdm import tqdm

    return tqdm(items, desc=doing, total=total, unit=f" {unit}", leave=False, file=sys.stderr)


def compile_first() -> None:
    """Compile the engine's kernels where that was never done, saying so on stderr."""
    from sunveil.engine.warm import compile_kernels

    compile_kernels(lambda text: print(text, file=sys.stderr, flush=True))


@contextmanager
def counting(doing: str, *, unit: str = "system") -> Iterator[Callable[[int, int], None]]:
    """Yield what shows how many of how many are done, with rate and time left, on a terminal."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from tqdm import tqdm

    with tqdm(desc=doing, unit=f" {unit}", leave=False, file=sys.stderr) as bar:

        def show(done: int, total: int) -> None:
            if bar.total is None:
                # what an earlier run has done says nothing of the rate
                bar.reset(total)
                bar.initial = bar.n = done
            bar.update(done - bar.n)

        yield show


@contextmanager
def interruptible() -> Iterator[Callable[[], None]]:
    """Yield what raises KeyboardInterrupt if one was asked for and got lost.

    Python drops an interrupt that comes while it runs a destructor or a callback; work of many
    steps asks here between them.
    """
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
