from __future__ import annotations

import io
import json
import logging
import zipfile
from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import pytest
import yaml
from service_makers import PAD, SYSTEMS, Killed, add_dataset, key, raises, write_estimates

from sunveil.privacy import Days
from sunveil.service.questions import QuantilesQuestion, TotalsQuestion
from sunveil.service.store.datasets import change_served

NONSENSE = r"""
null
{
{"kind": "totals", "epsilon": NaN}
{"kind": "totals", "epsilon": 1e999}
{"kind": "totals", "epsilon": 0}
{"kind": "totals", "epsilon": true}
{"kind": "totals", "epsilon": "0.5"}
{"kind": "totals", "epsilon": [0.5]}
{"kind": "totals", "epsilon": 1, "more": 1}
{"kind": "totals", "epsilon": 1, "clip_kw": true}
{"kind": "totals", "epsilon": 1, "clip_kw": "10"}
{"kind": "totals", "epsilon": 1, "group_by": 1}
{"kind": "quantiles", "epsilon": 1, "percents": []}
{"kind": "quantiles", "epsilon": 1, "percents": ["50"]}
{"kind": "quantiles", "epsilon": 1, "percents": [true]}
{"kind": "quantiles", "epsilon": 1, "percents": [50.5]}
{"kind": "quantiles", "epsilon": 1, "percents": "50"}
{"kind": "quantiles", "epsilon": 1, "clip_kw": "10"}
{"kind": "fleet-table", "epsilon": 1, "largest_kw": "10"}
{"kind": "fleet-table", "epsilon": 1, "largest_kw": true}
{"kind": "fleet-table", "epsilon": 1, "sectors": "8"}
{"kind": "fleet-table", "epsilon": 1, "sectors": true}
{"kind":"fleet-table","epsilon":1,"tables":["totals"],"shares":{"totals":"1"}}
{"kind":"fleet-table","epsilon":1,"tables":["totals"],"shares":{"totals":true}}
{"kind": "synthetic", "epsilon": true}
{"kind": "synthetic", "epsilon": "0.5"}
{"kind": "systems", "epsilon": "0.5"}
"""
QUESTIONS = {
    "fleet-table": {"kind": "fleet-table", "epsilon": 0.5, "sectors": 4},
    "totals": {"kind": "totals", "epsilon": 0.5, "group_by": "feeder"},
    "quantiles": {"kind": "quantiles", "epsilon": 0.5, "percents": [90, 50, 50]},
}
ASK, PLAN = "/datasets/roofs/releases", "/datasets/roofs/plans"


def test_a_dataset_tells_its_promise_what_is_left_and_what_may_be_asked(served):
    (body,) = served.api().get("/datasets").json()["datasets"]
    assert body == served.api().get("/datasets/roofs").json()
    assert body["promise"]["epsilon"] == 4.0
    assert "a system's whole record" in body["promise"]["statement"]
    assert body["budget"] == body["share"] == {"total": 4.0, "spent": 0.0, "remaining": 4.0}
    assert body["groups"] == {"feeder": ["F1", "F2", "F3"]}
    assert body["kinds"] == ["fleet-table", "totals", "quantiles", "synthetic"]


@pytest.mark.parametrize("kind", QUESTIONS)
def test_a_question_costs_what_its_plan_said_and_is_answered_with_errors(served, kind):
    api, question = served.api(), QUESTIONS[kind]
    plan = api.post(PLAN, json=question).json()
    assert plan["cost"] == 0.5
    assert plan["affordable"]
    assert not plan["kept"]
    assert all(each["error"] > 0.0 for each in plan["expected"])
    answer = api.post(ASK, json=question, headers=key())
    assert answer.status_code == 201
    release = answer.json()
    assert api.get("/datasets/roofs").json()["share"]["spent"] == 0.5
    assert api.get(answer.headers["location"].removeprefix("/api/v1")).json() == release
    assert release["guarantee"]["epsilon"] == 0.5
    columns = {column["name"] for table in release["tables"] for column in table["columns"]}
    assert columns & {"sd", "total_sd_kw", "rank_error"}
    (listed,) = api.get(ASK).json()["releases"]
    assert listed == {name: release[name] for name in listed}
    plan = api.post(PLAN, json=question).json()
    assert (plan["cost"], plan["kept"]) == (0.0, True)


