"""Labelled series, real and simulated, in the frames of releases, and the laws of their errors.

Every law is the mechanism's own distribution, exact; nothing is drawn. What is released is a single
year averaged to hours on its true clock, since releases repair none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks import real
from benchmarks.draws import years
from benchmarks.independent import independent_fleet
from benchmarks.real_scores import SEEN, SMOG
from sunveil.fleet.blocks import record_span
from sunveil.meters import from_pandas
from sunveil.meters.record import Record, coarsen
from sunveil.privacy.guarantees import Days, Readings, System, Unit
from sunveil.releases.candidate_frame import ReleaseFrame, frame_of
from sunveil.releases.expected_errors import ErrorLaws, Law, release_laws
from sunveil.releases.prior_and_votes import equivalent_epsilon
from sunveil.releases.scores import placement
from sunveil.site import Array, Plane
from sunveil.weather import get_weather

NAMES = SEEN + SMOG
QUANTITIES = ("azimuth", "tilt", "capacity")
# Series of one array are one system.
SAME_SYSTEM = {"serf_dst": "serf_east"}
# A year with power on fewer days is one of outages. [days]
FEWEST_DAYS = 90
UNITS: dict[str, Unit] = {"readings": Readings(1), "days": Days(1), "system": System()}
NO_EPSILONS: Mapping[str, Sequence[float]] = {}
# Errors are counted between these, so that hundreds of laws fit into memory.
EDGES: dict[str, Array] = {
    "azimuth": np.arange(0.0, 180.2, 0.2),
    "tilt": np.arange(0.0, 90.2, 0.2),
    "capacity": np.append(np.arange(0.0, 100.0, 0.2), np.geomspace(100.0, 1e6, 400)),
}


@dataclass(frozen=True, slots=True, eq=False)
class LabelledSeries:
    """A record with its label, in the frame of its release.

    Parameters
    ----------
    system, name
        The system, and which of its series this is.
    frame, record
        What a release is made of.
    plane, dc_capacity_kw
        The label. [degrees, kW]
    counts
        Which of ``QUANTITIES`` the label is good for.
    real
        Whether it is a real one.
    """

    system: str
    name: str
    frame: ReleaseFrame
    record: Record
    plane: Plane
    dc_capacity_kw: float
    counts: frozenset[str]
    real: bool

    @property
    def kind(self) -> str:
        """The weather that its candidates are modelled under: ``clear`` or ``measured``."""
        return "clear" if self.frame.weather.clear else "measured"


@dataclass(frozen=True, slots=True, eq=False)
class SeriesErrors:
    """The laws of one series' errors, each as shares between ``EDGES`` with its exact mean.

    Parameters
    ----------
    system, name, kind, counts, real, days
        Of the series; how many days it spans.
    placed
        By how much its best candidate is off, with its sign: azimuth, tilt [degrees] and the
        logarithm of capacity.
    shares
        By unit, ε and quantity.
    means
        By unit, ε and quantity.
    """

    system: str
    name: str
    kind: str
    counts: frozenset[str]
    real: bool
    days: int
    placed: dict[str, float]
    shares: dict[tuple[str, float, str], Array]
    means: dict[tuple[str, float, str], float]


def real_series() -> Iterator[LabelledSeries]:
    """Yield single years of the real systems under a clear sky, and under weather where it is."""
    cases, missing = real.load_all(names=NAMES)
    for name, reason in missing.items():
        print(f"{name} is left out: {reason}", flush=True)
    for case in cases:
        for year in years(case, FEWEST_DAYS):
            yield _framed(year, "clearsky")
            covered = None if year.weather is None else real.with_weather_only(year)
            if covered is not None and _read_days(covered) >= FEWEST_DAYS:
                yield _framed(covered, year.weather)


def _read_days(case: real.RealCase) -> int:
    return len(np.unique(case.power.dropna().index.date))


def _framed(case: real.RealCase, weather: object) -> LabelledSeries:
    read = from_pandas(
        case.power, system_id=case.name, label=case.label, cleaning="each", power_unit="kW"
    )
    record = coarsen(read, 60.0)
    system = next(name for name in NAMES if case.name.startswith(name))
    return LabelledSeries(
        system=SAME_SYSTEM.get(system, system),
        name=case.name,
        frame=frame_of(record, get_weather(weather, case.site, *record_span(record))),
        record=record,
        plane=Plane(case.azimuth, case.tilt),
        dc_capacity_kw=case.dc_kw or np.nan,
        counts=case.counts,
        real=True,
    )


def simulated_series(count: int, *, seed: int) -> Iterator[LabelledSeries]:
    """Yield independent systems, each under a clear sky and under a satellite's weather.

    Parameters
    ----------
    count
        How many systems.
    seed
        Which of them.
    """
    frames: dict[object, ReleaseFrame] = {}
    for one in independent_fleet(count, seed=seed):
        record = from_pandas(
            one.power, system_id=one.name, label="start", cleaning="each", power_unit="kW"
        )
        site = one.satellite.site
        if site not in frames:
            frames = {site: frame_of(record, get_weather("clearsky", site, *record_span(record)))}
        if id(one.satellite) not in frames:
            frames = {site: frames[site], id(one.satellite): frame_of(record, one.satellite)}
        for frame in frames.values():
            yield LabelledSeries(
                system=one.name,
                name=one.name,
                frame=frame,
                record=record,
                plane=one.plane,
                dc_capacity_kw=one.dc_capacity_kw,
                counts=frozenset(QUANTITIES),
                real=False,
            )


def measured(
    series: Iterable[LabelledSeries],
    *,
    epsilons: Mapping[str, Sequence[float]] = NO_EPSILONS,
    worths: Sequence[float] = (),
) -> Iterator[SeriesErrors]:
    """Yield the laws of the errors of series.

    Parameters
    ----------
    series
        The series.
    epsilons
        For which ε to compute them, by unit.
    worths
        For which worths, beside: what ε for one year of hours is worth as much. Their laws are
        kept under the worth with a minus before it.
    """
    for one in series:
        shares: dict[tuple[str, float, str], Array] = {}
        means: dict[tuple[str, float, str], float] = {}
        for name, unit in UNITS.items():
            asked = {epsilon: epsilon for epsilon in epsilons.get(name, ())}
            if not isinstance(unit, System):
                differenced = one.record.differenced
                one_worth = equivalent_epsilon(
                    unit, 1.0, one.frame.time_grid, differenced=differenced
                )
                asked |= {-each: each / one_worth for each in worths}
            if not asked:
                continue
            for key, laws in zip(asked, _laws(one, unit, list(asked.values())), strict=True):
                for quantity in one.counts:
                    law: Law = getattr(laws, quantity)
                    shares[name, key, quantity] = between_edges(law, quantity)
                    means[name, key, quantity] = law.mean
        days = one.frame.time_grid.days
        who = one.system, one.name, one.kind, one.counts, one.real, days
        yield SeriesErrors(*who, _placed(one), shares, means)


def between_edges(law: Law, quantity: str) -> Array:
    """Return how likely an error is between each two of ``EDGES``."""
    edges = EDGES[quantity]
    errors = np.minimum(law.errors, edges[-1])
    found, _ = np.histogram(errors, edges, weights=law.probabilities)
    return np.asarray(found / found.sum())


def _laws(one: LabelledSeries, unit: Unit, epsilons: Sequence[float]) -> list[ErrorLaws]:
    return release_laws(
        one.frame, one.record, one.plane, one.dc_capacity_kw, protect=unit, epsilons=epsilons
    )


def _placed(one: LabelledSeries) -> dict[str, float]:
    placed = placement(one.frame, one.record)
    azimuth, tilt, capacity = (
        place * axis.step for place, axis in zip(placed.place, placed.axes, strict=True)
    )
    kw = np.log(one.frame.choices.capacities.low / one.dc_capacity_kw) + capacity
    turned = (azimuth - one.plane.surface_azimuth + 180.0) % 360.0 - 180.0
    found = {"azimuth": turned, "tilt": tilt - one.plane.surface_tilt, "capacity": kw}
    return {name: float(value) for name, value in found.items() if name in one.counts}
