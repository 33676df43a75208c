"""Numbers in words, as pages say them."""

from __future__ import annotations


def count_of(number: int, thing: str, plural: str = "") -> str:
    """Return a number with what it counts, such as ``1 system`` or ``2,400 systems``.

    Parameters
    ----------
    number
        How many.
    thing
        One of them.
    plural
        Several of them; with an s when left out.
    """
    return f"{number:,} {thing if number == 1 else plural or thing + 's'}"
