from __future__ import annotations

import numpy as np
import pandas as pd

from sunveil.simulate import clipped, draw_systems, simulate_fleet


def test_a_fleet_is_its_systems_with_one_sky_per_site() -> None:
    fleet = list(simulate_fleet(3, seed=9, sky_minutes=30))
    again = list(simulate_fleet(3, seed=9, sky_minutes=30))
    drawn = {truth.system_id: truth for truth in draw_systems(3, seed=9)}
    assert {truth.system_id: truth for truth, _, _ in fleet} == drawn
    for (truth, power, weather), (_, power_again, weather_again) in zip(fleet, again, strict=True):
        assert weather.site == truth.site
        assert power.name == truth.system_id
        assert len(power) == 8760
        pd.testing.assert_series_equal(power, power_again)
        np.testing.assert_array_equal(weather.ghi, weather_again.ghi)
    assert len({id(weather) for *_, weather in fleet}) == len({t.site for t, *_ in fleet})


def test_a_change_reaches_every_system() -> None:
    ((truth, power, _),) = simulate_fleet(1, seed=2, change=clipped, noise=0.0, sky_minutes=30)
    assert truth.dc_ac_ratio == 1.7
    assert power.max() <= truth.ac_limit_kw + 1e-9
