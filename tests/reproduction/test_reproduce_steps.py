from __future__ import annotations

import json

import pytest

from reproduction.steps import steps_figure
from sunveil.releases import Choices
from sunveil.releases.score_kernels import Capacities


@pytest.fixture(scope="module")
def drawn():
    coarse = Choices(step=15.0, capacities=Capacities(1.0, 30.0, 0.1), mounts=None)
    return steps_figure(1, choices=coarse)


def test_the_way_leads_from_chance_to_a_useful_answer(drawn):
    told = [step["mean_azimuth_error"]["1"] for step in drawn.data["steps"]]
    assert told[0] == pytest.approx(90.0, abs=2.0)
    assert told[1] < told[0]
    assert told[-1] < 0.3 * told[0]
    json.dumps(drawn.data, allow_nan=False)
