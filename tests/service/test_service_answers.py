"""What the analyst's side shows of answers: figures, words, and releases of single systems."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from service_makers import SYSTEMS, add_dataset, key, new_curator

from sunveil.ledger import Promise
from sunveil.ledger.statements import AnalystShare
from sunveil.meters import MeterOptions
from sunveil.meters.schema_files import schema_digest
from sunveil.privacy import Days
from sunveil.publication.published_tables import RULES, ErrorVerdict, rule_of, verdict_on, worst
from sunveil.publish import fleet_tables
from sunveil.service import questions
from sunveil.service.analyst.asking import ABOUT, TABLE_WORDS
from sunveil.service.figures import NOISE_LEGEND, figures_of
from sunveil.service.page_rendering import figure_json
from sunveil.service.question_advice import first_epsilon
from sunveil.service.question_data import Data
from sunveil.service.settings import ANSWER_SECONDS
from sunveil.service.store.datasets import (
    Served,
    add_served,
    change_served,
    find_release,
    find_served,
)

QUANTILES = "/analyst/datasets/roofs/ask/quantiles"


@pytest.fixture(scope="module")
def service(start):
    found = start().service
    add_dataset(found, epsilon=900.0)
    return found


def released(service, question):
    answered = service.broker.ask(
        "roofs", question, analyst="ann", key=f"key of {question.model_dump_json()}"
    )
    with service.store.reading() as connection:
        return find_release(connection, answered.release).body


@pytest.mark.parametrize("group", [None, "feeder"])
@pytest.mark.parametrize(
    "kind", [questions.FleetTableQuestion, questions.TotalsQuestion, questions.QuantilesQuestion]
)
def test_figures_are_plain_json_with_axes_that_name_their_units(service, kind, group):
    question = kind(
        kind=kind.model_fields["kind"].annotation.__args__[0], epsilon=5.0, group_by=group
    )
    drawn = figures_of(released(service, question))
    assert len({each.id for each in drawn}) == len(drawn) >= 1
    for each in drawn:
        json.dumps(each.made, allow_nan=False)
        layout = each.made["layout"]
        assert ("polar" in layout) != ("xaxis" in layout)
        for axis in (layout[name] for name in ("xaxis", "yaxis") if name in layout):
            assert axis["title"]["text"]
        named = [trace["name"] for trace in each.made["data"] if "name" in trace]
        groups = [name for name in named if name != NOISE_LEGEND]
        assert groups in ([], [""], ["F1", "F2", "F3"])
        assert (groups == ["F1", "F2", "F3"]) == (group is not None and each.id != "totals")


def test_nothing_in_a_figure_can_end_its_element():
    made = figure_json({"a": "</script><script>alert(1)//\u2028&"})
    assert not set("<>&\u2028") & set(str(made))
    assert json.loads(str(made)) == {"a": "</script><script>alert(1)//\u2028&"}


@pytest.mark.parametrize("spoilt", ["", "nan", "inf", "text", '"', "1e308"])
def test_whatever_a_system_holds_it_stays_and_changes_no_other(tmp_path, clear_power, spoilt):
    power = clear_power(180.0, 25.0, days=20)
    stamps = power.index.strftime("%Y-%m-%dT%H:%MZ")
    rows = {"a": power.round(4), "b": [spoilt] * len(power), "c": power.round(3)}
    folder = tmp_path / "roofs"
    for half in (0, 1):  # each system in two files of two folders
        (folder / "meters" / str(half)).mkdir(parents=True)
        lines = [
            f"{name},{at},{cell}"
            for name, cells in rows.items()
            for at, cell in list(zip(stamps, cells, strict=True))[half * 240 : half * 240 + 240]
        ]
        text = "\n".join(["system_id,time,power_kw", *lines]) + "\n"
        (folder / "meters" / str(half) / "readings.csv").write_text(text)
    table = ["system_id,latitude,longitude", *(f"{name},39.7,-105.0" for name in rows)]
    (folder / "systems.csv").write_text("\n".join(table) + "\n")
    served = Served("roofs", "Roofs", "roofs", meters="meters", places="systems.csv")
    held = Data(tmp_path).systems(served)
    records = held.fleet.all_records()
    assert [record.system_id for record in records] == ["a", "b", "c"]
    assert {len(record.times) for record in (records[0], records[2])} == {480}
    np.testing.assert_allclose(records[0].power_kw, power.round(4).clip(lower=0.0))
    assert len(set(map(str, held.about().values()))) == 3


def test_files_that_releases_cannot_read_are_told_without_their_names(served):
    folder = served.service.settings.datasets / "private-folder"
    folder.mkdir()
    (folder / "secret-street-5.csv").write_text("when it was,how much\n1,2\n")
    (folder / "systems.csv").write_text("system_id,latitude,longitude\nsecret-street-5,40,-105\n")
    files = {"meters": "secret-street-5.csv", "places": "systems.csv", "systems": 1}
    add_dataset(served.service, "torn", unit=Days(1), folder="private-folder", **files)
    answer = served.api().post("/datasets/torn/plans", json={"kind": "systems", "epsilon": 1.0})
    assert answer.status_code == 422
    assert "ask its curator" in answer.text
    assert "secret" not in answer.text


@pytest.mark.parametrize("label", ["", "start"])
def test_errors_of_single_systems_shown_before_a_promise_are_those_that_a_plan_states(
    metered, label
):
    """The page assumes a year of hourly readings, which the dataset has."""
    running = metered(days=365)
    with running.service.store.changing() as connection:
        served = find_served(connection, "metered")
        extra = {**served.extra, "options": {"label": label}}
        add_served(connection, replace(served, name="new", extra=extra))
    new_curator(running.service)
    fields = {"protect": "days", "k": 1, "epsilon": 8.0, "delta": 0.0, "meters": 1}
    page = running.curator().get("/curator/datasets/new/promise", params=fields).text
    assert ("whose timestamps may mark" in page) is (not label)
    rows = re.findall(r'<tr>(<th scope="row">.*?)</tr>', page)
    rows = [[text.strip("±°% ") for text in re.findall(r">([^<>]+)</t[dh]>", row)] for row in rows]
    assert [row[:2] for row in rows] == [["1", "8"], ["5", "1.6"], ["20", "0.4"]]
    running.service.ledger.create_dataset("new", Promise(Days(1), 8.0))
    running.service.ledger.set_share("new", "ann", 8.0)
    for row in rows:
        question = {"kind": "systems", "epsilon": float(row[1])}
        plan = running.api().post("/datasets/new/plans", json=question).json()
        errors = {each["value"]: each["error"] for each in plan["expected"]}
        azimuth, tilt, capacity = row[-3:]
        assert float(azimuth) == pytest.approx(errors["surface_azimuth"], rel=0.03)
        assert float(tilt) == pytest.approx(errors["surface_tilt"], rel=0.03)
        if errors["dc_capacity_kw"] < 100.0:
            assert float(capacity) == pytest.approx(errors["dc_capacity_kw"], abs=0.5)
        else:
            assert capacity == "no better than guessing"


def test_single_systems_are_released_under_the_promises_own_unit(metered):
    running = metered()
    api = running.api()
    question = {"kind": "systems", "epsilon": 3.0}
    plan = api.post("/datasets/metered/plans", json=question).json()
    assert (plan["cost"], plan["kept"]) == (3.0, False)
    errors = {each["value"]: each["error"] for each in plan["expected"]}
    assert 0.0 < errors["surface_azimuth"] < 45.0
    answer = api.post("/datasets/metered/releases", json=question, headers=key())
    assert answer.status_code == 201
    release = answer.json()
    assert release["guarantee"]["unit"] == "any one day"
    table, planes, errors_to_expect = release["tables"]
    assert {row[0] for row in planes["rows"]} <= {row[0] for row in table["rows"]}
    assert table["columns"][-1]["kind"] == "array"
    page = running.analyst().get(f"/analyst/releases/{release['id']}")
    assert page.status_code == 200
    assert "planes.csv" in page.text
    assert "surface_azimuth&#39;:" not in page.text  # lists are shown flat
    assert [row[0] for row in errors_to_expect["rows"]] == list(errors)
    assert len(table["rows"]) == 3
    assert release["account"]["schema"] == schema_digest(MeterOptions(timezone="UTC"))
    assert "secret" not in answer.text
    names = [column["name"] for column in table["columns"]]
    azimuths = sorted(row[names.index("surface_azimuth")] for row in table["rows"])
    assert np.abs(np.array(azimuths) - [120.0, 180.0, 240.0]).max() < 40.0
    plan = api.post("/datasets/metered/plans", json=question).json()
    assert (plan["cost"], plan["kept"]) == (0.0, True)
    assert running.service.ledger.dataset("metered").largest_spent == 3.0


def test_the_pages_show_every_kind_and_refuse_what_is_none(served):
    page = served.analyst()
    text = page.get("/analyst/datasets/roofs").text
    for kind, title in questions.TITLES.items():
        assert (title in text) == (kind != "systems")
        status = page.get(f"/analyst/datasets/roofs/ask/{kind}").status_code
        assert status == (200 if kind != "systems" else 404)
    for path in ("datasets/nothing", "datasets/roofs/ask/x", f"releases/{'0' * 32}"):
        assert page.get(f"/analyst/{path}").status_code == 404
    for path in ("datasets/%00", "datasets/%00/ask/totals", "releases/%00", "releases/x/files/%00"):
        answer = page.get(f"/analyst/{path}")
        assert answer.status_code == 422
        assert "text/html" in answer.headers["content-type"]


def confirmation(page, query="epsilon=0.5"):
    text = page.get(f"/analyst/datasets/roofs/ask/totals/confirm?{query}").text
    form = text[text.index('id="confirm"') :]
    found = re.findall(r'name="(csrf|question|digest|key|noise)" value="([^"]*)"', form)
    return {name: html.unescape(value) for name, value in found}


def test_an_answer_that_is_only_noise_is_not_asked_without_a_tick(served):
    page, path = served.analyst(), "/analyst/datasets/roofs/ask/totals"
    form = confirmation(page, "epsilon=0.01")
    assert form["noise"] == "yes"
    asked = "epsilon=0.05&tables=sectors&tables=totals&tables=quantiles"
    text = page.get(f"/analyst/datasets/roofs/ask/fleet-table/confirm?{asked}").text
    parts = ["Direction", "Total capacity", "Percentiles of capacity", "Percentiles of tilt"]
    assert re.findall(r">(?:useful|rough|only noise)</span> ([^<]+)</li>", text)[:4] == parts
    assert 'id="spend" class="second"' in text
    for changes in ({"noise": ""}, {"noise": "no"}):
        answer = page.post(path, data={**form, **changes})
        assert answer.status_code == 422
        assert "Tick the box to ask all the same" in answer.text
    assert served.service.ledger.dataset("roofs").spent == 0.0
    assert page.post(path, data=form).status_code == 303
    assert served.service.ledger.dataset("roofs").spent == 0.01


def test_a_confirmation_of_anything_else_than_was_shown_spends_nothing(served):
    page, path = served.analyst(), "/analyst/datasets/roofs/ask/totals"
    form = confirmation(page)
    for changes in (
        {"key": ""},
        {"key": "k" * 100},
        {"digest": "0" * 64},
        {"question": '{"kind":"totals","epsilon":1.0}'},
        {"question": '{"kind":"quantiles","epsilon":0.5}'},
        {"question": "x"},
    ):
        assert page.post(path, data={**form, **changes}).status_code == 422
    assert page.post(path, data={"csrf": form["csrf"], "epsilon": "0.5"}).status_code == 422
    assert served.service.ledger.dataset("roofs").spent == 0.0
    assert page.post(path, data=form).status_code == page.post(path, data=form).status_code == 303
    assert served.service.ledger.dataset("roofs").spent == 0.5
    # a confirmation of an earlier edition is shown again
    form = confirmation(page, "epsilon=0.25")
    with served.service.store.changing() as connection:
        change_served(connection, "roofs", edition="2")
    answer = page.post(path, data=form)
    assert answer.status_code == 422
    assert "has changed since you saw the cost" in answer.text
    assert served.service.ledger.dataset("roofs").spent == 0.5


def test_an_analyst_buys_every_table_that_a_curator_can_and_every_kind_has_words_and_a_time():
    assert questions.TABLES == fleet_tables.TABLES == tuple(TABLE_WORDS)
    every = get_args(get_args(questions.Question)[0])
    kinds = [each.model_fields["kind"].annotation.__args__[0] for each in every]
    assert kinds == list(questions.TITLES) == list(ABOUT) == list(ANSWER_SECONDS)


def test_bars_and_a_compass_show_what_their_tables_hold(service):
    asked = {"kind": "fleet-table", "epsilon": 2.0, "group_by": "feeder", "tables": ["mounts"]}
    body = released(service, questions.FleetTableQuestion(**asked))
    (table,), (figure,) = body["tables"], figures_of(body)
    assert (table["name"], figure.id) == ("mounts", "mounts")
    *bars, legend = figure.made["data"]
    assert legend["name"] == NOISE_LEGEND
    assert [each["x"] for each in bars] == [["one plane", "two planes", "tracker"]] * 3
    drawn = {(row[0], row[1]): row[2] for row in table["rows"]}
    assert bars[0]["y"] == [drawn[bars[0]["name"], label] for label in bars[0]["x"]]
    body = released(
        service, questions.FleetTableQuestion(kind="fleet-table", epsilon=5.0, sectors=16)
    )
    (sectors,) = [each for each in figures_of(body) if each.id == "sectors"]
    (table,) = [each for each in body["tables"] if each["name"] == "sectors"]
    trace, intervals, legend = sectors.made["data"]
    assert legend["name"] == NOISE_LEGEND
    assert intervals["r"][1] == trace["r"][0] + 2.0 * table["rows"][0][3]
    assert trace["r"] == [row[1] for row in table["rows"] if row[0] != "unknown"]
    assert len(trace["theta"]) == 16
    assert trace["theta"][4] == 90.0


def test_errors_are_never_said_to_be_larger_than_the_fleet(service):
    asked = questions.QuantilesQuestion(kind="quantiles", epsilon=0.01)
    plan = service.broker.plan("roofs", asked, analyst="ann")
    assert [each.error for each in plan.expected] == [SYSTEMS, SYSTEMS]


@pytest.fixture
def metered(serve, clear_power, golden_site):
    """Return what makes a service over the meters of three systems."""

    def make(days=120):
        running = serve()
        folder = running.service.settings.datasets / "metered"
        folder.mkdir(parents=True)
        lines = ["system_id,time,power_kw"]
        for number, azimuth in enumerate((120.0, 180.0, 240.0)):
            power = clear_power(azimuth, 25.0, days=days)
            stamps = power.index.strftime("%Y-%m-%dT%H:%MZ")
            found = zip(stamps, power, strict=True)
            lines += [f"secret-{number},{at},{kw:.4f}" for at, kw in found]
        (folder / "meters.csv").write_text("\n".join(lines) + "\n")
        place = {name: getattr(golden_site, name) for name in ("latitude", "longitude", "altitude")}
        files = {"meters": "meters.csv", "systems": 3, "timezone": "UTC"}
        add_dataset(running.service, "metered", unit=Days(1), **files, **place)
        return running

    return make


def test_a_form_that_makes_no_sense_is_shown_again_with_what_is_wrong(served):
    page = served.analyst()
    for fields, word in (
        ({"epsilon": "much"}, "Privacy loss"),
        ({"epsilon": "0"}, "Privacy loss"),
        ({"epsilon": "nan"}, "Privacy loss"),
        ({"clip_kw": "1e9"}, "Cap on capacity"),
        ({"percents": "50, x"}, "Percentiles"),
    ):
        answer = page.get(f"{QUANTILES}/confirm", params={"epsilon": "0.5", **fields})
        assert answer.status_code == 303
        answer = page.get(answer.headers["location"])
        assert word in re.search(r'role="alert">([^<]+)', answer.text)[1]
    assert served.service.ledger.dataset("roofs").spent == 0.0


@pytest.fixture(scope="module")
def planned(start):
    found = start().service
    add_dataset(found, epsilon=6.0, shares={"ann": 3.0}, systems=300)
    add_dataset(found, "large", epsilon=6.0, shares={"ann": 3.0}, systems=20_000)
    add_dataset(found, "rho", epsilon=6.0, delta=1e-6, shares={"ann": 0.6}, systems=300)
    return found


def plan(planned, question, dataset="roofs") -> questions.QuestionPlan:
    return planned.broker.plan(dataset, question, analyst="ann")


def test_every_unit_of_an_error_has_a_rule(planned):
    asked = [
        questions.FleetTableQuestion(
            kind="fleet-table", epsilon=1.0, tables=["counts", "mounts", "totals"]
        ),
        questions.TotalsQuestion(kind="totals", epsilon=1.0, clip_kw=10.0),
        questions.QuantilesQuestion(kind="quantiles", epsilon=1.0),
        questions.SyntheticQuestion(kind="synthetic", epsilon=1.0),
    ]
    seen = set()
    for question in asked:
        for each in plan(planned, question).expected:
            rule = rule_of(each.unit)
            assert rule is not None
            assert each.verdict is not None or each.value == "cut_kw"
            seen.add(rule.words)
    assert seen == {rule.words for unit, rule in RULES.items() if unit != "°"}


def test_advice_was_tried_and_keeps_its_word(planned):
    asked = questions.FleetTableQuestion(kind="fleet-table", epsilon=0.15, group_by="feeder")
    found = plan(planned, asked)
    assert found.verdict is ErrorVerdict.NOISE
    assert 1 <= len(found.advice) <= 4
    assert len({each.words for each in found.advice}) == len(found.advice)
    for each in found.advice:
        again = plan(planned, each.question)
        assert again.verdict is each.verdict
        assert each.affordable == (again.cost <= 3.0)
    best = found.advice[0]
    assert best.verdict is ErrorVerdict.USEFUL
    assert best.words == "direction only, 4 sectors, the whole fleet, no groups"
    assert best.question.epsilon == 0.15


@pytest.mark.parametrize("dataset", ["roofs", "large", "rho"])
def test_the_first_question_is_useful_for_a_twentieth_of_the_share(planned, dataset):
    first = planned.broker.suggest(dataset, "fleet-table", analyst="ann")
    assert first.verdict is ErrorVerdict.USEFUL
    found = plan(planned, first.question, dataset)
    share = 0.6 if dataset == "rho" else 3.0
    assert 0.9 * share / 20.0 < found.cost <= share / 20.0 + 1e-9
    assert found.verdict is ErrorVerdict.USEFUL


def test_the_first_epsilon_is_rounded_down_and_never_below_the_least():
    nano = 10**9
    assert first_epsilon(AnalystShare("a", 3 * nano, 0), concentrated=False) == 0.15
    assert first_epsilon(AnalystShare("a", 7 * nano, 0), concentrated=False) == 0.35
    assert first_epsilon(AnalystShare("a", nano, nano), concentrated=False) == 0.01
    assert first_epsilon(AnalystShare("a", nano, 0), concentrated=True) == 0.31


def test_verdicts_follow_their_rules_and_the_worst_counts():
    for error, unit, of, verdict in (
        (10.0, "systems", 30.0, ErrorVerdict.USEFUL),
        (10.1, "systems", 30.0, ErrorVerdict.ROUGH),
        (30.1, "systems", 30.0, ErrorVerdict.NOISE),
        (20.0, "%", 100.0, ErrorVerdict.USEFUL),
        (50.1, "% of systems", 100.0, ErrorVerdict.NOISE),
        (25.0, "places", 100.0, ErrorVerdict.ROUGH),
        (18.0, "°", 90.0, ErrorVerdict.USEFUL),
        (1.0, "systems", None, None),
        (1.0, "of nothing", 1.0, None),
    ):
        assert verdict_on(error, unit=unit, of=of) is verdict
    assert worst([ErrorVerdict.USEFUL, None, ErrorVerdict.ROUGH]) is ErrorVerdict.ROUGH
    assert worst([None]) is None
    # what comes at no cost does not count
    free = questions.ExpectedError(
        "sectors", "systems", 99.0, "systems", "", cost=0.0, compared_with=1.0
    )
    paid = questions.ExpectedError(
        "counts", "systems", 0.1, "systems", "", cost=1.0, compared_with=1.0
    )
    assert questions.QuestionPlan(1.0, False, (free, paid)).verdict is ErrorVerdict.USEFUL


def test_a_plan_judges_cells_by_their_average_and_states_what_a_limit_cuts_off(planned):
    whole = questions.FleetTableQuestion(
        kind="fleet-table", epsilon=0.15, tables=["sectors"], sectors=4
    )
    (found,) = plan(planned, whole).expected
    assert (found.compared_with, found.verdict) == (75.0, ErrorVerdict.USEFUL)
    divided = whole.model_copy(update={"group_by": "feeder", "sectors": 16})
    (found,) = plan(planned, divided).expected
    assert (found.compared_with, found.verdict) == (300 / 3 / 16, ErrorVerdict.NOISE)
    totals = plan(planned, questions.TotalsQuestion(kind="totals", epsilon=0.5))
    errors = {each.value: each.error for each in totals.expected}
    assert 0.0 < errors["cut_kw"] < errors["total_kw"]
    given = plan(planned, questions.TotalsQuestion(kind="totals", epsilon=0.5, clip_kw=10.0))
    assert [each.value for each in given.expected] == ["total_kw"]
    (best, *_) = plan(planned, questions.TotalsQuestion(kind="totals", epsilon=0.15)).advice
    assert best.words == "ε = 1"  # the smallest of the ladder that helps
    assert plan(planned, questions.TotalsQuestion(kind="totals", epsilon=2.0)).advice == ()


def test_each_system_is_read_on_the_clock_that_its_table_names(tmp_path, clear_power):
    folder = tmp_path / "roofs"
    folder.mkdir()
    power = clear_power(180.0, 25.0, days=20)
    lines, table = ["system_id,time,power_kw"], ["system_id,latitude,longitude,timezone"]
    for name, zone in (("east", "UTC-05:00"), ("west", "UTC-07:00")):
        stamps = power.index.tz_convert(f"Etc/GMT+{zone[5]}").strftime("%Y-%m-%d %H:%M")
        lines += [f"{name},{at},{kw:.4f}" for at, kw in zip(stamps, power, strict=True)]
        table.append(f"{name},39.7,-105.0,{zone}")
    (folder / "meters.csv").write_text("\n".join(lines) + "\n")
    (folder / "systems.csv").write_text("\n".join(table) + "\n")
    held = Data(tmp_path).systems(
        Served("roofs", "Roofs", "roofs", meters="meters.csv", places="systems.csv")
    )
    east, west = sorted(held.fleet.all_records(), key=lambda record: record.system_id)
    np.testing.assert_array_equal(east.times, west.times)
    assert (east.timezone, west.timezone) == ("UTC-05:00", "UTC-07:00")
