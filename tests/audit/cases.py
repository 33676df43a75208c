"""Which cases an audit goes through: every entry point, every kind of file, every unit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import TypedDict

from audit.comparing import AuditCase
from audit.datasets import (
    CROWDED,
    DAY,
    FEW,
    FEW_PAIRS,
    PAIRS,
    READING,
    STAMP,
    STAMPS,
    SYSTEM,
    THREE,
    THREE_READINGS,
    UNITS,
    VALUES,
    Neighbour,
    PrivateCells,
    Truth,
    estimate_cells,
    meter_cells,
    neighbours,
)
from audit.entries import (
    EPSILON,
    Entry,
    Told,
    Workplace,
    command_release,
    publish_estimates,
    publish_systems,
    python_reading,
    python_release,
    python_tables,
)
from audit.formats import (
    ESTIMATE_SOURCES,
    METER_SOURCES,
    SEPARATING,
    Kinds,
    MeterSource,
    Writer,
    csv_folder,
    estimates_planes,
    estimates_text,
    fleet_folder,
    number_parquet,
    systems_table,
    text_table,
)
from audit.outcomes import Rule, anything, counted, each_near, many_near, most_near, total_within
from audit.service import AuditedService, served_inference, served_systems, served_tables
from sunveil.publication.published_tables import UNKNOWN

READER, PYTHON, COMMAND, PROCESS = "reader", "Python", "command", "process"
FOLDER, SERVICE = "publication", "HTTP"
DAYS, MANY_DAYS, SHORT_DAYS = 10, 40, 5
# Their headers leave open which column holds the readings: all are refused, whatever cells hold.
REFUSED = frozenset({"CSV, column to be told"})
# Releases of whole records are so noisy that it takes this many to tell that all went wrong; when
# none did, this many or more are near what they are, but for a few runs in a thousand.
CROWD, CROWD_NEAR = 40, 16
# So many rows of estimates that rounding most of them moves the total far beyond its noise.
ROWS, WHOLE_ROWS, TOTAL_REACH = 3000, 300, 600.0
# So many that losing most of them does; no neighbour of a short audit makes a reader round.
FEW_ROWS = 600
SYNTHETIC_ROWS = 300
DRAWS, FEW_DRAWS = 400, 56
CROWDED_SOURCES = frozenset({"CSV", "Parquet, numbers", "Parquet, texts"})
# Of all kinds, each of the entry points behind the reader is shown one in so many, others for each
# kind of file: what they share, the reader, is shown all of them.
ONE_IN = 4


class _Asked(TypedDict):
    unit: str
    epsilon: float
    options: Told


@cache
def data_of(name: str) -> PrivateCells:
    """Return a dataset by what is particular about it."""
    made = {
        "short": lambda: meter_cells(THREE, days=SHORT_DAYS),
        "three": lambda: meter_cells(THREE, days=DAYS),
        # for longer, for releases that protect days
        "longer": lambda: meter_cells(THREE, days=MANY_DAYS),
        "crowd": lambda: meter_cells([CROWDED] * CROWD, days=SHORT_DAYS),
        "net": lambda: meter_cells(THREE, days=DAYS, base_load_kw=0.4),
        "Wh": lambda: meter_cells(THREE, days=MANY_DAYS, scale=1000.0, digits=0),
        "short Wh": lambda: meter_cells(THREE, days=SHORT_DAYS, scale=1000.0, digits=0),
        "commas": lambda: meter_cells(THREE, days=MANY_DAYS, decimal=","),
        "short commas": lambda: meter_cells(THREE, days=SHORT_DAYS, decimal=","),
        "half hours": lambda: meter_cells(THREE, days=DAYS, scale=0.5, per_day=48),
    }
    return made[name]()


def data_for(source: str, unit: str) -> PrivateCells:
    """Return what a kind of file holds for neighbours that differ in a unit."""
    own = {"Green Button": "Wh", "CSV, semicolons": "commas", "CSV, net": "net"}
    own |= {"CSV, import and export": "three", "NEM12": "half hours"}
    if unit == "short":
        own = {"Green Button": "short Wh", "CSV, semicolons": "short commas", "NEM12": "half hours"}
        return data_of(own.get(source, "short"))
    if source in own:
        return data_of(own[source])
    if unit == SYSTEM and source in CROWDED_SOURCES:
        return data_of("crowd")
    return data_of("longer" if unit in (DAY, THREE_READINGS) else "three")


def neighbours_for(
    name: str, data: PrivateCells, unit: str, *, spots: int = 2, short: bool = False
) -> tuple[Neighbour, ...]:
    """Return the neighbours that a kind of file is shown.

    That a member cannot be read is said of its own system, so this is for the reader alone.
    """
    source = METER_SOURCES[name]
    raw = {} if source.members and (unit != SYSTEM or spots == 1) else source.raw
    kinds = (*FEW, *FEW_PAIRS, *list(raw)[:3]) if short else None
    alone = source.rows_of_days and unit in (READING, THREE_READINGS)
    own = next(iter(data.by_system)) if source.one_system else None
    return tuple(
        each
        for each in neighbours(data, unit, kinds=kinds, spots=spots, raw=raw)
        if own in (None, each.system) and not (alone and each.kind in SEPARATING)
    )


@dataclass(frozen=True)
class Scope:
    """How much an audit looks at: all, or only what broke a reader before, once or twice."""

    place: Workplace
    service: AuditedService
    short: bool = False

    def all(self) -> list[AuditCase]:
        """Return all cases."""
        made = [*self.readers(), *self._meters(), *self._fleets(), *self._estimates()]
        if self.short:
            made = [case for case in made if case.entry == READER or self._is_short(case)]
        else:
            made += [self._synthetic(), self._process(), self._inferred()]
        runs = FEW_DRAWS if self.short else DRAWS
        often = (window_draws, total_draws, sector_draws, mount_draws)
        return [*made, *(draws(runs=runs) for draws in often)]

    @staticmethod
    def _is_short(case: AuditCase) -> bool:
        return (case.entry, case.source, case.unit) in SHORT

    def readers(self) -> Iterator[AuditCase]:
        """Yield what is read of every kind of file, which no cell of another may change."""
        for name, source in METER_SOURCES.items():
            units = (READING, SYSTEM if source.members else THREE_READINGS)
            for unit in units if self.short else UNITS:
                data = data_for(name, "short")
                spots = 2 if source.members else 1 if self.short else 3
                made = neighbours_for(name, data, unit, spots=spots, short=self.short)
                yield reading_case(name, source, unit, data, made)
        yield from stamp_cases()

    def _meters(self) -> Iterator[AuditCase]:
        for number, (name, source) in enumerate(METER_SOURCES.items()):
            for unit, word in UNITS.items():
                data = data_for(name, unit)
                asked: _Asked = {"unit": word, "epsilon": EPSILON, "options": source.options}
                systems = 1 if source.one_system else len(data.by_system)
                entries: dict[str, Entry] = {
                    PYTHON: python_release(**asked),
                    COMMAND: command_release(**asked),
                    FOLDER: publish_systems(self.place, **asked),
                    SERVICE: served_systems(self.place, self.service, **asked, systems=systems),
                }
                made = neighbours_for(name, data, unit, spots=1, short=self.short)
                for turn, (entry, run) in enumerate(entries.items()):
                    rule = anything if source.one_system or source.net else _rule(data, unit, entry)
                    some = made[(number + turn) % ONE_IN :: ONE_IN]
                    yield AuditCase(entry, name, unit, EPSILON, data, some, source.write, run, rule)

    def _fleets(self) -> Iterator[AuditCase]:
        writers: dict[str, Writer] = {
            "fleet, folder of CSV": csv_folder,
            "fleet, Parquet": number_parquet,
        }
        data = data_of("three")
        for source, write in writers.items():
            for unit in (READING, SYSTEM):
                kinds = (*FEW, *FEW_PAIRS) if self.short else None
                made = tuple(neighbours(data, unit, kinds=kinds, spots=1))
                yield from self._fleet(source, unit, data, made, fleet_folder(write))
        # of a note on each system in the table of systems
        notes = PrivateCells(dict.fromkeys(data.by_system, (b"south",)), ("note",), data.truths, 1)
        made = tuple(
            each
            for each in neighbours(notes, SYSTEM, kinds=FEW if self.short else None, spots=2)
            if each.kind not in SEPARATING  # which would move the system's own place
        )
        table = systems_table(data)
        yield from self._fleet("table of systems", SYSTEM, notes, made, table, asked=READING)

    def _fleet(
        self,
        source: str,
        unit: str,
        data: PrivateCells,
        made: tuple[Neighbour, ...],
        write: Writer,
        *,
        asked: str = "",
    ) -> Iterator[AuditCase]:
        told: _Asked = {"unit": UNITS[asked or unit], "epsilon": EPSILON, "options": {}}
        entries: dict[str, Entry] = {
            COMMAND: command_release(**told, fleet=True),
            FOLDER: publish_systems(self.place, **told, fleet=True),
        }
        for turn, (entry, run) in enumerate(entries.items()):
            some = made[turn :: ONE_IN if self.short else len(entries)]
            rule = _rule(data, asked or unit, entry)
            yield AuditCase(entry, source, unit, EPSILON, data, some, write, run, rule)

    def _estimates(self) -> Iterator[AuditCase]:
        rows = FEW_ROWS if self.short else ROWS
        data = estimate_cells(rows, whole=WHOLE_ROWS)
        usual: dict[str, Entry] = {
            PYTHON: python_tables(epsilon=EPSILON),
            FOLDER: publish_estimates(self.place, "fleet", epsilon=EPSILON),
            SERVICE: served_tables(self.place, self.service, epsilon=EPSILON, systems=rows),
        }
        rule = rule_of_estimates(data)
        for number, (form, (write, raw)) in enumerate(ESTIMATE_SOURCES.items()):
            made = tuple(self._changed_rows(data, raw))
            regions = form == "CSV with regions"
            entries = {PYTHON: python_tables(epsilon=EPSILON, regions=True)} if regions else usual
            for turn, (entry, run) in enumerate(entries.items()):
                shown = len(entries)
                some = made[(number + turn) % shown :: 3 * shown if self.short else shown]
                source = f"estimates, {form}"
                yield AuditCase(entry, source, SYSTEM, EPSILON, data, some, write, run, rule)

    def _changed_rows(self, data: PrivateCells, raw: Kinds) -> Iterator[Neighbour]:
        """Yield neighbours in a whole row, and in one or several cells of it."""
        kinds = (*FEW, *PAIRS, *list(raw)[:3]) if self.short else None
        for unit in (READING, SYSTEM):
            yield from neighbours(data, unit, kinds=kinds, spots=2, raw=raw)

    def _synthetic(self) -> AuditCase:
        run = publish_estimates(self.place, "synthetic", epsilon=EPSILON)
        data = estimate_cells(SYNTHETIC_ROWS, whole=SYNTHETIC_ROWS)
        made = tuple(neighbours(data, READING, kinds=FEW, spots=1))
        source = "estimates, CSV, synthetic"
        return AuditCase(
            FOLDER, source, SYSTEM, EPSILON, data, made, estimates_text(), run, anything
        )

    def _inferred(self) -> AuditCase:
        """Return totals of a fleet that the service infers itself before it is asked."""
        data = meter_cells(THREE, days=12)
        run = served_inference(self.place, self.service, epsilon=EPSILON, systems=3)
        made = tuple(neighbours(data, SYSTEM, kinds=("blank", "text", "times 1e30"), spots=1))
        source, write = "fleet, folder of CSV, inferred", fleet_folder(csv_folder)
        return AuditCase(SERVICE, source, SYSTEM, EPSILON, data, made, write, run, anything)

    def _process(self) -> AuditCase:
        """Return the command as a process of its own; a small ε needs fewer runs to be exceeded."""
        data, epsilon = data_of("three"), EPSILON / 10.0
        made = tuple(neighbours(data, READING, kinds=FEW, spots=1))
        run = command_release(unit=UNITS[READING], epsilon=epsilon, process=True)
        return AuditCase(PROCESS, "CSV", READING, epsilon, data, made, text_table(), run, anything)


def reading_case(
    name: str, source: MeterSource, unit: str, data: PrivateCells, made: Iterable[Neighbour]
) -> AuditCase:
    """Return what the reader makes of a kind of file: of what is replaced, it may say anything."""
    told = {} if name in ("Green Button", "NEM12") else {"label": "start"}
    run = python_reading(options={**source.options, **told})
    return AuditCase(
        READER, name, unit, 0.0, data, tuple(made), source.write, run, anything,
        readings=True,
    )  # fmt: skip


def stamp_cases() -> Iterator[AuditCase]:
    """Yield tables of which one system writes one stamp otherwise than all others."""
    plain = meter_cells(THREE, days=20)
    days_first = [f"{s[8:10]}/{s[5:7]}/{s[:4]} {s[11:]}" for s in plain.columns]
    for name, columns in (("CSV, days first", days_first), ("CSV, years first", plain.columns)):
        data = replace(plain, columns=tuple(columns))
        made = []
        for kind, pattern in STAMPS.items():
            for at in (0, 300):
                begin, end = (_datetime(plain.columns[at + more]) for more in (0, 1))
                text = pattern.format(begin, end)
                system = "home00" if at == 0 else "home02"
                made.append(Neighbour(kind, system, (at,), (b"",), (text,)))
        run = python_reading(options={"label": "auto"})
        for by_time in (False, True):
            write = text_table(by_time=by_time)
            source = f"{name}, by time" if by_time else name
            yield AuditCase(
                READER, source, STAMP, 0.0, data, tuple(made), write, run, anything,
                readings=True,
            )  # fmt: skip


def _datetime(stamp: str) -> datetime:
    return datetime.strptime(stamp, "%Y-%m-%d %H:%M")


# What is drawn often


def window_draws(*, runs: int, drawn_at: float = EPSILON) -> AuditCase:
    """Return releases of a whole record, and of one that is another system's."""
    other, far = Truth(320.0, 10.0, 1.5), "another system's record"
    data = meter_cells([CROWDED], days=SHORT_DAYS)
    ((name, cells),) = meter_cells([other], days=SHORT_DAYS).by_system.items()
    made = (Neighbour(far, name, tuple(range(len(cells))), cells),)
    run = python_release(unit=UNITS[SYSTEM], epsilon=drawn_at)
    rule, source = many_near(CROWDED, 1), "CSV, drawn often"
    return AuditCase(PYTHON, source, SYSTEM, EPSILON, data, made, text_table(), run, rule, runs)


