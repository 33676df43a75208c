"""What a simulated fleet is to be: its cells, year, meters and faults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sunveil.errors import ParameterError
from sunveil.simulate.places import Place, SimulatedCell, default_places, lay_cells

INTERVALS = (15, 30, 60)
# pvlib's solar positions and the world's clocks are good for these.
FIRST_YEAR, LAST_YEAR = 1980, 2049


class ReadingsLayout(StrEnum):
    """How readings stand in a file: one row each, or one list for each system."""

    LONG = "long"
    LISTS = "lists"


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
    faults
        Whether the systems have the faults of real ones.
    """

    cells: tuple[SimulatedCell, ...]
    seed: int = 1
    year: int = 2019
    interval_minutes: int = 60
    layout: ReadingsLayout = ReadingsLayout.LONG
    faults: bool = True

    def __post_init__(self) -> None:
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

    @classmethod
    def of(
        cls,
        systems: int,
        *,
        seed: int = 1,
        places: Sequence[Place] | None = None,
        cells: int | None = None,
        year: int = 2019,
        interval_minutes: int = 60,
        layout: ReadingsLayout = ReadingsLayout.LONG,
        faults: bool = True,
    ) -> FleetSpec:
        """Return the specification of a fleet of some systems.

        Parameters
        ----------
        systems
            How many systems.
        places
            The sites; the simulator's 25 cities when left out.
        cells
            How many weather cells; one for every site and every 100 systems when left out.
        seed, year, interval_minutes, layout, faults
            As for the specification itself.
        """
        if systems < 1:
            raise ParameterError(f"a fleet has 1 system at least, and {systems} is not")
        if seed < 0:
            raise ParameterError(f"seed must be 0 or more, and {seed} is not")
        laid = lay_cells(places or default_places(), systems=systems, cells=cells, seed=seed)
        return cls(tuple(laid), seed, year, interval_minutes, ReadingsLayout(layout), faults)

    @property
    def systems(self) -> int:
        """How many systems there are."""
        return sum(cell.systems for cell in self.cells)
