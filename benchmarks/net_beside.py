"""Beside the accuracy of net meters: what others make of the same homes, and what it costs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks import net_separation, net_simulated
from benchmarks.net_answers import (
    CODE,
    NetAnswer,
    Told,
    clipped_series,
    infer_gross,
    kept,
)
from benchmarks.net_scores import net_errors
from benchmarks.net_systems import ENOUGH_EXPORT, SEED, KnownNet, homes
from benchmarks.peers import fit_pvwatts
from benchmarks.peers_apart import PeerResult, clear_days
from benchmarks.planes_scores import half_and_tail
from benchmarks.real_case import fixed_offset
from sunveil.engine import infer_net_block, make_sky_table
from sunveil.fleet.blocks import grid_of, on_grid
from sunveil.inference.infer import infer, separate
from sunveil.meters import from_pandas
from sunveil.simulate import draw_systems, simulate_power, simulate_sky
from sunveil.site import Array, Site

COST_SITE, COST_ZONE = Site(39.74, -105.18, 1800.0), "America/Denver"
# The homes' clock in winter. [h]
STANDARD = -8.0
BLOCK = 64
Way = Callable[[KnownNet], NetAnswer]
COST_BAR = 200.0
BESIDE_HEAD = (
    "| method | meters | failed | azimuth [°] | tilt [°] | capacity [%] |"
    "\n|---|---|---|---|---|---|"
)


def beside_part(told: Sequence[Told], *, folder: Path | None) -> Iterator[str]:
    """Yield what Sunveil and others make of the same homes.

    Parameters
    ----------
    told
        Real homes with what Sunveil tells of their net meters.
    folder
        Where answers are kept.
    """
    enough = [one for one in told if one[0].exporting >= ENOUGH_EXPORT]
    systems = [one for one, _ in enough]
    yield f"{len(systems)} real homes with export in at least {ENOUGH_EXPORT:.0%} of daylight."
    yield ""
    yield BESIDE_HEAD
    yield _row("Sunveil, net", enough)
    ways: dict[str, Way] = {
        "Sunveil's engine for gross meters, net clipped at zero": _gross,
        "pvanalytics, net clipped at zero, its own clear days": _clear_days,
        "pvanalytics, net clipped at zero, hours near the highest": _high_hours,
        "separation by context, the other homes' PV metered": _beside_neighbours,
        "separation by context, a clear sky alone": _under_clear_sky,
    }
    for name, ask in ways.items():
        yield _row(name, _each(systems, ask, folder))


def neighbours(system: KnownNet) -> Array:
    """Return the metered PV of all homes but the one that a meter stands for."""
    own = system.name.partition(" ")[0]
    index = system.net.index
    return np.column_stack(
        [case.power.reindex(index).fillna(0.0) for name, case in homes().items() if name != own]
    )


def _each(systems: Sequence[KnownNet], ask: Way, folder: Path | None) -> list[Told]:
    """Return systems with what a method says of each, kept by the code that it comes of."""
    own = b"".join(Path(each).read_bytes() for each in (__file__, net_separation.__file__))
    # what the peers say does not change with Sunveil's engine
    code = b"peer" if ask in (_clear_days, _high_hours) else CODE + own
    said = []
    for one in systems:
        given = [one.net.to_numpy(), repr(one.site), ask.__name__]
        said.append((one, kept(folder, given, partial(ask, one), code=code)))
    return said


def _gross(system: KnownNet) -> NetAnswer:
    return infer_gross(clipped_series(system), system.site)


def _clear_days(system: KnownNet) -> NetAnswer:
    # its rule for clear days needs a clock without daylight saving
    power = clipped_series(system).tz_convert(fixed_offset(STANDARD))
    return _peer(clear_days(power, system.site))


def _high_hours(system: KnownNet) -> NetAnswer:
    return _peer(fit_pvwatts(clipped_series(system), system.site))


def _peer(found: PeerResult) -> NetAnswer:
    if not math.isfinite(found.azimuth):
        return NetAnswer()
    return NetAnswer(found.azimuth, float(np.clip(found.tilt, 0.0, 90.0)), quality="fair")


def _beside_neighbours(system: KnownNet) -> NetAnswer:
    return _separated(system, neighbours(system))


def _under_clear_sky(system: KnownNet) -> NetAnswer:
    return _separated(system, net_separation.clear_sky_features(system.net, system.site))


def _separated(system: KnownNet, features: Array) -> NetAnswer:
    made = net_separation.separate_by_context(system.net, system.site, features)
    return infer_gross(made, system.site)


def _row(name: str, told: Sequence[Told]) -> str:
    errors = [each for one in told if (each := net_errors(*one)) is not None]
    cells = [
        half_and_tail([getattr(each, quantity) for each in errors], 1)
        for quantity in ("azimuth", "tilt", "capacity")
    ]
    return f"| {name} | {len(told)} | {len(told) - len(errors)} | {' | '.join(cells)} |"


def apart_part(systems: Sequence[KnownNet]) -> Iterator[str]:
    """Yield how far the generation that is told from the load is from what was metered.

    Parameters
    ----------
    systems
        Real homes, with PV and load metered apart.
    """
    yield "Over daylight; hourly errors in percent of the capacity. Bands are 90% ones."
    yield ""
    yield "| method | homes | year's generation [%] | hourly error [%] | band holds [%] |"
    yield "|---|---|---|---|---|"
    ours = [_apart(one, *_told_apart(one)) for one in systems]
    yield _apart_row("Sunveil, net", ours)
    theirs = [
        _apart(one, net_separation.separate_by_context(one.net, one.site, neighbours(one)))
        for one in systems
    ]
    yield _apart_row("separation by context, the other homes' PV metered", theirs)


def _told_apart(system: KnownNet) -> tuple[pd.Series, pd.Series, pd.Series]:
    """Return the generation that Sunveil tells of a meter, and its band. [kW]"""
    where = {"latitude": system.site.latitude, "longitude": system.site.longitude}
    record = from_pandas(system.net, system_id="one", label="start", net=True, power_unit="kW")
    found = separate(record, infer(record, **where), **where)
    names = ("generation_kw", "generation_low_kw", "generation_high_kw")
    return tuple(found[name] for name in names)


def _apart(system: KnownNet, made: pd.Series, *band: pd.Series) -> tuple[float, float, float]:
    """Return the errors of the year's and of hourly generation, and how often a band holds. [%]"""
    true = system.generation.tz_convert("UTC").rename("true").to_frame()
    parts = [each.tz_convert("UTC").rename(str(n)) for n, each in enumerate((made, *band))]
    both = true.join(parts, how="inner")
    both = both[both["true"] > 0.0]
    year = abs(100.0 * (both["0"].sum() / both["true"].sum() - 1.0))
    hourly = 100.0 * (both["0"] - both["true"]).abs().mean() / system.dc_capacity_kw
    if not band:
        return year, hourly, math.nan
    holds = (both["1"] <= both["true"]) & (both["true"] <= both["2"])
    return year, hourly, 100.0 * float(holds.mean())


