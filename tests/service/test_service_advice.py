"""Verdicts, advice and first questions: public rules, tried through the planner."""

from __future__ import annotations

import pytest
from service_makers import add_dataset, quick_settings, write_estimates

from sunveil.ledger.shares import AnalystShare
from sunveil.power.guidance import power_worths
from sunveil.service.answering.advice import first_epsilon
from sunveil.service.app import open_service
from sunveil.service.broker import (
    ExpectedError,
    FleetTableQuestion,
    QuantilesQuestion,
    QuestionPlan,
    SyntheticQuestion,
    TotalsQuestion,
)
from sunveil.service.verdicts import RULES, ErrorVerdict, rule_of, verdict_on, worst


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("marks")))
        found = open_service(quick_settings(tmp_path_factory.mktemp("data")))
        add_dataset(found, epsilon=6.0, shares={"ann": 3.0}, systems=300)
        add_dataset(found, "large", epsilon=6.0, shares={"ann": 3.0}, systems=20_000)
        add_dataset(found, "rho", epsilon=6.0, delta=1e-6, shares={"ann": 0.6}, systems=300)
        add_dataset(found, "poor", epsilon=6.0, shares={"ann": 0.02}, systems=300)
        divided = {"feeder": [f"F{n}" for n in range(100)], "town": [f"T{n}" for n in range(10)]}
        add_dataset(found, "towns", epsilon=6.0, shares={"ann": 3.0}, systems=3000, keys=divided)
        add_dataset(found, "few", epsilon=6.0, shares={"ann": 3.0}, systems=2)
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
    assert best.words == "with only sectors, 4 sectors, the whole fleet instead of groups"
    assert best.question.epsilon == 0.15


def test_a_larger_epsilon_is_the_smallest_of_the_ladder_that_helps(service):
    asked = TotalsQuestion(kind="totals", epsilon=0.15)
    (best, *_) = plan(service, asked).advice
    assert best.words == "with ε = 1"
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


def power_of(found: QuestionPlan) -> ExpectedError | None:
    return next((each for each in found.expected if each.table == "power"), None)


def measured(way: str, systems: int, epsilon: float) -> float:
    (found,) = [
        each.energy
        for each in power_worths()
        if (each.way, each.systems, each.epsilon) == (way, systems, epsilon)
    ]
    return found


FOR_POWER = {"kind": "fleet-table", "tables": ["planes", "totals"]}


@pytest.mark.parametrize(
    ("question", "way"),
    [
        ({"kind": "fleet-table"}, "usual tables, largest not said"),
        ({"kind": "fleet-table", "largest_kw": 20.0}, "usual tables"),
        (FOR_POWER, "tables for power, largest not said"),
        ({**FOR_POWER, "largest_kw": 10.0}, "tables for power"),
    ],
)
def test_power_is_judged_by_how_it_would_be_published(service, question, way):
    found = power_of(plan(service, FleetTableQuestion(epsilon=1.0, **question)))
    assert found.error == pytest.approx(measured(way, 300, 1.0))
    assert found.cost == 0.0


@pytest.mark.parametrize("change", [{"clip_kw": 20.0}, {"largest_kw": 100.0},
                                    {"shares": {"planes": 1, "totals": 9}}])  # fmt: skip
def test_of_what_was_not_measured_no_error_of_power_is_stated(service, change):
    asked = FleetTableQuestion(epsilon=1.0, **{**FOR_POWER, "largest_kw": 20.0, **change})
    assert power_of(plan(service, asked)) is None


def test_rough_power_is_answered_by_another_way_that_keeps_its_word(service):
    found = plan(service, FleetTableQuestion(kind="fleet-table", epsilon=1.0))
    assert power_of(found).verdict is ErrorVerdict.ROUGH
    best = found.power_advice[0]
    assert best.words == "with only sectors with tilts and totals, no system larger than 20 kW, ε = 0.5"  # noqa: E501  # fmt: skip
    assert best.question.tables == ["planes", "totals"]
    assert best.question.largest_kw == 20.0
    for each in found.power_advice:
        again = plan(service, each.question)
        assert power_of(again).error == pytest.approx(each.energy_percent)
        assert each.energy_percent <= 5.0
        assert again.power_advice == ()
        assert each.affordable
        assert again.cost <= 3.0
    # one rung of the ladder less would not do
    less = best.question.model_copy(update={"epsilon": 0.2})
    assert power_of(plan(service, less)).error > 5.0


