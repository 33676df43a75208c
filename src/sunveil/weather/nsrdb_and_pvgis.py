"""NSRDB and PVGIS clients: retries, refusals, whole years."""

from __future__ import annotations

import logging
import os
import time
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pvlib
import requests

from sunveil._options import checked
from sunveil.errors import ParameterError, WeatherError
from sunveil.site import Site
from sunveil.weather.cache import CacheKey, WeatherCache, stored_precision
from sunveil.weather.decomposition import horizontal_weather
from sunveil.weather.weather_data import COLUMNS, Weather, join_weather

_log = logging.getLogger(__name__)

# What pvlib's parsers raise on an answer that is not the one they expect.
PARSER_ERRORS = (ValueError, KeyError, IndexError, TypeError, AttributeError, StopIteration)


@dataclass(frozen=True, slots=True)
class RequestPolicy:
    """How often and how patiently a server is asked, and what no message may repeat."""

    server: str  # the server's name in messages
    timeout: float  # [s] how long it may stay silent
    attempts: int  # how often to ask in all when it is busy, broken or silent
    pause: float  # [s] wait before the second attempt, doubled before each next
    secret: str = ""  # text that is struck out of every message, where not empty

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
    """Return one year from the cache, or else from the server, keeping it when it is whole."""
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
    """Return the failure behind an HTTP status."""
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


@dataclass(frozen=True, slots=True)
class _Dataset:
    """One product: pvlib's function for it, and the steps it comes in [minutes]."""

    get: Callable[..., tuple[pd.DataFrame, dict[str, object]]]
    steps: tuple[int, ...]


# In the order in which "auto" tries them: the aggregate covers the most years and places.
DATASETS = {
    "aggregated": _Dataset(pvlib.iotools.get_nsrdb_psm4_aggregated, (30, 60)),
    "conus": _Dataset(pvlib.iotools.get_nsrdb_psm4_conus, (5, 15, 30, 60)),
    "full-disc": _Dataset(pvlib.iotools.get_nsrdb_psm4_full_disc, (10, 30, 60)),
}


@checked
def get_nsrdb(
    site: Site,
    years: int | Iterable[int],
    *,
    api_key: str | None = None,
    email: str | None = None,
    dataset: str = "auto",
    step_minutes: int = 30,
    url: str | None = None,
    timeout: float = 60.0,
    attempts: int = 4,
    pause: float = 2.0,
    cache: WeatherCache | None = None,
) -> Weather:
    """Return measured weather from the NSRDB, a UTC year at a time, each cached."""
    name = chosen_dataset(dataset, step_minutes)
    asked = _years(years)
    key, mail = _credentials(api_key, email)
    policy = RequestPolicy("the NSRDB", timeout=timeout, attempts=attempts, pause=pause, secret=key)
    product = name if url is None else f"{name}-{zlib.crc32(url.encode()):08x}"

    def fetch(year: int) -> pd.DataFrame:
        frame, _ = DATASETS[name].get(
            site.latitude,
            site.longitude,
            key,
            mail,
            year,
            time_step=step_minutes,
            parameters=COLUMNS,
            leap_day=True,
            utc=True,
            url=url,
            timeout=timeout,
        )
        return frame[list(COLUMNS)]

    def year_of(year: int) -> Weather:
        place = CacheKey.of(
            site,
            year,
            source="nsrdb",
            dataset=product,
            step_minutes=step_minutes,
            by_altitude=False,
        )
        return cached_year(lambda: fetch(year), key=place, site=site, cache=cache, policy=policy)

    return join_weather([year_of(year) for year in asked])


def chosen_dataset(name: str, step_minutes: int) -> str:
    """Return the product's name, once it is known to have the step."""
    if name != "auto" and name not in DATASETS:
        raise ParameterError(f"dataset must be auto, {', '.join(DATASETS)}, and {name!r} is not")
    for known, product in DATASETS.items():
        if name in ("auto", known) and step_minutes in product.steps:
            return known
    chosen = DATASETS.values() if name == "auto" else [DATASETS[name]]
    steps = ", ".join(map(str, sorted({step for product in chosen for step in product.steps})))
    raise ParameterError(
        f"step_minutes of the NSRDB's {name} data must be one of {steps}, and {step_minutes} is not"
    )


def _years(years: int | Iterable[int]) -> list[int]:
    asked = [years] if isinstance(years, int) else sorted(set(years))
    if not asked:
        raise ParameterError("years must name at least one year")
    return asked


def _credentials(api_key: str | None, email: str | None) -> tuple[str, str]:
    key = (api_key or os.environ.get("NSRDB_API_KEY") or "").strip()
    mail = (email or os.environ.get("NSRDB_EMAIL") or "").strip()
    if not key or not mail:
        lacking = "an API key" if not key else "an e-mail address"
        raise WeatherError(
            f"the NSRDB needs {lacking}: sign up for free at https://developer.nlr.gov/signup/ and"
            " set NSRDB_API_KEY and NSRDB_EMAIL, or use the clear sky, which needs neither"
        )
    return key, mail


@checked
def get_pvgis(
    site: Site,
    years: int | Iterable[int],
    *,
    database: str | None = None,
    url: str | None = None,
    timeout: float = 60.0,
    attempts: int = 4,
    pause: float = 2.0,
    cache: WeatherCache | None = None,
) -> Weather:
    """Return measured hourly weather from PVGIS, a UTC year at a time, each cached."""
    asked = [years] if isinstance(years, int) else sorted(set(years))
    if not asked:
        raise ParameterError("years must name at least one year")
    policy = RequestPolicy("PVGIS", timeout=timeout, attempts=attempts, pause=pause)
    address = pvlib.iotools.pvgis.URL if url is None else url
    other = "" if url is None else f"-{zlib.crc32(url.encode()):08x}"
    product = f"{database or 'default'}{other}"

    def fetch(year: int) -> pd.DataFrame:
        frame, _ = pvlib.iotools.get_pvgis_hourly(
            round(site.latitude, 4),
            round(site.longitude, 4),
            start=year,
            end=year,
            raddatabase=database,
            components=True,
            surface_tilt=0,
            url=address,
            timeout=timeout,
        )
        return horizontal_weather(frame)

    def year_of(year: int) -> Weather:
        key = CacheKey.of(
            site, year, source="pvgis", dataset=product, step_minutes=60, by_altitude=False
        )
        return cached_year(lambda: fetch(year), key=key, site=site, cache=cache, policy=policy)

    return join_weather([year_of(year) for year in asked])
