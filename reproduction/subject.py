"""The system that the paper's section IV is done again on.

The paper's readings are not public. In their place stands a simulated system of the plane that its
system is reported to have, (270°, 18°), at the place of its other figures, over the same year; or
any meter file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from sunveil._options import check_fields, checked
from sunveil.errors import MeterError
from sunveil.estimates.inference_options import DayGroup
from sunveil.fleet.blocks import record_span
from sunveil.meters import MeterOptions, Record, from_pandas, read_meters
from sunveil.plots.style import place_name
from sunveil.simulate import SimulatedSky, SystemTruth, simulate_power, simulate_sky
from sunveil.site import Losses, Mount, Plane, Site
from sunveil.weather import Weather, get_weather

CHINO = Site(34.0122, -117.6889)
YEAR = 2016
PLANE = Plane(270.0, 18.0)
CAPACITY_KW = 5.0
SEED = 2016
# What clouds take at most for the misfit of the best candidate to be the paper's.
CLOUD_LOSS = 0.87


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A record, its weather, and what is known of the system.

    Parameters
    ----------
    record
        The readings.
    weather
        The weather that an inference may use.
    reported
        The plane that is known or reported, where one is.
    words
        What it is, in a sentence or two.
    private
        Whether the readings are somebody's.
    name
        What it is called in a table.
    group
        How its days are put into groups.
    """

    record: Record
    weather: Weather
    reported: Plane | None
    words: str
    private: bool
    name: str = "the system"
    group: DayGroup = DayGroup.MONTH

    def __post_init__(self) -> None:
        check_fields(self)

    def by_week(self) -> Subject:
        """Return the same system with its days in weeks, the paper's other grouping."""
        return replace(self, group=DayGroup.WEEK, name=f"{self.name}, weekly")


@checked
def simulated_subject(*, seed: int = SEED) -> Subject:
    """Return the simulated stand-in for the paper's system.

    A 5 kW system on a roof under a simulated sky at Chino over 2016: true irradiance every five
    minutes, hourly readings with 2% noise; the weather that the inference is given is a satellite's
    view of that sky with its errors, every half hour (see :mod:`sunveil.simulate`).
    """
    sky = subject_sky(seed)
    power = simulate_power(simulated_truth(), sky, seed=seed)
    return Subject(
        record=from_pandas(power, system_id="chino", label="start", power_unit="kW"),
        weather=sky.satellite,
        reported=PLANE,
        words=(
            f"a simulated {CAPACITY_KW:g} kW system at azimuth 270°, tilt 18° in Chino, California,"
            f" hourly over {YEAR}, with 2% noise on each reading, under satellite-like weather with"
            " its errors"
        ),
        private=False,
        name="simulated",
    )


@cache
def subject_sky(seed: int = SEED) -> SimulatedSky:
    """Return the sky that the simulated stand-in stands under, true and as a satellite sees it."""
    return simulate_sky(CHINO, YEAR, seed=seed)


def simulated_truth() -> SystemTruth:
    """Return the simulated stand-in: the plane that the paper's system is reported to have."""
    return SystemTruth(
        system_id="chino",
        site=CHINO,
        planes=((PLANE, 1.0),),
        dc_capacity_kw=CAPACITY_KW,
        dc_ac_ratio=1.1,
        losses=Losses(),
        albedo=0.2,
        mount=Mount.ROOF,
        tracker=None,
        timezone="Etc/GMT+8",
    )


def clouded(subject: Subject, *, loss: float = CLOUD_LOSS, seed: int = SEED) -> Subject:
    """Return a subject whose readings are dimmed by clouds that the weather knows nothing of.

    Each reading keeps a random share of itself, evenly spread between ``1 - loss`` and 1. With the
    loss that is taken unless told otherwise, the best candidate misfits the simulated subject by
    about 16% of a day's peak: as far as the paper's highest log-likelihood says of its system, if
    it is the fit score of twelve months.

    Parameters
    ----------
    subject
        The subject to begin from.
    loss
        The most that a cloud takes, as a share.
    seed
        The same seed gives the same clouds.
    """
    record = subject.record
    kept = 1.0 - loss * np.random.default_rng(seed).random(len(record.power_kw))
    return replace(
        subject,
        record=replace(record, power_kw=record.power_kw * kept),
        words=f"{subject.words}, each reading dimmed by up to {loss:.0%} by clouds unknown to it",
        name=f"{subject.name}, clouded",
    )


@checked
def meter_subject(
    meters: Path,
    site: Site,
    *,
    weather: str = "clearsky",
    reported: Plane | None = None,
    system: str | None = None,
    options: MeterOptions | None = None,
    weather_options: Mapping[str, Any] | None = None,
) -> Subject:
    """Return a system of a meter file, on the clock that the file declares: private.

    Parameters
    ----------
    meters
        The file, or a folder of files.
    site
        Where the system is.
    weather
        As for :func:`~sunveil.weather.get_weather`.
    reported
        The plane that it is said to have.
    system
        Which of the file's systems; needed if it has several.
    options
        How the file is read.
    weather_options
        Handed to the source of the weather.
    """
    record = _one(read_meters(meters, options or MeterOptions()), meters, system)
    found = get_weather(weather, site, *record_span(record), **(weather_options or {}))
    words = _words(record, found, site, meters=meters)
    if reported is not None:
        words += (
            f"; its reported plane is azimuth {reported.surface_azimuth:g}°,"
            f" tilt {reported.surface_tilt:g}°"
        )
    return Subject(record, found, reported, words, private=True, name=record.system_id)


def _words(record: Record, weather: Weather, site: Site, *, meters: Path) -> str:
    words = (
        f"the system {record.system_id} of {meters.name} at {place_name(site)}, with"
        f" readings every {record.interval_minutes:g} minutes from {_day(record.times[0])} to"
        f" {_day(record.times[-1])}, on the clock that the file declares ({record.timezone}), under"
        f" weather from {weather.source}"
    )
    if weather.times[-1] - weather.times[0] < record.times[-1] - record.times[0]:
        words += f" for {weather.times[0]:%Y-%m-%d} to {weather.times[-1]:%Y-%m-%d} of it"
    if weather.clear:
        words += (
            "; as every day looks clear in it, the paper's choice of clear days says nothing here"
        )
    return words


def _day(time: np.datetime64) -> str:
    return str(time)[:10]


def _one(records: list[Record], meters: Path, system: str | None) -> Record:
    """Return the record that is meant."""
    if system is None:
        if len(records) > 1:
            raise MeterError(
                f"{meters.name} has {len(records)} systems, such as {records[0].system_id};"
                " choose one with --system"
            )
        return records[0]
    for record in records:
        if record.system_id == system:
            return record
    raise MeterError(
        f"{meters.name} has no system {system!r}, but {len(records)} others, such as"
        f" {records[0].system_id}"
    )
