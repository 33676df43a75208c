from __future__ import annotations

from pathlib import Path

import pytest

from sunveil.errors import ParameterError, SourceError
from sunveil.simulate import Place, read_places
from sunveil.simulate.fault_rates import EUROPE, US
from sunveil.simulate.places import default_places, lay_cells
from sunveil.site import Site

TOWNS = (
    "latitude,longitude,altitude,timezone,weight,name\n"
    "40.02,-105.27,1655,America/Denver,9,Boulder\n"
    "-33.87,151.21,20,Australia/Sydney,1,Sydney\n"
)


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_list_of_sites_is_read(tmp_path):
    boulder, sydney = read_places(written(tmp_path / "towns.csv", TOWNS))
    assert boulder == Place("Boulder", Site(40.02, -105.27, 1655.0), "America/Denver", 9.0)
    assert (boulder.statistics, sydney.statistics) == (US, EUROPE)


def test_what_a_list_leaves_out_is_filled_in(tmp_path):
    (place,) = read_places(written(tmp_path / "one.csv", "Latitude,Longitude\n40.0,-105.2\n"))
    assert (place.name, place.timezone, place.weight) == ("site 1", "Etc/GMT+7", 1.0)
    assert 1000.0 < place.site.height < 3000.0
    assert place.statistics == US


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("lat,longitude\n1,2\n", "lacks the column latitude"),
        ("latitude,longitude\n", "is empty"),
        ("latitude,longitude\n95,2\n", "site 1 of .* is no place: latitude must be between"),
        ("latitude,longitude\nnorth,2\n", "latitude that is not a number"),
        ("latitude,longitude\n2019-01-01,2\n", "latitude that is not a number"),
        ("latitude,longitude,name\n40,,a\n", "no latitude or no longitude"),
        ("latitude,longitude,weight\n40,2,1\n40,3,-1\n", "site 2 of .* weight"),
        ("latitude,longitude,timezone\n40,2,Mars/Base\n", "time zone that is not known"),
    ],
)
def test_a_list_that_cannot_be_used_is_refused(tmp_path, text, words):
    with pytest.raises(SourceError, match=words):
        read_places(written(tmp_path / "bad.csv", text))


def test_a_list_that_is_not_there_or_no_table_is_refused(tmp_path):
    with pytest.raises(SourceError, match="not a file"):
        read_places(tmp_path / "none.csv")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(SourceError, match="cannot be read"):
        read_places(tmp_path / "broken.parquet")


def test_cells_are_distinct_and_share_out_all_systems():
    cells = lay_cells(default_places(), systems=5000, cells=200, seed=1)
    assert len({cell.tenths for cell in cells}) == len(cells) == 200
    assert sum(cell.systems for cell in cells) == 5000
    assert min(cell.systems for cell in cells) >= 1
    assert len({cell.systems for cell in cells}) > 10
    assert {cell.name for cell in cells} == {place.name for place in default_places()}
    for cell in cells:
        assert cell.site.latitude == pytest.approx(round(cell.site.latitude, 1))


def test_every_site_has_the_cell_it_stands_in():
    tenths = {cell.tenths for cell in lay_cells(default_places(), systems=60, cells=40, seed=1)}
    for place in default_places():
        own = (round(place.site.latitude * 10), round(place.site.longitude * 10))
        assert own in tenths


def test_weights_say_where_systems_are(tmp_path):
    places = read_places(written(tmp_path / "towns.csv", TOWNS))
    cells = lay_cells(places, systems=10_000, cells=40, seed=1)
    boulder = sum(cell.systems for cell in cells if cell.name == "Boulder")
    # cells differ in size, so that it is not 9,000 just so
    assert 8000 < boulder < 9500


def test_more_cells_than_systems_are_refused():
    with pytest.raises(ParameterError, match="cannot have 5 cells"):
        lay_cells(default_places(), systems=4, cells=5, seed=1)
