"""Rows of systems: terms and questions, and the tables that hold them."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pyarrow.parquet as parquet
import pytest
from fleet_makers import PublicSystems

from sunveil.engine.constants import TYPICAL_HAZE
from sunveil.errors import ParameterError
from sunveil.ledger import Promise
from sunveil.privacy import Days, Readings, System
from sunveil.publication import Publication, write_publication
from sunveil.publication.publication_folder import NEEDED
from sunveil.publish.system_rows import SystemRows, row_of, systems_tables
from sunveil.releases import Choices, Release
from sunveil.releases.fleet_releases import ReleaseTerms, about_system
from sunveil.releases.release_answer import ReleasedPlane, ReleasedTracker
from sunveil.site import Losses, Site, TimeGrid


def question_of(about, terms):
    return SystemRows(PublicSystems(about), terms).question(SimpleNamespace(name="d"), analyst=None)


def test_a_question_keeps_the_digest_that_ledgers_hold():
    site = Site(39.75, -105.15, 1730.0)
    about = {
        "a1": about_system("a1", site, True, TimeGrid(1552201200, 3600, 480)),
        "o'b": about_system("o'b", site, "clearsky", TimeGrid(1552201200, 900, 480)),
    }
    given = Choices(
        losses=Losses(system=0.14),
        thresholds=(0.3, 0.5, 0.7, 0.9),
        fewest=4,
        planes=None,
        hazes=(TYPICAL_HAZE,),
        mounts=None,
    )
    question = question_of(about, ReleaseTerms.of(Days(1), 4.0, choices=given))
    digest = "508ccaff5d423e28768ac1529816ea3f109fdd4d20cebe7da4c93070f1b11ff9"
    assert question.digest("d") == digest
    now = question_of(about, ReleaseTerms.of(Days(1), 4.0))
    assert now.digest("d") != digest


def rows_told() -> list[list[object]]:
    """Rows of a ridge, a tracker, one plane, and a release that tells no planes."""
    terms = ReleaseTerms.of(Days(1), 1.0)
    question = question_of({"a": "a"}, terms)
    ridge = ReleasedPlane(90.0, 30.0, 0.7), ReleasedPlane(270.0, 30.0, 0.3)
    drawn = [
        Release(90.0, 13.0, 5.0, terms.guarantee, terms.mechanism, release_id=name, **told)
        for name, told in {
            "ridge": {"planes": ridge},
            "tracker": {"tracker": ReleasedTracker(180.0, True, 0.5, 55.0)},
            "one": {"planes": (ReleasedPlane(90.0, 13.0, 1.0),)},
            "untold": {},
        }.items()
    ]
    rows = [row_of(each, question) for each in drawn]
    return json.loads(json.dumps(rows))  # as a ledger keeps them


def test_rows_with_planes_have_a_flat_table_of_them_and_others_none():
    systems, planes = systems_tables(rows_told())
    assert systems.column("mount") == ["two planes", "tracker", "one plane", None]
    assert systems.column("axis_azimuth") == [None, 180.0, None, None]
    assert systems.column("gcr") == [None, 0.5, None, None]
    many = [None if each is None else len(each) for each in systems.column("planes")]
    assert many == [2, 0, 1, None]
    assert planes.rows == (
        ("ridge", 1, 90.0, 30.0, 0.7, 3.5),
        ("ridge", 2, 270.0, 30.0, 0.3, 1.5),
        ("one", 1, 90.0, 13.0, 1.0, 5.0),
    )
    (systems,) = systems_tables(rows_told()[3:])
    assert [column.name for column in systems.columns] == list(NEEDED)
    assert systems.rows == (("untold", 90.0, 13.0, 5.0),)


def test_parquet_has_the_list_of_planes_and_csv_has_not(tmp_path):
    made = tuple(systems_tables(rows_told()))
    guarantee = ReleaseTerms.of(Days(1), 1.0).guarantee
    out = tmp_path / "out"
    write_publication(out, Publication("Systems", made, guarantee, "drawn"))
    nested = parquet.read_table(out / "systems.parquet").to_pylist()
    plane = {"surface_azimuth": 270.0, "surface_tilt": 30.0, "share": 0.3}
    assert nested[0]["planes"][1] == plane
    assert nested[3]["planes"] is None
    assert "planes" not in (out / "systems.csv").read_text().splitlines()[0]
    assert (out / "planes.csv").read_text().splitlines()[1] == "ridge,1,90.0,30.0,0.7,3.5"
    package = json.loads((out / "datapackage.json").read_text())
    kinds = {
        each["path"]: [field["type"] for field in each["schema"]["fields"]]
        for each in package["resources"]
    }
    assert "array" in kinds["systems.parquet"]
    assert "array" not in kinds["systems.csv"]
    listed = json.loads((out / "systems.orange-button.json").read_text())["PVSystems"]
    assert [len(each["PVArrays"]) for each in listed] == [2, 1, 1, 1]
    assert not (out / "planes.orange-button.json").exists()


PURE, WITH_DELTA = Promise(Readings(1), 4.0), Promise(Readings(1), 4.0, 1e-6)


@pytest.mark.parametrize("unit", [Readings(1), Days(1), System()], ids=str)
@pytest.mark.parametrize("promise", [None, PURE, WITH_DELTA], ids=["none", "pure", "delta"])
def test_the_promise_decides_the_default_mechanism_of_a_part_of_a_record(unit, promise):
    default = ReleaseTerms.of(unit, 0.1, promise=promise).mechanism
    for name in ("permute-and-flip", "exponential"):
        if unit == System():
            with pytest.raises(ParameterError, match="by the window"):
                ReleaseTerms.of(unit, 0.1, mechanism=name, promise=promise)
        else:
            assert ReleaseTerms.of(unit, 0.1, mechanism=name, promise=promise).mechanism == name
    if unit == System():
        assert default == "window"
    else:
        assert default == ("exponential" if promise is WITH_DELTA else "permute-and-flip")


def test_the_default_under_a_delta_costs_a_quarter():
    default = ReleaseTerms.of(Readings(1), 0.2, promise=WITH_DELTA)
    assert default.guarantee.proof == "docs/proofs/exponential.md"
    other = ReleaseTerms.of(Readings(1), 0.2, mechanism="permute-and-flip", promise=WITH_DELTA)
    costs = [WITH_DELTA.cost(each.guarantee, mechanism=each.mechanism) for each in (default, other)]
    assert costs == [5_000_000, 20_000_000]
