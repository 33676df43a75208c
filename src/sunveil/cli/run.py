"""The weather of one site, loaded once for many systems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from sunveil.errors import SunveilError
from sunveil.site import Site
from sunveil.weather import Weather, get_weather

Span = tuple[pd.Timestamp, pd.Timestamp]


class SiteWeather:
    """The weather of a site over all the spans that its systems need.

    Spans that meet are loaded together, once; years between them that no system needs are not.

    Parameters
    ----------
    what
        As for :func:`~sunveil.weather.get_weather`.
    site
        Where the systems are.
    spans
        What they need.
    **options
        Handed to the source.
    """

    def __init__(self, what: str, site: Site, spans: Sequence[Span], **options: Any) -> None:
        self._what, self._site, self._options = what, site, options
        self._union = merged(spans)
        self._loaded: dict[Span, Weather | SunveilError] = {}

    def over(self, needed: Span) -> Weather:
        """Return the weather over one of the spans, or as much of it as is known.

        A record on the clock that was found is some hours off its span, and well within its margin.
        """
        whole = next(span for span in self._union if span[0] < needed[1] and needed[0] < span[1])
        needed = max(needed[0], whole[0]), min(needed[1], whole[1])
        if whole not in self._loaded:
            self._loaded[whole] = self._load(whole)
        found = self._loaded[whole]
        if isinstance(found, SunveilError):
            raise found
        return get_weather(found, self._site, *needed)

    def _load(self, whole: Span) -> Weather | SunveilError:
        try:
            return get_weather(self._what, self._site, *whole, **self._options)
        except SunveilError as error:
            # Kept, so that a server that refused is not asked again for each system.
            return error


def merged(spans: Sequence[Span]) -> list[Span]:
    """Return the union of spans as spans that do not meet."""
    union: list[Span] = []
    for start, end in sorted(spans):
        if union and start <= union[-1][1]:
            union[-1] = union[-1][0], max(end, union[-1][1])
        else:
            union.append((start, end))
    return union
