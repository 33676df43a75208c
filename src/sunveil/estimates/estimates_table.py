"""Estimates of one system and of many, and the tables that hold them."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sunveil._files import write_whole
from sunveil._options import all_named, check_fields, checked, shown
from sunveil.errors import ParameterError
from sunveil.estimates.flags_and_quality import (
    FAIR_WITHIN,
    GOOD_WITHIN,
    Flag,
    Quality,
    flags_of,
    judge,
)
from sunveil.estimates.household_load import HouseholdEstimate
from sunveil.estimates.intervals_and_rounding import (
    Interval,
    five_digits,
    hundredths,
    interval_of,
    listed,
    number_or_nan,
    quantity_columns,
    rounded,
    with_pairs,
)
from sunveil.estimates.planes_and_intervals import (
    COLUMNS,
    VAGUEST,
    Assumptions,
    ClockFinding,
    ClockHypothesis,
    DaylightSaving,
    FoundClock,
    PlaneEstimate,
    TrackerEstimate,
    YearEstimate,
)
from sunveil.meters.record import Label, Record, RefusedSystem
from sunveil.site import Array, Plane, Site

if TYPE_CHECKING:
    import pandas as pd
    from pvlib.modelchain import ModelChain
    from pvlib.pvsystem import PVSystem

    from sunveil.fleet.systems_table import SystemTable
    from sunveil.inference.fleet_part import Fitted


@all_named("the row", "what to_row gave")
def fields_of_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an estimate that a row holds: all but its assumptions and notes.

    Parameters
    ----------
    row
        The columns of :meth:`sunveil.Estimate.to_row`; see :meth:`sunveil.Estimate.from_row`.
    """
    turned, lives = row["tracker"], row["household_load"]
    return {
        "system_id": str(row["system_id"]),
        "plane": Plane(row["surface_azimuth"], row["surface_tilt"]),
        "dc_capacity_kw": row["dc_capacity_kw"],
        "azimuth_interval": interval_of(row, "surface_azimuth"),
        "tilt_interval": interval_of(row, "surface_tilt"),
        "capacity_interval": interval_of(row, "dc_capacity_kw"),
        "plane_error_degrees": number_or_nan(row["plane_error_degrees"]),
        "ac_limit_kw": row["ac_limit_kw"],
        "clock": ClockFinding.from_row(row),
        "agreement": row["agreement"],
        "flags": tuple(Flag(each) for each in listed(row["flags"])),
        "haze_summer": row["haze_summer"],
        "haze_winter": row["haze_winter"],
        "heat": row["heat"],
        "clear_hours": row["clear_hours"],
        "skyline": tuple(listed(row["skyline"])),
        "years": tuple(YearEstimate.from_row(year) for year in listed(row["years"])),
        "trend_percent_per_year": row["trend_percent_per_year"],
        "planes": tuple(PlaneEstimate.from_row(each) for each in listed(row["planes"])),
        "tracker": TrackerEstimate.from_row(turned) if isinstance(turned, Mapping) else None,
        "household": HouseholdEstimate.from_row(lives) if isinstance(lives, Mapping) else None,
    }


class EstimateSource:
    """The readings and the skies behind an estimate, in the memory of this process only."""

    # It is no part of what an estimate says: neither `repr` nor JSON nor rows nor comparisons see
    # it, and copies and pickles of an estimate come without it.
    # None: it is the readings.

    __slots__ = ("record", "site", "skies")

    def __init__(self, record: Record, skies: object, site: Site) -> None:
        self.record, self.skies, self.site = record, skies, site

    def __repr__(self) -> str:
        return "EstimateSource(private)"

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        # what leaves the process holds no readings
        return type(None), ()


