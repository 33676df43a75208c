"""``sunveil power``: from a publication to power by time and group."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sunveil.cli.options import WEATHER_OPTIONS, server_options, taking
from sunveil.errors import ParameterError
from sunveil.extras import require_extras

if TYPE_CHECKING:
    from sunveil.site import Site

STEPS = {"5min": 5, "10min": 10, "15min": 15, "30min": 30, "60min": 60, "1h": 60}
OWN_OPTIONS = (
    click.option("--start", required=True, help="First day or instant, in UTC: 2023-01-01."),
    click.option("--end", required=True, help="Day or instant after the last: 2024-01-01."),
    click.option("--latitude", type=float, help="Where the fleet is; north positive. [degrees]"),
    click.option("--longitude", type=float, help="East positive. [degrees]"),
    click.option("--altitude", type=float, help="Above the sea; looked up if left out. [m]"),
    click.option(
        "--places",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Where each group is instead: a CSV with group, latitude and longitude.",
    ),
    click.option(
        "--by",
        metavar="COLUMN|all",
        help="Public column that divides the fleet, such as feeder; all for one sum. As published"
        " if left out.",
    ),
    click.option(
        "--step", type=click.Choice(list(STEPS)), default="15min", help="Length of an interval."
    ),
    click.option(
        "--draws",
        type=click.IntRange(20, 5000),
        default=200,
        help="Fleets drawn for the band of nine in ten.",
    ),
    click.option("--seed", type=click.IntRange(min=0), default=0, help="Same seed, same band."),
    click.option("--zone", default="UTC", help="Time zone of the report, such as America/Denver."),
    click.option(
        "--opendss", is_flag=True, help="Write load shapes for OpenDSS too, in the folder opendss."
    ),
    click.option(
        "--out",
        type=click.Path(path_type=Path),
        metavar="FOLDER",
        required=True,
        help="A new folder: power.parquet, power.csv, power.json and report.html.",
    ),
)


@click.command("power", context_settings={"show_default": True})
@click.argument("publication", type=click.Path(path_type=Path))
@taking(WEATHER_OPTIONS, OWN_OPTIONS)
def power_command(publication: Path, **given: Any) -> None:
    """Say how much power the fleet in PUBLICATION gives, by time and group, with a band.

    PUBLICATION is a folder as publish wrote it or the service gave it, or a CSV or Parquet table
    with surface_azimuth, surface_tilt and dc_capacity_kw. Only published numbers and public weather
    are looked at: nothing is spent. The band holds nine in ten draws of fleets that agree with what
    was published and its stated noise, with the model's and the weather's errors.
    """
    from sunveil.power.exports import write_opendss
    from sunveil.power.make import power
    from sunveil.power.writing import PAGE, write_power
    from sunveil.report.power import write_power_page

    require_extras("publish", "report", purpose="power")
    out: Path = given["out"]
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ParameterError(f"--out {out} is there already; name a new folder")
    found = power(
        publication, _site(given), start=given["start"], end=given["end"],
        weather=given["weather"], by=given["by"], step_minutes=STEPS[given["step"]],
        draws=given["draws"], seed=given["seed"], **server_options(given["weather"], given),
    )  # fmt: skip
    files = write_power(found, out)
    write_power_page(out / PAGE, found, zone=given["zone"])
    if given["opendss"]:
        files += write_opendss(found, out / "opendss")
    hours = found.grid.step / 3600.0
    low, middle, high = (
        float(each.sum(dtype="float64")) * hours / 1e3
        for each in (found.low_kw, found.power_kw, found.high_kw)
    )
    click.echo(
        f"{middle:,.1f} MWh in {len(found.groups)} group{'s' * (len(found.groups) != 1)}; the ends"
        f" of the bands add up to {low:,.1f} and {high:,.1f} MWh."
    )
    click.echo(f"Wrote {len(files) + 1} files to {out}")


def _site(given: dict[str, Any]) -> Site | dict[str, Site]:
    """Return where the fleet is, or each of its groups."""
    from sunveil.site import Site

    one = given["latitude"], given["longitude"]
    if given["places"] is None:
        if None in one:
            raise ParameterError(
                "say where the fleet is with --latitude and --longitude, or where its groups are"
                " with --places"
            )
        return Site(*one, given["altitude"])
    if one != (None, None):
        raise ParameterError("give --places, or --latitude and --longitude, not both")
    try:
        with given["places"].open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        return {row["group"]: Site(float(row["latitude"]), float(row["longitude"])) for row in rows}
    except (KeyError, TypeError, ValueError):
        raise ParameterError(
            f"--places {given['places']} is not a CSV with group, latitude and longitude"
        ) from None
