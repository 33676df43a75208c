"""The system that the paper's section IV is done again on.

The paper's readings are not public. In their place stands a simulated system of the plane that its
system is reported to have, (270°, 18°), at the place of its other figures, over the same year; or
any meter file.
"""

from __future__ import annotations

from dataclasses import dataclass

from sunveil.meters import Record, from_pandas
from sunveil.simulate import Mount, SystemTruth, simulate_power, simulate_sky
from sunveil.site import Losses, Plane, Site
from sunveil.weather import Weather

CHINO = Site(34.0122, -117.6889)
YEAR = 2016
PLANE = Plane(270.0, 18.0)
CAPACITY_KW = 5.0
SEED = 2016


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
    """

    record: Record
    weather: Weather
    reported: Plane | None
    words: str
    private: bool


def simulated_subject(*, seed: int = SEED) -> Subject:
    """Return the simulated stand-in for the paper's system.

    A 5 kW system on a roof under a simulated sky at Chino over 2016: true irradiance every five
    minutes, hourly readings with 2% noise; the weather that the inference is given is a satellite's
    view of that sky with its errors, every half hour (see :mod:`sunveil.simulate`).
    """
    sky = simulate_sky(CHINO, YEAR, seed=seed)
    truth = SystemTruth(
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
    power = simulate_power(truth, sky, seed=seed)
    return Subject(
        record=from_pandas(power, system_id="chino", label="start"),
        weather=sky.satellite,
        reported=PLANE,
        words=(
            f"a simulated {CAPACITY_KW:g} kW system at azimuth 270°, tilt 18° in Chino, California,"
            f" hourly over {YEAR}, with 2% noise on each reading, under satellite-like weather with"
            " its errors"
        ),
        private=False,
    )
