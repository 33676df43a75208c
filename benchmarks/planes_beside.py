"""Beside the accuracy of planes and trackers: cost in a fleet, the peers, private releases."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks.measure import turned
from benchmarks.peers_apart import PeerResult, clear_days, solar_data_tools
from benchmarks.planes_scores import half_and_tail, nearest_order, percentage
from benchmarks.planes_systems import SEED, Answer, KnownMounts, pairs, trackers
from sunveil.engine import infer_generation, make_sky_table
from sunveil.fleet.blocks import grid_of, on_grid, record_span
from sunveil.meters import from_pandas
from sunveil.privacy.guarantees import Days
from sunveil.releases.release import release
from sunveil.simulate import draw_systems, simulate_power, simulate_sky
from sunveil.site import Plane, Site
from sunveil.weather import get_weather

COST_SITE = Site(39.74, -105.18, 1800.0)
# Systems of a block, and times that it is inferred: what is compared runs in turns.
BLOCK, TURNS = 64, 5
COST_BARS = {"one plane": "", "two planes": "30 ms", "trackers": "60 ms"}
EPSILON = 1.0


def cost_part() -> Iterator[str]:
    """Yield what a system of each kind costs in a block of a fleet."""
    blocks = dict(zip(COST_BARS, _blocks(), strict=True))
    spent: dict[str, list[float]] = {name: [] for name in blocks}
    for _ in range(TURNS + 1):
        for name, (power, sky) in blocks.items():
            began = time.process_time()
            infer_generation(power, sky)
            spent[name].append(1e3 * (time.process_time() - began) / BLOCK)
    middle = {name: float(np.median(values[1:])) for name, values in spent.items()}
    yield f"CPU a system in blocks of {BLOCK} under one sky, an hourly year; medians of {TURNS}."
    yield ""
    yield "| systems | CPU [ms] | times one plane | bar |"
    yield "|---|---|---|---|"
    for name, value in middle.items():
        yield f"| {name} | {value:.1f} | {value / middle['one plane']:.1f} | {COST_BARS[name]} |"


def _blocks() -> Iterator[tuple[np.ndarray, object]]:
    """Yield the readings of single planes, of pairs and of trackers at one place, and its sky."""
    sky = simulate_sky(COST_SITE, 2019, seed=SEED, step_minutes=10)
    for change in (lambda one: one, pairs(seed=6), trackers(seed=7)):
        systems = [change(one) for one in draw_systems(BLOCK, seed=SEED)]
        series = [simulate_power(one, sky, seed=place) for place, one in enumerate(systems)]
        records = [
            from_pandas(one, system_id="cost", label="start", power_unit="kW") for one in series
        ]
        grid = grid_of(records[0])
        yield on_grid(records, grid), make_sky_table(COST_SITE, grid)


def peers_part(
    answers: Callable[[str], list[Answer]],
    sums: Callable[[], list[Answer]],
    *,
    count: int,
    cache: Path | None,
) -> Iterator[str]:
    """Yield how far the one plane of two peers is from the nearest of the two planes.

    Parameters
    ----------
    answers, sums
        Systems with Sunveil's estimates: simulated by name, and sums of real homes.
    count
        How many pairs the peers run; half as many with the slow one.
    cache
        A folder to keep their answers in.
    """
    yield "Azimuth [°]; of one plane, its distance from the nearest of the two."
    yield ""
    yield (
        "| systems | n | Sunveil, worse of two | Sunveil, nearest | pvanalytics, nearest"
        " | solar-data-tools, nearest |"
    )
    yield "|---|---|---|---|---|---|"
    for title, found in (("simulated pairs", answers("pairs")), ("sums of homes", sums())):
        apart = [one for one in found if one[0].apart >= 20.0]
        # spread over all of them, which stand place by place
        few = apart[:: max(1, len(apart) // count)][:count]
        ways = [(clear_days, few), (solar_data_tools, few[: max(1, len(few) // 2)])]
        said = [
            [(one, ask(one.power, one.site, cache=cache)) for one, _ in some] for ask, some in ways
        ]
        mine = [_sunveil(one, estimate) for one, estimate in few if estimate is not None]
        cells = [half_and_tail([each[place] for each in mine], 1) for place in (1, 0)]
        cells += [_peer_cell(each) for each in said]
        yield f"| {title} | {len(few)} | {' | '.join(cells)} |"


def _sunveil(system: KnownMounts, found) -> tuple[float, float]:
    """Return the errors of the nearer and of the worse azimuth."""
    told = [each.plane for each in found.planes] or [found.plane]
    told = told if len(told) == 2 else [told[0], told[0]]
    true = [plane for plane, _ in system.planes]
    order = nearest_order(told, true)
    errors = [
        abs(turned(told[place].surface_azimuth, plane.surface_azimuth))
        for place, plane in zip(order, true, strict=True)
    ]
    return min(errors), max(errors)


def _peer_cell(said: Sequence[tuple[KnownMounts, PeerResult]]) -> str:
    errors = [
        min(abs(turned(its.azimuth, plane.surface_azimuth)) for plane, _ in system.planes)
        for system, its in said
        if math.isfinite(its.azimuth)
    ]
    return f"{half_and_tail(errors, 1)} (n={len(said)}, {len(said) - len(errors)} failed)"


def private_part(answers: Callable[[str], list[Answer]], *, count: int) -> Iterator[str]:
    """Yield what releases tell of pairs and of single planes, for any one day and ε of 1.

    Each run draws anew, so that figures of few systems move.

    Parameters
    ----------
    answers
        Systems by the name of their set.
    count
        How many of each.
    """
    yield f"Any one day, ε = {EPSILON:g}."
    yield ""
    yield "| systems | n | number of planes right [%] | worse azimuth [°] | worse plane [°] |"
    yield "|---|---|---|---|---|"
    yield "| bar | | 85 | 7 / 25 | |"
    counted: list[bool] = []
    for name, planes in (("pairs", 2), ("singles", 1)):
        systems = [system for system, _ in answers(name)]
        few = systems[:: max(1, len(systems) // max(1, count))][: max(1, count)]
        told = [(one, _released(one)) for one in few]
        right = [len(each) == planes for _, each in told]
        errors = [_worst(*each) for each, known in zip(told, right, strict=True) if known]
        cells = [half_and_tail([each[place] for each in errors], 1) for place in (0, 1)]
        yield f"| {name} | {len(few)} | {percentage(right)} | {' | '.join(cells)} |"
        counted += right
    yield f"| both | {len(counted)} | {percentage(counted)} | | |"


def _released(system: KnownMounts) -> list[Plane]:
    """Return the planes that one release tells; none where it does not say how many there are."""
    record = from_pandas(
        system.power, system_id="one", label=system.label, cleaning="each", power_unit="kW"
    )
    weather = get_weather("clearsky", system.site, *record_span(record))
    found = release(record, weather, protect=Days(1), epsilon=EPSILON)
    return [Plane(each.surface_azimuth, each.surface_tilt) for each in getattr(found, "planes", ())]


def _worst(system: KnownMounts, told: Sequence[Plane]) -> tuple[float, float]:
    true = [plane for plane, _ in system.planes]
    order = nearest_order(told, true) if len(told) == 2 else (0,)
    both = [(told[place], plane) for place, plane in zip(order, true, strict=True)]
    azimuth = max(abs(turned(a.surface_azimuth, b.surface_azimuth)) for a, b in both)
    return azimuth, max(a.angle_to(b) for a, b in both)
