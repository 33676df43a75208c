"""Many systems of one site, under weather that is loaded once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from sunveil.errors import SunveilError
from sunveil.estimate import Estimate
from sunveil.infer import Options, infer_record, record_span
from sunveil.meters import Record
from sunveil.site import Site
from sunveil.weather import Weather, get_weather

Span = tuple[pd.Timestamp, pd.Timestamp]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A system that could not be inferred, and why in one sentence."""

    system_id: str
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Return the refusal as plain JSON types."""
        return {"system_id": self.system_id, "error": self.reason}


Outcome = Estimate | Refusal


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
        """Return the weather over one of the spans."""
        whole = next(span for span in self._union if span[0] <= needed[0] and needed[1] <= span[1])
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


def infer_all(
    records: Sequence[Record], weather: SiteWeather, *, options: Options
) -> Iterator[Outcome]:
    """Yield the estimate of each system, or why there is none, in the order of the records.

    Parameters
    ----------
    records
        The systems' readings.
    weather
        Of the site that they share.
    options
        Of the inference.
    """
    for record in records:
        yield _infer_one(record, weather, options=options)


def _infer_one(record: Record, weather: SiteWeather, *, options: Options) -> Outcome:
    try:
        return infer_record(record, weather.over(record_span(record)), options=options)
    except SunveilError as error:
        return Refusal(record.system_id, str(error))
