"""Statistics of real fleets, fault rates, system truth."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np

from sunveil._options import HIGHEST_SEED, check_fields, checked, number, whole
from sunveil.errors import ParameterError
from sunveil.site import Losses, Mount, Plane, Site


class SimulatedClock(StrEnum):
    """How a system's clock differs from the UTC that its file declares."""

    DECLARED = "declared"
    HOUR_FAST = "hour_fast"
    HOUR_SLOW = "hour_slow"
    HALF_HOUR_FAST = "half_hour_fast"
    HALF_HOUR_SLOW = "half_hour_slow"
    DAYLIGHT_SAVING = "daylight_saving"
    LABEL_END = "label_end"
    LABEL_MIDDLE = "label_middle"


def _rate(default: float, words: str) -> Any:
    """Declare a rate with its default and what the README of a fleet says of it."""
    return field(default=default, metadata={"words": words})


@dataclass(frozen=True, slots=True)
class FaultRates:
    """How often and how badly the systems of a simulated fleet go wrong."""

    noise: float = _rate(0.02, "median relative error of a reading")
    noise_spread: float = _rate(0.4, "lognormal spread of that error between systems")
    loss_spread: float = _rate(0.03, "standard deviation of system losses about the nominal ones")
    hour_fast: float = _rate(0.02, "share of clocks an hour fast")
    hour_slow: float = _rate(0.02, "share of clocks an hour slow")
    half_hour_fast: float = _rate(0.01, "share of clocks half an hour fast")
    half_hour_slow: float = _rate(0.01, "share of clocks half an hour slow")
    daylight_saving: float = _rate(
        0.04, "share of clocks with daylight saving left in, where the place saves it"
    )
    label_end: float = _rate(0.02, "share of systems stamped at the end of the interval")
    label_middle: float = _rate(0.02, "share of systems stamped at the middle of the interval")
    clock_steps: float = _rate(0.03, "share of clocks that step by an hour on one day")
    oversized: float = _rate(0.02, "share of systems with 1.4 to 1.8 times the inverter's capacity")
    shaded: float = _rate(0.12, "share of systems with an obstacle on the sun's side")
    east_west: float = _rate(0.03, "share of systems on both sides of a ridge")
    hipped: float = _rate(0.03, "share of systems on two sides around a corner")
    trackers: float = _rate(0.005, "share of systems that follow the sun")
    late: float = _rate(0.07, "share of records that begin within the year")
    short: float = _rate(0.007, "share of records of 4 to 40 days")
    hour_gaps: float = _rate(4.0, "gaps of 1 to 12 hours, a year")
    day_gaps: float = _rate(1.0, "gaps of 1 to 7 days, a year")
    week_gaps: float = _rate(0.06, "gaps of 1 to 8 weeks, a year")
    down_days: float = _rate(0.5, "times at zero for 1 to 5 days, a year")
    down_weeks: float = _rate(0.03, "times at zero for 1 to 6 weeks, a year")
    snowfall: float = _rate(
        0.3, "chance that a dull day below freezing covers the modules with snow"
    )
    uneven: float = _rate(0.5, "shape of the gamma distribution of gaps between systems")
    soiling: float = _rate(0.0005, "median loss by each day without rain")
    soiling_spread: float = _rate(0.86, "lognormal spread of that loss between systems")
    dry_seasons: float = _rate(0.3, "share of cells without rain for four to six months")
    degradation: float = _rate(0.0072, "median loss by each year of age")
    degradation_spread: float = _rate(0.004, "standard deviation of that loss between systems")
    oldest_years: float = _rate(10.0, "age of the oldest systems, in years")
    skylines: float = _rate(0.65, "share of systems with hills, trees and houses around them")
    turbidity_season: float = _rate(
        0.15, "lognormal spread of the season of turbidity about the maps'"
    )
    climate: float = _rate(
        1.5, "standard deviation of the swing of temperature about its latitude's, in K"
    )
    smog: float = _rate(0.04, "share of cells where haze takes half of the light in winter")
    dead_strings: float = _rate(0.03, "share of systems that lose a string for 2 to 10 months")
    negative: float = _rate(0.03, "share of systems that read below zero by day for 3 to 40 days")
    stuck: float = _rate(0.03, "share of systems that repeat one reading for up to 10 days")
    wrong_scale: float = _rate(0.01, "share of systems that have a month in a wrong scale")
    sentinels: float = _rate(0.05, "share of systems that write -999 or -9999 for missing readings")

    def __post_init__(self) -> None:
        check_fields(self)

    def with_mix(
        self, *, two_planes: float | None = None, trackers: float | None = None
    ) -> FaultRates:
        """Return the same rates for another mix of systems."""
        ridge, corner = (
            (self.east_west, self.hipped) if two_planes is None else (two_planes / 2,) * 2
        )
        turning = self.trackers if trackers is None else trackers
        if min(ridge, corner, turning) < 0.0 or ridge + corner > 1.0 or turning > 1.0:
            raise ParameterError("shares of two planes and of trackers must be from 0 to 1")
        return replace(self, east_west=ridge, hipped=corner, trackers=turning)

    @property
    def clocks(self) -> dict[SimulatedClock, float]:
        """The share of each clock; they add up to 1."""
        wrong = {
            SimulatedClock.HOUR_FAST: self.hour_fast,
            SimulatedClock.HOUR_SLOW: self.hour_slow,
            SimulatedClock.HALF_HOUR_FAST: self.half_hour_fast,
            SimulatedClock.HALF_HOUR_SLOW: self.half_hour_slow,
            SimulatedClock.DAYLIGHT_SAVING: self.daylight_saving,
            SimulatedClock.LABEL_END: self.label_end,
            SimulatedClock.LABEL_MIDDLE: self.label_middle,
        }
        return {SimulatedClock.DECLARED: 1.0 - sum(wrong.values()), **wrong}


