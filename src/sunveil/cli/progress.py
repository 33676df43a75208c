"""Bars that commands move by hand, and interrupts that are never lost."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from sunveil.progress import make_bar, shows_bars


def compile_first(*, net: bool = False) -> None:
    """Compile the engine's kernels where that was never done, saying so on stderr.

    Parameters
    ----------
    net
        Whether those for net meters too; a fleet that has some compiles them when it meets them.
    """
    from sunveil.engine.warm import compile_kernels

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
