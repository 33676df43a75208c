"""Loops over readings that are compiled when first used."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


@functools.cache
def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function compiled to machine code that runs beside others."""
    import numba

    ready: Callable[..., Any] = numba.njit(cache=True, nogil=True)(function)
    return ready
