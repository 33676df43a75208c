"""One part of a plan: read, laid out, fitted, and written as one file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from sunveil.errors import SunveilError
from sunveil.fleet.blocks import Matrix, record_matrices, usual_matrices
from sunveil.fleet.done import DAMAGE, SUMMED, Done, estimates_file, refused_file
from sunveil.fleet.done import UNREAD as UNREAD
from sunveil.fleet.fitting import Fitted, fit_matrix
from sunveil.fleet.gather import gathered_files
from sunveil.fleet.job import Desk, Job, desk_of
from sunveil.fleet.layouts import Layout
from sunveil.fleet.output import estimates_table, refused_table, write_table
from sunveil.fleet.plan import Part
from sunveil.fleet.reading import read_rows, strangers
from sunveil.fleet.records import raws_in, raws_of, settle
from sunveil.fleet.room import Values
from sunveil.fleet.survey import Survey
from sunveil.fleet.systems import Refused
from sunveil.meters.options import MeterOptions
from sunveil.meters.record import Record


def run_part(job: Job, part: Part) -> Done:
    """Work through a part and write its files; the estimates come last, and mean that it is done.

    Parameters
    ----------
    job
        The run.
    part
        Which part of it.

    Privacy
    -------
    None: what is written is private to the curator.
    """
    desk = desk_of(job)
    fitted: list[Fitted] = []
    refused: list[Refused] = []
    for each in _outcomes(desk, part):
        if isinstance(each, Fitted):
            fitted.append(each)
        else:
            refused.append(each)
    estimates = estimates_table(fitted, desk.systems)
    told = refused_table(refused, part.number)
    write_table(refused_file(job.work, part.number), told)
    write_table(estimates_file(job.folder, part.number), estimates)
    named = sum(each.kind != UNREAD for each in refused)
    rows = estimates.select(list(SUMMED)), told
    return Done(part.number, estimates.num_rows, named, rows)


def _outcomes(desk: Desk, part: Part) -> Iterator[Fitted | Refused]:
    """Yield what becomes of every system of a part, whatever happens to one of them."""
    work = _from_files if desk.job.source.columns.layout is Layout.FILES else _from_rows
    try:
        yield from work(desk, part)
    except Exception as error:  # the rest of the fleet goes on
        kind = type(error).__name__
        yield Refused("", UNREAD, f"part {part.number} could not be worked on ({kind}); report it")


def _from_rows(desk: Desk, part: Part) -> Iterator[Fitted | Refused]:
    job = desk.job
    paths = gathered_files(job.work, part.number) if job.gathered else job.source.paths(part.files)
    try:
        survey, values = _surveyed(paths, desk, part)
    except DAMAGE:
        paths, unread = sound_files(paths, desk, part)
        yield from unread
        survey, values = _surveyed(paths, desk, part)
    if survey.strangers:
        yield from _unknown(paths, desk, part)
    survey.odd[: len(survey)] |= desk.clockless[survey.found[: len(survey)]]
    matrices, others = usual_matrices(survey, values, desk)
    yield from _fit_all(matrices, desk)
    yield from _again(paths, [desk.names[number] for number in others], desk)


def _surveyed(paths: Sequence[Path], desk: Desk, part: Part) -> tuple[Survey, Values]:
    survey, kept = Survey(len(desk.systems)), Values(part.rows)
    columns = desk.job.source.columns
    for hashes, micros, values in read_rows(paths, columns, low=part.low, high=part.high):
        survey.note(hashes, micros, book=desk.book, zones=desk.zones, zone=desk.clock)
        kept.add(values)
    return survey, kept


def sound_files(paths: Sequence[Path], desk: Desk, part: Part) -> tuple[list[Path], list[Refused]]:
    """Return the files that can be read to their end, and refusals of the others."""
    sound, refused = [], []
    for path in paths:
        try:
            for _ in read_rows([path], desk.job.source.columns, low=part.low, high=part.high):
                pass
        except DAMAGE:
            refused.append(Refused("", UNREAD, f"{path.name} cannot be read: it is damaged"))
        else:
            sound.append(path)
    return sound, refused


def _fit_all(matrices: list[Matrix], desk: Desk) -> Iterator[Fitted | Refused]:
    while matrices:
        yield from fit_matrix(matrices.pop(0), desk)


def _unknown(paths: Sequence[Path], desk: Desk, part: Part) -> Iterator[Refused]:
    """Yield the systems that the table of systems does not know at all."""
    where = Path(desk.job.systems).name
    for name in strangers(paths, desk.job.source.columns, low=part.low, high=part.high):
        if name == "":
            yield Refused("", "unknown", "some rows name no system; fill the column of systems")
        elif name not in desk.place and name not in desk.refused:
            yield Refused(name, "unknown", f"system {name} is not in {where}; add its place there")


def _own(options: MeterOptions, desk: Desk, number: int) -> MeterOptions:
    """Return how to read a system: its own clock goes before the declared one."""
    zone = int(desk.systems.zone[number])
    return options if zone < 0 else replace(options, timezone=desk.systems.zones[zone])


def _again(paths: Sequence[Path], names: Sequence[str], desk: Desk) -> Iterator[Fitted | Refused]:
    """Settle systems that look unusual by the reader of single files."""
    if not names:
        return
    place = desk.place
    records: list[tuple[int, Record]] = []
    columns = desk.job.source.columns
    for name, raw in raws_of(paths, columns, names, gathered=desk.job.gathered):
        found = settle(raw, _own(desk.job.settings.meters, desk, place[name]), name=name)
        if isinstance(found, Refused):
            yield found
        else:
            records.append((place[name], found))
    yield from _fit_all(record_matrices(records, desk), desk)


def _from_files(desk: Desk, part: Part) -> Iterator[Fitted | Refused]:
    """Read files of any kind by the reader of single files."""
    records: dict[int, Record] = {}
    home: dict[str, str] = {}
    for path in desk.job.source.paths(part.files):
        for each in _file(path, desk):
            name = each.system_id
            if name in home and name in desk.place:
                records.pop(desk.place[name], None)
                told = f"system {name} is in both {home[name]} and {path.name}; join them into one"
                yield Refused(name, "meter", told)
            elif isinstance(each, Refused):
                yield each
            else:
                records[desk.place[name]] = each
            if name:
                home[name] = path.name
    yield from _fit_all(record_matrices(list(records.items()), desk), desk)


def _file(path: Path, desk: Desk) -> Iterator[Record | Refused]:
    where = Path(desk.job.systems).name
    try:
        for raw, options in raws_in(path, desk.job.settings.meters):
            name = raw.system_id
            if name in desk.place:
                yield settle(raw, _own(options, desk, desk.place[name]), name=name)
            elif name not in desk.refused:
                told = f"system {name} is not in {where}; add its place there"
                yield Refused(name, "unknown", told)
    except SunveilError as error:
        yield Refused("", UNREAD, str(error))
    except OSError:
        yield Refused("", UNREAD, f"{path.name} cannot be read; check its rights and the disk")
