from __future__ import annotations

import json
from types import SimpleNamespace

import pyarrow.parquet as parquet
from fleet_makers import PublicSystems

from sunveil.engine.constants import TYPICAL_HAZE
from sunveil.privacy import Days
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


def test_rows_with_planes_have_a_flat_table_of_them():
    systems, planes = systems_tables(rows_told())
    assert systems.column("mount") == ["two planes", "tracker", "one plane", None]
    assert systems.column("axis_azimuth") == [None, 180.0, None, None]
    assert systems.column("gcr") == [None, 0.5, None, None]
    assert [None if each is None else len(each) for each in systems.column("planes")] == [
        2,
        0,
        1,
        None,
    ]
    assert planes.rows == (
        ("ridge", 1, 90.0, 30.0, 0.7, 3.5),
        ("ridge", 2, 270.0, 30.0, 0.3, 1.5),
        ("one", 1, 90.0, 13.0, 1.0, 5.0),
    )


def test_rows_without_planes_have_no_table_of_them():
    (systems,) = systems_tables(rows_told()[3:])
    assert [column.name for column in systems.columns] == list(NEEDED)
    assert systems.rows == (("untold", 90.0, 13.0, 5.0),)


def test_parquet_has_the_list_of_planes_and_csv_has_not(tmp_path):
    systems, planes = systems_tables(rows_told())
    guarantee = ReleaseTerms.of(Days(1), 1.0).guarantee
    publication = Publication("Systems", (systems, planes), guarantee, "drawn")
    write_publication(tmp_path / "out", publication)
    nested = parquet.read_table(tmp_path / "out" / "systems.parquet").to_pylist()
    assert nested[0]["planes"][1] == {"surface_azimuth": 270.0, "surface_tilt": 30.0, "share": 0.3}
    assert nested[3]["planes"] is None
    head = (tmp_path / "out" / "systems.csv").read_text().splitlines()[0]
    assert "planes" not in head
    flat = (tmp_path / "out" / "planes.csv").read_text().splitlines()
    assert flat[1] == "ridge,1,90.0,30.0,0.7,3.5"
    package = json.loads((tmp_path / "out" / "datapackage.json").read_text())
    kinds = {
        each["path"]: [field["type"] for field in each["schema"]["fields"]]
        for each in package["resources"]
    }
    assert "array" in kinds["systems.parquet"]
    assert "array" not in kinds["systems.csv"]
    arrays = [
        len(each["PVArrays"])
        for each in json.loads((tmp_path / "out" / "systems.orange-button.json").read_text())[
            "PVSystems"
        ]
    ]
    assert arrays == [2, 1, 1, 1]
    assert not (tmp_path / "out" / "planes.orange-button.json").exists()
