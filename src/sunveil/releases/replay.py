"""Releases gone through again with other readings, the way from rows to score as it is."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np
import pandas as pd

from sunveil.meters import from_pandas
from sunveil.meters.record import Record
from sunveil.privacy.independence import PublicInputs, ReleaseReplay
from sunveil.privacy.units import Unit
from sunveil.privacy.window import best_window
from sunveil.releases.drawing import score_record
from sunveil.releases.frame import Frame, frame_of
from sunveil.releases.neighbours import Setting
from sunveil.weather import WeatherCache


def make_replay(
    setting: Setting, unit: Unit, *, epsilon: float, cache: WeatherCache | None = None
) -> Callable[[Record], ReleaseReplay[Record]]:
    """Return what makes a release of a record as far as its score, and can do so again.

    Rows with a stamp for every interval, empty where a reading is missing, are read as a curator's
    are, each reading alone; the frame is made for that record; and the record is scored in it.

    Parameters
    ----------
    setting
        Weather and choices, and the stamps of the rows.
    unit, epsilon
        Of the release.
    cache
        Where clear skies are kept.
    """
    frame = setting.frame

    def replay(record: Record) -> ReleaseReplay[Record]:
        read = as_read(setting, record)
        bare = frame_of(read, frame.weather, frame.choices, cache=cache)
        own = bare.settled(unit, epsilon, differenced=read.differenced)
        return ReleaseReplay(
            public_of(own, read, epsilon=epsilon),
            lambda other: score_record(own, as_read(setting, other), unit),
        )

    return replay


def as_read(setting: Setting, record: Record) -> Record:
    """Return a record as it is read from rows with a stamp for every interval."""
    rows = pd.Series(np.nan, index=pd.DatetimeIndex(setting.times).tz_localize("UTC"))
    rows.loc[pd.DatetimeIndex(record.times).tz_localize("UTC")] = record.power_kw
    return from_pandas(
        rows,
        system_id=record.system_id,
        label="start",
        net=setting.net,
        cleaning="each",
        power_unit="kW",
    )


def public_of(frame: Frame, record: Record, *, epsilon: float) -> PublicInputs:
    """Return what a release in a frame is made with, besides the readings.

    Parameters
    ----------
    frame
        The public frame.
    record
        The record, of which the interval, the label and the clock count.
    epsilon
        Of the release.
    """
    inside = best_window(epsilon, frame.choices.axes()).inside
    digest = hashlib.sha256(frame.choices.fingerprint().encode())
    for part in (frame.grid.surface_azimuth, frame.grid.surface_tilt, np.array(inside)):
        digest.update(np.ascontiguousarray(part).tobytes())
    digest.update(f"{record.interval_minutes} {record.label} {record.timezone}".encode())
    return PublicInputs(digest.hexdigest(), repr(frame.time_grid), frame.fingerprint())
