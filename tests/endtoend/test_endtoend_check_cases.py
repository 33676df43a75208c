"""A check of meters is audited so that what is wrong with it would show."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sunveil.endtoend.check_cases import bounds_kw, check_case, check_draws
from sunveil.endtoend.comparing import audit_case
from sunveil.endtoend.doors import EPSILON, PYTHON
from sunveil.endtoend.faults import unheld
from sunveil.endtoend.hostile import SYSTEM
from sunveil.endtoend.library import audited_check
from sunveil.meters import read_meters
from sunveil.publish.check_cells import check_bounds, check_counts

ALPHA = 1e-6


def test_the_records_that_are_drawn_often_are_as_far_apart_as_can_be(tmp_path):
    case = check_draws(runs=1)
    (nothing,) = case.neighbours
    choices = audited_check(EPSILON)
    counts = []
    for number, data in enumerate((case.data, nothing.of(case.data))):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = case.write(folder, data)
        records = read_meters(path, cleaning="each", timezone="UTC")
        counts.append(check_counts(records, choices).values)
    assert counts[0].tolist() == check_bounds(choices).tolist()
    assert not counts[1].any()
    assert counts[0].sum() / 1e3 == pytest.approx(sum(bounds_kw()))


def test_too_little_noise_is_caught_and_the_right_noise_is_not(place):
    assert audit_case(check_draws(runs=56), place, alpha=ALPHA).holds
    assert not audit_case(check_draws(runs=56, drawn_at=20.0), place, alpha=ALPHA).holds


@pytest.mark.parametrize("held", [True, False])
def test_readings_that_are_not_held_are_caught(place, five_days, held):
    case = check_case(
        place, "CSV", five_days, SYSTEM, door=PYTHON, kinds=["times 1e30"], epsilon=0.1
    )
    found = audit_case(case if held else replace(case, run=unheld(case.run)), place, alpha=ALPHA)
    assert found.answered
    assert found.holds == held