REAL_FLEET = FaultRates()

# What a fleet had before it learnt from real records: meters and clocks go wrong, and no more.
PLAIN_FLEET = replace(
    REAL_FLEET,
    **dict.fromkeys(
        (
            "label_middle",
            "clock_steps",
            "soiling",
            "dry_seasons",
            "degradation",
            "degradation_spread",
            "oldest_years",
            "skylines",
            "turbidity_season",
            "climate",
            "smog",
            "dead_strings",
            "negative",
            "stuck",
            "wrong_scale",
            "sentinels",
        ),
        0.0,
    ),
)

# Noise stays: no meter is without it. Spreads of what is 0 do nothing.
CLEAN_FLEET = replace(
    REAL_FLEET,
    **{
        name: 0.0
        for name in FaultRates.__dataclass_fields__
        if name not in ("noise", "noise_spread", "uneven")
    },
)

# What of the rates is a mix of systems rather than a fault.
MIX = ("east_west", "hipped", "trackers")
REALISM = {"real": REAL_FLEET, "plain": PLAIN_FLEET, "clean": CLEAN_FLEET}
"""How like a real fleet a simulated one is to be, by name."""


# What Sandia's temperature model calls the mounts that systems are drawn with.
SAPM_MOUNTS = {Mount.ROOF: "close_mount_glass_glass", Mount.RACK: "open_rack_glass_polymer"}


@dataclass(frozen=True, slots=True)
class Tracker:
    """A mount that follows the sun; the planes of its system are ignored."""

    dual_axis: bool = False  # true to face the sun, False to turn about one horizontal axis
    backtrack: bool = True  # turn back at low sun so that rows do not shade each other
    axis_azimuth: float = 180.0  # [degrees] direction of the axis
    max_angle: float = 60.0  # [degrees] farthest turn from horizontal
    gcr: float = 0.35  # ground coverage ratio

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True)
class SystemTruth:
    """Everything that is true of a simulated system."""

    system_id: str  # its name
    site: Site  # where it is
    # Planes with the share of the capacity on each; the shares add up to 1
    planes: tuple[tuple[Plane, float], ...]
    dc_capacity_kw: float  # DC nameplate capacity [kW]
    dc_ac_ratio: float = 1.2  # DC capacity over the inverter's AC limit
    # System losses, nominal inverter efficiency and temperature coefficient
    losses: Losses = field(default_factory=Losses)
    albedo: float = 0.2  # reflectivity of the ground
    mount: Mount = Mount.ROOF  # how the modules are mounted: on a roof or on a rack
    tracker: Tracker | None = None  # what follows the sun, if anything does
    timezone: str = "UTC"  # the clock on the wall

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.planes or abs(sum(share for _, share in self.planes) - 1.0) > 1e-9:
            raise ParameterError(
                f"the shares of the planes of {self.system_id} must add up to 1; divide them by"
                " their sum"
            )
        if not (self.dc_capacity_kw > 0.0 and self.dc_ac_ratio > 0.0):
            raise ParameterError(
                f"dc_capacity_kw and dc_ac_ratio of {self.system_id} must be positive"
            )
        if self.mount not in SAPM_MOUNTS:
            raise ParameterError(f"the mount of {self.system_id} must be a roof or a rack")

    @property
    def plane(self) -> Plane:
        """The plane with the largest share."""
        return max(self.planes, key=lambda pair: pair[1])[0]

    @property
    def ac_limit_kw(self) -> float:
        """What the inverter gives at most [kW]."""
        return self.dc_capacity_kw / self.dc_ac_ratio

    @property
    def gamma_pdc(self) -> float:
        """Temperature coefficient of DC power [1/°C]."""
        return self.losses.gamma_pdc


