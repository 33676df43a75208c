"""Names of files that somebody else chose."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from sunveil.service.uploads.errors import UploadRefused

LONGEST = 150
DEEPEST = 8
# Neither separators nor what a shell or a reader of many files takes for a pattern.
PLAIN = re.compile(r"[\w=+,() -][\w.=+,() -]*")


def safe_name(name: str) -> str:
    """Return the name of an uploaded file if it is one plain name, or refuse it."""
    if not PLAIN.fullmatch(name) or len(name.encode()) > LONGEST or name != name.strip():
        raise UploadRefused(
            f"a file or folder is named {quoted(name)}, and names are letters, digits, dots,"
            f" hyphens and spaces, at most {LONGEST} of them; rename it"
        )
    return name


def safe_path(name: str) -> PurePosixPath:
    """Return the path of a file, sent or packed, if it stays below its folder, or refuse it."""
    if name.startswith(("/", "\\")) or re.match(r"[A-Za-z]:", name):
        raise UploadRefused(
            f"a file has the absolute path {quoted(name)}; send the folder's files by their own"
            " names"
        )
    parts = name.split("/")
    if ".." in parts or "\\" in name:
        raise UploadRefused(
            f"a file has the path {quoted(name)}, which leads out of its folder; send the folder's"
            " files by their own names"
        )
    if len(parts) > DEEPEST:
        raise UploadRefused(
            f"there are folders {len(parts) - 1} deep, and at most {DEEPEST - 1} are taken"
        )
    return PurePosixPath(*(safe_name(part) for part in parts))


def quoted(name: str) -> str:
    """Return a file's name in quotes, shortened and without characters that cannot be printed."""
    return repr("".join(c if c.isprintable() else "?" for c in name[:60]))
