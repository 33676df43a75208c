"""Options that several commands share, made from declared options, and help texts in groups."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, get_args

import click
from click.core import ParameterSource

from sunveil._files import real_path
from sunveil.errors import ParameterError, SourceError

if TYPE_CHECKING:
    from sunveil._options import Option
    from sunveil.meters.reading_options import MeterOptions

Function = TypeVar("Function", bound=Callable[..., Any])

WEATHER_NAMES = ("clearsky", "nsrdb", "pvgis")

# What only a schema file declares, and what the command decides.
NO_OPTION = ("interval_minutes", "first", "last", "cleaning")


def choice(*values: str) -> click.Choice[str]:
    """Return the type of an option with a few values, whatever their case."""
    return click.Choice(values, case_sensitive=False)


def path_option(name: str, text: str, *, metavar: str = "FILE", **settings: Any) -> Any:
    """Return an option that takes a path."""
    kind = click.Path(path_type=Path)
    return click.option(name, type=kind, metavar=metavar, help=text, **settings)


class Declared(NamedTuple):
    """Options made from a declaring class when a command needs them: its module loads numpy."""

    module: str
    name: str
    leave: tuple[str, ...] = ()
    hidden: bool = False  # named in the help text, but not described there

    def options(self, title: str) -> Iterator[click.Option]:
        """Yield an option for each declared one."""
        from sunveil._options import declared_options

        kind = getattr(import_module(self.module), self.name)
        defaults = kind()
        for name, (hint, option) in declared_options(kind).items():
            if name not in self.leave:
                made = _option(name, hint, option, getattr(defaults, name))
                made.hidden = self.hidden
                yield _titled(made, title)


def _option(name: str, hint: Any, option: Option, default: Any) -> click.Option:
    kinds = (hint, *get_args(hint))
    settings: dict[str, Any] = {"help": option.help, "metavar": option.metavar}
    if bool in kinds:
        settings |= {"is_flag": True}
    elif option.choices:
        settings |= {"type": choice(*option.choices), "default": str(default)}
        settings["metavar"] = "[" + "|".join(option.choices) + "]"
    elif int in kinds:
        settings |= {"type": click.IntRange(int(option.low), int(option.high))}
    elif float in kinds:
        settings |= {"type": float, "default": default}
    else:
        settings |= {"multiple": option.several}
    return click.Option([f"--{name.replace('_', '-')}"], **settings)


def _titled(option: Any, title: str) -> Any:
    option.help_group = title
    return option


class Group(NamedTuple):
    """Options under one heading of a help text."""

    title: str
    options: Sequence[Callable[[Any], Any] | Declared]


class _Waiting(NamedTuple):
    declared: Declared
    help_group: str


class GroupedCommand(click.Command):
    """A command with its options in groups in the help text."""

    _params: list[Any]

    @property
    def params(self) -> list[click.Parameter]:
        """The parameters; declared options are made when they are first asked for."""
        found: list[Any] = []
        for each in self._params:
            found += (
                each.declared.options(each.help_group) if isinstance(each, _Waiting) else [each]
            )
        self._params = found
        return found

    @params.setter
    def params(self, given: list[Any]) -> None:
        self._params = given

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, group by group."""
        groups: dict[str, list[tuple[str, str]]] = {}
        hidden: dict[str, list[str]] = {}
        for each in (each for each in self.get_params(ctx) if isinstance(each, click.Option)):
            title = getattr(each, "help_group", "Other")
            groups.setdefault(title, [])
            if (record := each.get_help_record(ctx)) is not None:
                groups[title].append(record)
            else:
                hidden.setdefault(title, []).append(each.opts[0])
        groups["Other"] = groups.pop("Other", [])
        for title, records in groups.items():
            names = ", ".join(hidden.get(title, ()))
            if records or names:
                with formatter.section(title):
                    if records:
                        formatter.write_dl(records)
                    if names:
                        formatter.write_text(f"Described by sunveil schema --help: {names}.")