def test_totals_are_those_of_the_fleet_within_their_errors(served):
    estimates = json.loads(
        (served.service.settings.datasets / "roofs" / "estimates.json").read_text()
    )
    question = {"kind": "totals", "epsilon": 3.5, "group_by": "feeder"}
    table = served.api().post(ASK, json=question, headers=key()).json()["tables"][0]
    names = [column["name"] for column in table["columns"]]
    found = pd.DataFrame(table["rows"], columns=names).set_index("feeder")
    true = (
        pd.DataFrame(estimates)
        .groupby("feeder")["dc_capacity_kw"]
        .apply(lambda held: held.clip(upper=25.0).sum())
    )
    assert ((found["noisy_total_kw"] - true).abs() < 12.0 * found["total_sd_kw"]).all()
    assert (found["systems"] == SYSTEMS / 3).all()


def test_many_who_ask_the_same_at_once_are_charged_once(served):
    apis = [served.api() for _ in range(12)]
    with ThreadPoolExecutor(12) as pool:
        found = list(
            pool.map(lambda api: api.post(ASK, json=QUESTIONS["totals"], headers=key()), apis)
        )
    assert sorted(answer.status_code for answer in found) == [200] * 11 + [201]
    assert len({answer.content for answer in found}) == 1
    assert served.service.ledger.dataset("roofs").spent == 0.5


def test_more_than_is_left_is_refused_and_charges_nothing(served):
    served.service.ledger.set_share("roofs", "bob", 0.3)
    api, mine = served.api("bob"), key()
    assert not api.post(PLAN, json=QUESTIONS["totals"]).json()["affordable"]
    answer = api.post(ASK, json=QUESTIONS["totals"], headers=mine)
    assert answer.status_code == 403
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body["type"] == "urn:sunveil:problem:over-budget"
    assert (body["requested"], body["remaining"]) == (0.5, 0.3)
    assert served.service.ledger.dataset("roofs").spent == 0.0
    # nothing was answered under this key, and so it may be used again
    smaller = {**QUESTIONS["totals"], "epsilon": 0.3}
    assert api.post(ASK, json=smaller, headers=mine).status_code == 201
    # a promise about days is charged for whole records at the same cost
    add_dataset(served.service, "days", unit=Days(1), ids="days")
    answer = served.api().post("/datasets/days/releases", json=QUESTIONS["totals"], headers=key())
    assert answer.status_code == 201
    assert served.service.ledger.dataset("days").spent == 0.5


def test_the_files_of_a_release_hold_its_tables(served):
    api = served.api()
    asked = {**QUESTIONS["fleet-table"], "tables": ["sectors", "totals"]}
    release = api.post(ASK, json=asked, headers=key()).json()
    files = {path.rpartition("/")[2]: path.removeprefix("/api/v1") for path in release["files"]}
    for table in release["tables"]:
        name, names = table["name"], [column["name"] for column in table["columns"]]
        expected = pd.DataFrame(table["rows"], columns=names)
        csv = pd.read_csv(io.BytesIO(api.get(files[f"{name}.csv"]).content))
        parquet = pd.read_parquet(io.BytesIO(api.get(files[f"{name}.parquet"]).content))
        for found in (csv, parquet):
            pd.testing.assert_frame_equal(found, expected, check_dtype=False)
        whole = api.get(files[f"{name}.json"]).json()
        assert (whole["release"], whole["columns"]) == (release["id"], table["columns"])
        assert csv.to_dict("records") == whole["rows"]
    card = yaml.safe_load(api.get(files["release-card.yaml"]).text)
    loss = card["deployment"]["privacy_loss"]
    assert loss["privacy_parameters"] == {"epsilon": 0.5}
    assert card["deployment"]["deployment_model"]["access_type"] == "Interactive"
    disposition = api.get(files["README.md"]).headers["content-disposition"]
    assert disposition.startswith("attachment")
    for name in ("nothing.csv", "..%2f..%2fsunveil.db"):
        answer = api.get(f"/releases/{release['id']}/files/{name}")
        assert answer.status_code in (404, 422)
    # all of them come in one file that is always the same
    bundle = api.get(f"/releases/{release['id']}/bundle").content
    assert bundle == served.api().get(f"/releases/{release['id']}/bundle").content
    with zipfile.ZipFile(io.BytesIO(bundle)) as packed:
        assert packed.testzip() is None
        held = {entry.filename.split("/")[1]: packed.read(entry) for entry in packed.infolist()}
    assert held["sectors.csv"] == api.get(files["sectors.csv"]).content
    answer = api.get(f"/releases/{release['id']}")
    assert held["release.json"] == answer.content
    # who keeps it need not have it sent again
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["cache-control"].startswith("private")
    tag = {"If-None-Match": answer.headers["etag"]}
    again = api.get(f"/releases/{release['id']}", headers=tag)
    assert (again.status_code, again.content) == (304, b"")


