"""Atomic file writes, folder locks, progress bars, cells of CSV files that are no formulas."""

from __future__ import annotations

import math
import os
import re
import secrets
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock, Timeout

from sunveil.errors import ParameterError


def write_whole(path: Path, content: str | bytes, *, private: bool = False) -> None:
    """Write a file in one step: readers see the old file or the whole new one."""
    target = real_path(path)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(temporary, flags, 0o600 if private else 0o666), "wb") as file:
            file.write(content.encode("utf-8") if isinstance(content, str) else content)
        os.replace(temporary, target)
    except BaseException:  # an interrupt too must leave nothing behind
        with suppress(OSError):
            temporary.unlink()
        raise


def real_path(path: Path) -> Path:
    """Return a path with its links followed, so that the file they name is meant."""
    return Path(os.path.realpath(path))


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep a folder for one run: another that is asked for it meanwhile is refused."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / ".lock", mode=0o600, blocking=False)
    try:
        lock.acquire()
    except Timeout:
        raise ParameterError(
            f"another run is writing to {folder}; wait for it, or choose another folder"
        ) from None
    try:
        yield
    finally:
        with suppress(OSError):
            Path(lock.lock_file).unlink()
        lock.release()


Item = TypeVar("Item")


def shows_bars() -> bool:
    """Whether somebody watches: stderr is a terminal, or the code runs in a notebook."""
    return sys.stderr.isatty() or _in_notebook()


def make_bar(items: Iterable[Any] | None = None, **options: Any) -> Any:
    """Return tqdm's bar: a widget in a notebook that has widgets, else a line on stderr."""
    with warnings.catch_warnings():
        # a notebook without widgets gets the line, without a warning
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm

    return tqdm(items, leave=False, file=sys.stderr, **options)


def progress(
    items: Iterable[Item], doing: str, *, total: int | None = None, unit: str = "system"
) -> Iterable[Item]:
    """Return the items, with a bar while they are taken if somebody watches."""
    if not shows_bars():
        return items
    bar: Iterable[Item] = make_bar(items, desc=doing, total=total, unit=f" {unit}")
    return bar


def _in_notebook() -> bool:
    """Whether the code runs in a kernel of Jupyter's."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return "IPKernelApp" in getattr(shell, "config", {})


# How formulas begin; the last four are the wide forms that some spreadsheets take for the first.
_DANGEROUS = re.compile(r"^'*[=+\-@\t\r\n＝＋－＠]")
_DEFUSED = re.compile(r"^'+[=+\-@\t\r\n＝＋－＠]")


def defuse(text: str) -> str:
    """Return a text as it stands in a CSV file.

    >>> defuse("=HYPERLINK(1)"), defuse("'=1"), defuse("F-1")
    ("'=HYPERLINK(1)", "''=1", 'F-1')
    """
    return f"'{text}" if _DANGEROUS.match(text) else text


def restore(text: str) -> str:
    """Return the text that :func:`defuse` was given.

    >>> restore("'=HYPERLINK(1)"), restore("'tis")
    ('=HYPERLINK(1)', "'tis")
    """
    return text[1:] if _DEFUSED.match(text) else text


def defused(cell: Any) -> Any:
    """Return a cell as a CSV file has it: a text that looks like a formula gets an apostrophe."""
    if cell is None or (isinstance(cell, float) and not math.isfinite(cell)):
        return ""
    if isinstance(cell, list | tuple):
        cell = " ".join(str(each) for each in cell)
    return defuse(cell) if isinstance(cell, str) else cell
