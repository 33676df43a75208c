"""Publish, power."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sunveil._extras import require_extras
from sunveil.cli._options import (
    CAPACITIES,
    PLACE,
    RELEASED_METERS,
    WEATHER,
    Group,
    GroupedCommand,
    choice,
    command,
    path_option,
    server_options,
    taking,
)
from sunveil.cli._text import counting, errors_line
from sunveil.cli.release import (
    PROTECT,
    RELEASED_FLEET,
    is_fleet_asked,
    make_choices,
    meter_options,
    opened_fleet,
    read_site,
)
from sunveil.errors import ParameterError

if TYPE_CHECKING:
    from sunveil.ledger.ledger import Ledger
    from sunveil.publication.published_tables import Publication
    from sunveil.publish.fleet_tables import Expected, TableChoices
    from sunveil.publish.publisher import Plan, Publisher
    from sunveil.releases.release_answer import ExpectedErrors
    from sunveil.site import Site


def say_plan(cost: float, remaining: float, *, kept: bool) -> None:
    """Say what a publication would cost, and what is left."""
    if kept:
        click.echo(f"Drawn before: it costs nothing. {remaining:g} is left.")
    elif cost == 0.0:
        click.echo(f"Charged before, not finished: it costs nothing more. {remaining:g} is left.")
    else:
        click.echo(f"It would cost {cost:g}; {remaining:g} is left before it.")


def say_systems(plan: Plan[ExpectedErrors], *, standing: bool) -> None:
    """Say what a publication of systems would cost and give."""
    if not standing:
        say_plan(plan.cost, plan.remaining, kept=plan.kept)
    else:
        click.echo(
            f"{plan.given_again:,} rows are given again at no cost; {plan.drawn:,} are drawn,"
            f" each at a cost of {plan.cost:g} to its own household."
        )
    click.echo(f"{plan.given_again + plan.drawn} systems. {errors_line(plan.expected)}")


def expected_table(expected: Sequence[Expected]) -> str:
    """Return the errors to expect of a fleet's tables, as a table."""
    from sunveil.cli._text import aligned

    head = ("table", "column", "cost", "error")
    rows = [
        (each.table, each.value, f"{each.cost:g}", f"{each.error:.3g} {each.unit}")
        for each in expected
    ]
    meanings = dict.fromkeys(f"Error in {each.unit}: {each.meaning}." for each in expected)
    return "\n".join([aligned([head, *rows]), *meanings])


def fleet_figures(publication: Publication) -> Mapping[str, Callable[[Any], None]]:
    """Return the figures of a fleet that is not divided: a map of its planes."""
    table = next((each for each in publication.tables if each.name == "planes"), None)
    if table is None or table.columns[0].name != "sector":
        return {}

    def planes(figure: Any) -> None:
        from sunveil.plots.publication_figures import plot_planes

        rows = [row for row in table.rows if row[0] != "unknown"]
        sectors = list(dict.fromkeys(row[0] for row in rows))
        bands = list(dict.fromkeys(row[1] for row in rows))
        counts = {(row[0], row[1]): row[2] for row in rows}
        plot_planes(
            [[counts[sector, band] for band in bands] for sector in sectors],
            sectors=sectors,
            bands=bands,
            sd=rows[0][4],
            ax=figure.add_subplot(),
        )

    return {"map-of-planes": planes}


LEDGER = Group(
    "Ledger",
    (
        click.option(
            "--ledger",
            required=True,
            envvar="SUNVEIL_LEDGER",
            show_envvar=True,
            metavar="FILE|URL",
            help="Ledger to charge: a file, or a postgresql:// URL.",
        ),
        click.option(
            "--dataset", required=True, help="Dataset to charge. Fails if its budget is too small."
        ),
        click.option(
            "--epsilon", type=float, required=True, help="Privacy cost of the publication."
        ),
        click.option("--analyst", help="Analyst to charge too, from the analyst's share."),
    ),
)

FOLDER = Group(
    "Output",
    (
        path_option("--out", "New folder, written completely or not at all.", metavar="FOLDER"),
        click.option(
            "--dry-run", is_flag=True, help="Print the cost and the expected errors; spend nothing."
        ),
    ),
)

EDITION = click.option(
    "--edition",
    default="1",
    help="Public name of the data, such as 2025. A different edition counts as a new release and is"
    " charged again.",
)