def _apart_row(name: str, errors: Sequence[tuple[float, float, float]]) -> str:
    year, hourly, holds = zip(*errors, strict=True)
    held = "-" if math.isnan(holds[0]) else f"{np.median(holds):.0f}"
    cells = [half_and_tail(year, 1), half_and_tail(hourly, 1), held]
    return f"| {name} | {len(errors)} | {' | '.join(cells)} |"


def cost() -> float:
    """Return what a system costs in a block of a fleet under one sky, an hourly year. [ms]"""
    sky = simulate_sky(COST_SITE, net_simulated.YEAR, seed=SEED, step_minutes=15)
    records = []
    for place, one in enumerate(draw_systems(BLOCK, seed=SEED)):
        truth = net_simulated.roof(one)
        truth = replace(truth, site=COST_SITE, timezone=COST_ZONE)
        net = net_simulated.home(truth, simulate_power(truth, sky, seed=place), place).net
        records.append(from_pandas(net, system_id="cost", label="start", net=True, power_unit="kW"))
    grid = grid_of(records[0])
    power, table = on_grid(records, grid), make_sky_table(COST_SITE, grid)
    infer_net_block(power[:2], table, timezone=COST_ZONE)
    began = time.process_time()
    infer_net_block(power, table, timezone=COST_ZONE)
    return 1e3 * (time.process_time() - began) / BLOCK


def cost_part(spent: float) -> Iterator[str]:
    """Yield what a system costs."""
    yield f"CPU a system in a block of {BLOCK} under one sky, an hourly year."
    yield ""
    yield "| meters | CPU [ms] | bar [ms] |"
    yield "|---|---|---|"
    yield f"| net | {spent:.0f} | {COST_BAR:.0f} |"
