"""Files that a command is asked to write."""

from __future__ import annotations

import os
from pathlib import Path

from sunveil.errors import ParameterError
from sunveil.files import real_path, write_whole

__all__ = ["check_target", "write_whole"]


def check_target(out: Path, *inputs: Path, option: str = "--out") -> None:
    """Refuse, before any work is done, a file that cannot or must not be written.

    Parameters
    ----------
    out
        The file to be written.
    inputs
        Files and folders that are read, which it must not spoil.
    option
        The option that named it.
    """
    target, named = real_path(out), f"{option} {out}"
    if target.exists() and not target.is_file():
        raise ParameterError(f"{named} is not a file; name a file to be written")
    if not target.parent.is_dir():
        raise ParameterError(f"{named} is in a folder that does not exist; make it first")
    if not os.access(target.parent, os.W_OK):
        raise ParameterError(f"{named} is in a folder that cannot be written; choose another")
    for source in map(real_path, inputs):
        if target == source or (source.is_dir() and target.parent == source):
            raise ParameterError(f"{named} is among the files that are read; write elsewhere")
