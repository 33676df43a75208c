from __future__ import annotations

import csv
import html
import io
import json
import math
import re
from dataclasses import replace

import httpx
import pytest
from curator_makers import (
    PAGE,
    alert_of,
    ended,
    inferred,
    login,
    make_promise,
    rows_of,
    served_of,
    text_of,
    upload,
    write_results,
)
from service_makers import Running, add_dataset, csrf, key, post, token_in, wait_for

from sunveil.ledger import Promise, Question
from sunveil.ledger.hash_chain import GENESIS, Entry
from sunveil.ledger.promises import SystemHome
from sunveil.privacy import Days, Guarantee, Readings, System
from sunveil.privacy.guarantees import from_nano, unit_name
from sunveil.publish.publisher import read_households
from sunveil.service.curator.promise_errors import answer_errors, system_curves
from sunveil.service.curator.promises import as_csv, describe_entry, parse_promise
from sunveil.service.promise_text import promise_sentences
from sunveil.service.store.datasets import add_served


def crawl(client: httpx.Client, start: str) -> dict[str, str]:
    """Return the text of every page of a side that links lead to."""
    found, waiting = {}, [start]
    while waiting:
        path = waiting.pop()
        answer = client.get(path)
        found[path] = answer.text
        for link in re.findall(r'<a[^>]* href="([^"#]+)"', answer.text):
            to = html.unescape(link)
            if to.startswith(start) and to not in found and to not in waiting and len(found) < 60:
                waiting.append(to)
    return found


@pytest.mark.parametrize("side", ["/curator", "/analyst"])
def test_no_page_puts_the_token_of_a_form_into_an_address(promised, side):
    if "asked" not in promised.service.ledger.names():
        add_dataset(promised.service, "asked")
        ask = {"kind": "totals", "epsilon": 0.1}
        promised.api().post("/datasets/asked/releases", json=ask, headers=key())
    client = login(promised) if side == "/curator" else promised.analyst()
    pages = crawl(client, side)
    assert len(pages) > 10
    seen = 0
    for path, text in pages.items():
        assert "csrf" not in path
        for form, inside in re.findall(r"<form([^>]*)>(.*?)</form>", text, re.DOTALL):
            seen += 1
            methods = re.findall(r'\bmethod="?(\w+)', form)
            methods += re.findall(r'formmethod="?(\w+)', inside)
            if "get" in methods or not methods:
                assert '<input type="hidden" name="csrf"' not in inside, path
    assert seen > 5


@pytest.mark.parametrize(
    "promise",
    [
        Promise(System(), 2.0),
        Promise(System(), 4.0, 1e-6),
        Promise(System(), 3.0, meters=3),
        Promise(Days(2), 4.0, 1e-6, meters=2),
    ],
    ids=["epsilon", "delta", "meters", "days"],
)
def test_errors_shown_before_a_promise_are_those_that_a_plan_states(serve, promise):
    running = serve()
    add_dataset(running.service, shares={"ann": promise.epsilon}, epsilon=promise.epsilon)
    served = replace(served_of(running), name="new", folder="roofs")
    with running.service.store.changing() as connection:
        add_served(connection, served)
    unit, _, k = unit_name(promise.unit).partition(":")
    fields = {"protect": unit, "k": k or "1", "epsilon": promise.epsilon}
    fields |= {"delta": promise.delta, "meters": promise.meters}
    page = login(running).get("/curator/datasets/new/promise", params=fields).text
    rows = [
        [float(number) for number in re.findall(r">±?(\d+(?:\.\d+)?)", row)[:4]]
        for row in re.findall(r'<tr>(<th scope="row">.*?)</tr>', page)
    ]
    assert [row[0] for row in rows] == [1.0, 5.0, 20.0]
    running.service.ledger.create_dataset("new", promise)
    running.service.ledger.set_share("new", "ann", from_nano(promise.total))
    api = running.api()
    for questions, epsilon, sector, total in rows:
        asked = {"kind": "fleet-table", "epsilon": epsilon}
        one = api.post("/datasets/new/plans", json={**asked, "tables": ["sectors"]}).json()
        two = api.post("/datasets/new/plans", json={**asked, "tables": ["totals"]}).json()
        assert one["cost"] * questions == pytest.approx(from_nano(promise.total), rel=0.02)
        found = {each["value"]: each["error"] for each in one["expected"] + two["expected"]}
        assert sector == pytest.approx(found["systems"], rel=0.02)
        assert total == pytest.approx(found["total_kw"], rel=0.06)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"epsilon": "much"}, "The total ε is a number"),
        ({"epsilon": "nan"}, "finite"),
        ({"epsilon": "0"}, "above 0"),
        ({"epsilon": "1e9"}, "at most 1000"),
        ({"delta": "0.5"}, "delta is 0, or from"),
        ({"protect": "nothing"}, "choose what is protected"),
        ({"protect": "days", "k": "0"}, "1 or more"),
        ({"protect": "days", "k": "x"}, "is none of these"),
        ({"years": "ten"}, "whole number"),
        ({"start": "1"}, "a number of years"),
        ({"years": "10", "start": "3"}, "at most what is promised"),
    ],
)
def test_a_promise_that_means_nothing_is_refused_in_one_sentence(unpromised, changes, why):
    answer = make_promise(login(unpromised), **changes)
    assert (answer.status_code, why.lower() in text_of(answer).lower()) == (422, True)
    assert unpromised.service.ledger.names() == []


