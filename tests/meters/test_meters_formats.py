"""Every format that people have, read right or refused with a way out, and never wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from formats.catalogue import sample as sample_of
from formats.catalogue import samples
from formats.compare import assert_right, assert_says_nothing
from formats.sample import FormatSample
from formats.series import CAPACITY_KW, TILT, KnownPlant

import sunveil
from sunveil.errors import MeterError
from sunveil.meters import read_meters

DAYS = 12
NAMES = tuple(samples(2))
DECLARED = tuple(name for name, each in samples(2).items() if each.schema is not None)
# What readings alone tell apart: nothing that a release may look at.
TOLD_BY_READINGS = ("register-", "numbers-")


def write(folder: Path, sample: FormatSample) -> Path:
    path = folder / sample.file_name
    path.write_bytes(sample.content)
    return path


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_is_read_right_or_refused_with_a_way_out(name, tmp_path):
    sample = samples(DAYS)[name]
    path = write(tmp_path, sample)
    try:
        records = read_meters(path, **sample.options)
    except MeterError as error:
        message = str(error)
        assert_says_nothing(sample, message)
        assert sample.words, f"a dead end: {message}"
        assert all(word in message for word in sample.words), message
        if sample.remedy is None:
            return
        records = read_meters(path, **{**sample.options, **sample.remedy})
    else:
        assert not sample.must_refuse, "read, where that needs a guess"
    assert_right(sample, records)
    for note in (note for record in records for note in record.notes):
        assert not [secret for secret in sample.secrets if secret in note]


@pytest.mark.parametrize("name", DECLARED)
def test_a_declared_sample_is_read_for_a_release(name, tmp_path):
    sample = samples(DAYS)[name]
    records = read_meters(write(tmp_path, sample), **sample.schema, cleaning="each")
    assert_right(sample, records, declared="label" in sample.schema)


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith(TOLD_BY_READINGS)])
def test_without_a_schema_a_release_takes_what_the_file_says_or_refuses(name, tmp_path):
    sample = samples(DAYS)[name]
    try:
        records = read_meters(write(tmp_path, sample), **sample.options, cleaning="each")
    except MeterError as error:
        assert_says_nothing(sample, str(error))
    else:
        assert not sample.must_refuse
        assert_right(sample, records)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("sma-portal-german", "munich"),
        ("fronius-english-workbook", "munich"),
        ("enphase-csv-day-first", "munich"),
        ("enphase-json-telemetry", "denver"),
        ("solaredge-json-energy", "munich"),
        ("nem12-generation", "sydney"),
        ("wide-he24", "denver"),
        ("utility-generation", "denver"),
        ("stamps-24-oclock", "munich"),
        ("numbers-german", "munich"),
        ("register-kwh", "munich"),
    ],
)
def test_the_plane_of_a_format_is_the_plant_s(name, place, tmp_path):
    sample = sample_of(name, 100)
    known = KnownPlant(place, 100)
    options = {**sample.options, **(sample.remedy or {}), "label": sample.label}
    (record,) = read_meters(write(tmp_path, sample), **options)
    found = sunveil.infer(record, latitude=known.latitude, longitude=known.longitude)
    turned = (found.surface_azimuth - known.azimuth + 180.0) % 360.0 - 180.0
    assert abs(turned) < 6.0
    assert abs(found.surface_tilt - TILT) < 6.0
    assert abs(found.dc_capacity_kw / CAPACITY_KW - 1.0) < 0.15
