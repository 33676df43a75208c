"""One call: readings and weather in, a private release out."""

from __future__ import annotations

import datetime as dt
import os
from enum import StrEnum
from typing import Any

import pandas as pd

from sunveil.arguments import instance, one_of, without_unit
from sunveil.errors import ParameterError
from sunveil.meters.given import ReadingsLike, record_of
from sunveil.meters.record import Record
from sunveil.paper import paper_grid, paper_score, posterior_score
from sunveil.privacy.dpbo import DPBO, PosteriorScore
from sunveil.privacy.guarantee import check_release_epsilon
from sunveil.privacy.units import Readings, System, Unit, parse_unit
from sunveil.releases.answer import ExpectedErrors, Release
from sunveil.releases.choices import Choices
from sunveil.releases.drawing import draw_release, score_record
from sunveil.releases.frame import Frame, check_clock, make_frame, prepared, time_grid_of
from sunveil.releases.typical import typical_errors
from sunveil.search.bayesopt import SearchSettings, search_bayesian
from sunveil.site import Site
from sunveil.weather import Weather, WeatherCache, get_weather

DELTA = 0.1
# What is asked for around a record, whose last day has night after it.
MARGIN = pd.Timedelta(days=2)


class Mechanism(StrEnum):
    """Which mechanism draws a release."""

    DEFAULT = "default"
    EXPONENTIAL = "exponential"
    PAPER = "paper"


@without_unit
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
    frame: Frame | None = None,
    expected: ExpectedErrors | None = None,
    cache: WeatherCache | None = None,
) -> Release:
    """Release azimuth, tilt and DC capacity of one system under differential privacy.

    Nothing is recorded: each call is a release of its own, and releases of one system add up.

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
        The privacy that this release costs.
    site, latitude, longitude, altitude, times, timezone
        As for :func:`sunveil.infer`. The clock is taken as declared.
    power_unit
        As for :func:`sunveil.infer`, but never taken from readings: a series without a unit in its
        name needs it.
    label
        Which instant of its interval a stamp names: ``start`` (or ``left``), ``middle``, ``end``
        (or ``right``). With ``auto`` nobody knows, and the errors that are stated beside the answer
        hold for each of the three.
    net
        Whether a series is generation less a household's load, above zero where power flows to the
        grid; a record says so itself. Nobody looks: where it cannot be told, the errors that are
        stated beside the answer are all that says so.
    mechanism
        ``default``: permute-and-flip, and the window for ``System()``; ``exponential``: the
        exponential mechanism, whose repeated use is cheaper to account; ``paper``: the paper's
        DP-BO, whose guarantee is conditional, and which releases no capacity.
    choices
        The public choices; the defaults when left out.
    delta
        δ of the paper's mechanism, 0.1 when left out; the others have none.
    frame
        A frame made before for the same weather, times and choices.
    expected
        The errors to expect, to be put beside the answer; typical ones when left out.
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
        ("frame", frame, Frame),
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
    record = record_of(
        readings,
        times=times,
        power_unit=power_unit,
        timezone=timezone,
        label=label,
        net=net,
        cleaning="each",
    )
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
        # of pairs and trackers nothing is modelled where they cannot be told
        asked = (choices or Choices()).for_meter(net=record.net)
        asked = asked.affordable(unit, epsilon, time_grid)
        frame = make_frame(weather, time_grid, asked, cache=cache)
    elif choices is not None and choices.for_meter(net=record.net) != frame.choices:
        raise ParameterError("give the choices or a frame made with them, not two that differ")
    elif (frame.weather.site, frame.weather.clear) != (weather.site, weather.clear):
        raise ParameterError("the frame was made for another place or another kind of weather")
    frame = frame.settled(unit, epsilon, differenced=record.differenced)
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


def posterior(record: Record, weather: Weather, *, delta: float) -> PosteriorScore:
    """Return what the paper's mechanism draws from: the posterior mean of GP-UCB after 100 steps.

    Parameters
    ----------
    record, weather
        The readings, and the weather over them.
    delta
        δ of the mechanism, which decides how wide GP-UCB looks.

    Privacy
    -------
    None: it is as private as the readings.
    """
    settings = SearchSettings(warm_start=0, delta=delta)
    return posterior_score(
        search_bayesian(paper_grid(), paper_score(record, weather), settings=settings)
    )


def _delta(delta: float | None) -> float:
    return DELTA if delta is None else delta
