"""``sunveil simulate``: a fleet with a known truth, as a folder."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from sunveil.cli.options import choice
from sunveil.cli.progress import interruptible, progress
from sunveil.errors import ParameterError


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
    " name; 25 cities if left out.",
)
@click.option(
    "--cells",
    type=click.IntRange(min=1),
    help="How many weather cells of 0.1 degrees; one for every site and every 100 systems if"
    " left out.",
)
@click.option("--year", type=int, default=2019, help="Calendar year of the readings, in UTC.")
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
@click.option("--replace", is_flag=True, help="Replace a simulated fleet that stands in FOLDER.")
def simulate_command(
    *,
    systems: int,
    out: Path,
    seed: int,
    sites: Path | None,
    cells: int | None,
    year: int,
    interval: str,
    layout: str,
    faults: bool,
    replace: bool,
) -> None:
    """Write a fleet of simulated systems, its meters and what is true of it.

    Orientation, tilt, capacity, noise, outages and clocks are spread as in a real fleet. The
    folder holds readings/*.parquet, systems.parquet, truth.parquet, fleet.json and a README.md
    that says what they are.
    """
    from sunveil.simulate.fleet_spec import FleetSpec, ReadingsLayout
    from sunveil.simulate.places import read_places
    from sunveil.simulate.writing import check_folder, count_parts, write_fleet

    check_folder(out, replace=replace)
    if sites is not None and out.resolve() in (sites.resolve(), *sites.resolve().parents):
        raise ParameterError(f"--sites {sites} is within --out {out}; write elsewhere")
    order = FleetSpec.of(
        systems,
        seed=seed,
        places=None if sites is None else read_places(sites),
        cells=cells,
        year=year,
        interval_minutes=int(interval),
        layout=ReadingsLayout(layout),
        faults=faults,
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
