from __future__ import annotations

import numpy as np
import pytest
from engine_makers import flags

from sunveil.engine import InferOptions, infer, infer_block, infer_generation
from sunveil.estimates import Flag, Quality
from sunveil.estimates.estimates_table import not_inferred
from sunveil.estimates.flags_and_quality import EXPORTED_ONLY, INFERRED, NO_FIT, judge

LOCAL = (np.arange(8760) - 7) % 24


@pytest.fixture(scope="module")
def load() -> np.ndarray:
    """A household's load at Denver, hour by hour, with an evening."""
    rng = np.random.default_rng(20)
    shape = 0.5 + 1.2 * np.exp(-(((LOCAL - 19.0) / 2.5) ** 2))
    return (shape * rng.lognormal(0.0, 0.5, len(LOCAL))).astype(np.float32)


def test_what_a_household_leaves_over_is_inferred_as_a_net_meter(denver, rows, load):
    power = np.stack([rows[0], np.maximum(rows[0] - load, 0.0)])
    assert infer_generation(power, denver).outcome.tolist() == [INFERRED, EXPORTED_ONLY]
    found = infer_block(power, denver, net=False)
    assert found.outcome.tolist() == [INFERRED, INFERRED]
    assert found.household[0] is None
    assert Flag.NET_METER not in flags(found, 0)
    assert found.household[1] is not None
    assert {Flag.NET_METER, Flag.EXPORTED_ONLY} <= set(flags(found, 1))


def test_what_was_said_to_be_net_is_inferred_so_at_once(denver, rows, load, monkeypatch):
    monkeypatch.setattr(infer, "infer_generation", None)
    found = infer_block(rows[:1] - load, denver, net=True)
    assert Flag.NET_METER in flags(found, 0)
    assert Flag.EXPORTED_ONLY not in flags(found, 0)
    found = infer_block(np.maximum(rows[:1] - load, 0.0), denver, net=True)
    assert {Flag.NET_METER, Flag.EXPORTED_ONLY} <= set(flags(found, 0))


@pytest.mark.parametrize("force", [False, True])
def test_left_over_power_that_tells_nothing_is_refused_as_such(
    denver, rows, load, force, monkeypatch
):
    def refuse(power, sky, **_):
        return not_inferred(np.full(len(power), NO_FIT), np.full(len(power), 3))

    monkeypatch.setattr(infer, "infer_net_block", refuse)
    power = np.maximum(rows[:1] - load, 0.0)
    found = infer_block(power, denver, net=False, options=InferOptions(force=force))
    assert found.outcome.tolist() == [EXPORTED_ONLY]
    assert not found.flags.any()
    assert np.isnan(found.dc_capacity_kw).all()


def test_that_import_was_not_metered_speaks_against_no_estimate():
    assert judge((Flag.NET_METER, Flag.EXPORTED_ONLY), 5.0)[0] is Quality.GOOD
