"""What private releases are worth: ``python -m benchmarks.releases``.

Expected errors, exact and not sampled, of releases on real systems under the clear sky alone, on a
simulated fleet, and of the window on a circle; and what a release costs in time. Real series are
read from the folder that ``SUNVEIL_DATA`` names; without it their rows are left out. With
``--write`` the tables go to ``docs/measured``; ``--only draws`` measures one part again.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from benchmarks import draws, real, release_mounts, release_net
from benchmarks.csv_tables import save
from sunveil.fleet.blocks import record_span
from sunveil.meters import from_pandas
from sunveil.meters.record import coarsen
from sunveil.privacy.guarantees import Days, Readings, System
from sunveil.privacy.mechanisms import Axis, Exponential, PermuteAndFlip
from sunveil.privacy.two_level_window import Window, best_window
from sunveil.releases.candidate_frame import frame_of
from sunveil.releases.expected_errors import framed_laws
from sunveil.releases.release import release
from sunveil.releases.release_choices import Choices
from sunveil.releases.scores import unit_score
from sunveil.releases.utility_curves import KnownSystem, paper_means
from sunveil.simulate import simulate_fleet
from sunveil.site import Plane
from sunveil.weather import get_weather

NAMES = ("serf_east", "fsec", "garage")
# The clock that the sun shows, where the source's own record is an hour off.
TRUE_OFFSET = {"fsec": -5.0}
SYSTEMS, SEED = 100, 40_404
PAPER = (0.1, 1.0, 10.0)
ROWS = ((Readings(1), 0.1), (Days(1), 1.0))
CIRCLE = (1.0, 2.0, 4.0, 8.0)
# The loss of the best box on the same axes, measured before the ball took its place.
BOX = {1.0: 0.8749, 2.0: 0.7443, 4.0: 0.5045, 8.0: 0.2012}


def known(record, weather, plane: Plane, capacity: float) -> KnownSystem:
    """Return a system whose truth is known, in the frame of its record."""
    return KnownSystem(frame_of(record, weather), record, plane, capacity)


def real_systems() -> Iterator[tuple[str, KnownSystem]]:
    """Yield the first year of each real system, averaged to hours, under the clear sky."""
    cases, missing = real.load_all(names=NAMES)
    by_name = {case.name: case for case in cases}
    for name in NAMES:
        if name not in by_name:
            print(f"{name} is left out: {missing.get(name, 'no data')}", file=sys.stderr)
            continue
        case = by_name[name]
        if name in TRUE_OFFSET:
            case = real.reclock(case, TRUE_OFFSET[name])
        power = case.power[case.power.index < case.power.index[0] + pd.Timedelta(days=365)]
        record = coarsen(from_pandas(power, system_id=name, cleaning="each", power_unit="kW"), 60.0)
        weather = get_weather("clearsky", case.site, *record_span(record))
        yield name, known(record, weather, Plane(case.azimuth, case.tilt), case.dc_kw)


def simulated_systems(*, measured: bool) -> Iterator[KnownSystem]:
    """Yield the systems of a simulated fleet under a satellite's weather, or a clear sky."""
    for truth, power, satellite in simulate_fleet(SYSTEMS, seed=SEED, sky_minutes=10):
        record = from_pandas(
            power, system_id=truth.system_id, label="start", cleaning="each", power_unit="kW"
        )
        weather = satellite
        if not measured:
            weather = get_weather("clearsky", truth.site, *record_span(record))
        yield known(record, weather, truth.plane, truth.dc_capacity_kw)


def means(system: KnownSystem, unit: Readings | Days, mechanism) -> tuple[float, float, float]:
    """Return the expected errors of one release."""
    frame = system.frame.resolved(unit, mechanism.epsilon)
    score = unit_score(frame, system.record, unit)
    law = framed_laws(frame, mechanism.probabilities(score), system.plane, system.dc_capacity_kw)
    return law.means


def cells(errors: Sequence[float]) -> str:
    """Return errors of azimuth, tilt and capacity as cells of a table."""
    azimuth, tilt, capacity = errors
    told = "-" if math.isnan(capacity) else f"{capacity:.1f}%"
    return f"{azimuth:.1f}° | {tilt:.1f}° | {told}"


