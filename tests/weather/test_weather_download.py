from __future__ import annotations

import json
import logging

import numpy as np
import pandas as pd
import pytest
from weather_fakes import GOLDEN, Answer, psm_text, pvgis_json, sky_frame

from sunveil.errors import ParameterError, WeatherError
from sunveil.weather import WeatherCache, get_nsrdb, get_pvgis
from sunveil.weather.nsrdb_and_pvgis import chosen_dataset

KEY = "verysecretkey123"


@pytest.fixture
def ask(server):
    """Ask the loopback server, quickly giving up."""

    def asked(years=2019, **options):
        settings = {
            "api_key": KEY, "email": "a@b.example", "step_minutes": 60, "url": server.url + "psm",
            "timeout": 5.0, "attempts": 2, "pause": 0.01,
        }  # fmt: skip
        return get_nsrdb(GOLDEN, years, **{**settings, **options})

    return asked


def entries(cache: WeatherCache) -> list[str]:
    return [path.name for path in cache.folder.iterdir()] if cache.folder.exists() else []


def test_a_good_answer_becomes_weather_at_its_stamps(server, ask):
    frame = sky_frame(2020, 30, minute=15)
    server.says(Answer(psm_text(frame)))
    weather = ask(2020, step_minutes=30)
    assert list(weather.times) == list(frame.index)
    assert (weather.site, weather.source, weather.clear) == (GOLDEN, "nsrdb", False)
    for name in ("ghi", "dni", "dhi", "temp_air", "wind_speed"):
        np.testing.assert_allclose(getattr(weather, name), frame[name], rtol=1e-6)
    (query,) = server.queries
    asked = {"names": "2020", "interval": "30", "utc": "true", "leap_day": "true",
             "wkt": "POINT(-105.1727 39.7420)", "api_key": KEY}  # fmt: skip
    assert {name: query[name] for name in asked} == {name: [each] for name, each in asked.items()}


def test_key_and_address_come_from_the_environment_or_are_asked_for(server, ask, monkeypatch):
    for lacking in ("api_key", "email"):
        with pytest.raises(WeatherError, match="NSRDB_API_KEY and NSRDB_EMAIL"):
            ask(**{lacking: None})
    assert server.queries == []
    monkeypatch.setenv("NSRDB_API_KEY", "fromenv")
    monkeypatch.setenv("NSRDB_EMAIL", "env@b.example")
    server.says(Answer(psm_text(sky_frame(2019, 60))))
    ask(api_key=None, email=None)
    assert server.queries[0]["api_key"] == ["fromenv"]
    assert server.queries[0]["email"] == ["env@b.example"]


def test_several_years_are_joined_and_each_is_asked_for_once(server, ask, own_cache):
    server.says(*(Answer(psm_text(sky_frame(year, 60))) for year in (2019, 2020, 2021)))
    weather = ask([2019, 2020])
    assert len(weather.times) == 24 * (365 + 366)
    assert len(entries(own_cache)) == 2
    again = ask(range(2019, 2022))
    assert [query["names"] for query in server.queries] == [["2019"], ["2020"], ["2021"]]
    assert again.times[-1] == pd.Timestamp("2021-12-31T23:00Z")
    np.testing.assert_array_equal(again.ghi[: len(weather.ghi)], weather.ghi)
    assert again.zenith is not None


def test_a_damaged_cache_entry_is_fetched_again(server, ask, own_cache):
    server.says(Answer(psm_text(sky_frame(2019, 60))))
    first = ask()
    (entry,) = own_cache.folder.iterdir()
    entry.write_bytes(entry.read_bytes()[:-1000])
    second = ask()
    assert len(server.queries) == 2
    np.testing.assert_array_equal(first.dni, second.dni)
    ask()
    assert len(server.queries) == 2


def test_too_many_requests_are_followed_by_patience(server, ask):
    server.says(Answer("slow down", 429), Answer(psm_text(sky_frame(2019, 60))))
    assert len(ask().times) == 8760
    assert len(server.queries) == 2


def test_a_silent_server_is_given_up_on(server, ask, own_cache):
    server.says(Answer(silent=True))
    with pytest.raises(WeatherError, match=r"did not answer within 0\.2 s") as caught:
        ask(timeout=0.2)
    assert KEY not in str(caught.value)
    assert len(server.queries) == 2
    assert entries(own_cache) == []


@pytest.mark.parametrize("keep", [1000, 100_000, -6, -20])
def test_a_body_cut_anywhere_is_refused(server, ask, own_cache, keep):
    server.says(Answer(psm_text(sky_frame(2019, 60))[:keep]))
    with pytest.raises(WeatherError, match="cut short"):
        ask()
    assert entries(own_cache) == []


def test_a_cache_that_cannot_be_written_is_said_in_the_log(server, ask, tmp_path, caplog):
    (tmp_path / "file").write_text("in the way")
    server.says(Answer(psm_text(sky_frame(2019, 60))))
    with caplog.at_level(logging.WARNING):
        assert len(ask(cache=WeatherCache(tmp_path / "file" / "x")).times) == 8760
    assert "cannot write the weather cache" in caplog.text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"dataset": "meteosat"}, "dataset must be"),
        ({"dataset": "aggregated", "step_minutes": 5}, "one of 30, 60"),
        ({"step_minutes": 7}, "one of 5, 10, 15, 30, 60"),
        ({"years": []}, "at least one year"),
        ({"timeout": 0}, "timeout"),
        ({"attempts": 0}, "attempts"),
        ({"pause": -1}, "pause"),
    ],
)
def test_arguments_out_of_range_are_refused_before_asking(server, ask, options, said):
    with pytest.raises(ParameterError, match=said):
        ask(**options)
    assert server.queries == []


