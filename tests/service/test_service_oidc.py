from __future__ import annotations

import html
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oidc_provider import PASSWORD as AT_PROVIDER
from service_makers import (
    PASSWORD,
    Running,
    add_dataset,
    ask_confirmed,
    free_port,
    key,
    new_curator,
    new_token,
    post,
    token_in,
    wait_for,
)

from sunveil.errors import ParameterError
from sunveil.ledger.hash_chain import actor_of
from sunveil.service.settings import OidcSettings, ServiceSettings, parse_network, read_oidc
from sunveil.service.single_sign_on import (
    SECONDS,
    OidcProvider,
    SignInRefused,
    begin_flow,
    flow_of,
    grant_of,
    person_of,
)
from sunveil.service.store.accounts import (
    account_of_subject,
    disable_account,
    enable_account,
    find_account,
)

WHOLE = """
address = "https://sunveil.example.org"
[provider]
name = "Example Utility"
issuer = "https://id.example.org"
client_id = "sunveil"
secret_file = "secret"
scopes = ["openid", "groups"]
[claims]
name = "nickname"
analyst = "sunveil_analyst"
[roles]
curator = ["curators"]
analyst = ["analysts", "aggregators"]
reader = ["readers"]
"""
pytestmark = pytest.mark.usefixtures("quick_hashes")
TEXTS = st.text(st.characters(codec="utf-8"), max_size=40)


@dataclass
class Provider:
    """A provider that listens, and the port of the service that it sends people back to."""

    port: int
    service_port: int

    @property
    def issuer(self) -> str:
        # another name than the service's, so that browsers take it for another site
        return f"http://localhost:{self.port}"

    def settings(self, **changes):
        roles = ("curator", "auditor", "analyst", "reader")
        values = {
            "address": f"http://127.0.0.1:{self.service_port}",
            "issuer": self.issuer,
            "client_id": "sunveil",
            "secret": "the secret",
            "provider": "Example Utility",
            "scopes": ("openid", "profile", "groups"),
            "roles": {role: frozenset({f"{role}s"}) for role in roles},
        }
        return OidcSettings(**{**values, **changes})


