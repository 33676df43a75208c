from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pvlib
import pytest

import sunveil
from sunveil.errors import ParameterError, SunveilError
from sunveil.fleet.blocks import record_span
from sunveil.meters import Record, from_pandas
from sunveil.meters.record import prepared
from sunveil.privacy import ConditionalGuarantee, Days, Guarantee, Readings, System
from sunveil.privacy.two_level_window import best_window
from sunveil.releases import Choices, Release
from sunveil.releases.candidate_frame import frame_of
from sunveil.releases.expected_errors import release_laws
from sunveil.releases.release import Mechanism, release
from sunveil.releases.release_answer import ExpectedErrors, ReleasedPlane, ReleasedTracker, Spread
from sunveil.site import Plane, Site
from sunveil.weather import clearsky

PLANTED = 1234.5678
FLIP, EXPONENTIAL = "docs/proofs/permute-and-flip.md", "docs/proofs/exponential.md"
TRUTH_KW = 5.0


@pytest.mark.parametrize(
    ("unit", "mechanism", "name", "proof"),
    [
        (Readings(1), "default", "permute-and-flip", FLIP),
        (Readings(24), Mechanism.DEFAULT, "permute-and-flip", FLIP),
        (Days(1), "default", "permute-and-flip", FLIP),
        (Days(3), "exponential", "exponential", EXPONENTIAL),
        (Readings(1), Mechanism.EXPONENTIAL, "exponential", EXPONENTIAL),
        (System(), "default", "window", "docs/proofs/window.md"),
    ],
)
def test_every_unit_and_mechanism_gives_a_candidate_and_a_guarantee(
    record, weather, frame, unit, mechanism, name, proof
):
    found = release(record, weather, protect=unit, epsilon=0.7, mechanism=mechanism, frame=frame)
    assert found.guarantee == Guarantee(unit, 0.7, 0.0, proof)
    assert type(found.guarantee) is Guarantee
    assert found.mechanism == name
    assert found.clock_minutes is None
    told = json.loads(found.to_json())
    assert told["guarantee"]["kind"] == "worst-case"
    assert told["public"].items() >= frame.choices.to_dict().items()
    if name == "window":
        assert found.surface_azimuth % 5.0 == found.surface_tilt % 5.0 == 0.0
        assert told["public"]["window_candidates"] == (
            best_window(0.7, frame.choices.axes()).inside
        )
    else:
        planes = zip(frame.grid.surface_azimuth, frame.grid.surface_tilt, strict=True)
        assert (found.surface_azimuth, found.surface_tilt) in set(planes)
        assert found.dc_capacity_kw in frame.choices.capacities.values


def beside(found: Release) -> dict[str, Any]:
    """Return all that a release says but what was drawn."""
    drawn = {"release_id", "surface_azimuth", "surface_tilt", "dc_capacity_kw", "planes", "tracker"}
    return {key: told for key, told in json.loads(found.to_json()).items() if key not in drawn}


@pytest.mark.parametrize("unit", [Readings(1), Days(1), System()])
@pytest.mark.parametrize("kind", ["constant", "noise", "only zeros", "exported", "half a day off"])
def test_what_is_no_generation_is_released_as_anything_else(record, weather, frame, unit, kind):
    rng = np.random.default_rng(6)
    power = {
        "constant": np.full(len(record.power_kw), 3.0),
        "noise": rng.random(len(record.power_kw)),
        "only zeros": np.zeros(len(record.power_kw)),
        "exported": np.maximum(record.power_kw - rng.uniform(0.0, 4.0, len(record.power_kw)), 0.0),
        "half a day off": np.roll(record.power_kw, 12),
    }[kind]
    records = (replace(record, power_kw=power), record)
    asked = {"protect": unit, "epsilon": 0.7, "frame": frame}
    found, usual = (release(each, weather, **asked) for each in records)
    assert beside(found) == beside(usual)


@pytest.mark.parametrize("unit", [Readings(1), Days(1), System()])
def test_at_a_large_epsilon_the_answer_is_near_the_truth(record, weather, frame, unit):
    found = release(record, weather, protect=unit, epsilon=40.0, frame=frame)
    assert abs(found.surface_azimuth - 200.0) <= 10.0
    assert abs(found.surface_tilt - 30.0) <= 10.0
    assert found.dc_capacity_kw == pytest.approx(TRUTH_KW, rel=0.15)


