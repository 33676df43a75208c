"""How the loops of this room are compiled, and where that is kept.

What was compiled is kept in the user's cache folder under a name made of the sources of this room
and of the tables it reads: numba itself looks at the file of a function only, and would run
yesterday's code of what that function calls.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import platformdirs

Function = Callable[..., Any]

_CONFIG: Any = numba.config  # its names are made at run time
# Sums may be taken in any order and products fused; missing values are still told from numbers.
_FAST = {"reassoc", "contract", "arcp", "nsz"}


@functools.lru_cache(maxsize=1)
def _kept_in() -> str:
    """Return the folder of what these very sources were compiled to."""
    if _CONFIG.CACHE_DIR:
        return str(_CONFIG.CACHE_DIR)
    here = Path(__file__).parent
    sources = sorted(here.glob("*.py")) + sorted((here.parent / "cells").glob("*.py"))
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
    return str(Path(platformdirs.user_cache_dir("sunveil")) / "compiled" / digest[:16])


def compiled(function: Function) -> Function:
    """Return a function compiled on first use, kept on disk, that lets other threads run."""
    before = _CONFIG.CACHE_DIR
    _CONFIG.CACHE_DIR = _kept_in()
    try:
        made: Function = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)(
            function
        )
    finally:
        _CONFIG.CACHE_DIR = before
    return made
