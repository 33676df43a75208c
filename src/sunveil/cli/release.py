"""``sunveil release``: meters in, private releases out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sunveil.cli.errors import sentence
from sunveil.cli.files import check_target, write_whole
from sunveil.cli.options import (
    CAPACITIES,
    METER,
    OUTPUT_OPTIONS,
    SCHEMA,
    WEATHER_NAMES,
    WEATHER_OPTIONS,
    choice,
    declared_options,
    pointing_to_schema,
    server_options,
    taking,
)
from sunveil.cli.private_fleet import PLACES_OPTIONS, is_fleet_asked, opened_fleet
from sunveil.cli.progress import counting
from sunveil.cli.published import errors_line
from sunveil.errors import MeterError, ParameterError
from sunveil.progress import progress

if TYPE_CHECKING:
    from sunveil.cli.run import SiteWeather
    from sunveil.meters import MeterOptions, Record
    from sunveil.privacy.units import Unit
    from sunveil.publish.memory_systems import MemorySystems
    from sunveil.releases.answer import Release
    from sunveil.releases.choices import Choices

PRIVACY_OPTIONS = (
    click.option(
        "--protect",
        required=True,
        metavar="readings:K|days:K|system",
        help="What is protected: any K readings, any K days, or the whole record.",
    ),
    click.option(
        "--epsilon", type=float, required=True, help="What each system's release costs it."
    ),
    click.option(
        "--mechanism",
        type=choice("default", "exponential", "paper"),
        default="default",
        help="default: permute-and-flip, or the window for a whole record; exponential: cheaper"
        " to account when repeated; paper: conditional, and without capacity.",
    ),
    click.option("--delta", type=float, help="δ of the paper's mechanism. [0.1]"),
    CAPACITIES,
    click.option(
        "--clock",
        "clocks",
        type=float,
        multiple=True,
        metavar="MINUTES",
        help="How far the declared clock may run ahead; several make it part of the answer. [0]",
    ),
)
# --unit-switch looks at a record as a whole, which a release must not.
READING_OPTIONS = (SCHEMA, *(option for name, option in METER.items() if name != "unit_switch"))
UNRECORDED = (
    "NOTHING WAS RECORDED: no ledger counts what these releases spend. Each system's release costs"
    " it ε = {epsilon:g}; releasing the same system again adds to that."
)


@click.command("release", context_settings={"show_default": True})
@click.argument("meters", type=click.Path(path_type=Path))
@taking(PLACES_OPTIONS, PRIVACY_OPTIONS, READING_OPTIONS, WEATHER_OPTIONS, OUTPUT_OPTIONS)
@click.pass_context
def release_command(context: click.Context, /, meters: Path, **given: Any) -> None:
    """Release azimuth, tilt and DC capacity of every system in METERS under privacy.

    METERS is read as by infer, but each reading is taken as it is: rules that look at the record as
    a whole would themselves tell something. Systems are named by random release ids, in random
    order. Each draw is a release: run it once.

    Of a net meter, declared by --net or by its format, plane and capacity are released by how
    likely each day is under a public model of loads; nobody looks whether they can be told.

    With --systems, METERS is a whole fleet, as for infer, each system released at its own place.
    Systems that cannot be released are counted on stderr.
    """
    from sunveil.privacy.guarantee import check_release_epsilon
    from sunveil.privacy.units import parse_unit

    unit = parse_unit(given["protect"])
    check_release_epsilon(given["epsilon"])
    choices = make_choices(given)
    weather, out = given["weather"], given["out"]
    whole = is_fleet_asked(context)
    if out is not None:
        inputs = [given["systems"]] if whole else []
        inputs += [] if weather in WEATHER_NAMES else [Path(weather)]
        check_target(out, meters, *inputs)
    make = _of_fleet if whole else _of_site
    found = make(meters, given, unit=unit, choices=choices)
    text = _as_json(found) if given["as_json"] else _as_table(found)
    if out is None:
        click.echo(text)
    else:
        write_whole(out, text + "\n")
        click.echo(f"Wrote {len(found)} releases to {out}")
    click.echo(f"sunveil: {UNRECORDED.format(epsilon=given['epsilon'])}", err=True)


def _of_site(meters: Path, given: dict[str, Any], *, unit: Unit, choices: Choices) -> list[Release]:
    from sunveil.publish.systems import release_systems
    from sunveil.publish.terms import ReleaseTerms

    if given["mechanism"] == "paper":
        return _by_paper(meters, given, unit=unit)
    if given["delta"] is not None:
        raise ParameterError("delta is for the paper's mechanism only; the others have none")
    terms = ReleaseTerms.of(unit, given["epsilon"], mechanism=given["mechanism"], choices=choices)
    systems = read_site(meters, given)
    with counting("releasing") as show:
        return release_systems(systems, terms=terms, on_progress=show)


def _of_fleet(
    meters: Path, given: dict[str, Any], *, unit: Unit, choices: Choices
) -> list[Release]:
    from sunveil.publish.systems import release_systems
    from sunveil.publish.terms import ReleaseTerms

    if given["delta"] is not None:
        raise ParameterError("delta is for the paper's mechanism, which takes one site at a time")
    terms = ReleaseTerms.of(unit, given["epsilon"], mechanism=given["mechanism"], choices=choices)
    with opened_fleet(meters, meter_options(given), given) as fleet, counting("releasing") as show:
        return release_systems(fleet, terms=terms, on_progress=show)


def make_choices(given: dict[str, Any]) -> Choices:
    """Return the public choices that were given."""
    from sunveil.releases.choices import Choices
    from sunveil.scores import Capacities

    low, high = given["capacities"]
    return Choices(capacities=Capacities(low, high), clocks=given.get("clocks") or (0.0,))


def meter_options(given: dict[str, Any]) -> MeterOptions:
    """Return how private releases read meters: each reading taken as it is."""
    return declared_options(given, cleaning="each")


def read_records(meters: Path, given: dict[str, Any]) -> list[Record]:
    """Return all records, each reading taken as it is; who is left out is told on stderr.

    Which are left out depends on rows and stamps alone.
    """
    from sunveil.meters import Record
    from sunveil.publish.fleet_records import site_records

    found = site_records(meters, meter_options(given), longitude=given["longitude"])
    records = [each for each in found if isinstance(each, Record)]
    refused = [each for each in found if not isinstance(each, Record)]
    if not records:
        raise MeterError(refused[0].reason)
    for each in refused:
        reason = sentence(MeterError(each.reason))
        click.echo(f"sunveil: left out {each.system_id}: {reason}", err=True)
    return records


def _read(meters: Path, given: dict[str, Any]) -> tuple[list[Record], SiteWeather]:
    """Return all records, and the weather of their site."""
    from sunveil.cli.run import SiteWeather
    from sunveil.infer import record_span
    from sunveil.site import Site

    site = Site(given["latitude"], given["longitude"], given["altitude"])
    with pointing_to_schema(meters, given["schema"]):
        records = read_records(meters, given)
    spans = [record_span(record) for record in records]
    weather = given["weather"]
    return records, SiteWeather(weather, site, spans, **server_options(weather, given))


def read_site(meters: Path, given: dict[str, Any]) -> MemorySystems:
    """Return the systems of one site, each reading taken as it is."""
    from sunveil.infer import record_span
    from sunveil.publish.memory_systems import MemorySystems

    records, sky = _read(meters, given)
    return MemorySystems(records, lambda record: sky.over(record_span(record)))


def _by_paper(meters: Path, given: dict[str, Any], *, unit: Unit) -> list[Release]:
    """Return one release per system by a mechanism of the paper's, in a random order."""
    from sunveil.infer import record_span
    from sunveil.releases.release import release

    records, sky = _read(meters, given)
    found = [
        release(
            record,
            sky.over(record_span(record)),
            protect=unit,
            epsilon=given["epsilon"],
            mechanism=given["mechanism"],
            delta=given["delta"],
        )
        for record in progress(records, "releasing", total=len(records))
    ]
    return sorted(found, key=lambda each: each.release_id)


