"""A folder of an audit's own, and the command line in it."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sunveil.endtoend.outcomes import Outcome
from sunveil.ledger.ledger import Ledger
from sunveil.ledger.promise import Promise
from sunveil.privacy.units import parse_unit

# Runs the command line and returns its exit code, as the console script does.
Command = Callable[[Sequence[str]], int]
# Runs something over a dataset's files.
Entry = Callable[[Path], Outcome]

# More than one question of one dataset can spend; every run asks of a dataset of its own.
PROMISED = 100.0


@dataclass(frozen=True, slots=True)
class Workplace:
    """A folder of an audit's own, with ledgers in it; nothing outside is read or written.

    Parameters
    ----------
    folder
        Where.
    command
        The command line, as the console script runs it.
    """

    folder: Path
    command: Command
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(10_000))

    def ledger_of(self, dataset: str) -> Path:
        """Return the ledger of a dataset, of its own: the same ids come again in every run."""
        return self.folder / f"{dataset}.db"

    def new_name(self) -> str:
        """Return a name that was not used before, as long as all others."""
        return f"d{next(self._numbers)}"

    def new_folder(self) -> Path:
        """Return a new folder, whose name is as long as all others'."""
        made = self.folder / self.new_name()
        made.mkdir()
        return made

    def new_dataset(self, unit: str) -> str:
        """Return the name of a new dataset under a large promise."""
        name = self.new_name()
        with Ledger(str(self.ledger_of(name)), create=True) as ledger:
            ledger.create_dataset(name, Promise(parse_unit(unit), PROMISED))
        return name


@contextlib.contextmanager
def open_workplace(command: Command) -> Iterator[Workplace]:
    """Yield a workplace in a temporary folder, which also holds caches and marks meanwhile."""
    with tempfile.TemporaryDirectory(prefix="sunveil-audit-") as name:
        folder = Path(os.path.realpath(name))
        # marks of ledgers would otherwise stay behind, and skies be taken from elsewhere
        own = {"XDG_STATE_HOME": str(folder / "state"), "XDG_CACHE_HOME": str(folder / "cache")}
        before = {name: os.environ.get(name) for name in own}
        os.environ.update(own)
        try:
            yield Workplace(folder, command)
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value


@dataclass(frozen=True, slots=True)
class Said:
    """What a command said.

    Parameters
    ----------
    code
        Its exit code, or what it broke off with.
    out, err
        What it wrote.
    """

    code: int | str
    out: str
    err: str


def run_command(place: Workplace, arguments: Sequence[str]) -> Said:
    """Run the command line in this process, and return what it said."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(record=True) as warned,
    ):
        # each run is to say what a process of its own would
        warnings.simplefilter("always")
        try:
            code: int | str = place.command(list(arguments))
        except Exception as error:  # a traceback is an output as well
            code = f"traceback of {type(error).__name__}"
    words = "".join(f"{each.category.__name__}: {each.message}\n" for each in warned)
    return Said(code, out.getvalue(), err.getvalue() + words)