def test_systems_that_are_another_household_in_another_dataset_are_warned_of(serve):
    running = serve()
    client, ledger = login(running), running.service.ledger
    table = inferred(running) / "systems.csv"
    table.write_text("system_id,latitude,longitude,household\na,40,-105,7\nb,40,-105,40031\n")
    ledger.create_dataset("walls", Promise(System(), 2.0))
    ledger.register("walls", [SystemHome("a", "7.0"), SystemHome("b", "0040031")])
    make_promise(client)
    warning = "1 system is one household in 'roofs' and another in another dataset"
    assert warning in text_of(client.get(f"{PAGE}/analysts"))
    ledger.register("roofs", read_households(table))
    assert warning in text_of(client.get(f"{PAGE}/ledger"))


def test_public_groups_are_chosen_from_the_table_of_systems(promised):
    client, page = login(promised), f"{PAGE}/promise"
    post(client, f"{PAGE}/groups", page=page, group="feeder")
    assert served_of(promised).keys == {"feeder": ["F1", "F2"]}
    assert post(client, f"{PAGE}/groups", page=page, group="latitude").status_code == 422
    post(client, f"{PAGE}/groups", page=page)
    assert served_of(promised).keys == {}


@pytest.fixture(scope="module")
def promised(start) -> Running:
    running = start()
    inferred(running)
    make_promise(login(running))
    return running


def invite(client: httpx.Client, name: str, share: str = "1.5") -> httpx.Response:
    fields = {"analyst": name, "share": share}
    page = f"{PAGE}/analysts"
    return post(client, f"{PAGE}/invite", page=page, **fields)


def test_shares_are_set_within_the_promise(promised):
    client, page = login(promised), f"{PAGE}/analysts"
    invite(client, "Grace")

    def set_share(share: str, analyst: str = "Grace") -> httpx.Response:
        return post(client, f"{PAGE}/share", page=page, analyst=analyst, share=share)

    assert set_share("0.75").headers["location"] == page
    facts = promised.service.ledger.entries("roofs")[-1].facts()
    assert (facts["analyst"], facts["share"]) == ("Grace", 750_000_000)
    assert "at most the dataset's 2" in text_of(set_share("2.5"))
    assert set_share("-1").status_code == set_share("much").status_code == 422
    assert set_share("1", analyst="Nobody").status_code == 404


@pytest.mark.parametrize(
    ("name", "share", "why"),
    [
        ("", "1", "the name of an analyst"),
        ("a\nb", "1", "printable"),
        ("Mary", "1", "an analyst named mary already"),
        ("Emmy", "9", "at most the dataset's 2"),
    ],
)
def test_an_invitation_that_cannot_hold_is_refused_without_a_token(promised, name, share, why):
    client = login(promised)
    invite(client, "Mary")
    before = client.get("/curator/analysts").text.count("sv_")
    answer = invite(client, name, share)
    assert (answer.status_code, why in alert_of(answer)) == (422, True)
    assert "sv_" not in answer.text
    assert client.get("/curator/analysts").text.count("sv_") == before


@pytest.fixture(scope="module")
def asked(start) -> Running:
    """Return a service whose dataset was asked twice, by an analyst and by the curator."""
    running = start()
    add_dataset(running.service, shares={"=cmd()": 2.0})
    for analyst, epsilon in (("=cmd()", 0.5), (None, 0.25)):
        guarantee = Guarantee(System(), epsilon, 0.0, "docs/proofs/counts.md")
        facts = {"n": epsilon}
        question = Question("fleet-tables", facts, "fleet-tables", guarantee, None, analyst)
        running.service.ledger.ask("roofs", question, lambda: 1)
    return running


