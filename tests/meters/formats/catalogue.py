"""All samples of all formats."""

from __future__ import annotations

from functools import lru_cache

from . import (
    samples_containers,
    samples_enphase,
    samples_fronius,
    samples_json,
    samples_languages,
    samples_nem12,
    samples_net,
    samples_numbers,
    samples_pvoutput,
    samples_registers,
    samples_sma,
    samples_solaredge,
    samples_stamps,
    samples_sunny_portal,
    samples_utilities,
    samples_wide,
)
from .sample import FormatSample, Writer

MODULES = (
    samples_sma,
    samples_sunny_portal,
    samples_fronius,
    samples_enphase,
    samples_solaredge,
    samples_pvoutput,
    samples_nem12,
    samples_wide,
    samples_utilities,
    samples_containers,
    samples_json,
    samples_stamps,
    samples_numbers,
    samples_languages,
    samples_registers,
    samples_net,
)
WRITERS: dict[str, Writer] = {
    f"{module.__name__.rpartition('samples_')[2]}-{writer.__name__}": writer
    for module in MODULES
    for writer in module.WRITERS
}
"""All writers, by the names that tests and findings call their samples by."""


@lru_cache(maxsize=256)
def sample(name: str, days: int) -> FormatSample:
    """Return one sample, of as many days as are asked for."""
    return WRITERS[name](days)
