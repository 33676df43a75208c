from __future__ import annotations

import logging
import re
import time

import psycopg
import pytest
from service_makers import (
    PASSWORD,
    add_dataset,
    ask_confirmed,
    key,
    new_curator,
    new_token,
    post,
    token_in,
)
from sqlalchemy import select, update

from sunveil.ledger.hash_chain import actor_of
from sunveil.service.page_rendering import browser_name
from sunveil.service.passwords_and_tokens import read_token
from sunveil.service.store import accounts
from sunveil.service.store.database import Link, Session, TokenRow

WINDOWS = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)"
IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0"
BROWSERS = {
    "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0": "Firefox on Linux",
    f"{WINDOWS} Chrome/141.0.0.0 Safari/537.36 Edg/141.0.0.0": "Edge on Windows",
    f"{IPHONE} Mobile/15E148 Safari/604.1": "Safari on iPhone",
    "curl/8.5.0": "curl/8.5.0",
    "": "a program without a name",
}
pytestmark = pytest.mark.usefixtures("quick_hashes")
NEW = "another sentence with many odd words"


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def running(start, request):
    where = ""
    if request.param == "postgresql":
        where = f"{request.getfixturevalue('server')}/accounts"
        with psycopg.connect(
            where.replace("/accounts", "/postgres"), autocommit=True
        ) as connection:
            connection.execute("CREATE DATABASE accounts")
    found = start(database=where)
    add_dataset(found.service, epsilon=50.0, shares={"ann": 5.0})
    new_curator(found.service, "always there")
    return found


def add(running, name, role, **more):
    with running.service.store.changing() as connection:
        account = accounts.add_account(connection, name, role=role, **more)
        accounts.set_account_password(connection, account, PASSWORD)
        return account


def log_in(running, name, password=PASSWORD, side="curator"):
    """Return a browser that has tried to sign in."""
    client = running.client()
    client.answer = post(client, f"/{side}/login", name=name, password=password)
    return client


def account_id(running, name):
    with running.service.store.reading() as connection:
        return accounts.account_named(connection, name).id


def test_an_auditor_reads_the_ledger_and_nothing_else(running):
    add(running, "audrey", "auditor")
    page = log_in(running, "audrey")
    assert page.answer.headers["location"] == "/curator/ledger"
    for path in ("/curator/ledger", "/curator/datasets/roofs/ledger", "/curator/account"):
        assert page.get(path).status_code == 200, path
    for name in ("ledger.json", "ledger.csv"):
        assert page.get(f"/curator/datasets/roofs/{name}").status_code == 200
    text = page.get("/curator/datasets/roofs/ledger").text
    assert "Privacy guarantee: differential privacy per household" in text
    for path in ("", "/estimates", "/systems", "/promise", "/analysts"):
        assert page.get(f"/curator/datasets/roofs{path}").status_code == 403
        assert f'href="/curator/datasets/roofs{path}"' not in text
    for path in ("/curator", "/curator/add", "/curator/accounts", "/curator/analysts"):
        assert page.get(path).status_code == 403
    fields = {"analyst": "mallory", "share": "1"}
    refused = post(page, "/curator/datasets/roofs/invite", page="/curator/account", **fields)
    assert refused.status_code == 403


def test_the_ledger_says_which_account_and_which_token_it_was(running):
    add(running, "ann at work", "analyst", analyst="ann")
    at_work = log_in(running, "ann at work", side="analyst")
    assert at_work.answer.headers["location"] == "/analyst"
    assert "Roofs" in at_work.get("/analyst").text
    assert at_work.get("/curator").status_code == 403
    assert ask_confirmed(at_work, "/analyst/datasets/roofs/ask/totals", epsilon="0.25") == 303
    charge = [each for each in running.service.ledger.entries("roofs") if each.kind == "charge"][-1]
    assert (charge.facts()["analyst"], actor_of(charge.facts())) == ("ann", "ann at work")
    page = running.curator("carl")
    fields = {"analyst": "ann", "share": "6"}
    post(page, "/curator/datasets/roofs/share", page="/curator/datasets/roofs/analysts", **fields)
    token = new_token(running.service)
    question = {"kind": "totals", "epsilon": 0.125}
    answer = running.client(token).post("/datasets/roofs/releases", json=question, headers=key())
    assert answer.status_code == 201
    share, charge, _ = running.service.ledger.entries("roofs")[-3:]
    assert actor_of(share.facts()) == "carl"
    assert actor_of(charge.facts()) == f"token sv_{token.split('_')[1]}"
    text = page.get("/curator/datasets/roofs/ledger").text
    assert "account carl" in text
    rows = page.get("/curator/datasets/roofs/ledger.csv").text.splitlines()
    assert rows[0].endswith(",digest,account")
    assert rows[-3].endswith(",carl")
    assert running.service.ledger.verify("roofs").holds


