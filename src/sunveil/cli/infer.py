"""Infer, check, schema."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sunveil._extras import require_extras
from sunveil._files import progress, write_whole
from sunveil.cli._options import (
    AS_JSON,
    METER_OPTIONS,
    METERS,
    OUT,
    PLACE,
    SCHEMA,
    SYSTEMS,
    WEATHER,
    WEATHER_NAMES,
    Declared,
    Group,
    check_target,
    choice,
    command,
    declared_options,
    path_option,
    refuse_place,
    require_place,
    server_options,
    taking,
)
from sunveil.cli._text import Refusal, compile_first, counting, named, printable, say, say_left_out
from sunveil.errors import ParameterError, SunveilError, WeatherError

if TYPE_CHECKING:
    from sunveil.estimates.estimates_table import Estimate
    from sunveil.estimates.inference_options import InferOptions
    from sunveil.fleet.systems_table import SystemTable
    from sunveil.inference.fleet_part import SiteSkies
    from sunveil.inference.fleet_run import FleetProgress, FleetResult
    from sunveil.meters.describe_file import SystemCheckup
    from sunveil.meters.reading_options import MeterOptions
    from sunveil.meters.record import Record, RefusedSystem
    from sunveil.site import Site

FLEET = Group(
    "Fleet",
    (
        SYSTEMS,
        click.option(
            "--engine",
            type=choice("local", "dask"),
            default="local",
            help="Where a fleet is inferred: processes of this machine, or Dask.",
        ),
        click.option("--scheduler", metavar="ADDRESS", help="Address of a running Dask scheduler."),
        click.option(
            "--workers",
            type=click.IntRange(1, 1024),
            help="Number of worker processes; the number of processors if not given.",
        ),
        click.option(
            "--restart",
            is_flag=True,
            help="Start over: delete any fleet run in --out, unfinished or complete.",
        ),
    ),
)

# Kinds of refusals that may lie in the readings: whatever one record holds, a run ends alike.
READINGS_KINDS = frozenset({"meter", "too little data", "failed"})

_FLEET = ("engine", "scheduler", "workers", "restart")


def refuse_fleet_options(context: click.Context) -> None:
    """Refuse what only a fleet takes, and ask for what one site needs."""
    for name in _FLEET:
        if _is_given(context, name):
            raise click.UsageError(f"--{name} is for a fleet: give its --systems", context)
    require_place(context)


def run_fleet(
    context: click.Context,
    fleet: Path,
    out: Path | None,
    *,
    weather: str,
    as_json: bool,
    given: dict[str, Any],
) -> None:
    """Infer a fleet, telling how far it is."""
    refuse_place(context)
    if given["method"] != "default":
        raise click.UsageError("a fleet is inferred by the default method only", context)
    if out is None:
        raise click.UsageError("a fleet is written to a folder: name it with --out", context)
    # every processor has a worker; more threads of numpy's would wait in loops, and take theirs
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if as_json:
        click.echo(json.dumps(_beginning("compiling")))
    from sunveil._options import keywords_of
    from sunveil.inference.fleet_run import infer_fleet

    compile_first()
    if as_json:
        click.echo(json.dumps(_beginning("reading")))
    with counting("inferring") as show:

        def tell(progress: FleetProgress) -> None:
            show(progress.systems, progress.all_systems)
            if as_json:
                click.echo(json.dumps(progress.to_dict()))

        result = infer_fleet(
            fleet,
            given["systems"],
            out,
            weather=weather,
            **keywords_of(declared_options(given)),
            **keywords_of(_options(given)),
            engine=given["engine"],
            workers=given["workers"],
            scheduler=given["scheduler"],
            restart=given["restart"],
            server=server_options(weather, given),
            tell=tell,
        )
    _write_page(result.folder)
    _say(result, out, as_json=as_json)


def _write_page(folder: Path) -> None:
    """Write the summary as a page, where what draws it is installed."""
    from sunveil.plots.html_report import write_fleet_page

    try:
        write_fleet_page(folder)
    except ModuleNotFoundError as error:
        if error.name not in ("jinja2", "matplotlib"):
            raise
        click.echo(
            "sunveil: skipped summary.html, which needs pip install 'sunveil[plots]'", err=True
        )


def _is_given(context: click.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source not in (None, click.core.ParameterSource.DEFAULT)


def _beginning(doing: str) -> dict[str, object]:
    """Return the line that says what is done before the first part is worked on."""
    return {"event": "progress", "doing": doing, "done": 0, "total": 0}


def _say(result: FleetResult, out: Path, *, as_json: bool) -> None:
    summary = json.loads((result.folder / "summary.json").read_text(encoding="utf-8"))
    if as_json:
        click.echo(json.dumps(_done(result, out, summary)))
    total = result.inferred + result.refused
    for reason in summary["unread_files"][:5]:
        click.echo(f"sunveil: skipped: {reason}", err=True)
    kinds = summary["refused_by_kind"]
    if not result.inferred and not READINGS_KINDS & set(kinds):
        counted = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        raise SunveilError(
            f"none of {total} systems can be inferred ({counted}); the reasons are in"
            f" {out / 'refused.parquet'}"
        )
    if not as_json:
        net = summary["flags"]["net_meter"]
        of_them = f", {net:,} of them net meters" if net else ""
        click.echo(f"Wrote {result.inferred:,} of {total:,} systems to {out}{of_them}")
    if result.refused:
        click.echo(
            f"sunveil: skipped {result.refused:,} systems; the reasons are in"
            f" {out / 'refused.parquet'}",
            err=True,
        )


def _done(result: FleetResult, out: Path, summary: dict[str, Any]) -> dict[str, Any]:
    return {
        "event": "done",
        "out": str(out),
        "estimates": str(out / "estimates"),
        "refused_table": str(out / "refused.parquet"),
        "summary": str(out / "summary.json"),
        "page": str(out / "summary.html"),
        "inferred": result.inferred,
        "refused": result.refused,
        "refused_by_kind": summary["refused_by_kind"],
        "unread_files": summary["unread_files"],
        "parts": result.parts,
        "resumed": result.resumed,
    }


_ENDINGS = (".csv", ".parquet")


def check_separated(path: Path, *inputs: Path) -> None:
    """Refuse, before any work is done, a file that cannot be written or is of no known kind."""
    if path.suffix.lower() not in _ENDINGS:
        raise ParameterError(f"--separated {path} must end with {' or '.join(_ENDINGS)}")
    check_target(path, *inputs, option="--separated")


def check_one_system(count: int) -> None:
    """Refuse meters of several systems."""
    if count != 1:
        raise ParameterError(
            f"--separated is of one system, and there are {count}: give a file of one of them"
        )


def write_separated(
    path: Path,
    records: Sequence[Record],
    skies: SiteSkies,
    inferred: Sequence[Estimate | SunveilError],
) -> None:
    """Write generation and load of the only system, unless it could not be inferred."""
    from sunveil.inference.infer import separate_record

    for record, estimate in zip(records, inferred, strict=True):
        if isinstance(estimate, SunveilError):
            continue
        if estimate.household is None:
            raise ParameterError(
                f"--separated is for net meters, and system {estimate.system_id} reads its"
                " generation; if it is a net meter, say so with --net"
            )
        frame = separate_record(record, skies, estimate).round(4)
        if path.suffix.lower() == ".csv":
            text = frame.to_csv(date_format="%Y-%m-%dT%H:%MZ", lineterminator="\n")
            write_whole(path, text, private=True)
        else:
            buffer = io.BytesIO()
            frame.reset_index().to_parquet(buffer, index=False)
            write_whole(path, buffer.getvalue(), private=True)
        click.echo(f"sunveil: wrote {len(frame):,} intervals to {path}", err=True)


INFERENCE = Group(
    "Method",
    (
        Declared("sunveil.estimates.inference_options", "InferOptions", ("losses",)),
        click.option("--losses", type=float, default=0.05, help="System losses, a fraction."),
        click.option(
            "--inverter-efficiency",
            type=float,
            default=0.96,
            help="Nominal inverter efficiency, a fraction.",
        ),
    ),
)

INFER_OUTPUT = Group(
    "Output",
    (
        click.option(
            "--json",
            "as_json",
            is_flag=True,
            help="Print JSON instead of a table; with --systems, progress as JSON lines.",
        ),
        path_option(
            "--out",
            "Write to this file, completely or not at all, instead of printing; with --systems, the"
            " folder of the run.",
            metavar="PATH",
        ),
        path_option("--report", "Also write an HTML page with figures, of one site. Private."),
        path_option(
            "--separated",
            "Also write the generation of one net meter by interval, its 90% band and the load, as"
            " .csv or .parquet. Private.",
        ),
    ),
)


@command("infer")
@click.argument("meters", type=click.Path(path_type=Path))
@taking(PLACE, METERS, WEATHER, INFERENCE, FLEET, INFER_OUTPUT)
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

    METERS is a file, an archive or a folder of files at one site: a table of one system, a long
    table of many systems (system_id, time, power_kw), or an export of a portal or utility, which is
    recognised by its content. Options or --schema declare what the content leaves open.

    With --systems, METERS is a fleet: Parquet in long form or with lists, or a folder of files. The
    table of systems has the places. Estimates are written to the folder --out; the same command
    continues an interrupted run.

    Each system is inferred separately. A system that cannot be inferred keeps its row (unknown in
    the table, an object with system_id and error in the JSON) and its reason is printed to stderr;
    the exit code is 0.

    Exit code 2: the input cannot be read, the only system cannot be inferred, or no system can be
    inferred for a reason other than its readings, such as timestamps, time zone or weather. Nothing
    is written.
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
    from sunveil.meters.read_files import iter_systems
    from sunveil.meters.record import Record
    from sunveil.site import Site

    site = Site(given["latitude"], given["longitude"], given["altitude"])
    options = _options(given)
    inputs = [meters, *([] if weather in WEATHER_NAMES else [Path(weather)])]
    if out is not None:
        check_target(out, *inputs)
    if report is not None:
        require_extras("plots", purpose="a report")
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
    say_left_out([*refused, *beside])
    if report is not None and len(refused) < len(outcomes):
        click.echo(f"sunveil: report: {report} (private)", err=True)


def _write_report(
    path: Path,
    records: Sequence[Record],
    skies: SiteSkies,
    inferred: Sequence[Estimate | SunveilError],
) -> None:
    """Write a page about the systems that were inferred, if there are any."""
    from sunveil.fleet.blocks import record_span
    from sunveil.plots.html_report import Case, write_report

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
    # A file that cannot be used is no second row of a system that other files have.
    from sunveil.meters.record import RefusedSystem

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


def _options(given: dict[str, Any]) -> InferOptions:
    from sunveil._options import declared_options
    from sunveil.estimates.inference_options import InferOptions
    from sunveil.site import Losses

    losses = Losses(system=given["losses"], inverter_efficiency=given["inverter_efficiency"])
    own = {name: given[name] for name in declared_options(InferOptions)}
    return InferOptions(**{**own, "losses": losses})


def _skies(
    records: Sequence[Record], site: Site, weather: str, *, given: dict[str, Any]
) -> SiteSkies:
    """Return the skies of the site; its weather is requested once over all records."""
    from sunveil.fleet.blocks import record_span
    from sunveil.inference.fleet_part import SiteSkies
    from sunveil.weather.sources import SiteWeather

    spans = [record_span(record) for record in records]
    loaded = SiteWeather(weather, site, spans, **server_options(weather, given))
    places = (given[name] for name in ("latitude", "longitude", "altitude"))
    return SiteSkies(*places, weather=weather, load=loaded.over)


def _inferred(
    records: Sequence[Record], skies: SiteSkies, options: InferOptions
) -> list[Estimate | SunveilError]:
    """Return the estimate of each record, or why there is none."""
    from sunveil.inference.infer import infer_records

    if not records:
        return []
    compile_first(net=any(record.net for record in records))
    found = infer_records(records, skies, options=options)
    return list(progress(found, "inferring", total=len(records)))


def _outcomes(
    found: Sequence[Record | RefusedSystem], inferred: Sequence[Estimate | SunveilError]
) -> list[Estimate | Refusal]:
    """Return what became of every system that was found, in their order."""
    from sunveil.meters.record import RefusedSystem

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

    from sunveil.meters.read_files import iter_raw_systems, record_or_refusal
    from sunveil.meters.record import Record, RefusedSystem

    for raw, own in iter_raw_systems(meters, options):
        if not isinstance(raw, RefusedSystem):
            zeros = replace(raw, values=np.zeros(len(raw.values)))
            found = record_or_refusal(zeros, own.changed({"cleaning": "each"}), name=raw.system_id)
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
    from sunveil.cli._show_estimates import show_estimates

    return show_estimates(outcomes)


Checked = list["SystemCheckup | Refusal"]


@command("check")
@click.argument("meters", type=click.Path(path_type=Path))
@taking(METERS, Group("Fleet", (SYSTEMS,)), Group("Output", (AS_JSON,)))
def check_command(meters: Path, *, systems: Path | None, as_json: bool, **given: Any) -> None:
    """Show what is read from METERS: systems, spans, units, time zones, gaps and problems.

    METERS is a file, an archive or a folder of files, as for sunveil infer. Nothing is inferred,
    and no place is needed. The output is derived from readings and private to the curator.

    Exit code 2: the input cannot be read, or no system in it can be used. stderr says why in one
    sentence.
    """
    from sunveil.fleet.systems_table import read_systems

    options = declared_options(given)
    table = None if systems is None else read_systems(systems, options)
    checked = _check(meters, options, table)
    unmatched = [] if table is None else _without_readings(table, checked)
    if all(isinstance(each, Refusal) for each in checked):
        raise _check_error(checked)
    if as_json:
        rows = [each.to_dict() for each in checked]
        say(json.dumps(rows, indent=2, allow_nan=False))
    else:
        say(_as_text(checked))
    if unmatched:
        say(f"sunveil: {named(unmatched)} of the table of systems: no readings", err=True)


def _check(meters: Path, options: MeterOptions, table: SystemTable | None) -> Checked:
    """Return what was read of each system, or why it cannot be used."""
    from sunveil.meters.describe_file import check_record
    from sunveil.meters.read_files import iter_systems
    from sunveil.meters.record import Record
    from sunveil.meters.time_steps import clock_elsewhere

    places = {} if table is None else {name: at for at, name in enumerate(table.ids.to_pylist())}

    def own(name: str, read: MeterOptions) -> MeterOptions:
        return read if table is None or name not in places else table.options_of(places[name], read)

    checked: Checked = []
    turned_away = {} if table is None else {each.system_id: each.reason for each in table.refused}
    for each in progress(iter_systems(meters, options, options_of=own), "reading"):
        name, reason = each.system_id, None
        if not isinstance(each, Record):
            reason = each.reason
        elif table is not None and name not in places:
            reason = turned_away.get(name, f"system {name} is not in the table of systems")
        elif table is not None:
            reason = clock_elsewhere(each.timezone, float(table.longitude[places[name]]))
        if isinstance(each, Record) and reason is None:
            checked.append(check_record(each))
        else:
            checked.append(Refusal(name, str(reason)))
    return sorted(checked, key=lambda each: each.system_id)


def _without_readings(table: SystemTable, checked: Checked) -> list[str]:
    seen = {each.system_id for each in checked}
    return [name for name in table.ids.to_pylist() if name not in seen]


def _check_error(checked: Checked) -> SunveilError:
    reasons = [each.reason for each in checked if isinstance(each, Refusal)]
    if len(reasons) == 1:
        return SunveilError(reasons[0])
    return SunveilError(f"none of {len(reasons)} systems can be used; the first: {reasons[0]}")


def _as_text(checked: Checked) -> str:
    from sunveil.cli._text import aligned

    head = (
        "system",
        "from",
        "to",
        "days",
        "every",
        "unit",
        "clock",
        "stamps name",
        "missing",
        "state",
    )
    lines = [aligned([head, *map(_row, checked)]), ""]
    lines += _grouped(checked)
    used = sum(not isinstance(each, Refusal) for each in checked)
    lines.append(
        f"{used} of {len(checked)} system{'' if len(checked) == 1 else 's'} can be read."
        " Times are in UTC; a question mark marks a unit or label that is assumed."
    )
    return "\n".join(lines)


def _row(each: SystemCheckup | Refusal) -> tuple[str, ...]:
    if isinstance(each, Refusal):
        return (each.system_id, *("-" for _ in range(8)), "refused")
    sure = "" if each.unit_known else "?"
    label = each.label if each.label_known else f"{each.label}?"
    return (
        each.system_id,
        each.first[:10],
        each.last[:10],
        f"{each.days:.0f}",
        f"{each.interval_minutes:g} min",
        f"{each.unit}{sure}{' net' if each.net else ''}",
        each.timezone,
        label,
        f"{100.0 * each.missing:.1f}%",
        "look" if each.warnings else "fine",
    )


def _grouped(checked: Checked) -> list[str]:
    """Return what looks wrong and what the reader did, each sentence once with its systems."""
    about: dict[str, list[str]] = {}
    for each in checked:
        if isinstance(each, Refusal):
            said: Sequence[str] = [each.reason]
        else:
            said = [*(f"look: {warning}" for warning in each.warnings), *each.notes]
        for remark in said:
            about.setdefault(remark, []).append(each.system_id)
    return [
        printable(f"{named(names)}: {sentence.rstrip('.')}.") for sentence, names in about.items()
    ]


PRIVATE = (
    "FOR THE CURATOR ALONE: some of it may be found from readings; check it, and keep it private."
)


@command("schema")
@click.argument("meters", type=click.Path(path_type=Path))
@taking(Group("Meter files", (SCHEMA, METER_OPTIONS)), Group("Output", (OUT,)))
def schema_command(meters: Path, *, out: Path | None, **given: Any) -> None:
    """Propose a schema file for METERS: a YAML file that says how the file is written.

    Each line says where it comes from: the header, the definition of the format, the timestamps, or
    an option. Lines marked CHECK are derived from readings or assumed; keep them only if you know
    them from elsewhere. Other commands take the file as --schema FILE; private releases need it
    where the header does not say everything.

    All commands that read meter files take the options of this command that describe them.
    """
    from sunveil.meters.describe_file import describe_source
    from sunveil.meters.schema_files import CHECK, schema_text

    if meters.is_dir():
        raise ParameterError(
            f"{meters} is a folder: name one of its files; its schema holds for all others alike"
        )
    if out is not None:
        check_target(out, meters)
    found = describe_source(meters, declared_options(given))
    systems = f"{found.systems} system{'' if found.systems == 1 else 's'}"
    text = schema_text(
        found.options, found.origins, about=f"{meters.name}, {found.format}, {systems}"
    )
    if out is None:
        click.echo(text, nl=False)
    else:
        write_whole(out, text, private=True)
        click.echo(f"Wrote {out}")
    click.echo(f"sunveil: {text.count(CHECK)} lines to check. {PRIVATE}", err=True)
