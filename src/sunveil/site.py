"""Site, plane, losses and grid of times; altitudes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pvlib
from numpy.typing import NDArray

from sunveil._options import check_fields, checked, is_number, number, shown
from sunveil.errors import ParameterError


class Mount(StrEnum):
    """How the modules are mounted, which decides how hot they run."""

    UNKNOWN = "unknown"
    RACK = "rack"
    ROOF = "roof"

    @property
    def heat(self) -> float:
        """How much more the modules warm above the air than on Faiman's open rack, as a factor."""
        return {"unknown": 1.25, "rack": 1.0, "roof": 1.5}[self.value]


# What PVWatts 5 takes off the DC power of a system that runs, under a sky that nothing hides. Its
# shading, snow and availability are excluded: an inference rests on hours without them.
LOSS_PARTS = MappingProxyType(
    {
        "soiling": 0.02,
        "mismatch": 0.02,
        "wiring": 0.02,
        "connections": 0.005,
        "light-induced degradation": 0.015,
        "nameplate rating": 0.01,
    }
)

# How much more than that real, labelled systems give on clear days, in the mean
# (``python -m benchmarks.calibrate``).
CALIBRATION = 1.04
RUNNING_LOSSES = round(1.0 - CALIBRATION * math.prod(1.0 - part for part in LOSS_PARTS.values()), 3)


@dataclass(frozen=True, slots=True)
class Losses:
    """Losses between the light on the modules and the meter.

    Assumed, never inferred, and reported with every result.

    Parameters
    ----------
    system
        Soiling, wiring, mismatch and the like, as a fraction of DC power; the default is
        :data:`LOSS_PARTS` together, corrected by :data:`CALIBRATION`. Negative where a system
        yields more than its nameplate.
    inverter_efficiency
        Nominal inverter efficiency, as a fraction.
    gamma_pdc
        Temperature coefficient of DC power. [1/°C]
    """

    system: float = RUNNING_LOSSES
    inverter_efficiency: float = 0.96
    gamma_pdc: float = -0.004

    def __post_init__(self) -> None:
        check_fields(self)
        if not -0.2 <= self.system < 1.0:
            raise ParameterError(f"system losses must be in [-0.2, 1), and {self.system:g} is not")
        if not 0.5 <= self.inverter_efficiency <= 1.0:
            raise ParameterError(
                f"inverter_efficiency must be in [0.5, 1], and {self.inverter_efficiency:g} is not"
            )
        if not -0.02 <= self.gamma_pdc <= 0.0:
            raise ParameterError(
                f"gamma_pdc must be in [-0.02, 0] per °C, and {self.gamma_pdc:g} is not"
            )

    @classmethod
    def of(cls, given: Losses | float | None) -> Losses:
        """Return losses given as such, or as the fraction that the system loses alone.

        Parameters
        ----------
        given
            Losses; a fraction, such as 0.1; or None, for the assumed ones.
        """
        if given is None:
            return cls()
        if isinstance(given, cls):
            return given
        if not is_number(given):
            raise ParameterError(
                f"losses must be a fraction such as 0.1, or Losses, and {shown(given)} is not"
            )
        return cls(system=float(given))  # type: ignore[arg-type]

    @property
    def parts(self) -> dict[str, float]:
        """What the system losses are made of: the assumed parts, or all of them as given."""
        if self.system != RUNNING_LOSSES:
            return {"given": self.system}
        return {**LOSS_PARTS, "calibration on real systems": round(1.0 - CALIBRATION, 3)}

    @property
    def factor(self) -> float:
        """AC power per unit of DC power far from the inverter's limit."""
        return (1.0 - self.system) * self.inverter_efficiency


ROWS, COLUMNS = 2160, 4320

# What the map of altitudes has where nothing is known.
_UNKNOWN = 255

# Neighbouring places lie in the same pieces of a file, which are kept unpacked. [bytes]
_KEPT = 8 << 20


def altitude(latitude: float, longitude: float) -> float:
    """Return the coarse height of a place above the sea, as pvlib looks it up. [m]"""
    found = int(_value("Altitude", "Altitude", latitude, longitude))
    return 0.0 if found == _UNKNOWN else 28.0 * found - 450.0


