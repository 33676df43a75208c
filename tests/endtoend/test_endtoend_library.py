from __future__ import annotations

import warnings

from sunveil.endtoend.cells import estimate_cells
from sunveil.endtoend.inputs import comma_csv, estimates_csv
from sunveil.endtoend.library import python_release, python_tables


def test_releases_from_python_are_steady_but_for_what_is_drawn(tmp_path, five_days):
    door = python_release(unit="readings:1", epsilon=1.0)
    first, second = (door(comma_csv(tmp_path, five_days)) for _ in range(2))
    assert (first.public["refusal"], first.public["systems"]) == ("none", "home00 home01 home02")
    assert first.difference(second) == ""
    assert first.drawn != second.drawn


def test_tables_from_python_are_steady_but_for_what_is_drawn(tmp_path):
    path = estimates_csv(tmp_path, estimate_cells(30, whole=30))
    first, second = (python_tables(epsilon=1.0)(path) for _ in range(2))
    assert first.public["refusal"] == "none"
    assert first.difference(second) == ""
    assert first.drawn != second.drawn


def test_a_refusal_and_a_defect_are_outcomes(tmp_path, monkeypatch):
    refused = python_tables(epsilon=1.0)(tmp_path / "none.csv").public
    assert refused["refusal"].startswith("SourceError: ")
    assert str(tmp_path) not in refused["refusal"]

    def broken(_):
        raise ZeroDivisionError

    monkeypatch.setattr("sunveil.endtoend.library.read_fleet", broken)
    found = python_tables(epsilon=1.0)(tmp_path / "none.csv").public
    assert found == {"refusal": "traceback of ZeroDivisionError"}


def test_warnings_are_an_output(tmp_path, monkeypatch):
    path = estimates_csv(tmp_path, estimate_cells(30, whole=30))
    from sunveil.endtoend import library

    read = library.read_fleet

    def warning(given):
        warnings.warn("overflow", RuntimeWarning, stacklevel=1)
        return read(given)

    monkeypatch.setattr(library, "read_fleet", warning)
    assert python_tables(epsilon=1.0)(path).public["warnings"] == "overflow"