def test_the_ledger_shows_who_asked_what_and_that_it_holds(asked):
    client = login(asked)
    page = text_of(client.get(f"{PAGE}/ledger"))
    assert "6 entries checked: 2 charges. Spent" in page
    assert "=cmd() 1 0.5" in page
    assert "the curator 1 0.25" in page
    assert "fleet-tables about all systems at ε = 0.5" in page
    assert "roofs verified 0.75 4 2 2" in text_of(client.get("/curator/ledger"))
    verdict = asked.service.ledger.verify("roofs")
    mark = f"{verdict.entries}:{verdict.head}"
    assert mark in page
    for given, said in (
        ("", "Verification verified"),
        (mark, "Verification verified"),
        (f"9:{verdict.head}", "Verification not valid"),
        ("nonsense", "A checkpoint is a number of entries"),
    ):
        params = {"mark": given} if given else {}
        assert said in text_of(client.get(f"{PAGE}/ledger", params=params))


def test_the_whole_way_works_on_postgresql_too(serve, database):
    running = serve(database=database)
    client = login(running)
    assert upload(client).status_code == 303
    write_results(running.service.settings.datasets / "roofs" / "inferred", systems=9)
    ended(running)
    wait_for(lambda: served_of(running).state == "ready")
    assert len(rows_of(client.get(f"{PAGE}/systems"))) == 9
    make_promise(client)
    page = f"{PAGE}/promise"
    post(client, f"{PAGE}/groups", page=page, group="feeder")
    token = token_in(invite(client, "Ada").text)
    assert running.client(token).get("/datasets").status_code == 200
    assert "Verification verified" in text_of(client.get(f"{PAGE}/ledger"))
    public = token.split("_")[1]
    post(client, "/curator/analysts/revoke", page="/curator/analysts", token=public)
    assert running.client(token).get("/datasets").status_code == 401


def test_errors_of_whole_records_are_at_the_limit_that_nothing_can_beat():
    azimuth = system_curves(System(), (1.0, 4.0))[0]
    limits = [180.0 / (1.0 + math.exp(epsilon / 2.0)) for epsilon in azimuth.epsilons]
    assert all(error >= limit for error, limit in zip(azimuth.errors, limits, strict=True))


def entry(kind: str, body: dict[str, object]) -> Entry:
    return Entry(1, kind, json.dumps({"at": "2026-01-02T03:04:05+00:00", **body}), GENESIS)


@pytest.mark.parametrize(
    "broken", [Entry(1, "charge", "{", GENESIS), entry("charge", {}), entry("surprise", {})]
)
def test_an_entry_that_cannot_be_understood_is_told_to_be_so(broken):
    assert describe_entry(broken).what == "damaged entry"
    assert broken.digest in as_csv([broken])


def test_a_form_may_promise_over_years_with_a_part_at_once():
    given = {"protect": "system", "k": "", "epsilon": "2", "delta": "0", "allow": "", "meters": "1"}
    assert parse_promise(given).schedule is None
    made = parse_promise({**given, "years": "10", "start": "1,5"})
    assert (made.schedule.years, made.schedule.start) == (10, 1.5)
    assert "over 10 years" in " ".join(promise_sentences(made))


@pytest.mark.parametrize(
    ("promise", "said", "first"),
    [
        (Promise(System(), 2.0), ["7.39"], "entire record"),
        (Promise(System(), 9.0), ["a factor of at most 8,100"], "entire record"),
        (Promise(Days(1), 1.0), ["are not protected"], "any one day"),
        (Promise(Days(7), 1.0), ["are not protected"], "any 7 days"),
        (Promise(Readings(1), 1.0), ["are not protected"], "Any one reading"),
        (Promise(Readings(9), 1.0), ["are not protected"], "Any 9 readings"),
        (
            Promise(System(), 10.0, 1e-6, ("paper",)),
            ["at most 22,000 times (ε = 10) its value without them, plus 1e-06", "paper"],
            "entire record",
        ),
    ],
)
def test_a_promise_is_told_in_plain_words_with_its_weak_points(promise, said, first):
    sentences = promise_sentences(promise)
    assert first in sentences[0]
    text = " ".join(sentences)
    assert all(each in text for each in said)
    assert ("are not protected" in text) == (promise.unit != System())
    # a delta is added to the probability of every set of answers
    assert ("a factor of" in text) == (promise.delta == 0.0)
    assert not re.search("with a probability|probability of at most", text)


def test_questions_that_are_too_small_to_be_asked_are_not_shown():
    assert [each.questions for each in answer_errors(Promise(System(), 0.1))] == [1, 5]
    assert answer_errors(Promise(System(), 0.02, meters=3)) == []