@click.group("publish")
def publish_command() -> None:
    """Publish a dataset under its promise: rows of systems, tables or a synthetic table."""


@publish_command.command("system", cls=GroupedCommand, context_settings={"show_default": True})
@click.argument("meters", type=click.Path(path_type=Path))
@taking(
    LEDGER,
    PLACE,
    RELEASED_METERS,
    WEATHER,
    Group(
        "Method",
        (
            PROTECT,
            click.option(
                "--mechanism",
                type=choice("default", "exponential", "permute-and-flip"),
                default="default",
                help="default: exponential under a promise with δ, where it costs a quarter, else"
                " permute-and-flip; the window for a whole record.",
            ),
            CAPACITIES,
            click.option(
                "--standing",
                is_flag=True,
                help="Repeat the rows of earlier years; draw and charge only new systems.",
            ),
            click.option(
                "--redraw",
                nargs=2,
                multiple=True,
                metavar="SYSTEM DAY",
                help="Draw a standing row again, because the roof is publicly known to have changed"
                " on that day; charged again.",
            ),
            click.option(
                "--keep-gone",
                is_flag=True,
                help="Also repeat standing rows of systems that are no longer listed.",
            ),
        ),
    ),
    RELEASED_FLEET,
    FOLDER,
)
@click.pass_context
def system_command(context: click.Context, /, meters: Path, **given: Any) -> None:
    """Publish one row per system in METERS, each named by a random release id.

    With --systems, METERS is a whole fleet, as for infer, each system released at its own place. A
    run that was stopped is taken up by the same command, without a second charge. With --standing,
    the same command each year gives the rows that were drawn before and charges new systems alone.
    """
    out = _target(given)
    from sunveil.meters.schema_files import schema_digest
    from sunveil.privacy.guarantees import parse_unit
    from sunveil.publish.publisher import Publisher, read_households
    from sunveil.publish.system_rows import SystemRows
    from sunveil.releases.fleet_releases import ReleaseTerms

    if (given["redraw"] or given["keep_gone"]) and not given["standing"]:
        raise ParameterError("--redraw and --keep-gone are for standing rows; add --standing")
    whole = is_fleet_asked(context)
    dataset = given["dataset"]
    unit, choices = parse_unit(given["protect"]), make_choices(given)
    with ExitStack() as held:
        ledger = held.enter_context(_opened(given["ledger"]))
        terms = ReleaseTerms.of(
            unit,
            given["epsilon"],
            mechanism=given["mechanism"],
            choices=choices,
            promise=ledger.dataset(dataset).promise,
        )
        # refused before any reading is looked at
        Publisher(ledger, dataset).affordable(terms.guarantee, terms.mechanism)
        if whole:
            # beside the folder to be made, so that a run that was stopped finds what it has drawn
            work = None if out is None else out.with_name(f".{out.name}.work")
            systems = held.enter_context(
                opened_fleet(meters, meter_options(given), given, work=work)
            )
        else:
            systems = read_site(meters, given)
        homes = read_households(given["systems"], given["system_column"]) if whole else ()
        if warning := ledger.two_keys_warning(dataset, homes):
            click.echo(f"sunveil: {warning}", err=True)
        publisher = Publisher(ledger, dataset, analyst=given["analyst"], homes=homes)
        with counting("drawing") as show:
            product = SystemRows(
                systems,
                terms,
                standing=given["standing"],
                redraw=dict(given["redraw"]),
                keep_gone=given["keep_gone"],
                on_progress=show,
            )
            if out is None:
                say_systems(publisher.plan(product), standing=product.standing)
                return
            publication = publisher.publish(product)
        _finish(publisher, out, publication, {}, schema=schema_digest(meter_options(given)))


