"""Simulate, demo."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sunveil._extras import require_extras
from sunveil._files import progress, write_whole
from sunveil.cli._options import choice
from sunveil.cli._text import compile_first, interruptible, say
from sunveil.errors import ParameterError, SunveilError

if TYPE_CHECKING:
    import pandas as pd

    from sunveil.plots.html_report import Case
    from sunveil.simulate.fault_rates import City, SystemTruth


@click.command("simulate", context_settings={"show_default": True})
@click.option("--systems", type=click.IntRange(min=1), required=True, help="Number of systems.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    required=True,
    help="New folder, written completely or not at all.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=1,
    help="Random seed; the same seed gives the same bytes.",
)
@click.option(
    "--sites",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="CSV or Parquet with latitude and longitude and, optionally, altitude, timezone, weight"
    " and name; if not given, the site of --weather, or 25 cities.",
)
@click.option(
    "--weather",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Real weather instead of simulated skies, for systems near its site: NSRDB, PVGIS, TMY3,"
    " EPW or a table; a typical year is moved to the year.",
)
@click.option(
    "--cells",
    type=click.IntRange(min=1),
    help="Number of weather cells of 0.1 degrees; one per site and per 100 systems if not given.",
)
@click.option(
    "--year",
    type=int,
    help="Calendar year of the readings, in UTC; if not given, that of --weather, or 2019.",
)
@click.option(
    "--interval",
    type=choice("15", "30", "60"),
    default="60",
    help="Interval of the readings. [minutes]",
)
@click.option(
    "--layout",
    type=choice("long", "lists"),
    default="long",
    help="One row per reading, or one row per system with a list.",
)
@click.option("--faults/--no-faults", default=True, help="Faults of a real fleet, or only noise.")
@click.option(
    "--plain",
    is_flag=True,
    help="Only faults of clocks, outages, obstacles and snow: no dirt, ageing, skylines, smog, dead"
    " strings or faulty loggers.",
)
@click.option(
    "--two-planes",
    type=click.FloatRange(0.0, 1.0),
    metavar="SHARE",
    help="Share of systems with two planes, half about a ridge and half about a corner; if not"
    " given, 0.06, or 0 with --no-faults.",
)
@click.option(
    "--trackers",
    type=click.FloatRange(0.0, 1.0),
    metavar="SHARE",
    help="Share of systems on trackers, most of them single-axis; if not given, 0.005, or 0 with"
    " --no-faults.",
)
@click.option(
    "--net",
    type=click.FloatRange(0.0, 1.0),
    default=0.0,
    metavar="SHARE",
    help="Share of net meters: generation minus the load of a household.",
)
@click.option(
    "--batteries",
    type=click.FloatRange(0.0, 1.0),
    default=0.0,
    metavar="SHARE",
    help="Share of net meters with a battery.",
)
@click.option(
    "--cars",
    type=click.FloatRange(0.0, 1.0),
    default=0.0,
    metavar="SHARE",
    help="Share of net meters with an electric car, charged in the evening, at night or at midday.",
)
@click.option(
    "--net-columns",
    type=choice("signed", "two", "export"),
    default="signed",
    help="Columns of net meters: signed (generation minus load), two (import, export) or export.",
)
@click.option("--replace", is_flag=True, help="Replace a simulated fleet in FOLDER.")
def simulate_command(
    *,
    systems: int,
    out: Path,
    seed: int,
    sites: Path | None,
    weather: Path | None,
    cells: int | None,
    year: int | None,
    interval: str,
    layout: str,
    faults: bool,
    plain: bool,
    two_planes: float | None,
    trackers: float | None,
    net: float,
    batteries: float,
    cars: float,
    net_columns: str,
    replace: bool,
) -> None:
    """Write a fleet of simulated systems, its meters and what is true of it.

    Orientation, tilt, capacity, skylines, dirt, snow, age, outages, loggers and clocks are spread
    as in a real fleet. The folder holds readings/*.parquet, systems.parquet, truth.parquet,
    fleet.json and a README.md that says what they are. With --net, meters see what the loads of
    simulated households leave of the generation.
    """
    from sunveil.simulate.fault_rates import REALISM
    from sunveil.simulate.places import FleetSpec, NetColumns, NetMix, ReadingsLayout, read_places
    from sunveil.simulate.write_fleet import check_folder, count_parts, write_fleet
    from sunveil.weather.weather_files import read_weather

    check_folder(out, replace=replace)
    for name, file in (("--sites", sites), ("--weather", weather)):
        if file is not None and out.resolve() in (file.resolve(), *file.resolve().parents):
            raise ParameterError(f"{name} {file} is within --out {out}; write elsewhere")
    rates = REALISM["clean" if not faults else "plain" if plain else "real"]
    places = None if sites is None else read_places(sites)
    order = FleetSpec.of(
        systems,
        seed=seed,
        places=places,
        cells=cells,
        year=year,
        interval_minutes=int(interval),
        layout=ReadingsLayout(layout),
        rates=rates.with_mix(two_planes=two_planes, trackers=trackers),
        net=NetMix(net, batteries=batteries, cars=cars, columns=NetColumns(net_columns)),
        # a plain table of weather is of the first site
        weather=None
        if weather is None
        else read_weather(weather, site=places[0].site if places else None),
    )
    # closed at once if an interrupt comes, so that nothing half-made is left
    with interruptible() as stop, closing(write_fleet(out, order, replace=replace)) as parts:
        for _ in progress(parts, "simulating", total=count_parts(order), unit="file"):
            stop()
    click.echo(
        f"Wrote {order.systems:,} systems in {len(order.cells):,} weather cells, a reading every"
        f" {order.interval_minutes} minutes of {order.year}."
    )
    click.echo(f"Fleet: {out}")


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
@click.option("--systems", type=click.IntRange(1, 500), default=12, help="Number of systems.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=1,
    help="Random seed; the same seed gives the same fleet.",
)
def demo_command(out: Path, systems: int, seed: int) -> None:
    """Simulate a small fleet, infer it, write a report to look at, and publish it privately.

    All systems are at one site under one changing sky. The inference is given their meter file and
    the place, nothing else: its irradiance is the embedded clear sky. In a fleet of six or more
    the last three are a roof that faces both east and west, a system with too small an
    inverter, and one with a clock an hour fast.
    """
    from sunveil.cli._show_estimates import show_cases
    from sunveil.plots.html_report import write_report

    require_extras("publish", purpose="the demo")
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
    from sunveil.simulate.fault_rates import CITIES

    return next(city for city in CITIES if city.name == CITY)


@dataclass(frozen=True, slots=True)
class DemoFault:
    """What is wrong with one system of the fleet; nothing by default."""

    change: Callable[[SystemTruth], SystemTruth] = lambda truth: truth  # changes the system itself
    fast_minutes: float = 0.0  # [minutes] how far its clock is ahead


def _faults(systems: int) -> list[DemoFault]:
    from sunveil.simulate.roster import clipped

    faults = [DemoFault(_two_roofs), DemoFault(clipped), DemoFault(fast_minutes=60.0)]
    if systems < FEWEST_WITH_FAULTS:
        return [DemoFault()] * systems
    return [DemoFault()] * (systems - len(faults)) + faults


def _two_roofs(truth: SystemTruth) -> SystemTruth:
    """Return a system on both sides of a ridge that runs north and south."""
    from sunveil.simulate.fault_rates import east_west
    from sunveil.site import Plane

    return east_west(replace(truth, planes=((Plane(90.0, 25.0), 1.0),)))


def _simulate(
    city: City, systems: int, seed: int, *, path: Path
) -> tuple[dict[str, SystemTruth], Path]:
    """Write the meter file of a simulated fleet, and return what is true of its systems."""
    from sunveil.simulate.fault_rates import draw_systems
    from sunveil.simulate.roster import fast_clock
    from sunveil.simulate.simulated_sky import simulate_sky
    from sunveil.simulate.system_power import simulate_power

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
    from sunveil.fleet.open import open_fleet
    from sunveil.ledger.hash_chain import HighWaterMarks
    from sunveil.ledger.ledger import Ledger
    from sunveil.ledger.promises import Promise, SystemHome
    from sunveil.meters.reading_options import MeterOptions
    from sunveil.meters.schema_files import schema_digest
    from sunveil.plots.publication_figures import publication_figures
    from sunveil.privacy.guarantees import Days
    from sunveil.publication.publication_folder import write_publication
    from sunveil.publish.publisher import Publisher
    from sunveil.publish.system_rows import SystemRows
    from sunveil.releases.fleet_releases import ReleaseTerms, SystemsToRelease

    # Each reading as it is: rules that look at a whole record would tell something of it.
    options = MeterOptions(cleaning="each")
    with open_fleet(meters, site=city.site, reading=options) as fleet:
        systems = SystemsToRelease.of(fleet)
    folder = _fresh(out, "publication")
    # One ledger for all runs into the same folder, and its mark beside it, so that both can be
    # thrown away together. The same fleet published again is the same draw, at no cost.
    path = out / "ledger.db"
    with Ledger(
        path, create=True, marks=HighWaterMarks(path.with_name(path.name + ".mark"))
    ) as ledger:
        if name not in {each.name for each in ledger.datasets()}:
            ledger.create_dataset(name, Promise(Days(1), PROMISED))
        # simulated ids are the same in every fleet, and their households are not
        homes = [SystemHome(each, f"{name}: {each}") for each in systems.about()]
        publisher = Publisher(ledger, name, homes=homes)
        terms = ReleaseTerms.of(Days(1), PUBLISHED)
        publication = publisher.publish(SystemRows(systems, terms))
        account = publisher.account(publication, schema=schema_digest(options))
    figures = publication_figures(publication)
    write_publication(folder, publication, account=account, figures=figures)
    return [
        f"Promised: {account.promise}.",
        f"Published: {len(systems)} rows at ε = {PUBLISHED:g} each; {account.remaining:g} is left.",
        f"Publication: {folder}",
    ]


def _fresh(out: Path, name: str) -> Path:
    """Return a folder that does not exist yet: what was published before is not replaced."""
    tried = [out / name, *(out / f"{name}-{number}" for number in range(2, 1000))]
    return next(path for path in tried if not path.exists())


def _infer(meters: Path, city: City, truths: dict[str, SystemTruth]) -> list[Case]:
    """Infer every system of the meter file under the embedded clear sky."""
    from sunveil.fleet.blocks import record_span
    from sunveil.inference.fleet_part import SiteSkies
    from sunveil.inference.infer import infer_records
    from sunveil.meters.read_files import read_meters
    from sunveil.plots.html_report import Case
    from sunveil.weather.sources import SiteWeather

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
