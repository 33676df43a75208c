"""Errors of inferences against truth, and tables of them."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchmarks import peers
from sunveil.estimates.estimates_table import Estimate
from sunveil.estimates.flags_and_quality import Flag
from sunveil.estimates.inference_options import InferOptions
from sunveil.estimates.intervals_and_rounding import Interval
from sunveil.fleet.blocks import record_span
from sunveil.inference.infer import infer_record
from sunveil.meters import from_pandas
from sunveil.meters.record import Label
from sunveil.site import Mount, Plane, Site
from sunveil.weather import Weather, get_weather


@dataclass(frozen=True, slots=True)
class Truth:
    """What a system really is."""

    azimuth: float
    tilt: float
    dc_kw: float | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one tool did on one system.

    Parameters
    ----------
    azimuth, tilt
        Signed errors. [degrees]
    capacity
        Signed error. [%]
    angle
        Angle between the true and the inferred plane. [degrees]
    cpu
        CPU time. [s]
    covered
        Whether the 90% intervals hold azimuth, tilt, capacity and plane.
    flags
        The flags raised.
    """

    azimuth: float
    tilt: float
    capacity: float
    angle: float
    cpu: float
    covered: tuple[bool, ...] = ()
    flags: tuple[Flag, ...] = ()


def turned(first: float, second: float) -> float:
    """Return the turn from the second azimuth to the first, in (-180, 180]. [degrees]"""
    return 180.0 - (180.0 - (first - second)) % 360.0


def wedge_width(wedge: Interval) -> float:
    """Return how wide an interval of azimuths is. [degrees]"""
    return 360.0 if wedge.high - wedge.low == 360.0 else (wedge.high - wedge.low) % 360.0


def wedge_holds(wedge: Interval, azimuth: float) -> bool:
    """Tell whether an interval of azimuths, which may pass north, holds one."""
    return (azimuth - wedge.low) % 360.0 <= wedge_width(wedge)


def ours(
    power: pd.Series,
    site: Site,
    truth: Truth,
    *,
    weather: object = "clearsky",
    label: str = "start",
    mount: Mount = Mount.UNKNOWN,
) -> Outcome:
    """Infer one system with Sunveil."""
    began = time.process_time()
    record = from_pandas(power, system_id="bench", label=label, power_unit="kW")
    there = get_weather(weather, site, *record_span(record))
    found = infer_record(record, there, options=InferOptions(mount=mount))
    cpu = time.process_time() - began
    return score(found, truth, cpu)


def score(found: Estimate, truth: Truth, cpu: float) -> Outcome:
    """Compare an estimate with the truth."""
    plane = Plane(truth.azimuth, truth.tilt)
    capacity = math.nan if truth.dc_kw is None else 100.0 * (found.dc_capacity_kw / truth.dc_kw - 1)
    return Outcome(
        azimuth=turned(found.surface_azimuth, truth.azimuth),
        tilt=found.surface_tilt - truth.tilt,
        capacity=capacity,
        angle=found.plane.angle_to(plane),
        cpu=cpu,
        covered=(
            wedge_holds(found.azimuth_interval, truth.azimuth),
            found.tilt_interval.low <= truth.tilt <= found.tilt_interval.high,
            truth.dc_kw is not None
            and found.capacity_interval.low <= truth.dc_kw <= found.capacity_interval.high,
            found.plane.angle_to(plane) <= found.plane_error_degrees,
        ),
        flags=found.flags,
    )


def theirs(result: peers.PeerResult, truth: Truth) -> Outcome:
    """Compare a peer's answer with the truth."""
    if not (math.isfinite(result.azimuth) and math.isfinite(result.tilt)):
        return Outcome(math.nan, math.nan, math.nan, math.nan, result.cpu_seconds)
    tilt = min(max(result.tilt, 0.0), 90.0)
    capacity = math.nan
    if truth.dc_kw is not None and math.isfinite(result.capacity_kw):
        capacity = 100.0 * (result.capacity_kw / truth.dc_kw - 1.0)
    plane = Plane(result.azimuth, tilt)
    return Outcome(
        azimuth=turned(result.azimuth, truth.azimuth),
        tilt=result.tilt - truth.tilt,
        capacity=capacity,
        angle=plane.angle_to(Plane(truth.azimuth, truth.tilt)),
        cpu=result.cpu_seconds,
    )


def run_peers(
    power: pd.Series,
    site: Site,
    truth: Truth,
    *,
    weather: Weather | pd.DataFrame | None = None,
    label: Label = Label.START,
    slow: bool = True,
) -> dict[str, Outcome]:
    """Run the peers on one system: pvanalytics, and solar-data-tools when there is time."""
    frame = weather.to_frame() if isinstance(weather, Weather) else weather
    out = {"pvanalytics": theirs(peers.fit_pvwatts(power, site, frame, label=label), truth)}
    if slow:
        out["solar-data-tools"] = theirs(peers.solar_data_tools(power, site, label=label), truth)
    return out


def middle(outcomes: Sequence[Outcome], name: str) -> float:
    """Return the median absolute error."""
    return float(np.nanmedian([abs(getattr(one, name)) for one in outcomes]))


def tail(outcomes: Sequence[Outcome], name: str) -> float:
    """Return the 95th percentile of the absolute error."""
    return float(np.nanquantile([abs(getattr(one, name)) for one in outcomes], 0.95))


def coverage(outcomes: Sequence[Outcome]) -> tuple[float, ...]:
    """Return how often the intervals of azimuth, tilt, capacity and plane held the truth. [%]"""
    return tuple(
        100.0 * float(np.mean(column))
        for column in zip(*(o.covered for o in outcomes), strict=True)
    )


def number(value: float, digits: int = 1) -> str:
    """Return a number for a table, a dash for none."""
    return "-" if math.isnan(value) else f"{value:.{digits}f}"
