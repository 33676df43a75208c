"""Release, utility, audit."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from sunveil._extras import require_extras
from sunveil._files import progress, write_whole
from sunveil.cli._options import (
    AS_JSON,
    CAPACITIES,
    OUTPUT,
    PLACE,
    RELEASED_METERS,
    SYSTEMS,
    WEATHER,
    WEATHER_NAMES,
    Group,
    check_target,
    choice,
    command,
    declared_options,
    path_option,
    pointing_to_schema,
    refuse_place,
    require_place,
    server_options,
    taking,
)
from sunveil.cli._text import Refusal, counting, errors_line, say_left_out
from sunveil.errors import MeterError, ParameterError

if TYPE_CHECKING:
    from sunveil.fleet.open import Fleet
    from sunveil.meters.reading_options import MeterOptions
    from sunveil.privacy.guarantees import Unit
    from sunveil.privacy.mechanism_audit import ExactFinding, SamplerFinding
    from sunveil.releases.fleet_releases import SystemsToRelease
    from sunveil.releases.release_answer import Release
    from sunveil.releases.release_choices import Choices
    from sunveil.releases.utility_curves import Curve, KnownSystem

RELEASED_FLEET = Group(
    "Fleet",
    (
        SYSTEMS,
        path_option(
            "--refused",
            "Write which systems of a fleet are skipped, and why, to this file. Private.",
        ),
    ),
)


def is_fleet_asked(context: click.Context) -> bool:
    """Whether a fleet is given; options that do not belong to what is given are refused."""
    if context.params["systems"] is not None:
        refuse_place(context)
        return True
    if context.params["refused"] is not None:
        raise click.UsageError("--refused is for a fleet; give its --systems", context)
    require_place(context)
    return False


@contextmanager
def opened_fleet(
    meters: Path, options: MeterOptions, given: dict[str, Any], *, work: Path | None = None
) -> Iterator[SystemsToRelease]:
    """Yield a fleet that has been looked through, and name the skipped systems to the curator."""
    from sunveil.fleet.open import open_fleet
    from sunveil.releases.fleet_releases import SystemsToRelease

    weather, refused = given["weather"], given["refused"]
    if refused is not None:
        check_target(refused, meters, given["systems"])
    with ExitStack() as held:
        with counting("reading") as show, pointing_to_schema(meters, given["schema"]):
            fleet = held.enter_context(
                open_fleet(
                    meters,
                    given["systems"],
                    reading=options,
                    weather=weather,
                    server=server_options(weather, given),
                    work=work,
                )
            )
            systems = SystemsToRelease.of(fleet, on_progress=show)
        _say_refused(systems, refused)
        yield systems


def _say_refused(fleet: SystemsToRelease, path: Path | None) -> None:
    from sunveil.releases.fleet_releases import refusals_csv

    if path is not None:
        write_whole(path, refusals_csv(fleet.refused), private=True)
    if not fleet.refused:
        return
    kinds = Counter(each.kind for each in fleet.refused)
    counted = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items()))
    where = f"the reasons are in {path}" if path else "name a file with --refused for the reasons"
    click.echo(f"sunveil: skipped: {counted}; {where}", err=True)


PROTECT = click.option(
    "--protect",
    required=True,
    metavar="readings:K|days:K|system",
    help="Unit of protection: any K readings, any K days, or the whole record of a system.",
)

PRIVACY = Group(
    "Method",
    (
        PROTECT,
        click.option(
            "--epsilon", type=float, required=True, help="Privacy cost of the release of a system."
        ),
        click.option(
            "--mechanism",
            type=choice("default", "exponential", "paper"),
            default="default",
            help="default: permute-and-flip, or the window for a whole record; exponential:"
            " composes better if repeated; paper: conditional guarantee, no capacity.",
        ),
        click.option("--delta", type=float, help="δ of mechanism paper. [0.1]"),
        CAPACITIES,
        click.option(
            "--clock",
            "clocks",
            type=float,
            multiple=True,
            metavar="MINUTES",
            help="Possible offset of the declared clock; if several are given, the offset is part"
            " of the release. [0]",
        ),
    ),
)

UNRECORDED = (
    "NOTHING WAS RECORDED: no ledger counts what these releases spend. Each system's release costs"
    " it ε = {epsilon:g}; releasing the same system again adds to that."
)


@command("release")
@click.argument("meters", type=click.Path(path_type=Path))
@taking(PLACE, RELEASED_METERS, WEATHER, PRIVACY, RELEASED_FLEET, OUTPUT)
@click.pass_context
def release_command(context: click.Context, /, meters: Path, **given: Any) -> None:
    """Release azimuth, tilt and DC capacity of every system under differential privacy.

    METERS is read as by infer, but cleaning rules that use the whole record are switched off,
    because they could leak information. Systems are named by random release ids, in random order.
    Each run draws again and is a release of its own: run it once.

    For net meters, declared by --net or by the format, a public load model is used. It does not
    check whether the result is reliable, because that check would leak.

    With --systems, METERS is a fleet, as for infer; each system is released at its own place.
    Systems that cannot be released are counted on stderr.
    """
    from sunveil.privacy.guarantees import check_release_epsilon, parse_unit

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
    from sunveil.releases.fleet_releases import ReleaseTerms, release_systems

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
    from sunveil.releases.fleet_releases import ReleaseTerms, release_systems

    if given["delta"] is not None:
        raise ParameterError("delta is for the paper's mechanism, which takes one site at a time")
    terms = ReleaseTerms.of(unit, given["epsilon"], mechanism=given["mechanism"], choices=choices)
    with opened_fleet(meters, meter_options(given), given) as fleet, counting("releasing") as show:
        return release_systems(fleet, terms=terms, on_progress=show)


def make_choices(given: dict[str, Any]) -> Choices:
    """Return the public choices that were given."""
    from sunveil.releases.release_choices import Choices
    from sunveil.releases.score_kernels import Capacities

    low, high = given["capacities"]
    return Choices(capacities=Capacities(low, high), clocks=given.get("clocks") or (0.0,))


def meter_options(given: dict[str, Any]) -> MeterOptions:
    """Return how private releases read meters: each reading taken as it is."""
    return declared_options(given, cleaning="each")


def open_site(meters: Path, given: dict[str, Any]) -> Fleet:
    """Return the systems of one site, each reading taken as it is; name skipped ones on stderr."""
    # Which are skipped depends on rows and stamps alone.
    from sunveil.fleet.open import open_fleet
    from sunveil.site import Site

    site = Site(given["latitude"], given["longitude"], given["altitude"])
    weather, reading = given["weather"], meter_options(given)
    server = server_options(weather, given)
    with (
        pointing_to_schema(meters, given["schema"]),
        open_fleet(meters, site=site, reading=reading, weather=weather, server=server) as fleet,
    ):
        refused = fleet.refused()
        if not fleet.names:
            raise MeterError(refused[0].reason)
    say_left_out([Refusal(each.system_id, each.reason) for each in refused])
    return fleet


def read_site(meters: Path, given: dict[str, Any]) -> SystemsToRelease:
    """Return the systems of one site that can be released."""
    from sunveil.releases.fleet_releases import SystemsToRelease

    return SystemsToRelease.of(open_site(meters, given))


def _by_paper(meters: Path, given: dict[str, Any], *, unit: Unit) -> list[Release]:
    """Return one release per system by a mechanism of the paper's, in a random order."""
    from sunveil.fleet.blocks import record_span
    from sunveil.releases.release import release
    from sunveil.weather.sources import SiteWeather

    fleet = open_site(meters, given)
    records = fleet.all_records()
    spans = [record_span(record) for record in records]
    sky = SiteWeather(fleet.weather, fleet.sites[0], spans, **fleet.server)
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
        return "one plane" if found.planes else "unknown"
    return " + ".join(
        f"{each.share:.0%} at {each.surface_azimuth:.0f}°, {each.surface_tilt:.0f}°"
        for each in found.planes
    )


