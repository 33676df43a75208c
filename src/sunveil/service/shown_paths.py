"""Paths of the server in what is shown: below the data folder they stay, from there on."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from functools import cache
from pathlib import Path

from markupsafe import escape

from sunveil.ledger.database import is_url
from sunveil.service.settings import ServiceSettings


def without_server_paths(text: str, settings: ServiceSettings) -> str:
    """Return a text in which files of the service are named as from its data folder.

    Messages are made for commands as well, whose users know where their files are. Who reads a page
    should neither need nor see where the server keeps them.

    Parameters
    ----------
    text
        A message, or a page that shows it.
    settings
        Where the service keeps its files.
    """
    return _pattern(settings.data, settings.where).sub("", text)


@cache
def _pattern(data: Path, where: str) -> re.Pattern[str]:
    folders = [data, Path(sys.prefix), Path.home() / ".local", Path(tempfile.gettempdir())]
    if not is_url(where):
        folders.append(Path(where).parent)
    named = {str(path) for folder in folders for path in (folder, Path(os.path.realpath(folder)))}
    written = {form for name in named for form in (name, str(escape(name)))}
    # the longest first: one may lie in another
    ordered = sorted(written - {"/", "."}, key=len, reverse=True)
    return re.compile("|".join(re.escape(name) + "/" for name in ordered))
