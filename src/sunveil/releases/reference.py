"""The errors to expect of a release, from public inputs alone.

They cannot be computed from the record that is released: its own error distribution is private. A
few simulated systems at the same place, over as many days, stand in for it (see
:mod:`sunveil.simulate`), each scored as a record would be, and the mechanism's distribution for
each is computed exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sunveil.errors import ParameterError
from sunveil.meters import from_pandas
from sunveil.meters.record import Record
from sunveil.privacy.mechanisms import Exponential, PermuteAndFlip
from sunveil.privacy.units import System, Unit
from sunveil.releases.answer import ExpectedErrors
from sunveil.releases.choices import Choices
from sunveil.releases.errors import ErrorLaws, Law, framed_laws, window_laws
from sunveil.releases.frame import Frame, frame_of
from sunveil.releases.score import placement, unit_score
from sunveil.simulate import SimulatedSky, SystemTruth, draw_systems, simulate_power, simulate_sky
from sunveil.site import Site
from sunveil.weather import WeatherCache, clearsky

SYSTEMS = 6
SEED = 1
YEAR = 2019
SKY_MINUTES = 15
# What the simulator makes of its sky; other intervals are taken as the next shorter of these.
LENGTHS = (15, 30, 60)


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """Simulated systems at one place, with their frame: public.

    Parameters
    ----------
    frame
        The frame that they are scored in.
    truths
        What is true of them.
    records
        Their readings.
    """

    frame: Frame
    truths: tuple[SystemTruth, ...]
    records: tuple[Record, ...]


def make_reference(
    site: Site,
    *,
    measured: bool,
    days: int = 365,
    interval_minutes: float = 60.0,
    choices: Choices | None = None,
    systems: int = SYSTEMS,
    seed: int = SEED,
    cache: WeatherCache | None = None,
) -> Reference:
    """Return simulated systems at a place.

    Parameters
    ----------
    site
        Where.
    measured
        Whether releases are made under measured weather, or under a clear sky.
    days
        Length of their records, up to a year; they end with the year. [days]
    interval_minutes
        Length of their intervals. [minutes]
    choices
        The public choices of the release.
    systems, seed
        How many, and which.
    cache
        Where clear skies are kept.
    """
    if days < 1 or systems < 1:
        raise ParameterError("a reference needs at least one day and one system")
    minutes = max(each for each in LENGTHS if each <= max(interval_minutes, SKY_MINUTES))
    sky = simulate_sky(site, YEAR, seed=seed, step_minutes=SKY_MINUTES)
    truths = tuple(replace(truth, site=site) for truth in draw_systems(systems, seed=seed))
    records = tuple(
        _last(_read(truth, sky, minutes=minutes, seed=seed + number), min(days, 365))
        for number, truth in enumerate(truths)
    )
    span = (f"{YEAR - 1}-12-29", f"{YEAR + 1}-01-04")
    weather = sky.satellite if measured else clearsky(site, *span, cache=cache)
    return Reference(frame_of(records[0], weather, choices, cache=cache), truths, records)


def expected_errors(
    reference: Reference, *, unit: Unit, epsilon: float, exponential: bool = False
) -> ExpectedErrors:
    """Return the errors to expect of a release at the reference's place.

    Parameters
    ----------
    reference
        Simulated systems at the place.
    unit, epsilon
        Of the release.
    exponential
        Whether the exponential mechanism draws it instead of the default.
    """
    laws = [
        error_laws(
            reference.frame, record, truth, unit=unit, epsilon=epsilon, exponential=exponential
        )
        for record, truth in zip(reference.records, reference.truths, strict=True)
    ]
    return ExpectedErrors(
        azimuth=Law.pooled([each.azimuth for each in laws]).spread,
        tilt=Law.pooled([each.tilt for each in laws]).spread,
        capacity=Law.pooled([each.capacity for each in laws]).spread,
        basis=f"{len(laws)} simulated systems at the place, each mechanism's distribution exact",
    )


def error_laws(
    frame: Frame,
    record: Record,
    truth: SystemTruth,
    *,
    unit: Unit,
    epsilon: float,
    exponential: bool = False,
) -> ErrorLaws:
    """Return the exact laws of a release's errors for a system whose truth is known.

    Parameters
    ----------
    frame, record
        The public frame, and the readings.
    truth
        What errors are measured against.
    unit, epsilon
        Of the release.
    exponential
        Whether the exponential mechanism draws, in place of permute-and-flip.

    Privacy
    -------
    None: made of a record, they are as private as it is.
    """
    if isinstance(unit, System):
        placed = placement(frame, record)
        window = frame.choices.window(epsilon)
        lowest = frame.choices.capacities.low
        return window_laws(
            placed.axes,
            window.probabilities(placed),
            truth.plane,
            truth.dc_capacity_kw,
            lowest_kw=lowest,
        )
    settled = frame.settled(unit, epsilon, differenced=record.differenced)
    score = unit_score(settled, record, unit)
    mechanism = Exponential(epsilon) if exponential else PermuteAndFlip(epsilon)
    return framed_laws(frame, mechanism.probabilities(score), truth.plane, truth.dc_capacity_kw)


def _read(truth: SystemTruth, sky: SimulatedSky, *, minutes: int, seed: int) -> Record:
    power = simulate_power(truth, sky, seed=seed, step_minutes=minutes)
    return from_pandas(power, system_id=truth.system_id, label="start", cleaning="each")


def _last(record: Record, days: int) -> Record:
    kept = record.times > record.times[-1] - np.timedelta64(days, "D")
    return replace(record, times=record.times[kept], power_kw=record.power_kw[kept])
