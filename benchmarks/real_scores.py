"""What Sunveil and its peers say of real systems, against their labels.

:func:`answers` runs them, :func:`errors` and :func:`coverage` judge what came out. Everything is
under a clear sky alone: no weather, no mount, no clock is given that a source does not state.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks import real
from benchmarks.measure import turned, wedge_holds, wedge_width
from benchmarks.peers_apart import PeerResult, clear_days, solar_data_tools
from benchmarks.real_case import QUANTITIES
from sunveil.engine.clock_faults import repaired
from sunveil.errors import SunveilError
from sunveil.estimates.estimates_table import Estimate
from sunveil.estimates.intervals_and_rounding import Interval
from sunveil.inference.infer import infer
from sunveil.meters import from_pandas
from sunveil.meters.record import Label, Record

SUNVEIL = "Sunveil"
DECLARED = "pvanalytics, clock as declared"
REPAIRED = "pvanalytics, Sunveil's clock"
TOOLS = "solar-data-tools"
# The systems whose errors are averaged, and those under smog; others are shown beside them.
SEEN = ("serf_east", "serf_dst", "garage", "sanyo", "fsec", "nist_ground", "vermont", "stanford")
SEEN += ("almeria", "turin", "utrecht", "heggelbach")
# Labels that first and last light contradict: docs/measured.md has the evidence.
DOUBTFUL_LABELS = ("serf_east", "serf_dst")
SMOG = ("pvod_01", "pvod_05", "pvod_07")
PEERS = (DECLARED, REPAIRED, TOOLS)


@dataclass(frozen=True, slots=True, eq=False)
class RealAnswer:
    """What the tools say of one real system.

    Parameters
    ----------
    case
        The system.
    estimate
        Sunveil's, None where it refused.
    refusal
        Why it refused, empty where it did not.
    peers
        The peers' answers by the names of ``PEERS``; empty where they were not asked.
    """

    case: real.RealCase
    estimate: Estimate | None
    refusal: str = ""
    peers: dict[str, PeerResult] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Coverage:
    """How often 90% intervals held the labels of one quantity.

    Parameters
    ----------
    held, count
        Intervals that held their label, and intervals with a label that counts.
    median_width
        From low to high; for capacities relative to the estimate. [degrees, degrees, %]
    """

    held: int
    count: int
    median_width: float


def answers(
    cases: Iterable[real.RealCase], peers: Iterable[str] = PEERS, *, cache: Path | None = None
) -> Iterator[RealAnswer]:
    """Yield what the tools say of each case.

    Parameters
    ----------
    cases
        The systems.
    peers
        Which of ``PEERS`` to ask. None is asked about systems without a labelled plane.
    cache
        A folder to keep their answers in.
    """
    for case in cases:
        record, found, refusal = None, None, ""
        try:
            record = from_pandas(case.power, system_id=case.name, label=case.label, power_unit="kW")
            found = infer(record, **_place(case))
        except SunveilError as error:
            refusal = str(error)
        moved = None if found is None else _moved(case, record, found)
        asked = set(peers) if case.tilt is not None else set()
        yield RealAnswer(case, found, refusal, ask_peers(case, moved, asked, cache))


def ask_peers(
    case: real.RealCase, moved: pd.Series | None, peers: Container[str], cache: Path | None
) -> dict[str, PeerResult]:
    """Return what peers say: pvanalytics on the declared clock and on the one that was found.

    Parameters
    ----------
    case
        The system. Where no source says what its stamps name, the peers take the middle of short
        intervals and the start of others, as Sunveil does.
    moved
        Its readings on the clock that Sunveil found, stamped at their starts; None where that is
        the declared one.
    peers
        Which of ``PEERS`` to ask.
    cache
        A folder to keep answers in.
    """
    label = Label.MIDDLE if case.interval_minutes < 30.0 else Label.START
    label = label if case.label == "auto" else Label(case.label)
    ways = {
        DECLARED: (clear_days, case.power, label),
        REPAIRED: (clear_days, moved, Label.START),
        TOOLS: (solar_data_tools, case.power, label),
    }
    said = {
        name: ask(power, case.site, label=named, cache=cache)
        for name, (ask, power, named) in ways.items()
        if name in peers and power is not None
    }
    if moved is None and DECLARED in said:
        said[REPAIRED] = said[DECLARED]
    return said


def errors(answer: RealAnswer, tool: str = SUNVEIL) -> dict[str, float]:
    """Return a tool's signed errors of azimuth and tilt [degrees] and capacity [%], where labelled.

    Peers have none of capacity: pvanalytics gives none, and that of solar-data-tools is the highest
    power, not the modules'.
    """
    case, found = answer.case, answer.estimate
    if tool == SUNVEIL:
        if found is None:
            return {}
        plane = (found.surface_azimuth, found.surface_tilt)
    else:
        its = answer.peers.get(tool, PeerResult())
        plane = (its.azimuth, its.tilt)
    out = {}
    if case.azimuth is not None and math.isfinite(plane[0]):
        out["azimuth"] = turned(plane[0], case.azimuth)
    if case.tilt is not None and math.isfinite(plane[1]):
        out["tilt"] = plane[1] - case.tilt
    if case.dc_kw is not None and tool == SUNVEIL and found is not None:
        out["capacity"] = 100.0 * (found.dc_capacity_kw / case.dc_kw - 1.0)
    return out


def counted(answered: Iterable[RealAnswer], tool: str, quantity: str) -> np.ndarray:
    """Return a tool's absolute errors of one quantity over the systems whose label counts."""
    found = (errors(one, tool).get(quantity) for one in answered if quantity in one.case.counts)
    return np.abs(np.array([error for error in found if error is not None], dtype=float))


