"""Which columns hold the readings of a net meter, by the words of a header alone."""

from __future__ import annotations

import pytest

from sunveil.errors import MeterError
from sunveil.meters import MeterOptions
from sunveil.meters.find_columns import find_roles
from sunveil.meters.header_and_units import TableColumn
from sunveil.meters.reading_options import ADDED, Register

NET = {"net": True}


def roles(header: str, **options: object):
    columns = [TableColumn(name) for name in ("time", *header.split(", "))]
    found = find_roles(columns, MeterOptions(**options), where="a.csv")
    return found, [
        ADDED.join(columns[at].name for at in places) or None
        for places in (found.power, found.imported)
    ]


@pytest.mark.parametrize(
    ("header", "options", "power", "imported"),
    [
        ("Import (kWh), Export (kWh)", {}, "Export (kWh)", "Import (kWh)"),
        ("Export kW, Import kW, Net kW", {}, "Export kW", "Import kW"),
        (
            "Energy from grid [Wh], Energy to grid [Wh]",
            {},
            "Energy to grid [Wh]",
            "Energy from grid [Wh]",
        ),
        ("gridImport_W, gridExport_W", {}, "gridExport_W", "gridImport_W"),
        ("delivered kWh, received kWh", {}, "received kWh", "delivered kWh"),
        ("Usage (kWh), Fed in (kWh)", {}, "Fed in (kWh)", "Usage (kWh)"),
        (
            "Netzbezug kW, Netzeinspeisung kW, Verbrauch kW",
            {},
            "Netzeinspeisung kW",
            "Netzbezug kW",
        ),
        ("1-0:1.8.0*255 kWh, 1-0:2.8.0*255 kWh", {}, "1-0:2.8.0*255 kWh", "1-0:1.8.0*255 kWh"),
        ("import kW, export kW, solar kW", NET, "export kW", "import kW"),
        ("a kW, b kW", {"export_column": "b kW", "import_column": "a kW"}, "b kW", "a kW"),
        ("a kW, export kW", {"import_column": "a kW"}, "export kW", "a kW"),
        ("import kW, b kW", {"export_column": "b kW"}, "b kW", None),
        ("export kW", {}, "export kW", None),
        ("grid kW, solar kW, use kW", NET, "grid kW", None),
        ("x kW", NET, "x kW", None),
    ],
)
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
