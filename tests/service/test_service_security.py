from __future__ import annotations

import asyncio
import logging
import secrets

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sunveil.errors import ParameterError
from sunveil.service.answer_padding import pad_duration
from sunveil.service.context import Problem, as_problem, internal_problem
from sunveil.service.health_and_metrics import WithoutTraceback
from sunveil.service.passwords_and_tokens import (
    MOST_BUCKETS,
    RateLimit,
    check_strength,
    csrf_of,
    hash_password,
    make_token,
    password_fits,
    random_secret,
    read_token,
    same_secret,
)
from sunveil.service.settings import ServiceSettings

PASSWORD = "correct horse battery staple"


def test_a_password_fits_its_own_hash_and_no_other():
    one, other = hash_password(PASSWORD), hash_password(PASSWORD)
    assert one != other
    assert password_fits(PASSWORD, one)
    assert password_fits(PASSWORD, other)
    assert not password_fits(PASSWORD + "!", one)
    assert not password_fits("", one)
    assert not password_fits(PASSWORD, None)


def test_a_hash_says_how_it_was_made_so_that_it_can_be_made_dearer():
    kind, cost, block, lanes, _, _ = hash_password(PASSWORD).split("$")
    assert (kind, int(cost), int(block), int(lanes)) == ("scrypt", 2**15, 8, 1)


@pytest.mark.parametrize("password", ["", "short", "x" * 11, "x" * 201])
def test_a_password_that_is_too_short_or_too_long_is_refused(password):
    with pytest.raises(ParameterError, match="12 to 200"):
        check_strength(password)


@pytest.mark.parametrize(
    "password",
    ["passwordpassword", "cora the curator", "sunveil2026!!", "qwertyuiop12345", "x" * 200],
)
def test_a_password_that_is_easily_guessed_is_refused_with_advice(password):
    with pytest.raises(ParameterError, match=r"easily guessed\. [A-Z]"):
        check_strength(password, ["cora"])


def test_a_password_is_weak_where_it_is_made_of_the_accounts_name():
    check_strength("hildegard von bingen")
    with pytest.raises(ParameterError, match="easily guessed"):
        check_strength("hildegard von bingen", ["hildegard von bingen"])


def test_long_and_strong_passwords_are_taken_whole():
    check_strength(PASSWORD)
    long = PASSWORD + secrets.token_urlsafe(120)
    check_strength(long)
    assert not password_fits(long[:-1], hash_password(long))


def test_a_token_is_read_back_and_hides_its_secret():
    made = make_token()
    assert read_token(f" {made.text}\n") == made
    assert made.secret not in repr(made)
    assert made.fits(made.digest)
    assert not make_token().fits(made.digest)
    assert len(made.secret) == 43


@given(st.text())
def test_no_text_but_a_token_is_read_as_one(text):
    assert read_token(text) is None


def test_the_token_of_a_form_follows_from_its_cookie_alone():
    one, other = random_secret(), random_secret()
    assert csrf_of(one) == csrf_of(one) != csrf_of(other)
    assert one not in csrf_of(one)
    assert same_secret("ä", "ä")
    assert not same_secret("a", "ä")


def test_a_bucket_gives_its_burst_and_then_its_rate():
    now = 0.0
    limit = RateLimit(2.0, 3.0, clock=lambda: now)
    assert [limit.take("a") for _ in range(5)] == [0, 0, 0, 1, 1]
    assert limit.take("b") == 0
    now = 0.5
    assert [limit.take("a") for _ in range(2)] == [0, 1]
    now = 1000.0
    assert [limit.take("a") for _ in range(4)] == [0, 0, 0, 1]


def test_who_must_wait_long_is_told_how_long():
    limit = RateLimit(0.1, 1.0, clock=lambda: 0.0)
    assert [limit.take("a") for _ in range(2)] == [0, 10]


def test_buckets_do_not_grow_without_end():
    limit = RateLimit(1.0, 1.0, clock=lambda: 0.0)
    for number in range(MOST_BUCKETS + 10):
        limit.take(str(number))
    assert len(limit._buckets) == MOST_BUCKETS
    assert limit.take(str(MOST_BUCKETS + 9)) > 0
    assert limit.take("0") == 0


@pytest.mark.parametrize(("work", "multiples"), [(0.0, 1), (0.03, 1), (0.07, 2), (0.24, 5)])
def test_an_answer_takes_whole_multiples_of_its_time(work, multiples):
    waited = []

    async def sleep(seconds):
        waited.append(seconds)

    asyncio.run(pad_duration(7.0, 0.05, clock=lambda: 7.0 + work, sleep=sleep))
    (more,) = waited
    assert work + more == pytest.approx(multiples * 0.05)


def test_a_problem_says_what_rfc_9457_asks_for():
    body = Problem(403, "No.", slug="over-budget", remaining=1.0).to_dict()
    assert body == {
        "type": "urn:sunveil:problem:over-budget",
        "title": "Forbidden",
        "status": 403,
        "detail": "No.",
        "remaining": 1.0,
    }


def test_an_error_inside_leaves_its_words_behind(caplog):
    with pytest.raises(ValueError) as found:
        float("meter 12 read 3.4 kWh")
    problem = internal_problem(found.value)
    assert as_problem(found.value).status_code == 500
    assert "3.4" not in str(problem.to_dict()) + caplog.text
    assert problem.to_dict()["id"] in caplog.text
    assert "ValueError" in caplog.text


def test_a_log_never_holds_what_an_exception_says():
    try:
        raise ValueError("meter 12 read 3.4 kWh")
    except ValueError as error:
        info = (type(error), error, error.__traceback__)
    record = logging.LogRecord("x", logging.ERROR, "f", 1, "it broke %s", ("here",), info)
    assert WithoutTraceback().filter(record)
    assert logging.Formatter().format(record) == "it broke here: ValueError"


@pytest.mark.parametrize("changes", [{"port": 70000}, {"answer_seconds": {"totals": 0.0}}])
def test_settings_that_make_no_sense_are_refused(tmp_path, changes):
    with pytest.raises(ParameterError):
        ServiceSettings(data=tmp_path, **changes)
