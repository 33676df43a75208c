"""Estimates of systems: one table; a row is the estimate of a single system."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import FrozenInstanceError
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast, overload

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sunveil._files import write_whole
from sunveil._options import all_named, checked, instance, shown
from sunveil.errors import ParameterError
from sunveil.estimates.columns import (
    Column,
    Count,
    Flags,
    Number,
    NumberRows,
    OptionalNumber,
    OptionalPart,
    Parts,
    Table,
    Text,
    Texts,
    Together,
    Words,
    objects,
)
from sunveil.estimates.flags_and_quality import FAIR_WITHIN, GOOD_WITHIN, Quality, flags_of, judge
from sunveil.estimates.intervals_and_rounding import (
    FIVE_DIGITS,
    FOUR_DECIMALS,
    HUNDREDTHS,
    Interval,
    structs_of,
    with_pairs,
)
from sunveil.estimates.planes_and_intervals import (
    COLUMNS,
    VAGUEST,
    Assumptions,
    ClockFinding,
    ClockStep,
    DaylightSaving,
    HouseholdEstimate,
    PlaneEstimate,
    TrackerEstimate,
    YearEstimate,
)
from sunveil.meters.record import Label, Record, RefusedSystem
from sunveil.site import Plane, Site

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pvlib.modelchain import ModelChain


class EstimateSource:
    """The readings and the skies behind an estimate, in the memory of this process only."""

    # It is no part of what an estimate says: neither `repr` nor JSON nor rows nor comparisons see
    # it, and copies and pickles of an estimate come without it.
    # Private: these are the readings.

    __slots__ = ("record", "site", "skies")

    def __init__(self, record: Record, skies: object, site: Site) -> None:
        self.record, self.skies, self.site = record, skies, site

    def __repr__(self) -> str:
        return "EstimateSource(private)"

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        # what leaves the process holds no readings
        return type(None), ()


# Radii between which all estimates with the same flags are of one quality. [degrees]
_RADII = (GOOD_WITHIN, FAIR_WITHIN, np.inf)


@cache
def _quality(bits: int, within: int) -> Quality:
    return judge(flags_of(bits), _RADII[min(within, len(_RADII) - 1)])[0]


class _Qualities(Column[Quality]):
    """Qualities, which follow from flags and from the error of the plane."""

    def derive(self, table: Estimates) -> NDArray[Any]:
        within = np.searchsorted(_RADII, HUNDREDTHS(table.plane_error_degrees))
        both = zip(table.flags.tolist(), within.tolist(), strict=True)
        return objects([_quality(*each) for each in both])

    def to_arrow(self, entries: NDArray[Any]) -> pa.Array:
        return pa.array([each.value for each in entries], pa.string())


class _Columns:
    """The columns of estimates, in the order of files: an array of a table, a value of an estimate.

    This is the one place that declares a field; what infers a system fills it.
    """

    __slots__ = ()

    system_id = Text("The curator's name of the system.")
    surface_azimuth = Number(
        HUNDREDTHS, "Azimuth of the one plane, clockwise from north. [degrees]"
    )
    surface_azimuth_low = Number(HUNDREDTHS, "Lower end of its 90% interval. [degrees]")
    surface_azimuth_high = Number(HUNDREDTHS, "Upper end of its 90% interval. [degrees]")
    surface_tilt = Number(HUNDREDTHS, "Tilt from horizontal. [degrees]")
    surface_tilt_low = Number(HUNDREDTHS, "Lower end of its 90% interval. [degrees]")
    surface_tilt_high = Number(HUNDREDTHS, "Upper end of its 90% interval. [degrees]")
    dc_capacity_kw = Number(FIVE_DIGITS, "DC nameplate capacity under ``assumptions``. [kW]")
    dc_capacity_kw_low = Number(FIVE_DIGITS, "Lower end of its 90% interval. [kW]")
    dc_capacity_kw_high = Number(FIVE_DIGITS, "Upper end of its 90% interval. [kW]")
    plane_error_degrees = Number(
        HUNDREDTHS,
        "Radius that holds the angle between the true and the inferred plane with 90%; of two"
        " planes the larger of their radii, of a tracker that of its axis. [degrees]",
    )
    ac_limit_kw = OptionalNumber(
        FIVE_DIGITS, "The inverter's limit where clipping shows, else None. [kW]", needed=False
    )
    haze_summer = OptionalNumber(
        FOUR_DECIMALS,
        "What the fit added to the sky's Linke turbidity in midsummer; None without a fit of it.",
    )
    haze_winter = OptionalNumber(FOUR_DECIMALS, "The same in midwinter.")
    heat = OptionalNumber(
        FOUR_DECIMALS, "Factor on Faiman's rise of temperature; None without a fit of it."
    )
    clear_hours = OptionalNumber(
        HUNDREDTHS,
        "Hours of clear days that the estimate rests on; None where days were not weighed. [h]",
    )
    trend_percent_per_year = OptionalNumber(
        HUNDREDTHS, "Change of output; None where too few years show it. [% per year]", needed=False
    )
    skyline = NumberRows(
        COLUMNS,
        "Elevation of the skyline that hides the sun, in sectors of equal width clockwise from"
        " north; empty where the sky is free. [degrees]",
    )
    planes = Parts(
        PlaneEstimate,
        "The roof planes, the largest share first: one where no second is detected, none for a"
        " tracker.",
    )
    tracker = OptionalPart(TrackerEstimate, "The tracker that turns the modules, or None.")
    household = OptionalPart(
        HouseholdEstimate,
        "The household behind a net meter; None of a meter of generation alone.",
        # the table of systems has the curator's key of a household under that name
        stored="household_load",
    )
    years = Parts(YearEstimate, "The single years of a longer record.")
    clock_offset_minutes = Number(
        None, "How far the stamps run ahead of the declared clock. [minutes]", default=0.0
    )
    clock_label = Words(Label, "The interval label that fits.")
    clock_daylight_saving = Words(DaylightSaving, "How the stamps treat daylight saving.")
    clock_steps = Texts(ClockStep.parse, "The days on which the clock was set to another time.")
    agreement = Number(FOUR_DECIMALS, "Fraction of the bright readings that it explains.")
    flags = Flags("Warnings to read before relying on the estimate.")
    quality = _Qualities("Grade of the estimate: good, fair or poor.")
    latitude = OptionalNumber(None, "Where the table of systems has it. [degrees]", needed=False)
    longitude = OptionalNumber(None, "Where the table of systems has it. [degrees]", needed=False)

    # In memory alone.
    outcome = Count("0 where the system was inferred; see ``reason`` for the others.", np.uint8)
    daylight_readings = Count("Daylight readings with power.")
    clock_gain = Number(
        None, "Share of energy that the repair of the clock gained.", stored=False, default=0.0
    )
    system = Count("Place in the table of systems.")
    notes = Column[tuple[str, ...]](
        "What the reader of the meter file did, one sentence each.", stored=False, default=()
    )
    assumptions = Column[Assumptions]("What was assumed.", stored=False)
    source = Column[EstimateSource | None](
        "The readings that it came from, for :meth:`plot`; None where it was read back from a"
        " table. It is never written, shown or compared.",
        stored=False,
    )


KINDS: dict[str, Column[Any]] = {
    name: each for name, each in vars(_Columns).items() if isinstance(each, Column)
}

# The columns of a file in their order, and nothing else but the public keys behind them.
ESTIMATES = tuple(str(each.stored_as) for each in KINDS.values() if each.stored_as)

# Columns that only a table of systems can fill.
_PLACES = ("latitude", "longitude")

# Columns of lists, which a table to look at does without.
_NESTED = ("planes", "tracker", "household_load", "skyline", "years", "clock_steps")


class Estimates(_Columns, Table, Sequence["Estimate"]):
    """Estimates of systems, as one table: private.

    A sequence of estimates: ``for estimate in found``, ``len(found)``, ``found[0]``;
    ``found["roof"]`` is that of a system by its name, and ``found.surface_tilt`` the array of all.

    Parameters
    ----------
    count
        How many systems there are.
    columns
        Arrays by the names of columns; nothing is known of the others.
    refused
        The systems that cannot be inferred, each with its reason.
    """

    __slots__ = ("_arrays", "_count", "refused")

    def __init__(
        self,
        count: int,
        columns: Mapping[str, NDArray[Any]] | None = None,
        refused: Sequence[RefusedSystem] = (),
        /,
    ) -> None:
        self._count, self._arrays = count, dict(columns or {})
        self.refused = tuple(refused)

    @classmethod
    def of(cls, **columns: NDArray[Any]) -> Self:
        """Return a table of arrays of equal length."""
        return cls(len(next(iter(columns.values()))), columns)

    def look(self, column: Column[Any], /) -> NDArray[Any]:
        """Return the array of a column, which is there once it is asked for."""
        if isinstance(column, _Qualities):
            return column.derive(self)
        if column.name not in self._arrays:
            self._arrays[column.name] = column.empty(self._count)
        return self._arrays[column.name]

    def set(self, **columns: Any) -> None:
        """Replace columns by arrays, or by one value for all systems."""
        for name, values in columns.items():
            column = KINDS[name]
            if not isinstance(values, np.ndarray):
                values = np.repeat(column.entries([values]), self._count, axis=0)
            self._arrays[name] = values

    def take(self, rows: Any, /) -> Estimates:
        """Return some of the systems, by places or by marks."""
        arrays = {name: each[rows] for name, each in self._arrays.items()}
        return Estimates(len(np.arange(self._count)[rows]), arrays)

    def put(self, rows: NDArray[np.intp], found: Estimates, /) -> None:
        """Write estimates over those of some systems."""
        for name in self._arrays | found._arrays:
            self.look(KINDS[name])[rows] = found.look(KINDS[name])

    def refuse(self, rows: NDArray[np.intp], outcome: int, /) -> None:
        """Forget estimates of some systems, and keep why they have none."""
        self.put(rows, not_inferred(np.full(len(rows), outcome), self.daylight_readings[rows]))

    @classmethod
    def concat(cls, tables: Iterable[Estimates], refused: Sequence[RefusedSystem] = (), /) -> Self:
        """Return tables one after the other."""
        tables = list(tables)
        names = dict.fromkeys(name for each in tables for name in each._arrays)
        arrays = {
            name: np.concatenate([each.look(KINDS[name]) for each in tables]) for name in names
        }
        return cls(sum(len(each) for each in tables), arrays, refused)

    @classmethod
    def gathered(
        cls, estimates: Iterable[Estimate], refused: Sequence[RefusedSystem] = (), /
    ) -> Self:
        """Return single estimates as one table."""
        return cls.concat([each.alone() for each in estimates], refused)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Estimate]:
        return (Estimate(self, row) for row in range(self._count))

    @overload
    def __getitem__(self, which: int | str) -> Estimate: ...
    @overload
    def __getitem__(self, which: slice) -> Estimates: ...
    def __getitem__(self, which: int | str | slice) -> Estimate | Estimates:
        if isinstance(which, slice):
            return self.take(which)
        if not isinstance(which, str):
            return Estimate(self, range(self._count)[which])
        for row in np.flatnonzero(self.system_id == which).tolist():
            return Estimate(self, row)
        for none in self.refused:
            if none.system_id == which:
                raise ParameterError(f"system {which} was not inferred: {none.reason}")
        raise ParameterError(
            f"there is no system {shown(which)}: see system_id of to_frame() for those there are"
        )

    def __repr__(self) -> str:
        if len(self) and self.system_id[0] is None:  # a block of the engine
            return f"Estimates({len(self)} systems, private)"
        lines = [f"  {self[row]!r}" for row in range(min(10, len(self)))]
        if len(self) > len(lines):
            lines.append(f"  ... and {len(self) - len(lines)} more")
        head = f"{len(self)} estimate{'' if len(self) == 1 else 's'}"
        if self.refused:
            head += f", {len(self.refused)} refused: see refused"
        return "\n".join([f"Estimates({head})", *lines])

    def _repr_html_(self) -> str:
        table = self.to_frame(nested=False)
        return f"<div>{table.to_html(max_rows=20, na_rep='–')}</div>"

    def to_arrow(self) -> pa.Table:
        """Return the table as it is written: numbers rounded, null for what is not there."""
        columns: dict[str, pa.Array] = {}
        for name, kind in KINDS.items():
            if not kind.stored_as or (name in _PLACES and name not in self._arrays):
                continue
            stored = str(kind.stored_as)
            columns[stored] = (
                self._planes(columns) if name == "planes" else kind.to_arrow(self.look(kind))
            )
        return pa.table(columns)

    def _planes(self, columns: Mapping[str, pa.Array]) -> pa.ListArray:
        """Return the planes of systems as lists: of one plane, of several, or of none."""
        listed, turning = self.planes, np.array([each is not None for each in self.tracker])
        several = np.fromiter(map(len, listed), np.int32, len(listed))
        several[turning.astype(bool) | (several < 2)] = 0
        alone = ~turning.astype(bool) & (several == 0)
        counts = several + alone
        own = structs_of(PlaneEstimate, [each for row in listed[several > 0] for each in row])
        whole = pa.array(np.ones(len(listed)))
        single = [columns.get(each.name, whole) for each in own.type]
        # a single plane is taken from the columns of its system, the others from behind them
        both = pa.concat_arrays([pa.StructArray.from_arrays(single, fields=list(own.type)), own])
        places = np.empty(counts.sum(), dtype=np.int64)
        from_columns = np.repeat(alone, counts)
        places[from_columns] = np.flatnonzero(alone)
        places[~from_columns] = len(listed) + np.arange(len(own))
        ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        return pa.ListArray.from_arrays(ends, both.take(pa.array(places)))

    @classmethod
    def from_rows(
        cls,
        rows: Sequence[Mapping[str, Any]],
        assumptions: Assumptions,
        notes: Iterable[str] = (),
        /,
    ) -> Self:
        """Return the table that rows of plain types hold; other columns are left aside."""
        columns = {}
        for name, kind in KINDS.items():
            if not kind.stored_as or name == "quality":
                continue
            stored = str(kind.stored_as)
            if name not in _PLACES or all(stored in row for row in rows):
                columns[name] = kind.read([row[stored] for row in rows])
        table = cls(len(rows), columns)
        table.set(assumptions=assumptions, notes=tuple(notes))
        return table

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
        rows = self.to_arrow().to_pylist()
        rows += [{"system_id": each.system_id, "error": each.reason} for each in self.refused]
        frame = pd.DataFrame(rows)
        if frame.empty:
            return frame
        if not nested:
            frame = frame.drop(columns=[name for name in _NESTED if name in frame])
        return frame.set_index("system_id")


class Estimate(_Columns):
    """The inferred metadata of one system, with 90% intervals: a row of :class:`Estimates`."""

    # Two estimates are equal where their rows, assumptions and notes are.

    __slots__ = ("_row", "_table")

    _table: Estimates
    _row: int

    plane = Together(
        Plane,
        "surface_azimuth",
        "surface_tilt",
        about="The inferred plane; the best single-plane fit of several planes, and the modules at"
        " rest of a tracker.",
    )
    azimuth_interval = Together(
        Interval,
        "surface_azimuth_low",
        "surface_azimuth_high",
        about="90% interval of the azimuth. [degrees]",
    )
    tilt_interval = Together(
        Interval,
        "surface_tilt_low",
        "surface_tilt_high",
        about="90% interval of the tilt. [degrees]",
    )
    capacity_interval = Together(
        Interval,
        "dc_capacity_kw_low",
        "dc_capacity_kw_high",
        about="90% interval of the DC capacity. [kW]",
    )
    clock = Together(
        ClockFinding,
        "clock_offset_minutes",
        "clock_label",
        "clock_daylight_saving",
        "clock_gain",
        "clock_steps",
        about="The clock that fits the sun.",
    )

    def __init__(self, table: Estimates, row: int, /) -> None:
        object.__setattr__(self, "_table", table)
        object.__setattr__(self, "_row", row)

    @classmethod
    def of(cls, **values: Any) -> Estimate:
        """Return the estimate of the values of its columns; nothing is known of the others."""
        return cls(Estimates(1), 0).replaced(**values)

    def replaced(self, **values: Any) -> Estimate:
        """Return the estimate with other values."""
        table = self.alone()
        for name, value in values.items():
            together = vars(Estimate).get(name)
            apart = together.apart(value) if isinstance(together, Together) else {name: value}
            for column, part in apart.items():
                table.set(**{column: KINDS[column].entries([part])})
        return Estimate(table, 0)

    def alone(self) -> Estimates:
        """Return the table of this estimate alone."""
        return self._table.take(slice(self._row, self._row + 1))

    def look(self, column: Column[Any], /) -> Any:
        """Return the value of a column."""
        value = column.value(self._table.look(column)[self._row])
        if column.name != "planes":
            return value
        if self.tracker is not None:
            return ()
        return value if len(value) > 1 else (self.effective_plane,)

    def __setattr__(self, name: str, value: Any) -> None:
        raise FrozenInstanceError(f"an estimate does not change; take replaced({name}=...)")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Estimate):
            return NotImplemented
        return self._said() == other._said()

    def __hash__(self) -> int:
        return hash(self.system_id)

    def _said(self) -> tuple[Any, ...]:
        return self.to_row(), self.assumptions, self.notes

    def __reduce__(self) -> tuple[Any, ...]:
        return Estimate, (self.alone(), 0)

    # What follows looks at an estimate, and so stands above it: it is loaded when asked for.

    def __repr__(self) -> str:
        from sunveil.estimates.estimate_text import estimate_line

        return estimate_line(self)

    def _repr_html_(self) -> str:
        from sunveil.estimates.html_pvlib_sam import estimate_html

        return estimate_html(self)

    def plot(self) -> Figure:
        """Draw what the estimate rests on: see :func:`sunveil.plots.plot_estimate`.

        Returns
        -------
        matplotlib.figure.Figure
            One new figure: its clearest days, the map of scores, the residuals and, where there
            are any, the skyline and the single years.

        Privacy
        -------
        No protection: the figure shows readings, and is marked so.
        """
        from sunveil.plots.estimate_figures import plot_estimate

        axes = next(iter(plot_estimate(self).values()))
        return cast("Figure", axes.get_figure(root=True))

    def to_pvlib(self, site: Any = None) -> ModelChain:
        """Return the system as pvlib's, ready for ``run_model(weather)``.

        Modules and inverter are PVWatts': powers are in W. Temperatures are Faiman's, with the heat
        that the fit found; wind is that at 10 m, of which half reaches the modules. An inverter
        that shows no limit is as large as the array. Perez' model carries light to the planes as in
        the inference, and the glass lets as much of it through. The haze that the fit found is no
        part of it: the weather brings its own.

        Parameters
        ----------
        site
            Where the system is, as a :class:`~sunveil.Site` or pvlib's ``Location``; where it was
            inferred by default.

        Returns
        -------
        pvlib.modelchain.ModelChain
            Its ``system`` is the ``PVSystem``, with an array for each plane or for the tracker.
        """
        from sunveil.estimates.html_pvlib_sam import make_modelchain

        return make_modelchain(self, site)

    def to_sam(self) -> list[dict[str, float | int]]:
        """Return the inputs of SAM's PVWatts (``pvwattsv8``), one set for each plane.

        Standard modules are assumed, which lose 0.37% of power per °C. An inverter that shows no
        limit is taken to be as large as the array; the outputs of two planes add up.
        """
        from sunveil.estimates.html_pvlib_sam import pvwatts_inputs

        return pvwatts_inputs(self)

    @property
    def azimuth(self) -> float:
        """Short for ``surface_azimuth``. [degrees]"""
        return self.surface_azimuth

    @property
    def tilt(self) -> float:
        """Short for ``surface_tilt``. [degrees]"""
        return self.surface_tilt

    @property
    def capacity(self) -> float:
        """Short for ``dc_capacity_kw``. [kW]"""
        return self.dc_capacity_kw

    @property
    def effective_plane(self) -> PlaneEstimate:
        """The one plane that stands for the whole system, with its intervals."""
        return PlaneEstimate(
            surface_azimuth=self.surface_azimuth,
            azimuth_interval=self.azimuth_interval,
            surface_tilt=self.surface_tilt,
            tilt_interval=self.tilt_interval,
            share=1.0,
            share_interval=Interval(1.0, 1.0),
            dc_capacity_kw=self.dc_capacity_kw,
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
    def quality_reason(self) -> str:
        """Why its quality is what it is."""
        return judge(self.flags, self.plane_error_degrees)[1]

    def to_row(self) -> dict[str, Any]:
        """Return the estimate as a row of a fleet's table: plain types, None for what is not there.

        Degrees are rounded to hundredths, capacities to five digits.
        """
        row: dict[str, Any] = self.alone().to_arrow().to_pylist()[0]
        return row

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as plain JSON types: its row, intervals as pairs, and the rest."""
        row = self.to_row()
        row["planes"] = [with_pairs(each) for each in row["planes"]]
        row["tracker"] = None if self.tracker is None else with_pairs(row["tracker"])
        ratio = self.dc_ac_ratio
        return {
            **with_pairs(row),
            "quality_reason": self.quality_reason,
            "dc_ac_ratio": None if ratio is None else float(HUNDREDTHS(ratio)),
            "assumptions": self.assumptions.to_dict(),
            "notes": list(self.notes),
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
        instance("assumptions", assumptions, Assumptions, give="what infer assumed")
        with all_named("the row", "what to_row gave"):
            return Estimates.from_rows([row], assumptions, notes)[0]


def says_anything(found: Estimates) -> NDArray[np.bool_]:
    """Return which estimates say anything, but for what need not be known."""
    needed = [found.look(each) for each in KINDS.values() if each.needed and _is_number(each)]
    finite = np.logical_and.reduce([np.isfinite(column) for column in needed])
    return np.asarray(finite & (found.dc_capacity_kw_high <= VAGUEST * found.dc_capacity_kw_low))


def _is_number(column: Column[Any]) -> bool:
    return isinstance(column, (Number, OptionalNumber))


def not_inferred(outcome: NDArray[Any], daylight_readings: NDArray[np.integer]) -> Estimates:
    """Return systems that are not inferred, and why."""
    return Estimates.of(
        outcome=outcome.astype(np.uint8), daylight_readings=daylight_readings.astype(np.int32)
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
PRIVATE = frozenset(ESTIMATES) - {"system_id", *_PLACES}


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
        use_dictionary=[name for field in table.schema for name in _texts_in(field)],
    )
    write_whole(path, buffer.getvalue(), private=True)


def _texts_in(field: pa.Field) -> list[str]:
    """Return the path of a column of texts; numbers seldom repeat."""
    if pa.types.is_list(field.type) and pa.types.is_string(field.type.value_type):
        return [f"{field.name}.list.element"]
    return [field.name] if pa.types.is_string(field.type) else []


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