def test_a_token_that_is_issued_is_shown_once_opens_and_is_revoked(promised):
    client = login(promised)
    token = token_in(invite(client, "Ada").text)
    api, browser = promised.client(token), promised.client()
    assert api.get("/datasets").status_code == 200
    assert post(browser, "/analyst/login", token=token).status_code == 303
    assert browser.get("/analyst").status_code == 200
    for path in (f"{PAGE}/analysts", "/curator/analysts", "/curator"):
        page = client.get(path).text
        assert token not in page
        assert token.split("_", 2)[2] not in page
    assert "Ada" in client.get("/curator/analysts").text
    public = token.split("_")[1]
    post(client, "/curator/analysts/revoke", page="/curator/analysts", token=public)
    assert api.get("/datasets").status_code == 401
    assert browser.get("/analyst").headers["location"] == "/analyst/login"
    again = post(client, "/curator/analysts/revoke", page="/curator/analysts", token=public)
    assert again.status_code == 404
    other = post(client, "/curator/analysts/token", page="/curator/analysts", analyst="Ada")
    assert promised.client(token_in(other.text)).get("/datasets").status_code == 200


def test_the_ledger_is_exported_whole_and_a_name_is_no_formula_in_it(asked):
    client = login(asked)
    answer = client.get(f"{PAGE}/ledger.json")
    assert 'filename="roofs-ledger.json"' in answer.headers["content-disposition"]
    (exported,) = answer.json()["datasets"]
    entries = asked.service.ledger.entries("roofs")
    assert [each["digest"] for each in exported["entries"]] == [each.digest for each in entries]
    assert exported["verdict"]["holds"] is True
    text = client.get(f"{PAGE}/ledger.csv").text
    table = list(csv.DictReader(io.StringIO(text)))
    assert [row["kind"] for row in table] == [entry.kind for entry in entries]
    assert [row["cost"] for row in table if row["cost"]] == ["0.500000000", "0.250000000"]
    cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
    assert "'=cmd()" in cells
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]


def test_the_ledger_names_what_was_published_and_shows_where_it_was_changed(served):
    question = {"kind": "totals", "epsilon": 0.5}
    served.api().post("/datasets/roofs/releases", json=question, headers=key()).raise_for_status()
    client = login(served)
    page = text_of(client.get(f"{PAGE}/ledger"))
    assert re.search(r"ann .*Total capacity.*: fleet-tables about all systems at ε = 0.5", page)
    with served.service.store.changing() as connection:
        connection.connection().exec_driver_sql("UPDATE datasets SET fleet_spent = 1")
    page = text_of(client.get(f"{PAGE}/ledger"))
    assert "Verification not valid" in page
    assert "The counters do not add up to the charges." in page
    assert "not valid" in text_of(client.get("/curator/ledger"))


@pytest.fixture(scope="module")
def unpromised(start) -> Running:
    found = start()
    inferred(found)
    return found


def test_a_promise_is_previewed_and_made_once_and_for_ever(serve):
    running = serve()
    client = login(running)
    inferred(running)
    # nobody is invited before it
    assert "before inviting analysts" in text_of(client.get(f"{PAGE}/analysts"))
    early = post(client, f"{PAGE}/invite", page="/curator", analyst="a", share="1")
    assert early.status_code == 409
    answer = client.get(f"{PAGE}/promise?protect=days&k=7&epsilon=1&delta=1e-6&allow=paper")
    page = text_of(answer)
    assert "on any 7 days change the probability of any set of answers" in page
    assert "to at most 2.72 times (ε = 1) its value without them, plus 1e-06" in page
    assert "Orientation and size of a household's panels are not protected" in page
    assert "depends on an assumption about the data" in page
    assert 'id="tables-data"' in answer.text
    assert 'id="systems-data"' in answer.text
    unsure = make_promise(client, sure="")
    assert (unsure.status_code, "can never be changed" in text_of(unsure)) == (422, True)
    assert running.service.ledger.names() == []
    made = make_promise(client, protect="days", k="3", epsilon="0,5", delta="1e-9", allow="paper")
    assert made.headers["location"] == f"{PAGE}/analysts"
    assert running.service.ledger.dataset("roofs").promise.to_dict() == {
        "unit": "days:3",
        "epsilon": 0.5,
        "delta": 1e-9,
        "measure": "rho",
        "conditional": ["paper"],
        "meters": 1,
        "conversion": "tight",
    }
    assert "A promise can never be changed." in text_of(client.get(f"{PAGE}/promise"))
    fields = {"csrf": csrf(client, "/curator"), "protect": "system", "epsilon": "9", "sure": "yes"}
    again = client.post(f"{PAGE}/promise", data=fields)
    assert (again.status_code, "can never be changed" in text_of(again)) == (422, True)
    assert running.service.ledger.dataset("roofs").promise.epsilon == 0.5