def _as_table(found: Sequence[Release]) -> str:
    from sunveil.cli._text import aligned

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


PRIVATE = "PRIVATE TO THE CURATOR: drawn from meter readings; do not publish it or pass it on."

PUBLIC = (
    "Public: drawn from simulated systems alone, with the physics of the inference; real systems"
    " err by more where ε is large, as release says."
)

SIMULATED_PLACE = (39.74, -105.17)

KNOWN = Group(
    "Method",
    (
        click.option(
            "--epsilon",
            "epsilons",
            type=float,
            multiple=True,
            help="ε at which to compute errors; may be given several times. [0.01 to 10]",
        ),
        CAPACITIES,
        click.option("--azimuth", type=float, help="Known azimuth of the system. [degrees]"),
        click.option("--tilt", type=float, help="Known tilt of the system. [degrees]"),
        click.option("--capacity", type=float, help="Known DC capacity of the system. [kW]"),
        click.option(
            "--systems",
            type=click.IntRange(1, 200),
            default=6,
            help="Number of simulated systems, without METERS.",
        ),
        click.option(
            "--seed", type=click.IntRange(min=0), default=1, help="Seed of the simulation."
        ),
    ),
)

FIGURE_OUTPUT = Group(
    "Output",
    (
        AS_JSON,
        path_option(
            "--out",
            "Write a figure (.png, .svg) or JSON (.json) to this file, completely or not at all.",
        ),
    ),
)


