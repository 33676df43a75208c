"""Asking a weather server politely: a few retries, and one clear sentence when it fails."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import requests

from sunveil.errors import ParameterError, WeatherError
from sunveil.site import Site
from sunveil.weather.base import COLUMNS, Weather
from sunveil.weather.cache import CacheKey, WeatherCache, stored_precision

_log = logging.getLogger(__name__)

# What pvlib's parsers raise on an answer that is not the one they expect.
PARSER_ERRORS = (
    ValueError,
    KeyError,
    IndexError,
    TypeError,
    AttributeError,
    StopIteration,
)


@dataclass(frozen=True, slots=True)
class RequestPolicy:
    """How often and how patiently a server is asked, and what no message may repeat.

    Parameters
    ----------
    server
        The server's name in messages.
    timeout
        How long it may stay silent. [s]
    attempts
        How often to ask in all when it is busy, broken or silent.
    pause
        Wait before the second attempt, doubled before each next. [s]
    secret
        Text that is struck out of every message, where not empty.
    """

    server: str
    timeout: float
    attempts: int
    pause: float
    secret: str = ""

    def __post_init__(self) -> None:
        if not self.timeout > 0.0:
            raise ParameterError(f"timeout must be above 0 seconds, and {self.timeout:g} is not")
        if self.attempts < 1:
            raise ParameterError(f"attempts must be at least 1, and {self.attempts} is not")
        if not self.pause >= 0.0:
            raise ParameterError(f"pause must be at least 0 seconds, and {self.pause:g} is not")


class _FailureError(Exception):
    """A failed attempt: the sentence to say, and whether asking again may help."""

    def __init__(self, sentence: str, *, again: bool) -> None:
        super().__init__(sentence)
        self.again = again


def cached_year(
    fetch: Callable[[], pd.DataFrame],
    *,
    key: CacheKey,
    site: Site,
    cache: WeatherCache | None,
    policy: RequestPolicy,
) -> Weather:
    """Return one year from the cache, or else from the server, keeping it when it is whole.

    Parameters
    ----------
    fetch
        Asks the server for the year, in pvlib's names, indexed by time.
    key
        What the year is called in the cache.
    site
        Where the weather is.
    cache
        Where it is kept; the user's cache folder when left out.
    policy
        How often to ask.
    """
    store = WeatherCache() if cache is None else cache
    known = store.load(key, site, source=key.source)
    if known is not None:
        return known
    frame = _asked(fetch, policy, year=key.year, step_minutes=key.step_minutes)
    weather = stored_precision(Weather.from_frame(frame, site=site, source=key.source))
    if not store.store(key, weather):
        _log.warning("cannot write the weather cache in %s; the next run asks again", store.folder)
    return weather


def _asked(
    fetch: Callable[[], pd.DataFrame], policy: RequestPolicy, *, year: int, step_minutes: int
) -> pd.DataFrame:
    """Return a whole year from ``fetch``, asking again while that may help."""
    for attempt in range(1, policy.attempts + 1):
        try:
            return _whole(_attempt(fetch, policy), policy, year=year, step_minutes=step_minutes)
        except _FailureError as failure:
            sentence, again = str(failure), failure.again
        if not again:
            break
        if attempt < policy.attempts:
            time.sleep(policy.pause * 2.0 ** (attempt - 1))
    # Raised outside the handler: the causes carry the address, and the address carries the key.
    raise WeatherError(sentence)


def _attempt(fetch: Callable[[], pd.DataFrame], policy: RequestPolicy) -> pd.DataFrame:
    server = policy.server
    try:
        return fetch()
    except requests.Timeout:
        raise _FailureError(
            f"{server} did not answer within {policy.timeout:g} s; try again later, or allow it"
            " more time with timeout",
            again=True,
        ) from None
    except requests.HTTPError as error:
        raise _refusal(error, policy) from None
    except requests.RequestException as error:
        raise _FailureError(
            f"{server} could not be reached, or its answer broke off ({type(error).__name__});"
            " check the network, or use the clear sky, which needs none",
            again=True,
        ) from None
    except PARSER_ERRORS:
        raise _FailureError(
            f"{server} answered with something that is not a year of weather (an error page, or an"
            " answer cut short); try again later, and check the key and the address if it persists",
            again=True,
        ) from None


def _refusal(error: requests.HTTPError, policy: RequestPolicy) -> _FailureError:
    """Return the failure that an HTTP status stands for."""
    server, said = policy.server, _said(error, policy.secret)
    status = None if error.response is None else error.response.status_code
    if status in (401, 403):
        what = "the key" if policy.secret else "access"
        remedy = "check the API key and the e-mail address" if policy.secret else "try again later"
        return _FailureError(f"{server} refused {what} (HTTP {status}); {remedy}", again=False)
    if status == 429:
        return _FailureError(
            f"{server} has had too many requests from here (HTTP 429); wait an hour and try again",
            again=True,
        )
    if status is not None and status >= 500:
        return _FailureError(
            f"{server} is out of order (HTTP {status}); try again later", again=True
        )
    number = "" if status is None else f" (HTTP {status})"
    return _FailureError(
        f"{server} refused the request{number}: {said}; check the place and the year asked for",
        again=False,
    )


def _said(error: requests.HTTPError, secret: str) -> str:
    """Return the server's own words, short, on one line and without the secret."""
    words = " ".join(str(error.args[0] if error.args else "").split())
    if secret:
        words = words.replace(secret, "…")
    return words[:200].rstrip(" .;") or "it gave no reason"


def _whole(
    frame: pd.DataFrame, policy: RequestPolicy, *, year: int, step_minutes: int
) -> pd.DataFrame:
    """Return the frame in UTC when it holds every interval of ``year``, once."""
    times = pd.DatetimeIndex(frame.index).tz_convert("UTC")
    days = 366 if pd.Timestamp(year, 12, 31).day_of_year == 366 else 365
    wanted = days * 1440 // step_minutes
    rows = frame.set_axis(times)[times.year == year]
    light = rows[[name for name in COLUMNS if name in rows]].to_numpy(np.float64)
    good = int(np.isfinite(light).all(axis=1).sum())
    if good < wanted or len(rows) != wanted:
        raise _FailureError(
            f"{policy.server} sent {good} of the {wanted} rows of {year}: its answer was cut short;"
            " try again later",
            again=True,
        )
    return rows
