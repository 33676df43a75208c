"""Golden files: JSON objects with a line for each key; numbers keep the digits they have."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).with_name("recorded")
MISSING = "(missing)"
Rows = dict[str, Any]


def fixed(value: Any, digits: int) -> Decimal | None:
    """Return a number with so many decimals; None for None and NaN."""
    if value is None or math.isnan(value):
        return None
    return Decimal(f"{float(value):.{digits}f}") + Decimal(0)  # never -0.00


def significant(value: Any, digits: int) -> Decimal | None:
    """Return a number with so many significant digits; None for None and NaN."""
    if value is None or math.isnan(value):
        return None
    return Decimal(f"{float(value):.{digits - 1}e}") + Decimal(0)


def plain(value: Any, digits: int = 5) -> Any:
    """Return a value of JSON whose floats have so many significant digits."""
    if isinstance(value, Mapping):
        return {str(key): plain(each, digits) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each, digits) for each in value]
    if hasattr(value, "tolist"):  # of numpy
        return plain(value.tolist(), digits)
    if isinstance(value, float):
        return significant(value, digits)
    if value is None or isinstance(value, (bool, int, str, Decimal)):
        return value
    return str(value)


def text_of(value: Any) -> str:
    """Return a value as JSON on one line; a number keeps its trailing zeros."""
    if isinstance(value, Decimal):
        return f"{value:e}" if int(value.as_tuple().exponent) >= 0 else f"{value:f}"
    if isinstance(value, dict):
        pairs = (f"{json.dumps(key)}: {text_of(value[key])}" for key in sorted(value))
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(text_of, value)) + "]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def write(name: str, rows: Rows) -> None:
    lines = ",\n".join(f"{json.dumps(key)}: {text_of(rows[key])}" for key in sorted(rows))
    (RECORDED / f"{name}.json").write_text("{\n" + lines + "\n}\n", encoding="utf-8")


def read(name: str) -> Rows:
    path = RECORDED / f"{name}.json"
    return loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def loads(text: str) -> Rows:
    rows: Rows = json.loads(text, parse_float=Decimal)
    return rows


@dataclass(frozen=True)
class Difference:
    """A place where a golden file and what is answered now differ."""

    key: str
    place: str
    recorded: Any
    now: Any
    discrete: bool

    def __str__(self) -> str:
        return f"{self.key}{self.place}: {_short(self.recorded)} recorded, {_short(self.now)} now"


def _short(value: Any) -> str:
    text = value if value is MISSING else text_of(value)
    return text if len(text) < 300 else text[:300] + " ..."


def differences(recorded: Rows, now: Rows) -> list[Difference]:
    """Return where what is answered now differs, by key."""
    now = loads("{" + ",".join(f"{json.dumps(k)}: {text_of(v)}" for k, v in now.items()) + "}")
    return [
        each
        for key in sorted({*recorded, *now})
        for each in _differ(key, "", recorded.get(key, MISSING), now.get(key, MISSING))
    ]


def _differ(key: str, place: str, old: Any, new: Any) -> Iterator[Difference]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted({*old, *new}):
            yield from _differ(
                key, f"{place}.{name}", old.get(name, MISSING), new.get(name, MISSING)
            )
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _differ(key, f"{place}[{number}]", one, other)
    elif isinstance(old, Decimal) and isinstance(new, Decimal):
        apart = abs(old - new)
        if "azimuth" in place:
            apart = min(apart, abs(apart - 360))
        unit = max(Decimal(1).scaleb(int(one.as_tuple().exponent)) for one in (old, new))
        if apart > unit:
            yield Difference(key, place, old, new, discrete=False)
    elif ".levels[" in place and type(old) is type(new) is int:
        if abs(old - new) > 1:  # a reading at the edge of a tolerance
            yield Difference(key, place, old, new, discrete=False)
    elif type(old) is not type(new) or old != new:
        yield Difference(key, place, old, new, discrete=True)


def judge(found: list[Difference], keys: int, share: float) -> tuple[list[str], list[str]]:
    """Return what is wrong, and the exceptions that are allowed.

    A share of keys may differ in a discrete field, and then in numbers too.
    """
    other = {each.key for each in found if each.discrete}
    allowed = len(other) <= math.floor(keys * share)
    wrong = [str(each) for each in found if not (allowed and each.key in other)]
    return wrong, [str(each) for each in found if allowed and each.key in other]
