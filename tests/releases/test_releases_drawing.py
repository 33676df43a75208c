from __future__ import annotations

import numpy as np
import pytest

from sunveil.meters import from_pandas
from sunveil.privacy import Days, Readings, Score, System
from sunveil.privacy.mechanisms import Placement
from sunveil.releases import Choices
from sunveil.releases.candidate_frame import frame_of
from sunveil.releases.release import draw_release, score_record
from sunveil.releases.score_kernels import Capacities
from sunveil.weather import clearsky

CHOICES = Choices(step=15.0, capacities=Capacities(1.0, 30.0, 0.05))


@pytest.fixture(scope="module")
def record(clear_power):
    power = clear_power(200.0, 30.0, start="2019-03-10", days=20)
    return from_pandas(power, system_id="roof", label="start", cleaning="each", power_unit="kW")


@pytest.fixture(scope="module")
def frame(golden_site, record):
    return frame_of(record, clearsky(golden_site, "2019-03-01", "2019-04-15"), CHOICES)


@pytest.mark.parametrize(
    ("unit", "exponential", "name", "kind"),
    [
        (Readings(2), False, "permute-and-flip", Score),
        (Days(1), True, "exponential", Score),
        (System(), False, "window", Placement),
    ],
)
def test_a_score_is_drawn_from_by_the_mechanism_of_its_unit(
    frame, record, unit, exponential, name, kind
):
    settled = frame.resolved(unit, 3.0)
    scored = score_record(settled, record, unit)
    assert isinstance(scored, kind)
    drawn = draw_release(scored, settled, epsilon=3.0, exponential=exponential)
    assert drawn.public.items() >= settled.choices.to_dict().items()
    assert (drawn.mechanism, drawn.guarantee.unit, drawn.guarantee.epsilon) == (name, unit, 3.0)


def test_a_score_is_the_same_however_often_it_is_made_and_a_draw_is_not(frame, record):
    first, again = (score_record(frame, record, Readings(1)) for _ in range(2))
    assert (first.levels == again.levels).all()
    drawn = [draw_release(first, frame, epsilon=0.01) for _ in range(5)]
    assert len({each.release_id for each in drawn}) == 5
    assert len({(each.surface_azimuth, each.dc_capacity_kw) for each in drawn}) > 1
    assert np.isfinite([each.dc_capacity_kw for each in drawn]).all()
