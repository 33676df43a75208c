"""When daylight is saved at a place."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
from numpy.typing import NDArray

from sunveil.site import Site

_DAY = 86400
_MANY_DAYS = 512


@dataclass(frozen=True, slots=True, eq=False)
class ClockCalendar:
    """What decides how far stamps run ahead, one entry each.

    Parameters
    ----------
    day
        The solar day that each lies in, counted since 1970.
    saving
        Whether it lies in daylight saving.
    """

    day: NDArray[np.int64]
    saving: NDArray[np.bool_]

    @classmethod
    def of(cls, seconds: NDArray[np.int64], site: Site, timezone: str) -> ClockCalendar:
        """Return the calendar of stamps on a declared clock, which counts where it saves daylight.

        Parameters
        ----------
        seconds
            The stamps. [s since 1970, UTC]
        site
            Where they were made.
        timezone
            The declared clock.
        """
        turned = seconds + round(site.longitude * 240.0)
        return cls(turned // _DAY, saving_days(seconds // _DAY, saving_rule(site, timezone)))


def saving_rule(site: Site, timezone: str) -> ZoneInfo | None:
    """Return the zone whose daylight-saving dates apply: the declared one, or one by place."""
    try:
        declared = ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, IsADirectoryError):
        declared = None
    if declared is not None and not timezone.upper().startswith(("UTC", "ETC/", "GMT")):
        return declared
    latitude, longitude = site.latitude, site.longitude
    if latitude > 15.0 and -170.0 < longitude < -50.0:
        return ZoneInfo("America/Denver")
    if latitude > 33.0 and -25.0 < longitude < 45.0:
        return ZoneInfo("Europe/Berlin")
    if latitude < -24.0 and 140.0 < longitude < 180.0:
        return ZoneInfo("Australia/Sydney")
    return None


def saving_days(days: NDArray[np.int64], rule: ZoneInfo | None) -> NDArray[np.bool_]:
    """Return which days (numbers since 1970) lie in daylight saving."""
    if rule is None or len(days) == 0:
        return np.zeros(len(days), dtype=bool)
    first, last = int(days.min()) // _MANY_DAYS, int(days.max()) // _MANY_DAYS
    known = np.concatenate([_saving_part(rule, part) for part in range(first, last + 1)])
    return np.asarray(known[days - first * _MANY_DAYS])


@functools.lru_cache(maxsize=256)
def _saving_part(rule: ZoneInfo, part: int) -> NDArray[np.bool_]:
    """Return which days of some hundreds lie in daylight saving."""
    days = part * _MANY_DAYS + np.arange(_MANY_DAYS, dtype=np.int64)
    noons = (days * _DAY + _DAY // 2).astype("datetime64[s]").astype(object)
    return np.array([bool(rule.dst(noon)) for noon in noons])
