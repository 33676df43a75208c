"""Why an upload is not taken, in one sentence each."""

from __future__ import annotations

from sunveil.errors import SourceError


class UploadRefused(SourceError):
    """An upload that is not what it must be. Nothing of it is kept."""


class UploadTooLarge(UploadRefused):
    """An upload beyond the service's limits."""
