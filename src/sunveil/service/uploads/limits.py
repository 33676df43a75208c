"""How much an upload may be."""

from __future__ import annotations

from dataclasses import dataclass

from sunveil.service.reading_limits import MEGABYTE as MEGABYTE
from sunveil.service.reading_limits import ReadingLimits as ReadingLimits


@dataclass(frozen=True, slots=True)
class UploadLimits:
    """What one upload may be at most.

    Parameters
    ----------
    body
        The whole request. [bytes]
    unpacked
        All files together after archives are unpacked. [bytes]
    files
        How many files, those within archives counted.
    ratio
        How many times its packed size an archive's file may become. Meter data, zeros at night
        included, stay far below.
    fields, field
        How many form fields beside the files, and the size of each. [bytes]
    spare
        What must stay free on the disk. [bytes]
    """

    body: int = 4096 * MEGABYTE
    unpacked: int = 16384 * MEGABYTE
    files: int = 5000
    ratio: int = 200
    fields: int = 40
    field: int = 16 * 1024
    spare: int = 512 * MEGABYTE


def size_text(size: int) -> str:
    """Return a size in words, such as ``3.5 MB``."""
    if size >= 1024 * MEGABYTE:
        return f"{size / (1024 * MEGABYTE):.3g} GB"
    if size >= MEGABYTE:
        return f"{size / MEGABYTE:.3g} MB"
    return f"{size / 1024:.3g} kB" if size >= 1024 else f"{size} bytes"
