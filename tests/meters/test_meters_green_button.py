"""Green Button feeds, made here: flow directions, multipliers, units, and hostile XML."""

from __future__ import annotations

import numpy as np
import pytest
from formats.feeds import (
    FORWARD,
    NET,
    REVERSE,
    TOTAL,
    block,
    entry,
    feed,
    meter_reading,
    reading_type,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from meter_makers import refusal, sunny

from sunveil.meters import read_meters


def blocks(power, meter=1, *, per_hour=4, uom=72, multiplier=0, days=6, point=""):
    """Return one interval block per day."""
    starts = power.index.tz_localize(None).to_numpy().astype("M8[s]").astype(np.int64)
    scale = 1000.0 / (per_hour if uom == 72 else 1) / 10.0**multiplier
    counts = np.rint(power.to_numpy() * scale).astype(np.int64)
    parts = zip(np.split(starts, days), np.split(counts, days), strict=True)
    length = 3600 // per_hour
    return [
        block(meter, number, zip(times, [length] * len(times), values, strict=True), point)
        for number, (times, values) in enumerate(parts)
    ]


def simple(tmp_path, flow=REVERSE, *, extra=(), **fields):
    path = tmp_path / "roof.xml"
    path.write_text(feed(*extra, reading_type(1, flow, **fields), *blocks(sunny())))
    return path


@settings(max_examples=20, deadline=None)
@given(
    multiplier=st.sampled_from([-3, 0, 1]),
    uom=st.sampled_from([72, 38]),
    minutes=st.sampled_from([5, 15, 60]),
    label=st.sampled_from(["auto", "start", "end"]),
)
def test_generation_is_read_in_any_unit_and_multiplier(
    tmp_path_factory, multiplier, uom, minutes, label
):
    power = sunny(minutes=minutes)
    per_hour = 60 // minutes
    body = blocks(power, per_hour=per_hour, uom=uom, multiplier=multiplier)
    kind = reading_type(1, REVERSE, powerOfTenMultiplier=multiplier, uom=uom)
    path = tmp_path_factory.mktemp("feed") / "roof.xml"
    path.write_text(feed(kind, *body))
    (record,) = read_meters(path, label=label)
    assert record.system_id == "roof"
    assert record.timezone == "UTC"
    assert record.label == "start"
    assert record.label_known
    assert (record.times == power.index.tz_localize(None).to_numpy()).all()
    one_count = 10.0**multiplier / 1000.0 * (per_hour if uom == 72 else 1)
    np.testing.assert_allclose(record.power_kw, power.to_numpy(), atol=0.51 * one_count)


@pytest.mark.parametrize(("flow", "words"), [(FORWARD, "a consumption meter"), (TOTAL, "the sum")])
def test_a_feed_without_generation_is_refused(tmp_path, flow, words):
    for cleaning in ("record", "each"):
        message = refusal(simple(tmp_path, flow), cleaning=cleaning)
        assert words in message
        assert message.endswith("fetch a feed with the energy received from the customer too")


@pytest.mark.parametrize("flow", [0, None])
def test_a_feed_that_does_not_say_its_flow_is_taken_for_generation_or_as_said(tmp_path, flow):
    path = simple(tmp_path, flow)
    (record,) = read_meters(path)
    assert not record.net
    assert "The feed does not say its flow direction" in record.notes[0]
    assert "option `net`" in refusal(path, cleaning="each")
    for cleaning in ("record", "each"):
        (record,) = read_meters(path, net=True, cleaning=cleaning)
        assert record.net


def test_a_net_meter_counts_what_is_delivered_less_what_is_received(tmp_path):
    net = sunny() - home(sunny())
    path = tmp_path / "house.xml"
    path.write_text(feed(reading_type(1, NET), *blocks(-net)))
    for cleaning in ("record", "each"):
        (record,) = read_meters(path, cleaning=cleaning)
        assert record.net
        np.testing.assert_allclose(record.power_kw, net.to_numpy(), atol=0.003)


def home(power):
    """Return what a home uses. [kW]"""
    return 0.3 + np.random.default_rng(1).random(len(power))


def both_flows(path, given, taken, *, points=("", "")):
    """Write a feed of what is delivered to a customer and what is received, by usage points."""
    path.write_text(
        feed(
            *(meter_reading(meter, meter, point) for meter, point in enumerate(points, 1)),
            *(reading_type(1, FORWARD), reading_type(2, REVERSE)),
            *blocks(taken, 1, point=points[0]),
            *blocks(given, 2, point=points[1]),
        )
    )
    return path


@pytest.mark.parametrize("cleaning", ["record", "each"])
def test_both_flows_of_a_feed_are_one_net_meter(tmp_path, cleaning):
    net = sunny() - home(sunny())
    given, taken = net.clip(lower=0.0), (-net).clip(lower=0.0)
    (record,) = read_meters(both_flows(tmp_path / "house.xml", given, taken), cleaning=cleaning)
    assert record.net
    assert "received from the customer less the energy delivered" in record.notes[0]
    np.testing.assert_allclose(record.power_kw, net.to_numpy(), atol=0.005)


def test_a_count_that_one_flow_lacks_is_a_missing_reading(tmp_path):
    net = sunny() - home(sunny())
    path = both_flows(tmp_path / "house.xml", net.clip(lower=0.0), (-net).clip(lower=0.0))
    head, _, tail = path.read_text().rpartition("/MeterReading/2/IntervalBlock/0")
    taken, _, rest = head.partition("<espi:IntervalReading>")
    _, _, rest = rest.partition("</espi:IntervalReading>")
    path.write_text(f"{taken}{rest}/MeterReading/2/IntervalBlock/0{tail}")
    (record,) = read_meters(path, cleaning="each")
    assert len(record.times) == len(net) - 1
    np.testing.assert_allclose(record.power_kw, net.to_numpy()[1:], atol=0.005)


def test_flows_of_different_usage_points_are_not_joined(tmp_path):
    path = tmp_path / "street.xml"
    power = sunny()
    both_flows(path, power, power, points=("/UsagePoint/1", "/UsagePoint/2"))
    assert "usage points without one meter of each flow" in refusal(path)


def test_a_usage_point_that_says_it_is_a_generator_is_read(tmp_path):
    point = entry(
        "<espi:UsagePoint><espi:roleFlags>0008</espi:roleFlags></espi:UsagePoint>",
        own="/UsagePoint/1",
    )
    (record,) = read_meters(simple(tmp_path, FORWARD, extra=[point]))
    assert any("generator" in note for note in record.notes)


def test_local_time_parameters_are_noted(tmp_path):
    clock = entry(
        "<espi:LocalTimeParameters><espi:dstOffset>3600</espi:dstOffset>"
        "<espi:tzOffset>-28800</espi:tzOffset></espi:LocalTimeParameters>",
        own="/LocalTimeParameters/1",
    )
    (record,) = read_meters(simple(tmp_path, extra=[clock]))
    assert any("UTC-08:00, and 60 minutes more in summer" in note for note in record.notes)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"uom": 169}, "neither energy in Wh nor power in W"),
        ({"commodity": 7}, "neither energy in Wh nor power in W"),
        ({"accumulationBehaviour": 3}, "register"),
    ],
)
def test_other_counts_are_refused(tmp_path, fields, words):
    assert words in refusal(simple(tmp_path, **fields))