@dataclass(frozen=True, slots=True)
class Estimate:
    """The inferred metadata of one system, with 90% intervals.

    Parameters
    ----------
    system_id
        The curator's name of the system.
    plane
        The inferred plane; of several, the one that would do best in their place, and of a tracker
        the modules at rest.
    dc_capacity_kw
        DC nameplate capacity under ``assumptions``. [kW]
    azimuth_interval, tilt_interval, capacity_interval
        90% intervals of each quantity. [degrees, degrees, kW]
    plane_error_degrees
        Radius that holds the angle between the true and the inferred plane with 90%; of two planes
        the larger of their radii, of a tracker that of its axis. [degrees]
    ac_limit_kw
        The inverter's limit where clipping shows, else None. [kW]
    clock
        What the sun says of the clock.
    agreement
        Fraction of the bright readings that the estimate explains.
    flags
        What to know before trusting the estimate.
    assumptions
        What was assumed.
    notes
        What the reader of the meter file did, one sentence each.
    haze_summer, haze_winter
        What the fit added to the sky's Linke turbidity in midsummer and in midwinter; None where
        none was fitted.
    heat
        How many times Faiman's rise of temperature the fit found; None where none was fitted.
    clear_hours
        Hours of clear days that the estimate rests on; None where days were not weighed. [h]
    skyline
        The sun's elevation below which something hides it, in sectors of equal width clockwise from
        north; empty where nothing does. [degrees]
    years
        What the single years of a longer record say.
    trend_percent_per_year
        How the output changes; None where too few years tell. [% per year]
    planes
        The planes that its modules stand on, the largest share first: ``plane`` alone where no
        second one shows, none of a tracker.
    tracker
        What turns its modules; None where they stand still.
    household
        What a net meter tells of the household behind it; None of a meter of generation alone.
    source
        The readings that it came from, in memory only, for :meth:`plot`; None where it was read
        back from a table. It is never written, shown or compared.
    """

    system_id: str
    plane: Plane
    dc_capacity_kw: float
    azimuth_interval: Interval
    tilt_interval: Interval
    capacity_interval: Interval
    plane_error_degrees: float
    ac_limit_kw: float | None
    clock: ClockFinding
    agreement: float
    flags: tuple[Flag, ...]
    assumptions: Assumptions
    notes: tuple[str, ...] = ()
    haze_summer: float | None = None
    haze_winter: float | None = None
    heat: float | None = None
    clear_hours: float | None = None
    skyline: tuple[float, ...] = ()
    years: tuple[YearEstimate, ...] = ()
    trend_percent_per_year: float | None = None
    planes: tuple[PlaneEstimate, ...] = ()
    tracker: TrackerEstimate | None = None
    household: HouseholdEstimate | None = None
    source: EstimateSource | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_fields(self)
        # a single plane is always the effective one, also where that was replaced
        if self.tracker is not None:
            object.__setattr__(self, "planes", ())
        elif len(self.planes) < 2:
            object.__setattr__(self, "planes", (self.effective_plane,))

    # What follows looks at an estimate, and so stands above it: it is loaded when asked for.

    def __repr__(self) -> str:
        from sunveil.estimates.estimate_text import estimate_line

        return estimate_line(self)

    def _repr_html_(self) -> str:
        from sunveil.estimates.html_pvlib_sam import estimate_html

        return estimate_html(self)

    def plot(self) -> dict[str, Any]:
        """Draw what the estimate rests on: see :func:`sunveil.plots.plot_estimate`.

        Returns
        -------
        dict
            The panels (matplotlib's axes) of one new figure by name: ``day 1`` and so on, ``map``,
            ``residuals`` and, where there are any, ``skyline`` and ``year azimuth``, ``year tilt``,
            ``year capacity``.

        Privacy
        -------
        None: the figure shows readings, and is marked so.
        """
        from sunveil.plots.estimate_figures import plot_estimate

        return plot_estimate(self)

    def to_pvsystem(self) -> PVSystem:
        """Return the system as pvlib's, with an array for each plane or for the tracker.

        See :func:`sunveil.estimates.html_pvlib_sam.make_pvsystem`.
        """
        from sunveil.estimates.html_pvlib_sam import make_pvsystem

        return make_pvsystem(self)

    def to_modelchain(self, site: Any = None) -> ModelChain:
        """Return pvlib's chain of models for the system, ready for ``run_model(weather)``.

        See :func:`sunveil.estimates.html_pvlib_sam.make_modelchain`.

        Parameters
        ----------
        site
            Where the system is, as a :class:`~sunveil.Site` or pvlib's ``Location``; where it was
            inferred, when left out.
        """
        from sunveil.estimates.html_pvlib_sam import make_modelchain

        return make_modelchain(self, site)

    def to_sam(self) -> list[dict[str, float | int]]:
        """Return the inputs of SAM's PVWatts (``pvwattsv8``), one set for each plane.

        See :func:`sunveil.estimates.html_pvlib_sam.pvwatts_inputs`.
        """
        from sunveil.estimates.html_pvlib_sam import pvwatts_inputs

        return pvwatts_inputs(self)

    @property
    def effective_plane(self) -> PlaneEstimate:
        """The one plane that stands for the whole system, with its intervals."""
        return PlaneEstimate(
            plane=self.plane,
            share=1.0,
            dc_capacity_kw=self.dc_capacity_kw,
            azimuth_interval=self.azimuth_interval,
            tilt_interval=self.tilt_interval,
            share_interval=Interval(1.0, 1.0),
            capacity_interval=self.capacity_interval,
        )

    @property
    def haze(self) -> float | None:
        """What the fit added to the sky's Linke turbidity over the year."""
        if self.haze_summer is None or self.haze_winter is None:
            return None
        return 0.5 * (self.haze_summer + self.haze_winter)

    @property
    def dc_ac_ratio(self) -> float | None:
        """DC capacity over the inverter's limit, where that shows."""
        return None if self.ac_limit_kw is None else self.dc_capacity_kw / self.ac_limit_kw

    @property
    def quality(self) -> Quality:
        """How far the estimate can be relied on, in one word."""
        return judge(self.flags, self.plane_error_degrees)[0]

    @property
    def quality_reason(self) -> str:
        """Why its quality is what it is."""
        return judge(self.flags, self.plane_error_degrees)[1]

    @property
    def surface_azimuth(self) -> float:
        """Azimuth, clockwise from north. [degrees]"""
        return self.plane.surface_azimuth

    @property
    def surface_tilt(self) -> float:
        """Tilt from horizontal. [degrees]"""
        return self.plane.surface_tilt

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as plain JSON types: its row, intervals as pairs, and the rest."""
        row = self.to_row()
        row["planes"] = [with_pairs(each) for each in row["planes"]]
        row["tracker"] = None if self.tracker is None else with_pairs(row["tracker"])
        return {
            **with_pairs(row),
            "quality_reason": self.quality_reason,
            "dc_ac_ratio": hundredths(self.dc_ac_ratio),
            "assumptions": self.assumptions.to_dict(),
            "notes": list(self.notes),
        }

    def to_row(self) -> dict[str, Any]:
        """Return the estimate as a row of a fleet's table: plain types, None for what is not there.

        Degrees are rounded to hundredths, capacities to five digits.
        """
        return {
            "system_id": self.system_id,
            **quantity_columns(
                "surface_azimuth", self.surface_azimuth, self.azimuth_interval, hundredths
            ),
            **quantity_columns("surface_tilt", self.surface_tilt, self.tilt_interval, hundredths),
            **quantity_columns(
                "dc_capacity_kw", self.dc_capacity_kw, self.capacity_interval, five_digits
            ),
            "plane_error_degrees": hundredths(self.plane_error_degrees),
            "ac_limit_kw": five_digits(self.ac_limit_kw),
            "haze_summer": rounded(self.haze_summer, 4),
            "haze_winter": rounded(self.haze_winter, 4),
            "heat": rounded(self.heat, 4),
            "clear_hours": hundredths(self.clear_hours),
            "trend_percent_per_year": hundredths(self.trend_percent_per_year),
            "planes": [each.to_row() for each in self.planes],
            "tracker": None if self.tracker is None else self.tracker.to_row(),
            "household_load": None if self.household is None else self.household.to_row(),
            "skyline": list(self.skyline),
            "years": [year.to_row() for year in self.years],
            **self.clock.to_row(),
            "agreement": rounded(self.agreement, 4),
            "flags": [flag.value for flag in self.flags],
            "quality": self.quality.value,
        }

    @classmethod
    @checked
    def from_row(
        cls, row: Mapping[str, Any], assumptions: Assumptions, *, notes: Iterable[str] = ()
    ) -> Estimate:
        """Return the estimate that a row of a fleet's table holds: the inverse of :meth:`to_row`.

        Parameters
        ----------
        row
            The columns of :meth:`to_row`; others are left aside. Lists may be arrays, as pandas
            gives them.
        assumptions
            What the fleet's run assumed, which stands beside the table and not in it.
        notes
            What the reader of the meter file did, one sentence each.
        """
        return cls(**fields_of_row(row), assumptions=assumptions, notes=tuple(notes))


Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class BlockEstimates:
    """Estimates of a block of systems, one entry each: private.

    Parameters
    ----------
    outcome
        0 where the system was inferred; see :func:`reason` for the others.
    surface_azimuth, azimuth_low, azimuth_high
        Azimuth and its 90% interval, clockwise. [degrees]
    surface_tilt, tilt_low, tilt_high
        Tilt and its 90% interval. [degrees]
    dc_capacity_kw, capacity_low, capacity_high
        DC capacity and its 90% interval. [kW]
    plane_error_degrees
        Radius that holds the plane with 90%. [degrees]
    haze_summer, haze_winter
        Linke turbidity of clear hours beyond the sky's own, in midsummer and in midwinter.
    heat
        Rise of the modules' temperature over that of Faiman's open rack.
    ac_limit_kw
        The inverter's limit where clipping shows, NaN elsewhere. [kW]
    clock_offset_minutes, clock_saving
        What the sun says of the clock; the second as a place in ``SAVINGS``.
    clock_gain
        The share of energy that a repair gained.
    clock_steps
        Tuples of ``ClockStep``, empty where the clock was never set.
    agreement
        Share of the bright readings that the estimate explains.
    clear_hours
        Hours of clear days that the estimate rests on.
    trend
        Change of output, NaN where too few years tell. [% per year]
    skyline
        Elevation below which the sun is hidden, in sectors clockwise from north, shape (systems,
        sectors). [degrees]
    years
        A tuple of ``YearEstimate`` for each system, none of single years.
    planes
        A tuple of two ``PlaneEstimate`` for each system that stands on two
        planes, none of the others.
    tracker
        A ``TrackerEstimate`` for each tracker, None of the others.
    household
        A ``HouseholdEstimate`` for each net meter, None of the others.
    lit
        Daylight readings with power.
    flags
        Bits in the order of :class:`~sunveil.estimates.flags_and_quality.Flag`.
    """

    outcome: NDArray[np.uint8]
    surface_azimuth: Array
    azimuth_low: Array
    azimuth_high: Array
    surface_tilt: Array
    tilt_low: Array
    tilt_high: Array
    dc_capacity_kw: Array
    capacity_low: Array
    capacity_high: Array
    plane_error_degrees: Array
    haze_summer: Array
    haze_winter: Array
    heat: Array
    ac_limit_kw: Array
    clock_offset_minutes: Array
    clock_saving: NDArray[np.int8]
    clock_gain: Array
    clock_steps: NDArray[Any]
    agreement: Array
    clear_hours: Array
    trend: Array
    skyline: Matrix
    years: NDArray[Any]
    planes: NDArray[Any]
    tracker: NDArray[Any]
    household: NDArray[Any]
    lit: NDArray[np.int32]
    flags: NDArray[np.uint32]

    def __post_init__(self) -> None:
        check_fields(self)

    def __repr__(self) -> str:
        return f"BlockEstimates({len(self.outcome)} systems, private)"

    def __len__(self) -> int:
        return len(self.outcome)

    def take(self, chosen: NDArray[np.bool_]) -> BlockEstimates:
        """Return some of the systems."""
        return BlockEstimates(
            **{each.name: getattr(self, each.name)[chosen] for each in fields(self)}
        )

    def put(self, places: NDArray[np.intp], found: BlockEstimates) -> None:
        """Write estimates over those of some systems."""
        for each in fields(self):
            getattr(self, each.name)[places] = getattr(found, each.name)


def skyline_of(elevations: Matrix) -> tuple[float, ...]:
    """Return a skyline as plain numbers, none where nothing hides the sun. [degrees]"""
    return tuple(elevations.tolist()) if elevations.any() else ()


def says_anything(found: BlockEstimates) -> NDArray[np.bool_]:
    """Return which estimates say anything, but for what need not be known."""
    optional = {"ac_limit_kw", "trend", "skyline", "years", "planes", "tracker", "clock_steps"}
    optional.add("household")
    columns = [getattr(found, each.name) for each in fields(found) if each.name not in optional]
    finite = np.logical_and.reduce([np.isfinite(column) for column in columns])
    return np.asarray(finite & (found.capacity_high <= VAGUEST * found.capacity_low))


def no_tuples(count: int) -> NDArray[Any]:
    """Return an empty tuple for each of so many systems."""
    return _tuples([()] * count)


def _tuples(rows: Sequence[tuple[Any, ...]]) -> NDArray[Any]:
    out = np.empty(len(rows), dtype=object)
    out[:] = rows
    return out


def not_inferred(outcome: NDArray[np.int64], lit: NDArray[np.integer]) -> BlockEstimates:
    """Return systems that are not inferred, and why."""
    count = len(outcome)
    kinds: dict[str, Any] = {
        "outcome": outcome.astype(np.uint8),
        "clock_saving": np.zeros(count, dtype=np.int8),
        "lit": lit.astype(np.int32),
        "flags": np.zeros(count, dtype=np.uint32),
        "clock_offset_minutes": np.zeros(count),
        "clock_gain": np.zeros(count),
        "skyline": np.zeros((count, COLUMNS), dtype=np.float32),
        "years": no_tuples(count),
        "planes": no_tuples(count),
        "tracker": np.full(count, None, dtype=object),
        "household": np.full(count, None, dtype=object),
        "clock_steps": no_tuples(count),
    }
    numbers = {each.name: np.full(count, np.nan) for each in fields(BlockEstimates)}
    return BlockEstimates(**(numbers | kinds))


# In this order, and nothing else but the public keys behind them.
ESTIMATES = (
    "system_id",
    "surface_azimuth",
    "surface_azimuth_low",
    "surface_azimuth_high",
    "surface_tilt",
    "surface_tilt_low",
    "surface_tilt_high",
    "dc_capacity_kw",
    "dc_capacity_kw_low",
    "dc_capacity_kw_high",
    "plane_error_degrees",
    "ac_limit_kw",
    "haze_summer",
    "haze_winter",
    "heat",
    "clear_hours",
    "trend_percent_per_year",
    "skyline",
    "planes",
    "tracker",
    # not household, which is the curator's key of one in tables of systems
    "household_load",
    "years",
    "clock_offset_minutes",
    "clock_label",
    "clock_daylight_saving",
    "clock_steps",
    "agreement",
    "flags",
    "quality",
    "latitude",
    "longitude",
)


REFUSED = pa.schema(
    [
        ("system_id", pa.string()),
        ("kind", pa.string()),
        ("reason", pa.string()),
        ("partition", pa.int32()),
    ]
)


# Whether the table of systems names a refused one.
IN_SYSTEMS = "in_systems"


RESERVED = frozenset((*ESTIMATES, *REFUSED.names, IN_SYSTEMS))


# What is inferred from readings, which divides no fleet in public.
PRIVATE = frozenset(ESTIMATES) - {"system_id", "latitude", "longitude"}


def key_texts(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """Return the cells of a public key as texts, ``""`` where blank: what groups are named by."""
    # Booleans become `true` and `false`, dates `2024-01-31`, decimals keep their digits. Where
    # groups are offered and where rows are grouped, it is this text, so that one value has one
    # name.
    return pc.fill_null(column.cast(pa.string()), "")


def as_numbers(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return a column as numbers, each cell by itself: NaN where it is missing, or not finite."""
    if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
        values = column.to_numpy(zero_copy_only=False).astype(np.float64)
        return np.where(np.isfinite(values), values, np.nan)
    return np.array([number_of(value) for value in column.to_pylist()], dtype=np.float64)


