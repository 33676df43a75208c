"""What an inference returns, with its flags and its parts, which can be had from here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sunveil.arguments import check_fields
from sunveil.checked import checked
from sunveil.estimate_flags import FLAG_MEANINGS as FLAG_MEANINGS
from sunveil.estimate_flags import Flag as Flag
from sunveil.estimate_flags import Quality as Quality
from sunveil.estimate_flags import judge as judge
from sunveil.estimate_parts import Assumptions as Assumptions
from sunveil.estimate_parts import ClockFinding as ClockFinding
from sunveil.estimate_parts import ClockStep as ClockStep
from sunveil.estimate_parts import DaylightSaving as DaylightSaving
from sunveil.estimate_parts import YearEstimate as YearEstimate
from sunveil.estimate_rows import fields_of_row
from sunveil.estimate_source import EstimateSource
from sunveil.household import HouseholdEstimate
from sunveil.planes import PlaneEstimate, TrackerEstimate
from sunveil.quantities import (
    Interval,
    five_digits,
    hundredths,
    quantity_columns,
    rounded,
    with_pairs,
)
from sunveil.site import Plane

if TYPE_CHECKING:
    from pvlib.modelchain import ModelChain
    from pvlib.pvsystem import PVSystem


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
        from sunveil.estimate_text import estimate_line

        return estimate_line(self)

    def _repr_html_(self) -> str:
        from sunveil.views.html import estimate_html

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
        from sunveil.plots.overview import plot_estimate

        return plot_estimate(self)

    def to_pvsystem(self) -> PVSystem:
        """Return the system as pvlib's, with an array for each plane or for the tracker.

        See :func:`sunveil.views.pvlib_system.make_pvsystem`.
        """
        from sunveil.views.pvlib_system import make_pvsystem

        return make_pvsystem(self)

    def to_modelchain(self, site: Any = None) -> ModelChain:
        """Return pvlib's chain of models for the system, ready for ``run_model(weather)``.

        See :func:`sunveil.views.pvlib_system.make_modelchain`.

        Parameters
        ----------
        site
            Where the system is, as a :class:`~sunveil.Site` or pvlib's ``Location``; where it was
            inferred, when left out.
        """
        from sunveil.views.pvlib_system import make_modelchain

        return make_modelchain(self, site)

    def to_sam(self) -> list[dict[str, float | int]]:
        """Return the inputs of SAM's PVWatts (``pvwattsv8``), one set for each plane.

        See :func:`sunveil.views.sam.pvwatts_inputs`.
        """
        from sunveil.views.sam import pvwatts_inputs

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