def accuracy() -> Iterator[str]:
    """Yield the table of expected errors."""
    yield "| data | unit | ε | mechanism | azimuth | tilt | capacity |"
    yield "|---|---|---|---|---|---|---|"
    for name, system in real_systems():
        for unit, epsilon in ROWS:
            for kind in (PermuteAndFlip, Exponential):
                told = cells(means(system, unit, kind(epsilon)))
                yield f"| {name}, clear sky | {unit} | {epsilon:g} | {kind.__name__} | {told} |"
        for epsilon, errors in zip(PAPER, paper_means(system, PAPER), strict=True):
            yield f"| {name}, clear sky | its own | {epsilon:g} | the paper's | {cells(errors)} |"
    for measured in (True, False):
        sky = "satellite-like weather" if measured else "clear sky"
        yield from fleet_rows(f"{SYSTEMS} simulated, {sky}, median", measured=measured)


def fleet_rows(title: str, *, measured: bool) -> Iterator[str]:
    """Yield the rows of a simulated fleet."""
    found: dict[tuple[str, float, str], list[tuple[float, float, float]]] = {}
    for number, system in enumerate(simulated_systems(measured=measured)):
        for unit, epsilon in ROWS:
            for kind in (PermuteAndFlip, Exponential):
                key = str(unit), epsilon, kind.__name__
                found.setdefault(key, []).append(means(system, unit, kind(epsilon)))
        if number < 20:  # the paper's is near chance whatever the system
            for epsilon, errors in zip(PAPER, paper_means(system, PAPER), strict=True):
                found.setdefault(("its own", epsilon, "the paper's"), []).append(errors)
    for (unit_name, epsilon, mechanism), errors in found.items():
        middle = np.median(np.array(errors), axis=0)
        yield f"| {title} | {unit_name} | {epsilon:g} | {mechanism} | {cells(middle)} |"


def circle() -> Iterator[str]:
    """Yield the table of the window on a circle of whole degrees."""
    yield "| ε | window [°] | expected error [°] | 180 / (1 + e^(ε/2)) [°] | ratio |"
    yield "|---|---|---|---|---|"
    for epsilon in CIRCLE:
        window = best_window(epsilon, (Axis(360, 1.0, wraps=True),))
        error, limit = window.expected_errors()[0], 180.0 / (1.0 + math.exp(epsilon / 2.0))
        ratio = error / limit
        yield f"| {epsilon:g} | {window.inside} | {error:.4f} | {limit:.4f} | {ratio:.5f} |"


def whole_records() -> Iterator[str]:
    """Yield the errors of whole records' releases by the window, over every place of the axes."""
    axes = Choices().axes()
    chance = Window(CIRCLE[0], axes, math.prod(axis.size for axis in axes))
    yield "Normalised loss: the mean over the axes of the error as a share of chance error."
    yield ""
    yield "| ε | candidates | azimuth [°] | tilt [°] | log-capacity | loss | best box |"
    yield "|---|---|---|---|---|---|---|"
    for epsilon in CIRCLE:
        window = best_window(epsilon, axes)
        errors = errors_everywhere(window)
        loss = np.mean(errors / errors_everywhere(chance))
        said = " | ".join(f"{error:.2f}" for error in errors)
        yield f"| {epsilon:g} | {window.inside:,} | {said} | {loss:.4f} | {BOX[epsilon]:.4f} |"


def errors_everywhere(window: Window) -> np.ndarray:
    """Return the expected error along each axis, averaged over every place."""
    found = np.zeros(len(window.axes))
    along = [range(1) if axis.wraps else range(axis.size) for axis in window.axes]
    for place in itertools.product(*along):
        only = [np.eye(axis.size)[at] for axis, at in zip(window.axes, place, strict=True)]
        found += window.expected_errors(only)
    return found / math.prod(map(len, along))