def file_of(api, release, name):
    (path,) = (path for path in release["files"] if path.endswith(f"/{name}"))
    return api.get(path.removeprefix("/api/v1")).text


def test_the_card_of_a_release_says_what_the_ledger_said_when_it_was_made(served):
    served.service.ledger.set_share("roofs", "bob", 3.0)
    api = served.api()
    first, second = (
        api.post(ASK, json=QUESTIONS[kind], headers=key()).json()
        for kind in ("totals", "quantiles")
    )
    chain = served.service.ledger.entries("roofs")
    for release, spent in ((first, 0.5), (second, 1.0)):
        account = release["account"]
        assert (account["spent"], account["total"]) == (spent, 4.0)
        length, _, head = account["mark"].partition(":")
        assert chain[int(length) - 1].digest == head
        assert chain[account["charge"] - 1].facts()["question"] == account["question"]
        card = yaml.safe_load(file_of(api, release, "release-card.yaml"))["deployment"]
        details = card["privacy_loss"]["privacy_parameters_details"]
        assert f"has spent ε = {spent:g} of 4" in details
        assert account["mark"] in card["deployment_model"]["release_type_details"]
        for name in ("release-card.yaml", "README.md", "datapackage.json"):
            text = file_of(api, release, name)
            assert not any(word in text for word in ("secret", "bob", '"ann"', "share of 3"))
    page = served.analyst().get(f"/analyst/releases/{first['id']}").text
    assert first["account"]["mark"] in page


def test_a_release_under_delta_has_its_files(served):
    add_dataset(served.service, "gauss", delta=1e-6, shares={"ann": 0.1}, ids="gauss")
    api = served.api()
    question = {"kind": "totals", "epsilon": 0.2}
    release = api.post("/datasets/gauss/releases", json=question, headers=key()).json()
    card = yaml.safe_load(file_of(api, release, "release-card.yaml"))["deployment"]
    assert card["dp_variant"]["variant_name"] == "Zero-concentrated DP"
    assert card["privacy_loss"]["privacy_parameters"]["rho"] == pytest.approx(0.02)


def test_another_edition_of_the_data_is_another_question(served):
    api = served.api()
    first = api.post(ASK, json=QUESTIONS["totals"], headers=key())
    write_estimates(served.service.settings.datasets / "roofs" / "estimates.json", seed=2)
    assert api.post(ASK, json=QUESTIONS["totals"], headers=key()).content == first.content
    with served.service.store.changing() as connection:
        change_served(connection, "roofs", edition="2")
    second = api.post(ASK, json=QUESTIONS["totals"], headers=key())
    assert second.status_code == 201
    assert second.json()["id"] != first.json()["id"]


def test_what_is_told_without_an_answer_is_the_same_whatever_the_data_are(serve, tmp_path):
    answered = []
    for seed, unknown in ((1, False), (2, False), (3, True)):
        running = serve(tmp_path / str(seed))
        add_dataset(running.service, epsilon=0.3)
        path = running.service.settings.datasets / "roofs" / "estimates.json"
        write_estimates(path, seed=seed)
        if unknown:
            rows = [{"system_id": row["system_id"], "feeder": row["feeder"], "error": "refused"}
                    for row in json.loads(path.read_text())]  # fmt: skip
            path.write_text(json.dumps(rows))
        api = running.api()
        answers = [
            *(api.post(PLAN, json=question) for question in QUESTIONS.values()),
            api.post(PLAN, json={"kind": "synthetic", "epsilon": 0.2}),
            *(api.post(ASK, json=question, headers=key()) for question in QUESTIONS.values()),
            api.post(
                ASK, json={"kind": "totals", "epsilon": 0.1, "group_by": "zip"}, headers=key()
            ),
            api.get("/datasets/roofs"),
        ]
        answered.append([(answer.status_code, answer.content) for answer in answers])
        # and it answers all of them: that a system could not be inferred refuses nothing
        small = {"kind": "fleet-table", "epsilon": 0.1}
        assert api.post(ASK, json=small, headers=key()).status_code == 201
    assert answered[0] == answered[1] == answered[2]
    assert {status for status, _ in answered[0]} == {200, 403, 404}


