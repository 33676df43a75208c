"""Verdicts, advice and first questions: public rules, tried through the planner."""

from __future__ import annotations

import pytest
from service_makers import add_dataset, quick_settings

from sunveil.ledger.statements import AnalystShare
from sunveil.publication.published_tables import RULES, ErrorVerdict, rule_of, verdict_on, worst
from sunveil.service.app import open_service
from sunveil.service.question_advice import first_epsilon
from sunveil.service.questions import (
    ExpectedError,
    FleetTableQuestion,
    QuantilesQuestion,
    QuestionPlan,
    SyntheticQuestion,
    TotalsQuestion,
)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("marks")))
        found = open_service(quick_settings(tmp_path_factory.mktemp("data")))
        add_dataset(found, epsilon=6.0, shares={"ann": 3.0}, systems=300)
        add_dataset(found, "large", epsilon=6.0, shares={"ann": 3.0}, systems=20_000)
        add_dataset(found, "rho", epsilon=6.0, delta=1e-6, shares={"ann": 0.6}, systems=300)
        found.broker.warm()
        yield found
        found.close()


def plan(service, question, dataset="roofs") -> QuestionPlan:
    return service.broker.plan(dataset, question, analyst="ann")


@pytest.mark.parametrize(
    ("error", "unit", "of", "verdict"),
    [
        (10.0, "systems", 30.0, ErrorVerdict.USEFUL),
        (10.1, "systems", 30.0, ErrorVerdict.ROUGH),
        (30.1, "systems", 30.0, ErrorVerdict.NOISE),
        (20.0, "%", 100.0, ErrorVerdict.USEFUL),
        (50.1, "% of systems", 100.0, ErrorVerdict.NOISE),
        (25.0, "places", 100.0, ErrorVerdict.ROUGH),
        (18.0, "°", 90.0, ErrorVerdict.USEFUL),
        (1.0, "systems", None, None),
        (1.0, "of nothing", 1.0, None),
    ],
)
def test_verdicts_follow_their_rules(error, unit, of, verdict):
    assert verdict_on(error, unit=unit, of=of) is verdict


def test_the_worst_verdict_counts_and_what_comes_at_no_cost_does_not():
    assert worst([ErrorVerdict.USEFUL, None, ErrorVerdict.ROUGH]) is ErrorVerdict.ROUGH
    assert worst([None]) is None
    free = ExpectedError("sectors", "systems", 99.0, "systems", "", cost=0.0, of=1.0)
    paid = ExpectedError("counts", "systems", 0.1, "systems", "", cost=1.0, of=1.0)
    assert QuestionPlan(1.0, False, (free, paid)).verdict is ErrorVerdict.USEFUL


def test_every_unit_of_an_error_has_a_rule(service):
    questions = [
        FleetTableQuestion(kind="fleet-table", epsilon=1.0, tables=["counts", "mounts", "totals"]),
        TotalsQuestion(kind="totals", epsilon=1.0, clip_kw=10.0),
        QuantilesQuestion(kind="quantiles", epsilon=1.0),
        SyntheticQuestion(kind="synthetic", epsilon=1.0),
    ]
    seen = set()
    for question in questions:
        for each in plan(service, question).expected:
            rule = rule_of(each.unit)
            assert rule is not None
            assert each.verdict is not None or each.value == "cut_kw"
            seen.add(rule.words)
    assert seen == {rule.words for unit, rule in RULES.items() if unit != "°"}


def test_a_cell_is_judged_by_what_it_holds_on_average(service):
    whole = FleetTableQuestion(kind="fleet-table", epsilon=0.15, tables=["sectors"], sectors=4)
    (found,) = plan(service, whole).expected
    assert (found.of, found.verdict) == (75.0, ErrorVerdict.USEFUL)
    divided = whole.model_copy(update={"group_by": "feeder", "sectors": 16})
    (found,) = plan(service, divided).expected
    assert found.of == 300 / 3 / 16
    assert found.verdict is ErrorVerdict.NOISE


