"""High-water marks, kept apart from the ledger, so that a forgotten spending is noticed.

A ledger restored from a backup is whole in itself: its chain is unbroken, and it has forgotten what
was spent since. The mark remembers how long each dataset's chain has been and how it ended. The new
mark is written aside before a change is made durable, so that a full disk refuses the change, and
put in place after: a ledger may run ahead of its mark, but not behind.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from sunveil.errors import LedgerConflict, LedgerError


@dataclass(frozen=True, slots=True)
class HighWaterMark:
    """How long a dataset's chain has been seen to be, and how it ended.

    Parameters
    ----------
    length
        Number of its entries.
    head
        Digest of the last of them.
    """

    length: int
    head: str


class HighWaterMarks:
    """The high-water marks of one ledger, in one or more files.

    Parameters
    ----------
    paths
        Where they are kept; the highest of them counts, so that one of them may be lost.
    """

    def __init__(self, *paths: Path) -> None:
        self._paths = paths

    def get(self, dataset: str) -> HighWaterMark | None:
        """Return the highest mark of a dataset."""
        return self.all().get(dataset)

    def all(self) -> dict[str, HighWaterMark]:
        """Return the highest mark of every dataset."""
        highest: dict[str, HighWaterMark] = {}
        for path in self._paths:
            for name, mark in _read(path).items():
                if name not in highest or highest[name].length < mark.length:
                    highest[name] = mark
        return highest

    @contextmanager
    def moving(self, dataset: str, mark: HighWaterMark) -> Iterator[None]:
        """Move a dataset's mark forward, never back, once the ``with`` block has ended well."""
        with self.moving_all({dataset: mark}):
            yield

    @contextmanager
    def moving_all(self, marks: Mapping[str, HighWaterMark]) -> Iterator[None]:
        """Move the marks of datasets forward, never back, once the ``with`` block has ended well.

        Everything that may fail is done before the block: what makes a change durable stands in it.
        """
        with ExitStack() as locks:
            staged: list[tuple[Path, Path]] = []
            try:
                for path in self._paths:
                    with _refusing(path):
                        locks.enter_context(_locked(path))
                        known = _read(path)
                        higher = {
                            name: mark
                            for name, mark in marks.items()
                            if name not in known or known[name].length < mark.length
                        }
                        if higher:
                            staged.append((_stage(path, known | higher), path))
                yield
                for aside, path in staged:
                    with _refusing(path):
                        os.replace(aside, path)
            except BaseException:  # an interrupt too must leave nothing behind
                for aside, _ in staged:
                    with suppress(OSError):
                        aside.unlink()
                raise


def _read(path: Path) -> dict[str, HighWaterMark]:
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        return {
            name: HighWaterMark(int(length), str(head)) for name, (length, head) in stored.items()
        }
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise LedgerError(
            f"the high-water mark {path} cannot be read: {_reason(error)}; check its rights"
        ) from None
    except (ValueError, TypeError, AttributeError):
        raise LedgerConflict(
            f"the high-water mark {path} is not as it was written; find out who changed it, and"
            " remove it only once the ledger is known to be the newest"
        ) from None


def _stage(path: Path, marks: dict[str, HighWaterMark]) -> Path:
    """Write marks aside, down to the disk; the lock is held, so that one name will do."""
    aside = path.with_name(f".{path.name}.part")
    stored = {name: [each.length, each.head] for name, each in sorted(marks.items())}
    try:
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write((json.dumps(stored, indent=1) + "\n").encode())
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        with suppress(OSError):
            aside.unlink()
        raise
    return aside


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_name(path.name + ".lock"), mode=0o600, poll_interval=0.01):
        yield


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Say in one sentence that a mark cannot be written."""
    try:
        yield
    except OSError as error:
        raise LedgerError(
            f"the high-water mark {path} cannot be written: {_reason(error)}; check its folder, its"
            " rights and the disk"
        ) from None


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
