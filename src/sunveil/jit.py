"""How loops are compiled, and where that is kept.

What was compiled is kept in the user's cache folder under a name made of the sources that it was
compiled from: numba itself looks at the file of a function only, and would run yesterday's code of
what that function calls. Later processes load it without numba: see :mod:`sunveil.kept`.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import tempfile
import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs

Function = Callable[..., Any]
# Rooms that compile, and where their numbers come from.
_SOURCES = ("*.py", "cells/*.py", "fit/*.py", "fleet/*.py", "quick/*.py")
# How other releases of numba call what they compiled was not looked at: those load it themselves.
_KNOWN = ("0.68.",)
# Compilers keep to half of the widest registers unless told that these loops are worth it.
_WIDE = "-prefer-256-bit"
# Sums may be taken in any order and products fused; missing values are still told from numbers.
_FAST = frozenset({"reassoc", "contract", "arcp", "nsz"})
# How numpy flags arrays: contiguous by rows or columns; aligned and writeable.
_ROWS, _COLUMNS, _USE = 0x1, 0x2, 0x500
_lock = threading.RLock()


class Compiled:
    """A function that is compiled when it is first called with arguments of some kind.

    Other functions that are compiled may call it; it lets other threads run.

    Parameters
    ----------
    function
        What is compiled.
    fast
        What may be done to sums and products, as numba names it.
    """

    def __init__(self, function: Function, *, fast: frozenset[str]) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._name = function.__name__
        self._fast = fast
        self._ready: dict[Any, Function] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Call what was compiled for such arguments."""
        kind = kind_of(arguments)
        found = self._ready.get(kind)
        if found is None:
            with _lock:
                found = self._ready.get(kind) or self._found(kind, arguments)
                self._ready[kind] = found
        return found(*arguments)

    @functools.cached_property
    def within(self) -> Any:
        """It as numba has it when other functions call it."""
        return _made(self._function, self._fast, _folder())

    @property
    def _numba_type_(self) -> Any:
        # numba asks whatever it meets for its type in this way
        return self.within._numba_type_

    def _found(self, kind: Any, arguments: tuple[Any, ...]) -> Function:
        path = self._path(kind)
        if path is not None and path.is_file():
            from sunveil import kept

            found = kept.load(path)
            if found is not None:
                return found
        return self._compiled(path, arguments)

    def _path(self, kind: Any) -> Path | None:
        """Return the file of what is compiled for arguments of a kind; None where none can be."""
        folder = _folder()
        if folder is None:
            return None
        from sunveil import kept

        who = self._function.__module__, self._function.__qualname__, sorted(self._fast)
        told = repr((who, kind, kept.made_by()))
        return folder / f"{self._name}-{hashlib.sha256(told.encode()).hexdigest()[:24]}.code"

    def _compiled(self, path: Path | None, arguments: tuple[Any, ...]) -> Function:
        """Compile it, and keep it where what it returns is a number or nothing."""
        made = self.within
        types = tuple(made.typeof_pyval(each) for each in arguments)
        entry: Function = made.compile(types)
        if path is None or not _can_be_kept(made.overloads[types]):
            return entry
        if made.stats.cache_hits.get(types):
            # numba kept it, and does not give its code away again
            made = _made(self._function, self._fast, None)
            made.compile(types)
        from sunveil import kept

        result = made.overloads[types]
        _, _, (code, _) = result.library.serialize_using_object_code()
        told = result.fndesc
        names = {"entry": told.llvm_cpython_wrapper_name, "environment": told.env_name}
        with contextlib.suppress(OSError):  # a full disk costs time, and no more
            kept.keep(path, name=self._name, code=bytes(code), **names)
        # numba may have linked it otherwise, and would round otherwise than the processes to come
        return kept.load(path) or entry


def _can_be_kept(result: Any) -> bool:
    """Return whether what numba compiled returns a number or nothing, and its release is known."""
    numba = _numba()
    plain = numba.types.Boolean, numba.types.NoneType, numba.types.Number
    known: bool = numba.__version__.startswith(_KNOWN)
    return known and isinstance(result.signature.return_type, plain)


def compiled(function: Function) -> Compiled:
    """Return a function compiled on first use, kept on disk, that lets other threads run.

    Sums may be taken in any order, so that a processor's wide registers can be used.
    """
    return Compiled(function, fast=_FAST)


def compiled_exactly(function: Function) -> Compiled:
    """Return the same with sums taken as they are written."""
    return Compiled(function, fast=frozenset())


def kind_of(value: Any) -> Any:
    """Return what compiled code for a value depends on: types and layouts, but no sizes."""
    if isinstance(value, np.ndarray):
        flags = value.flags.num
        # what is contiguous both ways counts as rows after rows
        layout = flags & _ROWS or flags & _COLUMNS
        return value.dtype.str, value.ndim, layout, flags & _USE
    if isinstance(value, tuple):
        return (type(value), *map(kind_of, value))
    return value.dtype.str if isinstance(value, np.generic) else type(value)


@functools.cache
def _numba() -> Any:
    """Load numba, and let it use the widest registers that the processor has."""
    numba: Any = import_module("numba")
    here = import_module("llvmlite.binding").get_host_cpu_features()
    config = numba.config
    if here.get("avx512f") and config.CPU_FEATURES is None and config.CPU_NAME is None:
        config.CPU_FEATURES = f"{here.flatten()},{_WIDE}"
    return numba


def _made(function: Function, fast: frozenset[str], folder: Path | None) -> Any:
    """Return a function as numba has it, which keeps what it compiles in a folder."""
    numba = _numba()
    made = numba.njit(nogil=True, error_model="numpy", fastmath=set(fast) or False)(function)
    before = numba.config.CACHE_DIR
    if folder is not None:
        numba.config.CACHE_DIR = str(folder)
        try:
            made.enable_caching()
        finally:
            numba.config.CACHE_DIR = before
    return made


@functools.lru_cache(maxsize=1)
def _folder() -> Path | None:
    """Return the folder of what these very sources were compiled to; None where none can be."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    folder = Path(given) if given else Path(platformdirs.user_cache_dir("sunveil")) / "compiled"
    here = Path(__file__).parent
    sources = [source for sort in _SOURCES for source in sorted(here.glob(sort))]
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
    folder /= digest[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return None  # every run compiles anew, which costs time and no more
