"""What a single system's draw is worth by ε, votes and prior: ``python -m benchmarks.draws``.

Exact expected errors on single years of the real systems, averaged to hours under a clear sky, and
on simulated systems with a real fleet's faults.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks import real
from benchmarks.real_systems import SEEN
from benchmarks.realism import REAL_SINGLE
from sunveil.infer import record_span
from sunveil.meters import from_pandas
from sunveil.meters.coarsen import coarsen
from sunveil.privacy.mechanisms import PermuteAndFlip
from sunveil.privacy.units import Days, Readings
from sunveil.releases.choices import Choices
from sunveil.releases.errors import framed_laws
from sunveil.releases.frame import Frame, frame_of
from sunveil.releases.score import unit_score
from sunveil.releases.utility import KnownSystem
from sunveil.releases.worth import VOTE_RULES
from sunveil.simulate import FleetSpec, write_fleet
from sunveil.site import Plane, Site
from sunveil.weather import get_weather

# Per m² of module, and beyond the public capacities: put among them, which turns no plane.
SCALES = {"heggelbach": 100.0, "almeria": 0.1}
# A year with power on fewer days is one of outages. [days]
FEWEST_DAYS = 120
# The rules were found on the fleet of another seed, 81801.
SYSTEMS, CELLS, SEED = 60, 25, 71_807
QUANTITIES = ("azimuth", "tilt", "capacity")
RELEASES = [(Readings(1), e) for e in (0.03, 0.1, 0.3)] + [
    (Days(1), e) for e in (0.1, 0.2, 0.3, 1.0, 3.0)
]
DEFAULT, FINER = "the default", "the default, planes 2° apart"
BEFORE = Choices(thresholds=(0.3, 0.5, 0.7, 0.9), fewest=4, planes=None)
# For both units; how days vote makes no difference to readings.
VARIANTS = {
    "four votes, no prior (version 0.1)": BEFORE,
    "no prior": Choices(planes=None),
    DEFAULT: Choices(),
}
BALLOTS = {
    f"votes at {', '.join(f'{share:g}' for share in rule.thresholds)}": Choices(
        thresholds=rule.thresholds, fewest=rule.fewest
    )
    for rule in VOTE_RULES
}
NOTE = f"""\
Real: single years of twelve labelled systems, averaged to hours, on their true clocks, under a
clear sky, each system the mean of its years. Simulated: {SYSTEMS} systems with a real fleet's
faults, wrong clocks and flat planes among them, which have large errors at any ε. Means over
systems, medians behind the stroke; capacities are medians. Days vote by what a release is worth
(`sunveil.releases.worth`), and the prior is `sunveil.releases.prior.PlanePrior`."""
LEFT_OUT = """\
Whether the rules hold for systems that nobody looked at: for each real system the votes that are
best for the mean azimuth of the others are taken; beside it what the rules give."""
Errors = pd.DataFrame


def on_true_clock(case: real.RealCase) -> real.RealCase:
    """Return a case on the clock that the sun shows, since releases repair none."""
    if case.name == "fsec":
        return real.reclock(case, -5.0)
    if case.name != "serf_dst":
        return case
    wall = case.power.index.tz_localize(None)
    index = wall.tz_localize("America/Denver", ambiguous="NaT", nonexistent="NaT")
    power = pd.Series(case.power.to_numpy(), index=index)[~index.isna()]
    return replace(case, power=power.tz_convert(case.power.index.tz))


def years(declared: real.RealCase) -> Iterator[real.RealCase]:
    """Yield the years of a system that have power on enough days."""
    case = on_true_clock(declared)
    scale = SCALES.get(case.name, 1.0)
    kw = None if case.dc_kw is None else case.dc_kw * scale
    case = replace(case, power=case.power * scale, dc_kw=kw)
    bright = 0.1 * case.power.quantile(0.999)
    for year in real.single_years(case) or [case]:
        tops = year.power.groupby(year.power.index.date).max()
        if (tops > bright).sum() >= FEWEST_DAYS:
            yield year


def real_years(choices: Choices) -> Iterator[tuple[str, frozenset[str], KnownSystem]]:
    """Yield the years of the real systems: their name, what is known of them, and the system."""
    systems, _ = real.load_all(names=SEEN)
    for name, case in ((each.name, year) for each in systems for year in years(each)):
        read = from_pandas(case.power, system_id=name, label=case.label, cleaning="each")
        record = coarsen(read, 60.0)
        frame = frame_of(record, get_weather("clearsky", case.site, *record_span(record)), choices)
        plane = Plane(case.azimuth, case.tilt)
        yield name, case.counts, KnownSystem(frame, record, plane, case.dc_kw or np.nan)


def simulated() -> Iterator[tuple[str, frozenset[str], KnownSystem]]:
    """Yield simulated systems of one plane with all faults of a real fleet."""
    spec = FleetSpec.of(SYSTEMS, seed=SEED, cells=CELLS, rates=REAL_SINGLE)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "fleet"
        for _ in write_fleet(out, spec):
            pass
        truth = pd.read_parquet(out / "truth.parquet").set_index("system_id")
        systems = pd.read_parquet(out / "systems.parquet").set_index("system_id")
        readings = pd.read_parquet(out / "readings")
    for name, rows in readings.groupby("system_id"):
        place, true = systems.loc[name], truth.loc[name]
        site = Site(place["latitude"], place["longitude"], place["altitude"])
        power = rows.set_index("time")["power_kw"].astype(float)
        record = from_pandas(power, system_id=str(name), label="start", cleaning="each")
        frame = frame_of(record, get_weather("clearsky", site, *record_span(record)))
        plane = Plane(true["surface_azimuth"], true["surface_tilt"])
        known = KnownSystem(frame, record, plane, true["dc_capacity_kw"])
        yield str(name), frozenset(QUANTITIES), known


def draw_errors(
    frame: Frame, system: KnownSystem, unit: Readings | Days, epsilon: float
) -> tuple[float, float, float]:
    """Return the expected errors of one release.

    Parameters
    ----------
    frame
        The frame, with the choices that are tried.
    system
        The system.
    unit, epsilon
        Of the release.
    """
    settled = frame.settled(unit, epsilon, differenced=system.record.differenced)
    score = unit_score(settled, system.record, unit)
    chances = PermuteAndFlip(epsilon).probabilities(score)
    return framed_laws(settled, chances, system.plane, system.dc_capacity_kw).means


def errors(
    systems: Iterator[tuple[str, frozenset[str], KnownSystem]], variants: dict[str, Choices]
) -> Errors:
    """Return expected errors by release, variant and system, the mean of its years."""
    rows = []
    for name, counts, system in systems:
        for unit, epsilon in RELEASES:
            for told, choices in variants.items():
                if isinstance(unit, Readings) and told in (*BALLOTS, "no prior"):
                    continue
                frame = replace(system.frame, choices=choices)
                found = zip(QUANTITIES, draw_errors(frame, system, unit, epsilon), strict=True)
                kept = {each: error for each, error in found if each in counts}
                keys = {"unit": str(unit), "epsilon": epsilon, "variant": told, "system": name}
                rows.append(keys | kept)
    keys = ["unit", "epsilon", "variant", "system"]
    return pd.DataFrame(rows, columns=[*keys, *QUANTITIES]).groupby(keys, sort=False).mean()


def cells(part: Errors | None) -> str:
    """Return the errors of some systems as cells: mean and median angles, median capacities."""
    if part is None or not len(part):
        return " - | - | -"
    mean, middle = part.mean(), part.median()
    angles = [f"{mean[a]:.1f}° / {middle[a]:.1f}°" for a in ("azimuth", "tilt")]
    return f"{' | '.join(angles)} | {middle['capacity']:.1f}%"


def left_out(found: Errors) -> Iterator[str]:
    """Yield the table of rules that are chosen without the system they are tried on."""
    yield "| ε | best for the others, mean azimuth / tilt | by the rules |"
    yield "|---|---|---|"
    for unit, epsilon in RELEASES:
        if isinstance(unit, Readings):
            continue
        part = found.loc[(str(unit), epsilon)]
        azimuth = part["azimuth"].unstack("variant")[list(BALLOTS)].dropna()
        best = {name: azimuth.drop(index=name).mean().idxmin() for name in azimuth.index}
        chosen = pd.DataFrame([part.loc[(best[name], name)] for name in best]).mean()
        ruled = part.loc[DEFAULT].loc[list(best)].mean()
        told = [f"{each['azimuth']:.1f}° / {each['tilt']:.1f}°" for each in (chosen, ruled)]
        yield f"| {epsilon:g} | {' | '.join(told)} |"


def table() -> Iterator[str]:
    """Yield the tables; the columns of real series are empty where there are none."""
    tried = {**VARIANTS, **BALLOTS}
    seen = errors(real_years(Choices()), tried)
    finer = errors(real_years(Choices(step=2.0)), {FINER: Choices(step=2.0)})
    seen, made = pd.concat([seen, finer]), errors(simulated(), tried)
    yield from (*NOTE.splitlines(), "")
    yield "| unit | ε | choices | azimuth, real | tilt | capacity | simulated | tilt | capacity |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for unit, epsilon in RELEASES:
        for told in (*tried, FINER):
            at = str(unit), epsilon, told
            parts = [
                each.loc[at] if at in each.index.droplevel(3) else None for each in (seen, made)
            ]
            if any(part is not None for part in parts):
                yield f"| {unit} | {epsilon:g} | {told} | {cells(parts[0])} | {cells(parts[1])} |"
    if len(seen):
        yield from ("", *LEFT_OUT.splitlines(), "", *left_out(seen))


if __name__ == "__main__":
    for line in table():
        print(line)