def test_a_curator_makes_an_account_whose_holder_sets_the_password(running):
    page = running.curator("carl")
    made = post(page, "/curator/accounts", name="dora", role="curator")
    link = re.search(r"/links/[\w-]+", made.text)[0]
    assert log_in(running, "dora", "").answer.status_code == 403
    dora = running.client()
    refused = post(dora, link, password="doradoradora")
    assert refused.status_code == 422
    assert "Repeats like" in refused.text
    assert post(dora, link, password=NEW).headers["location"] == "/curator"
    assert dora.get("/curator").status_code == 200
    assert running.client().get(link).status_code == 404
    assert log_in(running, "dora", NEW).answer.headers["location"] == "/curator"
    again = post(page, "/curator/accounts", name="DORA", role="auditor")
    assert again.status_code == 422
    assert "There is an account named" in again.text


def test_a_reset_link_ends_sessions_and_the_link_before_it(running):
    add(running, "rolf", "curator")
    rolf, page = log_in(running, "rolf"), running.curator("carl")
    path = f"/curator/accounts/{account_id(running, 'rolf')}/reset"
    first, second = (
        re.search(r"/links/[\w-]+", post(page, path, page="/curator/accounts").text)[0]
        for _ in range(2)
    )
    assert running.client().get(first).status_code == 404
    assert rolf.get("/curator").status_code == 200
    post(running.client(), second, password=NEW)
    assert rolf.get("/curator").status_code == 303
    assert log_in(running, "rolf").answer.status_code == 403


def test_a_disabled_account_is_out_at_once_with_its_tokens_until_it_is_enabled(running):
    account = add(running, "ivy", "analyst", analyst="ivy")
    page = log_in(running, "ivy", side="analyst")
    with running.service.store.changing() as connection:
        token = accounts.issue_token(connection, "ivy", account_id=account.id).text
    api = running.client(token)
    assert api.get("/me").json()["analyst"] == "ivy"
    curator = running.curator("carl")
    post(curator, f"/curator/accounts/{account.id}/disable", page="/curator/accounts")
    running.service.tokens.forget(token.split("_")[1])
    assert page.get("/analyst").status_code == 303
    assert api.get("/me").status_code == 401
    assert "may no longer use it" in api.get("/me").json()["detail"]
    refused = log_in(running, "ivy", side="analyst").answer
    assert "This account is disabled" in refused.text
    assert "disabled" not in log_in(running, "ivy", "wrong", side="analyst").answer.text
    post(curator, f"/curator/accounts/{account.id}/enable", page="/curator/accounts")
    assert log_in(running, "ivy", side="analyst").answer.status_code == 303
    assert api.get("/me").status_code == 200


def test_another_role_ends_sessions_and_nobody_changes_their_own(running):
    add(running, "rover", "curator")
    rover, page = log_in(running, "rover"), running.curator("carl")
    path = f"/curator/accounts/{account_id(running, 'rover')}"
    post(page, f"{path}/role", page="/curator/accounts", role="auditor")
    assert rover.get("/curator").status_code == 303
    assert log_in(running, "rover").answer.headers["location"] == "/curator/ledger"
    assert post(page, f"{path}/sign-out", page="/curator/accounts").status_code == 303
    own = f"/curator/accounts/{account_id(running, 'carl')}"
    for what in ("role", "disable"):
        answer = post(page, f"{own}/{what}", page="/curator/accounts", role="auditor")
        assert answer.status_code == 422
        assert "your own account" in answer.text
    unknown = post(page, "/curator/accounts/0000/disable", page="/curator/accounts")
    assert unknown.status_code == 400


