from __future__ import annotations

import asyncio
import logging
import secrets

import pytest
from hypothesis import given
from hypothesis import strategies as st
from service_makers import PASSWORD

from sunveil.errors import ParameterError
from sunveil.service.answer_padding import pad_duration
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


@given(st.text())
def test_no_text_but_a_token_is_read_as_one(text):
    assert read_token(text) is None


@pytest.mark.parametrize(("work", "multiples"), [(0.0, 1), (0.03, 1), (0.07, 2), (0.24, 5)])
def test_an_answer_takes_whole_multiples_of_its_time(work, multiples):
    waited = []

    async def sleep(seconds):
        waited.append(seconds)

    asyncio.run(pad_duration(7.0, 0.05, clock=lambda: 7.0 + work, sleep=sleep))
    (more,) = waited
    assert work + more == pytest.approx(multiples * 0.05)


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


def test_a_token_is_read_back_and_hides_its_secret_and_a_form_has_one_of_its_cookie():
    made = make_token()
    assert read_token(f" {made.text}\n") == made
    assert made.secret not in repr(made)
    assert made.fits(made.digest)
    assert not make_token().fits(made.digest)
    assert len(made.secret) == 43
    one, other = random_secret(), random_secret()
    assert csrf_of(one) == csrf_of(one) != csrf_of(other)
    assert one not in csrf_of(one)
    assert same_secret("ä", "ä")
    assert not same_secret("a", "ä")


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
