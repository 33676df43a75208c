"""``python -m reproduction``: make the paper's figures and check its statements."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from sunveil._extras import require_extras
from sunveil.cli import main
from sunveil.cli._options import METERS, WEATHER, Group, command, declared_options, taking
from sunveil.cli._text import interruptible, printable
from sunveil.errors import ParameterError

if TYPE_CHECKING:
    from reproduction.artefact import Statement
    from reproduction.run import Reproduction
    from reproduction.subject import Subject
    from sunveil.site import Plane
    from sunveil.weather import Weather

WIDEST = 100
# Options that are about figure 3 where no meter file is given.
FIGURE_OPTIONS = ("weather", "nsrdb_key", "nsrdb_email")
MOST_DRAWS = 1_000_000

OWN_OPTIONS = (
    click.option(
        "--out",
        type=click.Path(path_type=Path),
        metavar="DIR",
        default=Path("reproduction"),
        help="Folder for the figures, their data and report.html; made if need be.",
    ),
    click.option(
        "--draws",
        type=click.IntRange(1, MOST_DRAWS),
        default=10_000,
        help="How many DP answers are drawn, to be looked at.",
    ),
    click.option(
        "--json", "as_json", is_flag=True, help="What was found as JSON instead of a table."
    ),
    click.option(
        "--meters",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Real readings instead of a simulated system; with --latitude and --longitude. Their"
        " clock is taken as given: the paper repairs none.",
    ),
)
SUBJECT_OPTIONS = (
    click.option("--system", metavar="ID", help="Which system of a FILE with several."),
    click.option("--azimuth", type=float, help="Reported azimuth; with --tilt. [degrees]"),
    click.option("--tilt", type=float, help="Reported tilt; with --azimuth. [degrees]"),
    click.option("--latitude", type=float, help="North positive. [degrees]"),
    click.option("--longitude", type=float, help="East positive. [degrees]"),
    click.option("--altitude", type=float, help="Above the sea; looked up if left out. [m]"),
)


@command("python -m reproduction")
@taking(Group("Options", OWN_OPTIONS), Group("Readings", SUBJECT_OPTIONS), METERS, WEATHER)
@click.pass_context
def reproduce_command(
    context: click.Context, /, *, out: Path, draws: int, as_json: bool, **given: Any
) -> None:
    """Make the paper's figures anew, and hold its statements against what is measured.

    Every figure is written as PNG and SVG with its numbers as JSON, and all of them together as
    one page, report.html. The paper's readings are not public: a simulated system of the plane that
    the paper reports stands in for theirs, or with --meters any real one; the options after it
    are about that file. Without --meters, --weather is that of Chino over 2016, for figure 3. The
    guarantee of the DP draws is conditional, and said to be.
    """
    from reproduction.files import check_folder
    from reproduction.run import reproduce

    require_extras("plots", purpose="a reproduction")
    _check_given(context, given)
    # said before a meter file is read rather than after
    check_folder(out)
    with interruptible() as stop:
        found = reproduce(
            out,
            draws=draws,
            subject=_subject(given),
            weather=_figure_weather(given),
            progress=_progress(stop),
        )
    if as_json:
        click.echo(json.dumps(found.to_dict(), indent=2, allow_nan=False))
    else:
        click.echo(show_reproduction(found))


def show_reproduction(found: Reproduction) -> str:
    """Return what was found as text that a person can read, the page in its last line."""
    one = found.draws.one
    about = (
        f"The guarantee of one DP draw: ε = {one.epsilon:g}, δ = {one.delta:g} for {one.unit},"
        f" conditional. {one.condition}"
    )
    lines = [
        *_wrapped(f"On {found.subject}."),
        "",
        *_table(found.statements),
        *_wrapped(about),
        "",
        f"Report: {found.files[-1]}",
    ]
    return "\n".join(lines)


def _table(statements: Sequence[Statement]) -> list[str]:
    """Return each statement next to its verdict, wrapped to the terminal."""
    indent = " " * (max(len(each.verdict) for each in statements) + 2)
    lines = []
    for each in statements:
        measured = each.measured.splitlines() or [""]
        parts = [f"paper: {each.paper}", f"measured: {measured[0]}", *measured[1:]]
        if each.why and each.verdict != "yes":
            parts.append(f"why: {each.why}")
        text = [line for part in parts for line in _wrapped(part, indent)]
        text[0] = each.verdict.ljust(len(indent)) + text[0].removeprefix(indent)
        lines += [*text, ""]
    return [f"{'holds'.ljust(len(indent))}statement", "", *lines]


def _wrapped(text: str, indent: str = "") -> list[str]:
    width = max(40, min(WIDEST, shutil.get_terminal_size().columns))
    return textwrap.wrap(
        printable(text),
        width,
        initial_indent=indent,
        subsequent_indent=indent + "  " * bool(indent),
    )


def _check_given(context: click.Context, given: dict[str, Any]) -> None:
    """Refuse options about a meter file without one, and a file without what it needs."""
    if given["meters"] is None:
        needless = [
            parameter.opts[0]
            for parameter in context.command.params
            if parameter.name in given
            and parameter.name not in FIGURE_OPTIONS
            and context.get_parameter_source(str(parameter.name)) is ParameterSource.COMMANDLINE
        ]
        if needless:
            raise ParameterError(
                f"{needless[0]} is about a meter file; give one with --meters, or leave it out"
            )
        return
    for name in ("latitude", "longitude"):
        if given[name] is None:
            raise ParameterError(f"--meters needs the place of the system; give --{name}")
    if (given["azimuth"] is None) != (given["tilt"] is None):
        raise ParameterError("a reported plane is both --azimuth and --tilt; give both or neither")


def _subject(given: dict[str, Any]) -> Subject | None:
    if given["meters"] is None:
        return None
    from reproduction.subject import meter_subject
    from sunveil.site import Site

    return meter_subject(
        given["meters"],
        Site(given["latitude"], given["longitude"], given["altitude"]),
        weather=given["weather"],
        reported=_reported(given),
        system=given["system"],
        options=declared_options(given),
        weather_options=_weather_options(given),
    )


def _weather_options(given: dict[str, Any]) -> dict[str, Any]:
    if given["weather"] != "nsrdb":
        return {}
    return {"api_key": given["nsrdb_key"], "email": given["nsrdb_email"]}


def _figure_weather(given: dict[str, Any]) -> Weather | None:
    """Return the weather of Chino for figure 3, where some was given and no meters."""
    if given["meters"] is not None or given["weather"] == "clearsky":
        return None
    from reproduction.subject import CHINO, YEAR
    from sunveil.weather import get_weather

    return get_weather(
        given["weather"], CHINO, f"{YEAR}-01-01", f"{YEAR + 1}-01-01", **_weather_options(given)
    )


def _reported(given: dict[str, Any]) -> Plane | None:
    from sunveil.site import Plane

    return None if given["azimuth"] is None else Plane(given["azimuth"], given["tilt"])


def _progress(stop: Callable[[], None]) -> Callable[[str], None]:
    """Return what names each step on stderr, if that is a terminal, and heeds an interrupt."""

    def say(doing: str) -> None:
        stop()
        if sys.stderr.isatty():
            click.echo(f"{doing} ...", err=True)

    return say


if __name__ == "__main__":
    sys.exit(main(command=reproduce_command))