def test_a_new_password_needs_the_old_one_and_ends_all_other_sessions(running):
    add(running, "petra", "curator")
    here, there = log_in(running, "petra"), log_in(running, "petra")
    path = "/curator/account"
    wrong = post(here, f"{path}/password", page=path, old="wrong", new=NEW)
    assert wrong.status_code == 403
    weak = post(here, f"{path}/password", page=path, old=PASSWORD, new="petrapetra12")
    assert weak.status_code == 422
    assert "easily guessed" in weak.text
    done = post(here, f"{path}/password", page=path, old=PASSWORD, new=NEW)
    assert done.headers["location"] == f"{path}?changed=1"
    assert "Your password was changed" in here.get(f"{path}?changed=1").text
    assert there.get("/curator").status_code == 303
    assert log_in(running, "petra").answer.status_code == 403
    assert log_in(running, "petra", NEW).answer.status_code == 303


def test_an_analyst_issues_and_revokes_tokens_up_to_the_accounts_scope(running):
    add(running, "tess", "analyst", analyst="ann")
    add(running, "reader", "analyst", analyst="ann", scope="read")
    page, path = log_in(running, "tess", side="analyst"), "/analyst/account"
    fields = {"scope": "ask", "days": "30", "label": "notebook"}
    made = post(page, f"{path}/tokens", page=path, **fields)
    token = token_in(made.text)
    api = running.client(token)
    assert api.post("/datasets/roofs/plans", json={"kind": "totals", "epsilon": 0.1}).is_success
    assert "notebook" in page.get(path).text
    revoke = {"token": token.split("_")[1]}
    reader = log_in(running, "reader", side="analyst")
    assert post(reader, f"{path}/tokens/revoke", page=path, **revoke).status_code == 404
    assert post(reader, f"{path}/tokens", page=path, **fields).status_code == 403
    assert post(page, f"{path}/tokens/revoke", page=path, **revoke).status_code == 303
    assert api.get("/me").status_code == 401
    # who has but a token cannot make another
    by_token = running.analyst("ann")
    assert post(by_token, f"{path}/tokens", page=path, scope="read").status_code == 403
    assert "signed in with a token" in by_token.get(path).text


def test_a_token_that_reads_neither_plans_nor_asks(running):
    with running.service.store.changing() as connection:
        token = accounts.issue_token(connection, "ann", scope="read").text
    api, question = running.client(token), {"kind": "totals", "epsilon": 0.1}
    assert api.get("/datasets/roofs/releases").status_code == 200
    before = running.service.ledger.dataset("roofs").spent
    for path in ("plans", "releases"):
        answer = api.post(f"/datasets/roofs/{path}", json=question, headers=key())
        assert answer.status_code == 403
        assert answer.json()["type"].endswith(":out-of-scope")
        assert "may read releases" in answer.json()["detail"]
    page = running.client()
    post(page, "/analyst/login", token=token)
    assert page.get("/analyst/datasets/roofs").status_code == 200
    assert page.get("/analyst/datasets/roofs/ask/totals").status_code == 403
    assert running.service.ledger.dataset("roofs").spent == before


def test_a_token_expires_also_in_memory_with_the_sessions_it_opened(running, monkeypatch):
    with running.service.store.changing() as connection:
        token = accounts.issue_token(connection, "ann", days=1)
    api, page = running.client(token.text), running.client()
    post(page, "/analyst/login", token=token.text)
    assert api.get("/me").status_code == page.get("/analyst").status_code == 200
    cached = running.service.tokens.cached(token)
    assert cached is not None
    real = time.time
    monkeypatch.setattr("time.time", lambda: real() + 86_401)
    assert running.service.tokens.cached(token) is None
    answer = api.get("/me")
    assert answer.status_code == 401
    assert re.search(r"This token expired on \d{4}-\d\d-\d\d", answer.json()["detail"])
    assert page.get("/analyst").status_code == 303
    refused = post(running.client(), "/analyst/login", token=token.text)
    assert "This token expired on" in refused.text


def test_sign_ins_and_changes_are_in_the_audit_log_without_secrets(running, caplog):
    with caplog.at_level(logging.INFO, logger="sunveil.audit"):
        log_in(running, "always there", "wrong password, surely")
        page = running.curator("carl")
        made = post(page, "/curator/accounts", name="logged", role="auditor")
        secret = re.search(r"/links/([\w-]+)", made.text)[1]
        post(page, "/curator/analysts/token", page="/curator/analysts", analyst="ann")
    events = [(each.message, each.facts) for each in caplog.records if hasattr(each, "facts")]
    assert [event for event, _ in events] == [
        "sign-in-refused", "signed-in", "account-made", "token-issued",
    ]  # fmt: skip
    assert events[0][1]["account"] == "always there"
    assert events[2][1] | {"address": ""} == {
        "who": "carl", "role": "curator", "address": "", "account": "logged", "as_role": "auditor",
    }  # fmt: skip
    written = str(events)
    for each in (secret, PASSWORD, "wrong password"):
        assert each not in written


