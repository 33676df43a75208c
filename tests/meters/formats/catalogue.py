"""All samples of all formats, by the names that tests, findings and golden files call them by."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from .exports import EXPORTS
from .sample import FormatSample, Writer
from .tables import CONTAINERS, JSON, LANGUAGES, NUMBERS, STAMPS
from .utilities import NET, REGISTERS, UTILITIES, WIDE
from .vendors import VENDORS

FAMILIES: dict[str, dict[str, Writer]] = {
    **VENDORS,
    "wide": WIDE,
    "utilities": UTILITIES,
    "containers": CONTAINERS,
    "json": JSON,
    "stamps": STAMPS,
    "numbers": NUMBERS,
    "languages": LANGUAGES,
    "registers": REGISTERS,
    "net": NET,
}
WRITERS: dict[str, Writer] = {
    f"{family}-{name}": writer
    for family, writers in FAMILIES.items()
    for name, writer in writers.items()
}
EVERY = WRITERS | EXPORTS


@lru_cache(maxsize=256)
def sample(name: str, days: int) -> FormatSample:
    return replace(EVERY[name](days), name=name)