BOMB = (
    '<?xml version="1.0"?><!DOCTYPE feed [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">'
    "]><feed>&b;</feed>"
)
OUTSIDE = (
    '<?xml version="1.0"?><!DOCTYPE feed [<!ENTITY x SYSTEM "file:///etc/hostname">]>'
    "<feed>&x;</feed>"
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (BOMB, "which no Green Button feed needs"),
        (OUTSIDE, "which no Green Button feed needs"),
        ('<!DOCTYPE feed SYSTEM "feed.dtd"><feed/>', "which no Green Button feed needs"),
        ("<feed><entry>", "not well-formed XML"),
        ("<html><body>log in first</body></html>", "without interval blocks"),
        (feed(*blocks(sunny())), "no ReadingType"),
        (feed(reading_type(1, REVERSE), block(1, 1, [])), "without readings"),
        (
            feed(reading_type(1, REVERSE), block(1, 1, [(900, 900, 5), ("soon", 900, 5)])),
            "at row 2",
        ),
        (
            feed(
                reading_type(1, REVERSE), block(1, 1, [(0, 900, 5), (900, 900, 5), (1800, 3600, 5)])
            ),
            "different lengths, at row 3",
        ),
        (
            feed(reading_type(1, REVERSE), reading_type(2, FORWARD), *blocks(sunny())),
            "does not link",
        ),
    ],
)
def test_feeds_that_cannot_be_trusted_are_refused_in_one_sentence(tmp_path, text, words):
    (tmp_path / "feed.xml").write_text(text)
    assert words in refusal(tmp_path / "feed.xml")
