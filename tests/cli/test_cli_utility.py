from __future__ import annotations

import json
import stat

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
