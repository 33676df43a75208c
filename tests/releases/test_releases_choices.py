from __future__ import annotations

import json
import math
from dataclasses import fields, replace

import numpy as np
import pytest

from sunveil.errors import ParameterError
from sunveil.privacy import Days, Readings, System
from sunveil.releases import Choices
from sunveil.releases.prior_and_votes import PlanePrior
from sunveil.releases.release_choices import NetChoices
from sunveil.releases.score_kernels import Capacities, Tolerance
from sunveil.site import Losses, TimeGrid

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
    "planes": PlanePrior(concentration=1.0),
    "levels_per_nat": 3.0,
    "mounts": None,
    "levels_behind": 12,
    "net": NetChoices(),
}
YEAR = TimeGrid(0, 3600, 365 * 24)


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
    assert Choices(thresholds=(0.3, 0.5, 0.7), fewest=4).votes == 3
    with pytest.raises(ParameterError, match="resolve the frame"):
        _ = Choices().votes


@pytest.mark.parametrize(
    ("unit", "epsilon", "days", "differenced", "votes"),
    [
        (Days(1), 0.2, 365, False, 1),
        (Days(1), 0.3, 365, False, 2),
        (Days(1), 0.5, 365, False, 3),
        (Days(1), 1.0, 365, False, 4),
        (Days(1), 1.0, 60, False, 1),
        (Days(1), 0.2, 4 * 365, False, 4),
        (Days(5), 1.0, 365, False, 1),
        (Days(1), 1.0, 365, True, 2),
    ],
)
def test_how_days_vote_depends_on_what_the_release_is_worth(
    unit, epsilon, days, differenced, votes
):
    grid = TimeGrid(0, 900, days * 96)
    settled = Choices().resolved(unit, epsilon, grid, differenced=differenced)
    assert settled.votes == votes
    reached = 3 if differenced else 1
    assert settled.levels_per_nat == pytest.approx(2 * unit.k * votes * reached / epsilon)


def test_what_was_chosen_by_hand_stays_chosen():
    mine = Choices(thresholds=(0.6,), fewest=2, planes=None, mounts=None)
    assert mine.resolved(Days(1), 5.0, YEAR, differenced=False) == mine
    partly = Choices(thresholds=(0.6, 0.8)).resolved(Days(1), 0.1, YEAR, differenced=False)
    assert partly.ballot == ((0.6, 0.8), 3)


def test_readings_need_no_votes_and_whole_records_no_prior():
    readings = Choices().resolved(Readings(2), 0.1, YEAR, differenced=True)
    assert (readings.thresholds, readings.levels_per_nat) == (None, pytest.approx(80.0))
    whole = Choices().resolved(System(), 1.0, YEAR, differenced=False)
    assert whole == Choices(mounts=None)


def test_choices_tell_by_which_rule_days_vote():
    told = Choices().to_dict()
    assert (told["thresholds"], told["fewest"]) == (None, None)
    assert [rule["worth"] for rule in told["votes_by_worth"]] == [0.0, 0.25, 0.5, 0.7]
    assert told["planes_prior"] == PlanePrior().to_dict()
    settled = Choices().resolved(Days(1), 0.3, YEAR, differenced=False).to_dict()
    assert (settled["thresholds"], settled["fewest"]) == ([0.3, 0.5], 4)
    assert "votes_by_worth" not in settled
    assert settled["levels_per_nat"] == pytest.approx(4 / 0.3)


def test_the_choices_of_version_0_1_are_the_same_question():
    first = Choices(thresholds=(0.3, 0.5, 0.7, 0.9), fewest=4, planes=None, mounts=None)
    unknown = {"votes_by_worth", "planes_prior", "levels_per_nat", "mounts", "levels_behind", "net"}
    assert not unknown & set(first.to_dict())


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
        ("levels_per_nat", 0.0),
        ("levels_per_nat", math.nan),
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