def _as_json(found: Sequence[Release]) -> str:
    return json.dumps([each.to_dict() for each in found], indent=2, allow_nan=False)


def _mount(found: Release) -> str:
    """Return what a release tells of the planes of a system, or of its tracker, in a few words."""
    if found.tracker is not None:
        gcr = found.tracker.gcr
        turns = "no backtracking" if gcr is None else f"backtracking, gcr {gcr:g}"
        return f"tracker, axis {found.tracker.axis_azimuth:.0f}°, {turns}"
    if len(found.planes) < 2:
        return "one plane" if found.planes else "not told"
    return " + ".join(
        f"{each.share:.0%} at {each.surface_azimuth:.0f}°, {each.surface_tilt:.0f}°"
        for each in found.planes
    )


def _as_table(found: Sequence[Release]) -> str:
    from sunveil.cli.show import aligned

    head: tuple[str, ...] = ("release", "azimuth", "tilt", "DC capacity")
    rows: list[tuple[str, ...]] = [
        (
            each.release_id,
            f"{each.surface_azimuth:.0f}°",
            f"{each.surface_tilt:.0f}°",
            "-" if each.dc_capacity_kw is None else f"{each.dc_capacity_kw:.3g} kW",
        )
        for each in found
    ]
    if any(each.planes or each.tracker for each in found):
        head += ("mount",)
        rows = [(*row, _mount(each)) for row, each in zip(rows, found, strict=True)]
    first = found[0]
    lines = [aligned([head, *rows]), "", f"{first.mechanism}: {first.guarantee}."]
    if first.expected is not None:
        lines.append(errors_line(first.expected))
    return "\n".join(lines)
