"""A release: one score, one draw."""

from __future__ import annotations

import datetime as dt
import math
import os
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd

from sunveil._options import instance, one_of
from sunveil.errors import ParameterError
from sunveil.fleet.blocks import time_grid_of
from sunveil.meters.dataframes import ReadingsLike, record_of
from sunveil.meters.reading_options import MeterOptions
from sunveil.meters.record import Record, prepared
from sunveil.paper.dpbo import DELTA, DPBO, posterior
from sunveil.paper.fit import paper_grid
from sunveil.privacy.guarantees import Readings, System, Unit, check_release_epsilon, parse_unit
from sunveil.privacy.mechanisms import Exponential, PermuteAndFlip, Placement, Score
from sunveil.releases.candidate_frame import ReleaseFrame, check_clock, make_frame
from sunveil.releases.expected_errors import typical_errors
from sunveil.releases.release_answer import ExpectedErrors, Release
from sunveil.releases.release_choices import Choices
from sunveil.releases.scores import placement, unit_score
from sunveil.site import Site
from sunveil.weather.cache import WeatherCache
from sunveil.weather.sources import get_weather
from sunveil.weather.weather_data import Weather

Scored = Score | Placement


def score_record(frame: ReleaseFrame, record: Record, unit: Unit) -> Scored:
    """Return what a release of a record is drawn from: private, and nothing is drawn yet."""
    if isinstance(unit, System):
        return placement(frame, record)
    return unit_score(frame, record, unit)


def draw_release(
    scored: Scored,
    frame: ReleaseFrame,
    *,
    epsilon: float,
    exponential: bool = False,
    expected: ExpectedErrors | None = None,
) -> Release:
    """Draw a release from a score, or from a placement for a whole record."""
    # `ε`-DP for the score's unit, once for every call: call it after the charge, in the process
    # that has charged.
    if isinstance(scored, Placement):
        return _by_window(scored, frame, epsilon=epsilon, expected=expected)
    drawn = (Exponential if exponential else PermuteAndFlip)(epsilon)
    return _by_score(scored, frame, drawn, expected=expected)


def _by_score(
    score: Score,
    frame: ReleaseFrame,
    mechanism: PermuteAndFlip | Exponential,
    *,
    expected: ExpectedErrors | None,
) -> Release:
    guarantee = mechanism.guarantee(score)
    clock, drawn, capacity = np.unravel_index(mechanism.draw(score), frame.shape)
    mount, clocks = int(drawn), frame.choices.clocks
    effective = frame.grid[mount]
    return Release(
        surface_azimuth=effective.surface_azimuth,
        surface_tilt=effective.surface_tilt,
        dc_capacity_kw=float(frame.choices.capacities.values[capacity]),
        planes=frame.mounts.planes(mount),
        tracker=frame.mounts.tracker(mount),
        clock_minutes=float(clocks[clock]) if len(clocks) > 1 else None,
        guarantee=guarantee,
        mechanism="permute-and-flip" if isinstance(mechanism, PermuteAndFlip) else "exponential",
        expected=expected,
        public=frame.choices.to_dict(),
    )


def _by_window(
    placed: Placement, frame: ReleaseFrame, *, epsilon: float, expected: ExpectedErrors | None
) -> Release:
    window = frame.choices.window(epsilon)
    guarantee = window.guarantee(placed)
    azimuth, tilt, capacity = (
        place * axis.step for place, axis in zip(window.draw(placed), placed.axes, strict=True)
    )
    public: dict[str, Any] = {**frame.choices.to_dict(), "window_candidates": window.inside}
    return Release(
        surface_azimuth=azimuth,
        surface_tilt=tilt,
        dc_capacity_kw=frame.choices.capacities.low * math.exp(capacity),
        guarantee=guarantee,
        mechanism="window",
        expected=expected,
        public=public,
    )


# Weather requested around a record, so that its last day has night after it.
MARGIN = pd.Timedelta(days=2)


class Mechanism(StrEnum):
    """Which mechanism draws a release."""

    DEFAULT = "default"
    EXPONENTIAL = "exponential"
    PAPER = "paper"


