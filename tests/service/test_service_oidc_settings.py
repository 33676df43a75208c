from __future__ import annotations

import pytest

from sunveil.errors import ParameterError
from sunveil.service.settings import ServiceSettings, parse_network, read_oidc
from sunveil.service.single_sign_on import grant_of, person_of

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


@pytest.fixture
def write(tmp_path):
    (tmp_path / "secret").write_text("very secret\n")

    def write_file(text):
        (tmp_path / "oidc.toml").write_text(text)
        return tmp_path / "oidc.toml"

    return write_file


def test_a_file_says_who_the_provider_is_and_hides_the_secret(write):
    found = read_oidc(write(WHOLE))
    assert (found.issuer, found.client_id) == ("https://id.example.org", "sunveil")
    assert found.secret == "very secret"
    assert "very secret" not in repr(found)
    assert found.redirect_uri == "https://sunveil.example.org/oidc/callback"
    assert (found.name_claim, found.role_claim, found.local) == ("nickname", "groups", True)


def test_the_secret_may_come_from_the_environment(write, monkeypatch):
    text = WHOLE.replace('secret_file = "secret"', 'secret_env = "SUNVEIL_SECRET"')
    with pytest.raises(ParameterError, match="SUNVEIL_SECRET"):
        read_oidc(write(text))
    monkeypatch.setenv("SUNVEIL_SECRET", "from outside")
    assert read_oidc(write(text)).secret == "from outside"


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


def test_a_missing_file_is_told_without_its_path(tmp_path):
    with pytest.raises(ParameterError, match="check --oidc") as caught:
        read_oidc(tmp_path / "none.toml")
    assert str(tmp_path) not in str(caught.value)


def test_single_sign_on_comes_back_to_the_address_of_the_service(write, tmp_path):
    found, proxies = read_oidc(write(WHOLE)), (parse_network("127.0.0.1"),)
    for given in ({}, {"address": "https://elsewhere.example", "trusted_proxies": proxies}):
        with pytest.raises(ParameterError, match="give the same to --address"):
            ServiceSettings(data=tmp_path, oidc=found, **given)
    same = {"address": found.address, "trusted_proxies": proxies}
    assert ServiceSettings(data=tmp_path, oidc=found, **same).https


@pytest.mark.parametrize(
    ("value", "grant"),
    [
        (["readers", "curators"], ("curator", "ask")),
        ("aggregators", ("analyst", "ask")),
        (["readers", 7, None], ("analyst", "read")),
        (["nobody"], None),
        ([], None),
        (None, None),
        ({"curators": True}, None),
        ("CURATORS", None),
    ],
)
def test_the_first_role_that_fits_is_taken_and_anything_else_gives_none(write, value, grant):
    assert grant_of(value, read_oidc(write(WHOLE))) == grant


def test_a_person_is_named_by_the_claim_or_else_by_the_subject(write):
    settings = read_oidc(write(WHOLE))
    claims = {"sub": "7", "nickname": " Ann\n ", "groups": ["analysts"], "sunveil_analyst": "A"}
    found = person_of(claims, settings)
    assert (found.subject, found.name, found.analyst) == ("7", "Ann", "A")
    assert person_of({"sub": "7", "nickname": 5}, settings).name == "7"
    assert person_of({"sub": "\n"}, settings).name == "somebody"
    assert len(person_of({"sub": "7", "nickname": "n" * 5000}, settings).name) == 200
