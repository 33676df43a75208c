"""All samples of all formats."""

from __future__ import annotations

from functools import lru_cache

from . import (
    samples_cells,
    samples_containers,
    samples_enphase,
    samples_fronius,
    samples_nem12,
    samples_pvoutput,
    samples_registers,
    samples_sma,
    samples_solaredge,
    samples_utilities,
    samples_wide,
)
from .sample import FormatSample, Writer

WRITERS: tuple[Writer, ...] = (
    *samples_sma.WRITERS,
    *samples_fronius.WRITERS,
    *samples_enphase.WRITERS,
    *samples_solaredge.WRITERS,
    *samples_pvoutput.WRITERS,
    *samples_nem12.WRITERS,
    *samples_wide.WRITERS,
    *samples_utilities.WRITERS,
    *samples_containers.WRITERS,
    *samples_cells.WRITERS,
    *samples_registers.WRITERS,
)


def sample(name: str, days: int) -> FormatSample:
    """Return one sample, of as many days as are asked for."""
    number = list(samples(2)).index(name)
    return WRITERS[number](days)


@lru_cache(maxsize=4)
def samples(days: int) -> dict[str, FormatSample]:
    """Return all samples by their names, each of some days."""
    made = [write(days) for write in WRITERS]
    found = {sample.name: sample for sample in made}
    if len(found) != len(made):
        raise ValueError("two samples have one name")
    return found