def number_of(value: Any) -> float:
    """Return what a cell holds as a number, NaN where it is none or not finite."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return math.nan
    return number if math.isfinite(number) else math.nan


# What modules stand on. A system of which that is not known has the place behind them.
MOUNTS = ("one plane", "two planes", "tracker")


_PLANE_NUMBERS = ("surface_azimuth", "surface_tilt", "share")


_UNTOLD = Flag.NOT_ONE_PLANE.value


def _no_numbers() -> NDArray[np.float64]:
    return np.empty(0)


@dataclass(frozen=True, slots=True, eq=False)
class FleetPlanes:
    """Planes of a fleet's systems, one entry a plane: private."""

    row: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    surface_azimuth: NDArray[np.float64] = field(default_factory=_no_numbers)  # [degrees]
    surface_tilt: NDArray[np.float64] = field(default_factory=_no_numbers)  # [degrees]
    share: NDArray[np.float64] = field(default_factory=_no_numbers)

    def __post_init__(self) -> None:
        sizes = {len(self.row), *(len(getattr(self, name)) for name in _PLANE_NUMBERS)}
        if len(sizes) != 1:
            raise ParameterError("the columns of a fleet's planes have unequal lengths")

    def __len__(self) -> int:
        return len(self.row)

    def __repr__(self) -> str:
        return f"FleetPlanes({len(self.row)} planes, private)"

    def take(self, chosen: NDArray[Any]) -> FleetPlanes:
        """Return some of the planes, or all of them in another order."""
        return FleetPlanes(
            self.row[chosen], *(getattr(self, name)[chosen] for name in _PLANE_NUMBERS)
        )

    def of_rows(self, kept: NDArray[np.bool_]) -> FleetPlanes:
        """Return the planes of some systems, by their rows among these."""
        chosen = self.take(kept[self.row])
        numbers = (getattr(chosen, name) for name in _PLANE_NUMBERS)
        return FleetPlanes(np.cumsum(kept)[chosen.row] - 1, *numbers)

    def of_several(self, rows: int) -> FleetPlanes:
        """Return the planes of systems with more than one, with shares that add up to 1."""
        # A system one of whose planes lacks a number, or has a share below nothing, is left out as
        # if it had one plane only: whatever a table holds, a system weighs no more than 1.
        known = np.isfinite(self.surface_azimuth) & np.isfinite(self.surface_tilt)
        known &= np.isfinite(self.share) & (self.share >= 0.0)
        total = np.bincount(self.row, np.where(known, self.share, 0.0), minlength=rows)
        usable = np.bincount(self.row, minlength=rows) > 1
        usable &= np.bincount(self.row[~known], minlength=rows) == 0
        usable &= (total > 0.0) & np.isfinite(total)
        chosen = self.take(usable[self.row])
        share = chosen.share / total[chosen.row]
        return FleetPlanes(chosen.row, chosen.surface_azimuth, chosen.surface_tilt, share)


