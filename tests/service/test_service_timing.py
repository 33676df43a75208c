from __future__ import annotations

import json
import math
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from service_makers import Nursery, add_dataset, key, new_token, quick_settings

from sunveil.publish.bins import Bins
from sunveil.fleet.results import read_fleet
from sunveil.publish.fleet import fleet_tables
from sunveil.service.app import open_service

REQUESTS = 200
SYSTEMS = 2000
QUANTILES = (0.2, 0.4, 0.6, 0.8)
QUESTION = {"kind": "quantiles", "epsilon": 0.5, "percents": [20, 40, 60, 80]}
# All roofs alike, or all different: the draw takes several times as long for these.
FLEETS = {
    "peaked": lambda _: (20.0, 5.0),
    "flat": lambda number: (90.0 * number / SYSTEMS, 25.0 * number / SYSTEMS),
}


def write_fleet(path, plane):
    told = []
    for number in range(SYSTEMS):
        tilt, capacity = plane(number)
        told.append(
            {
                "system_id": f"s{number}",
                "surface_azimuth": 180.0,
                "surface_tilt": tilt,
                "dc_capacity_kw": capacity,
                "feeder": "F1",
            }
        )
    path.write_text(json.dumps(told))


def elapsed(work) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def test_a_peaked_and_a_flat_question_take_the_same_time(memory):
    pad = 0.25  # several times what the work takes, as in production
    service = open_service(quick_settings(memory))
    for name, plane in FLEETS.items():
        add_dataset(service, name, epsilon=900.0, systems=SYSTEMS)
        write_fleet(service.settings.datasets / name / "estimates.json", plane)
    headers = {"Authorization": f"Bearer {new_token(service)}"}
    service.close()
    with Nursery(memory, pad=pad) as nursery:
        nursery.start()
        with httpx.Client(base_url=f"{nursery.base}/api/v1", headers=headers, timeout=60.0) as api:
            times = ask_both(api)
        nursery.kill()
    for each in times.values():
        # whole multiples of the pad, and what the network takes
        assert len(each) == REQUESTS
        assert min(each) >= pad
    (one, first), (other, second) = (middle(each) for each in times.values())
    # a millisecond, or what the machine's own unrest leaves open
    assert one == pytest.approx(other, abs=1e-3 + 4.0 * math.hypot(first, second))


def middle(times):
    """Return the median of some times, and its standard error by their spread."""
    median = statistics.median(times)
    spread = 1.4826 * statistics.median(abs(each - median) for each in times)
    return median, 1.2533 * spread / math.sqrt(len(times))


def ask_both(api):
    def ask(name, number):
        question = {**QUESTION, "clip_kw": 20.0 + number / 100.0}
        answer = api.post(f"/datasets/{name}/releases", json=question, headers=key())
        assert answer.status_code == 201

    def timed(number):
        # one after the other, so that whatever else the machine does befalls both
        return {
            name: elapsed(lambda name=name, number=number: ask(name, number)) for name in FLEETS
        }

    timed(REQUESTS)
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(timed, range(REQUESTS)))
    return {name: [each[name] for each in found] for name in FLEETS}


def test_without_padding_the_two_could_be_told_apart(tmp_path):
    medians = {}
    for name, plane in FLEETS.items():
        path = tmp_path / f"{name}.json"
        write_fleet(path, plane)
        rows = read_fleet(path)

        def draw(rows=rows):
            fleet_tables(
                rows, bins=Bins(), epsilon=0.5, shares={"quantiles": 1.0}, quantiles=QUANTILES
            )

        medians[name] = statistics.median(elapsed(draw) for _ in range(40))
    assert medians["flat"] > 1.2 * medians["peaked"]