@pytest.mark.parametrize(
    ("unit", "epsilon", "azimuth", "tilt", "capacity"),
    [
        (Readings(1), 0.1, 12.0, 7.0, 12.0),
        (Days(1), 1.0, 14.0, 8.0, 12.0),
        (Readings(1), 1.0, 3.0, 3.0, 6.0),
    ],
)
def test_the_expected_errors_are_small_at_the_epsilon_hoped_for(
    record, frame, unit, epsilon, azimuth, tilt, capacity
):
    """Exact expectations over two months on a grid of ten degrees: a year and four do better."""
    truth, asked = (Plane(200.0, 30.0), TRUTH_KW), {"protect": unit, "epsilons": [epsilon]}
    means = release_laws(frame, record, *truth, **asked)[0].means
    assert means[0] < azimuth
    assert means[1] < tilt
    assert means[2] < capacity
    other = release_laws(frame, record, *truth, **asked, exponential=True)[0].means
    assert means[0] <= other[0]


def test_a_series_is_read_with_each_reading_cleaned_alone(power, weather, choices):
    found = release(power, weather, protect=Readings(1), epsilon=50.0, choices=choices)
    assert abs(found.surface_azimuth - 200.0) <= 10.0
    assert found.public == {**choices.to_dict(), "levels_per_nat": 0.04}
    unnamed = {"protect": Days(1), "epsilon": 1.0, "choices": choices}
    assert release(power.rename(None), weather, power_unit="kW", **unnamed)
    # the unit of a release comes from no reading
    for readings in (power, power * 0.0, power * 1e5, power * math.nan):
        said = refusal(readings.rename("roof"), weather, **unnamed)
        assert said == refusal(power.rename("roof"), weather, **unnamed)
        assert "give option `power_unit` as one of" in said


def test_the_clock_is_released_where_it_is_one_more_dimension(record, weather, choices):
    wide = replace(choices, clocks=(0.0, 60.0))
    fast = replace(record, times=record.times + np.timedelta64(1, "h"), rows_span=None)
    found = release(fast, weather, protect=Readings(1), epsilon=50.0, choices=wide)
    assert found.clock_minutes == 60.0
    assert abs(found.surface_azimuth - 200.0) <= 10.0


def test_the_errors_to_expect_are_put_beside_the_answer(record, weather, frame):
    expected = ExpectedErrors(Spread(1.0, 2.0), Spread(1.0, 2.0), None, "a test")
    for unit in (Readings(1), System()):
        found = release(record, weather, protect=unit, epsilon=1.0, frame=frame, expected=expected)
        assert found.expected == expected


def test_the_paper_s_mechanism_is_conditional_and_releases_no_capacity(record, weather):
    found = release(record, weather, protect=Readings(1), epsilon=0.1, mechanism="paper")
    assert type(found.guarantee) is ConditionalGuarantee
    assert (found.guarantee.epsilon, found.guarantee.delta) == (0.1, 0.1)
    assert found.guarantee.unit == Readings(1)
    assert "Gaussian process prior" in found.guarantee.condition
    assert (found.dc_capacity_kw, found.mechanism) == (None, "paper")
    assert json.loads(found.to_json())["guarantee"]["kind"] == "conditional"
    assert 0.0 <= found.surface_azimuth < 360.0
    assert 0.0 <= found.surface_tilt <= 90.0


def refusal(*arguments: object, **options: object) -> str:
    """Return the one sentence with which a release is refused."""
    with pytest.raises(SunveilError) as refused:
        release(*arguments, **options)
    message = str(refused.value)
    assert "\n" not in message
    assert refused.value.__cause__ is None
    assert len(re.findall(r"[.!?] [A-Z]", message)) == 0
    return message


NO_EPSILON = (0.0, -1.0, math.nan, math.inf, -math.inf, 1e9, 1e-9, True, "1", None)
PAPER, KNOWN = {"mechanism": "paper"}, "default, exponential, paper"


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        *(({"mechanism": mechanism, "epsilon": epsilon}, "epsilon must be")
          for mechanism in Mechanism for epsilon in NO_EPSILON),
        *((PAPER | {"protect": unit}, "protects one reading")
          for unit in (Readings(2), Days(1), System())),
        *((PAPER | {"delta": delta}, "delta") for delta in (0.0, 1.0, math.nan, -0.1)),
        *(({"protect": unit, "delta": 1e-6}, "delta is for the paper's mechanism only")
          for unit in (Readings(1), System())),
        *(({"protect": unit}, "Readings(k), Days(k) or System()") for unit in (None, 1, Readings)),
        ({"protect": "weeks:1"}, "'weeks:1'"),
        ({"mechanism": "laplace"}, f"mechanism must be one of {KNOWN}, and 'laplace' is not"),
        ({"protect": System(), "mechanism": "exponential"}, "released by the window"),
    ],
)  # fmt: skip
def test_a_release_that_cannot_be_asked_for_is_refused(record, weather, asked, words):
    message = refusal(record, weather, **{"protect": Readings(1), "epsilon": 1.0} | asked)
    assert words in message
    assert "epsilon" not in asked or message.startswith(words)


