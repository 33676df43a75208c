"""What users call: the names of packages, and what the pages of the reference document."""

from __future__ import annotations

import enum
import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sunveil._options import hints_of

# The packages of the reference, each with a page of its own.
PACKAGES = (
    "sunveil",
    "sunveil.ledger",
    "sunveil.publish",
    "sunveil.publication",
    "sunveil.power",
    "sunveil.plots",
    "sunveil.paper",
    "sunveil.privacy",
    "sunveil.client",
)
REFERENCE = Path(__file__).parent.parent / "docs" / "reference"
DIRECTIVE = re.compile(
    r"^\.\. auto(?:function|class):: ([\w.]+)(?:\(\))?\n((?:   :.*\n)*)", re.MULTILINE
)
# Parameters that take several values, and those that cannot be given by name.
OTHERS = (
    inspect.Parameter.VAR_POSITIONAL,
    inspect.Parameter.VAR_KEYWORD,
    inspect.Parameter.POSITIONAL_ONLY,
)


@dataclass(frozen=True)
class Public:
    """A function, a class or a method that users call."""

    name: str
    function: Callable[..., Any]
    owner: type | None = None  # whose instance a method is called on

    def parameters(self) -> dict[str, inspect.Parameter]:
        """Return the parameters that can be given by name."""
        found = inspect.signature(self.function).parameters
        own = list(found.values())[1 if self.owner else 0 :]
        return {each.name: each for each in own if each.kind not in OTHERS}

    def required(self) -> list[str]:
        """Return the parameters that have no default."""
        return [name for name, each in self.parameters().items() if each.default is each.empty]

    def hints(self) -> dict[str, Any]:
        """Return the types of its parameters."""
        made = self.function
        if isinstance(made, type) and "__init__" in vars(made) and not _is_generated(made):
            made = made.__init__
        try:
            return hints_of(made)
        except TypeError:  # written for type checkers alone
            return {}


def _is_generated(made: type) -> bool:
    return hasattr(made, "__dataclass_fields__")


def public() -> dict[str, Public]:
    """Return everything public by its full name, each once."""
    found: dict[str, Public] = {}
    seen: set[Any] = set()
    for each in _everything():
        if each.function not in seen and each.parameters():
            seen.add(each.function)
            found[each.name] = each
    return found


def _everything() -> Iterator[Public]:
    for page in sorted(REFERENCE.glob("*.md")):
        for path, options in DIRECTIVE.findall(page.read_text("utf-8")):
            found = _find(path)
            yield from _called(found)
            if isinstance(found, type):
                yield from _methods(found, options)


def _called(found: Any) -> Iterator[Public]:
    """Yield a function or a class; members of enumerations and errors are not called."""
    if isinstance(found, type) and issubclass(found, (BaseException, enum.Enum)):
        return
    if isinstance(found, type) or inspect.isfunction(found):
        yield Public(f"{found.__module__}.{found.__qualname__}".removeprefix("sunveil."), found)


def _methods(kind: type, options: str) -> Iterator[Public]:
    """Yield the methods of a class that its page documents, as Sphinx chooses them."""
    listed = re.search(r":members:(.*)", options)
    if listed is None or issubclass(kind, enum.Enum):
        return
    chosen = {name.strip() for name in listed[1].split(",") if name.strip()}
    inherited = ":inherited-members:" in options
    hidden = re.search(r":exclude-members:(.*)", options)
    excluded = {name.strip() for name in hidden[1].split(",")} if hidden else set()
    for name in dir(kind):
        static = inspect.getattr_static(kind, name)
        bound = isinstance(static, (classmethod, staticmethod))
        if name.startswith("_") or name in excluded or not (bound or inspect.isfunction(static)):
            continue
        if name in chosen or (not chosen and (inherited or name in vars(kind))):
            where = f"{kind.__module__}.{kind.__qualname__}.{name}".removeprefix("sunveil.")
            yield Public(where, getattr(kind, name), None if bound else kind)


def _find(path: str) -> Any:
    """Return what a page names: the longest part of it that is a module, and the rest in it."""
    parts = path.split(".")
    for count in range(len(parts) - 1, 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            found = getattr(found, part)
        return found
    raise LookupError(path)
