from __future__ import annotations

import json
from dataclasses import replace

import pytest

from sunveil.privacy import Days, Guarantee
from sunveil.releases import Release
from sunveil.releases.release_answer import ExpectedErrors, ReleasedPlane, ReleasedTracker, Spread


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
