"""A fleet is opened once: for inference by whole records, for releases by each reading."""

from __future__ import annotations

import pytest

from sunveil.errors import ParameterError, SunveilError
from sunveil.fleet.open import open_fleet
from sunveil.meters import MeterOptions
from sunveil.meters.record import RefusedSystem
from sunveil.releases.fleet_releases import make_roster

LAYOUTS = ("files", "months", "lists")


def opened(fleet, systems, work, cleaning):
    reading = MeterOptions(cleaning=cleaning)
    found = open_fleet(fleet, systems, work, reading=reading, workers=1)
    found.gather(1)
    return found


@pytest.mark.parametrize("layout", LAYOUTS)
def test_blocks_are_refused_where_readings_are_cleaned_one_by_one(
    layouts, systems_file, tmp_path, layout
):
    fleet = opened(layouts[layout], systems_file, tmp_path, "each")
    with pytest.raises(SunveilError, match="cleaning record"):
        list(fleet.blocks(fleet.parts[0]))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_releases_are_refused_where_rules_look_at_whole_records(
    layouts, systems_file, tmp_path, layout
):
    fleet = opened(layouts[layout], systems_file, tmp_path, "record")
    with pytest.raises(ParameterError, match="cleaning each"):
        make_roster(fleet, lambda *_: None)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_fleet_has_the_same_systems_as_records_and_as_blocks(
    layouts, systems_file, tmp_path, layout
):
    fleet = opened(layouts[layout], systems_file, tmp_path, "record")
    places = fleet.context.place
    records, blocks = set(), set()
    for part in fleet.parts:
        for each in fleet.records(part):
            number = None if isinstance(each, RefusedSystem) else each.number
            records.add(places.get(each.system_id) if number is None else number)
        for each in fleet.blocks(part):
            refused = isinstance(each, RefusedSystem)
            blocks |= {places.get(each.system_id)} if refused else set(each.systems.tolist())
    assert records == blocks
    assert len(records) == 6
