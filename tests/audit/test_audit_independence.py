from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from audit.releases import PublicInputs, ReleaseReplay, audit_independence
from sunveil.errors import MeterError
from sunveil.privacy import Readings, Score, System
from sunveil.privacy.mechanisms import Axis, Placement

Data = tuple[int, ...]
PAIRS: list[tuple[Data, Data]] = [((1, 2, 3), (1, 2, 4)), ((1, 2, 3), (9, 2, 3))]
AXES = (Axis(5),)


def levels_of(data: Data, *, scale: int = 1, sensitivity: int = 1, k: int = 1) -> Score:
    levels = np.array(data, dtype=np.int64) // scale
    return Score(levels, sensitivity, Readings(k), "none")


def replay_with(
    *,
    choices: Callable[[Data], object] = lambda data: "c",
    calendar: Callable[[Data], object] = lambda data: "d",
    frame: Callable[[Data], object] = lambda data: "f",
    score: Callable[[Data, Data], Score | Placement] = lambda own, data: levels_of(data),
) -> Callable[[Data], ReleaseReplay[Data]]:
    """Return a replay whose parts may look at the data that it is made for."""

    def replay(own: Data) -> ReleaseReplay[Data]:
        public = PublicInputs(str(choices(own)), str(calendar(own)), str(frame(own)))
        return ReleaseReplay(public, lambda data: score(own, data))

    return replay


def audited(**parts):
    return audit_independence(replay_with(**parts), PAIRS, unit=Readings(1), name="numbers")


def test_what_looks_at_nothing_holds():
    found = audited()
    assert found.holds
    assert (found.name, found.unit, found.pairs) == ("numbers", "any one reading", 2)


def test_choices_that_look_at_the_data_are_caught():
    found = audited(choices=max)
    assert (found.choices_changed, found.holds) == (2, False)


def test_a_frame_that_looks_at_the_data_is_caught():
    found = audited(frame=sum)
    assert (found.frames_changed, found.holds) == (2, False)


def test_a_calendar_that_the_data_decide_is_caught_with_its_frame_or_without():
    assert not audited(calendar=sum, frame=sum).holds
    assert not audited(calendar=sum).holds


def test_a_hidden_scale_is_caught_by_scoring_in_the_others_frame():
    found = audited(score=lambda own, data: levels_of(data, scale=max(own)))
    assert (found.choices_changed, found.frames_changed) == (0, 0)
    # thirds and quarters of the first neighbour are the same whole numbers
    assert found.scores_changed == 1
    assert not found.holds


@pytest.mark.parametrize(
    "score",
    [
        lambda own, data: levels_of(data, sensitivity=own[0]),
        lambda own, data: levels_of(data, k=own[0]),
        lambda own, data: Placement((min(own[0], 4),), AXES),
        lambda own, data: Placement((0,), (Axis(own[0] + 1),)),
        lambda own, data: levels_of(data) if own[0] == 1 else Placement((0,), AXES),
    ],
    ids=["sensitivity", "unit", "place", "axes", "kind"],
)
def test_every_part_of_a_score_is_compared(score):
    assert audited(score=score).scores_changed == 1


def test_equal_placements_are_the_same():
    found = audit_independence(
        replay_with(score=lambda own, data: Placement((data[0] % 5,), AXES)),
        PAIRS,
        unit=System(),
        name="places",
    )
    assert found.holds


def test_a_refusal_of_a_neighbour_is_caught():
    def refuse(own: Data, data: Data) -> Score:
        if max(own) > 5:
            raise MeterError("no")
        return levels_of(data)

    found = audited(score=refuse)
    assert (found.refused, found.scores_changed, found.holds) == (1, 0, False)


def test_a_record_is_replayed_once_for_all_its_neighbours():
    made = []

    def replay(own: Data) -> ReleaseReplay[Data]:
        made.append(own)
        return replay_with()(own)

    base = (1, 2, 3)
    pairs = [(base, (1, 2, number)) for number in range(4)]
    assert audit_independence(replay, pairs, unit=Readings(1), name="n").holds
    assert made.count(base) == 1 + 1  # as a base, and as its own neighbour
    assert len(made) == 5
