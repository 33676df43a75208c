"""Extras of the installation, errors of those that are missing, and names loaded when asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from sunveil.errors import MissingExtra, ParameterError

# The packages of each extra in pyproject.toml, as they are imported, without those that it brings
# by other extras.
EXTRAS = {
    "plots": ("jinja2", "matplotlib"),
    "files": ("duckdb", "openpyxl"),
    "publish": ("opendp", "sqlalchemy"),
    "synthetic": ("jax", "mbi"),
    "service": (
        "authlib",
        "cachetools",
        "fastapi",
        "joserfc",
        "markupsafe",
        "plotly",
        "prometheus_client",
        "pydantic",
        "python_multipart",
        "starlette",
        "uvicorn",
        "zxcvbn",
    ),
    "dask": ("distributed",),
    "postgres": ("psycopg",),
}

# The extras that an extra brings.
BROUGHT = {"publish": ("plots", "files"), "service": ("publish",)}


def require_extras(*extras: str, purpose: str) -> None:
    """Refuse, in one sentence with the remedy, what needs extras that are not installed."""
    # Nothing is imported: packages are only looked for.
    unknown = sorted(set(extras) - set(EXTRAS))
    if unknown:
        raise ParameterError(f"there is no extra {unknown[0]}; use {', '.join(EXTRAS)}")
    lacking = {extra: _not_installed(extra) for extra in extras}
    packages = list(dict.fromkeys(name for names in lacking.values() for name in names))
    if packages:
        wanted = ",".join(extra for extra, names in lacking.items() if names)
        verb = "is" if len(packages) == 1 else "are"
        raise MissingExtra(
            f"{purpose} needs {_listed(packages)}, which {verb} not installed:"
            f" pip install 'sunveil[{wanted}]'"
        )


class _Missing:
    """A package that is not installed: whatever is asked of it says which extra brings it."""

    class Error(Exception):
        """An error that such a package never raises."""

    def __init__(self, extra: str, purpose: str) -> None:
        self._extra, self._purpose = extra, purpose

    def __getattr__(self, name: str) -> Any:
        require_extras(self._extra, purpose=self._purpose)
        raise AttributeError(name)


def optional_package(name: str, *, purpose: str) -> Any:
    """Return a package of an extra; without it, what says so when it is used."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        return _Missing(extra_of(name), purpose)


def extra_of(package: str) -> str:
    """Return the extra that brings a package."""
    return next(extra for extra, names in EXTRAS.items() if package in names)


def missing_extra(error: ModuleNotFoundError) -> MissingExtra | None:
    """Return the error that names the extra of a package that was not found, None for others."""
    package = (error.name or "").partition(".")[0]
    if not any(package in names for names in EXTRAS.values()):
        return None
    return MissingExtra(
        f"this needs {package}, which is not installed: pip install 'sunveil[{extra_of(package)}]'"
    )


def _not_installed(extra: str) -> list[str]:
    names = [name for name in EXTRAS[extra] if find_spec(name) is None]
    return names + [name for inner in BROUGHT.get(extra, ()) for name in _not_installed(inner)]


def _listed(names: list[str]) -> str:
    *rest, last = names
    return f"{', '.join(rest)} and {last}" if rest else last


def lazy_names(package: str, names: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package that takes names from its modules."""
    module_of = {name: module for module, given in names.items() for name in given}
    here = vars(sys.modules[package])
    here["__dir__"] = lambda: sorted({*here, *module_of})  # for completion

    def __getattr__(name: str) -> Any:  # noqa: N807
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            module = import_module(module_of[name])
        except ModuleNotFoundError as error:
            raise missing_extra(error) or error from error
        here[name] = value = getattr(module, name)
        return value

    return __getattr__
