"""Record or compare golden files: ``python -m golden record|compare|digests [NAME ...]``."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from unittest.mock import patch

from . import files
from .files import Rows

# "messages" are the texts of all others: one file, which a change of wording alone touches.
AREAS = ("estimates", "paper", "scores", "questions", "ledger", "meters")
AREAS += ("http", "commands", "power", "simulate")
MESSAGES, REAL = "messages", "real"
# A ledger flushes every change, which takes long on a busy disk.
MEMORY = Path("/dev/shm")


def made(area: str) -> tuple[Rows, Rows]:
    """Return what an area answers now, and its texts, whose keys begin with its name."""
    texts: Rows = {}
    place = MEMORY if MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="golden", dir=place) as name:
        folder = Path(name)
        apart = {"SUNVEIL_CACHE": f"{name}/cache", "XDG_STATE_HOME": f"{name}/state"}
        with patch.dict(os.environ, apart):
            os.environ.pop("SUNVEIL_LEDGER", None)
            rows = import_module(f"{__package__}.{area}").record(folder, texts)
    return rows, {f"{area} {key}": text for key, text in texts.items() if text}


def of_area(area: str, texts: Rows) -> Rows:
    return {key: text for key, text in texts.items() if key.split()[0] == area}


def compared(area: str) -> tuple[list[str], list[str]]:
    """Return what is not as recorded, and the exceptions within what is allowed."""
    rows, texts = made(area)
    share = getattr(import_module(f"{__package__}.{area}"), "SHARE", 0.0)
    recorded = files.read(area)
    wrong, allowed = files.judge(files.differences(recorded, rows), len(recorded), share)
    words = files.differences(of_area(area, files.read(MESSAGES)), texts)
    worded = files.judge(words, len(recorded), share)
    wrong = [f"{area}.json: {each}" for each in wrong]
    return wrong + [f"{MESSAGES}.json: {each}" for each in worded[0]], allowed + worded[1]


def record(area: str, *, texts_alone: bool) -> None:
    rows, texts = made(area)
    if not texts_alone:
        files.write(area, rows)
    known = files.read(MESSAGES)
    own = of_area(area, known)
    files.write(MESSAGES, {key: known[key] for key in known if key not in own} | texts)


def real(data: Path, *, write: bool) -> list[str]:
    rows = dict(import_module(f"{__package__}.estimates").real(data))
    if write:
        files.write(REAL, rows)
        return []
    return [f"{REAL}.json: {each}" for each in files.differences(files.read(REAL), rows)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m golden", description=__doc__)
    parser.add_argument("what", choices=["record", "compare", "digests"])
    known = f"all, or some of {', '.join(AREAS)}, {MESSAGES}"
    parser.add_argument("names", nargs="*", metavar="NAME", help=known)
    parser.add_argument("--data", type=Path, help="folder of the labelled real series: these too")
    options = parser.parse_args()
    names = options.names or ([REAL] if options.data else AREAS)
    if options.what == "digests":
        from .scores import digests

        print("\n".join(digests()))
        return 0
    if unknown := set(names) - {*AREAS, MESSAGES, REAL}:
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    failed = False
    for area in AREAS if MESSAGES in names else [each for each in names if each != REAL]:
        began = time.perf_counter()
        wrong: list[str] = []
        if options.what == "record":
            record(area, texts_alone=area not in names)
        else:
            wrong, allowed = compared(area)
            print("\n".join([*(f"exception: {each}" for each in allowed), *wrong]))
        failed = failed or bool(wrong)
        took = time.perf_counter() - began
        print(f"{area}: {len(wrong)} differences, {took:.0f} s", file=sys.stderr)
    if options.data:
        wrong = real(options.data, write=options.what == "record")
        print("\n".join(wrong))
        failed = failed or bool(wrong)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
