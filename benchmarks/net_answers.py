"""What Sunveil says of net meters, kept in a folder by what was read and what read it."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import pandas as pd

import sunveil
from benchmarks.net_systems import KnownNet
from sunveil.engine import infer_generation, make_sky_table
from sunveil.errors import SunveilError
from sunveil.estimates.estimates_table import Estimate
from sunveil.estimates.flags_and_quality import Flag
from sunveil.estimates.inference_options import InferOptions
from sunveil.estimates.intervals_and_rounding import Interval
from sunveil.fleet.blocks import grid_of, on_grid
from sunveil.inference.fleet_part import SiteSkies
from sunveil.inference.infer import infer_records
from sunveil.meters import from_pandas
from sunveil.site import Plane, Site
from sunveil.weather import Weather


def code_digest() -> bytes:
    """Return what changes with the code that answers come of."""
    digest = hashlib.sha256()
    for name in ("engine", "meters", "weather", "."):
        for each in sorted((Path(sunveil.__file__).parent / name).glob("*.py")):
            digest.update(each.read_bytes())
    return digest.digest()


# Of the code as it was when it was loaded, whatever becomes of its files meanwhile.
CODE = code_digest()


@dataclass(frozen=True, slots=True)
class NetAnswer:
    """What was told of one meter; NaN and no quality where it was refused.

    Parameters
    ----------
    azimuth, tilt, capacity
        The plane and the capacity. [degrees, degrees, kW]
    azimuth_interval, tilt_interval, capacity_interval
        Their 90% intervals: lower and upper end.
    flags
        The flags raised.
    quality
        Good, fair or poor.
    self_consumption, mean_load
        What was told of the household: how much of the generation it used, and its load. [1, kW]
    """

    azimuth: float = math.nan
    tilt: float = math.nan
    capacity: float = math.nan
    azimuth_interval: tuple[float, float] = (math.nan, math.nan)
    tilt_interval: tuple[float, float] = (math.nan, math.nan)
    capacity_interval: tuple[float, float] = (math.nan, math.nan)
    flags: tuple[Flag, ...] = ()
    quality: str = ""
    self_consumption: float = math.nan
    mean_load: float = math.nan

    @property
    def refused(self) -> bool:
        """Whether there is no plane."""
        return not self.quality

    @property
    def plane(self) -> Plane:
        """The plane that was told."""
        return Plane(self.azimuth, self.tilt)

    @classmethod
    def of(cls, found: Estimate | SunveilError) -> NetAnswer:
        """Return what an inference gave; a fault of Sunveil's own is raised, being no refusal."""
        if isinstance(found, SunveilError):
            if "report it" in str(found):
                raise found
            return cls()
        household = found.household
        return cls(
            azimuth=found.surface_azimuth,
            tilt=found.surface_tilt,
            capacity=found.dc_capacity_kw,
            azimuth_interval=_ends(found.azimuth_interval),
            tilt_interval=_ends(found.tilt_interval),
            capacity_interval=_ends(found.capacity_interval),
            flags=found.flags,
            quality=found.quality.value,
            self_consumption=math.nan if household is None else household.self_consumption,
            mean_load=math.nan if household is None else household.mean_load_kw,
        )


Told = tuple[KnownNet, NetAnswer]
# From a known meter to the series that an inference is given.
Series = Callable[[KnownNet], pd.Series]


def net_series(system: KnownNet) -> pd.Series:
    """Return what the meter reads."""
    return system.net


def clipped_series(system: KnownNet) -> pd.Series:
    """Return what the meter reads with what is below nothing cut off."""
    return system.net.clip(lower=0.0)


def turned_series(system: KnownNet) -> pd.Series:
    """Return what a meter reads that counts what is taken from the grid as positive."""
    return -system.net


