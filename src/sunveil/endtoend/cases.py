"""Which cases an audit goes through: every door, every kind of file, every unit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from sunveil.endtoend.cells import (
    CROWDED,
    THREE,
    PrivateCells,
    Truth,
    estimate_cells,
    meter_cells,
)
from sunveil.endtoend.commands import (
    command_release,
    publish_estimates,
    publish_system,
    subprocess_release,
)
from sunveil.endtoend.comparing import Case
from sunveil.endtoend.hostile import DAY, FEW, READING, SYSTEM, Neighbour, neighbours
from sunveil.endtoend.inputs import (
    ESTIMATE_WRITERS,
    METER_WRITERS,
    comma_csv,
    csv_folder,
    estimates_csv,
    fleet_folder,
    number_parquet,
)
from sunveil.endtoend.library import python_release, python_tables
from sunveil.endtoend.rules import Rule, anything, each_near, many_near, total_within
from sunveil.endtoend.served import ServiceDoor, served_systems, served_tables
from sunveil.endtoend.workplace import Entry, Workplace

EPSILON = 1.0
PYTHON, COMMAND, PROCESS = "Python", "command", "process"
FOLDER, SERVICE = "publication", "HTTP"
UNITS = {READING: "readings:1", DAY: "days:1", SYSTEM: "system"}
DAYS, SHORT_DAYS = 20, 6
# Releases of whole records are so noisy that it takes this many to tell that all of them went wrong;
# this many or more are then near what they are, but for a few runs in a thousand.
CROWD, CROWD_NEAR = 40, 15
# So many rows of estimates that rounding half of them moves the total far beyond its noise.
ROWS, WHOLE_ROWS, TOTAL_REACH = 4000, 1000, 700.0
TOTAL_NAMES = ("dc_capacity_kw",)
SYNTHETIC_ROWS = 300
DRAWS, FEW_DRAWS = 400, 120


@dataclass(frozen=True)
class Scope:
    """How much an audit looks at.

    Parameters
    ----------
    place
        Where it is run.
    service
        The service that answers over HTTP.
    short
        Whether only what broke a reader before is tried, at each door once.
    """

    place: Workplace
    service: ServiceDoor
    short: bool = False

    @cached_property
    def three(self) -> PrivateCells:
        """Three systems that a release tells apart."""
        return meter_cells(THREE, days=DAYS)

    @cached_property
    def crowd(self) -> PrivateCells:
        """Many systems that are all alike."""
        return meter_cells([CROWDED] * CROWD, days=SHORT_DAYS)

    @cached_property
    def feeds(self) -> PrivateCells:
        """Three systems in whole Wh."""
        return meter_cells(THREE, days=DAYS, scale=1000.0, digits=0)

    @cached_property
    def estimates(self) -> PrivateCells:
        """A table of estimates."""
        return estimate_cells(ROWS, whole=WHOLE_ROWS)

    def all(self) -> list[Case]:
        """Return all cases."""
        made = [*self._meters(), *self._fleets(), *self._estimates(), *self._draws()]
        if not self.short:
            made += [self._synthetic(), self._process()]
        return made

    def _meters(self) -> Iterator[Case]:
        places, service = self.place, self.service
        for source in METER_WRITERS:
            for unit, word in UNITS.items():
                data = self._data(source, unit)
                count, asked = len(data.by_system), {"unit": word, "epsilon": EPSILON}
                doors: dict[str, Entry] = {
                    PYTHON: python_release(unit=word, epsilon=EPSILON),
                    COMMAND: command_release(places, unit=word, epsilon=EPSILON),
                    FOLDER: publish_system(places, unit=word, epsilon=EPSILON),
                    SERVICE: served_systems(
                        places, service, unit=word, epsilon=EPSILON, systems=count
                    ),
                }
                del asked
                for door, entry in doors.items():
                    if not self.short or (door, source, unit) in SHORT:
                        yield self._case(door, source, unit, data=data, run=entry)

    def _data(self, source: str, unit: str) -> PrivateCells:
        if source == "Green Button":
            return self.feeds
        return self.crowd if unit == SYSTEM and source in CROWDED_SOURCES else self.three

    def _case(
        self, door: str, source: str, unit: str, *, data: PrivateCells, run: Entry
    ) -> Case:
        spots = 2 if door in (PYTHON, COMMAND) and not self.short else 1
        made = neighbours(data, unit, kinds=FEW if self.short else None, spots=spots)
        one = source == ONE_SYSTEM
        return Case(
            door,
            source,
            unit,
            EPSILON,
            data,
            tuple(each for each in made if not one or each.system == next(iter(data.by_system))),
            METER_WRITERS[source],
            run,
            anything if one else _rule(data, unit),
        )

    def _fleets(self) -> Iterator[Case]:
        writers = {"fleet, folder of CSV": csv_folder, "fleet, Parquet": number_parquet}
        for source, write in writers.items():
            for unit in (READING, SYSTEM):
                word, data = UNITS[unit], self.three
                doors: dict[str, Entry] = {
                    COMMAND: command_release(self.place, unit=word, epsilon=EPSILON, fleet=True),
                    FOLDER: publish_system(self.place, unit=word, epsilon=EPSILON, fleet=True),
                }
                for door, entry in doors.items():
                    if not self.short or (door, source, unit) in SHORT:
                        made = neighbours(data, unit, kinds=FEW if self.short else None, spots=1)
                        rule = _rule(data, unit)
                        yield Case(
                            door, source, unit, EPSILON, data, tuple(made), fleet_folder(write),
                            entry, rule,
                        )

    def _estimates(self) -> Iterator[Case]:
        data = self.estimates
        doors: dict[str, Entry] = {
            PYTHON: python_tables(epsilon=EPSILON),
            FOLDER: publish_estimates(self.place, "fleet", epsilon=EPSILON),
            SERVICE: served_tables(self.place, self.service, epsilon=EPSILON, systems=ROWS),
        }
        rule = total_within(total_of(data), TOTAL_REACH)
        for source, write in ESTIMATE_WRITERS.items():
            for door, entry in doors.items():
                if not self.short or (door, f"estimates, {source}", SYSTEM) in SHORT:
                    made = tuple(self._rows_changed(data))
                    yield Case(
                        door, f"estimates, {source}", SYSTEM, EPSILON, data, made, write, entry, rule
                    )

    def _rows_changed(self, data: PrivateCells) -> Iterator[Neighbour]:
        """Yield neighbours in one row, and in single cells of it."""
        kinds = FEW if self.short else None
        yield from neighbours(data, SYSTEM, kinds=kinds, spots=1)
        yield from neighbours(data, READING, kinds=kinds, spots=1 if self.short else 2)

    def _synthetic(self) -> Case:
        data = estimate_cells(SYNTHETIC_ROWS, whole=SYNTHETIC_ROWS)
        return Case(
            FOLDER,
            "synthetic, CSV",
            SYSTEM,
            EPSILON,
            data,
            tuple(neighbours(data, SYSTEM, kinds=FEW[:4], spots=1)),
            estimates_csv,
            publish_estimates(self.place, "synthetic", epsilon=EPSILON),
            anything,
        )

    def _process(self) -> Case:
        """Return the command as a process of its own; a small ε needs fewer runs to be exceeded."""
        data, epsilon = self.three, EPSILON / 10.0
        return Case(
            PROCESS,
            "CSV",
            READING,
            epsilon,
            data,
            tuple(neighbours(data, READING, kinds=FEW, spots=1)),
            comma_csv,
            subprocess_release(unit=UNITS[READING], epsilon=epsilon),
            anything,
        )

    def _draws(self) -> Iterator[Case]:
        """Yield what is drawn for neighbours that are as far apart as can be."""
        runs = FEW_DRAWS if self.short else DRAWS
        yield window_draws(runs=runs)
        yield total_draws(runs=runs)


def window_draws(*, runs: int, drawn_at: float = EPSILON) -> Case:
    """Return releases of a whole record, and of one that is another system's.

    Parameters
    ----------
    runs
        How often each is drawn.
    drawn_at
        The ε that is really drawn at.
    """
    other, far = Truth(320.0, 10.0, 1.5), "another system's record"
    data = meter_cells([CROWDED], days=SHORT_DAYS)
    ((name, cells),) = meter_cells([other], days=SHORT_DAYS).by_system.items()
    return Case(
        PYTHON,
        "CSV, drawn often",
        SYSTEM,
        EPSILON,
        data,
        (Neighbour(far, name, tuple(range(len(cells))), cells),),
        comma_csv,
        python_release(unit=UNITS[SYSTEM], epsilon=drawn_at),
        many_near(CROWDED, 1),
        runs,
    )


def total_draws(*, runs: int, drawn_at: float = EPSILON) -> Case:
    """Return tables of a fleet of one, and of one that has no capacity.

    Parameters
    ----------
    runs
        How often each is drawn.
    drawn_at
        The ε that is really drawn at.
    """
    row = (b"180.0", b"30.0", b"25")
    data = PrivateCells({"home00000": row}, ("surface_azimuth", "surface_tilt", "dc_capacity_kw"))
    return Case(
        PYTHON,
        "estimates, drawn often",
        SYSTEM,
        EPSILON,
        data,
        (Neighbour("no capacity", "home00000", (2,), (b"0",)),),
        estimates_csv,
        python_tables(epsilon=drawn_at),
        total_within(25.0, 12.5),
        runs,
    )


def total_of(data: PrivateCells) -> float:
    """Return the total capacity of a simulated table of estimates. [kW]"""
    return sum(float(cells[-1]) for cells in data.by_system.values())


def _rule(data: PrivateCells, unit: str) -> Rule:
    if len(data.truths) == CROWD:
        return many_near(data.truths[0], CROWD_NEAR)
    return anything if unit == SYSTEM else each_near(data.truths)


ONE_SYSTEM = "CSV, column to be told"
CROWDED_SOURCES = frozenset({"CSV", "CSV, semicolons", "Parquet, numbers", "Parquet, texts"})
# What is in a short audit: each door, and each unit, once or twice.
SHORT = frozenset(
    {
        (PYTHON, "CSV", READING),
        (PYTHON, "Green Button", DAY),
        (COMMAND, "CSV", SYSTEM),
        (COMMAND, "Parquet, texts", READING),
        (COMMAND, ONE_SYSTEM, READING),
        (FOLDER, "zipped folder", DAY),
        (SERVICE, "CSV, semicolons", READING),
        (COMMAND, "fleet, folder of CSV", READING),
        (FOLDER, "estimates, CSV", SYSTEM),
        (SERVICE, "estimates, JSON", SYSTEM),
    }
)