def test_advice_was_tried_and_keeps_its_word(service):
    asked = FleetTableQuestion(kind="fleet-table", epsilon=0.15, group_by="feeder")
    found = plan(service, asked)
    assert found.verdict is ErrorVerdict.NOISE
    assert 1 <= len(found.advice) <= 4
    assert len({each.words for each in found.advice}) == len(found.advice)
    for each in found.advice:
        again = plan(service, each.question)
        assert again.verdict is each.verdict
        assert each.affordable == (again.cost <= 3.0)
    best = found.advice[0]
    assert best.verdict is ErrorVerdict.USEFUL
    assert best.words == "direction only, 4 sectors, the whole fleet, no groups"
    assert best.question.epsilon == 0.15


def test_a_larger_epsilon_is_the_smallest_of_the_ladder_that_helps(service):
    asked = TotalsQuestion(kind="totals", epsilon=0.15)
    (best, *_) = plan(service, asked).advice
    assert best.words == "ε = 1"
    half = asked.model_copy(update={"epsilon": 0.5})
    assert plan(service, half).verdict is ErrorVerdict.ROUGH
    far = QuantilesQuestion(kind="quantiles", epsilon=0.01, group_by="feeder")
    dear = [each for each in plan(service, far).advice if not each.affordable]
    assert all(each.question.epsilon > 3.0 for each in dear)


def test_useful_questions_get_no_advice(service):
    assert plan(service, TotalsQuestion(kind="totals", epsilon=2.0)).advice == ()


@pytest.mark.parametrize("dataset", ["roofs", "large", "rho"])
def test_the_first_question_is_useful_for_a_twentieth_of_the_share(service, dataset):
    first = service.broker.suggest(dataset, "fleet-table", analyst="ann")
    assert first.verdict is ErrorVerdict.USEFUL
    found = plan(service, first.question, dataset)
    share = 0.6 if dataset == "rho" else 3.0
    assert 0.9 * share / 20.0 < found.cost <= share / 20.0 + 1e-9
    assert found.verdict is ErrorVerdict.USEFUL


def test_a_large_fleet_is_told_more_of_for_the_same(service):
    small = service.broker.suggest("roofs", "fleet-table", analyst="ann").question
    large = service.broker.suggest("large", "fleet-table", analyst="ann").question
    assert (small.tables, small.sectors) == (["sectors"], 4)
    assert len(large.tables) > 1


def test_where_nothing_useful_can_be_had_the_plan_says_what_would(service):
    first = service.broker.suggest("roofs", "quantiles", analyst="ann")
    assert first.verdict is ErrorVerdict.NOISE
    advice = plan(service, first.question).advice
    assert advice[0].verdict is ErrorVerdict.USEFUL
    assert advice[0].affordable


def test_the_first_epsilon_is_rounded_down_and_never_below_the_least():
    nano = 10**9
    assert first_epsilon(AnalystShare("a", 3 * nano, 0), concentrated=False) == 0.15
    assert first_epsilon(AnalystShare("a", 7 * nano, 0), concentrated=False) == 0.35
    assert first_epsilon(AnalystShare("a", nano, nano), concentrated=False) == 0.01
    assert first_epsilon(AnalystShare("a", nano, 0), concentrated=True) == 0.31


def test_what_a_limit_cuts_off_is_stated_before_and_with_the_release(service):
    found = plan(service, TotalsQuestion(kind="totals", epsilon=0.5))
    (cut,) = [each for each in found.expected if each.value == "cut_kw"]
    (total,) = [each for each in found.expected if each.value == "total_kw"]
    assert 0.0 < cut.error < total.error
    given = plan(service, TotalsQuestion(kind="totals", epsilon=0.5, clip_kw=10.0))
    assert [each.value for each in given.expected] == ["total_kw"]