def test_a_link_to_sign_in_works_once_and_a_link_expires(running):
    with running.service.store.changing() as connection:
        glass = accounts.add_account(connection, "glass", role="curator")
        accounts.set_account_password(connection, glass, PASSWORD)
        secret = accounts.new_link(connection, glass.id, accounts.SIGN_IN)
    client = running.client()
    assert "without a password" in client.get(f"/links/{secret}").text
    assert post(client, f"/links/{secret}").headers["location"] == "/curator"
    assert client.get("/curator").status_code == 200
    assert running.client().get(f"/links/{secret}").status_code == 404
    with running.service.store.changing() as connection:
        secret = accounts.new_link(connection, glass.id)
    assert running.client().get(f"/links/{secret}").status_code == 200
    with running.service.store.changing() as connection:
        connection.execute(update(Link).values(expires=int(time.time()) - 1))
    assert running.client().get(f"/links/{secret}").status_code == 404


def test_sessions_are_kept_by_use_listed_and_ended_by_hand_idleness_and_age(running):
    add(running, "quinn", "auditor")
    here, *others = (log_in(running, "quinn") for _ in range(3))
    page = "/curator/account"
    assert here.get(page).text.count("<li><span>python-httpx/") == 3
    post(here, f"{page}/sessions/end-others", page=page)
    assert "2 other sessions have ended" in here.get(page).text
    assert [each.get(page).status_code for each in (here, *others)] == [200, 303, 303]
    other = log_in(running, "quinn")
    assert post(here, f"{page}/sessions/end-all", page=page).status_code == 303
    assert [each.get(page).status_code for each in (here, other)] == [303, 303]
    mine = Session.account_id == account_id(running, "quinn")
    idle = 60 * running.service.settings.idle_minutes
    now = int(time.time())
    for values, status in (
        ({"seen": now - 3600}, 200),  # using it keeps it
        ({"seen": now - idle - 5}, 303),
        ({"seen": now, "expires": now - 5}, 303),
    ):
        client = log_in(running, "quinn")
        with running.service.store.changing() as connection:
            connection.execute(update(Session).where(mine).values(values))
        assert client.get(page).status_code == status
        with running.service.store.reading() as connection:
            seen = connection.scalars(select(Session.seen).where(mine)).all()
        assert status == 303 or min(seen) > time.time() - 60


def test_curators_choose_scope_and_time_of_tokens(running):
    page, path = running.curator("carl"), "/curator/analysts"
    fields = {"analyst": "ann", "days": "7", "scope": "read"}
    made = post(page, f"{path}/token", page=path, **fields)
    assert "valid for 7 days" in made.text
    with running.service.store.changing() as connection:
        row = connection.get(TokenRow, read_token(token_in(made.text)).id)
    assert (row.scope, row.account) == ("read", None)
    assert 6.9 < (row.expires - time.time()) / 86_400 <= 7
    for days in ("0", "400", "x"):
        answer = post(page, f"{path}/token", page=path, **{**fields, "days": days})
        assert answer.status_code in (400, 422)


def test_browsers_are_called_by_their_names():
    assert {agent: browser_name(agent) for agent in BROWSERS} == BROWSERS


def test_the_last_curator_with_a_password_stays(serve, where):
    alone = serve(database=where)
    new_curator(alone.service, "cora")
    with alone.service.store.changing() as connection:
        invited = accounts.add_account(connection, "invited", role="curator")
        cora = accounts.account_named(connection, "cora")
        with pytest.raises(ValueError, match="last curator"):
            accounts.disable_account(connection, cora)
        with pytest.raises(ValueError, match="last curator"):
            accounts.change_role(connection, cora, role="auditor")
        accounts.set_account_password(connection, invited, NEW)
        accounts.disable_account(connection, cora)
        with pytest.raises(ValueError, match="last curator"):
            accounts.disable_account(connection, accounts.account_named(connection, "invited"))
