from __future__ import annotations

import httpx
import pytest
from service_makers import PASSWORD, add_dataset, csrf, new_curator, new_token, post

from sunveil.service.app import print_addresses
from sunveil.service.settings import Rates, parse_network
from sunveil.service.store.accounts import (
    has_curator,
    new_setup_secret,
    revoke_token,
    setup_digest,
)
from sunveil.service.store.database import TokenRow

SECRET = "s" * 43


@pytest.mark.parametrize(
    "path", ["/", "/analyst/login", "/nothing", "/api/v1/me", "/static/ask.js"]
)
def test_every_response_carries_the_security_headers(shared, path):
    headers = shared.client().get(path).headers
    policy = headers["content-security-policy"]
    for part in ("default-src 'self'", "script-src 'self'", "frame-ancestors 'none'"):
        assert f"{part};" in f"{policy};"
    assert "http" not in policy
    assert "unsafe-eval" not in policy
    assert "script-src 'self';" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "cache-control" in headers
    assert "strict-transport-security" not in headers


def test_behind_tls_cookies_are_for_tls_and_browsers_are_told_to_stay(serve):
    proxies = (parse_network("127.0.0.1"),)
    running = serve(address="https://sunveil.example.org", trusted_proxies=proxies)
    answer = running.client().get("/")
    assert "max-age=" in answer.headers["strict-transport-security"]
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-sunveil-guest=")
    assert "Secure" in cookie


def test_cookies_are_strict_and_out_of_reach_of_scripts(shared):
    client = shared.client()
    answer = post(client, "/analyst/login", token=new_token(shared.service))
    (cookie,) = answer.headers.get_list("set-cookie")
    assert cookie.startswith("sunveil-analyst=")
    parts = {part.strip().lower() for part in cookie.split(";")}
    assert {"httponly", "samesite=strict", "path=/"} <= parts


def test_a_form_without_its_token_or_with_anothers_is_refused(shared):
    client, other = shared.client(), shared.client()
    token = new_token(shared.service)
    client.get("/analyst/login")
    for given in ({}, {"csrf": csrf(other, "/analyst/login")}, {"csrf": "ü"}):
        answer = client.post("/analyst/login", data={"token": token, **given})
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers
    page = shared.analyst()
    assert page.post("/analyst/logout").status_code == 403
    assert page.get("/analyst").status_code == 200


