"""Products of a dataset, and the publisher that charges, draws and keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sunveil._extras import lazy_names

if TYPE_CHECKING:
    from sunveil.publish.account import PublicationAccount
    from sunveil.publish.fleet_tables import FleetTables, TableChoices
    from sunveil.publish.publisher import Publisher
    from sunveil.publish.synthetic_table import SyntheticTable
    from sunveil.publish.system_rows import SystemRows
    from sunveil.releases.release_choices import Choices

__all__ = [
    "Choices",
    "FleetTables",
    "PublicationAccount",
    "Publisher",
    "SyntheticTable",
    "SystemRows",
    "TableChoices",
]

__getattr__ = lazy_names(
    __name__,
    {
        "sunveil.publish.account": ("PublicationAccount",),
        "sunveil.publish.fleet_tables": ("FleetTables", "TableChoices"),
        "sunveil.publish.publisher": ("Publisher",),
        "sunveil.publish.synthetic_table": ("SyntheticTable",),
        "sunveil.publish.system_rows": ("SystemRows",),
        "sunveil.releases.release_choices": ("Choices",),
    },
)