@dataclass(frozen=True, slots=True)
class FleetStatistics:
    """How the systems of a public list face, and how large they are."""

    azimuths: tuple[float, ...]
    bin_spread: float | None  # [degrees]
    tilts: tuple[float, ...]  # weights of the tilts between `TILT_EDGES`
    median_kw: float  # [kW, 1] median and lognormal spread of residential capacities
    spread: float  # [kW, 1] median and lognormal spread of residential capacities
    largest_home_kw: float  # [kW] where residential capacities end
    commercial: float
    median_mwh: float  # [MWh] median of what homes with such systems use in a year


@dataclass(frozen=True, slots=True)
class City:
    """A place that simulated systems are drawn at."""

    name: str  # what it is called
    site: Site  # where it is
    timezone: str  # the clock on the wall there
    statistics: FleetStatistics  # how its systems face and how large they are

    def __post_init__(self) -> None:
        check_fields(self)


TILT_EDGES = (0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0, 50.0, 60.0, 75.0)

US = FleetStatistics(
    azimuths=(0.028, 0.005, 0.049, 0.119, 0.535, 0.190, 0.068, 0.007),
    bin_spread=6.0,
    tilts=(0.039, 0.025, 0.065, 0.189, 0.243, 0.122, 0.179, 0.066, 0.043, 0.025, 0.001, 0.003),
    median_kw=7.0,
    spread=0.47,
    largest_home_kw=20.0,
    commercial=0.045,
    median_mwh=9.5,
)

EUROPE = FleetStatistics(
    azimuths=(0.002, 0.008, 0.064, 0.205, 0.385, 0.231, 0.094, 0.012),
    bin_spread=None,
    tilts=(0.072, 0.034, 0.042, 0.047, 0.063, 0.103, 0.122, 0.115, 0.139, 0.109, 0.105, 0.049),
    median_kw=2.2,
    spread=0.35,
    largest_home_kw=7.5,
    commercial=0.0,
    median_mwh=4.2,
)


def _city(name: str, latitude: float, longitude: float, *, height: float, zone: str) -> City:
    statistics = US if zone.startswith("America/") else EUROPE
    return City(name, Site(latitude, longitude, height), zone, statistics)


CITIES = (
    _city("Phoenix", 33.45, -112.07, height=331, zone="America/Phoenix"),
    _city("Los Angeles", 34.05, -118.24, height=89, zone="America/Los_Angeles"),
    _city("San Francisco", 37.77, -122.42, height=16, zone="America/Los_Angeles"),
    _city("Sacramento", 38.58, -121.49, height=9, zone="America/Los_Angeles"),
    _city("Seattle", 47.61, -122.33, height=54, zone="America/Los_Angeles"),
    _city("Denver", 39.74, -104.99, height=1609, zone="America/Denver"),
    _city("Albuquerque", 35.08, -106.65, height=1510, zone="America/Denver"),
    _city("Austin", 30.27, -97.74, height=149, zone="America/Chicago"),
    _city("Minneapolis", 44.98, -93.27, height=253, zone="America/Chicago"),
    _city("Chicago", 41.88, -87.63, height=181, zone="America/Chicago"),
    _city("Atlanta", 33.75, -84.39, height=320, zone="America/New_York"),
    _city("Orlando", 28.54, -81.38, height=25, zone="America/New_York"),
    _city("Raleigh", 35.78, -78.64, height=96, zone="America/New_York"),
    _city("New York", 40.71, -74.01, height=10, zone="America/New_York"),
    _city("Boston", 42.36, -71.06, height=14, zone="America/New_York"),
    _city("London", 51.51, -0.13, height=15, zone="Europe/London"),
    _city("Manchester", 53.48, -2.24, height=38, zone="Europe/London"),
    _city("Edinburgh", 55.95, -3.19, height=47, zone="Europe/London"),
    _city("Utrecht", 52.09, 5.12, height=5, zone="Europe/Amsterdam"),
    _city("Berlin", 52.52, 13.40, height=34, zone="Europe/Berlin"),
    _city("Munich", 48.14, 11.58, height=519, zone="Europe/Berlin"),
    _city("Lyon", 45.76, 4.84, height=173, zone="Europe/Paris"),
    _city("Turin", 45.07, 7.69, height=239, zone="Europe/Rome"),
    _city("Madrid", 40.42, -3.70, height=667, zone="Europe/Madrid"),
    _city("Almeria", 36.84, -2.46, height=27, zone="Europe/Madrid"),
)