def release(
    readings: ReadingsLike,
    weather: str | os.PathLike[str] | Weather | pd.DataFrame = "clearsky",
    *,
    protect: Unit | str,
    epsilon: float,
    site: Site | Any | None = None,
    latitude: float | None = None,
    longitude: float | None = None,
    altitude: float | None = None,
    times: Any = None,
    timezone: str | dt.tzinfo | None = None,
    power_unit: str = "auto",
    label: str = "auto",
    net: bool = False,
    mechanism: Mechanism | str = Mechanism.DEFAULT,
    choices: Choices | None = None,
    delta: float | None = None,
    frame: ReleaseFrame | None = None,
    expected: ExpectedErrors | None = None,
    cache: WeatherCache | None = None,
) -> Release:
    """Release azimuth, tilt and DC capacity of one system under differential privacy.

    Nothing is recorded in a ledger: each call is a new release, and releases of one system add up.

    Parameters
    ----------
    readings
        Whatever :func:`sunveil.infer` takes; a record must have been read with ``cleaning="each"``.
    weather
        Public weather, as for :func:`sunveil.infer`; a :class:`~sunveil.Weather` brings the place.
    protect
        What is protected: ``Readings(k)``, ``Days(k)`` or ``System()``; or ``"readings:K"``,
        ``"days:K"`` or ``"system"``.
    epsilon
        Privacy cost of this release.
    site, latitude, longitude, altitude, times, timezone
        As for :func:`sunveil.infer`. The clock is taken as declared.
    power_unit
        As for :func:`sunveil.infer`, but never taken from readings: a series without a unit in its
        name needs it.
    label
        Which instant of its interval a stamp names: ``start`` (or ``left``), ``middle``, ``end``
        (or ``right``). With ``auto`` it is unknown, and the stated errors cover
        all three.
    net
        Whether a series is generation less a household's load, above zero where power flows to the
        grid; a record says so itself. It is never checked against
        the readings, because that check would leak.
    mechanism
        ``default``: permute-and-flip, and the window for ``System()``; ``exponential``: the
        exponential mechanism, cheaper to account when repeated; ``paper``: the paper's
        DP-BO, with a conditional guarantee and without capacity.
    choices
        The public choices; the defaults if None.
    delta
        δ of the paper's mechanism, by default 0.1; the others have none.
    frame
        A frame made before for the same weather, times and choices.
    expected
        Expected errors to report; default: typical ones.
    cache
        Where weather is kept.

    Privacy
    -------
    ``ε``-DP for the unit, in the worst case, by ``docs/proofs``; with ``paper``, (ε, δ) under its
    prior only. Neighbours differ by replacement, and a missing reading is as private as any.
    The readings of a register are its counts, of which each is part of two differences: the release
    protects k counts, and is as accurate as one of readings at ε / 2 (of days, at ε / 3).
    """
    mechanism = one_of(Mechanism, "mechanism", mechanism)
    for name, given, kind in (
        ("choices", choices, Choices),
        ("frame", frame, ReleaseFrame),
        ("expected", expected, ExpectedErrors),
        ("cache", cache, WeatherCache),
    ):
        if given is not None:
            instance(name, given, kind, give=f"{kind.__name__}, or None")
    check_release_epsilon(epsilon)
    unit = parse_unit(protect) if isinstance(protect, str) else protect
    if not isinstance(unit, Unit):
        raise ParameterError(
            "protect must be Readings(k), Days(k) or System(), or a text such as 'days:1'"
        )
    place = None
    if not isinstance(weather, Weather) or not (site is latitude is longitude is None):
        place = Site.of(site, latitude=latitude, longitude=longitude, altitude=altitude)
    zone: Any = timezone
    reading = MeterOptions(
        power_unit=power_unit, timezone=zone, label=label, net=net, cleaning="each"
    )
    record = record_of(readings, reading, times=times)
    weather = _weather_of(record, weather, place, cache)
    if mechanism is Mechanism.PAPER:
        return _by_paper(record, weather, unit=unit, mechanism=DPBO(epsilon, _delta(delta)))
    if delta is not None:
        raise ParameterError("delta is for the paper's mechanism only; the others have none")
    if isinstance(unit, System) and mechanism is Mechanism.EXPONENTIAL:
        raise ParameterError(
            "a whole system is released by the window, which is the default mechanism"
        )
    if frame is None:
        time_grid = time_grid_of(prepared(record), longitude=weather.site.longitude)
        # pairs and trackers are not modelled where they cannot be distinguished
        asked = (choices or Choices()).for_meter(net=record.net)
        asked = asked.affordable(unit, epsilon, time_grid)
        frame = make_frame(weather, time_grid, asked, cache=cache)
    elif choices is not None and choices.for_meter(net=record.net) != frame.choices:
        raise ParameterError("give the choices or a frame made with them, not two that differ")
    elif (frame.weather.site, frame.weather.clear) != (weather.site, weather.clear):
        raise ParameterError("the frame was made for another place or another kind of weather")
    frame = frame.resolved(unit, epsilon, differenced=record.differenced)
    expected = expected or typical_errors(
        frame.time_grid,
        frame.choices,
        clear=frame.weather.clear,
        protect=unit,
        epsilon=epsilon,
        differenced=record.differenced,
        shifts=record.label_shifts,
        latitude=weather.site.latitude,
    )
    return draw_release(
        score_record(frame, record, unit),
        frame,
        epsilon=epsilon,
        exponential=mechanism is Mechanism.EXPONENTIAL,
        expected=expected,
    )


def _weather_of(
    record: Record,
    given: str | os.PathLike[str] | Weather | pd.DataFrame,
    place: Site | None,
    cache: WeatherCache | None,
) -> Weather:
    """Return the weather over a record, from its span and place alone, which its clock must fit."""
    if isinstance(given, Weather):
        check_clock(record, given.site.longitude)
    else:
        assert place is not None
        check_clock(record, place.longitude)
        first, last = (pd.Timestamp(end, tz="UTC") for end in record.extent)
        return get_weather(given, place, first - MARGIN, last + MARGIN, cache=cache)
    own = given.site
    if place is not None and (place.latitude, place.longitude) != (own.latitude, own.longitude):
        raise ParameterError(
            "the weather is of another place than the system: leave the place out, or give weather"
            " of it"
        )
    return given


def _by_paper(record: Record, weather: Weather, *, unit: Unit, mechanism: DPBO) -> Release:
    if unit != Readings(1):
        raise ParameterError("the paper's mechanism protects one reading: use the unit readings:1")
    if record.net:
        raise ParameterError(
            "the paper's mechanism takes a meter of generation, and this one is declared net: take"
            " the default mechanism"
        )
    if record.differenced:
        raise ParameterError(
            "the paper's mechanism protects one reading, and one reading of a register is part of"
            " two differences: take the default mechanism, which counts it so"
        )
    prepared(record)  # refuses a record that was cleaned as a whole
    score = posterior(record, weather, delta=mechanism.delta)
    guarantee = mechanism.guarantee(score)
    plane = paper_grid()[mechanism.draw(score)]
    return Release(
        surface_azimuth=plane.surface_azimuth,
        surface_tilt=plane.surface_tilt,
        dc_capacity_kw=None,
        guarantee=guarantee,
        mechanism="paper",
        public={"steps": score.steps, "bound": mechanism.bound.value},
    )


def _delta(delta: float | None) -> float:
    return DELTA if delta is None else delta
