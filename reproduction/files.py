"""How an artefact gets to disk: a picture for pages, one for print, and its numbers."""

from __future__ import annotations

import base64
import io
import json
import os
from pathlib import Path
from typing import Any

from reproduction.artefact import Artefact
from sunveil._files import write_whole
from sunveil.errors import ParameterError, SunveilError

PNG_DPI = 150


def write_artefact(folder: Path, artefact: Artefact, *, private: bool = False) -> list[Path]:
    """Write an artefact as PNG, SVG and JSON, each whole or not at all, and return the paths.

    Parameters
    ----------
    folder
        Where; files of the same names are replaced.
    artefact
        What. Equal figures give equal bytes.
    private
        Whether its owner alone may read the files.
    """
    # all three are made before the first is written
    contents: dict[str, str | bytes] = {
        "png": _png(artefact),
        "svg": _svg(artefact),
        "json": as_json(
            {
                "name": artefact.name,
                "title": artefact.title,
                "words": artefact.words,
                "data": artefact.data,
            }
        ),
    }
    paths = []
    for ending, content in contents.items():
        path = folder / f"{artefact.name}.{ending}"
        write_file(path, content, private=private)
        paths.append(path)
    return paths


def write_file(path: Path, content: str | bytes, *, private: bool = False) -> None:
    """Write a file of a reproduction in one step; say in one sentence if that cannot be.

    Parameters
    ----------
    path
        Where; a file that stands there is replaced.
    content
        Text or bytes.
    private
        Whether its owner alone may read it.
    """
    try:
        write_whole(path, content, private=private)
    except OSError as error:
        raise SunveilError(
            f"{path} cannot be written ({error.strerror or error}); give a folder with room that"
            " can be written"
        ) from error


def check_folder(out: Path) -> None:
    """Refuse, before any work is done, a folder that cannot be made or written."""
    nearest = next(place for place in (out.absolute(), *out.absolute().parents) if place.exists())
    if not nearest.is_dir():
        raise ParameterError(f"{nearest} is a file; name a folder to write to")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise ParameterError(f"the folder {nearest} cannot be written; name another")


def make_folder(out: Path) -> Path:
    """Return the folder, made if need be."""
    check_folder(out)
    out.mkdir(parents=True, exist_ok=True)
    return out


def as_json(content: dict[str, Any]) -> str:
    """Return plain JSON types as text; a number that is not finite is refused."""
    return json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def _png(artefact: Artefact) -> bytes:
    buffer = io.BytesIO()
    artefact.figure.savefig(buffer, format="png", dpi=PNG_DPI)
    return buffer.getvalue()


def _svg(artefact: Artefact) -> bytes:
    # the very bytes that the page embeds
    return base64.b64decode(artefact.drawing.source.partition(",")[2])
