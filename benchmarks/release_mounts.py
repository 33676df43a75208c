"""Whether private releases tell two planes and trackers from one plane, any one day at ε = 1.

Real single planes, homes of Fontana and sums of two of them, and simulated systems: roofs by
physics other than the inference's (:mod:`benchmarks.independent`), and roofs and trackers by
:mod:`sunveil.simulate`. Every distribution is exact. Part of ``python -m benchmarks.releases``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from benchmarks import independent, real
from benchmarks.draws import real_years
from benchmarks.independent_sky import PLACES, independent_sky
from sunveil.fleet.blocks import record_span
from sunveil.inference.infer import infer_record
from sunveil.meters import from_pandas
from sunveil.meters.record import Record
from sunveil.privacy.guarantees import Days
from sunveil.privacy.mechanisms import PermuteAndFlip
from sunveil.releases.candidate_frame import ReleaseFrame, frame_of
from sunveil.releases.expected_errors import azimuth_errors
from sunveil.releases.prior_and_votes import PlanePairs
from sunveil.releases.scores import unit_score
from sunveil.simulate import draw_systems, simulate_power, simulate_sky
from sunveil.simulate.fault_rates import SystemTruth, Tracker, tracking
from sunveil.site import Array, Plane, Site
from sunveil.weather import get_weather

UNIT, EPSILON = Days(1), 1.0
PLACES_TRIED, SEED, YEAR, SKY_MINUTES = 10, 555, 2019, 15
# What nothing can tell apart is not asked for. [degrees]
TILTS, SHARES = (15.0, 45.0), (0.5, 0.75)
# Homes whose azimuths are closer, or neither on a ridge nor on a corner, are no roof. [degrees]
OFF_CORNER = 15.0
EDGES = np.arange(0.0, 181.0)
NOTE = f"""\
{UNIT}, ε = {EPSILON:g}, under a clear sky: how likely a release says one plane, two planes or a
tracker, and by how much the azimuth of the worse of two planes is off where it says two (median and
95th percentile of all draws). Behind the stroke, the mean error of azimuth and tilt with single
planes as the only candidates. Real: the first year of each labelled system. Sums: two homes of
Fontana each, those that stand as a corner does within {OFF_CORNER:g}°, against what is inferred of
either alone. Roofs that are simulated have tilts from {TILTS[0]:g}° to {TILTS[1]:g}° and shares
from {SHARES[0]:g} to {SHARES[1]:g}."""


@dataclass(frozen=True, slots=True, eq=False)
class MountCase:
    """A record of which it is known what its modules stand on.

    Parameters
    ----------
    kind
        What it is, as the table says.
    record, site
        Its readings, and where they were taken.
    planes
        One plane or two; none for a tracker.
    """

    kind: str
    record: Record
    site: Site
    planes: tuple[Plane, ...]


def cases() -> Iterator[MountCase]:
    """Yield all cases; the real ones only where their series are at hand."""
    seen: set[str] = set()
    for each in real_years():
        if each.name not in seen:
            seen.add(each.name)
            yield MountCase("real, one plane", each.record, each.site, (each.plane,))
    yield from fontana()
    for number in range(PLACES_TRIED):
        yield from roofs(number)
    yield from simulated()


def fontana() -> Iterator[MountCase]:
    """Yield the homes of Fontana, and sums of two of them."""
    names = [name for name in real.LOADERS if name.startswith("fontana")]
    homes, _ = real.load_all(names=names)
    planes = []
    for home in homes:
        record = from_pandas(home.power, system_id=home.name, label=home.label, power_unit="kW")
        weather = get_weather("clearsky", home.site, *record_span(record))
        planes.append(infer_record(record, weather).plane)
        yield MountCase("homes of Fontana", _record(home.power), home.site, (planes[-1],))
    for (one, first), (other, second) in itertools.combinations(zip(homes, planes, strict=True), 2):
        apart = float(azimuth_errors(np.array([first.surface_azimuth]), second)[0])
        if abs(apart - 90.0) <= OFF_CORNER:
            record = _record(one.power.add(other.power))
            yield MountCase("sums of two of them", record, one.site, (first, second))


def roofs(number: int) -> Iterator[MountCase]:
    """Yield one plane, a ridge and a corner at a place, by other physics than the inference's."""
    site = PLACES[number % len(PLACES)]
    sky = independent_sky(site, seed=independent._seed(SEED, 1, number))
    drawn = replace(draw_systems(PLACES_TRIED, seed=SEED)[number], site=site)
    for kind, turn in (("one plane", None), ("ridge", 180.0), ("corner", 90.0)):
        rng = np.random.default_rng(independent._seed(SEED, 2, number, int(turn or 0)))
        planes, share = _roof(drawn.plane, turn, rng)
        shares = (share, 1.0 - share)[: len(planes)]
        built = [
            (plane.surface_tilt, plane.surface_azimuth, part)
            for plane, part in zip(planes, shares, strict=True)
        ]
        made = replace(drawn, planes=tuple(zip(planes, shares, strict=True)))
        power = independent._power(made, built, sky, rng)
        yield MountCase(f"{kind}, other physics", _record(power), site, planes)