def monthly_turbidity(latitude: float, longitude: float) -> NDArray[np.float64]:
    """Return Linke's turbidity of a place in each month, as pvlib looks it up."""
    return np.asarray(_value("LinkeTurbidities", "LinkeTurbidity", latitude, longitude) / 20.0)


def _value(file: str, name: str, latitude: float, longitude: float) -> NDArray[np.uint8]:
    """Return what a map has at a place: a number, or one for each month."""
    row = _index(latitude, first=90.0, per_degree=ROWS / -180.0, count=ROWS)
    column = _index(longitude, first=-180.0, per_degree=COLUMNS / 360.0, count=COLUMNS)
    return np.asarray(_opened(file, name)[row, column])


def _index(degrees: float, *, first: float, per_degree: float, count: int) -> int:
    # whole degrees lie between two rows: only the same steps as pvlib's choose the same one
    middle = first + 1.0 / per_degree / 2.0
    return min(max(round((degrees - middle) * per_degree), 0), count - 1)


@lru_cache(maxsize=2)
def _opened(file: str, name: str) -> Any:
    """Return a map of pvlib's, opened."""
    path = str(files("pvlib") / "data" / f"{file}.h5")
    # what is unpacked is forgotten when the map, not only the file, is closed
    return h5py.File(path, "r", rdcc_nbytes=_KEPT)[name]


Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Plane:
    """The orientation of an array: azimuth and tilt.

    Parameters
    ----------
    surface_azimuth
        Clockwise from north; brought into [0, 360). [degrees]
    surface_tilt
        From horizontal, in [0, 90]. [degrees]
    """

    surface_azimuth: float
    surface_tilt: float

    def __post_init__(self) -> None:
        number("surface_azimuth", self.surface_azimuth, unit="of degrees")
        number("surface_tilt", self.surface_tilt, low=0.0, high=90.0, unit="degrees")
        object.__setattr__(self, "surface_azimuth", self.surface_azimuth % 360.0 % 360.0)

    @property
    def normal(self) -> Array:
        """The unit vector out of the plane: east, north, up."""
        both = normals(np.array([self.surface_azimuth]), np.array([self.surface_tilt]))
        return np.asarray(both[0])

    @checked
    def angle_to(self, other: Plane) -> float:
        """Return the angle between two planes. [degrees]"""
        cosine = float(np.clip(self.normal @ other.normal, -1.0, 1.0))
        return math.degrees(math.acos(cosine))


def normals(surface_azimuth: Array, surface_tilt: Array) -> Array:
    """Return the unit normals (east, north, up) of planes, one per row."""
    azimuth, tilt = np.radians(surface_azimuth), np.radians(surface_tilt)
    return np.stack(
        [np.sin(tilt) * np.sin(azimuth), np.sin(tilt) * np.cos(azimuth), np.cos(tilt)], axis=-1
    )


# Wind at the modules over wind at 10 m, where weather services measure it.
SHELTER = 0.5

# By how much the air cools on each kilometre of height, near the ground over a year. [K/km]
LAPSE = 5.5


class SkyModel(StrEnum):
    """How the diffuse light of the sky is spread over the dome."""

    ISOTROPIC = "isotropic"
    HAYDAVIES = "haydavies"
    PEREZ = "perez-driesse"


