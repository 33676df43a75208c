"""The table of errors to expect, and the systems of other physics that it is made of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import labelled
from benchmarks.coverage import share_held, stated
from benchmarks.expected import WORTHS, make_table, real_share, weights
from benchmarks.independent import independent_fleet
from benchmarks.labelled import EDGES, QUANTITIES, SeriesErrors, measured, simulated_series
from sunveil.releases.expected_errors import typical_table

SEED = 3
ASKED = {"readings": (0.1, 1.0), "days": (1.0,), "system": (8.0,)}


@pytest.fixture(scope="module")
def fleet():
    return list(independent_fleet(8, seed=SEED))


@pytest.fixture(scope="module")
def found(fleet):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(labelled, "independent_fleet", lambda count, *, seed: fleet[:count])
        return list(measured(simulated_series(8, seed=SEED), epsilons=ASKED))


def series(system: str, *, real: bool, error: float, name: str = "") -> SeriesErrors:
    """Return a series whose every error is the same."""
    shares, means = {}, {}
    for unit in ("readings", "days"):
        for worth in WORTHS:
            for quantity in QUANTITIES:
                law = np.zeros(len(EDGES[quantity]) - 1)
                law[np.searchsorted(EDGES[quantity], error) - 1] = 1.0
                shares[unit, -worth, quantity] = law
                means[unit, -worth, quantity] = error
    placed = dict.fromkeys(QUANTITIES, error)
    counts = frozenset(QUANTITIES)
    return SeriesErrors(system, name or system, "clear", counts, real, 365, placed, shares, means)


def both_kinds(found):
    """Return series under either weather, since a table has both."""
    return [*found, *(replace(one, kind="measured") for one in found)]


def test_systems_of_other_physics_give_power_like_real_ones(fleet):
    for one in fleet:
        power = one.power / one.dc_capacity_kw
        assert len(power) == 8760
        assert 0.5 < power.max() < 1.1
        assert 500.0 < power.sum() / power.notna().mean() < 2500.0
        # night tare, as inverters have
        assert -0.05 < power.min() <= 0.0


def test_stated_errors_hold_for_systems_that_the_table_does_not_know(found):
    """Few systems, so that the bounds are wide; ``benchmarks.coverage`` has 300."""
    held = [
        share_held(own, {one.system: typical_table() for one in own}, unit, epsilon)
        for own in ([one for one in found if one.kind == kind] for kind in ("clear", "measured"))
        for unit, epsilons in ASKED.items()
        for epsilon in epsilons
    ]
    by_quantity = np.mean(held, axis=0)
    assert (by_quantity > 0.75).all()
    # a quarter of them would not hold
    small = {one.system: _quarter(typical_table()) for one in found}
    clear = [one for one in found if one.kind == "clear"]
    assert np.mean(share_held(clear, small, "days", 1.0)) < 0.8


def _quarter(table):
    rows = table["clear"]
    days = {q: {part: [v / 4.0 for v in c[part]] for part in c} for q, c in rows["days"].items()}
    return table | {"clear": rows | {"days": days}}


def test_real_and_simulated_systems_have_half_of_the_weight_each():
    real = [series(f"r{n}", real=True, error=9.9) for n in range(10)]
    simulated = [series(f"s{n}", real=False, error=0.9) for n in range(90)]
    assert weights([*real, *simulated])[:10].sum() == pytest.approx(0.5)
    table = make_table(both_kinds([*real, *simulated]))
    assert table["clear"]["days"]["tilt"]["mean"][0] == pytest.approx(5.4)
    assert table["clear"]["days"]["tilt"]["within"][0] == pytest.approx(10.0)
    assert "10 labelled real systems and 90 simulated" in table["clear"]["basis"]
    assert real_share(2) == pytest.approx(0.1)


def test_a_system_can_be_left_out_of_the_table_that_judges_it():
    real = [series(f"r{n}", real=True, error=2.0) for n in range(8)]
    real.append(series("odd", real=True, error=80.0))
    whole = make_table(both_kinds(real))
    without = make_table(both_kinds(real), without="odd")
    assert stated(whole, "clear", "days", 1.0)[1] > stated(without, "clear", "days", 1.0)[1]
