"""Private releases of one system's azimuth, tilt and capacity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sunveil._extras import lazy_names

if TYPE_CHECKING:
    from sunveil.releases.release_answer import Release
    from sunveil.releases.release_choices import Choices

__all__ = ["Choices", "Release"]

__getattr__ = lazy_names(
    __name__,
    {
        "sunveil.releases.release_answer": ("Release",),
        "sunveil.releases.release_choices": ("Choices",),
    },
)