@dataclass(frozen=True, slots=True)
class Site:
    """A place on the globe.

    Parameters
    ----------
    latitude
        North positive, in [-90, 90]. [degrees]
    longitude
        East positive, in [-180, 180]. [degrees]
    altitude
        Height above the sea; default: from pvlib's coarse map. [m]
    """

    latitude: float
    longitude: float
    altitude: float | None = None

    def __post_init__(self) -> None:
        for name, limit in (("latitude", 90.0), ("longitude", 180.0)):
            value = getattr(self, name)
            if not (is_number(value) and math.isfinite(value) and -limit <= value <= limit):
                raise ParameterError(
                    f"{name} must be between {-limit:g} and {limit:g} degrees, not {shown(value)};"
                    " north and east are positive"
                )
        if self.altitude is None:
            object.__setattr__(self, "altitude", altitude(self.latitude, self.longitude))
        else:
            number("altitude", self.altitude, low=-500.0, high=9000.0, unit="metres")

    @classmethod
    @checked
    def of(
        cls,
        place: Any = None,
        *,
        latitude: float | None = None,
        longitude: float | None = None,
        altitude: float | None = None,
    ) -> Site:
        """Return a site given by its numbers, or by something that has them.

        Parameters
        ----------
        place
            A site, pvlib's ``Location`` or anything else with ``latitude``, ``longitude`` and,
            where it knows it, ``altitude``; in place of the numbers.
        latitude, longitude, altitude
            The numbers, where there is no place. [degrees, degrees, m]
        """
        numbers = (latitude, longitude, altitude)
        if place is None:
            if latitude is None or longitude is None:
                raise ParameterError(
                    "a place is needed: give latitude= and longitude= in degrees, or site= as a"
                    " Site or as pvlib's Location"
                )
            return cls(latitude, longitude, altitude)
        if any(each is not None for each in numbers):
            raise ParameterError("give site= or latitude= and longitude=, not both")
        if isinstance(place, cls):
            return place
        if not (hasattr(place, "latitude") and hasattr(place, "longitude")):
            raise ParameterError(
                f"site must be a Site or pvlib's Location, and {shown(place)} is not"
            )
        return cls(place.latitude, place.longitude, getattr(place, "altitude", None))

    @property
    def height(self) -> float:
        """The altitude, given or looked up. [m]"""
        assert self.altitude is not None
        return self.altitude

    @checked
    def sun(self, times: pd.DatetimeIndex) -> pd.DataFrame:
        """Return pvlib's solar position (``apparent_zenith``, ``azimuth``, ...) at ``times``."""
        return pd.DataFrame(
            pvlib.solarposition.get_solarposition(
                times, self.latitude, self.longitude, altitude=self.height
            )
        )


DAY = 86400

# Shorter intervals are averaged to this length for a fit: the sky knows no more. [s]
LONG = 1800


@dataclass(frozen=True, slots=True)
class TimeGrid:
    """A public run of evenly spaced intervals."""

    first: int  # start of the first interval [s since 1970, UTC]
    step: int  # length of an interval [s]
    count: int  # how many intervals

    def __post_init__(self) -> None:
        check_fields(self)
        if not 60 <= self.step <= 3600:
            raise ParameterError(
                f"intervals must be 1 to 60 minutes long, and {shown(self.step)} seconds are not"
            )
        if self.count < 1:
            raise ParameterError("a grid of times needs at least one interval")

    @property
    def starts(self) -> NDArray[np.int64]:
        """Start of each interval. [s since 1970, UTC]"""
        return self.first + self.step * np.arange(self.count, dtype=np.int64)

    @property
    def times(self) -> NDArray[np.datetime64]:
        """Start of each interval, as UTC instants."""
        return self.starts.astype("datetime64[s]")

    @property
    def days(self) -> int:
        """How many days it spans, the last one begun counted whole."""
        return -(-self.count * self.step // DAY)

    @property
    def per_long(self) -> int:
        """How many intervals make one of 30 minutes; 1 where they are not averaged."""
        return LONG // self.step if self.step < LONG and LONG % self.step == 0 else 1

    @property
    def lead(self) -> int:
        """How many intervals are missing before the first for it to begin a long one."""
        return (self.first - self.first % self.step) % (self.per_long * self.step) // self.step

    @property
    def long(self) -> TimeGrid:
        """The grid on which readings are compared with the sky."""
        if self.per_long == 1:
            return self
        count = -(-(self.count + self.lead) // self.per_long)
        return TimeGrid(self.first - self.lead * self.step, self.per_long * self.step, count)

    def moved(self, seconds: int) -> TimeGrid:
        """Return the grid some seconds later."""
        return TimeGrid(self.first + seconds, self.step, self.count)
