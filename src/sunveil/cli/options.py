"""Options that several commands share, and how a command takes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

# Options that are fields of MeterOptions under the same name.
METER_FIELDS = (
    "time_column",
    "power_column",
    "system_column",
    "time_format",
    "unit",
    "timezone",
    "label",
    "duplicates",
    "unit_switch",
    "negate",
    "allow_net",
)
WEATHER_NAMES = ("clearsky", "nsrdb", "pvgis")

Function = TypeVar("Function", bound=Callable[..., Any])


def choice(*values: str) -> click.Choice[str]:
    """Return the type of an option with a few values, whatever their case."""
    return click.Choice(values, case_sensitive=False)


# In the order of the help text; names follow the library's parameters.
SITE_OPTIONS = (
    click.option("--latitude", type=float, required=True, help="North positive. [degrees]"),
    click.option("--longitude", type=float, required=True, help="East positive. [degrees]"),
    click.option("--altitude", type=float, help="Above the sea; looked up if left out. [m]"),
)
# By the name of the field that each one fills.
METER = {
    "timezone": click.option(
        "--timezone",
        help="Clock of stamps without an offset: UTC, UTC-07:00, or an IANA name such as"
        " America/Denver for stamps that follow daylight saving. It goes before the timezone that a"
        " table of systems names.",
    ),
    "label": click.option(
        "--label",
        type=choice("auto", "start", "middle", "end"),
        default="auto",
        help="Which instant of its interval a stamp names; auto: the middle of intervals below 30"
        " minutes, the start of longer ones.",
    ),
    "unit": click.option(
        "--unit",
        type=choice("auto", "W", "kW", "Wh", "kWh"),
        default="auto",
        metavar="[auto|W|kW|Wh|kWh]",
        help="Unit of the readings; auto: by the column's name.",
    ),
    "time_column": click.option("--time-column", help="Name of the column of times."),
    "power_column": click.option("--power-column", help="Name of the column of readings."),
    "system_column": click.option("--system-column", help="Name of the column of systems."),
    "time_format": click.option(
        "--time-format", help="How times are written, such as '%d/%m/%Y %H:%M'."
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
    "allow_net": click.option("--allow-net", is_flag=True, help="Read a net meter all the same."),
}
METER_OPTIONS = tuple(METER.values())
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


def server_options(weather: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the credentials that a weather server needs: the NSRDB's key and e-mail."""
    if weather != "nsrdb":
        return {}
    return {"api_key": given["nsrdb_key"], "email": given["nsrdb_email"]}
