from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from sunveil.meters.record import Record
from sunveil.privacy.audit import audit_exact
from sunveil.privacy.mechanisms import Exponential
from sunveil.privacy.score import Score
from sunveil.profiles import DayGroup
from sunveil.releases.neighbours import Setting, make_setting
from sunveil.releases.paper_day import PaperDayFrame, clipped_score, day_levels, paper_day_score
from sunveil.releases.paper_day_audit import audit_frame, paper_day_pairs


@pytest.fixture(scope="module")
def setting() -> Setting:
    return make_setting(epsilon=2.0, seed=2)


@pytest.fixture(scope="module")
def frame(setting) -> PaperDayFrame:
    return audit_frame(setting, group=DayGroup.DAY, most=0.01)


@pytest.fixture(scope="module")
def pairs(setting, frame) -> list[tuple[Record, Record]]:
    return list(paper_day_pairs(setting, frame, pairs=60))


def shown(
    frame: PaperDayFrame,
    pairs: list[tuple[Record, Record]],
    score: Callable[[PaperDayFrame, Record], Score],
):
    made = ((score(frame, ours), score(frame, theirs)) for ours, theirs in pairs)
    return audit_exact(Exponential(1.0), made, name="paper-day")


def test_pairs_differ_in_one_solar_day_and_often_in_a_prototype(frame, pairs):
    turn = round(frame.weather.site.longitude * 240.0)
    for ours, theirs in pairs:
        days = [
            dict(zip(each.times.tolist(), each.power_kw.tolist(), strict=True))
            for each in (ours, theirs)
        ]
        changed = {when for when in {*days[0], *days[1]} if days[0].get(when) != days[1].get(when)}
        stamps = np.array(sorted(changed), dtype="datetime64[s]").astype(np.int64)
        assert len(set((stamps + turn) // 86400)) <= 1


def test_the_claim_holds_and_clipping_brings_it_close(frame, pairs):
    found = shown(frame, pairs, paper_day_score)
    assert found.holds
    assert found.share > 0.5


def as_one_reading(frame: PaperDayFrame, record: Record) -> Score:
    """Takes a day for one of its readings, of which there are 24."""
    honest = paper_day_score(frame, record)
    return replace(honest, sensitivity=honest.sensitivity // 24)


def without_a_clip(frame: PaperDayFrame, record: Record) -> Score:
    """Adds up misfits however large they are, and claims the clip's sensitivity."""
    whole = clipped_score(replace(frame, most=1.0), day_levels(frame, record))
    return replace(whole, sensitivity=frame.levels_of_a_day)


def by_the_records_peak(frame: PaperDayFrame, record: Record) -> Score:
    """Blanks every day that is dim beside the record's brightest reading, which others decide."""
    top = float(np.minimum(record.power_kw, 1e9).max())
    kept = np.where(record.power_kw >= 0.01 * top, record.power_kw, 0.0)
    return paper_day_score(frame, replace(record, power_kw=kept))


@pytest.mark.parametrize("fault", [as_one_reading, without_a_clip, by_the_records_peak])
def test_a_planted_fault_is_caught(fault, frame, pairs):
    found = shown(frame, pairs, fault)
    assert not found.holds
    assert found.share > 1.2
