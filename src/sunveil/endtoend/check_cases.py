"""Cases of ``sunveil publish check``: totals of metered power, to which each record adds a part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sunveil.endtoend.cells import PrivateCells, Truth, meter_cells
from sunveil.endtoend.commands import publish_meter_check
from sunveil.endtoend.comparing import AuditCase
from sunveil.endtoend.doors import EPSILON, FOLDER, PYTHON
from sunveil.endtoend.hostile import FEW, READING, SYSTEM, Neighbour, neighbours
from sunveil.endtoend.inputs import METER_SOURCES, NET_SOURCES, comma_csv
from sunveil.endtoend.library import audited_check, python_check
from sunveil.endtoend.rules import likelier_power, power_within
from sunveil.endtoend.workplace import Workplace
from sunveil.publish.check_cells import check_bounds

# Each run of the command takes most of a second, for its ledger and its folder: readers of all
# files are tried from Python.
COMMAND_SOURCES = ("CSV", "Parquet, texts", "zipped folder", "Green Button")
# Of whole records, for a short audit: nothing, lines torn apart, and more than any bound.
FEW_RECORDS = ("blank", "newline", "times 1e30")
# Beyond so many times the scale of a cell's noise the sum of all cells is once in some hundred
# thousand runs: what is drawn rightly is hardly ever run again.
REACH = 15.0
# Held at its bound in every cell: a record at full power. [degrees, degrees, kW]
FULL = Truth(180.0, 30.0, 1e5)
CHECK_DAYS = 5


def check_source(source: str) -> str:
    """Return what a kind of meter file is called in findings of a check."""
    return f"check, {source}"


def bounds_kw() -> list[float]:
    """Return what one record adds to every row of a check at most: public. [kW]"""
    # a season that the span does not have has no row
    return [bound / 1e3 for bound in check_bounds(audited_check(EPSILON)).tolist() if bound]


def check_cases(
    place: Workplace, data: Mapping[str, PrivateCells], *, short: bool
) -> Iterator[AuditCase]:
    """Yield checks of every kind of meter file from Python, and of some as folders.

    The claim is for whole records, and so for one reading too, which a reader might guess by. Net
    meters are refused whatever they read, and not among them.

    Parameters
    ----------
    place
        Where they are run.
    data
        The dataset of each kind of file, by its name.
    short
        Whether only what broke a reader before is tried.
    """
    for source, cells in data.items():
        if source in NET_SOURCES:
            continue
        for unit in (SYSTEM, READING):
            kinds = FEW if short else None
            yield check_case(place, source, cells, unit, door=PYTHON, kinds=kinds)
        if source in COMMAND_SOURCES:
            few = FEW_RECORDS if short else None
            yield check_case(place, source, cells, SYSTEM, door=FOLDER, kinds=few)


def check_case(
    place: Workplace,
    source: str,
    data: PrivateCells,
    unit: str,
    *,
    door: str,
    kinds: Sequence[str] | None,
    epsilon: float = EPSILON,
) -> AuditCase:
    """Return checks of one kind of meter file, at one door.

    Parameters
    ----------
    place
        Where they are run.
    source, data, unit
        Which kind of file, the dataset, and what its neighbours differ in.
    door
        Which door.
    kinds
        Which neighbours are tried; None for all.
    epsilon
        What is claimed.
    """
    files = METER_SOURCES[source]
    run = (
        python_check(epsilon=epsilon, options=files.options)
        if door == PYTHON
        else publish_meter_check(place, epsilon=epsilon, options=files.options)
    )
    return AuditCase(
        door,
        check_source(source),
        unit,
        epsilon,
        data,
        tuple(neighbours(data, unit, kinds=kinds, spots=1)),
        files.write,
        run,
        power_within(REACH * sum(bounds_kw()) / epsilon),
    )


def check_draws(*, runs: int, drawn_at: float = EPSILON) -> AuditCase:
    """Return checks of one record at full power, and of one that is all zeros.

    Parameters
    ----------
    runs
        How often each is drawn.
    drawn_at
        The ε that is really drawn at.
    """
    data = meter_cells([FULL], days=CHECK_DAYS)
    ((name, cells),) = data.by_system.items()
    nothing = Neighbour("no power", name, tuple(range(len(cells))), (b"0",) * len(cells))
    return AuditCase(
        PYTHON,
        check_source("CSV, drawn often"),
        SYSTEM,
        EPSILON,
        data,
        (nothing,),
        comma_csv,
        python_check(epsilon=drawn_at),
        likelier_power(bounds_kw()),
        runs,
    )
