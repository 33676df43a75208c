"""Commands that are loaded when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from importlib import import_module

import click


class Commands(MutableMapping[str, click.Command]):
    """The commands of a group by name: each is loaded when it is looked up, names are known before.

    Parameters
    ----------
    package
        Where the modules are; command ``infer`` is ``infer_command`` of its module ``infer``.
    names
        The names of the commands.
    """

    def __init__(self, package: str, names: Sequence[str]) -> None:
        self._package = package
        self._found: dict[str, click.Command | None] = dict.fromkeys(names)

    def __getitem__(self, name: str) -> click.Command:
        found = self._found[name]
        if found is None:
            module = import_module(f"{self._package}.{name}")
            found = self._found[name] = getattr(module, f"{name}_command")
        return found

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._found[name] = command

    def __delitem__(self, name: str) -> None:
        del self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __contains__(self, name: object) -> bool:
        return name in self._found
