"""``sunveil demo``: a fleet with known planes, inferred and reported on."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sunveil.cli.colour import say
from sunveil.cli.files import write_whole
from sunveil.cli.progress import compile_first
from sunveil.errors import ParameterError, SunveilError
from sunveil.extras import require_extras
from sunveil.privacy.units import Days
from sunveil.progress import progress

if TYPE_CHECKING:
    import pandas as pd

    from sunveil.report import Case
    from sunveil.simulate import City, SystemTruth

CITY = "Denver"
YEAR = 2019
SKY_MINUTES = 10
PROMISED, PUBLISHED = 2.0, 1.0
# From this many systems on, the last three show what real records suffer from.
FEWEST_WITH_FAULTS = 6


@click.command("demo", context_settings={"show_default": True})
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    default=Path("demo"),
    help="Folder for meters.csv, report.html and a publication; made if need be.",
)
@click.option("--systems", type=click.IntRange(1, 500), default=12, help="How many systems.")
@click.option("--seed", type=click.IntRange(min=0), default=1, help="Same seed, same fleet.")
def demo_command(out: Path, systems: int, seed: int) -> None:
    """Simulate a small fleet, infer it, write a report to look at, and publish it privately.

    All systems are at one site under one changing sky. The inference is given their meter file and
    the place, nothing else: its irradiance is the embedded clear sky. In a fleet of six or more
    the last three are a roof that faces both east and west, a system with too small an
    inverter, and one whose clock is an hour fast.
    """
    from sunveil.cli.truth import show_cases
    from sunveil.report import write_report

    require_extras("report", "publish", purpose="the demo")
    out = _folder(out)
    city = _city()
    truths, meters = _simulate(city, systems, seed, path=out / "meters.csv")
    cases = _infer(meters, city, truths)
    say(show_cases([(truths[case.estimate.system_id], case.estimate) for case in cases]))
    site = city.site
    click.echo(
        f"The same by hand: sunveil infer {shlex.quote(str(meters))} --latitude {site.latitude:g}"
        f" --longitude {site.longitude:g} --altitude {site.height:g}"
    )
    report = out / "report.html"
    write_report(report, cases)
    click.echo(f"Report: {report}")
    for line in _publish(meters, city, out, name=f"demo of {systems} systems, seed {seed}"):
        click.echo(line)


def _folder(out: Path) -> Path:
    if out.exists() and not out.is_dir():
        raise ParameterError(f"--out {out} is a file; name a folder")
    out.mkdir(parents=True, exist_ok=True)
    return out


def _city() -> City:
    from sunveil.simulate import CITIES

    return next(city for city in CITIES if city.name == CITY)


@dataclass(frozen=True, slots=True)
class DemoFault:
    """What is wrong with one system of the fleet; nothing by default.

    Parameters
    ----------
    change
        Changes the system itself.
    fast_minutes
        How far its clock is ahead. [minutes]
    """

    change: Callable[[SystemTruth], SystemTruth] = lambda truth: truth
    fast_minutes: float = 0.0


def _faults(systems: int) -> list[DemoFault]:
    from sunveil.simulate import clipped

    faults = [DemoFault(_two_roofs), DemoFault(clipped), DemoFault(fast_minutes=60.0)]
    if systems < FEWEST_WITH_FAULTS:
        return [DemoFault()] * systems
    return [DemoFault()] * (systems - len(faults)) + faults


def _two_roofs(truth: SystemTruth) -> SystemTruth:
    """Return a system on both sides of a ridge that runs north and south."""
    from sunveil.simulate import east_west
    from sunveil.site import Plane

    return east_west(replace(truth, planes=((Plane(90.0, 25.0), 1.0),)))


def _simulate(
    city: City, systems: int, seed: int, *, path: Path
) -> tuple[dict[str, SystemTruth], Path]:
    """Write the meter file of a simulated fleet, and return what is true of its systems."""
    from sunveil.simulate import draw_systems, fast_clock, simulate_power, simulate_sky

    sky = simulate_sky(city.site, YEAR, seed=seed, step_minutes=SKY_MINUTES)
    pairs = list(zip(draw_systems(systems, seed=seed), _faults(systems), strict=True))
    truths, readings = {}, {}
    for number, (drawn, fault) in enumerate(progress(pairs, "simulating", total=systems)):
        truth = fault.change(replace(drawn, site=city.site, timezone=city.timezone))
        power = simulate_power(truth, sky, seed=seed + number)
        truths[truth.system_id] = truth
        readings[truth.system_id] = fast_clock(power, fault.fast_minutes)
    write_whole(path, _long_csv(readings))
    return truths, path


def _long_csv(readings: dict[str, pd.Series[float]]) -> str:
    import pandas as pd

    lines = ["system_id,time,power_kw"]
    for system_id, power in readings.items():
        stamps = pd.DatetimeIndex(power.index).strftime("%Y-%m-%dT%H:%MZ")
        lines += [f"{system_id},{t},{p:.4f}" for t, p in zip(stamps, power, strict=True)]
    return "\n".join(lines) + "\n"


def _publish(meters: Path, city: City, out: Path, *, name: str) -> list[str]:
    """Publish the fleet under a promise, and return what to say of it."""
    from sunveil.cli.run import SiteWeather
    from sunveil.infer import record_span
    from sunveil.ledger.high_water import HighWaterMarks
    from sunveil.ledger.households import SystemHome
    from sunveil.ledger.ledger import Ledger
    from sunveil.ledger.promise import Promise
    from sunveil.meters import MeterOptions, read_meters
    from sunveil.meters.schema import schema_digest
    from sunveil.plots.publication import publication_figures
    from sunveil.publish.account import PublicationAccount
    from sunveil.publish.folder import write_publication
    from sunveil.publish.memory_systems import MemorySystems
    from sunveil.publish.systems import publish_systems
    from sunveil.publish.terms import ReleaseTerms

    # Each reading as it is: rules that look at a whole record would tell something of it.
    options = MeterOptions(cleaning="each")
    records = read_meters(meters, options)
    sky = SiteWeather("clearsky", city.site, [record_span(record) for record in records])
    weather = {record.system_id: sky.over(record_span(record)) for record in records}
    folder = _fresh(out, "publication")
    # One ledger for all runs into the same folder, and its mark beside it, so that both can be
    # thrown away together. The same fleet published again is the same draw, at no cost.
    path = out / "ledger.db"
    with Ledger(
        path, create=True, marks=HighWaterMarks(path.with_name(path.name + ".mark"))
    ) as ledger:
        if name not in {each.name for each in ledger.datasets()}:
            ledger.create_dataset(name, Promise(Days(1), PROMISED))
        systems = MemorySystems(records, lambda record: weather[record.system_id])
        # simulated ids are the same in every fleet, and their households are not
        homes = [SystemHome(each, f"{name}: {each}") for each in systems.about()]
        publication = publish_systems(
            ledger, name, systems, terms=ReleaseTerms.of(Days(1), PUBLISHED), homes=homes
        )
        account = PublicationAccount.of(ledger, name, publication, schema=schema_digest(options))
    figures = publication_figures(publication)
    write_publication(folder, publication, account=account, figures=figures)
    return [
        f"Promised: {account.promise}.",
        f"Published: {len(records)} rows at ε = {PUBLISHED:g} each; {account.remaining:g} is left.",
        f"Publication: {folder}",
    ]


def _fresh(out: Path, name: str) -> Path:
    """Return a folder that does not exist yet: what was published before is not replaced."""
    tried = [out / name, *(out / f"{name}-{number}" for number in range(2, 1000))]
    return next(path for path in tried if not path.exists())


def _infer(meters: Path, city: City, truths: dict[str, SystemTruth]) -> list[Case]:
    """Infer every system of the meter file under the embedded clear sky."""
    from sunveil.cli.run import SiteWeather
    from sunveil.infer import SiteSkies, infer_records, record_span
    from sunveil.meters import read_meters
    from sunveil.report import Case

    records, site = read_meters(meters), city.site
    weather = SiteWeather("clearsky", site, [record_span(record) for record in records])
    skies = SiteSkies(site.latitude, site.longitude, site.altitude)
    compile_first()
    found = progress(infer_records(records, skies), "inferring", total=len(records))
    cases = []
    for record, estimate in zip(records, found, strict=True):
        if isinstance(estimate, SunveilError):
            raise estimate
        sky = weather.over(record_span(record))
        truth = truths[record.system_id]
        cases.append(Case(truth=truth, record=record, weather=sky, estimate=estimate))
    return cases
