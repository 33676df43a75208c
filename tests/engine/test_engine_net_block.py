from __future__ import annotations

import numpy as np
import pytest
from net_makers import ZONE, load_of

from sunveil.engine import Estimates, SkyTable, infer_net_block, make_sky_table
from sunveil.engine.shading import PreparedSky
from sunveil.estimates import Flag
from sunveil.estimates.flags_and_quality import INFERRED, NO_WEATHER, NOT_NET, flags_of
from sunveil.grids import Places
from sunveil.site import Site, TimeGrid


@pytest.fixture(scope="module")
def net(rows: np.ndarray, prepared: PreparedSky) -> np.ndarray:
    """Two systems behind the meters of households, and one meter without any PV."""
    load = load_of(prepared)
    return np.stack([rows[0] - load, rows[2] - 0.7 * load, 0.0 * rows[0] - load]).astype(np.float32)


@pytest.fixture(scope="module")
def found(net: np.ndarray, denver: SkyTable) -> Estimates:
    return infer_net_block(net, denver, timezone=ZONE)


def test_each_system_of_a_block_is_inferred(found: Estimates) -> None:
    assert found.outcome.tolist() == [INFERRED, INFERRED, NOT_NET]
    assert found.surface_azimuth[:2] == pytest.approx([180.0, 262.0], abs=8.0)
    assert found.surface_tilt[:2] == pytest.approx([25.0, 33.0], abs=5.0)
    assert found.dc_capacity_kw[:2] == pytest.approx(6.0, rel=0.12)
    assert (found.dc_capacity_kw_low[:2] < 6.0).all()
    assert (found.dc_capacity_kw_high[:2] > 6.0).all()
    assert all(Flag.NET_METER in flags_of(int(bits)) for bits in found.flags[:2])
    assert found.household[0].exporting > 0.4
    assert found.household[2] is None


def test_no_answer_depends_on_the_others(
    net: np.ndarray, found: Estimates, denver: SkyTable
) -> None:
    alone = infer_net_block(net[1:2], denver, timezone=ZONE)
    assert alone.surface_azimuth[0] == found.surface_azimuth[1]
    assert alone.dc_capacity_kw[0] == found.dc_capacity_kw[1]


def test_systems_stand_where_their_places_are(
    net: np.ndarray, found: Estimates, denver: SkyTable
) -> None:
    places = Places(np.array([39.7]), np.array([-105.0]), np.array([2600.0]))
    higher = infer_net_block(net[:1], denver, timezone=ZONE, places=places)
    assert higher.surface_azimuth[0] == pytest.approx(found.surface_azimuth[0], abs=0.01)
    assert higher.dc_capacity_kw[0] < found.dc_capacity_kw[0]


def test_without_light_nothing_is_inferred() -> None:
    polar = make_sky_table(Site(80.0, 0.0, 0.0), TimeGrid(1577836800, 3600, 240))
    found = infer_net_block(np.ones((2, 240), np.float32), polar)
    assert found.outcome.tolist() == [NO_WEATHER, NO_WEATHER]
