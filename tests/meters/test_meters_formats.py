"""Every format that people have, read right or refused with a way out, and never wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from formats.catalogue import EVERY, sample
from formats.plant import CAPACITY_KW, TILT, KnownPlant
from formats.sample import FormatSample, assert_right, assert_says_nothing

import sunveil
from sunveil.errors import MeterError
from sunveil.meters import Record, read_meters

DAYS = 12
# What readings alone tell apart: nothing that a release may look at.
TOLD_BY_READINGS = ("registers-", "numbers-", "net-signed", "dsmr")


def write(folder: Path, made: FormatSample) -> Path:
    path = folder / made.file_name
    path.write_bytes(made.content)
    return path


def attempt(folder: Path, made: FormatSample, **options: object) -> list[Record] | str:
    """Return what a file holds, or the sentence with which it is refused."""
    try:
        return read_meters(write(folder, made), **options)
    except MeterError as error:
        assert_says_nothing(made, str(error))
        return str(error)


@pytest.mark.parametrize("name", EVERY)
def test_a_sample_is_read_right_or_refused_with_a_way_out(name, tmp_path):
    made = sample(name, DAYS)
    found = attempt(tmp_path, made, **made.options)
    if isinstance(found, str):
        assert made.words, f"a dead end: {found}"
        assert all(word in found for word in made.words), found
        if made.remedy is None:
            return
        found = read_meters(write(tmp_path, made), **{**made.options, **made.remedy})
    else:
        assert not made.must_refuse, "read, where that needs a guess"
    assert_right(made, found)
    for note in (note for record in found for note in record.notes):
        assert not [secret for secret in made.secrets if secret in note]


@pytest.mark.parametrize("name", EVERY)
def test_a_declared_sample_is_read_for_a_release_and_no_other(name, tmp_path):
    made = sample(name, DAYS)
    declared = made.options if made.schema is None else made.schema
    found = attempt(tmp_path, made, **declared, cleaning="each")
    if isinstance(found, str):
        assert made.schema is None, found
    else:
        assert_right(made, found, declared="label" in declared)


@pytest.mark.parametrize("name", [name for name in EVERY if not name.startswith(TOLD_BY_READINGS)])
def test_without_a_schema_a_release_takes_what_the_file_says_or_refuses(name, tmp_path):
    made = sample(name, DAYS)
    found = attempt(tmp_path, made, **made.options, cleaning="each")
    if not isinstance(found, str):
        assert not made.must_refuse
        assert_right(made, found)


@pytest.mark.parametrize(
    "mistake",
    [
        {"time_column": "nothing"},
        {"power_column": "nothing"},
        {"system_column": "nothing"},
        {"date_column": "nothing"},
        *({"skip_rows": rows} for rows in (1, 2, 3)),
    ],
    ids=lambda mistake: "-".join(map(str, *mistake.items())),
)
@pytest.mark.parametrize("cleaning", ["record", "each"])
def test_a_mistaken_option_is_answered_without_the_file_s_secrets(mistake, cleaning, tmp_path):
    """What stands above a table is not its header, however many lines one is told to skip."""
    for name in EVERY:
        made = sample(name, 2)
        if made.secrets:
            attempt(tmp_path, made, **{**made.options, **mistake, "cleaning": cleaning})


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("sunny_portal-portal", "munich"),
        ("fronius-english_workbook", "munich"),
        ("enphase-day_first", "munich"),
        ("enphase-telemetry", "denver"),
        ("solaredge-energy_json", "munich"),
        ("nem12-generation", "sydney"),
        ("wide-hour_ending", "denver"),
        ("utilities-generation", "denver"),
        ("stamps-day_end", "munich"),
        ("numbers-german", "munich"),
        ("registers-kilowatt_hours", "munich"),
    ],
)
def test_the_plane_of_a_format_is_the_plant_s(name, place, tmp_path):
    made = sample(name, 100)
    known = KnownPlant(place, 100)
    options = {**made.options, **(made.remedy or {}), "label": made.label}
    (record,) = read_meters(write(tmp_path, made), **options)
    found = sunveil.infer(record, latitude=known.latitude, longitude=known.longitude)
    turned = (found.surface_azimuth - known.azimuth + 180.0) % 360.0 - 180.0
    assert abs(turned) < 6.0
    assert abs(found.surface_tilt - TILT) < 6.0
    assert abs(found.dc_capacity_kw / CAPACITY_KW - 1.0) < 0.15
