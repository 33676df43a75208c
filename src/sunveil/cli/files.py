"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from sunveil.errors import ParameterError


def check_target(out: Path, *inputs: Path) -> None:
    """Refuse, before any work is done, a file that cannot or must not be written.

    Parameters
    ----------
    out
        The file to be written.
    inputs
        Files and folders that are read, which it must not spoil.
    """
    target = _real(out)
    if target.exists() and not target.is_file():
        raise ParameterError(f"--out {out} is not a file; name a file to be written")
    if not target.parent.is_dir():
        raise ParameterError(f"--out {out} is in a folder that does not exist; make it first")
    if not os.access(target.parent, os.W_OK):
        raise ParameterError(f"--out {out} is in a folder that cannot be written; choose another")
    for source in map(_real, inputs):
        if target == source or (source.is_dir() and target.parent == source):
            raise ParameterError(f"--out {out} is among the files that are read; write elsewhere")


def write_whole(path: Path, text: str) -> None:
    """Write a text file in one step: readers see the old file or the whole new one."""
    target = _real(path)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with temporary.open("x", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _real(path: Path) -> Path:
    # Through links, so that the file they name is replaced and not the link.
    return Path(os.path.realpath(path))
