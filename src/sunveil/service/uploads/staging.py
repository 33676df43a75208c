"""Where an upload lies until all of it is known to be good, and vanishes from if it is not."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from sunveil.service.uploads.errors import UploadTooLarge
from sunveil.service.uploads.limits import size_text

PREFIX = ".upload-"
# Files of refused uploads, and how long they wait for a second try. [s]
KEPT, WAIT_SECONDS = ".kept-", 24 * 3600.0


class Staging:
    """A folder that is put in place whole, or removed.

    Parameters
    ----------
    home
        The folder that it is made in, and that whatever comes of it stays in.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        self.folder = home / f"{PREFIX}{secrets.token_hex(8)}"

    @contextmanager
    def open(self) -> Iterator[Staging]:
        """Make the folder; what was not moved out of it by the end is removed."""
        self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
        drop_expired(self._home)
        self.folder.mkdir(mode=0o700)
        # whoever sweeps after a service that was killed sees that this one is alive
        with FileLock(self.folder / ".lock", mode=0o600):
            try:
                yield self
            finally:
                shutil.rmtree(self.folder, ignore_errors=True)

    def put(self, name: str, part: str = "whole") -> Path:
        """Move a part of the folder to its place in one step, and return the place.

        Parameters
        ----------
        name
            Name of the new folder within the home; refused where there is one.
        part
            Which of the folder's own folders.
        """
        place = self._home / name
        os.rename(self.folder / part, place)
        return place


def remove_abandoned(home: Path) -> None:
    """Remove what uploads left that ended with their process, and files that waited too long."""
    drop_expired(home)
    for folder in home.glob(f"{PREFIX}*"):
        with (
            suppress(FileNotFoundError, Timeout),
            FileLock(folder / ".lock", mode=0o600, blocking=False),
        ):
            shutil.rmtree(folder, ignore_errors=True)


def drop_expired(home: Path) -> None:
    """Remove files whose second try never came."""
    for folder in home.glob(f"{KEPT}*"):
        try:
            old = time.time() - folder.stat().st_mtime > WAIT_SECONDS
        except FileNotFoundError:
            continue
        if old:
            shutil.rmtree(folder, ignore_errors=True)


def check_disk_space(folder: Path, needed: int, *, spare: int) -> None:
    """Refuse what would fill the disk.

    Parameters
    ----------
    folder
        Where it would be written.
    needed
        How much it is. [bytes]
    spare
        How much must stay free. [bytes]
    """
    if shutil.disk_usage(folder).free < needed + spare:
        raise UploadTooLarge(
            f"the service's disk has no room for {size_text(needed)} more; free some, or name a"
            " folder of the data folder instead of uploading"
        )