def simulated() -> Iterator[MountCase]:
    """Yield a ridge, a corner, one plane and a tracker in turn, by :mod:`sunveil.simulate`."""
    kinds = itertools.cycle(("one plane", "ridge", "corner", "tracker"))
    rng = np.random.default_rng(SEED)
    for number, truth in enumerate(draw_systems(4 * PLACES_TRIED, seed=SEED + 1)):
        kind = next(kinds)
        if kind == "tracker":
            made, planes = tracking(truth, _tracker(rng)), ()
        else:
            turn = {"ridge": 180.0, "corner": float(rng.choice([-90.0, 90.0]))}.get(kind)
            planes, share = _roof(truth.plane, turn, rng)
            shares = (share, 1.0 - share)[: len(planes)]
            made = replace(truth, planes=tuple(zip(planes, shares, strict=True)))
        yield MountCase(f"{kind}, simulated", _simulated(made, number), truth.site, planes)


def _simulated(truth: SystemTruth, number: int) -> Record:
    sky = simulate_sky(truth.site, YEAR, seed=SEED + number, step_minutes=SKY_MINUTES)
    return _record(simulate_power(truth, sky, seed=number))


def _roof(
    plane: Plane, turn: float | None, rng: np.random.Generator
) -> tuple[tuple[Plane, ...], float]:
    """Return one plane with all of the capacity, or two with a share of it on the first."""
    if turn is None:
        return (plane,), 1.0
    tilt, share = float(rng.uniform(*TILTS)), float(rng.uniform(*SHARES))
    azimuth = plane.surface_azimuth
    return (Plane(azimuth, tilt), Plane(azimuth + turn, tilt)), share


def _tracker(rng: np.random.Generator) -> Tracker:
    return Tracker(
        backtrack=bool(rng.random() < 0.7),
        axis_azimuth=float(rng.normal(180.0, 8.0)),
        max_angle=float(rng.uniform(45.0, 60.0)),
        gcr=float(rng.uniform(0.3, 0.5)),
    )


def _record(power: pd.Series) -> Record:
    return from_pandas(power, system_id="case", label="start", cleaning="each", power_unit="kW")


def measure(case: MountCase) -> dict[str, object]:
    """Return how likely every kind of mount is drawn, and how far the draws are off."""
    weather = get_weather("clearsky", case.site, *record_span(case.record))
    frame = frame_of(case.record, weather).resolved(UNIT, EPSILON)
    mounts = _chances(frame, case.record)
    singles, pairs, _ = frame.mounts.sizes
    one, two, tracker = (part.sum() for part in np.split(mounts, [singles, singles + pairs]))
    found = {"kind": case.kind, "one": one, "two": two, "tracker": tracker}
    if len(case.planes) == 2:
        assert frame.mounts.pairs is not None
        errors = worse_plane(frame.mounts.pairs, case.planes)
        weights = mounts[singles : singles + pairs]
        return found | {"worse": np.histogram(errors, EDGES, weights=weights)[0]}
    if case.planes:
        for name, each, chances in (
            ("", frame, mounts),
            ("_before", frame.of_singles(), _chances(frame.of_singles(), case.record)),
        ):
            grid, truth = each.grid, case.planes[0]
            found[f"azimuth{name}"] = chances @ azimuth_errors(grid.surface_azimuth, truth)
            found[f"tilt{name}"] = chances @ np.abs(grid.surface_tilt - truth.surface_tilt)
    return found


def _chances(frame: ReleaseFrame, record: Record) -> Array:
    score = unit_score(frame, record, UNIT)
    return PermuteAndFlip(EPSILON).probabilities(score).reshape(frame.shape).sum(axis=(0, 2))


def worse_plane(pairs: PlanePairs, planes: Sequence[Plane]) -> Array:
    """Return by how much the worse azimuth of every pair is off, taken the better way round."""
    ways = [
        np.maximum(azimuth_errors(pairs.first, one), azimuth_errors(pairs.second, other))
        for one, other in (planes, planes[::-1])
    ]
    return np.minimum(*ways)


def table() -> Iterator[str]:
    """Yield the table of what releases say of every kind of system."""
    found = pd.DataFrame(measure(case) for case in cases())
    yield from (*NOTE.splitlines(), "")
    yield "| systems | number | one plane | two planes | tracker | worse plane | azimuth | tilt |"
    yield "|---|---|---|---|---|---|---|---|"
    for kind, part in found.groupby("kind", sort=False):
        said = [f"{part[name].mean():.0%}" for name in ("one", "two", "tracker")]
        both = "-" if part["worse"].isna().any() else _quantiles(part["worse"])
        mean = part.drop(columns=["kind", "worse"]).mean()
        angles = [
            "-" if np.isnan(mean[name]) else f"{mean[name]:.1f}° / {mean[f'{name}_before']:.1f}°"
            for name in ("azimuth", "tilt")
        ]
        yield f"| {kind} | {len(part)} | {' | '.join([*said, both, *angles])} |"
    pairs, singles = found[found["worse"].notna()], found[found["azimuth"].notna()]
    yield ""
    right = f"one plane {singles['one'].mean():.0%}, two planes {pairs['two'].mean():.0%}"
    yield f"Number of planes right: {right}. Worse of two planes: {_quantiles(pairs['worse'])}."


def _quantiles(parts: pd.Series) -> str:
    """Return the median and the 95th percentile of counted errors."""
    total = np.cumsum(np.sum(list(parts), axis=0))
    places = np.searchsorted(total, np.array([0.5, 0.95]) * total[-1])
    return " / ".join(f"{EDGES[1 + place]:.0f}°" for place in places)
