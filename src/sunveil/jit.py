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
from importlib import import_module
from pathlib import Path
from typing import Any

import numba
import platformdirs
from llvmlite import binding

Function = Callable[..., Any]


def _load_lightly() -> None:
    """Load numba's functions of arrays without scipy's linear algebra, which no loop here uses.

    numba looks whether it is there, and that alone takes a fifth of a second. A loop that does
    multiply matrices still finds it.
    """
    try:
        linalg: Any = import_module("numba.np.linalg")
        look = linalg.ensure_blas
    except (ImportError, AttributeError):
        return  # another numba, which does as it likes
    linalg.ensure_blas = lambda: None
    try:
        import_module("numba.np.arraymath")
    finally:
        linalg.ensure_blas = look


_load_lightly()
_CONFIG: Any = numba.config  # its names are made at run time
_ROOMS = ("cells", "quick", "fleet")
# Compilers keep to half of the widest registers unless told that these loops are worth it.
_WIDE = "-prefer-256-bit"
# Sums may be taken in any order and products fused; missing values are still told from numbers.
_FAST = {"reassoc", "contract", "arcp", "nsz"}


def _use_wide_registers() -> None:
    """Let compiled loops use the widest registers that the processor has."""
    here = binding.get_host_cpu_features()
    if here.get("avx512f") and _CONFIG.CPU_FEATURES is None and _CONFIG.CPU_NAME is None:
        _CONFIG.CPU_FEATURES = f"{here.flatten()},{_WIDE}"


_use_wide_registers()


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