@command("utility")
@click.argument("meters", type=click.Path(path_type=Path), required=False)
@taking(PLACE, RELEASED_METERS, WEATHER, KNOWN, FIGURE_OUTPUT)
@click.pass_context
def utility_command(
    context: click.Context, /, *, meters: Path | None, as_json: bool, out: Path | None, **given: Any
) -> None:
    """Show expected release errors for each unit and mechanism, by ε.

    Expectations are exact, not sampled. With METERS, the readings of one system are used, and the
    output is private to the curator: errors are relative to its known plane and capacity, or to the
    result of infer. Without, systems are simulated at --latitude and --longitude.
    """
    from sunveil.releases.utility_curves import EPSILONS, utility_curves

    if out is not None:
        _check_out(out, meters, given["weather"])
    known = _simulated(given, context) if meters is None else [_metered(meters, given)]
    curves = utility_curves(
        list(progress(known, "scoring", total=len(known))), given["epsilons"] or EPSILONS
    )
    private = meters is not None
    text = _curves_as_json(curves, private=private)
    if out is not None:
        _write(out, curves, text, private=private)
        click.echo(f"Wrote {out}")
    elif as_json:
        click.echo(text)
    else:
        click.echo(_curves_as_table(curves))
    click.echo(f"sunveil: {PRIVATE if private else PUBLIC}", err=True)


def _check_out(out: Path, meters: Path | None, weather: str) -> None:
    if out.suffix.lower() not in (".png", ".svg", ".json"):
        raise ParameterError(f"--out {out} must end in .png, .svg or .json")
    if out.suffix.lower() != ".json":
        require_extras("plots", purpose="a figure")
    inputs = [path for path in (meters,) if path is not None]
    check_target(out, *inputs, *([] if weather in WEATHER_NAMES else [Path(weather)]))


def _simulated(given: dict[str, Any], context: click.Context) -> list[KnownSystem]:
    from sunveil.releases.utility_curves import simulated_systems
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
    from sunveil.fleet.blocks import record_span
    from sunveil.inference.infer import infer_record
    from sunveil.releases.candidate_frame import frame_of
    from sunveil.releases.utility_curves import KnownSystem
    from sunveil.site import Plane, Site
    from sunveil.weather.sources import get_weather

    if given["latitude"] is None or given["longitude"] is None:
        raise ParameterError("METERS need --latitude and --longitude, for the sun")
    records = open_site(meters, given).all_records()
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


