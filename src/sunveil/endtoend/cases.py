"""Which cases an audit goes through: every door, every kind of file, every unit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypedDict

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
from sunveil.endtoend.comparing import AuditCase
from sunveil.endtoend.doors import COMMAND, EPSILON, FOLDER, PROCESS, PYTHON, SERVICE, UNITS
from sunveil.endtoend.hostile import DAY, FEW, READING, SYSTEM, TEARING, Neighbour, neighbours
from sunveil.endtoend.inputs import (
    ESTIMATE_WRITERS,
    METER_SOURCES,
    NET_SOURCES,
    comma_csv,
    csv_folder,
    estimates_csv,
    estimates_planes,
    fleet_folder,
    number_parquet,
)
from sunveil.endtoend.library import python_release, python_tables
from sunveil.endtoend.rules import (
    Rule,
    anything,
    counted,
    each_near,
    many_near,
    most_near,
    total_within,
)
from sunveil.endtoend.served import ServiceDoor, served_inference, served_systems, served_tables
from sunveil.endtoend.workplace import Entry, Workplace
from sunveil.publish.bins import UNKNOWN

DAYS, MANY_DAYS, SHORT_DAYS = 10, 40, 5
# Releases of whole records are so noisy that it takes this many to tell that all went wrong; when
# none did, this many or more are near what they are, but for a few runs in a thousand.
CROWD, CROWD_NEAR = 40, 16
# So many rows of estimates that rounding most of them moves the total far beyond its noise.
ROWS, WHOLE_ROWS, TOTAL_REACH = 3000, 300, 600.0
# So many that losing most of them does; no neighbour of a short audit makes a reader round.
FEW_ROWS = 600
SYNTHETIC_ROWS = 300
DRAWS, FEW_DRAWS = 400, 56


class _Asked(TypedDict):
    unit: str
    epsilon: float
    options: Mapping[str, str | bool]


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
        Whether only what broke a reader before is tried, at each door once or twice.
    """

    place: Workplace
    service: ServiceDoor
    short: bool = False

    @cached_property
    def three(self) -> PrivateCells:
        """Three systems that a release tells apart."""
        return meter_cells(THREE, days=DAYS)

    @cached_property
    def longer(self) -> PrivateCells:
        """The same for longer, for releases that protect days."""
        return meter_cells(THREE, days=MANY_DAYS)

    @cached_property
    def net(self) -> PrivateCells:
        """Three systems behind net meters."""
        return meter_cells(THREE, days=DAYS, base_load_kw=0.4)

    @cached_property
    def crowd(self) -> PrivateCells:
        """Many systems that are all alike."""
        return meter_cells([CROWDED] * CROWD, days=SHORT_DAYS)

    @cached_property
    def feeds(self) -> PrivateCells:
        """Three systems in whole Wh."""
        return meter_cells(THREE, days=MANY_DAYS, scale=1000.0, digits=0)

    @cached_property
    def commas(self) -> PrivateCells:
        """Three systems, with decimal commas."""
        return meter_cells(THREE, days=MANY_DAYS, decimal=",")

    @property
    def kinds(self) -> Sequence[str] | None:
        """Which neighbours are tried; None for all."""
        return FEW if self.short else None

    def all(self) -> list[AuditCase]:
        """Return all cases."""
        made = [*self._meters(), *self._fleets(), *self._estimates()]
        if self.short:
            few = (case for case in made if (case.door, case.source, case.unit) in SHORT)
            made = list(_halved(few))
        else:
            made += [self._synthetic(), self._process(), self._inferred()]
        runs = FEW_DRAWS if self.short else DRAWS
        often = (window_draws, total_draws, sector_draws, mount_draws)
        return [*made, *(draws(runs=runs) for draws in often)]

    def _meters(self) -> Iterator[AuditCase]:
        for source, files in METER_SOURCES.items():
            for unit, word in UNITS.items():
                data = self._data(source, unit)
                own = next(iter(data.by_system)) if source in ONE_SYSTEM else None
                asked: _Asked = {"unit": word, "epsilon": EPSILON, "options": files.options}
                doors: dict[str, Entry] = {
                    PYTHON: python_release(**asked),
                    COMMAND: command_release(self.place, **asked),
                    FOLDER: publish_system(self.place, **asked),
                    SERVICE: served_systems(
                        self.place, self.service, **asked, systems=len(data.by_system)
                    ),
                }
                for door, run in doors.items():
                    both = door in (PYTHON, COMMAND) and unit != SYSTEM and not self.short
                    spots = 2 if both else 1
                    made = neighbours(data, unit, kinds=self.kinds, spots=spots)
                    blunt = own is not None or source in NET_SOURCES
                    rule = anything if blunt else _rule(data, unit, door)
                    chosen = tuple(each for each in made if own in (None, each.system))
                    yield AuditCase(
                        door, source, unit, EPSILON, data, chosen, files.write, run, rule
                    )

    def _data(self, source: str, unit: str) -> PrivateCells:
        if source == "Green Button":
            return self.feeds
        if source == "CSV, semicolons":
            return self.commas
        if source == "CSV, net":
            return self.net
        if source in NET_SOURCES:
            return self.three
        if unit == SYSTEM and source in CROWDED_SOURCES:
            return self.crowd
        return self.longer if unit == DAY else self.three

    def _fleets(self) -> Iterator[AuditCase]:
        writers = {"fleet, folder of CSV": csv_folder, "fleet, Parquet": number_parquet}
        data = self.three
        for source, write in writers.items():
            for unit in (READING, SYSTEM):
                asked: _Asked = {"unit": UNITS[unit], "epsilon": EPSILON, "options": {}}
                doors: dict[str, Entry] = {
                    COMMAND: command_release(self.place, **asked, fleet=True),
                    FOLDER: publish_system(self.place, **asked, fleet=True),
                }
                made = tuple(neighbours(data, unit, kinds=self.kinds, spots=1))
                beside = fleet_folder(write)
                for door, run in doors.items():
                    rule = _rule(data, unit, door)
                    yield AuditCase(door, source, unit, EPSILON, data, made, beside, run, rule)

    def _estimates(self) -> Iterator[AuditCase]:
        rows = FEW_ROWS if self.short else ROWS
        data = estimate_cells(rows, whole=WHOLE_ROWS)
        doors: dict[str, Entry] = {
            PYTHON: python_tables(epsilon=EPSILON),
            FOLDER: publish_estimates(self.place, "fleet", epsilon=EPSILON),
            SERVICE: served_tables(self.place, self.service, epsilon=EPSILON, systems=rows),
        }
        rule = rule_of_estimates(data)
        made = tuple(self._changed_rows(data))
        for form, write in ESTIMATE_WRITERS.items():
            for door, run in doors.items():
                source = f"estimates, {form}"
                yield AuditCase(door, source, SYSTEM, EPSILON, data, made, write, run, rule)

    def _changed_rows(self, data: PrivateCells) -> Iterator[Neighbour]:
        """Yield neighbours in a whole row, and in single cells of it."""
        last = (len(data.columns) - 1,)
        units = (READING,) if self.short else (SYSTEM, READING)
        for unit in units:
            for each in neighbours(data, unit, kinds=self.kinds, spots=2):
                # what tears a line apart must not forge a name
                if each.places == last or not (self.short or each.kind in TEARING):
                    yield each

    def _synthetic(self) -> AuditCase:
        data = estimate_cells(SYNTHETIC_ROWS, whole=SYNTHETIC_ROWS)
        return AuditCase(
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

    def _inferred(self) -> AuditCase:
        """Return the totals of a fleet that the service inferred from its meters."""
        run = served_inference(self.place, self.service, epsilon=EPSILON, systems=len(THREE))
        return AuditCase(
            SERVICE,
            "inferred, folder of CSV",
            SYSTEM,
            EPSILON,
            self.three,
            tuple(neighbours(self.three, SYSTEM, kinds=FEW, spots=1)),
            fleet_folder(csv_folder),
            run,
            anything,
        )

    def _process(self) -> AuditCase:
        """Return the command as a process of its own; a small ε needs fewer runs to be exceeded."""
        data, epsilon = self.three, EPSILON / 10.0
        return AuditCase(
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


def window_draws(*, runs: int, drawn_at: float = EPSILON) -> AuditCase:
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
    return AuditCase(
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


def total_draws(*, runs: int, drawn_at: float = EPSILON) -> AuditCase:
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
    return AuditCase(
        PYTHON,
        "estimates, drawn often",
        SYSTEM,
        EPSILON,
        data,
        (Neighbour("no capacity", "home00000", (2,), (b"0",)),),
        estimates_csv,
        python_tables(epsilon=drawn_at, tables=("totals",)),
        total_within(25.0, 12.5),
        runs,
    )


def sector_draws(*, runs: int, drawn_at: float = EPSILON) -> AuditCase:
    """Return the sectors of a fleet of one on two planes, and of one of which nothing is known.

    Parameters
    ----------
    runs
        How often each is drawn.
    drawn_at
        The ε that is really drawn at.
    """
    rule = counted("sectors", "sector", ("E", "W"), (UNKNOWN,))
    return _pair_draws("sectors", rule, runs, drawn_at)


def mount_draws(*, runs: int, drawn_at: float = EPSILON) -> AuditCase:
    """Return what a fleet of one on two planes stands on, and one of which nothing is known.

    Parameters
    ----------
    runs
        How often each is drawn.
    drawn_at
        The ε that is really drawn at.
    """
    rule = counted("mounts", "mount", ("two planes",), (UNKNOWN,))
    return _pair_draws("mounts", rule, runs, drawn_at)


def _pair_draws(table: str, rule: Rule, runs: int, drawn_at: float) -> AuditCase:
    row = (b"270.0", b"20.0", b"2")
    data = PrivateCells({"home00000": row}, ("surface_azimuth", "surface_tilt", "dc_capacity_kw"))
    return AuditCase(
        PYTHON,
        f"estimates on two planes, {table} drawn often",
        SYSTEM,
        EPSILON,
        data,
        (Neighbour("no capacity", "home00000", (2,), (b"none",)),),
        estimates_planes,
        python_tables(epsilon=drawn_at, tables=(table,)),
        rule,
        runs,
    )


def rule_of_estimates(data: PrivateCells, reach: float = TOTAL_REACH) -> Rule:
    """Return the rule for a fleet's total, whose middle is what the simulated table adds up to."""
    return total_within(sum(float(cells[-1]) for cells in data.by_system.values()), reach)


def _halved(cases: Iterable[AuditCase]) -> Iterator[AuditCase]:
    """Yield cases with every other neighbour: two of the same door try all kinds between them."""
    before: Counter[str] = Counter()
    for case in cases:
        yield replace(case, neighbours=case.neighbours[before[case.door] % 2 :: 2])
        before[case.door] += 1


def _rule(data: PrivateCells, unit: str, door: str) -> Rule:
    if len(data.truths) == CROWD:
        # the service has a wider range of capacities, in which even many tell too little
        return anything if door == SERVICE else many_near(data.truths[0], CROWD_NEAR)
    by_unit = {READING: each_near(data.truths), DAY: most_near(data.truths)}
    return by_unit.get(unit, anything)


# Files that hold one system.
ONE_SYSTEM = ("CSV, column to be told", "CSV, beside temperatures")
CROWDED_SOURCES = frozenset({"CSV", "Parquet, numbers", "Parquet, texts"})
# What is in a short audit: each door, and each unit, once or twice.
SHORT = frozenset(
    {
        (PYTHON, "CSV", READING),
        (PYTHON, "Green Button", DAY),
        (COMMAND, "CSV", SYSTEM),
        (COMMAND, "Parquet, texts", READING),
        (COMMAND, "CSV, beside temperatures", READING),
        (COMMAND, "CSV, net", DAY),
        (PYTHON, "CSV, import and export", DAY),
        (FOLDER, "zipped folder", DAY),
        (SERVICE, "CSV", READING),
        (COMMAND, "fleet, folder of CSV", READING),
        (FOLDER, "estimates, CSV", SYSTEM),
        (SERVICE, "estimates, JSON", SYSTEM),
    }
)