# A command with grouped options, and their defaults in the help text.
command = partial(click.command, cls=GroupedCommand, context_settings={"show_default": True})


def taking(*groups: Group) -> Callable[[Function], Function]:
    """Return a decorator that gives a command the options of some groups, in this order."""

    def give(function: Function) -> Function:
        known = function.__dict__.setdefault("__click_params__", [])
        for title, options in reversed(groups):
            for option in reversed(options):
                if isinstance(option, Declared):
                    known.append(_Waiting(option, title))
                else:
                    option(function)
                    _titled(known[-1], title)
        return function

    return give


PLACE = Group(
    "Place",
    (
        click.option(
            "--latitude", type=float, help="Latitude of the site, north positive. [degrees]"
        ),
        click.option(
            "--longitude", type=float, help="Longitude of the site, east positive. [degrees]"
        ),
        click.option(
            "--altitude",
            type=float,
            help="Altitude of the site above sea level; looked up if not given. [m]",
        ),
    ),
)

SCHEMA = path_option(
    "--schema",
    "How the meter files are written, as sunveil schema proposes it; options override it.",
)
METER_OPTIONS = Declared("sunveil.meters.reading_options", "MeterOptions", NO_OPTION)
METERS = Group("Meter files", (SCHEMA, METER_OPTIONS._replace(hidden=True)))
# --unit-switch looks at a record as a whole, which a release must not.
RELEASED_METERS = Group(
    "Meter files", (SCHEMA, METER_OPTIONS._replace(hidden=True, leave=(*NO_OPTION, "unit_switch")))
)

WEATHER = Group(
    "Weather",
    (
        click.option(
            "--weather",
            default="clearsky",
            metavar="clearsky|nsrdb|pvgis|FILE",
            help="Source of irradiance. clearsky needs no network and no key; a FILE is PSM3, PSM4,"
            " PVGIS, TMY3 or EPW.",
        ),
        click.option("--nsrdb-key", envvar="NSRDB_API_KEY", show_envvar=True, help="NSRDB key."),
        click.option(
            "--nsrdb-email",
            envvar="NSRDB_EMAIL",
            show_envvar=True,
            help="E-mail address of the NSRDB key.",
        ),
    ),
)

SYSTEMS = path_option(
    "--systems",
    "Table of the systems of a fleet: system_id, latitude, longitude and, if known, altitude,"
    " timezone and metering (generation or net); other columns are public keys and are kept.",
)

CAPACITIES = click.option(
    "--capacities",
    nargs=2,
    type=float,
    default=(0.5, 2000.0),
    metavar="LOW HIGH",
    help="Public range of capacities; never take it from the readings. [kW]",
)

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
OUT = path_option("--out", "Write to this file, completely or not at all, instead of printing.")
OUTPUT = Group("Output", (AS_JSON, OUT))


def declared_options(given: Mapping[str, Any], **fixed: Any) -> MeterOptions:
    """Return how a command reads meters: by its options, then by its schema file."""
    from sunveil.meters.reading_options import MeterOptions
    from sunveil.meters.schema_files import options_from

    context = click.get_current_context()
    stated = {
        name: given[name]
        for name in MeterOptions.__dataclass_fields__
        if name in given and context.get_parameter_source(name) is not ParameterSource.DEFAULT
    }
    return options_from(given["schema"], **stated, **fixed)


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


_PLACE = ("latitude", "longitude", "altitude")


def refuse_place(context: click.Context) -> None:
    """Refuse the place of one site beside a fleet, which has a table of places."""
    for name in _PLACE:
        if context.params[name] is not None:
            raise click.UsageError(
                f"--{name} is for one site; the places of a fleet are in its table of systems",
                context,
            )


def require_place(context: click.Context) -> None:
    """Ask for the place of one site."""
    for parameter in context.command.params:
        if parameter.name in _PLACE[:2] and context.params[parameter.name] is None:
            raise click.MissingParameter(ctx=context, param=parameter)
