"""Systems drawn like a real fleet.

The weights below are shares counted in two public lists of systems. US: OEDI's PVDAQ list (1,298
fixed systems with azimuth and tilt; 266 rows more say a tilt of exactly 1 degree, taken for a
placeholder and left out). Its azimuths stand in 45 degree bins, which are smeared here by 6
degrees. Europe: Open Climate Fix's list of 1,274 UK systems, whose planes are inferred and fill
their bins evenly.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from sunveil.arguments import HIGHEST_SEED, check_fields, number, whole
from sunveil.checked import checked
from sunveil.errors import ParameterError
from sunveil.site import Losses, Mount, Plane, Site

# What Sandia's temperature model calls the mounts that systems are drawn with.
SAPM_MOUNTS = {
    Mount.ROOF: "close_mount_glass_glass",
    Mount.RACK: "open_rack_glass_polymer",
}


@dataclass(frozen=True, slots=True)
class Tracker:
    """A mount that follows the sun; the planes of its system are ignored.

    Parameters
    ----------
    dual_axis
        True to face the sun, False to turn about one horizontal axis.
    backtrack
        Turn back at low sun so that rows do not shade each other.
    axis_azimuth
        Direction of the axis. [degrees]
    max_angle
        Farthest turn from horizontal. [degrees]
    gcr
        Ground coverage ratio.
    """

    dual_axis: bool = False
    backtrack: bool = True
    axis_azimuth: float = 180.0
    max_angle: float = 60.0
    gcr: float = 0.35

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True)
class SystemTruth:
    """Everything that is true of a simulated system.

    Parameters
    ----------
    system_id
        Its name.
    site
        Where it is.
    planes
        Planes with the share of the capacity on each; the shares add up to 1.
    dc_capacity_kw
        DC nameplate capacity. [kW]
    dc_ac_ratio
        DC capacity over the inverter's AC limit.
    losses
        System losses, nominal inverter efficiency and temperature coefficient.
    albedo
        Reflectivity of the ground.
    mount
        How the modules are mounted: on a roof or on a rack.
    tracker
        What follows the sun, if anything does.
    timezone
        The clock on the wall.
    """

    system_id: str
    site: Site
    planes: tuple[tuple[Plane, float], ...]
    dc_capacity_kw: float
    dc_ac_ratio: float = 1.2
    losses: Losses = field(default_factory=Losses)
    albedo: float = 0.2
    mount: Mount = Mount.ROOF
    tracker: Tracker | None = None
    timezone: str = "UTC"

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
    """How the systems of a public list face, and how large they are.

    Parameters
    ----------
    azimuths
        Weights of the 45 degree bins around north, north-east, and so on clockwise.
    bin_spread
        Standard deviation within a bin; None to fill the bin evenly. [degrees]
    tilts
        Weights of the tilts between ``TILT_EDGES``.
    median_kw, spread
        Median and lognormal spread of residential capacities. [kW, 1]
    largest_home_kw
        Where residential capacities end. [kW]
    commercial
        Share of commercial systems, evenly spread in the logarithm from 20 kW to 1 MW.
    median_mwh
        Median of what homes with such systems use in a year. [MWh]
    """

    azimuths: tuple[float, ...]
    bin_spread: float | None
    tilts: tuple[float, ...]
    median_kw: float
    spread: float
    largest_home_kw: float
    commercial: float
    median_mwh: float


@dataclass(frozen=True, slots=True)
class City:
    """A place that simulated systems are drawn at.

    Parameters
    ----------
    name
        What it is called.
    site
        Where it is.
    timezone
        The clock on the wall there.
    statistics
        How its systems face and how large they are.
    """

    name: str
    site: Site
    timezone: str
    statistics: FleetStatistics

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
    """Return systems drawn like a real fleet, one fixed plane each.

    Parameters
    ----------
    n
        How many.
    seed
        The same seed gives the same systems.
    loss_spread
        Standard deviation of the system losses about the nominal ones of
        :class:`~sunveil.site.Losses`, on which nameplate capacity is defined; 0 for none.
    """
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