def every_plane(
    azimuth: NDArray[np.float64], tilt: NDArray[np.float64], several: FleetPlanes
) -> FleetPlanes:
    """Return the planes of all systems by row, each system's shares adding up to 1."""
    several = several.of_several(len(azimuth))
    alone = np.setdiff1d(np.arange(len(azimuth)), several.row)
    planes = FleetPlanes(
        np.concatenate([alone, several.row]),
        np.concatenate([azimuth[alone], several.surface_azimuth]),
        np.concatenate([tilt[alone], several.surface_tilt]),
        np.concatenate([np.ones(len(alone)), several.share]),
    )
    return planes.take(np.argsort(planes.row, kind="stable"))


def planes_of_column(column: pa.ChunkedArray) -> FleetPlanes:
    """Return what a column of lists of planes holds; nothing of a column of another kind."""
    kind = column.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        return FleetPlanes()
    inner = kind.value_type
    if not pa.types.is_struct(inner) or any(
        inner.get_field_index(name) < 0 for name in _PLANE_NUMBERS
    ):
        return FleetPlanes()
    lists = column.combine_chunks()
    if isinstance(lists, pa.ChunkedArray):  # of no chunk at all
        return FleetPlanes()
    planes = pc.list_flatten(lists)
    row = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    numbers = (
        as_numbers(pa.chunked_array([pc.struct_field(planes, name)])) for name in _PLANE_NUMBERS
    )
    return FleetPlanes(row, *numbers)


