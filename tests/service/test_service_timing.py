from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import pytest
from service_makers import PAD, key

from sunveil.publish import tables
from sunveil.service.security.padding import pad_duration

ASK = "/datasets/roofs/releases"
# How long a draw takes: flat, peaked, and one that outlasts its time. [pads]
FLAT, PEAKED, SLOW = 0.02, 0.9, 1.5


@pytest.fixture
def clock(monkeypatch):
    """Let the service live by a clock that only draws and waiting move on, and note its waits."""
    told = SimpleNamespace(now=1000.0, left=[])

    async def sleep(seconds):
        told.now += seconds
        told.left.append(told.now)

    def now():
        return told.now

    monkeypatch.setattr("sunveil.service.routing.time", SimpleNamespace(monotonic=now))
    monkeypatch.setattr(
        "sunveil.service.analyst.asking.pad_duration", partial(pad_duration, clock=now, sleep=sleep)
    )
    return told


def asked(served, clock, monkeypatch, *, works):
    """Ask one question for each draw, and return how long each answer took. [pads]"""
    served.service.broker.warm()
    real = tables.fleet_tables
    taken = []
    for number, work in enumerate(works):

        def draw(*args, work=work, **options):
            clock.now += work * PAD
            return real(*args, **options)

        monkeypatch.setattr(tables, "fleet_tables", draw)
        began = clock.now
        question = {"kind": "totals", "epsilon": 0.5, "clip_kw": 20.0 + number}
        assert served.api().post(ASK, json=question, headers=key()).status_code == 201
        taken.append((clock.left[-1] - began) / PAD)
    return taken


def test_a_peaked_and_a_flat_draw_leave_at_the_same_time(served, clock, monkeypatch):
    flat, peaked = asked(served, clock, monkeypatch, works=(FLAT, PEAKED))
    assert flat == peaked == pytest.approx(1.0)
    assert len(clock.left) == 2


def test_a_draw_that_outlasts_its_time_leaves_at_the_next_multiple(served, clock, monkeypatch):
    assert asked(served, clock, monkeypatch, works=(SLOW,)) == [pytest.approx(2.0)]


def test_an_answer_that_is_there_already_is_not_held(served, clock, monkeypatch):
    asked(served, clock, monkeypatch, works=(FLAT,))
    question = {"kind": "totals", "epsilon": 0.5, "clip_kw": 20.0}
    assert served.api().post(ASK, json=question, headers=key()).status_code == 200
    assert len(clock.left) == 1
