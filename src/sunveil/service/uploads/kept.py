"""Files of an upload that was refused, kept for a second try: a large upload is sent only once.

::

    datasets/.kept-TOKEN/kept.json   who sent them, the form's fields, and why it was refused
    datasets/.kept-TOKEN/files/      the files, as they came

Only the curator who sent them can take them up again, within a day.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sunveil.files import write_whole
from sunveil.service.uploads.receive import Received, ReceivedFile
from sunveil.service.uploads.staging import KEPT

_TOKEN = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class KeptFiles:
    """Files that wait for a second try.

    Parameters
    ----------
    token
        What the form carries to take them up.
    fields
        The fields of the form that brought them.
    problem
        Why it was refused.
    files
        The files.
    """

    token: str
    fields: dict[str, str]
    problem: str
    files: tuple[ReceivedFile, ...]

    @property
    def size(self) -> int:
        """All files together. [bytes]"""
        return sum(file.size for file in self.files)


def keep_files(home: Path, received: Received, *, who: str, problem: str) -> str:
    """Keep the files of a refused upload, and return the token that takes them up again.

    Parameters
    ----------
    home
        The service's folder of datasets.
    received
        What came; its files are moved.
    who
        The curator who sent it.
    problem
        Why it was refused.
    """
    token = secrets.token_hex(16)
    folder = home / f"{KEPT}{token}"
    (folder / "files").mkdir(mode=0o700, parents=True)
    listed = []
    for number, file in enumerate(received.files):
        os.rename(file.path, folder / "files" / str(number))
        listed.append([file.field, file.name, file.size])
    fields = {name: text for name, text in received.fields.items() if name not in ("csrf", "kept")}
    stored = {"who": who, "problem": problem, "fields": fields, "files": listed}
    write_whole(folder / "kept.json", json.dumps(stored), private=True)
    return token


def find_kept(home: Path, token: str, *, who: str) -> KeptFiles | None:
    """Return files that a curator sent before, if they are still there.

    Parameters
    ----------
    home
        The service's folder of datasets.
    token
        What the form carries.
    who
        The curator, to whom alone they are given.
    """
    if not _TOKEN.fullmatch(token):
        return None
    folder = home / f"{KEPT}{token}"
    try:
        stored: dict[str, Any] = json.loads((folder / "kept.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if stored["who"] != who:
        return None
    files = tuple(
        ReceivedFile(field, name, folder / "files" / str(number), size)
        for number, (field, name, size) in enumerate(stored["files"])
    )
    return KeptFiles(token, stored["fields"], stored["problem"], files)


def with_kept(received: Received, kept: KeptFiles | None, *, into: Path) -> Received:
    """Return an upload together with files that were sent before; new ones go before old ones.

    Parameters
    ----------
    received
        What came now.
    kept
        What was sent before.
    into
        Where what came now lies; the older files are linked there.
    """
    if kept is None:
        return received
    return replace(received, files=(*received.files, *_linked(received.files, kept, into)))


def _linked(new: Sequence[ReceivedFile], kept: KeptFiles, into: Path) -> Iterator[ReceivedFile]:
    named = {(file.field, file.name) for file in new}
    replaced = {file.field for file in new if file.field == "systems"}
    for number, file in enumerate(kept.files):
        if (file.field, file.name) not in named and file.field not in replaced:
            path = into / f"kept-{number}"
            os.link(file.path, path)
            yield replace(file, path=path)


def drop_kept(home: Path, token: str) -> None:
    """Remove files that wait for a second try."""
    if _TOKEN.fullmatch(token):
        shutil.rmtree(home / f"{KEPT}{token}", ignore_errors=True)