def test_a_form_from_another_site_is_refused_even_with_its_token(shared):
    client = shared.client()
    fields = {"csrf": csrf(client, "/analyst/login"), "token": new_token(shared.service)}
    answer = client.post("/analyst/login", data=fields, headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 403


def test_logging_out_ends_the_session_for_good(shared):
    page = shared.analyst()
    kept = dict(page.cookies)
    assert post(page, "/analyst/logout", page="/analyst").status_code == 303
    again = shared.client(cookies=kept)
    assert again.get("/analyst").headers["location"] == "/analyst/login"


def test_a_session_ends_by_itself(serve):
    running = serve(session_hours=-1.0)
    page = running.client()
    post(page, "/analyst/login", token=new_token(running.service))
    assert page.get("/analyst").status_code == 303


def test_only_digests_of_secrets_are_kept(shared, tmp_path):
    client = shared.client()
    token = new_token(shared.service)
    post(client, "/analyst/login", token=token)
    new_curator(shared.service, "only digests")
    cookie = client.cookies["sunveil-analyst"]
    with shared.service.store.changing() as connection:
        connection.connection().exec_driver_sql("SELECT 1")
    folder = shared.service.settings.data
    kept = b"".join(path.read_bytes() for path in sorted(folder.glob("sunveil.db*")))
    for secret in (token, token.split("_", 2)[2], cookie, PASSWORD):
        assert secret.encode() not in kept
    assert token.split("_")[1].encode() in kept


def test_a_revoked_token_opens_nothing(served):
    token = new_token(served.service)
    api, page, other = served.client(token), served.client(), served.analyst()
    post(page, "/analyst/login", token=token)
    assert api.get("/me").status_code == 200
    assert page.get("/analyst").status_code == 200
    token_id = token.split("_")[1]
    with served.service.store.changing() as connection:
        revoke_token(connection, token_id)
    served.service.tokens.forget(token_id)
    assert api.get("/me").status_code == 401
    assert page.get("/analyst").headers["location"] == "/analyst/login"
    assert other.get("/analyst").status_code == 200
    assert "revoked" in api.get("/me").json()["detail"]
    assert post(served.client(), "/analyst/login", token=token).status_code == 403
    with served.service.store.reading() as connection:
        assert connection.get(TokenRow, token_id).revoked is not None


@pytest.mark.parametrize(
    "text", ["none", "sv_", "Bearer", "sv_" + "0" * 16 + "_" + "a" * 43, "ü" * 30]
)
def test_what_is_no_token_opens_nothing(shared, text):
    headers = {"Authorization": b"Bearer " + text.encode()}
    answer = httpx.get(f"{shared.base}/api/v1/me", headers=headers)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"


def test_the_right_half_of_a_token_with_a_wrong_secret_opens_nothing(shared):
    token = new_token(shared.service)
    assert shared.client(token).get("/me").status_code == 200
    assert (
        shared.client(token[:-1] + ("a" if token[-1] != "a" else "b")).get("/me").status_code == 401
    )


def test_a_wrong_password_and_an_unknown_name_are_told_alike(shared):
    new_curator(shared.service)
    client = shared.client()
    pages = [
        post(client, "/curator/login", name=name, password="wrong") for name in ("cora", "nobody")
    ]
    assert [page.status_code for page in pages] == [403, 403]
    assert pages[0].text == pages[1].text.replace("nobody", "cora")


def test_a_zero_in_a_name_is_refused_in_words(serve, database):
    client = serve(database=database).client()
    answer = post(client, "/curator/login", name="co\0ra", password=PASSWORD)
    assert answer.status_code == 422


def test_the_first_start_gives_a_link_that_makes_one_curator(serve):
    running = serve()
    said: list[str] = []
    print_addresses(running.service, running.base, say=said.append)
    link = said[0].split()[-1]
    client = running.client()
    assert client.get("/setup/" + SECRET).status_code == 404
    for name, password in (("", PASSWORD), ("cora", "short"), ("cora", "coracora2026")):
        assert post(client, link, name=name, password=password).status_code == 422
    assert post(client, link, name="cora", password=PASSWORD).headers["location"] == "/curator"
    assert client.get("/curator").status_code == 200
    assert running.client().get(link).status_code == 404
    said.clear()
    print_addresses(running.service, running.base, say=said.append)
    assert not any("setup" in line for line in said)


def test_a_new_link_ends_the_one_before(serve):
    store = serve().service.store
    with store.changing() as connection:
        new_setup_secret(connection, SECRET)
        first = setup_digest(connection)
        new_setup_secret(connection, "t" * 43)
        assert setup_digest(connection) != first
        assert not has_curator(connection)


def test_logins_from_one_address_are_limited(serve):
    running = serve(rates=Rates(login_attempts=0.01, login_attempts_burst=3.0))
    client = running.client()
    statuses = [post(client, "/analyst/login", token="sv_no").status_code for _ in range(5)]
    assert statuses == [403, 403, 403, 429, 429]
    answer = client.get("/api/v1/me")
    assert answer.status_code == 429
    assert int(answer.headers["retry-after"]) > 1
    assert answer.json()["type"].endswith(":too-many-requests")


def test_reading_and_asking_are_limited_for_each_token(serve):
    running = serve(rates=Rates(reads=0.01, reads_burst=4.0, asks=0.01, asks_burst=2.0))
    add_dataset(running.service)
    one, other = running.api(), running.api()
    question = {"kind": "totals", "epsilon": 0.1}
    statuses = [one.post("/datasets/roofs/plans", json=question).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]
    assert one.get("/me").status_code == 200
    assert one.get("/me").status_code == 429
    assert other.get("/me").status_code == 200


@pytest.mark.parametrize("announced", [True, False])
def test_a_body_that_is_too_large_is_refused(shared, announced):
    big = b"x" * (shared.service.settings.body_limit + 1)
    content = big if announced else (big[at : at + 1000] for at in range(0, len(big), 1000))
    headers = {"Content-Type": "application/json", "Idempotency-Key": "k" * 8}
    answer = shared.api().post("/datasets/roofs/releases", content=content, headers=headers)
    assert answer.status_code == 413
    assert answer.json()["type"].endswith(":too-large")


def test_files_outside_the_folder_of_assets_are_not_sent(shared):
    for path in ("/static/..%2fapp.py", "/static/%2e%2e/app.py", "/static/sunveil.db"):
        assert shared.client().get(path).status_code == 404


def test_plotly_comes_from_its_wheel_packed_and_once(shared):
    client = shared.client()
    answer = client.get("/static/plotly.min.js")
    assert answer.headers["content-encoding"] == "gzip"
    assert b"plotly.js v" in answer.content[:200]
    again = client.get("/static/plotly.min.js", headers={"If-None-Match": answer.headers["etag"]})
    assert again.status_code == 304
    plain = client.get("/static/plotly.min.js", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.content == answer.content