def costs() -> Iterator[str]:
    """Yield what a release costs in time, with its frame made before."""
    system = next(simulated_systems(measured=False))
    frame, record = system.frame, system.record
    yield f"A year of hours, {len(frame):,} candidates, the frame made before; medians of 9."
    yield ""
    yield "| unit | ε | score [ms] | draw [ms] | whole release [ms] |"
    yield "|---|---|---|---|---|"
    for unit in (Readings(1), Days(1)):
        for epsilon in (0.1, 1.0, 4.0):
            settled = frame.resolved(unit, epsilon)
            score = unit_score(settled, record, unit)
            scoring = timed(lambda f=settled, unit=unit: unit_score(f, record, unit))
            drawing = timed(lambda score=score, e=epsilon: PermuteAndFlip(e).draw(score))
            whole = timed(lambda unit=unit, e=epsilon: one(system, unit, e))
            yield f"| {unit} | {epsilon:g} | {scoring:.0f} | {drawing:.0f} | {whole:.0f} |"
    yield f"| {System()} | 4 | - | - | {timed(lambda: one(system, System(), 4.0)):.0f} |"


def steady() -> Iterator[str]:
    """Yield how long scores take by what was read, over those of the system's own record.

    The scores are made in turn, so that other work on the machine meets all of them alike.
    """
    system = next(simulated_systems(measured=False))
    frame, record = system.frame, system.record
    rng, count = np.random.default_rng(18), len(record.power_kw)
    own = record.power_kw
    powers = {
        "the system's own": own,
        "zeros": np.zeros(count),
        "noise": rng.uniform(0.0, 1.2 * own.max(), count),
        "the same all day": np.full(count, own.max() / 2.0),
        "far too much": np.full(count, 1e9),
    }
    records = {name: replace(record, power_kw=power) for name, power in powers.items()}
    held = rng.random(count) < 0.1
    records["nine in ten missing"] = replace(record, times=record.times[held], power_kw=own[held])
    yield "CPU of a score over that of the system's own record; the shortest of 15 each."
    yield ""
    yield f"| unit | {' | '.join(records)} | [ms] |"
    yield f"|---|{'---|' * (len(records) + 1)}"
    for unit in (Readings(1), Days(1)):
        settled = frame.resolved(unit, 1.0)
        spans: dict[str, list[float]] = {name: [] for name in records}
        for _ in range(16):
            for name, each in records.items():
                begun = time.process_time()
                unit_score(settled, each, unit)
                spans[name].append(1e3 * (time.process_time() - begun))
        least = {name: min(found[1:]) for name, found in spans.items()}
        whole = least["the system's own"]
        told = " | ".join(f"{least[name] / whole:.2f}" for name in records)
        yield f"| {unit} | {told} | {whole:.1f} |"


def one(system: KnownSystem, unit, epsilon: float) -> None:
    """Make one release."""
    release(system.record, system.frame.weather, protect=unit, epsilon=epsilon, frame=system.frame)


def timed(work, *, times: int = 9) -> float:
    """Return the median time of some work, after one run that is not counted. [ms]"""
    work()
    spans = []
    for _ in range(times):
        begun = time.perf_counter()
        work()
        spans.append(1e3 * (time.perf_counter() - begun))
    return float(np.median(spans))


PARTS: dict[str, tuple[str, Callable[[], Iterator[str]]]] = {
    "accuracy": ("Accuracy", accuracy),
    "draws": ("Votes, prior and grid", draws.table),
    "mounts": ("Two planes and trackers", release_mounts.table),
    "net": ("Net meters", release_net.table),
    "circle": ("Azimuth alone on a circle", circle),
    "records": ("Whole records", whole_records),
    "time": ("Time", costs),
    "steady": ("Time and readings", steady),
}


def main() -> None:
    """Print the tables, and write them where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write its tables to docs/measured")
    parser.add_argument("--only", choices=PARTS, nargs="+", default=list(PARTS))
    given = parser.parse_args()
    for name in given.only:
        title, rows = PARTS[name]
        lines = [f"## {title}\n"]
        print(lines[0], flush=True)
        for row in rows():
            print(row, flush=True)
            lines.append(row)
        if given.write:
            save(lines, "releases")


if __name__ == "__main__":
    main()
