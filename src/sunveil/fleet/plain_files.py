"""Files that only the reader of single files knows, as a fleet takes them: several at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from sunveil.errors import MeterError, SunveilError
from sunveil.meters.assemble import RawSystem
from sunveil.meters.contents import stem
from sunveil.meters.options import MeterOptions
from sunveil.meters.read import iter_raw_systems, joined
from sunveil.meters.refusals import UNREAD, RefusedSystem

# A system as its files have it, and how it is read; or files that cannot be read.
FileSystem = tuple[str, RawSystem | MeterError, MeterOptions]
# So many files tell whether each of a folder is one system, named after its file.
_LOOKED_AT = 5


def iter_file_systems(
    paths: Sequence[Path], options: MeterOptions
) -> Iterator[FileSystem | RefusedSystem]:
    """Yield the systems of files in the order of their names, and the files that cannot be read.

    The rows of a system that is in several files are joined, in the order of the files.

    Parameters
    ----------
    paths
        The files.
    options
        How to read them.
    """
    found: dict[str, list[tuple[RawSystem, MeterOptions]]] = {}
    for path in paths:
        for each in _iter_file(path, options):
            if isinstance(each, RefusedSystem):
                yield each
            else:
                found.setdefault(each[0].system_id, []).append(each)
    for name in sorted(found):
        raw, own = joined(found.pop(name))
        yield name, raw, own


def _iter_file(
    path: Path, options: MeterOptions
) -> Iterator[tuple[RawSystem, MeterOptions] | RefusedSystem]:
    try:
        for raw, own in iter_raw_systems(path, options):
            yield raw if isinstance(raw, RefusedSystem) else (raw, own)
    except SunveilError as error:
        yield RefusedSystem(stem(path), UNREAD, str(error))
    except OSError:
        reason = f"{path.name} cannot be read; check its rights and the disk"
        yield RefusedSystem(stem(path), UNREAD, reason)


def files_together(paths: Sequence[Path], options: MeterOptions) -> list[int]:
    """Return a number for each of some files, the same for files that share a system.

    Where some files, spread over all of them, are each one system named after its file, all are
    taken to be so: reading every file only for its names would take as long as the work itself.

    Parameters
    ----------
    paths
        The files, each of which is read for the names of its systems.
    options
        How to read them.
    """
    few = paths[:: max(1, len(paths) // _LOOKED_AT)]
    if all(_names(path, options) <= {stem(path)} for path in few):
        names = [{stem(path)} for path in paths]
    else:
        names = [_names(path, options) for path in paths]
    group = list(range(len(paths)))
    home: dict[str, int] = {}
    for number, inside in enumerate(names):
        met = {_root(group, home[name]) for name in inside if name in home}
        first = min({number, *met})
        for other in (number, *met):
            group[other] = first
        home |= dict.fromkeys(inside, first)
    return [_root(group, number) for number in range(len(paths))]


def _root(group: list[int], number: int) -> int:
    while group[number] != number:
        number = group[number]
    return number


def _names(path: Path, options: MeterOptions) -> set[str]:
    """Return the systems of a file; none, where it cannot be read."""
    return {
        each[0].system_id
        for each in _iter_file(path, options)
        if not isinstance(each, RefusedSystem)
    }