def test_a_unit_may_be_given_as_text(record, weather, frame):
    drawn = release(record, weather, protect="days:2", epsilon=1.0, frame=frame)
    assert drawn.guarantee.unit == Days(2)


def test_a_register_is_released_with_its_errors_and_refused_by_the_paper_s_mechanism(
    record, weather, frame
):
    register = replace(record, differenced=True)
    found = release(register, weather, protect=Readings(1), epsilon=0.2, frame=frame)
    plain = release(record, weather, protect=Readings(1), epsilon=0.1, frame=frame)
    assert found.guarantee == Guarantee(Readings(1), 0.2, 0.0, FLIP)
    assert found.expected == plain.expected
    with pytest.raises(ParameterError, match="one reading of a register is part of two"):
        release(register, weather, protect=Readings(1), epsilon=0.2, mechanism="paper")


def test_a_frame_of_other_choices_is_refused(record, weather, frame):
    message = refusal(
        record, weather, protect=Days(1), epsilon=1.0, frame=frame, choices=Choices(step=30.0)
    )
    assert "two that differ" in message
    assert release(
        record, weather, protect=Days(1), epsilon=1.0, frame=frame, choices=replace(frame.choices)
    )


def planted(count: int = 400, minutes: int = 60, start: str = "2019-04-01") -> pd.Series:
    index = pd.date_range(start, periods=count, freq=f"{minutes}min", tz="UTC")
    return pd.Series(PLANTED, index=index, name="power_kw")


BAD: dict[str, object] = {
    "empty": pd.Series([], index=pd.DatetimeIndex([], tz="UTC"), dtype=float),
    "one reading": planted(1),
    "a list": [PLANTED] * 5,
    "a frame of two": pd.DataFrame({"a": planted(), "b": planted()}),
    "no index of times": pd.Series([PLANTED] * 5),
    "no zone": planted().tz_localize(None),
    "twice": pd.concat([planted(10), planted(3)]),
    "too coarse": planted(50, 180),
    "too long ago": planted(50, start="1960-01-01"),
    "no weather": planted(start="2015-04-01"),
    "uneven": pd.concat([planted(100), planted(100, 45, start="2019-05-01")]),
}


@pytest.mark.parametrize("unit", [Readings(1), Days(1), System()])
@pytest.mark.parametrize("name", list(BAD))
def test_meters_that_cannot_be_released_are_refused_without_telling_a_reading(weather, name, unit):
    message = refusal(BAD[name], weather, protect=unit, epsilon=1.0, choices=Choices(step=30.0))
    assert "1234" not in message
    assert "5678" not in message


QUARTERS = planted(200, 5)
UNUSABLE = {
    "none": (planted() * math.nan, planted()),
    "infinite": (planted() * math.inf, planted()),
    "text": (planted().astype(object).where(np.arange(400) != 7, "1234.5678 kW"), planted()),
    "no whole quarter": (QUARTERS.where(QUARTERS.index.minute % 15 != 0), QUARTERS),
}


@pytest.mark.parametrize("unit", [Readings(1), Days(1), System()])
@pytest.mark.parametrize("name", list(UNUSABLE))
def test_no_reading_refuses_a_release_and_none_changes_what_stands_beside_it(weather, name, unit):
    asked = {"protect": unit, "epsilon": 1.0, "choices": Choices(step=30.0)}
    found, plain = (release(each, weather, **asked) for each in UNUSABLE[name])
    assert beside(found) == beside(plain)


@pytest.mark.parametrize("mechanism", ["default", "paper"])
def test_meters_cleaned_as_a_whole_are_refused(power, weather, mechanism):
    cleaned = from_pandas(power, label="start", cleaning="record")
    message = refusal(cleaned, weather, protect=Readings(1), epsilon=1.0, mechanism=mechanism)
    assert "rules that look at the whole record" in message


def test_a_frame_of_another_place_is_refused(record, weather):
    elsewhere = frame_of(record, weather, Choices(step=30.0))
    moved = clearsky(Site(35.0, -110.0), weather.times[0], weather.times[-1])
    message = refusal(record, moved, protect=Readings(1), epsilon=1.0, frame=elsewhere)
    assert "another place" in message


