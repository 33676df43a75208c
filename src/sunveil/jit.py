"""How loops are compiled, and where that is kept.

What was compiled is kept in the user's cache folder under a name made of the sources of the rooms
that compile: numba itself looks at the file of a function only, and would run yesterday's code of
what that function calls.
"""

from __future__ import annotations

import functools
import hashlib
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import platformdirs

Function = Callable[..., Any]

_CONFIG: Any = numba.config  # its names are made at run time
_ROOMS = ("cells", "quick", "fleet")
# Sums may be taken in any order and products fused; missing values are still told from numbers.
_FAST = {"reassoc", "contract", "arcp", "nsz"}


@functools.lru_cache(maxsize=1)
def _kept_in() -> str | None:
    """Return the folder of what these very sources were compiled to; None where none can be."""
    if _CONFIG.CACHE_DIR:
        return str(_CONFIG.CACHE_DIR)
    here = Path(__file__).parent
    sources = [source for room in _ROOMS for source in sorted((here / room).glob("*.py"))]
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
    folder = Path(platformdirs.user_cache_dir("sunveil")) / "compiled" / digest[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return str(folder)
    except OSError:
        return None  # every run compiles anew, which costs time and no more


def compiled(function: Function) -> Function:
    """Return a function compiled on first use, kept on disk, that lets other threads run.

    Sums may be taken in any order, so that a processor's wide registers can be used.
    """
    return _made(function, fastmath=_FAST)


def compiled_exactly(function: Function) -> Function:
    """Return the same with sums taken as they are written."""
    return _made(function)


def _made(function: Function, **flags: Any) -> Function:
    folder = _kept_in()
    before = _CONFIG.CACHE_DIR
    _CONFIG.CACHE_DIR = folder or before
    try:
        made: Function = numba.njit(
            cache=folder is not None, nogil=True, error_model="numpy", **flags
        )(function)
    finally:
        _CONFIG.CACHE_DIR = before
    return made
