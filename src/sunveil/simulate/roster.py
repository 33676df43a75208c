"""The systems of a cell, drawn together: one array for each of their properties."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil.simulate.fault_rates import FaultRates, SimulatedClock
from sunveil.simulate.places import SimulatedCell
from sunveil.simulate.power import Horizon
from sunveil.simulate.stamps import CLOCKS
from sunveil.simulate.systems import (
    SAPM_MOUNTS,
    TILT_EDGES,
    FleetStatistics,
    SystemTruth,
    Tracker,
)
from sunveil.site import Array, Losses, Mount, Plane, Site

MOUNTS = tuple(SAPM_MOUNTS)
TRACKERS = (None, Tracker(), Tracker(dual_axis=True))
TRACKER_NAMES = ("none", "single_axis", "dual_axis")
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
    mount, tracker, clock
        Places in ``MOUNTS``, ``TRACKERS`` and ``CLOCKS``.
    noise
        Standard deviation of the relative error of its readings.
    shade_azimuth, shade_width, shade_elevation
        Middle, width and height of what hides the sun; NaN where nothing does. [degrees]
    begin, end
        Where its record begins and ends within the year, as fractions.
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
    clock: Whole
    noise: Array
    shade_azimuth: Array
    shade_width: Array
    shade_elevation: Array
    begin: Array
    end: Array

    def __len__(self) -> int:
        return len(self.latitude)

    def rows(self, start: int, stop: int) -> SimulatedRoster:
        """Return the systems from ``start`` up to, and without, ``stop``."""
        return SimulatedRoster(**{f.name: getattr(self, f.name)[start:stop] for f in fields(self)})

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
            tracker=TRACKERS[self.tracker[row]],
            timezone=cell.timezone,
        )

    def horizon(self, row: int) -> Horizon | None:
        """Return what hides the sun from one system, if anything does."""
        middle, height = self.shade_azimuth[row], self.shade_elevation[row]
        if np.isnan(middle):
            return None
        reach = np.cos(np.radians(self.shade_width[row] / 2.0))

        def horizon(azimuth: Array) -> Array:
            return np.where(np.cos(np.radians(azimuth - middle)) >= reach, height, 0.0)

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
    commercial = rng.random(n) < cell.statistics.commercial
    latitude, longitude = _scatter(rng, cell.site, n)
    azimuth, tilt = _draw_planes(rng, cell.statistics, n)
    if cell.site.latitude < 0.0:
        azimuth = np.mod(180.0 - azimuth, 360.0)
    tracker = np.where(rng.random(n) < rates.trackers, 1 + (rng.random(n) < 0.2), 0)
    second, share = _draw_second(rng, rates, azimuth)
    ratio = np.where(
        rng.random(n) < rates.oversized, rng.uniform(1.4, 1.8, n), rng.uniform(1.0, 1.3, n)
    )
    roof = (rng.random(n) < np.where(commercial, 0.3, 0.75)) & (tracker == 0)
    begin, end = _draw_spans(rng, rates, n)
    return SimulatedRoster(
        latitude=latitude,
        longitude=longitude,
        feeder=rng.integers(0, 1 + n // FEEDER_SYSTEMS, n),
        surface_azimuth=azimuth,
        surface_tilt=tilt,
        second_azimuth=np.where(tracker == 0, second, np.nan),
        second_tilt=np.where((tracker == 0) & ~np.isnan(second), tilt, np.nan),
        first_share=np.where(tracker == 0, share, 1.0),
        dc_capacity_kw=_draw_capacities(rng, cell.statistics, commercial=commercial),
        dc_ac_ratio=ratio,
        losses=np.clip(0.14 + rates.loss_spread * rng.standard_normal(n), 0.02, 0.4),
        gamma_pdc=np.clip(rng.normal(-0.0040, 0.0004, n), -0.0055, -0.0025),
        albedo=rng.uniform(0.15, 0.25, n),
        mount=np.where(roof, MOUNTS.index(Mount.ROOF), MOUNTS.index(Mount.RACK)),
        tracker=tracker,
        clock=_draw_clocks(rng, rates, n, saves_daylight=cell.saves_daylight),
        noise=np.clip(rates.noise * np.exp(rates.noise_spread * rng.standard_normal(n)), 0.0, 0.1),
        **_draw_shade(rng, rates, n, south=cell.site.latitude < 0.0),
        begin=begin,
        end=end,
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


def _draw_clocks(
    rng: np.random.Generator, rates: FaultRates, n: int, *, saves_daylight: bool
) -> Whole:
    drawn = rng.choice(len(CLOCKS), size=n, p=[rates.clocks[clock] for clock in CLOCKS])
    if not saves_daylight:
        right = CLOCKS.index(SimulatedClock.DECLARED)
        drawn[drawn == CLOCKS.index(SimulatedClock.DAYLIGHT_SAVING)] = right
    return np.asarray(drawn, dtype=np.int64)


def _draw_second(
    rng: np.random.Generator, rates: FaultRates, azimuth: Array
) -> tuple[Array, Array]:
    """Return the azimuth of second planes, NaN for none, and the share of the first."""
    n = len(azimuth)
    kind = rng.random(n)
    corner = np.where(rng.random(n) < 0.5, 90.0, -90.0)
    both = rates.east_west + rates.hipped
    turn = np.where(kind < rates.east_west, 180.0, np.where(kind < both, corner, np.nan))
    share = np.where(np.isnan(turn), 1.0, rng.uniform(0.5, 0.75, n))
    return np.mod(azimuth + turn, 360.0), share


def _draw_shade(
    rng: np.random.Generator, rates: FaultRates, n: int, *, south: bool
) -> dict[str, Any]:
    shaded = rng.random(n) < rates.shaded
    middle = np.mod(rng.uniform(80.0, 280.0, n) + (180.0 if south else 0.0), 360.0)
    drawn = {
        "shade_azimuth": middle,
        "shade_width": rng.uniform(20.0, 110.0, n),
        "shade_elevation": rng.uniform(10.0, 40.0, n),
    }
    return {name: np.where(shaded, values, np.nan) for name, values in drawn.items()}


def _draw_spans(rng: np.random.Generator, rates: FaultRates, n: int) -> tuple[Array, Array]:
    kind = rng.random(n)
    late = np.where(kind < rates.late, rng.random(n), 0.0)
    length = rng.uniform(4.0, 40.0, n) / 365.0
    short = (kind >= rates.late) & (kind < rates.late + rates.short)
    begin = np.where(short, rng.random(n) * (1.0 - length), late)
    # whoever begins in the last days still has a day
    begin = np.minimum(begin, 364.0 / 365.0)
    return begin, np.where(short, begin + length, 1.0)
