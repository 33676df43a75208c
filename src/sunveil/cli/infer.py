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
    WEATHER_NAMES,
    WEATHER_OPTIONS,
    check_target,
    choice,
    declared_options,
    server_options,
    taking,
)
from sunveil.cli._text import Refusal, compile_first, counting, printable, say, sentence
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

FLEET_OPTIONS = (
    click.option(
        "--systems",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="A whole fleet: the table of its systems, with system_id, latitude, longitude and, if"
        " known, altitude, timezone and metering (generation or net); other columns are public"
        " keys that are carried along.",
    ),
    click.option(
        "--engine",
        type=choice("local", "dask"),
        default="local",
        help="Processes of this machine, or Dask; for a fleet.",
    ),
    click.option("--scheduler", metavar="ADDRESS", help="A Dask scheduler that runs already."),
    click.option(
        "--workers",
        type=click.IntRange(1, 1024),
        help="Parts of a fleet worked on at a time; as many as there are processors if left out.",
    ),
    click.option(
        "--restart", is_flag=True, help="Throw away what --out holds of another run over a fleet."
    ),
)


# Kinds of refusals that may lie in the readings: whatever one record holds, a run ends alike.
READINGS_KINDS = frozenset({"meter", "too little data", "failed"})


_SITE = ("latitude", "longitude", "altitude")


_FLEET = ("engine", "scheduler", "workers", "restart")


def refuse_fleet_options(context: click.Context) -> None:
    """Refuse what only a fleet takes, and ask for what one site needs."""
    for name in _FLEET:
        if _is_given(context, name):
            raise click.UsageError(f"--{name} is for a fleet: give its --systems", context)
    for parameter in context.command.params:
        if parameter.name in _SITE[:2] and context.params[parameter.name] is None:
            raise click.MissingParameter(ctx=context, param=parameter)


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
    for name in _SITE:
        if given[name] is not None:
            raise click.UsageError(
                f"--{name} is for one site: the places of a fleet stand in its table of systems",
                context,
            )
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
            "sunveil: left out: summary.html, which needs pip install 'sunveil[report]'", err=True
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
        click.echo(f"sunveil: left out: {reason}", err=True)
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
            f"sunveil: left out {result.refused:,} systems; the reasons are in"
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


SEPARATED = click.option(
    "--separated",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Of one net meter, a .csv or .parquet file to write with the generation of every interval,"
    " its 90% band and the load. Private.",
)


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
    """Write what was told apart of the only system, unless it could not be inferred."""
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
    from sunveil.meters.read_files import iter_systems
    from sunveil.meters.record import Record
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
    """Return the skies of the site, whose weather is asked for once over all records."""
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


SYSTEMS = click.option(
    "--systems",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Of a fleet, the table of its systems, whose clocks then count and whose places are"
    " matched with the meters.",
)


# Sentences that so many systems share are told once.
MOST_NAMED = 5


Checked = list["SystemCheckup | Refusal"]


@click.command("check", context_settings={"show_default": True})
@click.argument("meters", type=click.Path(path_type=Path))
@taking((SYSTEMS,), METER_OPTIONS, (AS_JSON,))
def check_command(meters: Path, *, systems: Path | None, as_json: bool, **given: Any) -> None:
    """Say what was read of METERS: systems, spans, units, clocks, gaps, and what looks wrong.

    METERS is a file, an archive or a folder of files, as for sunveil infer. Nothing is inferred,
    and no place is needed. What it prints is found from readings, and is the curator's alone.

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
        say(f"sunveil: {_listed(unmatched)} of the table of systems: no readings", err=True)


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
        " Times are in UTC; a question mark says that nobody told the unit or the label."
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
        "look" if each.doubts else "fine",
    )


def _grouped(checked: Checked) -> list[str]:
    """Return what looks wrong and what the reader did, each sentence once with its systems."""
    about: dict[str, list[str]] = {}
    for each in checked:
        if isinstance(each, Refusal):
            said: Sequence[str] = [each.reason]
        else:
            said = [*(f"look: {doubt}" for doubt in each.doubts), *each.notes]
        for remark in said:
            about.setdefault(remark, []).append(each.system_id)
    return [
        printable(f"{_listed(names)}: {sentence.rstrip('.')}.") for sentence, names in about.items()
    ]


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    told = ", ".join(names[:MOST_NAMED])
    return f"{told} and {more} more" if more > 0 else told


PRIVATE = (
    "FOR THE CURATOR ALONE: some of it may be found from readings; check it, and keep it private."
)


OUT = click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write there, whole or not at all, instead of printing.",
)


@click.command("schema", context_settings={"show_default": True})
@click.argument("meters", type=click.Path(path_type=Path))
@taking((OUT,), METER_OPTIONS)
def schema_command(meters: Path, *, out: Path | None, **given: Any) -> None:
    """Propose a schema for METERS: how the file is written, one YAML line for each thing.

    Each line says where it is from: the header, the format's definition, the stamps, or what was
    declared. Lines marked CHECK are found from readings or assumed; keep them only if you
    know them from elsewhere. The file is then given to every other command as --schema FILE, which
    private releases need wherever a header does not say it all.
    """
    from sunveil.meters.describe_file import describe_source
    from sunveil.meters.schema_files import CHECK, schema_text

    if meters.is_dir():
        raise ParameterError(
            f"{meters} is a folder: name one of its files, whose schema holds for all written alike"
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
