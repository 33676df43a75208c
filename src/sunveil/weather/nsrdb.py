"""The National Solar Radiation Database: satellite weather of the Americas, by PSM version 4."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pandas as pd
import pvlib

from sunveil.checked import checked
from sunveil.errors import ParameterError, WeatherError
from sunveil.site import Site
from sunveil.weather.base import COLUMNS, Weather, join_weather
from sunveil.weather.cache import CacheKey, WeatherCache
from sunveil.weather.remote import RequestPolicy, cached_year


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
    """Return measured weather from the NSRDB, a UTC year at a time, each cached.

    Parameters
    ----------
    site
        Where, in the Americas.
    years
        UTC calendar years, consecutive.
    api_key, email
        Free at https://developer.nlr.gov/signup/; from ``NSRDB_API_KEY`` and ``NSRDB_EMAIL`` when
        left out.
    dataset
        ``"aggregated"`` (1998 on, 30 and 60 minutes), ``"conus"`` (2018 on, 5 to 60),
        ``"full-disc"`` (2018 on, 10 to 60), or ``"auto"``: the first of these with the step.
    step_minutes
        Spacing of the times. [minutes]
    url
        Another endpoint.
    timeout
        How long the server may stay silent. [s]
    attempts, pause
        How often to ask a busy or silent server, and the first wait between, doubled each time.
        [s]
    cache
        Where whole years are kept; the user's cache folder when left out.

    Returns
    -------
    Weather
        PSM values belong to the instants of their stamps: there, and only there, global equals
        diffuse plus beam times the cosine of the zenith.
    """
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
