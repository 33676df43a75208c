from __future__ import annotations

import json
import re
import stat
from dataclasses import replace

from sunveil.cli.release import _as_table
from sunveil.privacy import Days, Guarantee
from sunveil.releases import Release
from sunveil.releases.release_answer import ReleasedPlane, ReleasedTracker
from sunveil.site import Plane

UNIT = ("--protect", "days:1", "--epsilon", "10")


def near(told: dict, planes: dict[str, tuple[float, float]]) -> set[str]:
    """The systems whose plane the release is within eight degrees of."""
    plane = Plane(told["surface_azimuth"], told["surface_tilt"])
    return {name for name, true in planes.items() if plane.angle_to(Plane(*true)) < 8.0}


def test_every_system_is_released_under_a_random_name(sunveil, three_systems, planes, place):
    said = sunveil("release", three_systems, *place, *UNIT, "--json")
    assert said.code == 0
    told = json.loads(said.out)
    assert {name for each in told for name in near(each, planes)} == set(planes)
    assert all(re.fullmatch(r"[0-9a-f-]{36}", each["release_id"]) for each in told)
    assert not any(f'"{name}"' in said.out for name in planes)
    for each in told:
        assert each["guarantee"] == {
            "kind": "worst-case",
            "unit": "any one day",
            "adjacency": "replacement",
            "epsilon": 10.0,
            "delta": 0.0,
            "proof": "docs/proofs/permute-and-flip.md",
        }


def test_two_runs_name_the_releases_anew(sunveil, three_systems, place):
    runs = (sunveil("release", three_systems, *place, *UNIT, "--json") for _ in range(2))
    first, second = ({each["release_id"] for each in json.loads(said.out)} for said in runs)
    assert not first & second


def test_it_says_loudly_that_nothing_was_recorded(sunveil, three_systems, place):
    said = sunveil("release", three_systems, *place, *UNIT)
    assert "NOTHING WAS RECORDED" in said.err
    assert "ε = 10" in said.err
    assert "permute-and-flip: ε = 10-DP in the worst case, for any one day." in said.out


def test_the_errors_to_expect_stand_below_the_table_and_widen_where_the_label_is_unknown(
    sunveil, three_systems, place
):
    asked = ("release", three_systems, *place, "--protect", "readings:1", "--epsilon", "1")
    words = r"Errors to expect, mean \(nine in ten within\): azimuth (\d+\.\d)°"
    guessed, told = sunveil(*asked), sunveil(*asked, "--label", "left")
    spread = [float(re.search(words, each.out)[1]) for each in (guessed, told)]
    assert spread[0] > spread[1] + 5.0
    assert "start, middle or end of an interval. Set it with option `label`." in guessed.out
    assert "option `label`" not in told.out


def test_a_whole_record_is_released_by_the_window(sunveil, three_systems, place):
    asked = ("--protect", "system", "--epsilon", "2", "--capacities", "1", "50", "--json")
    told = json.loads(sunveil("release", three_systems, *place, *asked).out)
    assert {each["mechanism"] for each in told} == {"window"}
    assert all(1.0 <= each["dc_capacity_kw"] <= 56.0 for each in told)


def test_the_papers_mechanism_says_that_it_is_conditional(sunveil, three_systems, place):
    asked = ("--protect", "readings:1", "--epsilon", "0.1", "--mechanism", "paper", "--json")
    for each in json.loads(sunveil("release", three_systems, *place, *asked).out):
        assert (each["guarantee"]["kind"], each["guarantee"]["delta"]) == ("conditional", 0.1)
        assert each["dc_capacity_kw"] is None


def test_releases_are_written_whole(sunveil, three_systems, place, tmp_path):
    out = tmp_path / "releases.json"
    said = sunveil("release", three_systems, *place, *UNIT, "--json", "--out", out)
    assert said.out == f"Wrote 3 releases to {out}\n"
    assert len(json.loads(out.read_text())) == 3


def test_the_table_says_what_modules_stand_on():
    ridge = ReleasedPlane(90.0, 30.0, 0.7), ReleasedPlane(270.0, 30.0, 0.3)
    guarantee = Guarantee(Days(1), 1.0, 0.0, "docs/proofs/permute-and-flip.md")
    found = [
        Release(90.0, 13.0, 5.0, guarantee, "permute-and-flip", release_id=name, **told)
        for name, told in {
            "a": {"planes": ridge},
            "b": {"planes": ridge[:1]},
            "c": {"tracker": ReleasedTracker(180.0, backtrack=True, gcr=0.5, max_angle=55.0)},
            "d": {"tracker": ReleasedTracker(195.0, backtrack=False, gcr=None, max_angle=55.0)},
        }.items()
    ]
    head, _, *rows = _as_table(found).splitlines()[:6]
    assert head.split()[-1] == "mount"
    assert rows[0].endswith("70% at 90°, 30° + 30% at 270°, 30°")
    assert rows[1].endswith("one plane")
    assert rows[2].endswith("tracker, axis 180°, backtracking, gcr 0.5")
    assert rows[3].endswith("tracker, axis 195°, no backtracking")
    untold = [replace(each, planes=(), tracker=None) for each in found]
    assert "mount" not in _as_table(untold)


UNITS = ("readings:1", "days:1", "system")
FEW = ("--epsilon", "0.1", "--epsilon", "3", "--systems", "1")


def test_simulated_systems_give_public_curves(sunveil):
    said = sunveil("utility", *FEW, "--json")
    assert said.code == 0
    told = json.loads(said.out)
    assert told["private"] is False
    assert "Public" in said.err
    kinds = {(each["unit"], each["mechanism"]): each for each in told["curves"]}
    both = {(unit, by) for unit in UNITS[:2] for by in ("permute-and-flip", "exponential")}
    assert set(kinds) == both | {("system", "window"), ("readings:1", "paper")}
    assert kinds["readings:1", "paper"]["guarantee"] == "conditional"
    assert kinds["readings:1", "paper"]["dc_capacity_percent"] is None
    assert kinds["readings:1", "permute-and-flip"]["surface_azimuth_degrees"][0] < 10.0
    assert kinds["readings:1", "paper"]["surface_azimuth_degrees"][0] > 85.0


def test_readings_make_them_private_and_marked_so(sunveil, one_system, place, tmp_path):
    out = tmp_path / "utility.svg"
    said = sunveil(
        "utility",
        one_system,
        *place,
        *("--epsilon", "1"),
        *("--azimuth", "180", "--tilt", "35", "--capacity", "5"),
        *("--out", out),
    )
    assert said.code == 0
    assert "PRIVATE TO THE CURATOR" in said.err
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert out.read_text(encoding="utf-8").lstrip().startswith("<?xml")


def test_a_table_names_every_unit(sunveil):
    said = sunveil("utility", *FEW)
    assert "Expected errors of a release, exact." in said.out
    for unit in UNITS:
        assert unit in said.out
