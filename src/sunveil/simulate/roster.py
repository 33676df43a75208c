"""The systems of a cell, drawn together: one array for each of their properties."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil.simulate.fault_rates import FaultRates
from sunveil.simulate.loggers import draw_logger_faults
from sunveil.simulate.mounting import (
    DUAL_AXIS,
    HALF_TURN,
    LARGER_SHARE,
    draw_trackers,
    ridge_azimuths,
    second_planes,
)
from sunveil.simulate.places import SimulatedCell
from sunveil.simulate.power import Horizon
from sunveil.simulate.skyline import Skyline, box_skyline, draw_skylines, sectors_of
from sunveil.simulate.stamps import draw_clock_steps, draw_clocks
from sunveil.simulate.systems import (
    SAPM_MOUNTS,
    TILT_EDGES,
    FleetStatistics,
    SystemTruth,
    Tracker,
)
from sunveil.simulate.wear import draw_wear, mean_wear
from sunveil.site import Array, Losses, Mount, Plane, Site

MOUNTS = tuple(SAPM_MOUNTS)
# What a system does: it stands still, or follows the sun about one axis or about two.
FIXED, SINGLE_AXIS, TWO_AXES = range(3)
FEEDER_SYSTEMS = 40

Whole = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedRoster:
    """The systems of one simulated cell, as one array for each of their properties.

    Parameters
    ----------
    latitude, longitude
        Where each system is. [degrees]
    feeder
        Number of the feeder that it hangs on, from 0 in each cell.
    surface_azimuth, surface_tilt
        Its plane, or the first of two. [degrees]
    second_azimuth, second_tilt
        Its second plane; NaN where there is none. [degrees]
    first_share
        Share of the capacity on the first plane.
    dc_capacity_kw, dc_ac_ratio
        DC nameplate capacity [kW], and its ratio to the inverter's limit.
    losses, gamma_pdc, albedo
        As in :class:`~sunveil.simulate.systems.SystemTruth`.
    mount
        Its place in ``MOUNTS``.
    tracker
        ``FIXED``, ``SINGLE_AXIS`` or ``TWO_AXES``.
    axis_azimuth, backtrack, gcr, max_angle
        As in :class:`~sunveil.simulate.systems.Tracker`; they mean something of ``SINGLE_AXIS``
        alone.
    clock, later_clock, clock_step
        Its clocks before and after a step, as places in ``CLOCKS``, and when the step comes, as a
        fraction of the year; without a step the two are the same and it is NaN.
    noise
        Standard deviation of the relative error of its readings.
    shade_azimuth, shade_width, shade_elevation
        Middle, width and height of the obstacle on the sun's side; NaN where there is none.
        [degrees]
    skyline
        Elevation below which the sun is hidden, by all that stands around it, obstacle and all,
        shape (systems, ``SECTORS``). [degrees]
    begin, end
        Where its record begins and ends within the year, as fractions.
    soiling, degradation, age_years
        Loss of DC power by each day without rain, by each year of its age, and its age when the
        year begins. [1, 1, years]
    snow_strings
        Strings above each other, each of which gives nothing while snow covers a part of it.
    dead_share, dead_begin, dead_end
        Share of its strings that die, and from when to when, as fractions of the year; NaN for
        never.
    negative_begin, negative_end, negative_depth
        When its readings have the wrong sign, as fractions, and how large they then are.
    stuck_begin, stuck_end
        When its logger repeats one reading.
    scale_begin, scale_end, scale_factor
        When its logger writes another scale, and which.
    sentinel
        What stands for missing readings; NaN where nothing does.
    """

    latitude: Array
    longitude: Array
    feeder: Whole
    surface_azimuth: Array
    surface_tilt: Array
    second_azimuth: Array
    second_tilt: Array
    first_share: Array
    dc_capacity_kw: Array
    dc_ac_ratio: Array
    losses: Array
    gamma_pdc: Array
    albedo: Array
    mount: Whole
    tracker: Whole
    axis_azimuth: Array
    backtrack: NDArray[np.bool_]
    gcr: Array
    max_angle: Array
    clock: Whole
    later_clock: Whole
    clock_step: Array
    noise: Array
    shade_azimuth: Array
    shade_width: Array
    shade_elevation: Array
    skyline: Skyline
    begin: Array
    end: Array
    soiling: Array
    degradation: Array
    age_years: Array
    snow_strings: Whole
    dead_share: Array
    dead_begin: Array
    dead_end: Array
    negative_begin: Array
    negative_end: Array
    negative_depth: Array
    stuck_begin: Array
    stuck_end: Array
    scale_begin: Array
    scale_end: Array
    scale_factor: Array
    sentinel: Array

    def __len__(self) -> int:
        return len(self.latitude)

    def rows(self, start: int, stop: int) -> SimulatedRoster:
        """Return the systems from ``start`` up to, and without, ``stop``."""
        return self.take(slice(start, stop))

    def take(self, rows: slice | Whole) -> SimulatedRoster:
        """Return the systems at ``rows``."""
        return SimulatedRoster(**{f.name: getattr(self, f.name)[rows] for f in fields(self)})

    def truth(self, row: int, *, cell: SimulatedCell, system_id: str = "one") -> SystemTruth:
        """Return one system as the rest of the simulator knows it, under the sky of its cell.

        Parameters
        ----------
        row
            Which system.
        cell
            The cell it stands in.
        system_id
            What to call it.
        """
        first = Plane(float(self.surface_azimuth[row]), float(self.surface_tilt[row]))
        share = float(self.first_share[row])
        planes: tuple[tuple[Plane, float], ...] = ((first, share),)
        if share < 1.0:
            second = Plane(float(self.second_azimuth[row]), float(self.second_tilt[row]))
            planes = (*planes, (second, 1.0 - share))
        return SystemTruth(
            system_id=system_id,
            site=cell.site,
            planes=planes,
            dc_capacity_kw=float(self.dc_capacity_kw[row]),
            dc_ac_ratio=float(self.dc_ac_ratio[row]),
            losses=Losses(system=float(self.losses[row]), gamma_pdc=float(self.gamma_pdc[row])),
            albedo=float(self.albedo[row]),
            mount=MOUNTS[self.mount[row]],
            tracker=self.tracker_of(row),
            timezone=cell.timezone,
        )

    def tracker_of(self, row: int) -> Tracker | None:
        """Return what turns one system, if anything does."""
        if self.tracker[row] != SINGLE_AXIS:
            return Tracker(dual_axis=True) if self.tracker[row] == TWO_AXES else None
        return Tracker(
            backtrack=bool(self.backtrack[row]),
            axis_azimuth=float(self.axis_azimuth[row]),
            max_angle=float(self.max_angle[row]),
            gcr=float(self.gcr[row]),
        )

    def horizon(self, row: int) -> Horizon | None:
        """Return what hides the sun from one system, if anything does."""
        skyline = self.skyline[row].astype(np.float64)
        if not skyline.any():
            return None

        def horizon(azimuth: Array) -> Array:
            return np.asarray(skyline[sectors_of(azimuth)])

        return horizon


def draw_roster(
    cell: SimulatedCell, rates: FaultRates, *, rng: np.random.Generator
) -> SimulatedRoster:
    """Return the systems of a cell, drawn like a real fleet's.

    Planes, capacities, ratios and mounts are drawn as :func:`~sunveil.simulate.draw_systems`
    does; south of the equator the planes are turned to face it.

    Parameters
    ----------
    cell
        The cell, with how many systems it has.
    rates
        How often systems have faults, second planes and trackers.
    rng
        Source of randomness.
    """
    n = cell.systems
    # what real records have besides is drawn apart: a plain fleet's systems stay what they were
    apart, mounting = rng.spawn(2)
    commercial = rng.random(n) < cell.statistics.commercial
    latitude, longitude = _scatter(rng, cell.site, n)
    azimuth, tilt = _draw_planes(rng, cell.statistics, n)
    if cell.site.latitude < 0.0:
        azimuth = np.mod(180.0 - azimuth, 360.0)
    turns, two_axes = rng.random(n) < rates.trackers, rng.random(n) < DUAL_AXIS
    tracker = np.where(turns, np.where(two_axes, TWO_AXES, SINGLE_AXIS), FIXED)
    turn, share = _draw_second(rng, rates, n)
    turn, share = np.where(turns, np.nan, turn), np.where(turns, 1.0, share)
    azimuth = np.where(turn == HALF_TURN, ridge_azimuths(mounting, azimuth), azimuth)
    second_azimuth, second_tilt = second_planes(mounting, azimuth, tilt, turn=turn)
    ratio = np.where(
        rng.random(n) < rates.oversized, rng.uniform(1.4, 1.8, n), rng.uniform(1.0, 1.3, n)
    )
    roof = (rng.random(n) < np.where(commercial, 0.3, 0.75)) & ~turns
    begin, end = _draw_spans(rng, rates, n)
    usual = Losses().system - mean_wear(rates)
    south = cell.site.latitude < 0.0
    return SimulatedRoster(
        latitude=latitude,
        longitude=longitude,
        feeder=rng.integers(0, 1 + n // FEEDER_SYSTEMS, n),
        surface_azimuth=azimuth,
        surface_tilt=tilt,
        second_azimuth=second_azimuth,
        second_tilt=second_tilt,
        first_share=share,
        dc_capacity_kw=_draw_capacities(rng, cell.statistics, commercial=commercial),
        dc_ac_ratio=ratio,
        losses=np.clip(usual + rates.loss_spread * rng.standard_normal(n), -0.15, 0.4),
        gamma_pdc=np.clip(rng.normal(-0.0040, 0.0004, n), -0.0055, -0.0025),
        albedo=rng.uniform(0.15, 0.25, n),
        mount=np.where(roof, MOUNTS.index(Mount.ROOF), MOUNTS.index(Mount.RACK)),
        tracker=tracker,
        **draw_trackers(mounting, n),
        **draw_clock_steps(
            apart, rates, draw_clocks(rng, rates, n, saves_daylight=cell.saves_daylight)
        ),
        noise=np.clip(rates.noise * np.exp(rates.noise_spread * rng.standard_normal(n)), 0.0, 0.1),
        **_draw_shade(rng, apart, rates, n, south=south),
        begin=begin,
        end=end,
        **draw_wear(apart, rates, n),
        **draw_logger_faults(apart, rates, n),
    )


def _scatter(rng: np.random.Generator, site: Site, n: int) -> tuple[Array, Array]:
    # short of the cell's edge, so that rounding never moves a system into the next one
    latitude = np.clip(site.latitude + rng.uniform(-0.0499, 0.0499, n), -90.0, 90.0)
    longitude = np.clip(site.longitude + rng.uniform(-0.0499, 0.0499, n), -180.0, 180.0)
    return np.round(latitude, 5), np.round(longitude, 5)


def _draw_planes(
    rng: np.random.Generator, statistics: FleetStatistics, n: int
) -> tuple[Array, Array]:
    weights = np.array(statistics.azimuths)
    centre = 45.0 * rng.choice(len(weights), size=n, p=weights / weights.sum())
    spread = statistics.bin_spread
    within = rng.uniform(-22.5, 22.5, n) if spread is None else spread * rng.standard_normal(n)
    weights = np.array(statistics.tilts)
    band = rng.choice(len(weights), size=n, p=weights / weights.sum())
    edges = np.array(TILT_EDGES)
    return np.mod(centre + within, 360.0), rng.uniform(edges[band], edges[band + 1])


def _draw_capacities(
    rng: np.random.Generator, statistics: FleetStatistics, *, commercial: NDArray[np.bool_]
) -> Array:
    n = len(commercial)
    large = np.exp(rng.uniform(np.log(20.0), np.log(1000.0), n))
    home = statistics.median_kw * np.exp(statistics.spread * rng.standard_normal(n))
    return np.where(commercial, large, np.clip(home, 1.0, statistics.largest_home_kw))


def _draw_second(rng: np.random.Generator, rates: FaultRates, n: int) -> tuple[Array, Array]:
    """Return how second planes are turned, NaN for none, and the share of the first."""
    kind = rng.random(n)
    corner = np.where(rng.random(n) < 0.5, 90.0, -90.0)
    both = rates.east_west + rates.hipped
    turn = np.where(kind < rates.east_west, HALF_TURN, np.where(kind < both, corner, np.nan))
    share = np.where(np.isnan(turn), 1.0, rng.uniform(*LARGER_SHARE, n))
    return turn, share


def _draw_shade(
    rng: np.random.Generator,
    apart: np.random.Generator,
    rates: FaultRates,
    n: int,
    *,
    south: bool,
) -> dict[str, Any]:
    shaded = rng.random(n) < rates.shaded
    middle = np.mod(rng.uniform(80.0, 280.0, n) + (180.0 if south else 0.0), 360.0)
    drawn = {
        "shade_azimuth": middle,
        "shade_width": rng.uniform(20.0, 110.0, n),
        "shade_elevation": rng.uniform(10.0, 40.0, n),
    }
    shade = {name: np.where(shaded, values, np.nan) for name, values in drawn.items()}
    around = draw_skylines(apart, rates.skylines, n)
    return {**shade, "skyline": np.maximum(around, box_skyline(*shade.values()))}


def _draw_spans(rng: np.random.Generator, rates: FaultRates, n: int) -> tuple[Array, Array]:
    kind = rng.random(n)
    late = np.where(kind < rates.late, rng.random(n), 0.0)
    length = rng.uniform(4.0, 40.0, n) / 365.0
    short = (kind >= rates.late) & (kind < rates.late + rates.short)
    begin = np.where(short, rng.random(n) * (1.0 - length), late)
    # whoever begins in the last days still has a day
    begin = np.minimum(begin, 364.0 / 365.0)
    return begin, np.where(short, begin + length, 1.0)
