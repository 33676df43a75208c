"""Files hold the cells that they were given, to the byte, and say when they cannot."""

from __future__ import annotations

import json
import warnings
import zipfile

import pyarrow.parquet as pq
import pytest

from audit.cases import data_for
from audit.datasets import (
    CELLS,
    DAY,
    PAIRS,
    READING,
    SYSTEM,
    TEARING,
    THREE,
    THREE_READINGS,
    CannotHold,
    PrivateCells,
    Raw,
    meter_cells,
    neighbours,
)
from audit.entries import python_reading, python_tables, run_command
from audit.formats import ESTIMATE_SOURCES, METER_SOURCES

STAMPS = ("2019-06-01 00:00", "2019-06-01 01:00")
METERS = PrivateCells({"a": (b"1", b'"'), "b": (b"", b"2.5")}, STAMPS)
ROWS = PrivateCells(
    {"a": (b"180", b"30", b"nan")}, ("surface_azimuth", "surface_tilt", "dc_capacity_kw")
)


def numbers_only(data=METERS):
    return data.replaced("a", [1], [b"inf"])


def test_folders_and_archives_hold_the_same(tmp_path):
    folder = METER_SOURCES["folder of CSV"].write(tmp_path, METERS)
    archive = METER_SOURCES["zipped folder"].write(tmp_path, METERS)
    with zipfile.ZipFile(archive) as held:
        assert {name: held.read(name) for name in held.namelist()} == {
            f"meters/{path.name}": path.read_bytes() for path in folder.iterdir()
        }


def test_parquet_of_numbers_holds_numbers_alone(tmp_path):
    path = METER_SOURCES["Parquet, numbers"].write(tmp_path, numbers_only())
    assert pq.read_table(path).column("power_kw").to_pylist() == [1.0, float("inf"), None, 2.5]
    with pytest.raises(CannotHold):
        METER_SOURCES["Parquet, numbers"].write(tmp_path, METERS)


def test_estimates_are_written_as_what_their_format_knows(tmp_path):
    assert (
        ESTIMATE_SOURCES["CSV, semicolons"][0](tmp_path, ROWS)
        .read_bytes()
        .endswith(b"\na;180;30;nan\n")
    )
    (row,) = json.loads(ESTIMATE_SOURCES["JSON"][0](tmp_path, ROWS).read_text())
    assert (row["surface_azimuth"], row["dc_capacity_kw"]) == (180.0, "nan")
    (row,) = json.loads(ESTIMATE_SOURCES["JSON with planes"][0](tmp_path, ROWS).read_text())
    assert [plane["share"] for plane in row["planes"]] == ["nan", 2.0]
    table = pq.read_table(ESTIMATE_SOURCES["Parquet"][0](tmp_path, ROWS))
    assert table.column("surface_tilt").to_pylist() == [30.0]


@pytest.mark.parametrize("name", METER_SOURCES)
def test_a_dataset_of_every_format_is_read_or_refused_in_words(name, tmp_path):
    source, data = METER_SOURCES[name], data_for(name, "short")
    found = python_reading(options=source.options)(source.write(tmp_path, data)).public
    assert found["refusal"] == "none", found
    told = name != "CSV, column to be told"
    assert told is not any(each.endswith(" is refused") for each in found), found
    if told:
        systems = list(data.by_system)[: 1 if source.one_system else None]
        assert [each for each in data.by_system if f"{each} is read" in found] == systems
        held = [name for name in found if " at 2019-06-" in name]
        # the last line of a logger has no stamp
        lost = name == "CSV, beside temperatures"
        assert len(held) == len(systems) * len(data.columns) - lost


def test_raw_cells_are_written_as_they_are(tmp_path):
    spoilt = METERS.replaced("a", [0], [Raw(b'1, "unit": "W"')])
    assert (
        b'"power_kw": 1, "unit": "W"}' in METER_SOURCES["JSON"].write(tmp_path, spoilt).read_bytes()
    )
    book = METERS.replaced("a", [0], [Raw(b"<c><v>inf</v></c>")])
    with zipfile.ZipFile(METER_SOURCES["workbook"].write(tmp_path, book)) as archive:
        assert b"<v>inf</v>" in archive.read("xl/worksheets/sheet1.xml")
    damaged = METERS.replaced("a", [0], [Raw(b"checksum")])
    with zipfile.ZipFile(METER_SOURCES["zipped folder"].write(tmp_path, damaged)) as archive:
        assert archive.testzip() == "meters/a.csv"


