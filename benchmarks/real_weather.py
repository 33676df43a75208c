"""The real systems that have measured weather, with it."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks import real
from benchmarks.measure import Outcome, Truth, ours, theirs
from benchmarks.peers import fit_pvwatts
from benchmarks.real_tables import table
from sunveil.meters.record import Label


def weather_lines(cases: Sequence[real.RealCase]) -> list[str]:
    """Return a table of the errors with measured weather, over the readings that it covers.

    Parameters
    ----------
    cases
        Systems; those without weather are passed over.
    """
    rows = []
    for case in cases:
        if case.weather is None:
            continue
        covered = real.with_weather_only(case)
        truth = Truth(case.azimuth, case.tilt, case.dc_kw)
        mine = ours(covered.power, case.site, truth, weather=covered.weather, label=case.label)
        its = fit_pvwatts(covered.power, case.site, covered.weather, label=Label.MIDDLE)
        days = covered.power.index.normalize().nunique()
        rows.append([case.name, f"{days}", _cell(mine), _cell(theirs(its, truth))])
    return table(["system", "days", "Sunveil", "pvanalytics"], rows)


def _cell(one: Outcome) -> str:
    values = (one.azimuth, one.tilt, one.capacity)
    return " / ".join("-" if value != value else f"{value:+.1f}" for value in values)
