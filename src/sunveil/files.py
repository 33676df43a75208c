"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, content: str | bytes, *, private: bool = False) -> None:
    """Write a file in one step: readers see the old file or the whole new one.

    Parameters
    ----------
    path
        Where; a file that stands there is replaced, through links.
    content
        Text, which is written in UTF-8, or bytes.
    private
        Whether its owner alone may read it.
    """
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
