"""The known truth: one plane and one capacity at three places, every 5 minutes, in UTC."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd

from sunveil.simulate import SystemTruth, simulate_power, simulate_sky
from sunveil.site import Plane, Site

# Twenty degrees west of the equator's direction, as roofs are; north-west of it in the south.
TILT, WEST_OF_EQUATOR, CAPACITY_KW = 28.0, 20.0, 7.2
YEAR = 2024
# Days above 12 in a month say which of two numbers is the month: every span ends on 20 June.
LAST_DAY = pd.Timestamp("2024-06-20")
PLACES = {
    "munich": (48.14, 11.58, "Europe/Berlin"),
    "denver": (39.74, -104.99, "America/Denver"),
    "sydney": (-33.87, 151.21, "Australia/Sydney"),
}


@dataclass(frozen=True)
class KnownPlant:
    """A plant whose plane, capacity and power are known, over whole days of a file's clock."""

    place: str
    days: int

    @property
    def latitude(self) -> float:
        return PLACES[self.place][0]

    @property
    def longitude(self) -> float:
        return PLACES[self.place][1]

    @property
    def timezone(self) -> str:
        """The clock on the wall there."""
        return PLACES[self.place][2]

    @property
    def azimuth(self) -> float:
        return (180.0 + WEST_OF_EQUATOR) if self.latitude > 0 else 360.0 - WEST_OF_EQUATOR

    def power(self, minutes: int, clock: str | None = None, *, share: float = 1.0) -> pd.Series:
        """Return mean power in kW by the start of each interval, over whole days of a clock.

        The clock is the place's own unless given; ``share`` is the part of the plant.
        """
        zone = clock or self.timezone
        first = (LAST_DAY - pd.Timedelta(days=self.days - 1)).tz_localize(zone)
        end = (LAST_DAY + pd.Timedelta(days=1)).tz_localize(zone)
        fine = _year(self.place)
        fine = fine[(fine.index >= first) & (fine.index < end)]
        mean = fine.to_numpy().reshape(-1, minutes // 5).mean(axis=1) * share
        return pd.Series(mean, index=fine.index[:: minutes // 5].tz_convert(zone), name="power_kw")

    def load(self, minutes: int, clock: str | None = None) -> pd.Series:
        """Return what the home under the plant uses, in the same intervals. [kW]

        It is between 0.2 and 2 kW, most in the evening of the home's own clock, and never the same.
        """
        power = self.power(minutes, clock)
        local = power.index.tz_convert(self.timezone)
        hour = (local.hour + local.minute / 60.0).to_numpy()
        evening = np.exp(-(((hour - 19.5) / 2.0) ** 2))
        some = np.random.default_rng(20).exponential(0.25, len(power)).clip(max=1.0)
        return pd.Series(0.2 + some + 0.8 * evening, index=power.index, name="load_kw")


@lru_cache(maxsize=4)
def _year(place: str) -> pd.Series:
    latitude, longitude, _ = PLACES[place]
    site = Site(latitude, longitude)
    azimuth = KnownPlant(place, 1).azimuth
    truth = SystemTruth("plant", site, ((Plane(azimuth, TILT), 1.0),), CAPACITY_KW)
    sky = simulate_sky(site, YEAR, seed=16, clear_days=0.6)
    power = simulate_power(truth, sky, seed=16, step_minutes=5, noise=0.01)
    return pd.Series(np.maximum(power.to_numpy(), 0.0), index=power.index)
