"""Machine code that was compiled before, kept in files and loaded without the compiler.

Loading numba and making it ready takes as long as reading and fitting hundreds of systems. What it
compiled needs only a few small libraries of numba's to run, and the linker that llvmlite brings.
"""

from __future__ import annotations

import builtins
import ctypes
import functools
import importlib.machinery
import importlib.util
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from llvmlite import binding

Function = Callable[..., Any]
# What compiled code calls: errors and conversions, function objects, memory.
_LIBRARIES = ("_helperlib", "_dynfunc", "core/runtime/_nrt_python")


def keep(path: Path, *, name: str, code: bytes, entry: str, environment: str) -> None:
    """Write the machine code of a function, whole or not at all.

    Parameters
    ----------
    path
        The file.
    name
        The function's name.
    code
        An object file.
    entry, environment
        Symbols of what Python calls, and of where its environment is looked up.
    """
    told = {"name": name, "entry": entry, "environment": environment, "size": len(code)}
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(json.dumps(told).encode() + b"\n" + code)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def load(path: Path) -> Function | None:
    """Return the function that a file keeps; None where there is none, or not a whole one."""
    try:
        header, _, code = path.read_bytes().partition(b"\n")
        told = json.loads(header)
        name, entry, environment = told["name"], told["entry"], told["environment"]
        if told["size"] != len(code):
            return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    functions, engine = _functions(), _engine()
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    home = ModuleType(name)
    own = functions.Environment(home.__dict__)
    ctypes.c_void_p.from_address(engine.get_global_value_address(environment)).value = id(own)
    at = engine.get_function_address(entry)
    made: Function = functions.make_function(home, name, f"compiled {name}", at, own, (engine, own))
    return made


@functools.cache
def made_by() -> tuple[Any, ...]:
    """Return what tells one installed compiler, on one kind of processor, from another."""
    features = binding.get_host_cpu_features().flatten()
    seen = [os.stat(_file(library)) for library in _LIBRARIES]
    stamps = tuple((each.st_size, each.st_mtime_ns) for each in seen)
    return binding.get_host_cpu_name(), features, binding.llvm_version_info, stamps


@functools.cache
def _file(library: str) -> str:
    """Return where a library of numba's is; numba itself is not loaded for it."""
    spec = importlib.util.find_spec("numba")
    if spec is None or spec.origin is None:
        raise ImportError("numba is not installed; install sunveil again")
    stem = Path(spec.origin).parent / library
    for suffix in importlib.machinery.EXTENSION_SUFFIXES:
        if os.path.exists(f"{stem}{suffix}"):
            return f"{stem}{suffix}"
    raise ImportError(f"numba has no {library} here; install numba again")


def _library(library: str) -> Any:
    name, path = f"numba.{library.replace('/', '.')}", _file(library)
    loader = importlib.machinery.ExtensionFileLoader(name, path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    found = importlib.util.module_from_spec(spec)
    loader.exec_module(found)
    return found


@functools.cache
def _functions() -> Any:
    """Tell the linker all names that compiled code may use; return what makes functions of it."""
    helpers, functions, memory = (_library(library) for library in _LIBRARIES)
    for each in (helpers, functions):
        for name, address in each.c_helpers.items():
            binding.add_symbol(f"numba_{name}", address)
    for name, address in memory.c_helpers.items():
        binding.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)
    binding.add_symbol("_Py_NoneStruct", id(None))
    for name, kind in vars(builtins).items():
        if isinstance(kind, type) and issubclass(kind, BaseException):
            binding.add_symbol(f"PyExc_{name}", id(kind))
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return functions


def _engine() -> Any:
    """Return a linker with nothing in it: names of one function are not those of another."""
    target = binding.Target.from_default_triple()
    machine = target.create_target_machine(reloc="static", codemodel="jitdefault", jit=True)
    return binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
