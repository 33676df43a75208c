"""Places of a simulated fleet and its weather cells."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from sunveil._extras import optional_package
from sunveil._options import check_fields, checked
from sunveil.errors import ParameterError, SourceError, WeatherError
from sunveil.simulate.fault_rates import CITIES, EUROPE, REAL_FLEET, US, FaultRates, FleetStatistics
from sunveil.simulate.simulated_sky import weather_year, whole_year
from sunveil.site import Site
from sunveil.weather.weather_data import Weather

if TYPE_CHECKING:
    import duckdb
else:
    duckdb = optional_package("duckdb", purpose="a simulated fleet")

CELL_SYSTEMS = 100
COLUMNS = ("latitude", "longitude", "altitude", "timezone", "weight", "name")

# Cells are distinguished by whole tenths of degrees.
Tenths = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Place:
    """A site that a fleet is laid around."""

    name: str  # what it is called
    site: Site  # where it is
    timezone: str  # the clock on the wall there
    weight: float = 1.0  # its share of the fleet, relative to the others

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def statistics(self) -> FleetStatistics:
        """The list to draw systems here from: American in the Americas, else European."""
        region = self.timezone.partition("/")[0]
        if region == "Europe":
            return EUROPE
        return US if region in ("America", "US") or self.site.longitude < -30.0 else EUROPE


@dataclass(frozen=True, slots=True)
class SimulatedCell:
    """A square of 0.1 by 0.1 degrees; its systems share a sky."""

    number: int  # its place in the fleet, from 0
    name: str  # the site that it belongs to
    site: Site  # its centre, at multiples of 0.1 degrees
    timezone: str  # the clock on the wall
    statistics: FleetStatistics  # how its systems face and how large they are
    systems: int  # how many there are

    @property
    def saves_daylight(self) -> bool:
        """Whether the clock on the wall changes through the year."""
        zone = ZoneInfo(self.timezone)
        winter, summer = (datetime(2019, month, 1, tzinfo=zone) for month in (1, 7))
        return winter.utcoffset() != summer.utcoffset()

    @property
    def tenths(self) -> Tenths:
        """Its centre in whole tenths of degrees."""
        return _tenths(self.site.latitude, self.site.longitude)


def default_places() -> list[Place]:
    """Return the 25 cities of the simulator."""
    return [Place(city.name, city.site, city.timezone) for city in CITIES]


@checked
def read_places(path: Path) -> list[Place]:
    """Return the sites of a CSV or Parquet file.

    It has the columns latitude and longitude, and may have altitude [m], timezone (an IANA name),
    weight and name. The default time zone is whole hours from UTC, by the longitude.
    """
    if not path.is_file():
        raise SourceError(f"the list of sites {path} is not a file; name a CSV or Parquet file")
    reader = "read_parquet" if _is_parquet(path) else "read_csv"
    with duckdb.connect() as database:
        try:
            found = database.execute(f"SELECT * FROM {reader}(?)", [str(path)])
            names = [str(column[0]).strip().lower() for column in found.description or ()]
            rows = found.fetchall()
        except duckdb.Error as error:
            raise SourceError(
                f"the list of sites {path} cannot be read as CSV or Parquet; give it a header and"
                " one site per row"
            ) from error
    missing = [name for name in ("latitude", "longitude") if name not in names]
    if missing:
        raise SourceError(f"the list of sites {path} lacks the column {missing[0]}; add it")
    if not rows:
        raise SourceError(f"the list of sites {path} is empty; give it one site per row")
    return [_place(dict(zip(names, row, strict=True)), path, i) for i, row in enumerate(rows, 1)]


def lay_cells(
    places: Sequence[Place], *, systems: int, cells: int | None, seed: int
) -> list[SimulatedCell]:
    """Return the weather cells of a fleet, each with its number of systems."""
    # Every site has its own cell. Further cells are scattered about the sites, by weight;
    # when there are fewer cells than sites, sites are drawn by weight.
    own: dict[Tenths, Place] = {}
    for place in places:
        own.setdefault(_tenths(place.site.latitude, place.site.longitude), place)
    if cells is None:
        cells = min(systems, max(len(own), math.ceil(systems / CELL_SYSTEMS)))
    if not 1 <= cells <= systems:
        raise ParameterError(
            f"a fleet of {systems} systems cannot have {cells} cells; every cell has one system"
            " at least"
        )
    rng = np.random.default_rng(np.random.SeedSequence([seed, 1]))
    chosen = _fewer(own, cells, rng) if cells < len(own) else _more(own, cells, rng)
    factors = np.exp(0.5 * rng.standard_normal(cells))
    # a site's weight is shared by its cells
    sharing = Counter(id(place) for place in chosen.values())
    among = np.array([sharing[id(place)] for place in chosen.values()])
    counts = _share_out(systems, _weights(chosen.values()) * factors / among)
    return [
        SimulatedCell(
            number=number,
            name=place.name,
            site=Site(tenths[0] / 10.0, tenths[1] / 10.0, place.site.altitude),
            timezone=place.timezone,
            statistics=place.statistics,
            systems=int(count),
        )
        for number, ((tenths, place), count) in enumerate(zip(chosen.items(), counts, strict=True))
    ]


def solar_zone(site: Site) -> str:
    """Return the clock of whole hours that the sun over a site keeps nearest to."""
    # these names count westwards
    return f"Etc/GMT{-round(site.longitude / 15.0):+d}"


def _fewer(own: dict[Tenths, Place], cells: int, rng: np.random.Generator) -> dict[Tenths, Place]:
    drawn = rng.choice(len(own), size=cells, replace=False, p=_weights(own.values()))
    every = list(own.items())
    return dict(every[i] for i in sorted(drawn))


def _more(own: dict[Tenths, Place], cells: int, rng: np.random.Generator) -> dict[Tenths, Place]:
    found, every = dict(own), list(own.items())
    for i in rng.choice(len(every), size=cells - len(own), p=_weights(own.values())):
        (north, east), place = every[i]
        reach = 3.0
        while True:
            step = np.rint(reach * rng.standard_normal(2)).astype(int)
            tenths = (north + int(step[0]), (east + int(step[1]) + 1800) % 3600 - 1800)
            if abs(tenths[0]) <= 899 and tenths not in found:
                break
            reach *= 1.05  # the nearer cells are taken
        found[tenths] = place
    # cells of one site are adjacent
    order = {id(place): number for number, place in enumerate(own.values())}
    return dict(sorted(found.items(), key=lambda pair: order[id(pair[1])]))


def _share_out(total: int, weights: np.ndarray[Any, np.dtype[np.float64]]) -> list[int]:
    """Return whole numbers, 1 at least, that add up to ``total`` in proportion to weights."""
    exact = (total - len(weights)) * weights / weights.sum()
    counts = np.floor(exact).astype(int)
    rest = np.argsort(counts - exact, kind="stable")[: total - len(weights) - counts.sum()]
    counts[rest] += 1
    return [int(count) + 1 for count in counts]


def _weights(places: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    weights = np.array([place.weight for place in places])
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def _tenths(latitude: float, longitude: float) -> Tenths:
    return round(latitude * 10.0), round(longitude * 10.0)


def _place(row: dict[str, Any], path: Path, number: int) -> Place:
    where = f"site {number} of {path}"
    latitude, longitude = (_number(row, name, where) for name in ("latitude", "longitude"))
    if latitude is None or longitude is None:
        raise SourceError(f"{where} has no latitude or no longitude; give both in degrees")
    weight = _number(row, "weight", where)
    if weight is not None and not 0.0 < weight < math.inf:
        raise SourceError(f"{where} has a weight that is not above 0; leave it out or correct it")
    try:
        site = Site(latitude, longitude, _number(row, "altitude", where))
    except ParameterError as error:
        raise SourceError(f"{where} is no place: {error}") from error
    zone = row.get("timezone") or solar_zone(site)
    _check_zone(str(zone), where)
    return Place(str(row.get("name") or f"site {number}"), site, str(zone), weight or 1.0)


def _number(row: dict[str, Any], name: str, where: str) -> float | None:
    value = row.get(name)
    if value is None:
        return None
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise SourceError(f"{where} has a {name} that is not a number; correct it") from error


def _check_zone(zone: str, where: str) -> None:
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise SourceError(
            f"{where} has a time zone that is not known; write one like America/Denver"
        ) from error


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


INTERVALS = (15, 30, 60)

# pvlib's solar positions and the world's clocks are good for these.
FIRST_YEAR, LAST_YEAR = 1980, 2049
USUAL_YEAR = 2019

# Farther from a file's place its weather is taken for a mistake. [degrees of latitude]
FARTHEST = 1.0


class ReadingsLayout(StrEnum):
    """Layout of readings in a file: one row each, or one list for each system."""

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
    """Share of meters that see only the net of generation and load, with batteries and cars."""

    # Share of systems with a meter that sees the net; 0 for a fleet of generation meters
    share: float = 0.0
    # Shares of these systems' households with a battery, and of its homes with an electric car
    batteries: float = 0.0
    cars: float = 0.0
    # Generation less load in one column; import and export in two, both of which count within an
    # interval in which power flows both ways; or export alone. Generation meters of such a fleet
    # export all that they read
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
    """What a simulated fleet is to be; :meth:`of` lays its cells."""

    cells: tuple[SimulatedCell, ...]  # the cells with their numbers of systems
    seed: int = 1  # the same seed gives the same fleet, byte for byte
    year: int = USUAL_YEAR  # calendar year of the readings, in UTC
    interval_minutes: int = 60  # interval of the meters: 15, 30 or 60 [minutes]
    # One row per reading, or one row per system with a list
    layout: ReadingsLayout = ReadingsLayout.LONG
    # Rates of faults: those of real records (`REAL_FLEET`), or fewer
    rates: FaultRates = REAL_FLEET
    weather: Weather | None = None  # real weather in place of simulated skies
    net: NetMix = NetMix()  # how many meters see only the net of generation and load

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
        """Return the specification of a fleet of some systems."""
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
