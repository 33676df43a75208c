from __future__ import annotations

import logging
import secrets

import httpx
import pytest
from service_makers import (
    PASSWORD,
    add_dataset,
    csrf,
    new_curator,
    new_token,
    post,
    quick_settings,
    running,
)
from sqlalchemy import event

from sunveil.errors import ParameterError
from sunveil.service.app import print_addresses
from sunveil.service.context import TOKEN_MEMORY, Tokens
from sunveil.service.health_and_metrics import WithoutTraceback
from sunveil.service.passwords_and_tokens import (
    MOST_BUCKETS,
    RateLimit,
    check_strength,
    hash_password,
    password_fits,
    read_token,
)
from sunveil.service.settings import Rates, ServiceSettings, limit_key, mapped, parse_network
from sunveil.service.store.accounts import revoke_token
from sunveil.service.store.database import Store

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
        assert secret not in repr(read_token(token))
    assert token.split("_")[1].encode() in kept


def test_a_wrong_password_and_an_unknown_name_are_told_alike(shared):
    new_curator(shared.service)
    client = shared.client()
    pages = [
        post(client, "/curator/login", name=name, password="wrong") for name in ("cora", "nobody")
    ]
    assert [page.status_code for page in pages] == [403, 403]
    assert pages[0].text == pages[1].text.replace("nobody", "cora")


def test_the_first_start_gives_a_link_that_makes_one_curator(serve, where):
    running = serve(database=where)
    said: list[str] = []
    print_addresses(running.service, running.base, say=said.append)
    link = said[0].split()[-1]
    client = running.client()
    assert client.get("/setup/" + SECRET).status_code == 404
    weak = (("", PASSWORD), ("cora", "short"), ("cora", "coracora2026"), ("co\0ra", PASSWORD))
    for name, password in weak:
        assert post(client, link, name=name, password=password).status_code == 422
    assert post(client, link, name="cora", password=PASSWORD).headers["location"] == "/curator"
    assert client.get("/curator").status_code == 200
    assert running.client().get(link).status_code == 404
    zero = post(running.client(), "/curator/login", name="co\0ra", password=PASSWORD)
    assert zero.status_code == 422
    said.clear()
    print_addresses(running.service, running.base, say=said.append)
    assert not any("setup" in line for line in said)


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


def test_a_session_has_a_strict_cookie_and_ends_for_good(shared):
    client = shared.client()
    answer = post(client, "/analyst/login", token=new_token(shared.service))
    (cookie,) = answer.headers.get_list("set-cookie")
    assert cookie.startswith("sunveil-analyst=")
    parts = {part.strip().lower() for part in cookie.split(";")}
    assert {"httponly", "samesite=strict", "path=/"} <= parts
    kept = dict(client.cookies)
    assert client.post("/analyst/logout").status_code == 403
    assert client.get("/analyst").status_code == 200
    assert post(client, "/analyst/logout", page="/analyst").status_code == 303
    again = shared.client(cookies=kept)
    assert again.get("/analyst").headers["location"] == "/analyst/login"


def test_a_form_without_its_token_with_anothers_or_from_another_site_is_refused(shared):
    client, other = shared.client(), shared.client()
    token, right = new_token(shared.service), csrf(client, "/analyst/login")
    cross = {"Sec-Fetch-Site": "cross-site"}
    for field, headers in (
        ({}, {}),
        ({"csrf": csrf(other, "/analyst/login")}, {}),
        ({"csrf": "ü"}, {}),
        ({"csrf": right}, cross),
    ):
        answer = client.post("/analyst/login", data={"token": token, **field}, headers=headers)
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers
    assert post(client, "/analyst/login", token=token).status_code == 303