def test_a_synthetic_table_is_answered_by_tables_for_power(service):
    found = plan(service, SyntheticQuestion(kind="synthetic", epsilon=1.0))
    assert power_of(found).error == pytest.approx(measured("synthetic, largest not said", 300, 1.0))
    assert [each.question.kind for each in found.power_advice] == ["fleet-table"]


def test_the_epsilon_alone_is_raised_where_that_is_enough(service):
    asked = FleetTableQuestion(epsilon=0.1, largest_kw=20.0, **FOR_POWER)
    found = plan(service, asked).power_advice
    assert [each.words for each in found] == ["with ε = 0.5"]
    assert found[0].question == asked.model_copy(update={"epsilon": 0.5})


def test_small_groups_are_answered_by_the_finest_that_are_large_enough(service):
    asked = FleetTableQuestion(epsilon=1.0, largest_kw=20.0, group_by="feeder", **FOR_POWER)
    found = plan(service, asked, "towns").power_advice
    assert [each.words for each in found] == ["with each town instead of each feeder, ε = 0.5"]
    small = plan(service, asked.model_copy(update={"epsilon": 0.1}), "towns").power_advice
    assert [each.words for each in small] == ["with the whole fleet instead of each feeder, ε = 0.05"]  # noqa: E501  # fmt: skip


def test_what_cannot_be_paid_is_told_as_such_and_only_where_nothing_else_can(service):
    found = plan(service, FleetTableQuestion(kind="fleet-table", epsilon=0.02), "poor").power_advice
    assert found
    assert not any(each.affordable for each in found)
    # feeders of 30 homes would need ε = 10 of a share of 3; towns can be had
    asked = FleetTableQuestion(epsilon=1.0, group_by="feeder", **FOR_POWER)
    assert all(each.affordable for each in plan(service, asked, "towns").power_advice)


def test_a_promise_with_delta_is_advised_by_its_own_numbers(service):
    found = plan(service, FleetTableQuestion(kind="fleet-table", epsilon=0.1), "rho")
    assert power_of(found) is None
    (best,) = found.power_advice
    assert best.question.epsilon == 0.5
    assert best.affordable
    assert power_of(plan(service, best.question, "rho")).error <= 5.0
    dear = plan(service, best.question.model_copy(update={"largest_kw": None}), "rho")
    assert all(each.affordable for each in dear.power_advice)


def test_power_advice_follows_from_public_numbers_alone(service):
    """Another fleet of the same public size and groups is advised the same."""
    asked = FleetTableQuestion(kind="fleet-table", epsilon=0.5, group_by="feeder")
    before = plan(service, asked).power_advice
    write_estimates(service.settings.datasets / "roofs" / "estimates.json", seed=77, ids="other")
    assert plan(service, asked).power_advice == before


def test_nothing_is_advised_where_power_is_not_meant_or_was_not_measured(service):
    sectors = FleetTableQuestion(kind="fleet-table", epsilon=0.01, tables=["sectors"])
    assert plan(service, sectors).power_advice == ()
    assert plan(service, TotalsQuestion(kind="totals", epsilon=0.01)).power_advice == ()
    tables = ["capacities", "planes", "totals"]
    more = FleetTableQuestion(kind="fleet-table", epsilon=1.0, tables=tables)
    assert power_of(plan(service, more)) is None
    assert plan(service, more).power_advice
    assert plan(service, FleetTableQuestion(epsilon=1.0, **FOR_POWER), "few").power_advice == ()
    # whoever says that systems may be larger than homes is not told to say otherwise
    large = FleetTableQuestion(epsilon=1.0, largest_kw=100.0, **FOR_POWER)
    assert plan(service, large).power_advice == ()
