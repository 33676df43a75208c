from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from reproduction.subject import PLANE, YEAR, meter_subject, simulated_subject
from sunveil.errors import MeterError
from sunveil.meters import MeterOptions
from sunveil.site import Plane, Site

HERE = Site(39.742, -105.1727, 1795.0)


def write(path, systems: dict[str, float], unit: str = "kw"):
    times = pd.date_range("2019-06-01", periods=24 * 40, freq="h")
    rows = [
        f"{name},{when:%Y-%m-%d %H:%M},{scale * max(0.0, np.sin((when.hour - 6) / 12 * np.pi)):.4f}"
        for name, scale in systems.items()
        for when in times
    ]
    path.write_text("\n".join([f"system_id,time,power_{unit}", *rows]) + "\n")
    return path


def test_the_simulated_system_is_the_one_of_the_paper():
    subject = simulated_subject()
    assert subject.reported == PLANE == Plane(270.0, 18.0)
    assert subject.record.interval_minutes == 60.0
    assert len(subject.record.times) == 366 * 24
    assert subject.weather.times[0].year == YEAR
    assert not subject.private
    assert np.array_equal(simulated_subject().record.power_kw, subject.record.power_kw)


def test_a_system_of_a_file_is_private_and_on_its_declared_clock(tmp_path):
    path = write(tmp_path / "two.csv", {"a": 1.0, "b": 2.0})
    options = MeterOptions(timezone="UTC-07:00", label="start")
    subject = meter_subject(path, HERE, system="b", reported=Plane(180, 30), options=options)
    assert subject.private
    assert subject.record.system_id == "b"
    assert subject.record.power_kw.max() == pytest.approx(2.0)
    assert str(subject.record.times[0]) == "2019-06-01T07:00:00"
    assert subject.reported == Plane(180.0, 30.0)
    assert "the system b of two.csv at 39.74° N, 105.17° W" in subject.words
    assert "UTC-07:00" in subject.words
    assert "reported plane is azimuth 180°, tilt 30°" in subject.words
    # under an embedded clear sky the paper's choice of days means nothing, which is said
    assert "every day looks clear" in subject.words


def test_a_file_of_several_systems_needs_a_name_and_a_right_one(tmp_path):
    path = write(tmp_path / "two.csv", {"a": 1.0, "b": 2.0})
    options = MeterOptions(timezone="UTC-07:00")
    with pytest.raises(MeterError, match=r"two\.csv has 2 systems, such as a; choose one"):
        meter_subject(path, HERE, options=options)
    with pytest.raises(MeterError, match=r"two\.csv has no system 'c'"):
        meter_subject(path, HERE, system="c", options=options)