def total_draws(*, runs: int, drawn_at: float = EPSILON) -> AuditCase:
    """Return tables of a fleet of one, and of one that has no capacity."""
    data = PrivateCells({"home00000": (b"180.0", b"30.0", b"25")}, VALUES)
    made = (Neighbour("no capacity", "home00000", (2,), (b"0",)),)
    run = python_tables(epsilon=drawn_at, tables=("totals",))
    rule, source = total_within(25.0, 12.5), "estimates, drawn often"
    return AuditCase(PYTHON, source, SYSTEM, EPSILON, data, made, estimates_text(), run, rule, runs)


def sector_draws(*, runs: int, drawn_at: float = EPSILON) -> AuditCase:
    """Return the sectors of a fleet of one on two planes, and of one of which nothing is known."""
    return _pair_draws(
        "sectors", counted("sectors", "sector", ("E", "W"), (UNKNOWN,)), runs, drawn_at
    )


def mount_draws(*, runs: int, drawn_at: float = EPSILON) -> AuditCase:
    """Return what a fleet of one on two planes stands on, and one of which nothing is known."""
    rule = counted("mounts", "mount", ("two planes",), (UNKNOWN,))
    return _pair_draws("mounts", rule, runs, drawn_at)


def _pair_draws(table: str, rule: Rule, runs: int, drawn_at: float) -> AuditCase:
    data = PrivateCells({"home00000": (b"270.0", b"20.0", b"2")}, VALUES)
    made = (Neighbour("no capacity", "home00000", (2,), (b"none",)),)
    run = python_tables(epsilon=drawn_at, tables=(table,))
    source = f"estimates on two planes, {table} drawn often"
    return AuditCase(PYTHON, source, SYSTEM, EPSILON, data, made, estimates_planes, run, rule, runs)


