"""Files and folders that a curator names below the service's data folder."""

from __future__ import annotations

import os
from pathlib import Path

from sunveil.meters.contents import ENDINGS
from sunveil.service.uploads.errors import UploadRefused
from sunveil.service.uploads.file_names import quoted


def find_below(data: Path, name: str) -> Path:
    """Return what a name below the data folder leads to, if it leads nowhere else.

    Parameters
    ----------
    data
        The service's data folder.
    name
        A path within it, as somebody wrote it.
    """
    parts = Path(name.strip()).parts
    if not parts or "\0" in name:
        raise UploadRefused("name a file or a folder below the service's data folder")
    if Path(name.strip()).is_absolute() or ".." in parts:
        raise UploadRefused(
            f"{quoted(name)} leads out of the service's data folder; name a path below it, such as"
            " utility/2025"
        )
    root = os.path.realpath(data)
    found = os.path.realpath(data.joinpath(*parts))
    if os.path.commonpath([root, found]) != root:
        raise UploadRefused(
            f"{quoted(name)} is a link that leads out of the service's data folder; copy the data"
            " there"
        )
    if not os.path.exists(found):
        raise UploadRefused(f"the service's data folder has no {quoted(name)}; check the name")
    return Path(found)


def list_below(data: Path, *, most: int = 200) -> list[str]:
    """Return the folders and tables right below the data folder, to choose from."""
    names = []
    for entry in sorted(os.scandir(data), key=lambda each: each.name):
        table = entry.name.lower().endswith(ENDINGS)
        if not entry.name.startswith(".") and (entry.is_dir() or table):
            names.append(entry.name)
    return names[:most]
