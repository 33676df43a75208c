"""Publications: tables and folders that hold nothing private."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sunveil._extras import lazy_names

if TYPE_CHECKING:
    from sunveil.publication.publication_folder import read_publication, write_publication
    from sunveil.publication.published_tables import Publication

__all__ = ["Publication", "read_publication", "write_publication"]

__getattr__ = lazy_names(
    __name__,
    {
        "sunveil.publication.publication_folder": ("read_publication", "write_publication"),
        "sunveil.publication.published_tables": ("Publication",),
    },
)