def test_nothing_that_a_release_passes_through_shows_a_reading(weather, choices):
    power = planted()
    record = from_pandas(power, label="start", cleaning="each", power_unit="kW")
    frame = frame_of(record, weather, choices)
    found = release(record, weather, protect=Readings(1), epsilon=1.0, frame=frame)
    truth = Plane(200.0, 30.0), TRUTH_KW
    (laws,) = release_laws(frame, record, *truth, protect=Readings(1), epsilons=[1.0])
    shown = [record, *record.notes, frame.time_grid, frame.choices, found, found.to_json(), laws]
    assert len(shown) >= 6
    for each in shown:
        assert "1234" not in str(each) + repr(each)


@pytest.mark.parametrize("value", [1.7e308, 1e-320, -1.7e308, 0.0])
@pytest.mark.parametrize("minutes", [5, 60])
def test_no_reading_however_wild_makes_a_release_fail(weather, choices, value, minutes):
    """An error is an output too: what one reading says must not decide whether there is one."""
    power = planted(400 * 60 // minutes, minutes)
    power.iloc[300:303] = value  # a whole quarter of an hour of them, whose sum may be infinite
    assert release(power, weather, protect=Readings(1), epsilon=1.0, choices=choices)
    times = power.index.tz_localize(None).to_numpy().astype("datetime64[s]")
    by_hand = Record("a", times, power.to_numpy(), float(minutes))
    assert release(by_hand, weather, protect=Days(1), epsilon=1.0, choices=choices)


def test_a_record_without_a_whole_quarter_of_an_hour_is_one_of_zeros(weather):
    holes, whole = (
        prepared(from_pandas(each, label="start", cleaning="each", power_unit="kW"))
        for each in UNUSABLE["no whole quarter"]
    )
    assert not holes.power_kw.any()
    assert holes.extent == whole.extent
    # a span that holds no quarter is refused for its stamps, whatever the readings
    asked = {"protect": Days(1), "epsilon": 1.0, "choices": Choices(step=30.0)}
    for short in (QUARTERS[:2], QUARTERS[:2] * math.nan):
        assert "no readings at all" in refusal(short, weather, **asked)


@pytest.mark.parametrize("lost", [slice(0, 24), slice(-24, None), slice(-72, None)])
@pytest.mark.parametrize("minutes", [60, 5])
def test_nothing_beside_the_draw_tells_that_the_ends_of_a_record_are_missing(
    power, weather, lost, minutes
):
    whole = power.iloc[: 20 * 24].resample(f"{minutes}min").ffill()
    short = whole.copy()
    hours = 60 // minutes
    ends = (None if end is None else end * hours for end in (lost.start, lost.stop))
    short.iloc[slice(*ends)] = np.nan
    choices = Choices(step=30.0)
    told = []
    for series in (whole, short):
        read = from_pandas(series, system_id="a", label="start", cleaning="each", power_unit="kW")
        frame = frame_of(read, weather, choices)
        drawn = release(read, weather, protect=Days(1), epsilon=1.0, frame=frame)
        told.append((frame.time_grid, frame.fingerprint(), drawn.expected, record_span(read)))
    assert told[0] == told[1]


def test_a_release_takes_what_an_inference_takes(power, golden_site):
    local = power.tz_convert("UTC-07:00").tz_localize(None) * 1000.0
    asked = {"protect": "readings:1", "epsilon": 40.0, "choices": Choices(step=10.0, mounts=None)}
    said = {"timezone": "UTC-07:00", "power_unit": "W", "label": "left", "weather": "clearsky"}
    place = {"latitude": golden_site.latitude, "longitude": golden_site.longitude}
    location = pvlib.location.Location(**place, altitude=golden_site.height)
    for where in (place, {"site": golden_site}, {"site": location}):
        found = sunveil.release(local, **where, **said, **asked)
        assert abs(found.surface_azimuth - 200.0) <= 10.0
        assert found.dc_capacity_kw == pytest.approx(TRUTH_KW, rel=0.1)
    values, times = local.to_numpy(), local.index
    assert sunveil.release(values, times=times, **place, **said, **asked).surface_tilt
    del said["weather"]
    assert sunveil.release(local, **place, **said, **asked).expected == found.expected


def test_weather_brings_its_own_place(record, weather, choices, golden_site):
    asked = {"protect": Days(1), "epsilon": 1.0, "choices": choices}
    assert release(record, weather, site=golden_site, **asked)
    elsewhere = refusal(record, weather, latitude=50.0, longitude=8.0, **asked)
    assert "weather is of another place" in elsewhere
    assert "a place is needed" in refusal(record, **asked)


@pytest.mark.parametrize(("minutes", "truth"), [(15, "start"), (15, "end"), (60, "end")])
def test_errors_are_stated_for_every_label_that_undeclared_stamps_may_have(
    clear_power, golden_site, minutes, truth
):
    power = clear_power(180.0, 14.0, start="2019-03-10", days=60, minutes=minutes)
    if truth == "end":
        power.index += pd.Timedelta(minutes=minutes)
    asked = {"protect": Readings(1), "epsilon": 50.0, "site": golden_site}
    asked["choices"] = Choices(step=7.5, mounts=None)
    guessed = sunveil.release(power, **asked)
    told = sunveil.release(power, label=truth, **asked)
    off = abs(guessed.surface_azimuth - 180.0)
    assert abs(told.surface_azimuth - 180.0) <= told.expected.azimuth.within < off
    assert off <= guessed.expected.azimuth.within
    assert guessed.expected.azimuth.mean > told.expected.azimuth.mean + 2.0
    assert "start, middle or end" in guessed.expected.basis
    assert "start, middle or end" not in told.expected.basis


def test_an_undeclared_label_of_minutes_matters_little(clear_power, golden_site):
    power = clear_power(180.0, 25.0, start="2019-03-10", days=20, minutes=5)
    asked = {"protect": Readings(1), "epsilon": 50.0, "site": golden_site}
    asked["choices"] = Choices(step=15.0, mounts=None)
    guessed, told = (sunveil.release(power, label=each, **asked) for each in ("auto", "start"))
    assert 0.5 < guessed.expected.azimuth.mean - told.expected.azimuth.mean < 2.0


def made(**changes: object) -> Release:
    guarantee = Guarantee(Days(1), 0.5, 0.0, "docs/proofs/permute-and-flip.md")
    return Release(180.0, 20.0, 5.0, guarantee, "permute-and-flip", **changes)


def test_a_release_tells_all_it_has_as_json():
    expected = ExpectedErrors(Spread(1.23456, 4.0), Spread(2.0, 5.0), Spread(3.0, 6.0), "x")
    planes = ReleasedPlane(90.0, 30.0, 0.7), ReleasedPlane(270.0, 30.0, 0.3)
    tracker = ReleasedTracker(180.0, backtrack=False, gcr=None, max_angle=55.0)
    release = made(expected=expected, public={"step": 4.0}, clock_minutes=60.0, planes=planes)
    told = json.loads(replace(release, tracker=tracker).to_json())
    assert told.pop("release_id")
    assert told == {
        "surface_azimuth": 180.0,
        "surface_tilt": 20.0,
        "dc_capacity_kw": 5.0,
        "planes": [
            {"surface_azimuth": 90.0, "surface_tilt": 30.0, "share": 0.7},
            {"surface_azimuth": 270.0, "surface_tilt": 30.0, "share": 0.3},
        ],
        "tracker": {"axis_azimuth": 180.0, "backtrack": False, "gcr": None, "max_angle": 55.0},
        "clock_minutes": 60.0,
        "mechanism": "permute-and-flip",
        "guarantee": {
            "kind": "worst-case",
            "unit": "any one day",
            "adjacency": "replacement",
            "epsilon": 0.5,
            "delta": 0.0,
            "proof": "docs/proofs/permute-and-flip.md",
        },
        "expected_errors": {
            "surface_azimuth_degrees": {"mean": 1.2346, "within_90_percent": 4.0},
            "surface_tilt_degrees": {"mean": 2.0, "within_90_percent": 5.0},
            "dc_capacity_percent": {"mean": 3.0, "within_90_percent": 6.0},
            "basis": "x",
        },
        "public": {"step": 4.0},
    }


def test_what_was_not_released_is_null():
    told = made().to_dict()
    assert (told["expected_errors"], told["clock_minutes"]) == (None, None)
    without = ExpectedErrors(Spread(1.0, 2.0), Spread(1.0, 2.0), None, "x")
    assert without.to_dict()["dc_capacity_percent"] is None


def test_every_release_has_a_name_of_its_own_and_no_number_that_is_none():
    assert len({made().release_id for _ in range(50)}) == 50
    with pytest.raises(ValueError, match="JSON"):
        made(public={"step": float("nan")}).to_json()