def test_what_is_not_there_or_not_json_is_a_problem_too(served):
    api = served.api()
    for answer, status in (
        (api.get("/nothing"), 404),
        (api.delete("/datasets"), 405),
        (api.post(PLAN, content=b"{}", headers={"Content-Type": "text/plain"}), 415),
        (api.post(PLAN, data={"kind": "totals"}), 415),
        (api.get("/datasets/R%00ofs"), 422),
    ):
        assert answer.status_code == status
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["type"].startswith("urn:sunveil:problem:")
    assert "GET" in api.delete("/datasets").headers["allow"]


def test_an_error_inside_is_told_by_a_number_alone(served, monkeypatch, caplog):
    served.service.broker.warm()
    fail, held = raises(RuntimeError("secret-7 has 4.2 kW")), []
    monkeypatch.setattr("sunveil.publish.fleet_tables.fleet_tables", fail)

    async def pad_duration(_started, pad):
        held.append(pad)

    monkeypatch.setattr("sunveil.service.analyst.asking.pad_duration", pad_duration)
    with caplog.at_level(logging.DEBUG):
        answer = served.api().post(ASK, json=QUESTIONS["totals"], headers=key())
    assert (held, answer.status_code) == ([PAD], 500)
    body = answer.json()
    assert body["type"] == "urn:sunveil:problem:internal"
    assert body["id"] in caplog.text
    assert "RuntimeError" in caplog.text
    assert "secret" not in answer.text + caplog.text
    assert "4.2" not in answer.text + caplog.text


def test_a_restart_answers_what_was_charged_and_charges_nothing_else(serve, monkeypatch):
    running, die = serve(), raises(Killed())
    add_dataset(running.service)
    broker = running.service.broker
    broker.warm()
    with monkeypatch.context() as patch:
        patch.setattr("sunveil.publish.fleet_tables.fleet_tables", die)
        with pytest.raises(Killed):
            broker.ask("roofs", TotalsQuestion(**QUESTIONS["totals"]), analyst="ann", key="a" * 20)
        patch.setattr("sunveil.ledger.ledger.charge_question", die)
        asked = QuantilesQuestion(**QUESTIONS["quantiles"])
        with pytest.raises(Killed):
            broker.ask("roofs", asked, analyst="ann", key="b" * 20)
    folder = running.service.settings.data
    running.stop()
    again = serve(folder)
    again.service.broker.recover(after=0.0)
    (release,) = again.api().get(ASK).json()["releases"]
    assert release["kind"] == "totals"
    assert again.service.ledger.dataset("roofs").spent == 0.5
    assert again.service.ledger.verify("roofs").answered == 1
    # who asks again under the other key is answered, and charged then
    late = again.api().post(ASK, json=QUESTIONS["quantiles"], headers={"Idempotency-Key": "b" * 20})
    assert late.status_code == 201
    assert again.service.ledger.verify("roofs").charges == 2


def test_a_draw_that_always_fails_is_tried_once_by_recovery_and_once_more_by_who_asks(
    served, monkeypatch, caplog
):
    drawn = []

    def fail(*_, **__):
        drawn.append(1)
        raise RuntimeError("secret-7 has 4.2 kW")

    api, mine, broker = served.api(), key(), served.service.broker
    broker.warm()
    with monkeypatch.context() as patch:
        patch.setattr("sunveil.publish.fleet_tables.fleet_tables", fail)
        assert api.post(ASK, json=QUESTIONS["totals"], headers=mine).status_code == 500
        assert broker.unanswered()
        for _ in range(3):
            broker.recover(after=0.0)
        assert len(drawn) == 2
        assert api.post(ASK, json=QUESTIONS["totals"], headers=mine).status_code == 500
    assert "secret" not in caplog.text
    # its key stands for what was paid
    other = api.post(ASK, json=QUESTIONS["quantiles"], headers=mine)
    assert other.json()["type"] == "urn:sunveil:problem:key-reused"
    assert api.post(ASK, json=QUESTIONS["totals"], headers=mine).status_code == 201
    assert not broker.unanswered()
    verdict = served.service.ledger.verify("roofs")
    assert (verdict.holds, verdict.charges, verdict.answered) == (True, 1, 1)
    assert served.service.ledger.dataset("roofs").spent == 0.5