def trackers_of_column(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Return which systems a column of trackers names; none of a column of another kind."""
    if pa.types.is_struct(column.type):
        return np.asarray(pc.is_valid(column).to_numpy(), dtype=bool)
    if pa.types.is_boolean(column.type):
        return np.asarray(pc.fill_null(column, False).to_numpy(), dtype=bool)
    return np.zeros(len(column), dtype=bool)


def untold_of_column(flags: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Return which systems have the flag of more than one plane without its being told which."""
    kind = flags.type
    listed = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    if not (listed and pa.types.is_string(kind.value_type)):
        return np.zeros(len(flags), dtype=bool)
    raised = pc.equal(pc.list_flatten(flags), _UNTOLD)
    rows = pc.list_parent_indices(flags).filter(raised).to_numpy()
    return np.isin(np.arange(len(flags)), rows)


def columns_of_objects(systems: Sequence[Mapping[str, Any]]) -> dict[str, pa.Array]:
    """Return what systems of a JSON file name as such columns, each system read by itself."""
    planes = [
        [{name: number_of(plane.get(name)) for name in _PLANE_NUMBERS} for plane in each]
        if all(isinstance(plane, dict) for plane in each)
        else []
        for each in _lists(systems, "planes")
    ]
    turning = [isinstance(system.get("tracker"), dict) for system in systems]
    # other texts are left out: one that is no Unicode would stop all systems
    flags = [[_UNTOLD] * (_UNTOLD in each) for each in _lists(systems, "flags")]
    numbers = pa.struct([(name, pa.float64()) for name in _PLANE_NUMBERS])
    return {
        "planes": pa.array(planes, pa.list_(numbers)),
        "tracker": pa.array(turning, pa.bool_()),
        "flags": pa.array(flags, pa.list_(pa.string())),
    }


def _lists(systems: Sequence[Mapping[str, Any]], name: str) -> list[list[Any]]:
    """Return the lists of that name, empty where a system has something else there."""
    found = (system.get(name) for system in systems)
    return [each if isinstance(each, list) else [] for each in found]


_COLUMNS = tuple(
    f"{name}{end}"
    for name in ("surface_azimuth", "surface_tilt", "share", "dc_capacity_kw")
    for end in ("", "_low", "_high")
)


_TRACKER = pa.struct(
    [
        ("axis_azimuth", pa.float64()),
        ("axis_azimuth_low", pa.float64()),
        ("axis_azimuth_high", pa.float64()),
        ("backtrack", pa.bool_()),
        ("backtrack_probability", pa.float64()),
        ("gcr", pa.float64()),
        ("gcr_low", pa.float64()),
        ("gcr_high", pa.float64()),
        ("max_angle", pa.float64()),
        ("max_angle_low", pa.float64()),
        ("max_angle_high", pa.float64()),
    ]
)


_HOUSEHOLD = pa.struct(
    [
        ("mean_load_kw", pa.float64()),
        ("self_consumption", pa.float64()),
        ("exporting", pa.float64()),
        ("load_kw", pa.list_(pa.list_(pa.float64()))),
    ]
)


def number_column(name: str, values: NDArray[np.float64]) -> pa.Array:
    """Return numbers as a column of that name, rounded as it is, null where there is none."""
    unknown = np.isnan(values)
    if "capacity" in name or "limit" in name:
        return pa.array(_significant(values), mask=unknown)
    digits = 4 if name in ("haze_summer", "haze_winter", "heat") else 3 if "share" in name else 2
    return pa.array(np.round(values, digits), mask=unknown)


def planes_column(
    columns: Mapping[str, pa.Array], planes: NDArray[Any], trackers: NDArray[Any]
) -> pa.ListArray:
    """Return the planes of systems as lists: of one plane, of several, or of none of a tracker."""
    turning = np.array([each is not None for each in trackers], dtype=bool)
    several = np.fromiter(map(len, planes), np.int32, len(planes))
    several[turning] = 0
    alone = ~turning & (several == 0)
    counts = several + alone
    own = np.array([_numbers(each) for row in planes[several > 0] for each in row])
    own = own.reshape(-1, len(_COLUMNS))
    # single planes are taken from the columns, the others from behind them
    single = np.repeat(alone, counts)
    source = np.empty(len(single), dtype=np.int64)
    source[single] = np.flatnonzero(alone)
    source[~single] = len(planes) + np.arange(len(own))
    whole = pa.array(np.ones(len(planes)))
    numbers = [
        pa.concat_arrays([columns.get(name, whole), number_column(name, own[:, place])])
        for place, name in enumerate(_COLUMNS)
    ]
    ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    structs = pa.StructArray.from_arrays(
        [each.take(pa.array(source)) for each in numbers], _COLUMNS
    )
    return pa.ListArray.from_arrays(ends, structs)


def tracker_column(trackers: NDArray[Any]) -> pa.StructArray:
    """Return the trackers of systems, null where modules stand still."""
    return pa.array([None if each is None else each.to_row() for each in trackers], _TRACKER)


def household_column(households: NDArray[Any]) -> pa.StructArray:
    """Return what net meters tell of their households, null of meters of generation."""
    rows = [None if each is None else each.to_row() for each in households]
    return pa.array(rows, _HOUSEHOLD)


def _numbers(plane: PlaneEstimate) -> tuple[float, ...]:
    """Return the numbers of a plane in the order of its columns, as they are."""
    return (
        plane.surface_azimuth,
        plane.azimuth_interval.low,
        plane.azimuth_interval.high,
        plane.surface_tilt,
        plane.tilt_interval.low,
        plane.tilt_interval.high,
        plane.share,
        plane.share_interval.low,
        plane.share_interval.high,
        plane.dc_capacity_kw,
        plane.capacity_interval.low,
        plane.capacity_interval.high,
    )


def _significant(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers to five digits."""
    size = np.where(np.isfinite(values) & (values != 0.0), np.abs(values), 1.0)
    scale = 10.0 ** (4.0 - np.floor(np.log10(size)))
    return np.asarray(np.round(values * scale) / scale)


_NUMBERS = {
    "surface_azimuth": "surface_azimuth",
    "surface_azimuth_low": "azimuth_low",
    "surface_azimuth_high": "azimuth_high",
    "surface_tilt": "surface_tilt",
    "surface_tilt_low": "tilt_low",
    "surface_tilt_high": "tilt_high",
    "dc_capacity_kw": "dc_capacity_kw",
    "dc_capacity_kw_low": "capacity_low",
    "dc_capacity_kw_high": "capacity_high",
    "plane_error_degrees": "plane_error_degrees",
    "ac_limit_kw": "ac_limit_kw",
    "haze_summer": "haze_summer",
    "haze_winter": "haze_winter",
    "heat": "heat",
    "clear_hours": "clear_hours",
    "trend_percent_per_year": "trend",
}


_YEARS = pa.list_(
    pa.struct(
        [
            ("first", pa.string()),
            ("surface_azimuth", pa.float64()),
            ("surface_tilt", pa.float64()),
            ("dc_capacity_kw", pa.float64()),
        ]
    )
)


_LABELS = tuple(Label)


# Radii between which all estimates with the same flags are of one quality. [degrees]
_RADII = (GOOD_WITHIN, FAIR_WITHIN, np.inf)


def estimates_table(fitted: Sequence[Fitted], systems: SystemTable) -> pa.Table:
    """Return estimates as a table in the order of the systems, with their places and keys."""
    numbers = _joined([each.systems for each in fitted], np.int32)
    order = np.argsort(numbers, kind="stable")
    numbers = numbers[order]
    rows = pa.array(numbers)
    columns: dict[str, Any] = {"system_id": systems.ids.take(rows)}
    for name, key in _NUMBERS.items():
        values = _joined([getattr(each.fit, key) for each in fitted], np.float64)[order]
        columns[name] = number_column(name, values)
    skylines = [row for each in fitted for row in _skylines(each.fit.skyline)]
    columns["skyline"] = pa.array([skylines[place] for place in order], pa.list_(pa.float64()))
    planes = _joined([each.fit.planes for each in fitted], np.object_)[order]
    trackers = _joined([each.fit.tracker for each in fitted], np.object_)[order]
    columns["planes"] = planes_column(columns, planes, trackers)
    columns["tracker"] = tracker_column(trackers)
    households = _joined([each.fit.household for each in fitted], np.object_)[order]
    columns["household_load"] = household_column(households)
    years = [[year.to_row() for year in row] for each in fitted for row in each.fit.years]
    columns["years"] = pa.array([years[place] for place in order], _YEARS)
    offset, label = _clocks(fitted)
    saving = _joined([each.fit.clock_saving for each in fitted], np.int64)[order]
    columns["clock_offset_minutes"] = pa.array(offset[order])
    columns["clock_label"] = _words(tuple(each.value for each in _LABELS), label[order])
    columns["clock_daylight_saving"] = _words(tuple(each.value for each in DaylightSaving), saving)
    steps = _joined([each.fit.clock_steps for each in fitted], np.object_)[order]
    columns["clock_steps"] = pa.array(
        [[str(step) for step in each] for each in steps], pa.list_(pa.string())
    )
    agreement = _joined([each.fit.agreement for each in fitted], np.float64)[order]
    columns["agreement"] = pa.array(np.round(agreement, 4))
    bits = _joined([each.fit.flags for each in fitted], np.int64)[order]
    columns["flags"] = pa.array(
        [_flag_words(each) for each in bits.tolist()], pa.list_(pa.string())
    )
    radius = columns["plane_error_degrees"].to_numpy(zero_copy_only=False)
    within = np.searchsorted(_RADII, radius).tolist()
    columns["quality"] = pa.array(
        [_quality(*each) for each in zip(bits.tolist(), within, strict=True)], pa.string()
    )
    columns["latitude"] = pa.array(systems.latitude[numbers])
    columns["longitude"] = pa.array(systems.longitude[numbers])
    keys = {key: systems.keys.column(key).take(rows) for key in systems.keys.column_names}
    # only what is listed, and all of it: so that the list of reserved names is whole
    return pa.table({name: columns[name] for name in ESTIMATES} | keys)


def refused_table(refused: Sequence[RefusedSystem], partition: int | None) -> pa.Table:
    """Return refusals as a table, in the order of the systems."""
    ordered = sorted(refused, key=lambda each: (each.system_id, each.kind))
    return pa.table(
        {
            "system_id": [each.system_id for each in ordered],
            "kind": [each.kind for each in ordered],
            "reason": [each.reason for each in ordered],
            "partition": [partition] * len(ordered),
        },
        schema=REFUSED,
    )


def write_table(path: Path, table: pa.Table) -> None:
    """Write a Parquet file whole or not at all, the same bytes for the same table."""
    buffer = io.BytesIO()
    pq.write_table(
        table.replace_schema_metadata(None),
        buffer,
        compression="snappy",  # at a quarter of the time, for a sixth more bytes
        use_dictionary=[name for field in table.schema for name in _words_in(field)],
    )
    write_whole(path, buffer.getvalue(), private=True)


def _words_in(field: pa.Field) -> list[str]:
    """Return the path of a column of texts; numbers seldom repeat."""
    if pa.types.is_list(field.type) and pa.types.is_string(field.type.value_type):
        return [f"{field.name}.list.element"]
    return [field.name] if pa.types.is_string(field.type) else []


def _joined(parts: Sequence[NDArray[Any]], kind: Any) -> NDArray[Any]:
    return np.concatenate([*parts, np.empty(0, kind)]).astype(kind)


def _skylines(elevations: NDArray[np.float32]) -> list[list[float]]:
    """Return the skyline of each system, empty where nothing hides the sun. [degrees]"""
    hidden = elevations.max(axis=1) > 0.0
    return [row.tolist() if some else [] for row, some in zip(elevations, hidden, strict=True)]


def _clocks(fitted: Sequence[Fitted]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return offsets and labels: half an interval is a label, anything else an offset."""
    offsets, labels = [], []
    for each in fitted:
        offset = np.array(each.fit.clock_offset_minutes, dtype=np.float64)
        label = np.full(len(offset), _LABELS.index(each.frame.label))
        for row in np.flatnonzero(offset):
            clock = ClockHypothesis(float(offset[row]), steps=each.fit.clock_steps[row])
            found = FoundClock(clock).finding(each.frame.label, each.frame.axis.step / 60.0)
            offset[row], label[row] = found.offset_minutes, _LABELS.index(found.label)
        offsets.append(offset)
        labels.append(label)
    return _joined(offsets, np.float64), _joined(labels, np.int64)


def _words(words: tuple[str, ...], codes: NDArray[np.int64]) -> pa.Array:
    return pa.array([words[code] for code in codes.tolist()], pa.string())


@cache
def _flag_words(bits: int) -> list[str]:
    """Return the names of the flags that a number stands for."""
    return [flag.value for flag in flags_of(bits)]


@cache
def _quality(bits: int, within: int) -> str:
    """Return the quality of an estimate by its flags, and by which of the radii holds its plane."""
    return judge(flags_of(bits), _RADII[min(within, len(_RADII) - 1)])[0].value


# Columns of the estimates' rows that hold lists, which a table to look at does without.
_NESTED = ("planes", "tracker", "household_load", "skyline", "years", "clock_steps")


_ERROR = "error"


@dataclass(frozen=True, slots=True)
class FrameEstimates(Sequence[Estimate]):
    """The estimates of a frame's systems, in the order of the systems.

    A sequence of estimates: ``for estimate in found``, ``len(found)``, ``found[0]``; and
    ``found["roof"]`` is that of a system by its name.

    Parameters
    ----------
    estimates
        The estimates.
    refused
        The systems that cannot be inferred, each with its reason.
    """

    estimates: tuple[Estimate, ...]
    refused: tuple[RefusedSystem, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self)

    def __len__(self) -> int:
        return len(self.estimates)

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.estimates)

    @overload
    def __getitem__(self, which: int | str) -> Estimate: ...
    @overload
    def __getitem__(self, which: slice) -> tuple[Estimate, ...]: ...
    def __getitem__(self, which: int | str | slice) -> Estimate | tuple[Estimate, ...]:
        if not isinstance(which, str):
            return self.estimates[which]
        for each in self.estimates:
            if each.system_id == which:
                return each
        for none in self.refused:
            if none.system_id == which:
                raise ParameterError(f"system {which} was not inferred: {none.reason}")
        raise ParameterError(
            f"there is no system {shown(which)}: see system_id of to_frame() for those there are"
        )

    def __repr__(self) -> str:
        lines = [f"  {each!r}" for each in self.estimates[:10]]
        if len(self) > len(lines):
            lines.append(f"  ... and {len(self) - len(lines)} more")
        head = f"{len(self)} estimate{'' if len(self) == 1 else 's'}"
        if self.refused:
            head += f", {len(self.refused)} refused: see refused"
        return "\n".join([f"FrameEstimates({head})", *lines])

    def _repr_html_(self) -> str:
        table = self.to_frame(nested=False)
        return f"<div>{table.to_html(max_rows=20, na_rep='–')}</div>"

    @checked
    def to_frame(self, *, nested: bool = True) -> pd.DataFrame:
        """Return a row for each system, in columns named as the fields of an estimate.

        A system that was not inferred has a row with its reason in the column ``error``, which
        only then is there.

        Parameters
        ----------
        nested
            Whether columns that hold lists, as those of planes and years, are among them.
        """
        rows = [each.to_row() for each in self.estimates]
        rows += [{"system_id": each.system_id, _ERROR: each.reason} for each in self.refused]
        frame = pd.DataFrame(rows)
        if frame.empty:
            return frame
        if not nested:
            frame = frame.drop(columns=[name for name in _NESTED if name in frame])
        return frame.set_index("system_id")