@pytest.fixture(scope="module")
def provider():
    """Start a real provider beside a service."""
    made = Provider(free_port(), free_port())
    script = Path(__file__).with_name("oidc_provider.py")
    command = [sys.executable, script, str(made.port), f"http://127.0.0.1:{made.service_port}"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:

        def listens():
            assert process.poll() is None
            try:
                return httpx.get(f"{made.issuer}/.well-known/openid-configuration").is_success
            except httpx.HTTPError:
                return False

        try:
            wait_for(listens)
            yield made
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def sso(provider, start):
    found = start(port=provider.service_port, oidc=provider.settings())
    add_dataset(found.service, epsilon=50.0, shares={"ann": 5.0})
    return found


def account(sso, subject):
    with sso.service.store.reading() as connection:
        return account_of_subject(connection, sso.service.settings.oidc.issuer, subject)


@pytest.mark.parametrize(
    ("person", "role", "home"),
    [
        ("u-cora", "curator", "/curator"),
        ("u-audrey", "auditor", "/curator/ledger"),
        ("u-both", "curator", "/curator"),
    ],
)
def test_who_has_a_role_at_the_provider_comes_in_with_it(sso, person, role, home):
    browser, page = sign_in(sso, person)
    assert page.status_code == 200
    assert f'content="0; url={home}"' in page.text
    assert browser.get(home).status_code == 200
    assert account(sso, person).role == role
    cookies = page.headers.get_list("set-cookie")
    (session,) = [each for each in cookies if each.startswith("sunveil-curator=")]
    assert "samesite=strict" in session.lower()
    (flow,) = [each for each in cookies if each.startswith("sunveil-oidc=")]
    assert "max-age=0" in flow.lower()


def test_an_analyst_of_the_provider_is_not_the_ledgers_of_the_same_name(sso):
    token = new_token(sso.service, "ann")
    browser, _ = sign_in(sso, "u-ann")
    found = account(sso, "u-ann")
    assert found.name == found.analyst == "ann@localhost"
    assert "You have no dataset yet" in browser.get("/analyst").text
    # a curator says that they are the same
    curator = sso.curator("boss")
    fields = {"role": "analyst", "analyst": "ann", "scope": "ask"}
    post(curator, f"/curator/accounts/{found.id}/role", page="/curator/accounts", **fields)
    browser, _ = sign_in(sso, "u-ann")
    assert "Roofs" in browser.get("/analyst").text
    assert account(sso, "u-ann").analyst == "ann"
    # and what is asked then says which account it was
    assert ask_confirmed(browser, "/analyst/datasets/roofs/ask/totals", epsilon="0.1") == 303
    charges = [each for each in sso.service.ledger.entries("roofs") if each.kind == "charge"]
    assert actor_of(charges[-1].facts()) == "ann@localhost"
    assert charges[-1].facts()["analyst"] == "ann"
    assert httpx.get(
        f"{sso.base}/api/v1/me", headers={"Authorization": f"Bearer {token}"}
    ).is_success


def test_the_api_answers_a_token_of_single_sign_on(sso):
    browser, _ = sign_in(sso, "u-programs")
    who = account(sso, "u-programs").analyst
    sso.service.ledger.set_share("roofs", who, 20.0)
    fields = {"scope": "ask", "days": "1", "label": "programs"}
    made = post(browser, "/analyst/account/tokens", page="/analyst/account", **fields)
    token = token_in(made.text)
    api = sso.client(token)
    assert api.get("/me").json()["analyst"] == who
    asked = {"kind": "totals", "epsilon": 0.2}
    assert api.post("/datasets/roofs/releases", json=asked, headers=key()).status_code == 201
    charges = [each for each in sso.service.ledger.entries("roofs") if each.kind == "charge"]
    assert actor_of(charges[-1].facts()) == account(sso, "u-programs").name


def test_roles_are_taken_anew_at_each_sign_in(sso, monkeypatch):
    browser, _ = sign_in(sso, "u-moves")
    assert browser.get("/curator/ledger").status_code == 200
    monkeypatch.setitem(sso.service.settings.oidc.roles, "curator", frozenset({"auditors"}))
    again, _ = sign_in(sso, "u-moves")
    assert again.get("/curator").status_code == 200
    assert browser.get("/curator/ledger").status_code == 303  # the old session had another role
    monkeypatch.setitem(sso.service.settings.oidc.roles, "curator", frozenset())
    monkeypatch.setitem(sso.service.settings.oidc.roles, "auditor", frozenset())
    _, page = sign_in(sso, "u-moves")
    assert page.status_code == 403
    assert again.get("/curator").status_code == 303
    assert account(sso, "u-moves").role == "none"


def test_an_answer_with_another_state_or_in_another_browser_is_refused(sso):
    browser = sso.client()
    back = back_from_provider(begin(browser), "u-cora")
    state = parse_qs(urlsplit(back).query)["state"][0]
    for address in (back.replace(state, "0" * 64), re.sub(r"[?&]state=[^&]*", "", back)):
        assert browser.get(address).status_code == 403
    assert sso.client().get(back).status_code == 403
    other = sso.client()
    begin(other)
    assert other.get(back).status_code == 403
    assert browser.get(back).status_code == 200


def test_a_code_works_once(sso):
    browser = sso.client()
    address = begin(browser)
    kept = browser.cookies["sunveil-oidc"]
    back = back_from_provider(address, "u-cora")
    assert browser.get(back).status_code == 200
    again = sso.client(cookies={"sunveil-oidc": kept})
    page = again.get(back)
    assert page.status_code == 403
    assert "did not accept this sign-in" in page.text
    assert "sunveil-curator" not in again.cookies


def test_tokens_without_a_signature_are_never_asked_for(provider):
    there = OidcProvider(provider.settings())
    there.authorization_url(begin_flow())
    offered = there._ready().server_metadata["id_token_signing_alg_values_supported"]
    assert "RS256" in offered
    assert not [each for each in offered if each == "none" or each.startswith("HS")]


def test_a_browser_comes_in_from_another_site_with_strict_cookies(sso, browser):
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{sso.base}/curator")
    page.get_by_role("link", name="Sign in with Example Utility").click()
    page.wait_for_url(lambda address: address.startswith("http://localhost:"))
    page.locator("input[name=login]").fill("u-both")
    page.locator("input[name=login]").press("Enter")
    page.locator("input[name=password]").fill(AT_PROVIDER)
    page.locator("input[name=password]").press("Enter")
    # the page between leads on by itself, and the session's cookie is sent from there
    page.wait_for_url(f"{sso.base}/curator")
    assert page.get_by_role("heading", level=1).inner_text() == "Datasets"
    strict = {each["name"]: each["sameSite"] for each in context.cookies(sso.base)}
    assert strict["sunveil-curator"] == "Strict"
    assert "sunveil-oidc" not in strict
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url(f"{sso.base}/oidc/signed-out")
    page.get_by_role("link", name="Sign out of Example Utility too").click()
    page.wait_for_url(lambda address: address.startswith("http://localhost:"))
    context.close()


def changed(address: str, **values: str) -> str:
    query = {name: each[0] for name, each in parse_qs(urlsplit(address).query).items()}
    return urlsplit(address)._replace(query=urlencode({**query, **values})).geturl()


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    query=st.dictionaries(st.sampled_from(["code", "state", "error", "iss", "x"]), TEXTS),
    cookie=st.one_of(st.none(), st.text("0123456789.abcdefXYZ_-", max_size=60)),
    own=st.booleans(),
)
def test_whatever_comes_back_is_refused_without_an_error_inside(sso, query, cookie, own):
    if own:  # with a state that fits, so that the code is tried
        flow = begin_flow()
        cookie, query = flow.cookie, {"iss": "", **query, "state": flow.state}
    headers = {} if cookie is None else {"Cookie": f"sunveil-oidc={cookie}"}
    answer = sso.clients[0].get("/oidc/callback", params=query, headers=headers)
    assert answer.status_code in (403, 422)


