"""Which files of an upload are readings, which is the table of systems, and which are neither."""

from __future__ import annotations

from pathlib import PurePosixPath

from sunveil.meters.contents import ENDINGS, READABLE
from sunveil.service.uploads.errors import UploadRefused
from sunveil.service.uploads.file_names import quoted

# Tables of systems are among these.
SYSTEMS = (".csv", ".tsv", ".txt", ".parquet", ".pq", ".xlsx", ".xlsm")
# What packs one file. Without a second ending, its content alone says what it is.
PACKINGS = (".gz", ".bz2", ".xz", ".lzma")
_DOCUMENTS = (
    *(".md", ".rst", ".html", ".htm", ".pdf", ".doc", ".docx", ".log", ".svg", ".png", ".jpg"),
    *(".jpeg", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".geojson"),
)
_PAPERS = ("readme", "license", "licence", "copying", "notice", "changelog")
_LITTER = (".ds_store", "thumbs.db", "desktop.ini")
# What a simulated fleet brings beside its readings: what is true of it is no input.
_SIMULATED = ("truth.parquet", "fleet.json")


def is_litter(path: PurePosixPath) -> bool:
    """Return whether a file is what a file manager or a version control leaves in folders."""
    hidden = any(part[:1] == "." != part[1:2] or part == "__MACOSX" for part in path.parts)
    return hidden or path.name.lower() in _LITTER


def is_document(path: PurePosixPath) -> bool:
    """Return whether a file is for people, or what a simulation says of itself: no readings."""
    lower = path.name.lower()
    paper = path.stem.lower() in _PAPERS and not lower.endswith(SYSTEMS)
    return lower.endswith(_DOCUMENTS) or paper or lower in _SIMULATED


def placed_name(path: PurePosixPath) -> PurePosixPath:
    """Return the path that the reader of meters finds a file by, or refuse one that it never reads.

    A packed file without a second ending, such as ``meter.gz``, gets one: what is inside tells.
    """
    lower = path.name.lower()
    if lower.endswith(ENDINGS):
        return path
    if lower.endswith(PACKINGS):
        return path.with_name(f"{path.stem}.dat{path.suffix}")
    raise UploadRefused(f"{quoted(str(path))} is no meter file: {READABLE} are read")
