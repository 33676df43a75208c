from __future__ import annotations

import csv

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sunveil.errors import ParameterError
from sunveil.privacy import Guarantee, System
from sunveil.publication import Publication, write_publication
from sunveil.publication.publication_folder import defuse, read_table, restore
from sunveil.publication.published_tables import Column, PublishedTable

NAMES = ["=HYPERLINK(1)", "+1", "-x", "@a", "\tb", "'=c", "''", "'tis", "F-1", "＝d", None]


@given(st.text())
def test_what_was_defused_comes_back_and_begins_no_formula(text):
    held = defuse(text)
    assert restore(held) == text
    assert not held.startswith(tuple("=+-@\t\r\n＝＋－＠"))


def publication() -> Publication:
    rows = tuple((name, -1.5 * place, place) for place, name in enumerate(NAMES))
    columns = (
        Column("=group", "string", "A group."),
        Column("value", "number", "A number."),
        Column("systems", "integer", "A whole number."),
    )
    table = PublishedTable("odd", "Odd names.", columns, rows)
    return Publication("Odd", (table,), Guarantee(System(), 1.0, 0.0, "docs/proofs/counts.md"), "x")


def test_a_csv_file_holds_no_formula_and_numbers_stay_numbers(tmp_path):
    write_publication(tmp_path / "p", publication())
    with (tmp_path / "p" / "odd.csv").open(newline="", encoding="utf-8") as file:
        header, *lines = list(csv.reader(file))
    assert header == ["'=group", "value", "systems"]
    assert [line[0] for line in lines] == ["" if name is None else defuse(name) for name in NAMES]
    assert lines[1][1:] == ["-1.5", "1"]
    said = (tmp_path / "p" / "datapackage.json").read_text()
    assert said.count("have an apostrophe before them") == 1


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_both_files_are_read_back_with_the_names_as_they_were(tmp_path, ending):
    write_publication(tmp_path / "p", publication())
    frame = read_table(tmp_path / "p" / f"odd.{ending}")
    assert list(frame.columns) == ["=group", "value", "systems"]
    found = [None if pd.isna(name) else name for name in frame["=group"]]
    assert found == NAMES
    assert list(frame["value"]) == [-1.5 * place for place in range(len(NAMES))]


def test_a_file_that_is_not_described_is_refused(tmp_path):
    write_publication(tmp_path / "p", publication())
    (tmp_path / "p" / "other.csv").write_text("a\n")
    with pytest.raises(ParameterError, match=r"datapackage\.json"):
        read_table(tmp_path / "p" / "other.csv")