def answers(
    systems: Iterable[KnownNet],
    *,
    series: Series = net_series,
    folder: Path | None = None,
    workers: int = 2,
    **said: bool,
) -> list[Told]:
    """Return meters with what Sunveil tells of them, asked by some processes.

    Parameters
    ----------
    systems
        The meters.
    series
        What of each is given to the inference.
    folder
        Where answers are kept.
    workers
        How many processes.
    **said
        ``net``, ``negate`` and ``force``, where they differ from a meter said to be net.
    """
    known = list(systems)
    ask = partial(told_of, series=series, folder=folder, **{"net": True, **said})
    if len(known) < workers:
        return [(one, ask(one)) for one in known]
    with ProcessPoolExecutor(workers) as pool:
        return list(zip(known, pool.map(ask, known, chunksize=2), strict=True))


def told_of(
    system: KnownNet, *, series: Series = net_series, folder: Path | None = None, **said: bool
) -> NetAnswer:
    """Return what is told of one meter, or was told of the same readings by the same code.

    Parameters
    ----------
    system, series, folder, **said
        As for :func:`answers`.
    """
    power = series(system)
    return kept(
        folder,
        [power.to_numpy(), power.index.asi8, repr(system.site), sorted(said.items()),
         *([] if system.weather is None else [system.weather.ghi])],
        lambda: infer_series(power, system.site, weather=system.weather, **said),
    )  # fmt: skip


def infer_series(
    power: pd.Series,
    site: Site,
    *,
    weather: Weather | None = None,
    net: bool = True,
    negate: bool = False,
    force: bool = False,
) -> NetAnswer:
    """Return what Sunveil tells of a series.

    Parameters
    ----------
    power, site, weather
        The readings, their place, and the weather where the clear sky is not enough.
    net, negate, force
        As the command has them.
    """
    try:
        record = from_pandas(
            power, system_id="one", label="start", net=net, negate=negate, power_unit="kW"
        )
    except SunveilError as error:
        return NetAnswer.of(error)
    skies = SiteSkies(site.latitude, site.longitude, site.altitude, weather=weather or "clearsky")
    return NetAnswer.of(next(infer_records([record], skies, options=InferOptions(force=force))))


def infer_gross(power: pd.Series, site: Site) -> NetAnswer:
    """Return what the engine for meters of generation alone makes of a series, whatever it is.

    Parameters
    ----------
    power, site
        The readings and their place.
    """
    record = from_pandas(power, system_id="one", label="start", power_unit="kW")
    grid = grid_of(record)
    sky = make_sky_table(site, grid)
    found = infer_generation(on_grid([record], grid), sky, options=InferOptions(force=True))
    if found.outcome[0]:
        return NetAnswer()
    return NetAnswer(
        azimuth=float(found.surface_azimuth[0]),
        tilt=float(found.surface_tilt[0]),
        capacity=float(found.dc_capacity_kw[0]),
        quality="poor",
    )


def kept(
    folder: Path | None,
    given: Sequence[object],
    make: Callable[[], NetAnswer],
    *,
    code: bytes = CODE,
) -> NetAnswer:
    """Return an answer that a folder has of what was given, or make it and keep it.

    Parameters
    ----------
    folder
        Where answers are kept; none are without one.
    given
        What the answer comes of: arrays, and anything with a telling ``repr``.
    make
        Makes the answer.
    code
        What changes with the code that makes it.
    """
    if folder is None:
        return make()
    digest = hashlib.sha256(code)
    for each in given:
        digest.update(each.tobytes() if hasattr(each, "tobytes") else repr(each).encode())
    path = folder / f"net-{digest.hexdigest()[:24]}.json"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(make())), encoding="utf-8")
    row = json.loads(path.read_text(encoding="utf-8"))
    flags = tuple(Flag(each) for each in row.pop("flags"))
    return NetAnswer(**{name: _tuple(value) for name, value in row.items()}, flags=flags)


def _ends(interval: Interval) -> tuple[float, float]:
    return interval.low, interval.high


def _tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value
