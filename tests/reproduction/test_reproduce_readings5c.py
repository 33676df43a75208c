from __future__ import annotations

import json

import pytest
from experiment_makers import private_experiment, small_experiment

from reproduction.readings5c import (
    WORST,
    readings_figure,
    readings_of_5c,
)


@pytest.fixture(scope="module")
def found():
    return {each.name: each for each in readings_of_5c(small_experiment())}


def test_as_written_comes_first_and_is_chance(found):
    first = next(iter(found.values()))
    assert first.name.startswith("as written")
    assert first.azimuth_error == pytest.approx(90.0, abs=1.0)
    assert not first.as_printed


def test_the_repair_is_the_only_one_that_holds_in_the_worst_case(found):
    (repair,) = [each for each in found.values() if each.privacy == WORST]
    assert "solar day" in repair.name
    assert repair.day_epsilon == 0.1


def test_the_figure_has_a_mark_for_every_reading_and_says_what_it_fits(found):
    drawn = readings_figure(small_experiment())
    assert [each["reading"] for each in drawn.data["readings"]] == list(found)
    json.dumps(drawn.data, allow_nan=False)
    assert drawn.name == "5c-readings"
    assert not drawn.data["private"]
    assert readings_figure(private_experiment()).data["private"]
