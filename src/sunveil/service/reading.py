"""How the meters of a dataset are read, as its curator said when it was added."""

from __future__ import annotations

from typing import Any

from sunveil.meters.options import MeterOptions
from sunveil.service.store.datasets import Served

# Fields of the curator's form that are fields of the reader's options.
READING = ("timezone", "unit", "label")


def meter_options(dataset: Served) -> MeterOptions:
    """Return how to read the meters of a dataset.

    The clock of a dataset without a table of systems is kept with its place; where there is a
    table, the curator's word goes before the table's, as everywhere.
    """
    given: dict[str, Any] = dataset.extra.get("options", {})
    stated = {name: given[name] for name in READING if given.get(name)}
    if dataset.table is None and dataset.timezone is not None:
        stated["timezone"] = dataset.timezone
    return MeterOptions(**stated)
