"""Columns of net meters are known by their names, and registers of two tariffs are added up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from meter_makers import write_table

from sunveil.cli import main
from sunveil.errors import MeterError, SunveilError
from sunveil.meters import MeterOptions, from_pandas, read_meters, records_from_frame
from sunveil.meters.describe_file import describe_source
from sunveil.meters.find_columns import find_roles
from sunveil.meters.header_and_units import TableColumn
from sunveil.meters.reading_options import ADDED, Register

TIMES = pd.date_range("2024-06-01", periods=96, freq="h", tz="UTC")
HOUR = np.asarray(TIMES.hour)
LOW = (HOUR < 7) | (HOUR >= 20)
SUN = np.maximum(np.sin((HOUR - 6) / 12 * np.pi), 0.0) * 3.0
EXPORT = [np.where(LOW, 0.0, SUN), np.where(LOW, SUN, 0.0)]
IMPORT = [np.where(LOW, 0.0, 0.3), np.where(LOW, 0.2, 0.0)]
NET = sum(EXPORT) - sum(IMPORT)
NAMED = {"export_column": ["b kWh", "c kWh"], "import_column": ["d kWh", "e kWh"]}


def table(names: str, *columns: np.ndarray) -> pd.DataFrame:
    columns = columns or (*EXPORT, *IMPORT)
    return pd.DataFrame({"time": TIMES, **dict(zip(names.split(", "), columns, strict=True))})


def read(path: Path, **options: object) -> np.ndarray:
    (record,) = read_meters(path, label="start", cleaning="each", timezone="UTC", **options)
    assert record.net
    return record.power_kw


@pytest.mark.parametrize("kind", ["csv", "xlsx", "json", "parquet"])
def test_columns_that_are_named_are_added_up_in_every_format(kind, tmp_path):
    path = write_table(table("b kWh, c kWh, d kWh, e kWh"), tmp_path / f"a.{kind}")
    np.testing.assert_allclose(read(path, **NAMED), NET, atol=1e-9)
    joined = {name: " + ".join(each) for name, each in NAMED.items()}
    np.testing.assert_allclose(read(path, **joined), NET, atol=1e-9)
    np.testing.assert_allclose(
        read(path, export_column="2 + 3", import_column=("4", "5")), NET, atol=1e-9
    )
    (tmp_path / "schema.yaml").write_text(
        "".join(f'{name}: "{each}"\n' for name, each in joined.items())
    )
    np.testing.assert_allclose(read(path, schema=tmp_path / "schema.yaml"), NET, atol=1e-9)


@pytest.mark.parametrize(
    "names",
    [
        "Export T1 kWh, Export T2 kWh, Import T1 kWh, Import T2 kWh",
        "Teruglevering normaal (kWh), Teruglevering laag (kWh), Levering normaal (kWh),"
        " Levering laag (kWh)",
        "Injectie dag kWh, Injectie nacht kWh, Afname dag kWh, Afname nacht kWh",
        "export day kWh, export night kWh, import day kWh, import night kWh",
        "returned_1_kwh, returned_2_kwh, delivered_1_kwh, delivered_2_kwh",
        "Returned 1 (kWh), Returned 2 (kWh), Delivered 1 (kWh), Delivered 2 (kWh)",
        "Einspeisung Tarif 1 kWh, Einspeisung Tarif 2 kWh, Bezug Tarif 1 kWh, Bezug Tarif 2 kWh",
    ],
)
def test_tariffs_are_added_up_by_themselves(names, tmp_path):
    frame = table(", ".join(each.strip() for each in names.split(",")))
    frame.to_csv(path := tmp_path / "a.csv", index=False)
    np.testing.assert_allclose(read(path), NET, atol=1e-9)
    (record,) = records_from_frame(
        frame, MeterOptions(label="start", cleaning="each", timezone="UTC")
    )
    np.testing.assert_allclose(record.power_kw, NET, atol=1e-9)


def test_counters_of_tariffs_are_added_up_by_their_obis_numbers(tmp_path):
    names = "1-0:2.8.1 (kWh), 1-0:2.8.2 (kWh), 1-0:1.8.1 (kWh), 1-0:1.8.2 (kWh)"
    counts = [100.0 + np.cumsum(each) for each in (*EXPORT, *IMPORT)]
    table(names, *counts).to_csv(path := tmp_path / "a.csv", index=False)
    (record,) = read_meters(path, cleaning="each", timezone="UTC")
    assert record.differenced
    np.testing.assert_allclose(record.power_kw, NET[1:], atol=1e-9)
    found = describe_source(path)
    assert found.options.export_column == "1-0:2.8.1 (kWh) + 1-0:2.8.2 (kWh)"
    assert found.options.register == Register.CUMULATIVE


def test_a_column_of_all_tariffs_goes_before_those_of_each(tmp_path):
    names = "Export T1 kWh, Export T2 kWh, Export total kWh, Import total kWh"
    frame = table(names, *EXPORT, sum(EXPORT), sum(IMPORT))
    frame.to_csv(path := tmp_path / "a.csv", index=False)
    np.testing.assert_allclose(read(path), NET, atol=1e-9)


def test_a_cell_without_a_number_leaves_its_sum_out(tmp_path):
    frame = table("Export T1 kWh, Export T2 kWh, Import T1 kWh, Import T2 kWh")
    frame.loc[30, "Export T2 kWh"] = np.nan
    frame.to_csv(path := tmp_path / "a.csv", index=False)
    (record,) = read_meters(path, label="start", cleaning="each", timezone="UTC")
    np.testing.assert_allclose(record.power_kw, np.delete(NET, 30), atol=1e-9)


def test_columns_that_may_be_anything_are_not_added_up(tmp_path):
    frame = table("export kWh, export b kWh, import a kWh, import b kWh")
    frame.to_csv(path := tmp_path / "a.csv", index=False)
    with pytest.raises(SunveilError, match="option `power_column`"):
        read_meters(path, cleaning="each", timezone="UTC")
    units = table("Export T1 kWh, Export T2 Wh, Import T1 kWh, Import T2 kWh")
    units.to_csv(path, index=False)
    with pytest.raises(MeterError, match="different units"):
        read_meters(path, cleaning="each", timezone="UTC")


def test_a_command_adds_up_what_it_is_given_several_times(tmp_path, capsys):
    table("b kWh, c kWh, d kWh, e kWh").to_csv(path := tmp_path / "a.csv", index=False)
    names = ["--export-column", "b kWh", "--export-column", "c kWh", "--import-column", "d kWh"]
    code = main(["schema", str(path), *names, "--import-column", "e kWh", "--timezone", "UTC"])
    said = capsys.readouterr().out
    assert code == 0, said
    assert 'export_column: "b kWh + c kWh"' in said
    assert 'import_column: "d kWh + e kWh"' in said


def test_generation_of_two_roofs_is_added_up(tmp_path):
    frame = table("east kW, west kW", *EXPORT)
    frame.to_csv(path := tmp_path / "a.csv", index=False)
    (record,) = read_meters(path, power_column=["east kW", "west kW"], timezone="UTC")
    np.testing.assert_allclose(record.power_kw, sum(EXPORT), atol=1e-9)
    assert not record.net
    assert from_pandas(frame.set_index("time")["east kW"]).power_kw.max() < 3.1


def rows_of(kinds: str, *columns: np.ndarray, kept: str = "all") -> pd.DataFrame:
    """Return a table with a row for each tariff and time, or for the tariff that holds alone."""
    parts = [
        pd.DataFrame({"time": TIMES, "Register": kind, "Volume kWh": values}).loc[
            np.full(len(TIMES), True) if kept == "all" else ((number % 2 == 1) == LOW)
        ]
        for number, (kind, values) in enumerate(zip(kinds.split(", "), columns, strict=True))
    ]
    return pd.concat(parts).sort_values("time", kind="stable")


@pytest.mark.parametrize("kept", ["all", "alone"])
@pytest.mark.parametrize(
    "kinds",
    [
        "Injectie Dag, Injectie Nacht, Afname Dag, Afname Nacht",
        "2.8.1, 2.8.2, 1.8.1, 1.8.2",
        "Export T1, Export T2, Import T1, Import T2",
    ],
)
def test_rows_of_tariffs_are_added_up(tmp_path, kinds, kept):
    frame = rows_of(kinds, *EXPORT, *IMPORT, kept=kept)
    frame.to_csv(path := tmp_path / "a.csv", index=False)
    np.testing.assert_allclose(read(path), NET, atol=1e-9)
    two = pd.concat([frame.assign(system_id="a"), frame.assign(system_id="b")])
    two.to_csv(path, index=False)
    records = list(read_meters(path, label="start", cleaning="each", timezone="UTC"))
    assert [each.system_id for each in records] == ["a", "b"]
    for record in records:
        np.testing.assert_allclose(record.power_kw, NET, atol=1e-9)


def test_a_tariff_that_is_missing_among_others_leaves_its_sum_out(tmp_path):
    frame = rows_of("Export T1, Export T2, Import T1, Import T2", *EXPORT, *IMPORT)
    lost = (frame["time"] == TIMES[30]) & (frame["Register"] == "Export T1")
    frame[~lost].to_csv(path := tmp_path / "a.csv", index=False)
    np.testing.assert_allclose(read(path), np.delete(NET, 30), atol=1e-9)


def roles(header: str, **options: object):
    columns = [TableColumn(name) for name in ("time", *header.split(", "))]
    found = find_roles(columns, MeterOptions(**options), where="a.csv")
    return found, [
        ADDED.join(columns[at].name for at in places) or None
        for places in (found.power, found.imported)
    ]


OWN = {"export_column": "b kW", "import_column": "a kW"}
# headers, with the columns of what is given and what is taken
BY_NAME = """
Import (kWh), Export (kWh)                      | Export (kWh)        | Import (kWh)
Export kW, Import kW, Net kW                    | Export kW           | Import kW
Energy from grid [Wh], Energy to grid [Wh]      | Energy to grid [Wh] | Energy from grid [Wh]
gridImport_W, gridExport_W                      | gridExport_W        | gridImport_W
delivered kWh, received kWh                     | received kWh        | delivered kWh
Usage (kWh), Fed in (kWh)                       | Fed in (kWh)        | Usage (kWh)
Netzbezug kW, Netzeinspeisung kW, Verbrauch kW  | Netzeinspeisung kW  | Netzbezug kW
1-0:1.8.0*255 kWh, 1-0:2.8.0*255 kWh            | 1-0:2.8.0*255 kWh   | 1-0:1.8.0*255 kWh
export kW                                       | export kW           |
"""
BY_OPTIONS = [
    ("import kW, export kW, solar kW", {"net": True}, "export kW", "import kW"),
    ("a kW, b kW", OWN, "b kW", "a kW"),
    ("a kW, export kW", {"import_column": "a kW"}, "export kW", "a kW"),
    ("import kW, b kW", {"export_column": "b kW"}, "b kW", None),
    ("grid kW, solar kW, use kW", {"net": True}, "grid kW", None),
    ("x kW", {"net": True}, "x kW", None),
]
for line in BY_NAME.strip().splitlines():
    head, given, taken = (each.strip() for each in line.split("|"))
    BY_OPTIONS.append((head, {}, given, taken or None))


@pytest.mark.parametrize(("header", "options", "power", "imported"), BY_OPTIONS)
def test_the_columns_of_a_net_meter_are_known_by_name(header, options, power, imported):
    found, names = roles(header, **options)
    assert found.net
    assert names == [power, imported]
    assert (found.register is Register.CUMULATIVE) == ("8.0" in header)


@pytest.mark.parametrize(
    ("header", "power"),
    [
        ("import kW, export kW, solar kW", "solar kW"),
        ("Einspeisung (kWh)", "Einspeisung (kWh)"),
        ("Energy delivered (kWh)", "Energy delivered (kWh)"),
        ("Generation exported (kWh), Consumption (kWh)", "Generation exported (kWh)"),
        ("power_kw, export_kw", "power_kw"),
    ],
)
def test_generation_goes_before_a_net_that_nobody_asks_for(header, power):
    found, names = roles(header)
    assert not found.net
    assert names == [power, None]


@pytest.mark.parametrize(
    ("header", "options", "words"),
    [
        (
            "import a kW, import b kW, export kW",
            {},
            "option `import_column`, one of 'import a kW', 'import",
        ),
        ("a kW, b kW", {"import_column": "a kW"}, "option `export_column`"),
        ("a kW, b kW", {"export_column": "c"}, "has no column 'c'"),
        ("a kW, b kW", {"export_column": "b kW", "import_column": "b kW"}, "as two things"),
    ],
)
def test_what_a_header_leaves_open_is_asked_for(header, options, words):
    with pytest.raises(MeterError, match=words):
        roles(header, **options)