def test_a_key_stands_for_one_question_of_one_analyst_and_is_charged_once(served):
    served.service.ledger.set_share("roofs", "bob", 1.0)
    api, bob, mine = served.api(), served.api("bob"), key()
    dear = {**QUESTIONS["totals"], "epsilon": 19.0}
    # what was refused leaves its key free
    assert api.post(ASK, json=dear, headers=mine).status_code == 403
    first, again = (api.post(ASK, json=QUESTIONS["totals"], headers=mine) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.content == again.content
    for other in (QUESTIONS["quantiles"], dear):
        answer = api.post(ASK, json=other, headers=mine)
        assert answer.status_code == 409
        assert answer.json()["type"] == "urn:sunveil:problem:key-reused"
    for header in ({}, {"Idempotency-Key": "short"}, {"Idempotency-Key": "a b c d e f"}):
        answer = api.post(ASK, json=QUESTIONS["quantiles"], headers=header)
        assert answer.status_code == 422
        assert "Idempotency-Key" in answer.json()["detail"]
    # under another key or from another analyst the same costs nothing
    other = bob.post(ASK, json=QUESTIONS["totals"], headers=key())
    assert (other.status_code, other.content) == (200, first.content)
    assert bob.get("/datasets/roofs").json()["share"]["spent"] == 0.0
    assert served.service.ledger.dataset("roofs").spent == 0.5
    assert bob.post(ASK, json=QUESTIONS["quantiles"], headers=mine).status_code == 201


def test_a_question_that_makes_no_sense_is_a_problem_in_words(served):
    api = served.api()
    headers = {"Content-Type": "application/json", **key()}
    cases = [(line.encode(), 422) for line in NONSENSE.strip().splitlines()]
    cases += [(b"[" * 60_000, 400), (b"\xff\xfe", 422)]
    cases += [(b'{"kind": "totals", "epsilon": 1, "group_by": "secret"}', 404)]
    cases += [(b'{"kind": "systems", "epsilon": 1}', 404)]
    for body, status in cases:
        for path in (PLAN, ASK):
            answer = api.post(path, content=body, headers=headers)
            assert answer.status_code == status, body[:100]
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json()["status"] == status
    assert served.service.ledger.dataset("roofs").spent == 0.0
    # a whole number is an integer however JSON writes it
    asked = [{"kind": "quantiles", "epsilon": 1, "percents": each} for each in ([50], [50.0])]
    one, other = (api.post(PLAN, json=each) for each in asked)
    assert (one.status_code, one.content) == (200, other.content)


def test_a_dataset_without_a_share_or_that_is_not_ready_is_as_if_it_were_not_there(served):
    api, stranger = served.api(), served.api("eve")
    release = api.post(ASK, json=QUESTIONS["totals"], headers=key()).json()
    assert stranger.get("/datasets").json() == {"datasets": []}
    for answer in (
        stranger.get("/datasets/roofs"),
        stranger.get("/datasets/nothing"),
        stranger.get("/datasets/roofs/releases"),
        stranger.post(PLAN, json=QUESTIONS["totals"]),
        stranger.post(ASK, json=QUESTIONS["totals"], headers=key()),
        stranger.get(f"/releases/{release['id']}"),
        stranger.get(f"/releases/{release['id']}/bundle"),
        stranger.get(f"/releases/{release['id']}/files/totals.csv"),
    ):
        assert answer.status_code == 404
        assert answer.json()["type"] == "urn:sunveil:problem:not-found"
    with served.service.store.changing() as connection:
        change_served(connection, "roofs", state="inferring")
    assert api.post(ASK, json=QUESTIONS["quantiles"], headers=key()).status_code == 404