# Neighbours


@pytest.fixture(scope="module")
def data():
    return meter_cells(THREE, days=3)


def changed(data, other) -> dict[str, list[int]]:
    """Return which cells differ, by system."""
    found = {}
    for name, cells in data.by_system.items():
        both = zip(cells, other.by_system[name], strict=True)
        places = [place for place, (ours, theirs) in enumerate(both) if ours != theirs]
        if places:
            found[name] = places
    return found


@pytest.mark.parametrize(("unit", "most"), [(READING, 1), (DAY, 24), (SYSTEM, 72)])
def test_neighbours_differ_in_one_unit(data, unit, most):
    made = list(neighbours(data, unit, spots=3))
    assert {each.kind for each in made} >= {"nan", "lone quote", "not UTF-8", "long text"}
    for each in made:
        other = each.of(data)
        ((name, places),) = changed(data, other).items()
        assert name == each.system
        assert places[-1] - places[0] < most
        assert unit != DAY or places[0] // 24 == places[-1] // 24
        assert (other.columns, list(other.by_system)) == (data.columns, list(data.by_system))
        assert len(other.by_system[name]) == len(data.columns)


def test_the_first_cell_of_all_is_among_them_and_so_is_a_bright_one(data):
    places = {each.places[0] for each in neighbours(data, READING, kinds=["text"], spots=3)}
    assert places == {0, 36, 71}
    assert float(data.by_system["home00"][0]) == 0.0 < float(data.by_system["home00"][36])


def test_what_would_change_nothing_is_no_neighbour(data):
    same = data.replaced("home00", range(72), [b"nan"] * 72)
    assert list(neighbours(same, READING, kinds=["nan"], spots=1)) == []


def test_what_tears_a_line_apart_is_known_as_such():
    ends = {kind for kind, cell in CELLS.items() if len(cell.decode("latin-1").splitlines()) > 1}
    several = {kind for kind, cells in PAIRS.items() if any(b"\n" in cell for _, cell in cells)}
    assert ends | several == TEARING


def test_pairs_and_triples_stand_in_one_unit(data):
    made = list(neighbours(data, THREE_READINGS, spots=1))
    assert {each.kind for each in made} == set(PAIRS)
    assert {len(each.places) for each in made} == {2, 3}
    for unit, most in ((DAY, 24), (SYSTEM, 72)):
        several = [each for each in neighbours(data, unit) if each.kind in PAIRS]
        assert {each.kind for each in several} == set(PAIRS)
        assert all(each.places[-1] - each.places[0] < most for each in several)
    assert not [each for each in neighbours(data, READING) if each.kind in PAIRS]


# Simulated cells


def test_a_net_meter_reads_less_by_a_load_that_is_never_none():
    whole, net = (meter_cells(THREE[:1], days=1, base_load_kw=load) for load in (0.0, 0.4))
    both = zip(whole.by_system["home00"], net.by_system["home00"], strict=True)
    assert all(float(theirs) <= float(ours) - 0.399 for ours, theirs in both)
    assert float(net.by_system["home00"][0]) < 0.0


# Outcomes of entry points


def test_a_refusal_and_a_defect_are_outcomes(tmp_path, monkeypatch):
    refused = python_tables(epsilon=1.0)(tmp_path / "none.csv").public
    assert refused["refusal"].startswith("SourceError: ")
    assert str(tmp_path) not in refused["refusal"]
    monkeypatch.setattr("audit.entries.read_fleet", lambda *_, **__: 1 / 0)
    found = python_tables(epsilon=1.0)(tmp_path / "none.csv").public
    assert found == {"refusal": "traceback of ZeroDivisionError"}


def test_what_a_command_warns_of_and_breaks_off_with_is_an_outcome():
    def command(_):
        warnings.warn("once", RuntimeWarning, stacklevel=1)
        return 0

    assert all("once" in run_command([], command).err for _ in range(2))
    assert run_command([], lambda _: 1 / 0).code == "traceback of ZeroDivisionError"