def test_what_is_no_token_opens_nothing(shared):
    token = new_token(shared.service)
    assert shared.client(token).get("/me").status_code == 200
    unknown = "sv_" + "0" * 16 + "_" + "a" * 43
    wrong = token[:-1] + ("a" if token[-1] != "a" else "b")
    for text in ("none", "sv_", "Bearer", unknown, "ü" * 30, wrong):
        headers = {"Authorization": b"Bearer " + text.encode()}
        answer = httpx.get(f"{shared.base}/api/v1/me", headers=headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"


@pytest.fixture
def clock(monkeypatch):
    """Let tokens be remembered by a clock that tests move on."""
    told = [100.0]
    init = Tokens.__init__

    def made(self, store):
        init(self, store)
        self._known = type(self._known)(self._known.maxsize, self._known.ttl, lambda: told[0])

    monkeypatch.setattr(Tokens, "__init__", made)
    return told


def test_a_token_is_looked_up_once_a_second_and_one_revoked_elsewhere_ends_within_it(clock, served):
    tokens, looked_up = [new_token(served.service) for _ in range(2)], []
    one, two = (served.client(token) for token in tokens)

    def note(*given):
        if "service_tokens" in given[2]:
            looked_up.append(given[2])

    event.listen(served.service.store.engine, "before_cursor_execute", note)
    for _ in range(3):
        for _ in range(5):
            assert one.get("/me").status_code == 200
        clock[0] += TOKEN_MEMORY + 0.01
    assert len(looked_up) == 3
    page = served.client()
    post(page, "/analyst/login", token=tokens[0])
    assert one.get("/me").status_code == page.get("/analyst").status_code == 200
    other = Store(served.service.settings.where)
    with other.changing() as connection:
        revoke_token(connection, read_token(tokens[0]).id)
    other.close()
    clock[0] += TOKEN_MEMORY + 0.01
    assert TOKEN_MEMORY <= 1.0
    assert [api.get("/me").status_code for api in (one, two)] == [401, 200]
    assert "revoked" in one.get("/me").json()["detail"]
    assert page.get("/analyst").headers["location"] == "/analyst/login"
    assert post(served.client(), "/analyst/login", token=tokens[0]).status_code == 403


def test_a_log_never_holds_what_an_exception_says():
    try:
        raise ValueError("meter 12 read 3.4 kWh")
    except ValueError as error:
        info = (type(error), error, error.__traceback__)
    record = logging.LogRecord("x", logging.ERROR, "f", 1, "it broke %s", ("here",), info)
    assert WithoutTraceback().filter(record)
    assert logging.Formatter().format(record) == "it broke here: ValueError"


def test_a_password_fits_its_own_hash_alone_which_says_how_it_was_made():
    long = PASSWORD + secrets.token_urlsafe(120)  # taken whole
    one, other = hash_password(long), hash_password(long)
    assert one != other
    assert password_fits(long, one)
    assert password_fits(long, other)
    for wrong in (long[:-1], long + "!", ""):
        assert not password_fits(wrong, one)
    assert not password_fits(long, None)
    kind, cost, block, lanes, _, _ = one.split("$")
    assert (kind, int(cost), int(block), int(lanes)) == ("scrypt", 2**15, 8, 1)


def test_a_password_that_is_too_short_too_long_or_easily_guessed_is_refused_with_advice():
    for strong in (PASSWORD, PASSWORD + secrets.token_urlsafe(120), "hildegard von bingen"):
        check_strength(strong)
    for password in ("", "short", "x" * 11, "x" * 201):
        with pytest.raises(ParameterError, match="12 to 200"):
            check_strength(password)
    weak = ("passwordpassword", "cora the curator", "sunveil2026!!", "qwertyuiop12345", "x" * 200)
    for password in (*weak, "hildegard von bingen"):
        with pytest.raises(ParameterError, match=r"easily guessed\. [A-Z]"):
            check_strength(password, ["cora", "hildegard von bingen"])


def test_a_bucket_gives_its_burst_and_then_its_rate_and_buckets_do_not_grow_without_end():
    now = 0.0
    limit = RateLimit(2.0, 3.0, clock=lambda: now)
    assert [limit.take("a") for _ in range(5)] == [0, 0, 0, 1, 1]
    assert limit.take("b") == 0
    now = 0.5
    assert [limit.take("a") for _ in range(2)] == [0, 1]
    now = 1000.0
    assert [limit.take("a") for _ in range(4)] == [0, 0, 0, 1]
    slow = RateLimit(0.1, 1.0, clock=lambda: 0.0)
    assert [slow.take("a") for _ in range(2)] == [0, 10]
    many = RateLimit(1.0, 1.0, clock=lambda: 0.0)
    for number in range(MOST_BUCKETS + 10):
        many.take(str(number))
    assert len(many._buckets) == MOST_BUCKETS
    assert many.take(str(MOST_BUCKETS + 9)) > 0
    assert many.take("0") == 0


ADDRESS = "http://sunveil.example.org"
PROXIES = (parse_network("127.0.0.1"), parse_network("10.0.0.0/8"))
PROXY = {"trusted_proxies": (parse_network("127.0.0.1"),), "address": "http://sunveil.example"}

# of an address five, of an account three failures at once, and next to none more later
FEW = Rates(1e6, 1e6, 1e6, 1e6, 0.001, 5.0, 0.001, 3.0, 0.001, 200.0)


@pytest.fixture(scope="module")
def limited(start):
    """Return a service that believes a proxy at 127.0.0.1, and nobody else."""
    found = start(rates=FEW, **PROXY)
    for name in ("cora", "dora", "elsa"):
        new_curator(found.service, name)
    return found


def tries(running, addresses, *, peer="127.0.0.1", path="/analyst/login", **fields):
    """Send a form once for each address that is claimed, and return the statuses."""
    with httpx.Client(
        base_url=running.base, transport=httpx.HTTPTransport(local_address=peer), timeout=60.0
    ) as client:
        fields["csrf"] = csrf(client, path)
        return [
            client.post(path, data=fields, headers={"X-Forwarded-For": each}).status_code
            for each in addresses
        ]


def test_forged_addresses_are_limited_as_one(limited):
    forged = [f"198.51.100.{number}" for number in range(60)]
    assert tries(limited, forged, peer="127.0.0.2", token="sv_no") == [403] * 5 + [429] * 55
    with httpx.Client(transport=httpx.HTTPTransport(local_address="127.0.0.2")) as client:
        answer = client.get(f"{limited.base}/api/v1/me")
    assert (answer.status_code, answer.json()["type"][-18:]) == (429, ":too-many-requests")
    assert int(answer.headers["retry-after"]) > 1


def test_addresses_forged_before_a_proxy_are_limited_as_one_and_others_are_not(limited):
    forged = [f"198.51.100.{number}, 203.0.113.66" for number in range(60)]
    assert tries(limited, forged, token="sv_no") == [403] * 5 + [429] * 55
    token = new_token(limited.service)
    others = [f"203.0.113.66, 192.0.2.{number}" for number in range(30)]
    assert tries(limited, others, token=token) == [303] * 30
    # nor does one that succeeds count
    assert tries(limited, ["192.0.2.200"] * 12, token=token) == [303] * 12


def test_guessing_at_one_account_from_many_addresses_is_limited_but_its_owner_gets_in(limited):
    owner = limited.client()
    owner.headers["X-Forwarded-For"] = "192.0.2.100"
    assert post(owner, "/curator/login", name="Dora ", password="no").status_code == 403
    assert post(owner, "/curator/login", name="dora", password=PASSWORD).status_code == 303
    asked = {"path": "/curator/login", "name": "dora"}
    guesses = [f"192.0.2.{110 + number}" for number in range(4)]
    assert tries(limited, guesses, password="guess", **asked) == [403, 403, 429, 429]
    # a browser that the account never signed in with has to wait, whoever it is
    assert tries(limited, ["192.0.2.120"], password=PASSWORD, **asked) == [429]
    # the owner's is known, and is not held up
    assert post(owner, "/curator/login", name="dora", password=PASSWORD).status_code == 303
    # for this account only, and for so many failures of its own
    stolen = dict(owner.cookies) | {"sunveil-guest": "g" * 43}
    other = limited.client(cookies=stolen)
    other.headers["X-Forwarded-For"] = "192.0.2.130"
    statuses = [
        post(other, "/curator/login", name="dora", password="no").status_code for _ in range(4)
    ]
    assert statuses == [403, 403, 403, 429]
    assert post(owner, "/curator/login", name="elsa", password=PASSWORD).status_code == 303


def test_a_limit_is_told_once_in_the_audit_log_without_what_was_entered(limited, caplog):
    with caplog.at_level(logging.INFO, "sunveil.audit"):
        asked = {"path": "/curator/login", "name": "hunter2", "password": "hunter3"}
        tries(limited, ["192.0.2.140"] * 6, **asked)
    (told,) = [record for record in caplog.records if record.msg == "sign-ins-limited"]
    assert told.facts == {"address": "192.0.2.140", "limit": "account"}
    assert "hunter" not in caplog.text


def test_a_known_browser_is_known_for_one_account_and_after_a_restart(tmp_path):
    settings = quick_settings(tmp_path / "data", rates=FEW, **PROXY)
    first = running(settings)
    for name in ("cora", "dora"):
        new_curator(first.service, name)
    owner = first.client()
    assert post(owner, "/curator/login", name="cora", password=PASSWORD).status_code == 303
    cookie = owner.cookies["sunveil-device"]
    first.stop()
    again = running(settings)
    try:
        for name in ("cora", "dora"):
            guesses = [f"192.0.2.{number}" for number in range(4)]
            asked = {"path": "/curator/login", "name": name, "password": "guess"}
            tries(again, guesses, **asked)
        known, forged = again.client(), again.client()
        known.cookies["sunveil-device"] = cookie
        forged.cookies["sunveil-device"] = cookie[:-1] + ("0" if cookie[-1] != "0" else "1")
        for number, (client, name, status) in enumerate(
            [(known, "dora", 429), (forged, "cora", 429), (known, "cora", 303)]
        ):
            client.headers["X-Forwarded-For"] = f"192.0.2.{100 + number}"
            answer = post(client, "/curator/login", name=name, password=PASSWORD)
            assert (name, answer.status_code) == (name, status)
    finally:
        again.stop()


@pytest.fixture(scope="module")
def proxied(start):
    """Return a service that believes a proxy at 127.0.0.1, and one behind it."""
    found = start(trusted_proxies=PROXIES, address=ADDRESS)
    new_curator(found.service)
    return found


def address_of(running, caplog, forwarded, *, peer="127.0.0.1"):
    """Fail to sign in, and return which address the audit log says it was."""
    transport = httpx.HTTPTransport(local_address=peer)
    with httpx.Client(base_url=running.base, transport=transport, timeout=60.0) as client:
        fields = {"csrf": csrf(client, "/analyst/login"), "token": "sv_no"}
        sent = [("X-Forwarded-For", each) for each in forwarded]
        caplog.clear()
        with caplog.at_level(logging.INFO, "sunveil.audit"):
            client.post("/analyst/login", data=fields, headers=sent)
    (event,) = [each for each in caplog.records if each.message == "sign-in-refused"]
    return event.facts["address"]


@pytest.mark.parametrize(
    ("forwarded", "client"),
    [
        ([], "127.0.0.1"),
        (["198.51.100.1"], "198.51.100.1"),
        # the left end is the client's own invention
        (["1.1.1.1, 2.2.2.2, 198.51.100.1"], "198.51.100.1"),
        (["1.1.1.1", "198.51.100.1, 10.0.0.2"], "198.51.100.1"),
        (["198.51.100.1:4711"], "198.51.100.1"),
        (["[2001:db8::7]:4711"], "2001:db8::7"),
        (["198.51.100.1, <script>"], "unknown"),
    ],
)
def test_the_client_is_the_rightmost_address_that_is_not_trusted(
    proxied, caplog, forwarded, client
):
    assert address_of(proxied, caplog, forwarded) == client
    assert address_of(proxied, caplog, forwarded, peer="127.0.0.2") == "127.0.0.2"


def test_an_ipv6_household_is_limited_as_one_and_what_is_no_network_is_refused():
    assert limit_key("2001:db8:1:2::7") == limit_key("2001:db8:1:2:ffff::1")
    assert limit_key("2001:db8:1:2::7") != limit_key("2001:db8:1:3::7")
    assert limit_key("198.51.100.1") == "198.51.100.1"
    assert str(parse_network("10.1.2.3/8")) == "10.0.0.0/8"
    assert str(mapped(parse_network("10.0.0.0/8"))) == "::ffff:a00:0/104"
    with pytest.raises(ParameterError, match="neither an address nor a network"):
        parse_network("proxy.example")


@pytest.mark.parametrize("name", ["evil.example", "evil.example:443", "sunveil.example.org.evil"])
def test_no_page_is_made_for_a_name_that_is_not_ours(proxied, name):
    client = proxied.client()
    for path in ("/", "/analyst/login", "/curator/login", "/livez"):
        answer = client.get(path, headers={"Host": name})
        assert (answer.status_code, "evil" in answer.text) == (400, False)
    for mine in ("sunveil.example.org", "localhost:8321", "[::1]:8321"):
        assert client.get("/", headers={"Host": mine}).status_code == 200


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"host": "0.0.0.0"}, "without a proxy"),
        ({"host": "192.0.2.7"}, "on this machine only"),
        ({"trusted_proxies": PROXIES}, "give --address and --trusted-proxy"),
        ({"address": ADDRESS}, "give --address and --trusted-proxy"),
        ({"address": "sunveil.example.org", "trusted_proxies": PROXIES}, "a scheme and a name"),
        ({"address": f"{ADDRESS}/here", "trusted_proxies": PROXIES}, "a scheme and a name"),
    ],
)
def test_what_others_could_reach_or_forge_is_refused_in_one_sentence(tmp_path, given, words):
    with pytest.raises(ParameterError, match=words) as caught:
        ServiceSettings(data=tmp_path, **given)
    assert "\n" not in str(caught.value)
    ok = ServiceSettings(
        data=tmp_path, host="0.0.0.0", address=f"{ADDRESS}/", trusted_proxies=PROXIES
    )
    assert (ok.address, ok.https) == (ADDRESS, False)
