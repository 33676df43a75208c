"""Options that several commands share."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from sunveil._files import real_path
from sunveil.errors import ParameterError, SourceError

if TYPE_CHECKING:
    from sunveil.meters.reading_options import MeterOptions


def check_target(out: Path, *inputs: Path, option: str = "--out") -> None:
    """Refuse, before any work is done, a file that cannot or must not be written."""
    target, named = real_path(out), f"{option} {out}"
    if target.exists() and not target.is_file():
        raise ParameterError(f"{named} is not a file; name a file to be written")
    if not target.parent.is_dir():
        raise ParameterError(f"{named} is in a folder that does not exist; make it first")
    if not os.access(target.parent, os.W_OK):
        raise ParameterError(f"{named} is in a folder that cannot be written; choose another")
    for source in map(real_path, inputs):
        if target == source or (source.is_dir() and target.parent == source):
            raise ParameterError(f"{named} is among the files that are read; write elsewhere")


WEATHER_NAMES = ("clearsky", "nsrdb", "pvgis")


Function = TypeVar("Function", bound=Callable[..., Any])


def choice(*values: str) -> click.Choice[str]:
    """Return the type of an option with a few values, whatever their case."""
    return click.Choice(values, case_sensitive=False)


# In the order of the help text; names follow the library's parameters.
READING_UNITS = ("auto", "W", "kW", "MW", "Wh", "kWh", "MWh")


SCHEMA = click.option(
    "--schema",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="How the meters are written, as sunveil schema proposes it; options beside it win.",
)


# By the name of the field that each one fills, in the order of the help text.
METER = {
    "timezone": click.option(
        "--timezone",
        help="Clock of stamps without an offset: UTC, UTC-07:00, or an IANA name such as"
        " America/Denver for stamps that follow daylight saving. It goes before the timezone that a"
        " table of systems names.",
    ),
    "label": click.option(
        "--label",
        type=choice("auto", "start", "middle", "end", "left", "right"),
        default="auto",
        help="Which instant of its interval a stamp names (left: start, right: end); auto: the"
        " middle of intervals below 30 minutes, the start of longer ones.",
    ),
    "power_unit": click.option(
        "--power-unit",
        type=choice(*READING_UNITS),
        default="auto",
        metavar=f"[{'|'.join(READING_UNITS)}]",
        help="Unit of the readings; auto: as the header says.",
    ),
    "register": click.option(
        "--register",
        type=choice("auto", "no", "cumulative", "daily"),
        default="auto",
        help="Whether readings count up, without end or from zero every day, so that their"
        " differences are taken; auto: as the header says and, for infer, as they run.",
    ),
    "time_column": click.option(
        "--time-column", help="Column of times: its name, or its place from 1."
    ),
    "date_column": click.option(
        "--date-column", help="Column of dates, where the other has the time of day alone."
    ),
    "power_column": click.option(
        "--power-column",
        multiple=True,
        help="Column of readings; several, each with the option, are added up.",
    ),
    "export_column": click.option(
        "--export-column",
        multiple=True,
        help="Column of what is given to the grid, of a net meter; several are added up.",
    ),
    "import_column": click.option(
        "--import-column",
        multiple=True,
        help="Column of what is taken from the grid, of a net meter; several are added up.",
    ),
    "system_column": click.option("--system-column", help="Column of systems."),
    "time_format": click.option(
        "--time-format", help="How times are written, such as '%d/%m/%Y %H:%M'."
    ),
    "skip_rows": click.option(
        "--skip-rows", type=click.IntRange(0, 1000), metavar="N", help="Lines above the header."
    ),
    "separator": click.option(
        "--separator", metavar="SIGN", help="What stands between cells, such as ';'."
    ),
    "decimal": click.option(
        "--decimal",
        type=choice("auto", ".", ","),
        default="auto",
        help="Decimal mark; auto: as the header says and, for infer, as cells show.",
    ),
    "duplicates": click.option(
        "--duplicates",
        type=choice("refuse", "mean", "first", "last"),
        default="refuse",
        help="What to do with different readings for one time.",
    ),
    "unit_switch": click.option(
        "--unit-switch",
        type=choice("refuse", "repair", "ignore"),
        default="refuse",
        help="What to do when the unit changes within a record.",
    ),
    "negate": click.option("--negate", is_flag=True, help="Generation is counted as negative."),
    "net": click.option(
        "--net",
        is_flag=True,
        help="Readings are generation less a home's load, as of a meter at the grid; infer also"
        " sees it.",
    ),
}


METER_OPTIONS = (SCHEMA, *METER.values())


WEATHER_OPTIONS = (
    click.option(
        "--weather",
        default="clearsky",
        metavar="clearsky|nsrdb|pvgis|FILE",
        help="Where irradiance comes from: the embedded clear sky needs no network and no key; a"
        " FILE is PSM3, PSM4, PVGIS, TMY3 or EPW.",
    ),
    click.option("--nsrdb-key", envvar="NSRDB_API_KEY", show_envvar=True, help="Key of the NSRDB."),
    click.option(
        "--nsrdb-email",
        envvar="NSRDB_EMAIL",
        show_envvar=True,
        help="E-mail address that belongs to the key.",
    ),
)


CAPACITIES = click.option(
    "--capacities",
    nargs=2,
    type=float,
    default=(0.5, 2000.0),
    metavar="LOW HIGH",
    help="Public range of capacities; never take it from the readings. [kW]",
)


AS_JSON = click.option("--json", "as_json", is_flag=True, help="JSON instead of a table.")


OUTPUT_OPTIONS = (
    click.option("--json", "as_json", is_flag=True, help="A JSON list instead of a table."),
    click.option(
        "--out",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Write there, whole or not at all, instead of printing.",
    ),
)


def taking(*groups: Sequence[Callable[[Any], Any]]) -> Callable[[Function], Function]:
    """Return a decorator that gives a command the options of some groups, in this order."""

    def give(function: Function) -> Function:
        for option in reversed([option for group in groups for option in group]):
            function = option(function)
        return function

    return give


def declared_options(given: Mapping[str, Any], **fixed: Any) -> MeterOptions:
    """Return how a command reads meters: by its options, then by its schema file."""
    from sunveil.meters.schema_files import options_from

    context = click.get_current_context()
    told = {
        name: given[name]
        for name in METER
        if name in given and context.get_parameter_source(name) is not ParameterSource.DEFAULT
    }
    return options_from(given["schema"], **told, **fixed)


@contextmanager
def pointing_to_schema(meters: Path, schema: Path | None) -> Iterator[None]:
    """Add to refusals that ask for a reading option that a schema file can declare it."""
    try:
        yield
    except SourceError as error:
        if schema is not None or error.option is None:
            raise
        raise SourceError(
            f"{error}; or declare it with --schema FILE, which sunveil schema"
            f" {shlex.quote(str(meters))} proposes"
        ) from None


def server_options(weather: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the credentials that a weather server needs: the NSRDB's key and e-mail."""
    if weather != "nsrdb":
        return {}
    return {"api_key": given["nsrdb_key"], "email": given["nsrdb_email"]}