# More than any utility has; a list of more would not fit into memory.
MOST_SYSTEMS = 100_000_000


@checked
def draw_systems(n: int, *, seed: int, loss_spread: float = 0.0) -> list[SystemTruth]:
    """Return systems drawn like a real fleet, one fixed plane each."""
    whole("n", n, low=1, high=MOST_SYSTEMS)
    whole("seed", seed, low=0, high=HIGHEST_SEED)
    number("loss_spread", loss_spread, low=0.0, high=1.0)
    width = len(str(n))
    streams = np.random.SeedSequence(seed).spawn(n)
    return [
        _draw_system(np.random.default_rng(stream), f"sim-{i + 1:0{width}d}", loss_spread)
        for i, stream in enumerate(streams)
    ]


@checked
def east_west(truth: SystemTruth, *, share: float = 0.5) -> SystemTruth:
    """Return a system turned into an east-west pair about its ridge, ``share`` on its own side."""
    plane = truth.plane
    other = Plane(plane.surface_azimuth + 180.0, plane.surface_tilt)
    return replace(truth, planes=((plane, share), (other, 1.0 - share)))


@checked
def tracking(truth: SystemTruth, tracker: Tracker) -> SystemTruth:
    """Return a system put on an open tracker."""
    return replace(truth, tracker=tracker, mount=Mount.RACK)


def _draw_system(rng: np.random.Generator, system_id: str, loss_spread: float) -> SystemTruth:
    city = CITIES[rng.integers(len(CITIES))]
    commercial = bool(rng.random() < city.statistics.commercial)
    system = float(np.clip(Losses().system + loss_spread * rng.standard_normal(), -0.15, 0.4))
    gamma = float(np.clip(rng.normal(-0.0040, 0.0004), -0.0055, -0.0025))
    return SystemTruth(
        system_id=system_id,
        site=city.site,
        planes=((_draw_plane(rng, city.statistics), 1.0),),
        dc_capacity_kw=_draw_capacity(rng, city.statistics, commercial=commercial),
        dc_ac_ratio=float(rng.uniform(1.0, 1.3)),
        losses=Losses(system=system, gamma_pdc=gamma),
        albedo=float(rng.uniform(0.15, 0.25)),
        mount=Mount.ROOF if rng.random() < (0.3 if commercial else 0.75) else Mount.RACK,
        timezone=city.timezone,
    )


def _draw_plane(rng: np.random.Generator, statistics: FleetStatistics) -> Plane:
    weights = np.array(statistics.azimuths)
    centre = 45.0 * rng.choice(len(weights), p=weights / weights.sum())
    spread = statistics.bin_spread
    within = rng.uniform(-22.5, 22.5) if spread is None else spread * rng.standard_normal()
    weights = np.array(statistics.tilts)
    bin_ = rng.choice(len(weights), p=weights / weights.sum())
    return Plane(float(centre + within), rng.uniform(TILT_EDGES[bin_], TILT_EDGES[bin_ + 1]))


def _draw_capacity(
    rng: np.random.Generator, statistics: FleetStatistics, *, commercial: bool
) -> float:
    if commercial:
        return float(np.exp(rng.uniform(np.log(20.0), np.log(1000.0))))
    home = statistics.median_kw * np.exp(statistics.spread * rng.standard_normal())
    return float(np.clip(home, 1.0, statistics.largest_home_kw))
