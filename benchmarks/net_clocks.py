"""Clocks of net meters: ``python -m benchmarks.net_clocks``.

Says how often a right clock is moved, and how often one that is off by whole hours or saves
daylight unasked is found, on real homes, on their loads less their neighbours' PV, and on simulated
PV less real loads. Every meter is tried as it is and with one fault, in turn.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from benchmarks import net_simulated
from benchmarks.net import NO_DATA, truths
from benchmarks.net_systems import FOLLOWS_PV, KnownNet, crossed, homes, own
from benchmarks.planes_scores import half_and_tail
from sunveil.engine import SAVINGS, InferOptions, infer_net_block, make_sky_table
from sunveil.engine.clock_faults import relaid
from sunveil.engine.first_and_last_light import ClockCalendar
from sunveil.estimates.inference_options import Clock
from sunveil.estimates.planes_and_intervals import DECLARED, ClockHypothesis, DaylightSaving
from sunveil.fleet.blocks import grid_of, on_grid
from sunveil.meters import from_pandas

LEFT_IN = ClockHypothesis(0.0, DaylightSaving.LEFT_IN)
TWICE = ClockHypothesis(0.0, DaylightSaving.APPLIED_TWICE)
# Each fault, and what puts it into right stamps.
FAULTS = {
    **{ClockHypothesis(far): ClockHypothesis(-far) for far in (-60.0, 60.0, -120.0, 120.0)},
    LEFT_IN: TWICE,
    TWICE: LEFT_IN,
}


@dataclass(frozen=True, slots=True)
class ClockTried:
    """What was made of one meter's clock.

    Parameters
    ----------
    true, told
        The clock that its stamps were put on, and the one that was told.
    given_error, error
        How far the azimuth was off with the clock taken as given, and as told. [degrees]
    seconds
        CPU that the clock took. [s]
    """

    true: ClockHypothesis
    told: ClockHypothesis
    given_error: float
    error: float
    seconds: float


def tried(system: KnownNet, fault: ClockHypothesis) -> Iterator[ClockTried]:
    """Yield what is made of a meter as it is, and with a fault where its place can have that."""
    zone = str(system.net.index.tz)
    record = from_pandas(system.net, system_id="one", label="start", net=True, power_unit="kW")
    grid = grid_of(record)
    sky, rows = make_sky_table(system.site, grid), on_grid([record], grid).astype(np.float32)
    calendar = ClockCalendar.of(grid.starts, system.site, zone)
    for true, put in ((DECLARED, DECLARED), (fault, FAULTS[fault])):
        if true is not DECLARED and not put.ahead_seconds(calendar).any():
            continue
        errors, spent, found = [], [], None
        for clock in (Clock.GIVEN, Clock.REPAIR):
            moved, begin = relaid(rows, put, calendar, grid.step), time.process_time()
            found = infer_net_block(
                moved, sky, options=InferOptions(clock=clock, force=True), timezone=zone
            )
            spent.append(time.process_time() - begin)
            off = found.surface_azimuth[0] - system.plane.surface_azimuth
            errors.append(abs((off + 180.0) % 360.0 - 180.0))
        saving = SAVINGS[found.clock_daylight_saving[0]]
        told = ClockHypothesis(float(found.clock_offset_minutes[0]), saving)
        yield ClockTried(true, told, *errors, spent[1] - spent[0])


def real_homes() -> Iterator[KnownNet]:
    """Yield homes with their own and their neighbours' loads, but for one that follows its PV."""
    known = {name: truth for name, truth in truths().items() if name != FOLLOWS_PV}
    yield from chain(own(known), crossed(known))


def rows_of(systems: Iterable[KnownNet]) -> Iterator[str]:
    """Yield a row for right clocks and one for each fault."""
    faults = list(FAULTS)
    every = [
        each
        for place, system in enumerate(systems)
        for each in tried(system, faults[place % len(faults)])
    ]
    for true in (DECLARED, *faults):
        some = [each for each in every if each.true == true]
        if not some:
            continue
        right = sum(each.told == true for each in some)
        kept = sum(each.told == DECLARED for each in some)
        other = len(some) - right - (kept if true != DECLARED else 0)
        spread = [
            half_and_tail(errors, 0)
            for errors in ([e.given_error for e in some], [e.error for e in some])
        ]
        name = "right" if true == DECLARED else f"{true.offset_minutes:+.0f} min"
        name = name if true.saving is DaylightSaving.AS_DECLARED else f"saving {true.saving.value}"
        spent = 1e3 * float(np.mean([each.seconds for each in some]))
        yield (
            f"| {name} | {len(some)} | {right} | {other} | {spread[0]} | {spread[1]} |"
            f" {spent:.0f} ms |"
        )


def main() -> None:
    """Print the tables."""
    if not homes():
        print(NO_DATA)
        return
    sets = {
        "Real homes, own and neighbours' loads": real_homes,
        "Simulated PV less real loads, another physics": net_simulated.other_physics,
    }
    for title, systems in sets.items():
        print(f"{title}\n\n| clock | meters | told | another told | azimuth [°], as given |"
              " azimuth [°], repaired | CPU |\n|---|---|---|---|---|---|---|")  # fmt: skip
        for row in rows_of(systems()):
            print(row, flush=True)


if __name__ == "__main__":
    main()
