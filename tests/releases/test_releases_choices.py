from __future__ import annotations

import json
import math
from dataclasses import fields, replace

import numpy as np
import pytest

from sunveil.errors import ParameterError
from sunveil.releases.choices import Choices
from sunveil.scores import Capacities, Tolerance
from sunveil.site import Losses

OTHERS = {
    "step": 5.0,
    "highest_tilt": 60.0,
    "capacities": Capacities(1.0, 10.0, 0.05),
    "tolerance": Tolerance(0.2, 0.1),
    "thresholds": (0.4, 0.8),
    "fewest": 3,
    "clocks": (0.0, 60.0),
    "hazes": (0.0, 0.5),
    "losses": Losses(system=0.1),
    "albedo": 0.3,
    "heat": 1.0,
    "window_steps": (10.0, 5.0, 0.1),
    "prior": ((1.0,) * 72, (1.0,) * 18 + (0.0,), (1.0,) * 84),
}


def test_the_default_grids_are_fine_and_hold_enough_candidates():
    choices = Choices()
    grid = choices.grid()
    assert len(grid) * len(choices.capacities) >= 200_000
    assert grid.surface_tilt.max() == 84.0
    assert (grid.surface_azimuth >= 0.0).all()
    assert (grid.surface_azimuth < 360.0).all()
    assert len({*zip(grid.surface_azimuth, grid.surface_tilt, strict=True)}) == len(grid)


def test_nearly_flat_planes_have_fewer_azimuths():
    grid = Choices().grid()
    counts = {tilt: int((grid.surface_tilt == tilt).sum()) for tilt in np.unique(grid.surface_tilt)}
    assert counts[0.0] == 1
    assert counts[4.0] < counts[8.0] < counts[12.0] == counts[84.0] == 90


def test_the_axes_of_whole_records_wrap_in_azimuth_only_and_span_all_capacities():
    azimuth, tilt, capacity = Choices().axes()
    assert (azimuth.size, azimuth.wraps) == (72, True)
    assert (tilt.size, tilt.wraps) == (19, False)
    assert not capacity.wraps
    assert 0.5 * math.exp(capacity.step * (capacity.size - 1)) >= 2000.0


def test_there_are_as_many_votes_as_thresholds():
    assert Choices().votes == 4
    assert Choices(thresholds=(0.5,)).votes == 1


def test_every_choice_has_its_place_in_the_fingerprint():
    assert set(OTHERS) == {field.name for field in fields(Choices)}
    prints = {Choices().fingerprint()}
    for name, value in OTHERS.items():
        prints.add(replace(Choices(), **{name: value}).fingerprint())
    assert len(prints) == len(OTHERS) + 1
    assert Choices().fingerprint() == Choices().fingerprint()
    for losses in (Losses(inverter_efficiency=0.9), Losses(gamma_pdc=-0.003)):
        assert replace(Choices(), losses=losses).fingerprint() not in prints


def test_choices_are_plain_json():
    assert json.loads(json.dumps(Choices().to_dict())) == Choices().to_dict()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("step", 0.5),
        ("step", 7.0),
        ("step", 36.0),
        ("step", math.nan),
        ("highest_tilt", 0.0),
        ("highest_tilt", 91.0),
        ("highest_tilt", math.nan),
        ("thresholds", ()),
        ("thresholds", (0.5, 0.5)),
        ("thresholds", (0.5, 0.4)),
        ("thresholds", (0.0, 0.5)),
        ("thresholds", (0.5, 1.1)),
        ("thresholds", (math.nan,)),
        ("thresholds", (0.2, math.nan)),
        ("fewest", 0),
        ("clocks", ()),
        ("clocks", (0.0, 721.0)),
        ("clocks", (math.nan,)),
        ("hazes", ()),
        ("hazes", (0.0, 5.1)),
        ("hazes", (math.nan,)),
        ("albedo", -0.1),
        ("albedo", math.nan),
        ("heat", -1.0),
        ("heat", math.nan),
        ("heat", math.inf),
        ("window_steps", (0.0, 5.0, 0.1)),
        ("window_steps", (7.0, 5.0, 0.1)),
        ("window_steps", (5.0, 0.0, 0.1)),
        ("window_steps", (5.0, math.nan, 0.1)),
        ("window_steps", (5.0, 5.0, 0.0)),
        ("window_steps", (math.nan, 5.0, 0.1)),
        ("window_steps", (math.inf, 5.0, 0.1)),
    ],
)
def test_choices_that_cannot_be_are_refused(name, value):
    with pytest.raises(ParameterError):
        Choices(**{name: value})