def held(case: real.RealCase, estimate: Estimate) -> dict[str, bool]:
    """Tell for each quantity with a label whether its 90% interval holds it."""
    out = {}
    if case.azimuth is not None:
        out["azimuth"] = wedge_holds(estimate.azimuth_interval, case.azimuth)
    if case.tilt is not None:
        out["tilt"] = _within(case.tilt, estimate.tilt_interval)
    if case.dc_kw is not None:
        out["capacity"] = _within(case.dc_kw, estimate.capacity_interval)
    return out


def coverage(
    estimates: Sequence[Estimate | None], cases: Sequence[real.RealCase]
) -> dict[str, Coverage]:
    """Return how often the 90% intervals held the labels that count, by quantity.

    Parameters
    ----------
    estimates
        One for each case, in the same order; None where there is none, which then does not count.
    cases
        The systems with their labels.
    """
    pairs = [(one, case) for one, case in zip(estimates, cases, strict=True) if one is not None]
    out = {}
    for quantity in QUANTITIES:
        judged = [(one, case) for one, case in pairs if quantity in case.counts]
        kept = [held(case, one)[quantity] for one, case in judged]
        widths = [_width(one, quantity) for one, _ in judged]
        middle = float(np.median(widths)) if widths else math.nan
        out[quantity] = Coverage(sum(kept), len(kept), middle)
    return out


def _width(estimate: Estimate, quantity: str) -> float:
    if quantity == "azimuth":
        return wedge_width(estimate.azimuth_interval)
    if quantity == "tilt":
        return estimate.tilt_interval.width
    return 100.0 * estimate.capacity_interval.width / estimate.dc_capacity_kw


def _within(value: float, interval: Interval) -> bool:
    return interval.low <= value <= interval.high


def _place(case: real.RealCase) -> dict[str, float | None]:
    site = case.site
    return {"latitude": site.latitude, "longitude": site.longitude, "altitude": site.altitude}


def _moved(case: real.RealCase, record: Record, found: Estimate) -> pd.Series | None:
    """Return the readings on the clock that was found, None where it is the declared one."""
    moved = repaired(record, found, case.site)
    if np.array_equal(moved.times, record.times):
        return None
    index = pd.DatetimeIndex(moved.times, tz="UTC").tz_convert(case.power.index.tz)
    return pd.Series(moved.power_kw, index=index)
