"""What a simulated fleet is to be: its cells, year, weather, meters and faults."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sunveil.arguments import check_fields
from sunveil.errors import ParameterError, WeatherError
from sunveil.simulate.fault_rates import REAL_FLEET, FaultRates
from sunveil.simulate.filesky import weather_year, whole_year
from sunveil.simulate.places import Place, SimulatedCell, default_places, lay_cells, solar_zone
from sunveil.weather.base import Weather

INTERVALS = (15, 30, 60)
# pvlib's solar positions and the world's clocks are good for these.
FIRST_YEAR, LAST_YEAR = 1980, 2049
USUAL_YEAR = 2019
# Farther from a file's place its weather is taken for a mistake. [degrees of latitude]
FARTHEST = 1.0


class ReadingsLayout(StrEnum):
    """How readings stand in a file: one row each, or one list for each system."""

    LONG = "long"
    LISTS = "lists"


class NetColumns(StrEnum):
    """How readings of meters are written where some of them see only the net."""

    SIGNED = "signed"
    TWO = "two"
    EXPORT = "export"

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of readings."""
        return {
            NetColumns.SIGNED: ("power_kw",),
            NetColumns.TWO: ("import_kw", "export_kw"),
            NetColumns.EXPORT: ("export_kw",),
        }[self]


@dataclass(frozen=True, slots=True)
class NetMix:
    """How many meters see only the net of generation and load, and what stands behind them.

    Parameters
    ----------
    share
        Share of systems whose meter sees the net; 0 for a fleet of generation meters.
    batteries, cars
        Shares of these systems' households with a battery, and of its homes with an electric car.
    columns
        Generation less load in one column; import and export in two, both of which count within an
        interval in which power flows both ways; or export alone. Generation meters of such a fleet
        export all that they read.
    """

    share: float = 0.0
    batteries: float = 0.0
    cars: float = 0.0
    columns: NetColumns = NetColumns.SIGNED

    def __post_init__(self) -> None:
        check_fields(self)
        if not all(0.0 <= each <= 1.0 for each in (self.share, self.batteries, self.cars)):
            raise ParameterError("shares of net meters, batteries and cars must be from 0 to 1")
        if self.share == 0.0 and (self.batteries or self.cars or self.columns != NetColumns.SIGNED):
            raise ParameterError(
                "batteries, cars and columns of net meters need a share of net meters (--net)"
            )


@dataclass(frozen=True, slots=True)
class FleetSpec:
    """What a simulated fleet is to be; :meth:`of` lays its cells.

    Parameters
    ----------
    cells
        The cells with their numbers of systems.
    seed
        The same seed gives the same fleet, byte for byte.
    year
        Calendar year of the readings, in UTC.
    interval_minutes
        Interval of the meters: 15, 30 or 60. [minutes]
    layout
        One row per reading, or one row per system with a list.
    rates
        What befalls the systems, and how often: as real records have it
        (:data:`~sunveil.simulate.fault_rates.REAL_FLEET`), or less.
    weather
        Real weather in place of simulated skies.
    net
        How many meters see only the net of generation and load; none when left out.
    """

    cells: tuple[SimulatedCell, ...]
    seed: int = 1
    year: int = USUAL_YEAR
    interval_minutes: int = 60
    layout: ReadingsLayout = ReadingsLayout.LONG
    rates: FaultRates = REAL_FLEET
    weather: Weather | None = None
    net: NetMix = NetMix()

    def __post_init__(self) -> None:
        check_fields(self)
        if self.seed < 0:
            raise ParameterError(f"seed must be 0 or more, and {self.seed} is not")
        if not FIRST_YEAR <= self.year <= LAST_YEAR:
            raise ParameterError(
                f"year must be from {FIRST_YEAR} to {LAST_YEAR}, and {self.year} is not"
            )
        if self.interval_minutes not in INTERVALS:
            raise ParameterError(
                f"the interval must be 15, 30 or 60 minutes, and {self.interval_minutes} is not"
            )
        if self.weather is not None:
            whole_year(self.weather, self.year)

    @classmethod
    def of(
        cls,
        systems: int,
        *,
        seed: int = 1,
        places: Sequence[Place] | None = None,
        cells: int | None = None,
        year: int | None = None,
        interval_minutes: int = 60,
        layout: ReadingsLayout = ReadingsLayout.LONG,
        rates: FaultRates = REAL_FLEET,
        weather: Weather | None = None,
        net: NetMix | None = None,
    ) -> FleetSpec:
        """Return the specification of a fleet of some systems.

        Parameters
        ----------
        systems
            How many systems.
        places
            The sites; that of the weather, or the simulator's 25 cities, when left out.
        cells
            How many weather cells; one for every site and every 100 systems when left out.
        year
            Calendar year; that of the weather, or 2019, when left out.
        seed, interval_minutes, layout, rates, weather, net
            As for the specification itself.
        """
        if systems < 1:
            raise ParameterError(f"a fleet has 1 system at least, and {systems} is not")
        if seed < 0:
            raise ParameterError(f"seed must be 0 or more, and {seed} is not")
        if weather is None:
            places = places or default_places()
        else:
            places = places or [Place(weather.source, weather.site, solar_zone(weather.site))]
            _check_near(places, weather)
            year = year or weather_year(weather)
        laid = lay_cells(places, systems=systems, cells=cells, seed=seed)
        return cls(
            cells=tuple(laid),
            seed=seed,
            year=year or USUAL_YEAR,
            interval_minutes=interval_minutes,
            layout=ReadingsLayout(layout),
            rates=rates,
            weather=weather,
            net=net or NetMix(),
        )

    @property
    def systems(self) -> int:
        """How many systems there are."""
        return sum(cell.systems for cell in self.cells)


def _check_near(places: Sequence[Place], weather: Weather) -> None:
    """Refuse sites that a file's weather is not of."""
    for number, place in enumerate(places, 1):
        north = place.site.latitude - weather.site.latitude
        east = (place.site.longitude - weather.site.longitude + 180.0) % 360.0 - 180.0
        if math.hypot(north, east * math.cos(math.radians(weather.site.latitude))) > FARTHEST:
            raise WeatherError(
                f"site {number} is more than 100 km from the weather of {weather.source}; give"
                " sites near it, or none, for systems about the weather's own"
            )
