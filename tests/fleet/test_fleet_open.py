"""Readings are opened once: for inference by whole records, for releases by each reading."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from sunveil.errors import MeterError, ParameterError, SunveilError
from sunveil.fleet.blocks import Block
from sunveil.fleet.open import open_fleet
from sunveil.meters import MeterOptions, from_pandas
from sunveil.meters.record import RefusedSystem
from sunveil.releases.fleet_releases import SystemsToRelease
from sunveil.site import Site

LAYOUTS = ("files", "months", "lists")
PLACE = Site(39.742, -105.1727)


@contextmanager
def opened(fleet, systems, cleaning):
    reading = MeterOptions(cleaning=cleaning)
    with open_fleet(fleet, systems, reading=reading, workers=1) as found:
        yield found


@pytest.fixture
def record(clear_power):
    power = clear_power(200.0, 30.0, days=12)
    return from_pandas(power, label="start", cleaning="each", power_unit="kW")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_fleet_is_blocks_or_releases_of_the_same_systems(layouts, systems_file, layout):
    with opened(layouts[layout], systems_file, "each") as fleet:
        for one in (fleet, fleet.in_memory()):
            with pytest.raises(SunveilError, match="cleaning record"):
                one.blocks(one.parts[0])
    records, blocks = set(), set()
    with opened(layouts[layout], systems_file, "record") as fleet:
        for one in (fleet, fleet.in_memory()):
            with pytest.raises(ParameterError, match="cleaning each"):
                SystemsToRelease.of(one)
        places = fleet.context.place
        for part in fleet.parts:
            for each in fleet.records(part):
                refused = isinstance(each, RefusedSystem)
                records.add(places.get(each.system_id) if refused else each.number)
            for each in fleet.blocks(part):
                refused = isinstance(each, RefusedSystem)
                blocks |= {places.get(each.system_id)} if refused else set(each.systems.tolist())
    assert records == blocks
    assert len(records) == 6


def test_records_of_one_place_are_blocks_over_their_own_spans_or_releases(record):
    later = record.times + np.timedelta64(30, "D")
    late = replace(record, system_id="late", times=later, rows_span=None)
    with open_fleet([record, late], site=PLACE) as fleet:
        systems = SystemsToRelease.of(fleet, workers=1)
        with pytest.raises(SunveilError, match="cleaning record"):
            fleet.blocks(fleet.parts[0])
    assert list(systems.about()) == sorted([record.system_id, "late"])
    assert {len(systems.roster.time_grids), len(systems)} == {2}
    cleaned = [replace(each, cleaning="record") for each in (record, late)]
    with open_fleet(cleaned, site=PLACE) as fleet:
        found = list(fleet.blocks(fleet.parts[0]))
        with pytest.raises(ParameterError, match="cleaning each"):
            SystemsToRelease.of(fleet)
    assert all(isinstance(each, Block) for each in found)
    assert [each.systems.tolist() for each in found] == [[0], [1]]
    assert [each.frame.axis.first for each in found] == [
        int(each.times[0].astype("M8[s]").astype(int)) for each in cleaned
    ]


def test_one_record_cleaned_as_a_whole_keeps_all_from_release(record):
    mixed = [record, replace(record, system_id="other", cleaning="record")]
    with open_fleet(mixed, site=PLACE) as fleet, pytest.raises(ParameterError, match="each"):
        SystemsToRelease.of(fleet)


def test_a_file_at_one_place_is_read_for_both_uses(record, tmp_path):
    stamps = np.datetime_as_string(record.times, unit="m")
    lines = [f"a,{at}Z,{power:.4f}" for at, power in zip(stamps, record.power_kw, strict=True)]
    path = tmp_path / "meters.csv"
    path.write_text("\n".join(["system_id,time,power_kw", *lines]) + "\n")
    for cleaning in ("record", "each"):
        reading = MeterOptions(cleaning=cleaning, label="start")
        with open_fleet(path, site=PLACE, reading=reading) as fleet:
            (found,) = fleet.all_records()
        assert (found.system_id, found.cleaning) == ("a", cleaning)
        np.testing.assert_allclose(found.power_kw, record.power_kw, atol=1e-4)
    wall = path.read_text().replace("Z,", ",")
    path.write_text(wall)
    far = Site(PLACE.latitude, -PLACE.longitude)
    reading = MeterOptions(timezone="UTC-07:00")
    with open_fleet(path, site=far, reading=reading) as fleet:
        assert (list(fleet.names), [each.kind for each in fleet.refused()]) == ([], ["timezone"])
    path.write_text("nothing here\n")
    with pytest.raises(MeterError), open_fleet(path, site=PLACE):
        pass


def test_what_cannot_be_opened_is_refused(record, tmp_path):
    for wanted, given in (
        ("site where all", {"readings": [record]}),
        ("table of systems goes", {"readings": [record], "systems": tmp_path}),
        ("named twice", {"readings": [record, record], "site": PLACE}),
        ("workers", {"readings": [record], "site": PLACE, "workers": 0}),
    ):
        with pytest.raises(ParameterError, match=wanted), open_fleet(**given):
            pass
