from __future__ import annotations

from dataclasses import replace

import numpy as np
from experiment_makers import small_experiment

from reproduction.conjectures import (
    any_change,
    clearest_days,
    clearness_ranks,
    light_and_power,
)


def test_light_tells_of_power_and_not_of_power_dealt_out_at_random():
    experiment = small_experiment()
    assert light_and_power(experiment).holds is True
    record = experiment.subject.record
    mixed = replace(record, power_kw=np.random.default_rng(1).permutation(record.power_kw))
    other = replace(experiment, subject=replace(experiment.subject, record=mixed))
    assert light_and_power(other).holds is False


def test_any_change_is_too_much_said_and_larger_turns_change_more():
    told = any_change(small_experiment())
    assert told.holds is False
    for name in ("change_by_azimuth", "change_by_tilt"):
        assert told.numbers[name] == sorted(told.numbers[name])
    assert told.numbers["change_of_a_flat_plane"] < 1e-6


def test_ranks_count_the_clearer_days_of_a_group():
    experiment = small_experiment()
    ranks, sizes = clearness_ranks(experiment)
    assert len(ranks) == len(experiment.score.days) == 12
    assert ((ranks >= 1) & (ranks <= sizes)).all()
    assert str(ranks.max()) in clearest_days(experiment).measured
