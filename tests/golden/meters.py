"""What is read of each sample file with both cleanings: records, refusals, proposed schemas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import yaml

from sunveil.meters import Record, read_meters

from .files import Rows, plain, significant
from .fleets import from_tests_of, sunveil, without_paths
from .seams import SunveilError

DAYS = 5
CLEANINGS = ("record", "each")


def record(folder: Path, texts: Rows) -> Rows:
    from_tests_of("meters")
    from formats.catalogue import WRITERS, sample

    rows: Rows = {}
    for name in WRITERS:
        made = sample(name, DAYS)
        path = folder / made.file_name
        path.write_bytes(made.content)
        for cleaning in CLEANINGS:
            given = made.schema if cleaning == "each" and made.schema is not None else made.options
            key = f"{name} {cleaning}"
            rows[key] = _read(key, path, texts, cleaning=cleaning, **given)
        options = [f"--{key.replace('_', '-')}={value}" for key, value in made.options.items()]
        said = sunveil("schema", path, *options)
        proposed = yaml.safe_load(said.out) if said.code == 0 else None
        rows[f"{name} schema"] = {"exit": said.code, "proposed": plain(proposed)}
        texts[f"{name} schema"] = without_paths(said.err, folder)
    return rows


def _read(key: str, path: Path, texts: Rows, **options: Any) -> Any:
    try:
        records = read_meters(path, **options)
    except SunveilError as error:
        texts[key] = without_paths(str(error), path.parent)
        return {"refused": type(error).__name__}
    for one in records:
        texts.update({f"{key} note {note}": True for note in one.notes})
    return [facts_of(one) for one in records]


def facts_of(one: Record) -> dict[str, Any]:
    """Return where the readings of a record are and what they add up to, in order and weighted."""
    seconds = one.times.astype("datetime64[s]").astype(np.int64)
    known = np.nan_to_num(one.power_kw)
    return {
        "system": one.system_id,
        "readings": len(seconds),
        "known": int(np.isfinite(one.power_kw).sum()),
        "first": str(one.times[0]),
        "seconds": int(seconds.sum()),
        "minutes": one.interval_minutes,
        "label": str(one.label),
        "label known": one.label_known,
        "net": one.net,
        "differenced": one.differenced,
        "sum": significant(known.sum(), 7),
        "weighted": significant(known @ np.arange(1.0, len(known) + 1.0), 7),
    }
