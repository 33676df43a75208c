"""``sunveil simulate``: a fleet with a known truth, as a folder."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from sunveil.cli.options import choice
from sunveil.cli.progress import interruptible
from sunveil.errors import ParameterError
from sunveil.progress import progress


@click.command("simulate", context_settings={"show_default": True})
@click.option("--systems", type=click.IntRange(min=1), required=True, help="How many systems.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    required=True,
    help="Folder to be made, whole or not at all.",
)
@click.option("--seed", type=click.IntRange(min=0), default=1, help="Same seed, same bytes.")
@click.option(
    "--sites",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="CSV or Parquet with latitude and longitude, and maybe altitude, timezone, weight and"
    " name; that of --weather, or 25 cities, if left out.",
)
@click.option(
    "--weather",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Real weather in place of simulated skies, for systems about its site: NSRDB, PVGIS, TMY3,"
    " EPW or a table; a typical year is laid over the year.",
)
@click.option(
    "--cells",
    type=click.IntRange(min=1),
    help="How many weather cells of 0.1 degrees; one for every site and every 100 systems if"
    " left out.",
)
@click.option(
    "--year",
    type=int,
    help="Calendar year of the readings, in UTC; that of --weather, or 2019, if left out.",
)
@click.option(
    "--interval", type=choice("15", "30", "60"), default="60", help="Of the meters. [minutes]"
)
@click.option(
    "--layout",
    type=choice("long", "lists"),
    default="long",
    help="One row per reading, or one row per system with a list.",
)
@click.option("--faults/--no-faults", default=True, help="Faults of a real fleet, or noise alone.")
@click.option(
    "--plain",
    is_flag=True,
    help="Of these faults only those of clocks, outages, obstacles and snow: no dirt, age,"
    " skylines, smog, dead strings or faulty loggers.",
)
@click.option(
    "--two-planes",
    type=click.FloatRange(0.0, 1.0),
    metavar="SHARE",
    help="Share of systems on two planes, half of them about a ridge and half about a corner; 0.06,"
    " or none with --no-faults, if left out.",
)
@click.option(
    "--trackers",
    type=click.FloatRange(0.0, 1.0),
    metavar="SHARE",
    help="Share of systems that follow the sun, most of them about one axis; 0.005, or none with"
    " --no-faults, if left out.",
)
@click.option(
    "--net",
    type=click.FloatRange(0.0, 1.0),
    default=0.0,
    metavar="SHARE",
    help="Share of systems whose meter sees only generation less the load of a household.",
)
@click.option(
    "--batteries",
    type=click.FloatRange(0.0, 1.0),
    default=0.0,
    metavar="SHARE",
    help="Share of these households with a battery.",
)
@click.option(
    "--cars",
    type=click.FloatRange(0.0, 1.0),
    default=0.0,
    metavar="SHARE",
    help="Share of these homes with an electric car, charged in the evening, at night or at"
    " midday.",
)
@click.option(
    "--net-columns",
    type=choice("signed", "two", "export"),
    default="signed",
    help="Generation less load in one column; import and export in two; or export alone.",
)
@click.option("--replace", is_flag=True, help="Replace a simulated fleet that stands in FOLDER.")
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
    from sunveil.simulate.fleet_spec import FleetSpec, NetColumns, NetMix, ReadingsLayout
    from sunveil.simulate.places import read_places
    from sunveil.simulate.writing import check_folder, count_parts, write_fleet
    from sunveil.weather.files import read_weather

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
