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
AREAS = (
    "estimates",
    "paper",
    "scores",
    "questions",
    "ledger",
    "meters",
    "http",
    "commands",
    "power",
    "simulate",
)
MESSAGES, REAL = "messages", "real"
# A ledger flushes every change, which takes long on a busy disk.
MEMORY = Path("/dev/shm")


def made(area: str) -> tuple[Rows, Rows]:
    """Return what an area answers now, and its texts, whose keys begin with its name."""
    texts: Rows = {}
    with tempfile.TemporaryDirectory(
        prefix="golden", dir=MEMORY if MEMORY.is_dir() else None
    ) as name:
        folder = Path(name)
        apart = {"SUNVEIL_CACHE": f"{name}/cache", "XDG_STATE_HOME": f"{name}/state"}
        with patch.dict(os.environ, apart):
            os.environ.pop("SUNVEIL_LEDGER", None)
            rows = import_module(f"{__package__}.{area}").record(folder, texts)
    return rows, {f"{area} {key}": text for key, text in texts.items()}


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


def record(area: str) -> None:
    rows, texts = made(area)
    files.write(area, rows)
    others = {k: v for k, v in files.read(MESSAGES).items() if k.split()[0] != area}
    files.write(MESSAGES, others | texts)


def real(data: Path, *, write: bool) -> list[str]:
    rows = dict(import_module(f"{__package__}.estimates").real(data))
    if write:
        files.write(REAL, rows)
        return []
    return [f"{REAL}.json: {each}" for each in files.differences(files.read(REAL), rows)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m golden", description=__doc__)
    parser.add_argument("what", choices=["record", "compare", "digests"])
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"all, or some of {', '.join(AREAS)}, {MESSAGES}"
    )
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
        if options.what == "record" and (MESSAGES not in names or area in names):
            record(area)
            wrong: list[str] = []
        elif options.what == "record":
            others = {k: v for k, v in files.read(MESSAGES).items() if k.split()[0] != area}
            files.write(MESSAGES, others | made(area)[1])
            wrong = []
        else:
            wrong, allowed = compared(area)
            print("".join(f"exception: {each}\n" for each in allowed) + "\n".join(wrong))
        failed = failed or bool(wrong)
        print(
            f"{area}: {len(wrong)} differences, {time.perf_counter() - began:.0f} s",
            file=sys.stderr,
        )
    if options.data:
        wrong = real(options.data, write=options.what == "record")
        print("\n".join(wrong))
        failed = failed or bool(wrong)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
