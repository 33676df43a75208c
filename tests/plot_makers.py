"""A roof under skies that are always clear, for the tests of figures and reports."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np

from sunveil.estimates import (
    Assumptions,
    ClockFinding,
    Estimate,
    Flag,
    HouseholdEstimate,
    Interval,
    PlaneEstimate,
    TrackerEstimate,
)
from sunveil.fleet.blocks import record_span
from sunveil.meters import Label, Record
from sunveil.pv_model import ac_power, sky_at
from sunveil.simulate import SystemTruth
from sunveil.site import Losses, Plane, Site
from sunveil.weather import Weather, clearsky

GOLDEN = Site(39.742, -105.1727, 1795.0)
ROOF = Plane(200.0, 30.0)
EAST, WEST = Plane(92.0, 31.0), Plane(271.0, 30.0)
CAPACITY = 5.0


@functools.cache
def sunny(days: int = 360) -> tuple[Record, Weather]:
    """Half-hourly readings of a roof under skies that are always clear, and those skies."""
    times = np.datetime64("2019-01-03T00:00", "s") + np.arange(days * 48) * np.timedelta64(
        1800, "s"
    )
    record = Record("roof", times, np.zeros(len(times)), 30.0, "UTC-07:00")
    weather = clearsky(GOLDEN, *record_span(record))
    sky = sky_at(weather, record.middles)
    power = ac_power(sky.hazier(-0.2), ROOF.normal.reshape(1, 3), heat=1.25)[0]
    return replace(record, power_kw=CAPACITY * power), weather


def estimate_of(plane: Plane = ROOF, **changes: object) -> Estimate:
    azimuth, tilt = plane.surface_azimuth, plane.surface_tilt
    made = Estimate.of(
        system_id="roof",
        plane=plane,
        dc_capacity_kw=CAPACITY,
        azimuth_interval=Interval((azimuth - 4.0) % 360.0, (azimuth + 4.0) % 360.0),
        tilt_interval=Interval(max(tilt - 2.0, 0.0), tilt + 2.0),
        capacity_interval=Interval(4.7, 5.3),
        plane_error_degrees=3.0,
        ac_limit_kw=None,
        clock=ClockFinding(0.0, Label.START),
        agreement=0.9,
        flags=(),
        assumptions=Assumptions(Losses(), 0.2, "perez-driesse", "clearsky", "default"),
    )
    return made.replaced(**changes)


def pair_of(
    first: Plane = EAST, second: Plane = WEST, *, share: float = 0.6, **changes: object
) -> Estimate:
    """Two planes as an engine would give them, with the summed normal as the effective plane."""
    planes = tuple(
        PlaneEstimate(
            surface_azimuth=plane.surface_azimuth,
            surface_tilt=plane.surface_tilt,
            share=part,
            dc_capacity_kw=part * CAPACITY,
            azimuth_interval=Interval(plane.surface_azimuth - 5.0, plane.surface_azimuth + 5.0),
            tilt_interval=Interval(plane.surface_tilt - 3.0, plane.surface_tilt + 3.0),
            share_interval=Interval(part - 0.05, part + 0.05),
            capacity_interval=Interval(part * 4.6, part * 5.4),
        )
        for plane, part in ((first, share), (second, 1.0 - share))
    )
    east, north, up = share * first.normal + (1.0 - share) * second.normal
    azimuth = np.degrees(np.arctan2(east, north)) % 360.0
    summed = Plane(float(azimuth), float(np.degrees(np.arctan2(np.hypot(east, north), up))))
    flags = (Flag.TWO_PLANES,)
    return estimate_of(summed, **{"planes": planes, "flags": flags, **changes})


def tracker_of(**changes: object) -> Estimate:
    """A backtracking tracker with an axis that points nearly south."""
    turned = TrackerEstimate(
        axis_azimuth=178.0,
        backtrack=True,
        backtrack_probability=0.97,
        gcr=0.38,
        max_angle=55.0,
        axis_interval=Interval(176.5, 179.5),
        gcr_interval=Interval(0.33, 0.43),
        max_angle_interval=Interval(45.0, 60.0),
    )
    flags = (Flag.TRACKER,)
    return estimate_of(Plane(178.0, 0.0), **{"tracker": turned, "flags": flags, **changes})


# A load that rises in the evening, less in the middle of the year. [kW]
LOADS = tuple(
    tuple(level * (1.8 if 17 <= hour < 22 else 1.0) for hour in range(24))
    for level in (0.6, 0.4, 0.3, 0.5)
)


@functools.cache
def net_sunny() -> tuple[Record, Weather]:
    """The roof of :func:`sunny` behind a net meter: less its household's usual load, jittered."""
    record, weather = sunny()
    local = record.times.astype("M8[h]") - np.timedelta64(7, "h")
    month = local.astype("M8[M]").astype(np.int64) % 12 + 1
    load = np.array(LOADS)[month % 12 // 3, local.astype(np.int64) % 24]
    load *= np.random.default_rng(6).lognormal(-0.02, 0.2, len(load))
    return replace(record, power_kw=record.power_kw - load, net=True), weather


def net_of(**changes: object) -> Estimate:
    """A net meter whose household is known as it is."""
    home = HouseholdEstimate(0.525, 0.31, 0.85, LOADS)
    return estimate_of(**{"household": home, "flags": (Flag.NET_METER,), **changes})


def truth_of(plane: Plane = ROOF, **changes: object) -> SystemTruth:
    made = SystemTruth("roof", GOLDEN, ((plane, 1.0),), CAPACITY)
    return replace(made, **changes)  # type: ignore[arg-type]
