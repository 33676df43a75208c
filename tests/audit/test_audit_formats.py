"""Files of every format are read, neighbours differ in one unit, and what goes wrong is told."""

from __future__ import annotations

import warnings

import pytest

from audit.cases import data_for, rule_of_estimates
from audit.datasets import (
    DAY,
    PAIRS,
    READING,
    SYSTEM,
    THREE,
    THREE_READINGS,
    estimate_cells,
    meter_cells,
    neighbours,
)
from audit.entries import python_reading, python_tables, run_command
from audit.formats import ESTIMATE_SOURCES, METER_SOURCES


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


@pytest.mark.parametrize("name", ESTIMATE_SOURCES)
def test_estimates_of_every_format_are_added_up(name, tmp_path):
    rows, write = estimate_cells(40, whole=10), ESTIMATE_SOURCES[name][0]
    tables = python_tables(epsilon=50.0, tables=("totals",), regions=name == "CSV with regions")
    found = tables(write(tmp_path, rows))
    assert found.public["refusal"] == "none"
    assert rule_of_estimates(rows, 25.0)(found.drawn) == "near"


@pytest.fixture(scope="module")
def data():
    return meter_cells(THREE, days=3)


@pytest.mark.parametrize(
    ("unit", "most"), [(READING, 1), (THREE_READINGS, 72), (DAY, 24), (SYSTEM, 72)]
)
def test_neighbours_differ_in_one_unit(data, unit, most):
    made = list(neighbours(data, unit, spots=3))
    single, several = {"nan", "lone quote", "not UTF-8", "long text"}, set(PAIRS)
    needed = {READING: single, THREE_READINGS: several}.get(unit, single | several)
    assert {each.kind for each in made} >= needed
    for each in made:
        other = each.of(data)
        assert (other.columns, list(other.by_system)) == (data.columns, list(data.by_system))
        changed = [
            (name, place)
            for name, cells in data.by_system.items()
            for place, both in enumerate(zip(cells, other.by_system[name], strict=True))
            if both[0] != both[1]
        ]
        names, places = {name for name, _ in changed}, [place for _, place in changed]
        assert names == {each.system}
        assert places[-1] - places[0] < most
        assert unit != DAY or places[0] // 24 == places[-1] // 24
        assert unit != THREE_READINGS or len(places) <= 3


def test_the_first_cell_of_all_is_among_them_and_so_is_a_bright_one(data):
    places = {each.places[0] for each in neighbours(data, READING, kinds=["text"], spots=3)}
    assert places == {0, 36, 71}
    assert float(data.by_system["home00"][0]) == 0.0 < float(data.by_system["home00"][36])
    # and what would change nothing is not
    same = data.replaced("home00", range(72), [b"nan"] * 72)
    assert list(neighbours(same, READING, kinds=["nan"], spots=1)) == []


def test_a_net_meter_reads_less_by_a_load_that_is_never_none():
    whole, net = (meter_cells(THREE[:1], days=1, base_load_kw=load) for load in (0.0, 0.4))
    both = zip(whole.by_system["home00"], net.by_system["home00"], strict=True)
    assert all(float(theirs) <= float(ours) - 0.399 for ours, theirs in both)
    assert float(net.by_system["home00"][0]) < 0.0


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
