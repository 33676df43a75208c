"""Hash-chained entries, acting account, high-water marks."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from sunveil.errors import LedgerConflict, LedgerError, ParameterError

# With twice the length of a name, since an account may be named with where it comes from.
LONGEST = 400

FIELD = "by"

_acting: ContextVar[str | None] = ContextVar("acting", default=None)


@contextmanager
def acting_as(account: str | None) -> Iterator[None]:
    """Have entries that are written within the block say which account did it."""
    # It holds in threads to which the block's context is copied, as `asyncio.to_thread` does.
    if account is not None and not (account.isprintable() and 0 < len(account) <= LONGEST):
        raise ParameterError(f"the name of an account is 1 to {LONGEST} printable letters")
    token = _acting.set(account)
    try:
        yield
    finally:
        _acting.reset(token)


def acting_account() -> str | None:
    """Return which account acts now, or None."""
    return _acting.get()


def actor_fields() -> dict[str, str]:
    """Return the field of an entry's body that says who acts: empty where nobody is named."""
    account = acting_account()
    return {} if account is None else {FIELD: account}


def actor_of(facts: dict[str, Any]) -> str | None:
    """Return which account an entry's body says did it, or None."""
    found = facts.get(FIELD)
    return None if found is None else str(found)


GENESIS = "0" * 64


def canonical(body: dict[str, Any]) -> str:
    """Return a body as canonical JSON: equal bodies give the same text."""
    return json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest_of(text: str) -> str:
    """Return the SHA-256 digest of a text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a ledger."""

    place: int  # its number within its dataset, from 1
    kind: str
    body: str  # what happened, as canonical JSON
    previous: str  # digest of the entry before

    @property
    def digest(self) -> str:
        """SHA-256 of the entry and the digest before it: binds the next entry to this one."""
        return digest_of(f"{self.place}\n{self.kind}\n{self.previous}\n{self.body}")

    def facts(self) -> dict[str, Any]:
        """Return the body, parsed."""
        found: dict[str, Any] = json.loads(self.body)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return it with its body as it stands: its digest is of that text."""
        return {**asdict(self), "digest": self.digest}


@dataclass(frozen=True, slots=True)
class HighWaterMark:
    """How long a dataset's chain has been seen to be, and how it ended."""

    length: int  # number of its entries
    head: str  # digest of the last of them

    @classmethod
    def parse(cls, text: str) -> HighWaterMark | None:
        """Return the mark that a text such as ``12:0a1b…`` names, or None."""
        length, _, head = text.strip().partition(":")
        named = length.isdecimal() and int(length) > 0 and head
        return cls(int(length), head) if named else None


class HighWaterMarks:
    """The high-water marks of one ledger, in one or more files."""

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
        # Everything that may fail is done before the block: what makes a change durable stands in
        # it.
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
