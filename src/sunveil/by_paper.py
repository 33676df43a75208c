"""The paper's plane and capacity in place of the engine's."""

from __future__ import annotations

from dataclasses import replace

from sunveil.engine import reason
from sunveil.engine.outcomes import NO_FIT, VAGUEST
from sunveil.errors import MeterError, TooLittleData, ask
from sunveil.estimate import Estimate, Flag
from sunveil.gridded import repaired
from sunveil.meters.record import Record
from sunveil.options import Method, Options
from sunveil.search import Search
from sunveil.site_skies import SiteSkies, record_span


def by_paper(record: Record, estimate: Estimate, skies: SiteSkies, options: Options) -> Estimate:
    """Return an estimate with the paper's plane and capacity in place of the engine's, if asked.

    The clock that the engine found is repaired first; flags and agreement are the engine's.

    Parameters
    ----------
    record, skies
        What the estimate was inferred from.
    estimate
        The engine's estimate.
    options
        Which method is asked for, and how the paper's is run.
    """
    if options.method is not Method.PAPER:
        return estimate
    if estimate.household is not None:
        raise MeterError(
            f"system {record.system_id} is a net meter, and the paper's method needs the generation"
            f" alone: use {ask('method', 'default')}, which tells them apart"
        )
    from sunveil import paper

    weather = skies.weather(record_span(record))
    fit = paper.fit_paper(
        repaired(record, estimate, skies.site),
        weather,
        group=options.group,
        losses=options.losses,
        albedo=options.albedo,
        search=paper.SEARCH if options.search is Search.BAYESOPT else None,
    )
    azimuth, tilt, capacity, radius = paper.resampled(fit)
    if not 0.0 < capacity.low <= capacity.high <= VAGUEST * capacity.low:
        told = reason(NO_FIT, 0, source=weather.source)
        raise TooLittleData(f"system {record.system_id}: {told}")
    notes = []
    if fit.bayes is not None:
        notes.append(
            f"GP-UCB looked at {len(fit.result.grid)} of {len(fit.bayes.grid):,} planes, and the"
            " intervals know only these"
        )
    if weather.clear:
        notes.append(
            "the paper's method chooses clear days by measured weather; under a clear sky every day"
            " looks clear, so its choice of days says nothing"
        )
    return replace(
        estimate,
        plane=fit.plane,
        dc_capacity_kw=fit.capacity,
        azimuth_interval=azimuth,
        tilt_interval=tilt,
        capacity_interval=capacity,
        plane_error_degrees=radius,
        haze_summer=None,
        haze_winter=None,
        heat=None,
        clear_hours=None,
        skyline=(),
        years=(),
        trend_percent_per_year=None,
        planes=(),
        tracker=None,
        flags=_of_one_plane(estimate.flags),
        notes=(*estimate.notes, *notes),
    )


def _of_one_plane(flags: tuple[Flag, ...]) -> tuple[Flag, ...]:
    """Return the flags of a method that knows one plane only, where the engine may tell more."""
    more = {Flag.TWO_PLANES, Flag.TRACKER} & set(flags)
    rest = {*(set(flags) - more), *([Flag.NOT_ONE_PLANE] if more else [])}
    return tuple(flag for flag in Flag if flag in rest)
