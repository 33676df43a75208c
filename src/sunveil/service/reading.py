"""How the meters of a dataset are read, as its curator said when it was added."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sunveil.errors import ParameterError
from sunveil.meters.options import MeterOptions
from sunveil.service.store.datasets import READING_FIELDS, READING_FLAGS, Served


def meter_options(dataset: Served) -> MeterOptions:
    """Return how to read the meters of a dataset.

    The clock of a dataset without a table of systems is kept with its place; where there is a
    table, the curator's word goes before the table's, as everywhere.
    """
    stated = dict(dataset.extra.get("options", {}))
    if dataset.table is None and dataset.timezone is not None:
        stated["timezone"] = dataset.timezone
    return options_from(stated)


def options_from(stated: Mapping[str, str]) -> MeterOptions:
    """Return the reader's options from the texts of a form, or refuse one that makes no sense."""
    given: dict[str, Any] = {name: stated[name] for name in READING_FIELDS if stated.get(name)}
    if "skip_rows" in given:
        if not str(given["skip_rows"]).isdecimal():
            raise ParameterError("the lines above the header are a number; correct it")
        given["skip_rows"] = int(given["skip_rows"])
    given |= {name: True for name in READING_FLAGS if name in given}
    return MeterOptions(**given)
