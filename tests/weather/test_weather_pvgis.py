from __future__ import annotations

import json

import numpy as np
import pytest
from weather_fakes import pvgis_json, sky_frame

from sunveil.errors import WeatherError
from sunveil.weather import get_pvgis


@pytest.fixture
def ask(server, golden):
    def asked(years=2019, **options):
        settings = {"url": server.url, "timeout": 5.0, "attempts": 2, "pause": 0.01}
        return get_pvgis(golden, years, **{**settings, **options})

    return asked


@pytest.fixture(scope="module")
def year_text():
    frame = sky_frame(2019, 60, minute=10)
    return frame, pvgis_json(frame)


def test_beam_on_the_horizontal_becomes_direct_normal(server, answer, ask, year_text, golden):
    frame, text = year_text
    server.says(answer(text, kind="application/json"))
    weather = ask()
    assert list(weather.times) == list(frame.index)
    sine = np.cos(np.radians(golden.sun(frame.index)["zenith"].to_numpy()))
    high = sine > np.sin(np.radians(3.5))
    np.testing.assert_allclose(weather.dni[high], frame["dni"][high], rtol=1e-5, atol=1e-3)
    assert (weather.dni[sine <= 0.0] == 0.0).all()
    assert (weather.dni <= frame["dni"] + 1e-3).all()
    np.testing.assert_allclose(weather.dhi, frame["dhi"], rtol=1e-6)
    expected = frame["dhi"] + frame["dni"] * np.maximum(sine, 0.0)
    np.testing.assert_allclose(weather.ghi, expected, rtol=1e-5)
    np.testing.assert_allclose(weather.temp_air, frame["temp_air"], rtol=1e-6)


def test_the_request_is_for_a_horizontal_plane_and_made_once(server, answer, ask, year_text):
    server.says(answer(year_text[1], kind="application/json"))
    first, second = ask(), ask()
    (query,) = server.queries
    assert (query["startyear"], query["endyear"]) == (["2019"], ["2019"])
    assert (query["angle"], query["components"]) == (["0"], ["1"])
    assert "raddatabase" not in query
    np.testing.assert_array_equal(first.ghi, second.ghi)
    ask(database="PVGIS-ERA5")
    assert server.queries[1]["raddatabase"] == ["PVGIS-ERA5"]


@pytest.mark.parametrize(
    ("status", "body", "said", "asked"),
    [
        (400, '{"message": "Location over the sea.", "status": 400}', "over the sea; check", 1),
        (403, "no", "refused access .HTTP 403.; try again", 1),
        (429, "slow down", "too many requests", 2),
        (500, "oops", "out of order .HTTP 500.", 2),
        (200, "<html>hello</html>", "not a year of weather", 2),
        (200, '{"outputs": {}}', "not a year of weather", 2),
    ],
)
def test_a_failing_server_gives_one_sentence(
    server, answer, ask, own_cache, status, body, said, asked
):
    server.says(answer(body, status, kind="application/json"))
    with pytest.raises(WeatherError, match=said):
        ask()
    assert len(server.queries) == asked
    assert not own_cache.folder.exists()


def test_missing_hours_are_counted(server, answer, ask, own_cache, year_text):
    whole = json.loads(year_text[1])
    whole["outputs"]["hourly"] = whole["outputs"]["hourly"][:-24]
    server.says(answer(json.dumps(whole), kind="application/json"))
    with pytest.raises(WeatherError, match="8736 of the 8760 rows of 2019"):
        ask()
    assert not own_cache.folder.exists()
