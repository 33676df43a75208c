"""How loops are compiled, and where that is kept.

What was compiled is kept in the user's cache folder under a name made of the sources of the rooms
that compile: numba itself looks at the file of a function only, and would run yesterday's code of
what that function calls.
"""

from __future__ import annotations

import functools
import hashlib
import io
import pickle
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numba
import platformdirs
from llvmlite import binding

Function = Callable[..., Any]
# Typed by nobody.
_CACHING: Any = import_module("numba.core.caching")
_ENVIRONMENT: Any = import_module("numba.core.environment")
_RUNTIME: Any = import_module("numba.core.runtime")
_CONFIG: Any = numba.config  # its names are made at run time
_ROOMS = ("cells", "quick", "fleet")
# How other releases of numba keep what they compiled was not looked at: those load it themselves.
_KNOWN = ("0.68.",)
# Compilers keep to half of the widest registers unless told that these loops are worth it.
_WIDE = "-prefer-256-bit"
# Sums may be taken in any order and products fused; missing values are still told from numbers.
_FAST = {"reassoc", "contract", "arcp", "nsz"}


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


class _Kept(_CACHING.FunctionCache):  # type: ignore[misc]
    """What was compiled before, loaded without what only compiling needs.

    numba makes everything ready to compile when it first loads a function, and reads the code of
    each twice: for the processor, and once more for other functions to be compiled from. Here the
    second is read when one is.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what was compiled for a signature, or None."""
        try:
            found = self._load_ready(sig, target_context)
        except (AttributeError, OSError, TypeError, ValueError):
            found = None  # another numba, which keeps it otherwise
        if found is None:
            _load_lightly()
            found = super().load_overload(sig, target_context)
        return found

    def _load_ready(self, sig: Any, target_context: Any) -> Any:
        codegen = target_context.codegen()
        files = self._cache_file
        file = files._load_index().get(self._index_key(sig, codegen))
        if file is None:
            return None
        kept = _Reader(io.BytesIO(Path(files._data_path(file)).read_bytes())).load()
        (name, kind, (ready, source)), described, *rest = kept
        _RUNTIME.rtsys.initialize(target_context)
        codegen._engine._defined_symbols.add(described.llvm_cpython_wrapper_name)
        library = name, kind, (ready, _nothing())
        found = self._impl.rebuild(target_context, (library, described, *rest))

        @functools.cache
        def module_for_linking() -> Any:
            module = binding.parse_bitcode(source)
            codegen._engine._load_defined_symbols(module)
            return module

        found.library._get_module_for_linking = module_for_linking
        return found


class _Reader(pickle.Unpickler):
    """Reads what was compiled; functions of numba's own do not load their modules for it."""

    def find_class(self, module: str, name: str) -> Any:
        own = (module, name) == ("numba.core.environment", "_rebuild_env")
        return _environment if own else super().find_class(module, name)


def _environment(module: str, constants: Any, name: str) -> Any:
    """Return the constants of a compiled function, and where its module's names are looked up."""
    found = _ENVIRONMENT.lookup_environment(name)
    if found is None:
        # compiled code looks up no name of its module, which need not be loaded for numba's own
        own = module.startswith("numba.")
        names = {"__name__": module} if own else import_module(module).__dict__
        found = _ENVIRONMENT.Environment(names)
        found.consts[:] = constants
        found.env_name = name
        _ENVIRONMENT.Environment._memo[name] = found
    return found


@functools.cache
def _nothing() -> Any:
    """Return the code of no function."""
    return binding.parse_assembly("").as_bitcode()


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
        made: Any = numba.njit(nogil=True, error_model="numpy", **flags)(function)
        if folder is not None:
            made.enable_caching()
            if numba.__version__.startswith(_KNOWN):
                made._cache = _Kept(function)
    finally:
        _CONFIG.CACHE_DIR = before
    return cast(Function, made)
