from __future__ import annotations

import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from weather_fakes import GOLDEN, sky_frame

from sunveil.site import Site
from sunveil.weather import Weather, WeatherCache
from sunveil.weather.cache import CacheKey, stored_precision


def key_of(site: Site, *, year: int = 2016, source: str = "made", step: int = 60) -> CacheKey:
    return CacheKey.of(site, year, source=source, dataset="up", step_minutes=step, by_altitude=True)


@pytest.fixture
def weather() -> Weather:
    frame = sky_frame(2016, 60).iloc[:200]
    return stored_precision(Weather.from_frame(frame, site=GOLDEN, source="made"))


def same(one: Weather, other: Weather) -> bool:
    return one.times.equals(other.times) and all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("ghi", "dni", "dhi", "temp_air", "wind_speed", "zenith", "azimuth")
    )


def test_what_was_stored_comes_back_the_same(weather, own_cache):
    assert own_cache.store(key_of(GOLDEN), weather)
    back = own_cache.load(key_of(GOLDEN), GOLDEN, source="made")
    assert back is not None
    assert same(weather, back)


def test_nothing_comes_back_for_another_key(weather, own_cache):
    own_cache.store(key_of(GOLDEN), weather)
    others = [
        key_of(GOLDEN, **each) for each in ({"year": 2017}, {"source": "other"}, {"step": 30})
    ]
    others += [key_of(replace(GOLDEN, latitude=39.743)), key_of(replace(GOLDEN, altitude=1805.0))]
    assert [own_cache.load(key, GOLDEN, source="made") for key in others] == [None] * 5


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "text", "header", "swapped"])
def test_a_damaged_entry_is_noticed_and_dropped(weather, own_cache, damage):
    key = key_of(GOLDEN)
    own_cache.store(key, weather)
    path = own_cache.path(key)
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[-100] ^= 1
    path.write_bytes(
        {
            "cut": whole[:-50],
            "flipped": bytes(flipped),
            "empty": b"",
            "text": b"not a cache entry",
            "header": b"[1, 2]\n" + whole.partition(b"\n")[2],
            "swapped": whole.replace(b"made", b"mode", 1),
        }[damage]
    )
    assert own_cache.load(key, GOLDEN, source="made") is None
    assert not path.exists()


def test_the_folder_comes_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("SUNVEIL_CACHE", str(tmp_path / "here"))
    assert WeatherCache().folder == tmp_path / "here"
    monkeypatch.delenv("SUNVEIL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "there"))
    assert "sunveil" in str(WeatherCache().folder)
    assert WeatherCache(tmp_path).folder == tmp_path


def rewrite(folder: Path, weather: Weather, count: int) -> None:
    cache = WeatherCache(folder)
    for _ in range(count):
        cache.store(key_of(weather.site), weather)


def test_readers_see_whole_entries_while_processes_and_threads_write(weather, own_cache):
    key = key_of(GOLDEN)
    own_cache.store(key, weather)
    process = multiprocessing.get_context("spawn").Process(
        target=rewrite, args=(own_cache.folder, weather, 60)
    )
    process.start()
    with ThreadPoolExecutor(3) as pool:
        for _ in range(3):
            pool.submit(rewrite, own_cache.folder, weather, 20)
        seen = [own_cache.load(key, GOLDEN, source="made") for _ in range(60)]
        while process.is_alive():
            seen.append(own_cache.load(key, GOLDEN, source="made"))
            process.join(0.002)
    assert process.exitcode == 0
    assert all(one is not None and same(one, weather) for one in seen)
    assert [entry.name for entry in own_cache.folder.iterdir()] == [key.name]
