"""Real series with clock faults: how far their answers are off, and whether a flag says so."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from benchmarks.real_case import PLANE, MissingDataError, RealCase, offset_name
from benchmarks.real_files import data_folder, read_kilowatts
from benchmarks.real_scores import RealAnswer, counted, errors
from benchmarks.real_tables import system_lines, table
from sunveil.estimates.flags_and_quality import Flag
from sunveil.site import Site

# So flat by its readings that its interval holds every azimuth: judged apart.
APART = "1332_inv2_2646_60min_wrong_timezone"
CLOCK_FLAGS = {Flag.CLOCK_REPAIRED, Flag.CLOCK_UNCHECKED, Flag.CLOCK_DOUBTFUL}
MEAN, SILENT = 6.0, 15.0


def clock_faults(data: str | Path | None = None) -> list[RealCase]:
    """Return the series of ``clock_faults`` in the data folder."""
    folder = data_folder(data) / "clock_faults"
    if not folder.exists():
        raise MissingDataError(f"clock_faults needs {folder}, which is not there")
    return [
        RealCase(
            name=one.file,
            power=read_kilowatts(folder / f"{one.file}.csv", one.utc_offset_hours)["power_kw"],
            site=Site(one.latitude, one.longitude, one.altitude),
            weather=None,
            azimuth=one.azimuth,
            tilt=one.tilt,
            dc_kw=None,
            note=one.fault,
            declared_timezone=offset_name(one.utc_offset_hours),
            counts=PLANE,
        )
        for one in pd.read_csv(folder / "labels.csv").astype({"altitude": float}).itertuples()
    ]


def clock_lines(answered: Sequence[RealAnswer]) -> list[str]:
    """Return the section on clock faults.

    Parameters
    ----------
    answered
        What was said of each.
    """
    judged = [one for one in answered if one.case.name != APART]
    off = counted(judged, "Sunveil", "azimuth")
    silent = [one.case.name for one in answered if _is_silent(one)]
    bars = [
        ["mean error of azimuth [°]", f"{off.mean():.1f}", f"{MEAN:g}", off.mean() <= MEAN],
        [
            f"beyond {SILENT:g}° without a flag on the clock",
            ", ".join(silent) or "none",
            "none",
            not silent,
        ],
    ]
    lines = ["## Clock faults", ""]
    lines += [
        "Real series whose stamps are off: another time zone, daylight saving in a part of the"
    ]
    lines += [f"record, clocks that were set. The mean is without {APART}.", ""]
    cells = [[*row[:3], "met" if row[3] else "MISSED"] for row in bars]
    lines += [*table(["what", "reached", "bar", ""], cells), "", *system_lines(answered), ""]
    return lines


def _is_silent(one: RealAnswer) -> bool:
    off = abs(errors(one).get("azimuth", 0.0))
    return off > SILENT and one.estimate is not None and CLOCK_FLAGS.isdisjoint(one.estimate.flags)
