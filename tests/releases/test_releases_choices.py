from __future__ import annotations

import json
import math
from dataclasses import fields, replace

import numpy as np
import pytest

from sunveil.errors import ParameterError
from sunveil.privacy import Days, Readings, System
from sunveil.releases import Choices
from sunveil.releases.prior_and_votes import MountChoices, PlanePrior, equivalent_epsilon
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
WORDS = {"stray": "shares", "clear": "shares", "above": "spreads"}
WORDS |= {"day_nats": "nats", "levels_per_nat": "nats"}
YEAR = TimeGrid(0, 3600, 365 * 24)


def test_the_default_grid_is_fine_and_has_fewer_azimuths_where_planes_are_nearly_flat():
    choices = Choices()
    grid = choices.grid()
    assert len(grid) * len(choices.capacities) >= 200_000
    assert ((grid.surface_azimuth >= 0.0) & (grid.surface_azimuth < 360.0)).all()
    assert len({*zip(grid.surface_azimuth, grid.surface_tilt, strict=True)}) == len(grid)
    tilts, counts = np.unique(grid.surface_tilt, return_counts=True)
    assert tilts.max() == 84.0
    of = dict(zip(tilts, counts, strict=True))
    assert of[0.0] == 1
    assert of[4.0] < of[8.0] < of[12.0] == of[84.0] == 90


def test_the_axes_of_whole_records_wrap_in_azimuth_only_and_span_all_capacities():
    azimuth, tilt, capacity = Choices().axes()
    assert (azimuth.size, azimuth.wraps, tilt.size, tilt.wraps) == (72, True, 19, False)
    assert not capacity.wraps
    assert 0.5 * math.exp(capacity.step * (capacity.size - 1)) >= 2000.0


def test_there_are_no_votes_before_it_is_known_what_a_release_is_worth():
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


@pytest.mark.parametrize(
    ("unit", "epsilon", "minutes", "days", "differenced", "equal"),
    [
        (Days(1), 0.2, 60, 365, False, 0.2),
        (Readings(1), 0.2, 60, 365, False, 0.2),
        # more protection lowers it, and more readings raise it
        (Days(4), 0.2, 60, 365, False, 0.05),
        (Days(1), 0.3, 60, 365, True, 0.1),
        (Readings(1), 0.3, 60, 365, True, 0.15),
        (Readings(1), 0.1, 15, 365, False, 0.4),
        (Days(1), 0.1, 15, 365, False, 0.1),
        (Days(1), 1.0, 60, 73, False, 0.2),
    ],
)
def test_what_a_release_is_worth_beside_a_year_of_hours(
    unit, epsilon, minutes, days, differenced, equal
):
    grid = TimeGrid(0, 60 * minutes, days * 1440 // minutes)
    assert equivalent_epsilon(unit, epsilon, grid, differenced=differenced) == pytest.approx(equal)


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
    prints |= {replace(Choices(), **{name: value}).fingerprint() for name, value in OTHERS.items()}
    for losses in (Losses(inverter_efficiency=0.9), Losses(gamma_pdc=-0.003)):
        prints.add(replace(Choices(), losses=losses).fingerprint())
    assert len(prints) == len(OTHERS) + 3
    assert Choices().fingerprint() == Choices().fingerprint()
    assert json.loads(json.dumps(Choices().to_dict())) == Choices().to_dict()


@pytest.mark.parametrize(
    ("kind", "name", "values"),
    [
        (Choices, "step", [0.5, 7.0, 36.0, math.nan]),
        (Choices, "highest_tilt", [0.0, 91.0, math.nan]),
        (Choices, "thresholds", [(), (0.5, 0.5), (0.5, 0.4), (0.0, 0.5), (0.5, 1.1)]),
        (Choices, "thresholds", [(math.nan,), (0.2, math.nan)]),
        (Choices, "fewest", [0]),
        (Choices, "levels_per_nat", [0.0, math.nan]),
        (Choices, "clocks", [(), (0.0, 721.0), (math.nan,)]),
        (Choices, "hazes", [(), (0.0, 5.1), (math.nan,)]),
        (Choices, "albedo", [-0.1, math.nan]),
        (Choices, "heat", [-1.0, math.nan, math.inf]),
        (Choices, "window_steps", [(0.0, 5.0, 0.1), (7.0, 5.0, 0.1), (5.0, 0.0, 0.1)]),
        (Choices, "window_steps", [(5.0, math.nan, 0.1), (5.0, 5.0, 0.0)]),
        (Choices, "window_steps", [(math.nan, 5.0, 0.1), (math.inf, 5.0, 0.1)]),
        (PlanePrior, "concentration", [-1.0, math.nan]),
        (PlanePrior, "tilt", [91.0]),
        (PlanePrior, "spread", [0.5, math.inf]),
        (PlanePrior, "anywhere", [0.0, math.nan]),
        (MountChoices, "azimuth_step", [7.0]),
        (MountChoices, "axis_step", [1.0]),
        (MountChoices, "tilts", [(), (0.0,)]),
        (MountChoices, "shares", [(0.4,), (1.0,)]),
        (MountChoices, "gcrs", [(0.0,)]),
        (MountChoices, "max_angle", [91.0]),
        (MountChoices, "pairs", [0.0, 0.99]),
        (MountChoices, "days_worth", [math.nan]),
        (MountChoices, "margin", [-0.1]),
        (NetChoices, "stray", [0.0]),
        (NetChoices, "clear", [0.99]),
        (NetChoices, "above", [-1.0]),
        (NetChoices, "day_nats", [80.0]),
        (NetChoices, "levels_per_nat", [65]),
    ],
)
def test_choices_that_cannot_be_are_refused(kind, name, values):
    for value in values:
        with pytest.raises(ParameterError, match=WORDS.get(name) if kind is NetChoices else None):
            kind(**{name: value})
