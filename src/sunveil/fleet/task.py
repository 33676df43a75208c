"""One part of a plan: read, laid out, fitted, and written as one file."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sunveil.errors import log_unforeseen
from sunveil.fleet.blocks import Matrix, record_matrices, usual_matrices
from sunveil.fleet.done import DAMAGE, PartResult, estimates_file, refused_file
from sunveil.fleet.done import UNREAD as UNREAD
from sunveil.fleet.fitting import Fitted, fit_matrix
from sunveil.fleet.gather import gathered_files
from sunveil.fleet.job import FleetJob, RunContext, context_of
from sunveil.fleet.layouts import FileLayout
from sunveil.fleet.output import estimates_table, refused_table, write_table
from sunveil.fleet.plain_files import iter_file_systems
from sunveil.fleet.plan import Part
from sunveil.fleet.reading import read_rows, system_names
from sunveil.fleet.records import raws_of
from sunveil.fleet.survey import Survey
from sunveil.fleet.systems import RefusedSystem
from sunveil.meters.record import Record

_log = logging.getLogger(__name__)


def run_part(job: FleetJob, part: Part) -> PartResult:
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
    context = context_of(job)
    fitted: list[Fitted] = []
    refused: list[RefusedSystem] = []
    for each in _outcomes(context, part):
        if isinstance(each, Fitted):
            fitted.append(each)
        else:
            refused.append(each)
    estimates = estimates_table(fitted, context.systems)
    write_table(refused_file(job.work, part.number), refused_table(refused, part.number))
    write_table(estimates_file(job.folder, part.number), estimates)
    named = sum(each.kind != UNREAD for each in refused)
    return PartResult(part.number, estimates.num_rows, named)


def _outcomes(context: RunContext, part: Part) -> Iterator[Fitted | RefusedSystem]:
    """Yield what becomes of every system of a part, whatever happens to one of them."""
    work = _from_files if context.job.source.columns.layout is FileLayout.FILES else _from_rows
    try:
        yield from work(context, part)
    except Exception as error:  # the rest of the fleet goes on
        log_unforeseen(_log, f"part {part.number} could not be worked on", error)
        kind = type(error).__name__
        yield RefusedSystem(
            "", UNREAD, f"part {part.number} could not be worked on ({kind}); report it"
        )


def _from_rows(context: RunContext, part: Part) -> Iterator[Fitted | RefusedSystem]:
    job = context.job
    paths = gathered_files(job.work, part.number) if job.gathered else job.source.paths(part.files)
    try:
        survey, values = _surveyed(paths, context, part)
    except DAMAGE:
        paths, unread = sound_files(paths, context, part)
        yield from unread
        survey, values = _surveyed(paths, context, part)
    if survey.unknown_rows:
        yield from _unknown(paths, context, part)
    found = survey.found[: len(survey)]
    survey.needs_review[: len(survey)] |= context.clockless[found]
    if job.source.columns.taken is not None:
        # which of two columns counts what is not for here
        survey.needs_review[: len(survey)] |= ~context.systems.generation[found]
    matrices, others = usual_matrices(survey, values, context)
    yield from _fit_all(matrices, context)
    yield from _again(paths, [context.names[number] for number in others], context)


def _surveyed(
    paths: Sequence[Path], context: RunContext, part: Part
) -> tuple[Survey, NDArray[np.float32]]:
    """Read a part's rows: what they say of its systems, and the reading of each row."""
    survey, kept = Survey(len(context.systems)), [np.empty(0, dtype=np.float32)]
    columns = context.job.source.columns
    for hashes, micros, values in read_rows(paths, columns, low=part.low, high=part.high):
        survey.note(hashes, micros, index=context.index, zones=context.zones, zone=context.clock)
        kept.append(values)
    return survey, np.concatenate(kept)


def sound_files(
    paths: Sequence[Path], context: RunContext, part: Part
) -> tuple[list[Path], list[RefusedSystem]]:
    """Return the files that can be read to their end, and refusals of the others.

    Parameters
    ----------
    paths
        The files.
    context
        The run.
    part
        The part that they belong to.
    """
    sound, refused = [], []
    for path in paths:
        try:
            for _ in read_rows([path], context.job.source.columns, low=part.low, high=part.high):
                pass
        except DAMAGE:
            refused.append(RefusedSystem("", UNREAD, f"{path.name} cannot be read: it is damaged"))
        else:
            sound.append(path)
    return sound, refused


def _fit_all(matrices: list[Matrix], context: RunContext) -> Iterator[Fitted | RefusedSystem]:
    while matrices:
        yield from fit_matrix(matrices.pop(0), context)


def _unknown(paths: Sequence[Path], context: RunContext, part: Part) -> Iterator[RefusedSystem]:
    """Yield the systems that the table of systems does not know at all."""
    where = Path(context.job.systems).name
    for name in system_names(paths, context.job.source.columns, low=part.low, high=part.high):
        if name == "":
            yield RefusedSystem(
                "", "unknown", "some rows name no system; fill the column of systems"
            )
        elif name not in context.place and name not in context.refused:
            yield RefusedSystem(
                name, "unknown", f"system {name} is not in {where}; add its place there"
            )


def _again(
    paths: Sequence[Path], names: Sequence[str], context: RunContext
) -> Iterator[Fitted | RefusedSystem]:
    """Settle systems that look unusual by the reader of single files."""
    if not names:
        return
    place = context.place
    records: list[tuple[int, Record]] = []
    columns = context.job.source.columns
    for name, raw in raws_of(paths, columns, names, gathered=context.job.gathered):
        number = place[name]
        found = context.systems.settled(number, raw, context.job.settings.meters)
        if isinstance(found, RefusedSystem):
            yield found
        else:
            records.append((number, found))
    yield from _fit_all(record_matrices(records, context), context)


def _from_files(context: RunContext, part: Part) -> Iterator[Fitted | RefusedSystem]:
    """Read files of any kind by the reader of single files."""
    records: list[tuple[int, Record]] = []
    where = Path(context.job.systems).name
    paths = context.job.source.paths(part.files)
    for each in iter_file_systems(paths, context.job.settings.meters):
        if isinstance(each, RefusedSystem):
            yield each
            continue
        name, raw, options = each
        if name in context.place:
            number = context.place[name]
            found = context.systems.settled(number, raw, options)
            if isinstance(found, RefusedSystem):
                yield found
            else:
                records.append((number, found))
        elif name not in context.refused:
            reason = f"system {name} is not in {where}; add its place there"
            yield RefusedSystem(name, "unknown", reason)
    yield from _fit_all(record_matrices(records, context), context)
