"""``sunveil utility``: what releases are worth, before anything is spent."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from sunveil.cli.files import check_target
from sunveil.cli.options import (
    AS_JSON,
    CAPACITIES,
    WEATHER_NAMES,
    WEATHER_OPTIONS,
    pointing_to_schema,
    server_options,
    taking,
)
from sunveil.cli.release import READING_OPTIONS, make_choices, read_records
from sunveil.errors import ParameterError
from sunveil.extras import require_extras
from sunveil.files import write_whole
from sunveil.progress import progress

if TYPE_CHECKING:
    from sunveil.releases.utility import Curve, KnownSystem

PRIVATE = "PRIVATE TO THE CURATOR: drawn from meter readings; do not publish it or pass it on."
PUBLIC = (
    "Public: drawn from simulated systems alone, whose physics is the inference's own; real systems"
    " err by more where ε is large, as release says."
)
SIMULATED_PLACE = (39.74, -105.17)

OWN_OPTIONS = (
    click.option(
        "--systems",
        type=click.IntRange(1, 200),
        default=6,
        help="How many systems are simulated where no METERS are given.",
    ),
    click.option("--seed", type=click.IntRange(min=0), default=1, help="Same seed, same systems."),
    click.option(
        "--epsilon",
        "epsilons",
        type=float,
        multiple=True,
        help="Where to compute errors; several times for several. [0.01 to 10]",
    ),
    click.option("--azimuth", type=float, help="Known azimuth of the system in METERS. [degrees]"),
    click.option("--tilt", type=float, help="Its known tilt. [degrees]"),
    click.option("--capacity", type=float, help="Its known DC capacity. [kW]"),
    click.option("--latitude", type=float, help="North positive. [degrees]"),
    click.option("--longitude", type=float, help="East positive. [degrees]"),
    click.option("--altitude", type=float, help="Above the sea; looked up if left out. [m]"),
    CAPACITIES,
)
OUTPUT_OPTIONS = (
    AS_JSON,
    click.option(
        "--out",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Write a figure (.png, .svg) or JSON (.json) there, whole or not at all.",
    ),
)


@click.command("utility", context_settings={"show_default": True})
@click.argument("meters", type=click.Path(path_type=Path), required=False)
@taking(OWN_OPTIONS, READING_OPTIONS, WEATHER_OPTIONS, OUTPUT_OPTIONS)
@click.pass_context
def utility_command(
    context: click.Context, /, *, meters: Path | None, as_json: bool, out: Path | None, **given: Any
) -> None:
    """Say how far releases are expected to be off, for every unit and mechanism, against ε.

    Expectations are exact, not sampled. With METERS, one system's own readings are used, which
    makes the answer private to the curator: errors are against its known plane and capacity, or
    else against what infer says. Without, systems are simulated at --latitude and --longitude.
    """
    from sunveil.releases.utility import EPSILONS, utility_curves

    if out is not None:
        _check_out(out, meters, given["weather"])
    known = _simulated(given, context) if meters is None else [_metered(meters, given)]
    curves = utility_curves(
        list(progress(known, "scoring", total=len(known))), given["epsilons"] or EPSILONS
    )
    private = meters is not None
    text = _as_json(curves, private=private)
    if out is not None:
        _write(out, curves, text, private=private)
        click.echo(f"Wrote {out}")
    elif as_json:
        click.echo(text)
    else:
        click.echo(_as_table(curves))
    click.echo(f"sunveil: {PRIVATE if private else PUBLIC}", err=True)


def _check_out(out: Path, meters: Path | None, weather: str) -> None:
    if out.suffix.lower() not in (".png", ".svg", ".json"):
        raise ParameterError(f"--out {out} must end in .png, .svg or .json")
    if out.suffix.lower() != ".json":
        require_extras("report", purpose="a figure")
    inputs = [path for path in (meters,) if path is not None]
    check_target(out, *inputs, *([] if weather in WEATHER_NAMES else [Path(weather)]))


def _simulated(given: dict[str, Any], context: click.Context) -> list[KnownSystem]:
    from sunveil.releases.utility import simulated_systems
    from sunveil.site import Site

    for name in ("azimuth", "tilt", "capacity"):
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise ParameterError(f"--{name} is about the system in METERS, and none is given")
    if (given["latitude"] is None) != (given["longitude"] is None):
        raise ParameterError("give both --latitude and --longitude, or neither")
    if given["weather"] not in ("clearsky",):
        raise ParameterError("simulated systems bring their own weather; leave --weather out")
    latitude, longitude = SIMULATED_PLACE
    if given["latitude"] is not None:
        latitude, longitude = given["latitude"], given["longitude"]
    return simulated_systems(
        Site(latitude, longitude, given["altitude"]),
        systems=given["systems"],
        seed=given["seed"],
        choices=make_choices(given),
    )


def _metered(meters: Path, given: dict[str, Any]) -> KnownSystem:
    from sunveil.infer import infer_record, record_span
    from sunveil.releases.frame import frame_of
    from sunveil.releases.utility import KnownSystem
    from sunveil.site import Plane, Site
    from sunveil.weather import get_weather

    if given["latitude"] is None or given["longitude"] is None:
        raise ParameterError("METERS need --latitude and --longitude, for the sun")
    with pointing_to_schema(meters, given["schema"]):
        records = read_records(meters, given)
    if len(records) != 1:
        raise ParameterError(f"{meters} has {len(records)} systems; give one system's readings")
    record = records[0]
    site = Site(given["latitude"], given["longitude"], given["altitude"])
    extra = server_options(given["weather"], given)
    weather = get_weather(given["weather"], site, *record_span(record), **extra)
    plane_and_size = [given[name] for name in ("azimuth", "tilt", "capacity")]
    if any(value is None for value in plane_and_size):
        if any(value is not None for value in plane_and_size):
            raise ParameterError("give --azimuth, --tilt and --capacity together, or none of them")
        estimate = infer_record(record, weather)
        plane_and_size = [estimate.surface_azimuth, estimate.surface_tilt, estimate.dc_capacity_kw]
    azimuth, tilt, capacity = plane_and_size
    frame = frame_of(record, weather, make_choices(given))
    return KnownSystem(frame, record, Plane(azimuth, tilt), capacity)


def _as_json(curves: Sequence[Curve], *, private: bool) -> str:
    content = {
        "private": private,
        "note": PRIVATE if private else PUBLIC,
        "curves": [curve.to_dict() for curve in curves],
    }
    return json.dumps(content, indent=2, allow_nan=False)


def _as_table(curves: Sequence[Curve]) -> str:
    from sunveil.cli.show import aligned

    head = ("unit", "mechanism", "guarantee", "ε", "azimuth", "tilt", "DC capacity")
    rows = [
        (
            curve.unit,
            curve.mechanism,
            curve.kind,
            f"{epsilon:g}",
            f"{curve.azimuth[i]:.1f}°",
            f"{curve.tilt[i]:.1f}°",
            "-" if curve.capacity is None else f"{curve.capacity[i]:.1f}%",
        )
        for curve in curves
        for i, epsilon in enumerate(curve.epsilons)
    ]
    return "\n".join([aligned([head, *rows]), "", "Expected errors of a release, exact."])


def _write(out: Path, curves: Sequence[Curve], text: str, *, private: bool) -> None:
    if out.suffix.lower() == ".json":
        write_whole(out, text + "\n", private=private)
        return
    from sunveil.plots.embed import loose_figure
    from sunveil.plots.utility import plot_utility

    figure = loose_figure(11.0, 4.4)
    plot_utility(curves, private=private, axes=list(figure.subplots(1, 3)))
    buffer = io.BytesIO()
    figure.savefig(buffer, format=out.suffix.lower()[1:], dpi=150)
    write_whole(out, buffer.getvalue(), private=private)