def test_a_flow_ends_after_a_while_and_others_are_none(monkeypatch):
    flow = begin_flow()
    assert flow_of(flow.cookie) == flow
    assert len({flow.state, flow.nonce, flow.verifier}) == 3
    for cookie in ("", "1", "x." + "a" * 43, "9" * 20 + "." + "a" * 43, "1.ü" + "a" * 43):
        assert flow_of(cookie) is None
    begun = int(flow.cookie.partition(".")[0])
    monkeypatch.setattr("sunveil.service.single_sign_on.time.time", lambda: begun + SECONDS + 1)
    assert flow_of(flow.cookie) is None


@pytest.fixture
def write(tmp_path):
    (tmp_path / "secret").write_text("very secret\n")

    def write_file(text):
        (tmp_path / "oidc.toml").write_text(text)
        return tmp_path / "oidc.toml"

    return write_file


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("address", "adress", "adress is not known"),
        ('"https://sunveil.example.org"', '"http://sunveil.example.org"', "begins with https://"),
        ('"https://id.example.org"', '"id.example.org"', "an address such as"),
        ('client_id = "sunveil"', "", "provider.client_id is missing"),
        ('"openid", ', "", "lacks openid"),
        ('["curators"]', '"curators"', "roles.curator is a list"),
        ("reader =", "king =", "roles.king is not known"),
        ('secret_file = "secret"', 'secret_file = "no"', "secret_file cannot be read"),
        ("[provider]", "local = 1\n[provider]", "local is true or false"),
        ("[roles]", "[roles", "is no TOML"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_one_sentence(write, old, new, said):
    assert old in WHOLE
    with pytest.raises(ParameterError, match=said) as caught:
        read_oidc(write(WHOLE.replace(old, new)))
    assert "very secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_single_sign_on_comes_back_to_the_address_of_the_service(write, tmp_path):
    found, proxies = read_oidc(write(WHOLE)), (parse_network("127.0.0.1"),)
    for other in ({}, {"address": "https://elsewhere.example", "trusted_proxies": proxies}):
        with pytest.raises(ParameterError, match="give the same to --address"):
            ServiceSettings(data=tmp_path, oidc=found, **other)
    same = {"address": found.address, "trusted_proxies": proxies}
    assert ServiceSettings(data=tmp_path, oidc=found, **same).https


def test_who_has_no_role_or_is_disabled_gets_nothing_whatever_the_provider_says(sso):
    browser, page = sign_in(sso, "u-nemo")
    assert page.status_code == 403
    assert "gives you no role here" in page.text
    for side in ("curator", "analyst"):
        assert browser.get(f"/{side}").headers["location"] == f"/{side}/login"
    assert account(sso, "u-nemo") is None
    sign_in(sso, "u-audrey")
    with sso.service.store.changing() as connection:
        disable_account(connection, account(sso, "u-audrey"))
    _, page = sign_in(sso, "u-audrey")
    assert (page.status_code, "is disabled." in page.text) == (403, True)
    with sso.service.store.changing() as connection:
        enable_account(connection, account(sso, "u-audrey"))
    assert sign_in(sso, "u-audrey")[1].status_code == 200


def test_the_provider_is_offered_beside_passwords_and_local_accounts_of_a_name_are_left_alone(sso):
    for path in ("/curator/login", "/analyst/login"):
        text = sso.client().get(path).text
        assert 'href="/oidc/begin"' in text
        assert "Sign in with Example Utility" in text
        assert 'type="password"' in text
    new_curator(sso.service, "rita")
    sign_in(sso, "u-rita")
    with sso.service.store.reading() as connection:
        local = find_account(connection, "rita")
    assert (local.local, local.role) == (True, "curator")
    found = account(sso, "u-rita")
    assert (found.name, found.role, found.scope) == ("rita@localhost", "analyst", "read")


def test_signing_out_leads_on_to_the_provider(sso, provider):
    browser, page = sign_in(sso, "u-cora")
    assert page.status_code == 200, page.text
    answer = post(browser, "/curator/logout", page="/curator")
    assert answer.headers["location"] == "/oidc/signed-out"
    text = browser.get("/oidc/signed-out").text
    address = html.unescape(re.search(r'href="(http[^"]*)"', text)[1])
    assert address.startswith(f"{provider.issuer}/oauth/end_session")
    assert httpx.get(address).status_code < 400
    assert browser.get("/curator").status_code == 303


def test_local_accounts_can_be_switched_off_and_without_a_provider_it_is_not_there(provider, serve):
    off = serve(oidc=provider.settings(local=False))
    new_curator(off.service, "cora")
    client = off.client()
    page = post(client, "/curator/login", page="/analyst/login", name="cora", password=PASSWORD)
    assert (page.status_code, "Passwords are switched off" in page.text) == (403, True)
    assert 'name="password"' not in client.get("/curator/login").text
    assert post(client, "/analyst/login", token=new_token(off.service)).status_code == 303
    client = serve(off.service.settings.data.parent / "other").client()
    for path in ("/oidc/begin", "/oidc/callback?code=1&state=2", "/oidc/signed-out"):
        assert client.get(path).status_code == 404
    assert "/oidc/begin" not in client.get("/curator/login").text


def test_a_provider_that_is_down_or_names_itself_otherwise_is_told_in_a_sentence(provider, serve):
    down = serve(oidc=provider.settings(issuer="http://localhost:9"))
    away = down.client()
    page = away.get("/oidc/begin")
    assert page.status_code == 503
    assert "Try again in a few minutes" in page.text
    assert page.headers["retry-after"] == "60"
    assert away.get("/oidc/signed-out").status_code == 200
    named = provider.settings(issuer=f"http://127.0.0.1:{provider.port}/x/..")
    other = serve(down.service.settings.data.parent / "other", oidc=named)
    assert other.client().get("/oidc/begin").status_code == 503


# This leaves codes at the provider that are never taken up, of which its memory makes a muddle:
# it stands behind all others that sign in.
def test_a_signed_token_of_another_sign_in_or_audience_is_refused(provider, sso):
    for values, words in (
        ({"nonce": "another"}, "not meant for this sign-in"),
        ({"code_challenge": "x" * 43}, "did not accept this sign-in"),
    ):
        browser = sso.client()
        page = browser.get(back_from_provider(changed(begin(browser), **values), "u-cora"))
        assert (page.status_code, words in page.text) == (403, True)
        assert "sunveil-curator" not in browser.cookies
    there = OidcProvider(provider.settings(client_id="elsewhere", secret="another"))
    flow = begin_flow()
    back = back_from_provider(there.authorization_url(flow), "u-cora")
    code = parse_qs(urlsplit(back).query)["code"][0]
    with pytest.raises(SignInRefused, match="not meant for this sign-in"):
        there.claims(code, flow)


def test_a_file_says_who_the_provider_is_and_hides_the_secret(write, monkeypatch, tmp_path):
    found = read_oidc(write(WHOLE))
    assert (found.issuer, found.client_id) == ("https://id.example.org", "sunveil")
    assert found.secret == "very secret"
    assert "very secret" not in repr(found)
    assert found.redirect_uri == "https://sunveil.example.org/oidc/callback"
    assert (found.name_claim, found.role_claim, found.local) == ("nickname", "groups", True)
    text = WHOLE.replace('secret_file = "secret"', 'secret_env = "SUNVEIL_SECRET"')
    with pytest.raises(ParameterError, match="SUNVEIL_SECRET"):
        read_oidc(write(text))
    monkeypatch.setenv("SUNVEIL_SECRET", "from outside")
    assert read_oidc(write(text)).secret == "from outside"
    with pytest.raises(ParameterError, match="check --oidc") as caught:
        read_oidc(tmp_path / "none.toml")
    assert str(tmp_path) not in str(caught.value)


def test_the_first_role_that_fits_is_taken_and_a_person_named_by_claim_or_subject(write):
    settings = read_oidc(write(WHOLE))
    for value, grant in (
        (["readers", "curators"], ("curator", "ask")),
        ("aggregators", ("analyst", "ask")),
        (["readers", 7, None], ("analyst", "read")),
        (["nobody"], None),
        ([], None),
        (None, None),
        ({"curators": True}, None),
        ("CURATORS", None),
    ):
        assert grant_of(value, settings) == grant
    claims = {"sub": "7", "nickname": " Ann\n ", "groups": ["analysts"], "sunveil_analyst": "A"}
    found = person_of(claims, settings)
    assert (found.subject, found.name, found.analyst) == ("7", "Ann", "A")
    assert person_of({"sub": "7", "nickname": 5}, settings).name == "7"
    assert person_of({"sub": "\n"}, settings).name == "somebody"
    assert len(person_of({"sub": "7", "nickname": "n" * 5000}, settings).name) == 200


def back_from_provider(address: str, person: str) -> str:
    """Sign in at the provider as a browser would, and return where it sends the browser back."""
    with httpx.Client(timeout=30.0, verify=False) as browser:
        at, answer = address, browser.get(address)
        host = urlsplit(address).netloc
        for _ in range(12):
            if answer.is_redirect:
                at = urljoin(at, answer.headers["location"])
                if urlsplit(at).netloc != host:
                    return at
                answer = browser.get(at)
                continue
            fields = hidden_fields(answer.text)
            asked = 'name="password"' in answer.text
            fields["password" if asked else "login"] = AT_PROVIDER if asked else person
            answer = browser.post(at, data=fields)
    raise AssertionError(f"the provider did not send {person} back: {at}")


def hidden_fields(page: str) -> dict[str, str]:
    tags = re.findall(r"<input[^>]*type=\"hidden\"[^>]*>", page)
    pairs = [
        (re.search(r'name="([^"]*)"', tag), re.search(r'value="([^"]*)"', tag)) for tag in tags
    ]
    return {name[1]: html.unescape(value[1]) for name, value in pairs if name and value}


def begin(browser: httpx.Client) -> str:
    """Return where a service sends a browser to sign in."""
    answer = browser.get("/oidc/begin")
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


def sign_in(running: Running, person: str) -> tuple[httpx.Client, httpx.Response]:
    """Return a browser in which a person has come back from the provider, and the page shown."""
    browser = running.client()
    return browser, browser.get(back_from_provider(begin(browser), person))