@publish_command.command("fleet", cls=GroupedCommand, context_settings={"show_default": True})
@click.argument("estimates", type=click.Path(path_type=Path))
@taking(
    LEDGER,
    Group(
        "Tables",
        (
            click.option("--key", help="Public column that divides the fleet, such as feeder."),
            click.option("--keys", help="All values of the key, separated by commas."),
            EDITION,
            click.option("--sectors", type=int, default=8, help="Number of azimuth sectors."),
            click.option(
                "--tilt-edges", default="0,10,20,30,40,50,90", help="Edges of tilt bands. [degrees]"
            ),
            click.option(
                "--capacity-edges",
                default="0,3,5,7,10,20,1000",
                help="Edges of capacity classes. [kW]",
            ),
            click.option(
                "--tables",
                default="counts,totals,quantiles",
                help="Tables to publish, separated by commas: counts (sector, tilt and capacity"
                " together, with all their sums), planes, sectors, tilts, capacities, mounts (one"
                " plane, two, tracker), totals, quantiles. They share ε.",
            ),
            click.option(
                "--shares",
                help="Shares of ε, such as sectors=1,totals=3; by default 2 for counts and 1 for"
                " each other table.",
            ),
            click.option(
                "--clip",
                nargs=2,
                type=float,
                metavar="LOW HIGH",
                help="Public bounds of capacities in totals [kW]. If not given, the upper bound is"
                " chosen privately, for a third of the cost of totals.",
            ),
            click.option(
                "--largest",
                type=float,
                default=2000.0,
                metavar="KW",
                help="Largest possible capacity of a system: public, such as the largest connection"
                " allowed. [kW]",
            ),
        ),
    ),
    FOLDER,
)
def fleet_command(estimates: Path, **given: Any) -> None:
    """Publish the tables of the fleet in ESTIMATES that are bought: counts, totals, quantiles.

    ESTIMATES is what infer --json --out wrote, the folder that infer --systems wrote, or a CSV or
    Parquet table with system_id, surface_azimuth, surface_tilt, dc_capacity_kw and the key's
    column. The tables protect whole records.
    """
    out = _target(given)
    from sunveil.estimates.read_write import read_fleet
    from sunveil.publish.fleet_tables import FleetTables
    from sunveil.publish.publisher import Publisher

    choices = _table_choices(given)
    with _opened(given["ledger"]) as ledger:
        publisher = Publisher(ledger, given["dataset"], analyst=given["analyst"])
        publisher.plan(FleetTables(choices))  # refused before any row is looked at
        product = FleetTables(
            choices, read_fleet(estimates, keys=[choices.key] if choices.key else [])
        )
        if out is None:
            plan = publisher.plan(product)
            say_plan(plan.cost, plan.remaining, kept=plan.kept)
            click.echo(expected_table(plan.expected))
            return
        publication = publisher.publish(product)
        _finish(publisher, out, publication, fleet_figures(publication))


@publish_command.command("synthetic", cls=GroupedCommand, context_settings={"show_default": True})
@click.argument("estimates", type=click.Path(path_type=Path))
@taking(LEDGER, Group("Tables", (EDITION,)), FOLDER)
def synthetic_command(estimates: Path, **given: Any) -> None:
    """Publish a synthetic table that is like the fleet in ESTIMATES, and how well it keeps to it.

    It protects whole records, and needs the extra 'synthetic'.
    """
    out = _target(given, "synthetic")
    from sunveil.estimates.read_write import read_fleet
    from sunveil.publish.publisher import Publisher
    from sunveil.publish.synthetic_table import SyntheticTable

    product = SyntheticTable(given["epsilon"], read_fleet(estimates), edition=given["edition"])
    with _opened(given["ledger"]) as ledger:
        publisher = Publisher(ledger, given["dataset"], analyst=given["analyst"])
        plan = publisher.plan(product)
        if out is None:
            say_plan(plan.cost, plan.remaining, kept=plan.kept)
            for name, distance in plan.expected.items():
                click.echo(f"{name}: noise of {100.0 * distance:.1f}% of the systems")
            return
        _finish(publisher, out, publisher.publish(product), {})


def _table_choices(given: dict[str, Any]) -> TableChoices:
    from sunveil.publication.published_tables import Bins
    from sunveil.publish.fleet_tables import TableChoices

    keys = given["keys"]
    return TableChoices(
        bins=Bins(
            given["sectors"],
            _edges("--tilt-edges", given["tilt_edges"]),
            _edges("--capacity-edges", given["capacity_edges"]),
        ),
        epsilon=given["epsilon"],
        key=given["key"],
        keys=None if keys is None else tuple(each.strip() for each in keys.split(",")),
        tables=tuple(each.strip() for each in given["tables"].split(",")),
        shares=None if given["shares"] is None else _shares(given["shares"]),
        clip_kw=given["clip"],
        largest_kw=given["largest"],
        edition=given["edition"],
    )


