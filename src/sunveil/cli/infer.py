"""``sunveil infer``: meters in, a table or JSON out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sunveil.cli.colour import say
from sunveil.cli.errors import Refusal, sentence
from sunveil.cli.files import check_target, write_whole
from sunveil.cli.fleet import FLEET_OPTIONS, refuse_fleet_options, run_fleet
from sunveil.cli.options import (
    METER_OPTIONS,
    WEATHER_NAMES,
    WEATHER_OPTIONS,
    choice,
    declared_options,
    server_options,
    taking,
)
from sunveil.cli.progress import compile_first
from sunveil.cli.separated import SEPARATED, check_one_system, check_separated, write_separated
from sunveil.errors import ParameterError, SunveilError, WeatherError
from sunveil.extras import require_extras
from sunveil.progress import progress

if TYPE_CHECKING:
    from sunveil.estimate import Estimate
    from sunveil.infer import Options, SiteSkies
    from sunveil.meters import MeterOptions, Record
    from sunveil.meters.refusals import RefusedSystem
    from sunveil.site import Site


# Needed for one site; a fleet's table of systems has them.
PLACE_OPTIONS = (
    click.option("--latitude", type=float, help="North positive; of one site. [degrees]"),
    click.option("--longitude", type=float, help="East positive; of one site. [degrees]"),
    click.option(
        "--altitude", type=float, help="Above the sea; looked up if left out; of one site. [m]"
    ),
)
OUTPUT_OPTIONS = (
    click.option(
        "--json",
        "as_json",
        is_flag=True,
        help="A JSON list instead of a table; with --systems, progress as JSON lines.",
    ),
    click.option(
        "--out",
        type=click.Path(path_type=Path),
        metavar="PATH",
        help="A file to write, whole or not at all, instead of printing; with --systems, the"
        " folder of the run.",
    ),
    click.option(
        "--report",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="A page with figures to write beside it, for a browser: private; of one site.",
    ),
    SEPARATED,
)
INFERENCE_OPTIONS = (
    click.option(
        "--method",
        type=choice("default", "paper"),
        default="default",
        help="All readings and a robust refinement, or the paper's method.",
    ),
    click.option(
        "--clock",
        type=choice("repair", "given"),
        default="repair",
        help="Repair a clock that does not fit the sun, or take it as given.",
    ),
    click.option(
        "--group",
        type=choice("day", "week", "month", "quarter"),
        default="month",
        help="How the paper's method groups days.",
    ),
    click.option(
        "--search",
        type=choice("exhaustive", "bayesopt"),
        default="exhaustive",
        help="How the paper's method looks for its maximiser: all planes, or some by GP-UCB.",
    ),
    click.option("--losses", type=float, default=0.05, help="System losses, a fraction."),
    click.option(
        "--inverter-efficiency", type=float, default=0.96, help="Nominal efficiency, a fraction."
    ),
    click.option(
        "--albedo", type=float, default=0.2, help="Share of light that the ground sends back."
    ),
    click.option(
        "--mount",
        type=choice("unknown", "rack", "roof"),
        default="unknown",
        help="How the modules are mounted; known, it makes the capacity surer.",
    ),
    click.option(
        "--force",
        is_flag=True,
        help="Infer what was refused since it does not look like generation, flagged.",
    ),
)


@click.command("infer", context_settings={"show_default": True})
@click.argument("meters", type=click.Path(path_type=Path))
@taking(
    PLACE_OPTIONS, FLEET_OPTIONS, METER_OPTIONS, WEATHER_OPTIONS, INFERENCE_OPTIONS, OUTPUT_OPTIONS
)
@click.pass_context
def infer_command(
    context: click.Context,
    /,
    meters: Path,
    *,
    weather: str,
    as_json: bool,
    out: Path | None,
    report: Path | None,
    separated: Path | None,
    **given: Any,
) -> None:
    """Infer azimuth, tilt and DC capacity of every system in METERS.

    METERS is a file, an archive or a folder of files at one site: a table of one system, or of many
    in long form (system_id, time, power_kw), or an export of a portal or utility, recognised by
    its content; what that leaves open is said by options or by --schema.

    With --systems, it is a whole fleet: Parquet in long form or with lists, or a folder of files,
    at the places that the table of systems gives; the estimates are written to the folder --out,
    and a run that was stopped is taken up by the same command.

    Every system stands alone. One that cannot be inferred keeps its row, unknown in the table and
    an object with system_id and error in the JSON, and is named on stderr with the reason; the
    others' rows are the same, and the exit code is 0.

    Exit code 2: the input cannot be read, it is one system that cannot be inferred, or no system
    can be for a reason that is not in its readings: its stamps, the time zone, the weather. stderr
    says why in one sentence, and nothing is written.
    """
    if given["systems"] is not None:
        if separated is not None:
            raise click.UsageError("--separated is for one system, and not for a fleet", context)
        if report is not None:
            raise click.UsageError(
                "--report is for one site: a fleet has its summary.html in the folder --out",
                context,
            )
        run_fleet(context, meters, out, weather=weather, as_json=as_json, given=given)
        return
    refuse_fleet_options(context)
    from sunveil.meters import Record
    from sunveil.meters.read import iter_systems
    from sunveil.site import Site

    site = Site(given["latitude"], given["longitude"], given["altitude"])
    options = _options(given)
    inputs = [meters, *([] if weather in WEATHER_NAMES else [Path(weather)])]
    if out is not None:
        check_target(out, *inputs)
    if report is not None:
        require_extras("report", purpose="a report")
        check_target(report, *inputs, option="--report")
    if separated is not None:
        check_separated(separated, *inputs)
    reading = declared_options(given)
    found, beside = _one_row_each(list(iter_systems(meters, reading)))
    if separated is not None:
        check_one_system(len(found))
    records = [each for each in found if isinstance(each, Record)]
    skies = _skies(records, site, weather, given=given)
    inferred = _inferred(records, skies, options)
    if separated is not None:
        write_separated(separated, records, skies, inferred)
    outcomes = _outcomes(found, inferred)
    refused = [each for each in outcomes if isinstance(each, Refusal)]
    if len(refused) == len(outcomes) and _is_error(inferred, meters, reading, count=len(found)):
        raise _error(refused)
    text = _as_json(outcomes) if as_json else _as_table(outcomes)
    if report is not None:
        _write_report(report, records, skies, inferred)
    if out is None:
        say(text)
    else:
        write_whole(out, text + "\n")
        click.echo(f"Wrote {len(outcomes) - len(refused)} of {len(outcomes)} systems to {out}")
    for each in [*refused, *beside]:
        reason = sentence(SunveilError(each.reason))
        click.echo(f"sunveil: left out {each.system_id}: {reason}", err=True)
    if report is not None and len(refused) < len(outcomes):
        click.echo(f"sunveil: report: {report} (private)", err=True)


def _write_report(
    path: Path,
    records: Sequence[Record],
    skies: SiteSkies,
    inferred: Sequence[Estimate | SunveilError],
) -> None:
    """Write a page about the systems that were inferred, if there are any."""
    from sunveil.infer import record_span
    from sunveil.report import Case, write_report

    cases = [
        Case(None, record, skies.weather(record_span(record)), each)
        for record, each in zip(records, inferred, strict=True)
        if not isinstance(each, SunveilError)
    ]
    if cases:
        write_report(path, cases)


def _one_row_each(
    found: Sequence[Record | RefusedSystem],
) -> tuple[list[Record | RefusedSystem], list[Refusal]]:
    """Return what was found with one entry for each name, by name, and the refusals beside others.

    A file that cannot be used is no second row of a system that other files have.
    """
    from sunveil.meters.refusals import RefusedSystem

    seen = {each.system_id for each in found if not isinstance(each, RefusedSystem)}
    rows: list[Record | RefusedSystem] = []
    beside: list[Refusal] = []
    for each in found:
        if isinstance(each, RefusedSystem) and each.system_id in seen:
            beside.append(Refusal(each.system_id, each.reason))
        else:
            seen.add(each.system_id)
            rows.append(each)
    return sorted(rows, key=lambda each: each.system_id), beside


def _options(given: dict[str, Any]) -> Options:
    from sunveil.infer import Clock, Method, Options
    from sunveil.profiles import DayGroup
    from sunveil.search import Search
    from sunveil.site import Losses, Mount

    return Options(
        method=Method(given["method"]),
        clock=Clock(given["clock"]),
        losses=Losses(system=given["losses"], inverter_efficiency=given["inverter_efficiency"]),
        albedo=given["albedo"],
        mount=Mount(given["mount"]),
        group=DayGroup(given["group"]),
        search=Search(given["search"]),
        force=given["force"],
    )


def _skies(
    records: Sequence[Record], site: Site, weather: str, *, given: dict[str, Any]
) -> SiteSkies:
    """Return the skies of the site, whose weather is asked for once over all records."""
    from sunveil.cli.run import SiteWeather
    from sunveil.infer import SiteSkies, record_span

    spans = [record_span(record) for record in records]
    loaded = SiteWeather(weather, site, spans, **server_options(weather, given))
    places = (given[name] for name in ("latitude", "longitude", "altitude"))
    return SiteSkies(*places, weather=weather, load=loaded.over)


def _inferred(
    records: Sequence[Record], skies: SiteSkies, options: Options
) -> list[Estimate | SunveilError]:
    """Return the estimate of each record, or why there is none."""
    from sunveil.infer import infer_records

    if not records:
        return []
    compile_first(net=any(record.net for record in records))
    found = infer_records(records, skies, options=options)
    return list(progress(found, "inferring", total=len(records)))


def _outcomes(
    found: Sequence[Record | RefusedSystem], inferred: Sequence[Estimate | SunveilError]
) -> list[Estimate | Refusal]:
    """Return what became of every system that was found, in their order."""
    from sunveil.meters.refusals import RefusedSystem

    rest = iter(inferred)
    outcomes: list[Estimate | Refusal] = []
    for each in found:
        outcome = SunveilError(each.reason) if isinstance(each, RefusedSystem) else next(rest)
        if isinstance(outcome, SunveilError):
            outcomes.append(Refusal(each.system_id, str(outcome)))
        else:
            outcomes.append(outcome)
    return outcomes


def _is_error(
    inferred: Sequence[Estimate | SunveilError], meters: Path, options: MeterOptions, *, count: int
) -> bool:
    """Whether what refused every system is no matter of the readings of one among others."""
    if count == 1:
        return True
    if inferred:
        return all(isinstance(each, WeatherError | ParameterError) for each in inferred)
    return not _any_usable_stamps(meters, options)


def _any_usable_stamps(meters: Path, options: MeterOptions) -> bool:
    """Whether some system could be read if all its readings were zero."""
    import numpy as np

    from sunveil.meters import Record
    from sunveil.meters.read import iter_raw_systems, settle
    from sunveil.meters.refusals import RefusedSystem

    for raw, own in iter_raw_systems(meters, options):
        if not isinstance(raw, RefusedSystem):
            zeros = replace(raw, values=np.zeros(len(raw.values)))
            found = settle(zeros, own.changed({"cleaning": "each"}), name=raw.system_id)
            if isinstance(found, Record):
                return True
    return False


def _error(refused: Sequence[Refusal]) -> SunveilError:
    """Return why no system at all was inferred."""
    reasons = list(dict.fromkeys(each.reason for each in refused))
    if len(reasons) == 1:
        return SunveilError(reasons[0])
    return SunveilError(f"none of {len(refused)} systems can be inferred; the first: {reasons[0]}")


def _as_json(outcomes: Sequence[Estimate | Refusal]) -> str:
    return json.dumps([each.to_dict() for each in outcomes], indent=2, allow_nan=False)


def _as_table(outcomes: Sequence[Estimate | Refusal]) -> str:
    from sunveil.cli.show import show_estimates

    return show_estimates(outcomes)
