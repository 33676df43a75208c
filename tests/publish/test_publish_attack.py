from __future__ import annotations

import numpy as np
import pytest
from fleet_makers import fleet, random_fleet

from sunveil.errors import ParameterError
from sunveil.publish.rule_15_15 import differencing_attack, without

CLIP = (0.0, 25.0)


def test_two_totals_under_the_rule_give_every_capacity_to_the_watt():
    rows = random_fleet(60)
    found = differencing_attack(rows, range(60), epsilon=1.0, clip_kw=CLIP)
    np.testing.assert_allclose(found.rule_kw, rows.dc_capacity_kw, atol=0.000501)
    assert found.rule_exact == 1.0


def test_against_private_totals_the_attack_errs_by_what_the_noise_says():
    """Of 400 households, ten standard errors of a deviation."""
    rows = random_fleet(400)
    found = differencing_attack(rows, range(400), epsilon=1.0, clip_kw=CLIP)
    assert found.stated_sd_kw == pytest.approx(2.0 * 25.0, rel=1e-3)
    assert found.private_error_kw == pytest.approx(found.stated_sd_kw, rel=0.45)
    assert found.private_error_kw > 5.0 * found.guess_error_kw


def test_where_the_rule_suppresses_a_total_it_gives_nothing():
    found = differencing_attack(fleet([(0, 0, 5)] * 15), [0, 3], epsilon=1.0, clip_kw=CLIP)
    assert np.isnan(found.rule_kw).all()
    assert found.rule_exact == 0.0


def test_a_fleet_without_a_household_has_all_the_others():
    rows = random_fleet(5)
    left = without(rows, 2)
    assert left.system_ids == ("secret-0", "secret-1", "secret-3", "secret-4")
    assert left.dc_capacity_kw.tolist() == np.delete(rows.dc_capacity_kw, 2).tolist()
    assert left.keys["feeder"].tolist() == np.delete(rows.keys["feeder"], 2).tolist()


def test_what_was_recovered_is_hidden_when_shown():
    found = differencing_attack(random_fleet(20), [1], epsilon=1.0, clip_kw=CLIP)
    assert repr(found) == "Recovered(1 households, private)"


@pytest.mark.parametrize("targets", [[], [20], [-1]])
def test_households_that_are_none_are_refused(targets):
    with pytest.raises(ParameterError, match="household"):
        differencing_attack(random_fleet(20), targets, epsilon=1.0, clip_kw=CLIP)
