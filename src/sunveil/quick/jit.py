"""How the loops of this room are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., Any])

# Sums may be taken in any order and products fused; missing values are still told from numbers.
_FAST = {"reassoc", "contract", "arcp", "nsz"}


def compiled(function: Function) -> Function:
    """Return a function compiled on first use, kept on disk, that lets other threads run."""
    made: Function = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)(
        function
    )
    return made
