"""All files of a release in one: a zip that is always the same for the same files."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

# The earliest time that a zip can hold: when it was packed is nobody's business.
EPOCH = (1980, 1, 1, 0, 0, 0)


def bundle(files: Mapping[str, bytes], *, folder: str) -> bytes:
    """Return files packed into a zip, in a folder of their own.

    Parameters
    ----------
    files
        Contents by name.
    folder
        Name of the folder in it.
    """
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in sorted(files):
            entry = zipfile.ZipInfo(f"{folder}/{name}", EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            packed.writestr(entry, files[name])
    return made.getvalue()
