"""What meters behind households see: generation less load, with batteries between the two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil.simulate.blocks import CellDaylight, Single, ac_power, read_clocks
from sunveil.simulate.fleet_spec import NetColumns
from sunveil.simulate.household_times import HouseholdTimes
from sunveil.simulate.households import CHARGING, KINDS, SimulatedHouseholds
from sunveil.simulate.loads import block_loads
from sunveil.simulate.loggers import add_logger_faults
from sunveil.simulate.outages import cut_records
from sunveil.simulate.roster import SimulatedRoster
from sunveil.simulate.stamps import Index
from sunveil.simulate.storage import balance
from sunveil.simulate.systems import FleetStatistics
from sunveil.site import Array, Losses

WATT = np.float32(1000.0)
_NOMINAL = Losses().inverter_efficiency


@dataclass(frozen=True, slots=True, eq=False)
class NetFlows:
    """What flows over the meters of some systems, without noise, and what it comes to.

    Parameters
    ----------
    exported, imported
        Mean power to the grid and from it in each interval, one row per system; both may be above
        zero in an interval. [kW]
    generated, used, sent
        Generation, load and export of each system over the year, in the mean. [kW]
    """

    exported: Single
    imported: Single
    generated: Array
    used: Array
    sent: Array


@dataclass(frozen=True, slots=True, eq=False)
class Generation:
    """What systems of a cell give, as long as nothing goes wrong with their meters.

    Parameters
    ----------
    roster, daylight
        The systems and their sky.
    dc, ac
        DC power at each daylight instant, as :func:`~sunveil.simulate.blocks.dc_power` gives it,
        and mean AC power in each interval. [kW]
    kept, clocks, per_reading
        As for :func:`~sunveil.simulate.blocks.block_power`.
    """

    roster: SimulatedRoster
    daylight: CellDaylight
    dc: Single
    ac: Single
    kept: Single
    clocks: tuple[Index, Index]
    per_reading: int

    def take(self, rows: NDArray[np.int64]) -> Generation:
        """Return the systems at ``rows``."""
        return replace(
            self,
            roster=self.roster.take(rows),
            dc=self.dc[rows],
            ac=self.ac[rows],
            kept=self.kept[rows],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Behind:
    """What stands behind the meters of systems of a cell.

    Parameters
    ----------
    households
        One for each system.
    times
        Their year.
    statistics
        How much homes of the place use.
    """

    households: SimulatedHouseholds
    times: HouseholdTimes
    statistics: FleetStatistics


def read_net_meters(
    power: Single,
    generation: Generation,
    behind: Behind,
    *,
    alive: Single,
    columns: NetColumns,
    rng: np.random.Generator,
) -> tuple[dict[str, Single], dict[str, NDArray[Any]]]:
    """Return the readings of systems some of whose meters see the net, and what is true of these.

    Parameters
    ----------
    power
        What generation meters say. [kW]
    generation
        The generation itself.
    behind
        What stands behind the meters.
    alive
        1, 0 where a system is down, NaN in gaps; shape of ``power``.
    columns
        How readings are written.
    rng
        Source of randomness.

    Returns
    -------
    readings, truth
        Columns of readings, one row per system, and columns of the table of what is true.
    """
    rows = np.flatnonzero(behind.households.net)
    households, given = behind.households.take(rows), generation.take(rows)
    loads, cooling = block_loads(households, behind.times, behind.statistics, rng=rng)
    flows = net_flows(given, loads, households, step_minutes=behind.times.step_minutes)
    lit = given.ac > 0.0
    over = np.sum(lit & (flows.exported > flows.imported), axis=1)
    exporting = over / np.maximum(np.sum(lit, axis=1), 1)
    truth = truth_of_net(behind.households, rows, flows, cooling=cooling, exporting=exporting)
    add_net_faults(flows, given, alive=alive[rows], rng=rng)
    return _written(power, rows, flows, columns), truth


def net_flows(
    generation: Generation, loads: Single, households: SimulatedHouseholds, *, step_minutes: int
) -> NetFlows:
    """Return what flows over the meters of systems and their households.

    Parameters
    ----------
    generation
        What the systems give.
    loads
        What their households use at each instant. [kW]
    households
        The households, with their batteries.
    step_minutes
        Spacing of the instants. [minutes]
    """
    roster, daylight = generation.roster, generation.daylight
    n, readings = generation.ac.shape
    exported, imported = (np.empty((n, readings), dtype=np.float32) for _ in range(2))
    sums = np.zeros((n, 3))
    capacity = households.battery_kwh * 60.0 / step_minutes
    batteries = [capacity, households.battery_kw, households.battery_efficiency]
    limits = (roster.dc_capacity_kw / roster.dc_ac_ratio).astype(np.float32)
    generated = np.zeros_like(loads)
    for row, dc, kept, limit in zip(generated, generation.dc, generation.kept, limits, strict=True):
        ac_power(row, dc, daylight.lit, daylight.days, kept, limit, _NOMINAL)
    balance(
        (exported, imported),
        sums,
        generated,
        loads,
        np.stack(batteries, axis=1).astype(np.float32),
        (*generation.clocks, read_clocks(roster, readings), generation.per_reading),
    )
    given, used, sent = sums.T / daylight.instants
    return NetFlows(exported, imported, given, used, sent)


def add_net_faults(
    flows: NetFlows,
    generation: Generation,
    *,
    alive: Single,
    rng: np.random.Generator,
) -> None:
    """Turn exact flows into what meters say, in place.

    Noise on each register, rounded to whole watts; where a system is down its household takes all
    from the grid; NaN where there is no reading; and what loggers make of these.

    Parameters
    ----------
    flows
        What flows, one row per system.
    generation
        What the systems give.
    alive
        1, 0 where a system is down, NaN in gaps.
    rng
        Source of randomness.
    """
    roster, down = generation.roster, alive == 0.0
    missing = np.maximum(flows.imported + generation.ac - flows.exported, np.float32(0.0))
    flows.imported[down] = missing[down]
    flows.exported[down] = 0.0
    gaps = np.isnan(alive)
    noise = roster.noise.astype(np.float32)[:, None]
    for register in (flows.exported, flows.imported):
        register *= np.float32(1.0) + noise * rng.standard_normal(register.shape, dtype=np.float32)
        register[:] = np.rint(np.maximum(register, np.float32(0.0)) * WATT) / WATT
        register[gaps] = np.nan
        add_logger_faults(register, roster)
        cut_records(register, roster)


def truth_of_net(
    households: SimulatedHouseholds,
    rows: NDArray[np.int64],
    flows: NetFlows,
    *,
    cooling: Array,
    exporting: Array,
) -> dict[str, NDArray[Any]]:
    """Return the columns of the truth that tell of meters and households.

    Parameters
    ----------
    households
        Those of all systems of a piece.
    rows
        Which of them have net meters.
    flows
        What flows over these.
    cooling
        Mean power of their cooling. [kW]
    exporting
        Share of daylight readings in which more was generated than used.
    """
    net = households.take(rows)

    def put(values: Array) -> Array:
        out = np.full(len(households), np.nan)
        out[rows] = values
        return out

    def name(names: Sequence[str], codes: NDArray[np.int64]) -> NDArray[Any]:
        out = np.full(len(households), None, dtype=object)
        out[rows] = [names[code] if code >= 0 else None for code in codes]
        return out

    with np.errstate(invalid="ignore", divide="ignore"):
        own = 1.0 - flows.sent / flows.generated
    return {
        "metering": np.where(households.net, "net", "generation").astype(object),
        "household": name([kind.value for kind in KINDS], net.kind),
        "mean_load_kw": put(flows.used),
        "cooling_share": put(cooling / flows.used),
        "self_consumption": put(own),
        "exporting": put(exporting),
        "battery_kwh": put(np.where(net.battery_kwh > 0.0, net.battery_kwh, np.nan)),
        "car": name([way.value for way in CHARGING], net.car),
    }


def _written(
    power: Single, rows: NDArray[np.int64], flows: NetFlows, columns: NetColumns
) -> dict[str, Single]:
    """Return the columns of readings: a generation meter sends all that it reads."""
    if columns is NetColumns.SIGNED:
        # registers are below zero where a sentinel stands in both
        marked = flows.exported < 0.0
        power[rows] = np.where(marked, flows.exported, flows.exported - flows.imported)
        return {"power_kw": power}
    taken = np.where(np.isnan(power), power, np.float32(0.0))
    power[rows], taken[rows] = flows.exported, flows.imported
    if columns is NetColumns.EXPORT:
        return {"export_kw": power}
    return {"import_kw": taken, "export_kw": power}