def rule_of_estimates(data: PrivateCells, reach: float = TOTAL_REACH) -> Rule:
    """Return the rule for a fleet's total, whose middle is what the simulated table adds up to."""
    return total_within(sum(float(cells[-1]) for cells in data.by_system.values()), reach)


def _rule(data: PrivateCells, unit: str, entry: str) -> Rule:
    if len(data.truths) == CROWD:
        # the service has a wider range of capacities, in which even many tell too little
        return anything if entry == SERVICE else many_near(data.truths[0], CROWD_NEAR)
    by_unit = {READING: each_near, THREE_READINGS: each_near, DAY: most_near}
    return by_unit[unit](data.truths) if unit in by_unit else anything


# What is in a short audit beside all files at the reader: each entry point and unit, twice at most.
SHORT: frozenset[tuple[str, str, str]] = frozenset(
    {
        (PYTHON, "CSV by time", THREE_READINGS),
        (PYTHON, "Green Button", DAY),
        (COMMAND, "Parquet, texts", READING),
        (COMMAND, "CSV, net", DAY),
        (COMMAND, "table of systems", SYSTEM),
        (FOLDER, "zipped folder", DAY),
        (SERVICE, "workbook", READING),
        (COMMAND, "fleet, folder of CSV", READING),
        (FOLDER, "estimates, CSV", SYSTEM),
        (SERVICE, "estimates, JSON", SYSTEM),
    }
)