def _curves_as_json(curves: Sequence[Curve], *, private: bool) -> str:
    content = {
        "private": private,
        "note": PRIVATE if private else PUBLIC,
        "curves": [curve.to_dict() for curve in curves],
    }
    return json.dumps(content, indent=2, allow_nan=False)


def _curves_as_table(curves: Sequence[Curve]) -> str:
    from sunveil.cli._text import aligned

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
    from sunveil.plots.publication_figures import plot_utility
    from sunveil.plots.style import loose_figure

    figure = loose_figure(11.0, 4.4)
    plot_utility(curves, private=private, axes=list(figure.subplots(1, 3)))
    buffer = io.BytesIO()
    figure.savefig(buffer, format=out.suffix.lower()[1:], dpi=150)
    write_whole(out, buffer.getvalue(), private=private)


BROKEN = 1  # something that must hold does not; 2 is for what the user can put right


@command("audit")
@click.option(
    "--pairs", type=int, default=2000, help="Number of neighbouring pairs for each mechanism."
)
@click.option("--epsilon", type=float, default=1.0, help="Claimed ε.")
@click.option(
    "--seed", type=int, default=1, help="Random seed; the same seed gives the same pairs."
)
@click.option("--draws", type=int, default=1000, help="Number of draws for each test of a sampler.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE", help="Write to this file instead."
)
@click.pass_context
def audit_command(
    context: click.Context,
    /,
    *,
    pairs: int,
    epsilon: float,
    seed: int,
    draws: int,
    as_json: bool,
    out: Path | None,
) -> None:
    """Test the privacy of every mechanism on worst-case neighbouring records.

    Compares the exact privacy loss of each pair with the claim, and draws with the computed
    probabilities. Reads no file.

    Exit code 0: all claims hold. Exit code 1: a claim does not hold. Exit code 2: bad input.
    """
    from sunveil.privacy.mechanism_audit import run_audit

    if out is not None:
        check_target(out)
    exact, samplers = run_audit(epsilon=epsilon, pairs=pairs, draws=draws, seed=seed)
    found: dict[str, list[Any]] = {"exact": exact, "samplers": samplers}
    holds = all(each.holds for these in found.values() for each in these)
    good = f"All {len(exact)} claims hold, over {pairs:,} pairs each, and so do the draws."
    verdict = good if holds else "Something that must hold does not: see the verdicts."
    text = f"{show_audit(exact, samplers)}\n\n{verdict}"
    if as_json:
        parts = {name: [each.to_dict() for each in these] for name, these in found.items()}
        about = {"epsilon": epsilon, "seed": seed, "holds": holds}
        text = json.dumps({**about, **parts}, indent=2, allow_nan=False)
    if out is not None:
        write_whole(out, text + "\n")
        text = f"{verdict} Wrote {out}"
    click.echo(text)
    if not holds:
        context.exit(BROKEN)


def show_audit(exact: list[ExactFinding], samplers: list[SamplerFinding]) -> str:
    """Return what was found as tables that a person can read."""
    from sunveil.cli._text import aligned

    claims = [("mechanism", "protects", "claimed ε", "largest", "share", "pairs", "verdict")]
    for each in exact:
        numbers = (f"{each.largest:.6f}", f"{100.0 * each.share:.1f}%", f"{each.pairs:,}")
        claims.append((each.mechanism, each.unit, f"{each.epsilon:g}", *numbers, each.verdict))
    drawn = [("drawn from", "protects", "draws", "cells", "p-value", "verdict")]
    for some in samplers:
        numbers = (f"{some.draws:,}", str(some.cells), f"{some.p_value:.2g}")
        drawn.append((some.mechanism, some.unit, *numbers, some.verdict))
    return (
        f"{aligned(claims)}\n\n{aligned(drawn)}\n\nlargest: the largest privacy loss of a pair, in"
        " exact probabilities; tight: 80% of the claim or more."
    )