def _edges(name: str, text: str) -> tuple[float, ...]:
    try:
        return tuple(float(each) for each in text.split(","))
    except ValueError:
        raise ParameterError(f"{name} is numbers separated by commas") from None


def _shares(text: str) -> dict[str, float]:
    try:
        pairs = [each.split("=") for each in text.split(",")]
        return {name.strip(): float(share) for name, share in pairs}
    except ValueError:
        raise ParameterError("--shares is NAME=NUMBER, separated by commas") from None


def _target(given: dict[str, Any], *extras: str) -> Path | None:
    """Return the folder to be made, if a publication can be written; None for a dry run."""
    out: Path | None = given["out"]
    if given["dry_run"]:
        return None
    if out is None:
        raise ParameterError("name a folder with --out, or ask for the cost with --dry-run")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ParameterError(f"--out {out} is there already; name a new folder")
    require_extras("publish", *extras, purpose="a publication")
    return out


def _opened(where: str) -> Ledger:
    from sunveil.ledger.ledger import Ledger

    return Ledger(where)


def _finish(
    publisher: Publisher,
    out: Path,
    publication: Publication,
    figures: Mapping[str, Callable[[Any], None]],
    *,
    schema: str | None = None,
) -> None:
    from sunveil.plots.publication_figures import publication_figures
    from sunveil.publication.publication_folder import write_publication

    drawn = {**publication_figures(publication), **figures}
    account = publisher.account(publication, schema=schema)
    files = write_publication(out, publication, account=account, figures=drawn)
    click.echo(f"{publication.guarantee}.")
    now = "" if account.promise.schedule is None else ", by its schedule, this year"
    click.echo(f"{account.remaining:g} is left of the promise{now}.")
    click.echo(f"Wrote {len(files)} files to {out}")


STEPS = {"5min": 5, "10min": 10, "15min": 15, "30min": 30, "60min": 60, "1h": 60}


@command("power")
@click.argument("publication", type=click.Path(path_type=Path))
@taking(
    Group(
        "Place",
        (
            *PLACE.options,
            path_option("--places", "Place of each group: a CSV with group, latitude, longitude."),
        ),
    ),
    WEATHER,
    Group(
        "Method",
        (
            click.option(
                "--start", required=True, help="First day or instant, in UTC, such as 2023-01-01."
            ),
            click.option("--end", required=True, help="Day or instant after the last, in UTC."),
            click.option(
                "--by",
                metavar="COLUMN|all",
                help="Public column that divides the fleet, such as feeder; all for one sum; as"
                " published if not given.",
            ),
            click.option(
                "--step",
                type=click.Choice(list(STEPS)),
                default="15min",
                help="Length of an interval.",
            ),
            click.option(
                "--draws",
                type=click.IntRange(20, 5000),
                default=200,
                help="Number of fleets drawn for the 90% band.",
            ),
            click.option(
                "--seed", type=click.IntRange(min=0), default=0, help="Seed of the draws."
            ),
            click.option(
                "--zone", default="UTC", help="Time zone of the report, such as America/Denver."
            ),
        ),
    ),
    Group(
        "Output",
        (
            click.option(
                "--opendss", is_flag=True, help="Also write OpenDSS load shapes to folder opendss."
            ),
            path_option(
                "--out",
                "New folder: power.parquet, power.csv, power.json and report.html.",
                metavar="FOLDER",
                required=True,
            ),
        ),
    ),
)
def power_command(publication: Path, **given: Any) -> None:
    """Say how much power the fleet in PUBLICATION gives, by time and group, with a band.

    PUBLICATION is a folder as publish wrote it or the service gave it, or a CSV or Parquet table
    with surface_azimuth, surface_tilt and dc_capacity_kw. Only published numbers and public weather
    are looked at: nothing is spent. The band holds nine in ten draws of fleets that agree with what
    was published and its stated noise, with the model's and the weather's errors.
    """
    from sunveil.plots.html_report import write_power_page
    from sunveil.power.compute_power import fleet_power as power
    from sunveil.power.grid_model_exports import PAGE, write_opendss, write_power

    require_extras("files", "plots", purpose="power")
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