def test_the_dataset_is_the_first_that_has_the_step():
    asked = (("auto", 30), ("auto", 5), ("auto", 10), ("conus", 60), ("full-disc", 30))
    chosen = ["aggregated", "conus", "full-disc", "conus", "full-disc"]
    assert [chosen_dataset(*each) for each in asked] == chosen


def test_an_answer_for_another_year_is_refused(server, ask):
    server.says(Answer(psm_text(sky_frame(2018, 60))))
    with pytest.raises(WeatherError, match="0 of the 8760 rows of 2019"):
        ask()


@pytest.fixture
def ask_pvgis(server):
    def asked(years=2019, **options):
        settings = {"url": server.url, "timeout": 5.0, "attempts": 2, "pause": 0.01}
        return get_pvgis(GOLDEN, years, **{**settings, **options})

    return asked


@pytest.fixture(scope="module")
def year_text():
    frame = sky_frame(2019, 60, minute=10)
    return frame, pvgis_json(frame)


def test_beam_on_the_horizontal_becomes_direct_normal(server, ask_pvgis, year_text):
    frame, text = year_text
    server.says(Answer(text, kind="application/json"))
    weather = ask_pvgis()
    assert list(weather.times) == list(frame.index)
    sine = np.cos(np.radians(GOLDEN.sun(frame.index)["zenith"].to_numpy()))
    high = sine > np.sin(np.radians(3.5))
    np.testing.assert_allclose(weather.dni[high], frame["dni"][high], rtol=1e-5, atol=1e-3)
    assert (weather.dni[sine <= 0.0] == 0.0).all()
    assert (weather.dni <= frame["dni"] + 1e-3).all()
    np.testing.assert_allclose(weather.dhi, frame["dhi"], rtol=1e-6)
    expected = frame["dhi"] + frame["dni"] * np.maximum(sine, 0.0)
    np.testing.assert_allclose(weather.ghi, expected, rtol=1e-5)
    np.testing.assert_allclose(weather.temp_air, frame["temp_air"], rtol=1e-6)


def test_the_request_is_for_a_horizontal_plane_and_made_once(server, ask_pvgis, year_text):
    server.says(Answer(year_text[1], kind="application/json"))
    first, second = ask_pvgis(), ask_pvgis()
    (query,) = server.queries
    assert (query["startyear"], query["endyear"]) == (["2019"], ["2019"])
    assert (query["angle"], query["components"]) == (["0"], ["1"])
    assert "raddatabase" not in query
    np.testing.assert_array_equal(first.ghi, second.ghi)
    ask_pvgis(database="PVGIS-ERA5")
    assert server.queries[1]["raddatabase"] == ["PVGIS-ERA5"]


PAGE = "<html><body>down for maintenance</body></html>"
NSRDB = [
    (403, f"API_KEY_INVALID {KEY}", "refused the key .HTTP 403.; check", 1),
    (403, '{"errors": ["bad key"]}', "refused the key .HTTP 403.; check", 1),
    (429, "OVER_RATE_LIMIT", "too many requests .*; wait", 2),
    (500, "oops", "out of order .HTTP 500.; try again", 2),
    (503, PAGE, "out of order .HTTP 503.; try again", 2),
    (400, f'{{"errors": ["no data at {KEY}"]}}', "no data at .*; check the place", 1),
    (429, '{"error": {"code": "OVER_RATE_LIMIT"}}', "not a year of weather", 2),
    *((200, body, "not a year of weather .*; try again", 2) for body in (PAGE, "", '{"a": 1}')),
]
PVGIS = [
    (400, '{"message": "Location over the sea.", "status": 400}', "over the sea; check", 1),
    (403, "no", "refused access .HTTP 403.; try again", 1),
    (429, "slow down", "too many requests", 2),
    (500, "oops", "out of order .HTTP 500.", 2),
    *((200, body, "not a year of weather", 2) for body in (PAGE, '{"outputs": {}}')),
]


@pytest.mark.parametrize(
    ("source", "status", "body", "said", "asked"),
    [*(("ask", *each) for each in NSRDB), *(("ask_pvgis", *each) for each in PVGIS)],
)
def test_a_failing_server_gives_one_sentence_without_the_key(
    server, request, own_cache, source, status, body, said, asked
):
    server.says(Answer(body, status, kind="text/csv" if source == "ask" else "application/json"))
    with pytest.raises(WeatherError, match=said) as caught:
        request.getfixturevalue(source)()
    assert KEY not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert len(server.queries) == asked
    assert entries(own_cache) == []


def test_missing_hours_are_counted(server, ask_pvgis, own_cache, year_text):
    whole = json.loads(year_text[1])
    whole["outputs"]["hourly"] = whole["outputs"]["hourly"][:-24]
    server.says(Answer(json.dumps(whole), kind="application/json"))
    with pytest.raises(WeatherError, match="8736 of the 8760 rows of 2019"):
        ask_pvgis()
    assert not own_cache.folder.exists()
