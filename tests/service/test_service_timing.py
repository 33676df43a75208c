"""When answers leave: nobody learns how long a draw took, whoever waits for it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from service_makers import PAD, add_dataset, held_draw, key, wait_for

from sunveil.ledger import charges
from sunveil.publish import fleet_tables
from sunveil.service.answer_padding import RESERVE, draws_held, hold_draw, pad_duration

ASK = "/datasets/roofs/releases"

# How long a draw takes: flat, peaked, and one that outlasts its time. [pads]
FLAT, PEAKED, SLOW = 0.02, 0.75, 1.5


@pytest.fixture
def clock(monkeypatch):
    """Let the service live by a clock that only draws and waiting move on, and note its waits."""
    told = SimpleNamespace(now=1000.0, left=[], took=[], held=[], on_hold=lambda: None)

    async def sleep(seconds):
        told.now += seconds
        told.left.append(told.now)

    async def padded(started, pad):
        passed = told.now - started
        await pad_duration(started, pad, clock=now, sleep=sleep)
        told.took.append((round(passed / pad, 6), pad))

    def held(seconds):
        told.on_hold()
        told.now += seconds
        told.held.append(told.now)

    def now():
        return told.now

    def pass_by(pads):
        told.now += pads * PAD

    told.pass_by = pass_by

    monkeypatch.setattr("sunveil.service.guarded_routes.time", SimpleNamespace(monotonic=now))
    monkeypatch.setattr(
        "sunveil.service.answer_padding.time", SimpleNamespace(monotonic=now, time=now, sleep=held)
    )
    monkeypatch.setattr("sunveil.service.analyst.asking.pad_duration", padded)
    return told


def asked(served, clock, monkeypatch, *, works):
    """Ask one question for each draw, and return how long each answer took. [pads]"""
    served.service.broker.warm()
    real = fleet_tables.fleet_tables
    taken = []
    for number, work in enumerate(works):

        def draw(*args, work=work, **options):
            clock.now += work * PAD
            return real(*args, **options)

        monkeypatch.setattr(fleet_tables, "fleet_tables", draw)
        began = clock.now
        question = {"kind": "totals", "epsilon": 0.5, "clip_kw": 20.0 + number}
        assert served.api().post(ASK, json=question, headers=key()).status_code == 201
        taken.append((clock.left[-1] - began) / PAD)
    return taken


@pytest.fixture
def taking_turns(monkeypatch):
    """Return what waits until so many have come for the lock, within a minute."""
    came = []
    real = charges.lock_names

    def noted(*given):
        came.append(given)
        return real(*given)

    def wait(count):
        wait_for(lambda: len(came) == count)
        return True

    monkeypatch.setattr("sunveil.ledger.ledger.lock_names", noted)
    return wait


def test_a_draw_without_a_request_is_not_held(clock):
    hold_draw()
    with draws_held(clock.now, PAD):
        hold_draw()
    assert clock.held == [pytest.approx(1000.0 + (1.0 - RESERVE) * PAD)]


def test_asking_the_same_question_twice_at_once_tells_nothing_of_the_draw(
    served, clock, monkeypatch, taking_turns
):
    """The attack: whoever waits for a draw would see it end."""
    served.service.broker.warm()
    seen, question, mine = [], {"kind": "totals", "epsilon": 0.5}, key()

    def look():  # after the draw has ended, and before it is let go
        api = served.api()
        plan = api.post("/datasets/roofs/plans", json=question).json()
        seen.append((plan["kept"], plan["cost"], api.get(ASK).json()["releases"], len(clock.left)))

    clock.on_hold = look
    apis = [served.api() for _ in range(4)]
    with (
        held_draw(monkeypatch, lambda: clock.pass_by(PEAKED)) as held,
        ThreadPoolExecutor(4) as pool,
    ):
        first = pool.submit(apis[0].post, ASK, json=question, headers=mine)
        assert held.drawing.wait(60.0)
        # under the same key, under another, and by way of files of a release that is not there
        others = [
            pool.submit(api.post, ASK, json=question, headers=header)
            for api, header in zip(apis[1:3], (mine, key()), strict=True)
        ]
        missing = apis[3].get(f"/releases/{'0' * 32}/files/totals.csv")
        assert taking_turns(3)
        held.go_on.set()
        answers = [each.result() for each in (first, *others)]
    assert missing.status_code == 404
    # neither a plan nor a list nor any of the three requests has told that the draw had ended
    assert seen == [(False, 0.0, [], 0)]
    assert sorted(each.status_code for each in answers) == [200, 200, 201]
    assert len({each.content for each in answers}) == 1
    # each waited until the draw was let go, which is no function of its length, and was padded
    assert len(clock.took) == 3
    assert min(passed for passed, _ in clock.took) >= 1.0 - RESERVE - 1e-6
    assert served.service.ledger.dataset("roofs").spent == 0.5


def test_who_queues_for_a_slot_is_padded_though_refused(serve, clock, monkeypatch):
    running = serve(asks_at_once=1)
    add_dataset(running.service, epsilon=1.0)
    running.service.broker.warm()
    one, other = running.api(), running.api()
    with held_draw(monkeypatch, lambda: clock.pass_by(FLAT)) as held, ThreadPoolExecutor(2) as pool:
        first = pool.submit(one.post, ASK, json={"kind": "totals", "epsilon": 0.5}, headers=key())
        assert held.drawing.wait(60.0)
        much = {"kind": "totals", "epsilon": 5.0}
        refused = pool.submit(other.post, ASK, json=much, headers=key())
        held.go_on.set()
        assert (first.result().status_code, refused.result().status_code) == (201, 403)
    assert len(clock.took) == 2


def test_a_draw_leaves_at_the_same_time_or_at_the_next_multiple(served, clock, monkeypatch):
    flat, peaked, slow = asked(served, clock, monkeypatch, works=(FLAT, PEAKED, SLOW))
    assert flat == peaked == pytest.approx(1.0)
    assert slow == pytest.approx(2.0)
    assert len(clock.left) == 3
    # each was let go shortly before a multiple
    begins = [1000.0, *clock.left]
    for ended, began, work in zip(clock.held, begins, (FLAT, PEAKED, SLOW), strict=False):
        ends = (ended - began) / PAD
        assert ends + RESERVE == pytest.approx(round(ends + RESERVE))
        assert ends >= work


def test_kept_answers_refusals_and_failures_take_a_multiple_too(served, clock, monkeypatch):
    asked(served, clock, monkeypatch, works=(FLAT,))
    api, question = served.api(), {"kind": "totals", "epsilon": 0.5, "clip_kw": 20.0}
    for changes, status in (({}, 200), ({"epsilon": 19.0}, 403), ({"group_by": "zip"}, 404)):
        began = clock.now
        answer = api.post(ASK, json={**question, **changes}, headers=key())
        assert answer.status_code == status
        assert clock.left[-1] - began == pytest.approx(PAD)

    def fail(*_, **__):
        clock.now += PEAKED * PAD
        raise RuntimeError

    monkeypatch.setattr(fleet_tables, "fleet_tables", fail)
    began = clock.now
    answer = api.post(ASK, json={"kind": "totals", "epsilon": 0.5}, headers=key())
    assert answer.status_code == 500
    assert (clock.held[-1] - began) / PAD == pytest.approx(1.0 - RESERVE)
    assert (clock.left[-1] - began) / PAD == pytest.approx(1.0)
    # what is refused before it waits is answered at once
    before = list(clock.left)
    assert api.post(ASK, json={**question, "epsilon": 0}, headers=key()).status_code == 422
    assert api.post(ASK, json=question).status_code == 422
    assert clock.left == before
