"""Capacities that ask for another unit."""

from __future__ import annotations

import numpy as np
import pytest

from sunveil.engine.plausibility import (
    flag_units,
    has_unlikely_unit,
    name_likelier_unit,
    note_on_unit,
)
from sunveil.estimates import Flag
from sunveil.estimates.estimates_table import not_inferred
from sunveil.estimates.flags_and_quality import flags_of


def estimates(*capacities, outcome=0):
    """Return estimates of some capacities. [kW]"""
    count = len(capacities)
    found = not_inferred(np.full(count, outcome), np.zeros(count, dtype=np.int32))
    found.dc_capacity_kw[:] = capacities
    return found


@pytest.mark.parametrize(
    ("capacity", "unsaid", "said"),
    [
        (0.006, True, True),
        (0.3, False, False),
        (6.4, False, False),
        (271.0, False, False),
        (6439.0, True, False),
        (35_000.0, False, False),
        (600_000.0, True, True),
    ],
)
def test_a_capacity_is_asked_about_where_another_unit_makes_a_home_of_it(capacity, unsaid, said):
    assert has_unlikely_unit(np.array([capacity])) == said
    assert bool(note_on_unit(capacity, "kW", unit_known=False)) == unsaid
    assert bool(note_on_unit(capacity, "kW", unit_known=True)) == said


def test_flags_are_of_each_system_and_leave_other_flags_alone():
    found = estimates(0.006, 600_000.0, 5.0)
    found.flags[2] = 1
    flag_units(found)
    told = [flags_of(int(bits)) for bits in found.flags]
    assert told == [(Flag.UNLIKELY_UNIT,), (Flag.UNLIKELY_UNIT,), (Flag.CLIPPING,)]


def test_what_was_not_inferred_has_no_flags():
    found = estimates(np.nan, outcome=1)
    flag_units(found)
    assert not found.flags.any()


@pytest.mark.parametrize(
    ("capacity", "unit", "words"),
    [
        (0.006, "W", "would be 6 kW if the readings were in kW rather than W"),
        (0.0047, "kWh", "would be 4.7 kW if the readings were in MWh rather than kWh"),
        (6439.0, "kW", "would be 6.44 kW if the readings were in W rather than kW"),
        (700_000.0, "W", "check that the readings are in W"),
        (0.001, "MW", "check that the readings are in MW"),
    ],
)
def test_the_note_names_the_unit_that_makes_sense(capacity, unit, words):
    assert words in name_likelier_unit(capacity, unit)
