from __future__ import annotations

from sunveil.endtoend.cells import THREE, estimate_cells, meter_cells


def test_readings_are_a_clear_sky_s_from_midnight_on():
    data = meter_cells(THREE, days=2)
    assert list(data.by_system) == ["home00", "home01", "home02"]
    assert (data.columns[0], len(data.columns)) == ("2019-06-01 00:00", 48)
    for truth, cells in zip(THREE, data.by_system.values(), strict=True):
        power = [float(cell) for cell in cells]
        assert power[0] == 0.0
        assert 0.5 * truth.dc_capacity_kw < max(power) < truth.dc_capacity_kw


def test_the_same_truth_has_the_same_readings():
    data = meter_cells([THREE[0]] * 2, days=1, scale=1000.0, digits=0)
    first, second = data.by_system.values()
    assert first == second
    assert b"." not in b"".join(first)
    assert float(max(first, key=float)) > 3000.0


def test_the_first_capacities_of_estimates_are_whole():
    rows = list(estimate_cells(6, whole=4).by_system.values())
    assert [b"." in cells[-1] for cells in rows] == [False] * 4 + [True] * 2


def test_a_net_meter_reads_less_by_a_load_that_is_never_none():
    whole, net = (meter_cells(THREE[:1], days=1, base_load_kw=load) for load in (0.0, 0.4))
    both = zip(whole.by_system["home00"], net.by_system["home00"], strict=True)
    assert all(float(theirs) <= float(ours) - 0.399 for ours, theirs in both)
    assert float(net.by_system["home00"][0]) < 0.0
